package edit

import (
	"strings"
	"unicode"
)

// A layout is a text as it stands on a screen, row by row, and where the cursor is.
type layout struct {
	rows     []string
	row, col int
}

// newLayout lays out a text behind prompts on a screen of width columns. more is
// the prompt of lines after the first.
func newLayout(b *buffer, prompt, more string, width int) *layout {
	l := &layout{}
	var row strings.Builder
	col := 0
	put := func(s string, w int) {
		if col+w > width {
			l.rows = append(l.rows, row.String())
			row.Reset()
			col = 0
		}
		row.WriteString(s)
		col += w
	}
	mark := func() {
		l.row, l.col = len(l.rows), col
		if col == width { // the cursor then stands at the start of the next row
			l.row, l.col = len(l.rows)+1, 0
		}
	}
	for _, r := range prompt {
		put(string(r), cells(r))
	}
	for i, r := range b.text {
		if i == b.at {
			mark()
		}
		switch {
		case r == '\n':
			l.rows = append(l.rows, row.String())
			row.Reset()
			col = 0
			for _, r := range more {
				put(string(r), cells(r))
			}
		case r == '\t':
			put(strings.Repeat(" ", step), step)
		case r < ' ' || r == 127:
			put("^"+string(r^64), 2)
		default:
			put(string(r), cells(r))
		}
	}
	if b.at == len(b.text) {
		mark()
	}
	l.rows = append(l.rows, row.String())
	if l.row == len(l.rows) {
		l.rows = append(l.rows, "")
	}
	return l
}

// clip returns the part of a layout that a screen of height rows can show, with
// the cursor in it.
func (l *layout) clip(height int) *layout {
	if len(l.rows) <= height || height < 1 {
		return l
	}
	first := max(0, min(l.row-height/2, len(l.rows)-height))
	return &layout{l.rows[first : first+height], l.row - first, l.col}
}

// cells returns how many columns of a terminal a letter takes.
func cells(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case r >= 0x1100 && (r <= 0x115f || r >= 0x2e80 && r <= 0xa4cf && r != 0x303f || r >= 0xac00 && r <= 0xd7a3 ||
		r >= 0xf900 && r <= 0xfaff || r >= 0xfe30 && r <= 0xfe6f || r >= 0xff00 && r <= 0xff60 || r >= 0xffe0 && r <= 0xffe6 ||
		r >= 0x1f300 && r <= 0x1faff || r >= 0x20000 && r <= 0x3fffd):
		return 2
	}
	return 1
}

// Cells returns how many columns of a terminal a text of one line takes.
func Cells(text string) int {
	n := 0
	for _, r := range text {
		n += cells(r)
	}
	return n
}
