package edit

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

// ErrInterrupt is the error of Read when the user gives up the text.
var ErrInterrupt = errors.New("interrupt")

// A State says whether Enter behind a text ends it.
type State int

const (
	Whole State = iota // it ends the text
	Block              // it begins a line, or behind an empty one ends the text
	Open               // it begins a line
)

// A Config has the terminal and the functions of an Editor.
type Config struct {
	In  io.Reader
	Out io.Writer
	// Raw gives the keys to the editor as they are typed, until restore is called.
	// It may be nil.
	Raw func() (restore func(), err error)
	// Size returns how many columns and rows the terminal has; 80 by 24 if nil.
	Size func() (width, height int)
	// Suspend stops the process, as Ctrl-Z does. It may be nil.
	Suspend func()
	// State returns the state of a text; nil says that any is whole.
	State func(text string) State
	// Complete returns where in a text its last word begins, and its candidates. It
	// may be nil.
	Complete func(text string) (start int, names []string)
	// History is where texts are kept; nil for memory.
	History *History
}

// An Editor reads texts. Its methods are for one goroutine, but for Forget.
type Editor struct {
	Config
	keys *bufio.Reader
	buffer
	prompt, more string

	drawn    int    // the row of the cursor on the screen, from the first of the text
	place    int    // in the history; behind its last text for the text being typed
	typed    string // the text being typed when the user went into the history
	recalled bool   // the text is one of the history, unchanged
	auto     bool   // the spaces before the cursor were not typed
	erased   string // the text that was erased last
}

// New returns an Editor.
func New(c Config) *Editor {
	if c.Raw == nil {
		c.Raw = func() (func(), error) { return func() {}, nil }
	}
	if c.Size == nil {
		c.Size = func() (int, int) { return 80, 24 }
	}
	if c.State == nil {
		c.State = func(string) State { return Whole }
	}
	if c.History == nil {
		c.History = OpenHistory("", 1000)
	}
	return &Editor{Config: c, keys: bufio.NewReader(c.In)}
}

const (
	bracketsOn  = "\x1b[?2004h" // asks the terminal to mark pasted texts
	bracketsOff = "\x1b[?2004l"
)

// Read shows a prompt and returns the text that is typed behind it; more is the
// prompt of its further lines. It returns ErrInterrupt if the user gives the text
// up, and io.EOF at the end.
func (e *Editor) Read(prompt, more string) (string, error) {
	restore, err := e.Raw()
	if err != nil {
		return "", err
	}
	io.WriteString(e.Out, bracketsOn)
	defer func() {
		io.WriteString(e.Out, bracketsOff)
		restore()
	}()
	e.prompt, e.more = prompt, more
	e.set("")
	e.drawn, e.place, e.recalled, e.auto = 0, len(e.History.texts), false, false
	for {
		if e.keys.Buffered() == 0 {
			e.draw()
		}
		k, err := readKey(e.keys)
		if err != nil {
			e.leave("")
			return "", err
		}
		switch {
		case k.kind == interrupt:
			e.leave("^C")
			return "", ErrInterrupt
		case k.kind == end && len(e.text) == 0:
			e.leave("")
			return "", io.EOF
		case k.kind == enter && e.enter():
			e.leave("")
			text := e.String()
			e.History.Add(text)
			return text, nil
		case k.kind == suspend && e.Suspend != nil:
			e.leave("")
			io.WriteString(e.Out, bracketsOff)
			restore()
			e.Suspend()
			if restore, err = e.Raw(); err != nil {
				return "", err
			}
			io.WriteString(e.Out, bracketsOn)
		case k.kind != enter:
			e.handle(k)
		}
	}
}

// Forget forgets keys that were typed and have not been read. Nothing may be reading.
func (e *Editor) Forget() { e.keys.Discard(e.keys.Buffered()) }

// enter is the key Enter. It reports whether it ends the text.
func (e *Editor) enter() bool {
	text := e.String()
	state := e.State(strings.TrimRight(text, " \t\n"))
	several := strings.Contains(text, "\n")
	switch {
	case several && !e.atLastLine():
	case state == Whole:
		return true
	case state == Block && e.recalled:
		e.set(text + "\n")
		return true
	case state == Block && several && strings.TrimSpace(e.line()) == "":
		e.at = len(e.text)
		e.cut(e.start(), len(e.text))
		return true
	}
	before, _ := e.before()
	e.insert("\n" + indentAfter(before))
	e.auto, e.recalled = true, false
	return false
}

// handle changes the text, or where the cursor stands, by a key.
func (e *Editor) handle(k key) {
	auto := e.auto
	e.auto = false
	switch k.kind {
	case letter:
		e.letter(k.r, auto)
	case paste:
		e.insert(k.text)
	case openLine:
		e.insert("\n")
	case tab:
		e.tab()
	case search:
		e.search()
		return
	case redraw:
		io.WriteString(e.Out, "\x1b[H\x1b[2J")
		e.drawn = 0
	case up, older, down, newer:
		e.vertical(k.kind)
		return
	default:
		if !e.move(k.kind) {
			e.erase(k.kind, auto)
		}
	}
	if e.place < len(e.History.texts) && e.String() != e.History.texts[e.place] {
		e.recalled = false
	}
}

// letter inserts a letter. A space that is typed behind spaces that were not takes
// their place, for whoever indents by hand; and an else goes below its if.
func (e *Editor) letter(r rune, auto bool) {
	if r == ' ' && auto {
		e.cut(e.start(), e.at)
	}
	e.insert(string(r))
	before, line := e.before()
	word := strings.TrimSpace(line)
	if r != ':' || word != "else:" && !strings.HasPrefix(word, "elif ") || e.at != e.end() {
		return
	}
	if spaces, ok := ifIndent(before); ok {
		e.cut(e.start(), e.at)
		e.insert(spaces + word)
	}
}

// move moves the cursor, and reports whether the key is one that does.
func (e *Editor) move(k kind) bool {
	switch k {
	case left:
		e.at = max(0, e.at-1)
	case right:
		e.at = min(len(e.text), e.at+1)
	case wordLeft:
		e.at = e.wordBefore()
	case wordRight:
		e.at = e.wordAfter()
	case lineStart:
		e.at = e.start()
	case lineEnd:
		e.at = e.buffer.end()
	default:
		return false
	}
	return true
}

// erase removes the text that the key is for.
func (e *Editor) erase(k kind, auto bool) {
	switch k {
	case backspace:
		if e.at > 0 && !e.unindent() {
			e.cut(e.at-1, e.at)
		}
	case erase, end:
		if e.at < len(e.text) {
			e.cut(e.at, e.at+1)
		}
	case eraseWord:
		e.erased = e.cut(e.wordBefore(), e.at)
	case eraseWordAfter:
		at := e.at
		e.erased = e.cut(at, e.wordAfter())
	case eraseBefore:
		e.erased = e.cut(e.start(), e.at)
	case eraseAfter:
		e.erased = e.cut(e.at, e.buffer.end())
	case yank:
		e.insert(e.erased)
	default:
		e.auto = auto
	}
}

// vertical goes a line up or down, and from the first and the last line into the
// history.
func (e *Editor) vertical(k kind) {
	if k == up && e.up() || k == down && e.down() {
		return
	}
	place := e.place + 1
	if k == up || k == older {
		place = e.place - 1
	}
	e.recall(place)
}

// recall shows a text of the history, or behind its last the one that was being typed.
func (e *Editor) recall(place int) {
	texts := e.History.texts
	if place < 0 || place > len(texts) {
		return
	}
	if e.place == len(texts) {
		e.typed = e.String()
	}
	e.place = place
	if place == len(texts) {
		e.set(e.typed)
		e.recalled = false
		return
	}
	e.set(texts[place])
	e.recalled = true
}

// draw shows the text.
func (e *Editor) draw() { e.show(e.prompt) }

// show shows the text behind a prompt.
func (e *Editor) show(prompt string) {
	width, height := e.Size()
	l := newLayout(&e.buffer, prompt, e.more, max(width, 2)).clip(height)
	var out strings.Builder
	if e.drawn > 0 {
		fmt.Fprintf(&out, "\x1b[%dA", e.drawn)
	}
	out.WriteString("\r\x1b[J" + strings.Join(l.rows, "\r\n"))
	if above := len(l.rows) - 1 - l.row; above > 0 {
		fmt.Fprintf(&out, "\x1b[%dA", above)
	}
	out.WriteString("\r")
	if l.col > 0 {
		fmt.Fprintf(&out, "\x1b[%dC", l.col)
	}
	e.drawn = l.row
	io.WriteString(e.Out, out.String())
}

// leave draws the text for the last time, with mark behind it, and goes below.
func (e *Editor) leave(mark string) {
	at := e.at
	e.at = len(e.text)
	e.draw()
	e.at = at
	e.drawn = 0
	io.WriteString(e.Out, mark+"\r\n")
}
