package analysis

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Cursor is a place in a text that may be half typed.
type Cursor struct {
	Text   string
	Offset int
	// Statement is where the statement begins that the cursor is in.
	Statement int
	// Word is the part of a name before the cursor, and Receiver the expression
	// before the dot before that, with HasDot.
	Word     string
	Receiver string
	HasDot   bool
	// Comment and Quoted say that the cursor is in one; Quoted begins at Quote,
	// and Content is its text up to the cursor.
	Comment, Quoted bool
	Quote           int
	Content         string
	// Open are the brackets that are open, the innermost last.
	Open []Bracket
}

// A Bracket is one that is open at a cursor.
type Bracket struct {
	Char   byte
	At     int    // its offset
	Before string // the expression before it: the function or the indexed value; "" for none
	Args   []Arg  // the arguments behind it, cut at commas, the last one up to the cursor
}

// An Arg is a part between two commas.
type Arg struct {
	Start int
	Key   string // of name=..., the name
	Text  string
}

// CursorAt looks at the text before an offset.
func CursorAt(text string, offset int) *Cursor {
	offset = max(0, min(offset, len(text)))
	s := &cursorScan{text: text, end: offset, opening: map[int]int{}}
	s.scan()
	c := &Cursor{Text: text, Offset: offset, Statement: s.statement, Comment: s.comment, Quoted: s.quote != ""}
	before := offset
	if c.Quoted {
		c.Quote, c.Content = s.from, text[min(s.from+len(s.quote), offset):offset]
		before = s.from
	} else {
		start := wordStart(text, offset)
		c.Word, before = text[start:offset], start
		if dot := strings.TrimRight(text[:start], " \t"); strings.HasSuffix(dot, ".") {
			c.HasDot = true
			c.Receiver = s.primary(len(dot) - 1)
		}
	}
	for i, b := range s.open {
		end := before
		if i+1 < len(s.open) {
			end = s.open[i+1].at
		}
		c.Open = append(c.Open, Bracket{Char: b.char, At: b.at, Before: s.primary(b.at), Args: argsOf(text, b.commas, b.at+1, end)})
	}
	return c
}

// Innermost returns the innermost bracket, or nil.
func (c *Cursor) Innermost() *Bracket {
	if len(c.Open) == 0 {
		return nil
	}
	return &c.Open[len(c.Open)-1]
}

// Call returns the innermost call that the cursor is in the arguments of, or nil.
func (c *Cursor) Call() *Bracket {
	for i := len(c.Open) - 1; i >= 0; i-- {
		if b := &c.Open[i]; b.Char == '(' && b.Before != "" {
			return b
		}
	}
	return nil
}

// argsOf cuts the text behind a bracket at its commas.
func argsOf(text string, commas []int, start, end int) []Arg {
	var args []Arg
	for _, comma := range append(slices.Clone(commas), end) {
		part := text[min(start, comma):comma]
		a := Arg{Start: start, Text: strings.TrimSpace(part)}
		if name, rest, ok := strings.Cut(a.Text, "="); ok && !strings.HasPrefix(rest, "=") && isWord(strings.TrimSpace(name)) {
			a.Key = strings.TrimSpace(name)
		}
		args = append(args, a)
		start = comma + 1
	}
	return args
}

// IsName reports whether a text is letters, digits and _, with no digit first, as names are.
func IsName(s string) bool {
	for i, r := range s {
		if r != '_' && !unicode.IsLetter(r) && (i == 0 || !unicode.IsDigit(r)) {
			return false
		}
	}
	return s != ""
}

// isWord reports whether a text is letters, digits and _.
func isWord(s string) bool {
	return s != "" && wordStart(s, len(s)) == 0
}

// wordStart returns where the name that ends at an offset begins.
func wordStart(text string, offset int) int {
	for offset > 0 {
		r, n := utf8.DecodeLastRuneInString(text[:offset])
		if r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			break
		}
		offset -= n
	}
	return offset
}

// A cursorScan goes through a text up to a cursor, by tokens alone.
type cursorScan struct {
	text      string
	at, end   int
	statement int
	comment   bool
	quote     string // of the string that is open
	from      int    // where it begins
	open      []scanned
	opening   map[int]int // of a closing bracket or of the end of a string, where that begins
}

type scanned struct {
	char   byte
	at     int
	commas []int
}

// begins are words with which a line begins that cannot be inside brackets: whatever was
// open before it is a slip.
var begins = []string{"def ", "load(", "if ", "for ", "while ", "return "}

func (s *cursorScan) scan() {
	for s.at < s.end {
		switch c := s.text[s.at]; {
		case c == '#':
			s.skipComment()
		case c == '"' || c == '\'':
			s.skipString()
		case c == '\n':
			s.at++
			s.newLine()
		case strings.IndexByte("([{", c) >= 0:
			s.open = append(s.open, scanned{char: c, at: s.at})
			s.at++
		case strings.IndexByte(")]}", c) >= 0:
			if n := len(s.open); n > 0 {
				s.opening[s.at] = s.open[n-1].at
				s.open = s.open[:n-1]
			}
			s.at++
		case c == ',':
			if n := len(s.open); n > 0 {
				s.open[n-1].commas = append(s.open[n-1].commas, s.at)
			}
			s.at++
		default:
			s.at++
		}
	}
}

func (s *cursorScan) newLine() {
	rest := s.text[s.at:]
	if len(s.open) > 0 {
		line := rest
		if strings.HasPrefix(rest, " ") || strings.HasPrefix(rest, "\t") {
			line = ""
		}
		for _, word := range begins {
			if strings.HasPrefix(line, word) {
				s.open = nil
			}
		}
	}
	if len(s.open) == 0 {
		s.statement = s.at
	}
}

func (s *cursorScan) skipComment() {
	for s.at < s.end && s.text[s.at] != '\n' {
		s.at++
	}
	s.comment = s.at == s.end
}

// skipString goes behind a string. One of a single line ends with it.
func (s *cursorScan) skipString() {
	start := s.at
	quote := s.text[start : start+1]
	if triple := strings.Repeat(quote, 3); strings.HasPrefix(s.text[start:], triple) {
		quote = triple
	}
	s.at += len(quote)
	for s.at < s.end {
		switch {
		case s.text[s.at] == '\\':
			s.at += 2
		case strings.HasPrefix(s.text[s.at:], quote) && s.at+len(quote) <= s.end:
			s.opening[s.at+len(quote)-1] = start
			s.at += len(quote)
			return
		case s.text[s.at] == '\n' && len(quote) == 1:
			return
		default:
			s.at++
		}
	}
	s.at = min(s.at, s.end)
	s.quote, s.from = quote, start
}

// primary returns the expression that ends before an offset: names, dots, calls and
// indices.
func (s *cursorScan) primary(end int) string {
	at := end
	for {
		at = len(strings.TrimRight(s.text[:at], " \t"))
		last := at - 1
		if last < 0 {
			break
		}
		if open, ok := s.opening[last]; ok {
			at = open
			if c := s.text[open]; c == '"' || c == '\'' {
				return strings.TrimSpace(s.text[open:end]) // a string begins it
			}
			if start := wordStart(s.text, len(strings.TrimRight(s.text[:at], " \t"))); start < len(strings.TrimRight(s.text[:at], " \t")) || s.closes(at) {
				continue
			}
			return strings.TrimSpace(s.text[open:end]) // a list, or an expression in brackets
		}
		start := wordStart(s.text, at)
		if start == at {
			return ""
		}
		if before := strings.TrimRight(s.text[:start], " \t"); strings.HasSuffix(before, ".") {
			at = len(before) - 1
			continue
		}
		text := strings.TrimSpace(s.text[start:end])
		if reserved[text] {
			return ""
		}
		return text
	}
	return ""
}

// closes reports whether a bracket stands before an offset that closes another.
func (s *cursorScan) closes(at int) bool {
	trimmed := strings.TrimRight(s.text[:at], " \t")
	_, ok := s.opening[len(trimmed)-1]
	return ok
}

// reserved are the words of the grammar.
var reserved = map[string]bool{
	"and": true, "break": true, "continue": true, "def": true, "elif": true, "else": true, "for": true, "if": true, "in": true, "is": true,
	"lambda": true, "load": true, "not": true, "or": true, "pass": true, "return": true, "while": true,
}

// Keywords returns the words of the grammar, ascending.
func Keywords() []string {
	var list []string
	for word := range reserved {
		list = append(list, word)
	}
	slices.Sort(list)
	return list
}
