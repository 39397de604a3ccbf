package format

import (
	"strings"

	"go.starlark.net/syntax"

	"tpsh/lang/source"
)

// A remark is a comment on a line of its own, or the code that follows.
type remark struct {
	blanks int // blank lines before it
	level  int
	text   string
}

// lead writes the comments and blank lines before a line of code that a kind of
// lexeme begins.
func (p *printer) lead(gap string, next source.Token) {
	list := p.remarks(gap)
	code := &list[len(list)-1]
	code.level = len(p.widths) - 1
	p.spread(list, next == syntax.DEF)
	for i, r := range list {
		if i == 0 && (p.out.Len() == 0 || p.opened) {
			r.blanks = 0
		}
		last := i == len(list)-1
		if last && next == syntax.EOF {
			return
		}
		p.out.WriteString(strings.Repeat("\n", min(r.blanks, 2)))
		if !last {
			p.pad(r.level * step)
			p.out.WriteString(r.text + "\n")
		}
	}
}

// remarks cuts the gap before a line of code. The last remark is the code.
func (p *printer) remarks(gap string) []remark {
	var list []remark
	var r remark
	lines := strings.Split(gap, "\n")
	for _, line := range lines[:len(lines)-1] {
		text := strings.Trim(line, blank)
		switch {
		case text == "":
			r.blanks++
		case text[0] == '#':
			r.level, r.text = p.levelOf(column(line)), text
			list = append(list, r)
			r = remark{}
		}
	}
	return append(list, r)
}

// levelOf returns the level of a comment that stands in a column between two
// lines of code: that of a block which ends there, if it is indented as that.
func (p *printer) levelOf(col int) int {
	next := len(p.widths) - 1
	for level := min(p.deep, len(p.ended())-1); level > next; level-- {
		if p.ended()[level] <= col {
			return level
		}
	}
	return next
}

// ended returns the widths of the blocks that were open at the line before.
// Those that have been closed since still stand behind the end of widths.
func (p *printer) ended() []int { return p.widths[:min(p.deep+1, cap(p.widths))] }

// spread puts two blank lines around the functions of the file, before the
// comments that belong to them.
func (p *printer) spread(list []remark, def bool) {
	last := len(list) - 1
	if def && list[last].level == 0 {
		i := last
		for i > 0 && list[i].blanks == 0 && list[i-1].level == 0 {
			i--
		}
		list[i].blanks = 2
	}
	if p.afterDef {
		for i := range list {
			if list[i].level == 0 {
				list[i].blanks = 2
				return
			}
		}
	}
}

// between writes the gap between two lexemes of a line of code, which may
// be several lines of text.
func (p *printer) between(gap string, next source.Token, tight bool) {
	if !strings.Contains(gap, "\n") {
		if p.spaced(next, tight) {
			p.out.WriteByte(' ')
		}
		return
	}
	if len(p.frames) == 1 {
		p.out.WriteString(" \\\n")
		p.indent = p.frame().indent + step
		p.pad(p.indent)
		return
	}
	inside := p.frame().indent + step
	p.fold(strings.Split(gap, "\n"), inside, closes[next])
	p.indent = inside
	if closes[next] {
		p.indent = p.frame().indent
	}
	p.pad(p.indent)
}

// fold writes the ends of lines, blank lines and comments inside brackets.
func (p *printer) fold(lines []string, indent int, closing bool) {
	if text := strings.Trim(lines[0], blank); strings.HasPrefix(text, "#") {
		p.out.WriteString("  " + text)
	}
	p.out.WriteByte('\n')
	blanks, first := 0, opens[p.last]
	for _, line := range lines[1 : len(lines)-1] {
		text := strings.Trim(line, blank)
		if !strings.HasPrefix(text, "#") {
			if text == "" {
				blanks++
			}
			continue
		}
		if blanks > 0 && !first {
			p.out.WriteByte('\n')
		}
		p.pad(indent)
		p.out.WriteString(text + "\n")
		blanks, first = 0, false
	}
	if blanks > 0 && !first && !closing {
		p.out.WriteByte('\n')
	}
}
