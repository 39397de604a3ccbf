package source

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.starlark.net/syntax"
)

// A scanner cuts a source into tokens.
type scanner struct {
	file      *string
	src       string
	off       int   // the text before it has been cut
	line, col int32 // of src[off]

	open      []bracket // the brackets that are open
	indents   []int     // the widths of the blocks that are open, 0 first
	dents     int       // INDENT (> 0) or OUTDENT (< 0) tokens to come
	lineStart bool      // src[off] begins a line
	last      Token     // the token before
	comments  []syntax.Comment
}

// A bracket is one that is open.
type bracket struct {
	char byte
	pos  syntax.Position
}

// An Error is a mistake in a source.
type Error struct {
	Pos syntax.Position
	Msg string
	// Incomplete says that the source ends too early: more text may mend it.
	Incomplete bool
}

func (e *Error) Error() string { return e.Pos.String() + ": " + e.Msg }

// fail ends the parse, which recovers.
func fail(pos syntax.Position, format string, args ...any) {
	panic(&Error{Pos: pos, Msg: fmt.Sprintf(format, args...)})
}

// failEnd is fail of a source that ends too early.
func failEnd(pos syntax.Position, format string, args ...any) {
	panic(&Error{Pos: pos, Msg: fmt.Sprintf(format, args...), Incomplete: true})
}

func (s *scanner) pos() syntax.Position { return syntax.MakePosition(s.file, s.line, s.col) }

// peek returns the rune n bytes on, in which every end of a line is \n, or -1
// at the end.
func (s *scanner) peek(n int) rune {
	if s.off+n >= len(s.src) {
		return -1
	}
	switch c := s.src[s.off+n]; {
	case c == '\r':
		return '\n'
	case c < utf8.RuneSelf:
		return rune(c)
	}
	r, _ := utf8.DecodeRuneInString(s.src[s.off+n:])
	return r
}

// take goes one rune on and returns it.
func (s *scanner) take() rune {
	r := s.peek(0)
	switch {
	case r < 0:
		return r
	case strings.HasPrefix(s.src[s.off:], "\r\n"):
		s.off += 2
	case r < utf8.RuneSelf:
		s.off++
	default:
		_, n := utf8.DecodeRuneInString(s.src[s.off:])
		s.off += n
	}
	s.col++
	if r == '\n' {
		s.line, s.col = s.line+1, 1
	}
	return r
}

// takeN goes n runes on.
func (s *scanner) takeN(n int) {
	for range n {
		s.take()
	}
}

// next returns the next token.
func (s *scanner) next() token {
	t := s.cut()
	s.last = t.kind
	return t
}

func (s *scanner) cut() token {
	begin := s.off
	for {
		if s.lineStart {
			s.indent()
		}
		if s.dents != 0 {
			return s.dent()
		}
		for s.peek(0) == ' ' || s.peek(0) == '\t' {
			s.take()
		}
		switch c := s.peek(0); {
		case c == '#':
			s.comment()
		case c == '\\' && s.peek(1) == '\n':
			s.takeN(2)
		case c == '\\':
			fail(s.pos(), `a \ stands alone: it joins two lines where it ends the first`)
		case c == '\n' && len(s.open) > 0:
			s.take()
		case c == '\n':
			t := token{kind: syntax.NEWLINE, pos: s.pos(), raw: "\n"}
			s.take()
			s.lineStart = true
			return t
		case c < 0:
			return s.end()
		default:
			return s.word(begin == s.off)
		}
	}
}

// indent reads the space that begins a line, and says by dents how the blocks
// change. Blank lines and comments it leaves out.
func (s *scanner) indent() {
	for {
		s.lineStart = false
		width := 0
		for {
			if c := s.peek(0); c == ' ' {
				width++
			} else if c == '\t' {
				width += 8 - int(s.col-1)%8
			} else {
				break
			}
			s.take()
		}
		switch c := s.peek(0); {
		case c == '#':
			s.comment()
			s.take()
		case c == '\n':
			s.take()
		case c < 0:
			return // the end closes the blocks
		default:
			if len(s.open) == 0 {
				s.dentTo(width)
			}
			return
		}
	}
}

// dentTo opens or closes blocks where a line is width wide.
func (s *scanner) dentTo(width int) {
	top := len(s.indents) - 1
	if width > s.indents[top] {
		s.indents = append(s.indents, width)
		s.dents = 1
		return
	}
	for s.indents[top] > width {
		top--
		s.dents--
	}
	s.indents = s.indents[:top+1]
	if s.indents[top] != width {
		fail(s.pos(), "the line is indented by %d, and no line above that could be its like: line it up with one of them", width)
	}
}

func (s *scanner) dent() token {
	t := token{kind: syntax.INDENT, pos: s.pos()}
	if s.dents > 0 {
		s.dents--
	} else {
		s.dents++
		t.kind = syntax.OUTDENT
	}
	return t
}

// end returns the tokens with which a source ends: open blocks are closed, after
// the end of a line.
func (s *scanner) end() token {
	if len(s.indents) == 1 || len(s.open) > 0 {
		return token{kind: syntax.EOF, pos: s.pos()}
	}
	if s.last != syntax.NEWLINE && s.last != syntax.OUTDENT {
		return token{kind: syntax.NEWLINE, pos: s.pos(), raw: "\n"}
	}
	s.dents = 1 - len(s.indents)
	s.indents = s.indents[:1]
	return s.dent()
}

// comment takes a comment, without its newline.
func (s *scanner) comment() {
	c := syntax.Comment{Start: s.pos()}
	begin := s.off
	for s.peek(0) >= 0 && s.peek(0) != '\n' {
		s.take()
	}
	c.Text = s.src[begin:s.off]
	s.comments = append(s.comments, c)
}

// word returns a token that has a text.
func (s *scanner) word(tied bool) token {
	t := token{pos: s.pos(), tied: tied}
	begin := s.off
	c := s.peek(0)
	switch {
	case isLetter(c):
		if quoted := s.stringPrefix(); quoted >= 0 {
			t.kind = s.str(quoted)
			break
		}
		for isLetter(s.peek(0)) || isDigit(s.peek(0)) {
			s.take()
		}
		t.kind = syntax.IDENT
		if k, ok := words[s.src[begin:s.off]]; ok {
			t.kind = k
		}
	case c == '"' || c == '\'':
		t.kind = s.str(0)
	case isDigit(c) || c == '.' && isDigit(s.peek(1)):
		t.kind = s.number()
	default:
		t.kind = s.operator()
	}
	t.raw = s.src[begin:s.off]
	return t
}

// operator takes punctuation.
func (s *scanner) operator() Token {
	for n := longestOperator; n > 0; n-- {
		if s.off+n > len(s.src) {
			continue
		}
		text := s.src[s.off : s.off+n]
		if k, ok := operators[text]; ok {
			s.bracket(text[0])
			s.takeN(n)
			return k
		}
	}
	c := s.peek(0)
	if c == '?' && s.asks() {
		fail(s.pos(), "? asks for help in the shell alone: tpsh doc NAME explains a name")
	}
	if hint := strangers[c]; hint != "" {
		fail(s.pos(), "the character %q means nothing here: %s", c, hint)
	}
	if c == unicode.ReplacementChar {
		fail(s.pos(), "the bytes here are no text in UTF-8")
	}
	fail(s.pos(), "the character %q means nothing here", c)
	return 0
}

// asks reports whether the ? here is the first or the last character of a line.
func (s *scanner) asks() bool {
	before, behind := s.src[:s.off], strings.TrimLeft(s.src[s.off:], "?")
	before = before[strings.LastIndexByte(before, '\n')+1:]
	behind, _, _ = strings.Cut(behind, "\n")
	return strings.TrimSpace(strings.TrimRight(before, "?")) == "" || strings.TrimSpace(behind) == ""
}

// strangers are characters of other languages and of word processors.
var strangers = map[rune]string{
	'?': "write x if condition else y", '$': "a flag is read by flag(name, default)", '`': `write "..." for text`,
	'\u00a0': "it is a no-break space, write a plain one", '\u3000': "it is a wide space, write a plain one",
	'“': `write "`, '”': `write "`, '‘': "write '", '’': "write '", '−': "it is a minus sign, write -", '–': "it is a dash, write -",
	'×': "write *", '÷': "write /", '≤': "write <=", '≥': "write >=", '≠': "write !=", '\ufeff': "it is a byte order mark, delete it", 0: "delete it",
}

// partner is the bracket that closes or opens another.
var partner = map[byte]byte{'(': ')', '[': ']', '{': '}', ')': '(', ']': '[', '}': '{'}

// maxNesting is how many brackets may be open at a time, and how deep
// expressions and blocks may be nested.
const maxNesting = 1000

// bracket notes a bracket that opens or closes.
func (s *scanner) bracket(c byte) {
	switch c {
	case '(', '[', '{':
		if len(s.open) >= maxNesting {
			fail(s.pos(), "more than %d brackets are open: use more statements", maxNesting)
		}
		s.open = append(s.open, bracket{c, s.pos()})
	case ')', ']', '}':
		top := len(s.open) - 1
		if top < 0 {
			fail(s.pos(), "%c closes nothing: no %c is open", c, partner[c])
		}
		if b := s.open[top]; b.char != partner[c] {
			fail(s.pos(), "%c does not close the %c of line %d, column %d: write %c", c, b.char, b.pos.Line, b.pos.Col, partner[b.char])
		}
		s.open = s.open[:top]
	}
}

func isLetter(c rune) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || c >= utf8.RuneSelf && c != unicode.ReplacementChar && unicode.IsLetter(c)
}

func isDigit(c rune) bool { return '0' <= c && c <= '9' }
