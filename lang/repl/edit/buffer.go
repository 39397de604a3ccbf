package edit

import (
	"slices"
	"strings"
	"unicode"
)

// A buffer is a text with a cursor, which stands before the letter number at.
type buffer struct {
	text []rune
	at   int
}

func (b *buffer) String() string { return string(b.text) }

// set replaces the text. The cursor stands behind it.
func (b *buffer) set(text string) {
	b.text = []rune(text)
	b.at = len(b.text)
}

func (b *buffer) insert(text string) {
	r := []rune(text)
	b.text = slices.Insert(b.text, b.at, r...)
	b.at += len(r)
}

// cut removes the letters from lo up to hi and returns them. The cursor then
// stands where they were.
func (b *buffer) cut(lo, hi int) string {
	cut := string(b.text[lo:hi])
	b.text = slices.Delete(b.text, lo, hi)
	b.at = lo
	return cut
}

// start returns where the line of the cursor begins.
func (b *buffer) start() int {
	i := b.at
	for i > 0 && b.text[i-1] != '\n' {
		i--
	}
	return i
}

// end returns where the line of the cursor ends.
func (b *buffer) end() int {
	i := b.at
	for i < len(b.text) && b.text[i] != '\n' {
		i++
	}
	return i
}

// before returns the text before the cursor, and of it the cursor's line.
func (b *buffer) before() (text, line string) {
	return string(b.text[:b.at]), string(b.text[b.start():b.at])
}

// line returns the cursor's line.
func (b *buffer) line() string { return string(b.text[b.start():b.end()]) }

// atLastLine reports whether the cursor is on the last line.
func (b *buffer) atLastLine() bool { return b.end() == len(b.text) }

// wordBefore returns where the word begins that ends before the cursor.
func (b *buffer) wordBefore() int {
	i := b.at
	for i > 0 && !isWord(b.text[i-1]) {
		i--
	}
	for i > 0 && isWord(b.text[i-1]) {
		i--
	}
	return i
}

// wordAfter returns where the word ends that begins behind the cursor.
func (b *buffer) wordAfter() int {
	i := b.at
	for i < len(b.text) && !isWord(b.text[i]) {
		i++
	}
	for i < len(b.text) && isWord(b.text[i]) {
		i++
	}
	return i
}

func isWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// up moves the cursor one line up, and reports whether there is one.
func (b *buffer) up() bool {
	start := b.start()
	if start == 0 {
		return false
	}
	column := b.at - start
	b.at = start - 1
	b.at = min(b.start()+column, b.at)
	return true
}

// down moves the cursor one line down, and reports whether there is one.
func (b *buffer) down() bool {
	if b.atLastLine() {
		return false
	}
	column := b.at - b.start()
	b.at = b.end() + 1
	b.at = min(b.at+column, b.end())
	return true
}

// step is by how many spaces a block is indented.
const step = 4

// unindent removes the spaces before the cursor up to the last multiple of step,
// if there is nothing else on the line before it. It reports whether it did.
func (b *buffer) unindent() bool {
	_, line := b.before()
	if line == "" || strings.Trim(line, " ") != "" {
		return false
	}
	b.cut(b.at-1-(len(line)-1)%step, b.at)
	return true
}

// indentAfter returns the spaces that begin the line behind a text.
func indentAfter(text string) string {
	line := text[strings.LastIndexByte(text, '\n')+1:]
	spaces := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
	code, _, _ := strings.Cut(strings.TrimSpace(line), " #")
	switch code = strings.TrimSpace(code); {
	case strings.HasSuffix(code, ":"), strings.HasSuffix(code, "("), strings.HasSuffix(code, "["), strings.HasSuffix(code, "{"):
		return spaces + strings.Repeat(" ", step)
	}
	first, _, _ := strings.Cut(code, " ")
	switch first {
	case "return", "break", "continue", "pass":
		return spaces[:max(0, len(spaces)-step)]
	}
	return spaces
}

// ifIndent returns the spaces of the if or elif to which an else on the last line
// of text belongs: the nearest above that is not indented as deeply.
func ifIndent(text string) (spaces string, ok bool) {
	lines := strings.Split(text, "\n")
	deep := func(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }
	last := lines[len(lines)-1]
	for _, line := range slices.Backward(lines[:len(lines)-1]) {
		word, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		if deep(line) < deep(last) && (word == "if" || word == "elif") {
			return line[:deep(line)], true
		}
	}
	return "", false
}
