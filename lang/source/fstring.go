package source

import (
	"strings"

	"go.starlark.net/syntax"
)

// An FString is the contents of an f-string, from left to right.
type FString struct {
	Parts []Part
}

// A Part of an f-string is text, or a field if X is not nil.
type Part struct {
	Text string // as it is printed; before a field with =, the text before the value
	X    syntax.Expr
	Conv byte     // r, s or a of {x!r}; else 0
	Spec *FString // the format behind the :, or nil

	Open, Close syntax.Position // the { and the } of a field
}

// fstring reads an f-string, behind whose opening the scanner is.
func (p *parser) fstring() syntax.Expr {
	q, _ := quotingOf(p.raw)
	f := &fscan{parser: p, q: q, start: p.token.pos}
	begin := p.off - len(p.raw)
	l := &syntax.Literal{Token: syntax.STRING, TokenPos: p.token.pos}
	fs := f.parts(false)
	p.takeN(len(q.closing()))
	l.Raw, l.Value = oneLine(p.src[begin:p.off]), ""
	p.marks.FStrings[l] = fs
	p.last = syntax.STRING
	if p.keep && p.inField == 0 {
		p.marks.Lexemes[len(p.marks.Lexemes)-1].End = p.off
	}
	p.advance()
	return l
}

// An fscan reads the parts of one f-string.
type fscan struct {
	*parser
	q     quoting
	start syntax.Position
}

// parts reads text and fields, to the closing quotes or, in the format of a
// field, to its }.
func (f *fscan) parts(format bool) *FString {
	defer f.deeper()()
	fs := new(FString)
	var text strings.Builder // as it is written
	flush := func() {
		if text.Len() > 0 {
			fs.Parts = append(fs.Parts, Part{Text: f.decode(text.String())})
			text.Reset()
		}
	}
	for {
		switch c := f.peek(0); {
		case strings.HasPrefix(f.src[f.off:], f.q.closing()):
			if format {
				fail(f.start, "a { of this f-string is never closed: write } behind the value, or {{ for the character")
			}
			flush()
			return fs
		case format && c == '}':
			flush()
			return fs
		case c == '{' && f.peek(1) == '{' && !format, c == '}' && f.peek(1) == '}' && !format:
			text.WriteRune(c)
			f.takeN(2)
		case f.q.raw && c == '\\' && (f.peek(1) == '{' || f.peek(1) == '}'): // which it does not escape
			text.WriteRune(f.take())
		case c == '{':
			flush()
			fs.Parts = append(fs.Parts, f.field()...)
		case c == '}':
			fail(f.scanner.pos(), "a } of this f-string closes nothing: write }} for the character")
		default:
			begin := f.off
			f.char(f.q, f.start)
			text.WriteString(f.src[begin:f.off])
		}
	}
}

// decode returns the text of a part as it is printed.
func (f *fscan) decode(written string) string {
	if f.q.raw || !strings.ContainsAny(written, "\\\r") {
		return oneLine(written)
	}
	if body, ok := strings.CutSuffix(written, string(f.q.quote)); ok && !endsEscaped(body) {
		written = body + `\` + string(f.q.quote) // so that it does not run into the closing quotes
	}
	return unescape(token{pos: f.start}, quoting{quote: f.q.quote, triple: f.q.triple}, written)
}

// endsEscaped reports whether the character behind s is escaped.
func endsEscaped(s string) bool { return (len(s)-len(strings.TrimRight(s, `\`)))%2 == 1 }

// field reads a field: {x}, {x!r}, {x:spec}, {x=}.
func (f *fscan) field() []Part {
	part := Part{Open: f.scanner.pos()}
	f.scanner.bracket('{')
	f.takeN(1)
	begin := f.off
	f.inField++
	f.advance()
	if f.kind == syntax.RBRACE {
		fail(part.Open, "a field of an f-string is empty: write {x}, or {{}} for the characters")
	}
	part.X = f.exprs()
	var parts []Part
	if f.kind == syntax.EQ {
		parts = append(parts, Part{Text: f.debug(begin)})
		f.advance()
	}
	f.conversion(&part)
	if len(parts) > 0 && part.Conv == 0 && !f.at(syntax.COLON, WALRUS) {
		part.Conv = 'r'
	}
	f.format(&part)
	f.inField--
	if f.kind != syntax.RBRACE {
		f.unclosed(part.Open)
	}
	part.Close = f.token.pos
	return append(parts, part)
}

// debug returns the text of a field from begin to behind its =.
func (f *fscan) debug(begin int) string {
	end := f.off
	for end < len(f.src) && (f.src[end] == ' ' || f.src[end] == '\t') {
		end++
	}
	return oneLine(f.src[begin:end])
}

// conversion reads !r, !s or !a.
func (f *fscan) conversion(part *Part) {
	if f.kind != BANG {
		return
	}
	f.advance()
	if f.kind != syntax.IDENT || f.raw != "r" && f.raw != "s" && f.raw != "a" {
		fail(f.token.pos, "behind ! stands r, s or a: {x!r} writes x as repr does")
	}
	part.Conv = f.raw[0]
	f.advance()
}

// format reads the format behind the : of a field, if there is one. The parser
// is then at the } of the field.
func (f *fscan) format(part *Part) {
	if !f.at(syntax.COLON, WALRUS) {
		return
	}
	if f.kind == WALRUS { // ":=" of {x:=+5} is a : and a format
		f.off--
		f.col--
	}
	part.Spec = f.parts(true)
	f.advance()
}

// unclosed fails where a field should end.
func (f *fscan) unclosed(open syntax.Position) {
	if f.kind == syntax.EOF {
		f.endsEarly("")
	}
	fail(open, "a field of an f-string ends with }, behind a value and perhaps !r and :format: here is %s", f.found())
}
