package format

import (
	"fmt"
	"strings"

	"go.starlark.net/syntax"

	"tpsh/lang/source"
)

// Source returns a program in the style of the package. Its error tells the mistake
// in the program, or that its meaning would not be kept.
func Source(name, text string) (string, error) {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	before, err := source.Parse(name, text, source.Options{Lexemes: true})
	if err != nil {
		return "", err
	}
	p := &printer{text: text, widths: []int{0}, frames: []frame{{}}, lineStart: true}
	for _, l := range before.Lexemes {
		p.lexeme(l)
	}
	out := p.out.String()
	after, err := source.Parse(name, out, source.Options{})
	if err != nil {
		return "", fmt.Errorf("%s: left as it is, since the formatted text cannot be read: %w", name, err)
	}
	if Tree(before) != Tree(after) {
		return "", fmt.Errorf("%s: left as it is, since formatting would change its meaning", name)
	}
	if !sameComments(before.Comments, after.Comments) {
		return "", fmt.Errorf("%s: left as it is, since formatting would change its comments", name)
	}
	return out, nil
}

func sameComments(a, b []syntax.Comment) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if strings.TrimRight(a[i].Text, blank) != b[i].Text {
			return false
		}
	}
	return true
}

// blank are characters that comments do not end with.
const blank = " \t\f\v"

// step is the width of a level.
const step = 4

// A printer writes lexemes and the space between them.
type printer struct {
	out    strings.Builder
	text   string // the text that is read
	end    int    // the end of the lexeme before, in text
	widths []int  // of the blocks that are open, as the text has them
	opened bool   // a block has just begun
	deep   int    // how many blocks were open at the end of the line before

	frames    []frame
	lineStart bool // the next lexeme begins a line
	indent    int  // of the line that is being written
	afterDef  bool // the last statement of the file is a function

	last  source.Token // the lexeme before, on this line
	unary bool         // last is a sign or a star before its operand
	tight bool         // last is the = of a keyword or the : of a slice
}

// A frame is a bracket that is open, or the line itself.
type frame struct {
	call    bool // it holds arguments or parameters
	index   bool // it is an index
	lambdas int  // lambdas whose : is to come
	indent  int  // of the line in which it opens
}

func (p *printer) frame() *frame { return &p.frames[len(p.frames)-1] }

// lexeme writes a lexeme, and before it the gap in its new form.
func (p *printer) lexeme(l source.Lexeme) {
	switch l.Kind {
	case syntax.INDENT:
		p.widths = append(p.widths, 0)
		p.opened = true
	case syntax.OUTDENT:
		p.widths = p.widths[:len(p.widths)-1]
	case syntax.NEWLINE:
		if p.lineStart {
			return // of a line that holds no code: it is in the gap before the next
		}
		p.endLine(p.text[p.end:max(l.Start, p.end)])
		p.end = max(l.End, p.end)
	case syntax.EOF:
		if !p.lineStart { // a \ ends the last line
			p.endLine(p.text[p.end:])
			return
		}
		p.lead(p.text[p.end:], l.Kind)
	default:
		p.word(l)
		p.end = l.End
	}
}

// endLine ends a line, whose comment may be in the gap.
func (p *printer) endLine(gap string) {
	if i := strings.IndexByte(gap, '#'); i >= 0 {
		p.out.WriteString("  " + strings.TrimRight(gap[i:], blank+"\n"))
	}
	p.out.WriteByte('\n')
	p.lineStart = true
}

// word writes a lexeme that has a text.
func (p *printer) word(l source.Lexeme) {
	gap := p.text[p.end:l.Start]
	unary := signs[l.Kind] && (p.lineStart || !endsOperand[p.last])
	tight := p.isTight(l.Kind)
	if p.lineStart {
		p.lead(gap, l.Kind)
		p.startLine(l)
	} else {
		p.between(gap, l.Kind, tight)
	}
	p.bracket(l.Kind)
	p.out.WriteString(quoted(l.Kind, p.text[l.Start:l.End]))
	p.last, p.unary, p.tight = l.Kind, unary, tight
}

// startLine begins a line of code with its indentation.
func (p *printer) startLine(l source.Lexeme) {
	level := len(p.widths) - 1
	if p.opened {
		p.widths[level] = column(p.text[strings.LastIndexByte(p.text[:l.Start], '\n')+1 : l.Start])
	}
	if level == 0 {
		p.afterDef = l.Kind == syntax.DEF
	}
	p.indent = level * step
	p.pad(p.indent)
	p.deep, p.opened, p.lineStart = level, false, false
	p.last, p.unary, p.tight = 0, false, false
	p.frames = append(p.frames[:0], frame{indent: p.indent})
}

func (p *printer) pad(n int) { p.out.WriteString(strings.Repeat(" ", n)) }

// column returns the width of the space that begins a line.
func column(line string) int {
	width := 0
	for _, c := range line {
		switch c {
		case ' ':
			width++
		case '\t':
			width += 8 - width%8
		default:
			return width
		}
	}
	return width
}

// bracket opens and closes frames, and counts lambdas.
func (p *printer) bracket(kind source.Token) {
	switch kind {
	case syntax.LPAREN, syntax.LBRACK, syntax.LBRACE:
		operand := endsOperand[p.last] || p.last == syntax.LOAD
		p.frames = append(p.frames, frame{call: operand && kind == syntax.LPAREN, index: operand && kind == syntax.LBRACK, indent: p.indent})
	case syntax.RPAREN, syntax.RBRACK, syntax.RBRACE:
		p.frames = p.frames[:len(p.frames)-1]
	case syntax.LAMBDA:
		p.frame().lambdas++
	case syntax.COLON:
		if f := p.frame(); f.lambdas > 0 {
			f.lambdas--
		}
	}
}

// isTight reports whether a lexeme is the = of a keyword or the : of a slice.
func (p *printer) isTight(kind source.Token) bool {
	f := p.frame()
	switch kind {
	case syntax.EQ:
		return f.call || f.lambdas > 0
	case syntax.COLON:
		return f.index && f.lambdas == 0
	}
	return false
}
