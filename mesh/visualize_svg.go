package mesh

import (
	"fmt"
	"html"
	"strings"
)

// Sizes of a drawing in SVG, in pixels, and the colours of its cells, which stand for
// ranks in turn.
const (
	svgRow, svgLetter, svgPad = 34, 8, 12
)

var svgColours = [...]string{"#a6cee3", "#b2df8a", "#fdbf6f", "#cab2d6", "#fb9a99", "#ffff99", "#8dd3c7", "#d9d9d9"}

// DrawSVG returns what Draw shows as a picture in SVG: cells that the same ranks hold
// have one colour.
func DrawSVG(l Layout, row, col int) string {
	d := &drawing{layout: l, row: row, col: col, rows: cuts(l, row), cols: cuts(l, col)}
	table := d.table()
	left := svgLetter*longest(table, 0, 1) + svgPad
	width := svgLetter*longest(table, 1, len(table[0])) + 2*svgPad
	var legend strings.Builder
	d.legend(&legend)
	notes := strings.FieldsFunc(legend.String(), func(c rune) bool { return c == '\n' })
	title := fmt.Sprint(l)
	total := max(left+width*(len(table[0])-1), svgLetter*len([]rune(title)), svgLetter*len([]rune(strings.Join(notes, "  ")))) + 2*svgPad
	var b strings.Builder
	height := svgRow*(len(table)+1+len(notes)) + svgPad
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="monospace" font-size="13"><rect width="100%%" height="100%%" fill="white"/>`, total, height, total, height)
	text := func(x, y int, anchor, s string) {
		fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="%s">%s</text>`, x, y, anchor, html.EscapeString(s))
	}
	text(svgPad, svgRow*2/3, "start", title)
	colours := map[string]string{}
	for i, line := range table {
		y := svgRow * (i + 1)
		for j, s := range line {
			x := svgPad + left + width*(j-1)
			switch {
			case j == 0:
				text(svgPad+left-svgPad/2, y+svgRow*2/3, "end", s)
			case i == 0:
				text(x+width/2, y+svgRow*2/3, "middle", s)
			default:
				if colours[s] == "" {
					colours[s] = svgColours[len(colours)%len(svgColours)]
				}
				fmt.Fprintf(&b, `<rect x="%d" y="%d" width="%d" height="%d" fill="%s" stroke="#333"/>`, x, y, width, svgRow, colours[s])
				text(x+width/2, y+svgRow*2/3, "middle", s)
			}
		}
	}
	for i, note := range notes {
		text(svgPad, svgRow*(len(table)+1+i)+svgRow*2/3, "start", note)
	}
	b.WriteString("</svg>")
	return b.String()
}

// longest returns the number of letters of the longest text in some columns of a table.
func longest(table [][]string, from, to int) int {
	n := 0
	for _, line := range table {
		for _, s := range line[from:to] {
			n = max(n, len([]rune(s)))
		}
	}
	return n
}
