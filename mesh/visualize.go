package mesh

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"tpsh/internal/ranklist"
)

// maxDrawn is the most rows, and columns, of a drawing: of more, the first and
// the last are drawn.
const maxDrawn = 16

// Draw returns a text that shows which ranks hold which block of a tensor, with
// its dim row going down and its dim col going across; -1 stands for none. The
// other dims are folded: where ranks hold blocks that differ along these, they
// stand in one cell.
//
//	(7, 5) as [S(0), S(1)] on (2, 3)
//
//	      0:2   2:4   4:5
//	    ┌─────┬─────┬─────┐
//	0:4 │ 0   │ 1   │ 2   │
//	    ├─────┼─────┼─────┤
//	4:7 │ 3   │ 4   │ 5   │
//	    └─────┴─────┴─────┘
//
// In a cell, "0-2,5" are ranks that hold the same, " + " stands between those
// that hold different terms of a sum, and " | " between those of different
// blocks. Ranks that hold nothing are listed below.
func Draw(l Layout, row, col int) string {
	d := &drawing{layout: l, row: row, col: col, rows: cuts(l, row), cols: cuts(l, col)}
	var b strings.Builder
	fmt.Fprintf(&b, "%v\n\n", l)
	d.grid(&b)
	d.legend(&b)
	return b.String()
}

// DrawDims returns the dims that Draw shows best: the last two of those that are
// cut, or if fewer are, of all.
func DrawDims(l Layout) (row, col int) {
	var whole, cut []int
	for d := range l.Shape() {
		if len(cuts(l, d)) > 1 {
			cut = append(cut, d)
		} else {
			whole = append(whole, d)
		}
	}
	dims := append([]int{-1, -1}, append(whole, cut...)...)
	dims = dims[len(dims)-2:]
	slices.Sort(dims)
	return dims[0], dims[1]
}

// A drawing is a grid of the blocks of a layout.
type drawing struct {
	layout     Layout
	row, col   int
	rows, cols []Range
	sum, fold  bool // whether a cell has a " + ", or a " | "
}

// cuts returns the ranges into which the edges of boxes cut dim; one for the
// whole if dim is -1.
func cuts(l Layout, dim int) []Range {
	if dim < 0 {
		return []Range{{0, 1}}
	}
	edges := []int{0, l.Shape()[dim]}
	for _, r := range l.Ranks() {
		for _, b := range l.Boxes(r) {
			if b.Numel() > 0 {
				edges = append(edges, b.Lo[dim], b.Hi[dim])
			}
		}
	}
	slices.Sort(edges)
	edges = slices.Compact(edges)
	if len(edges) == 1 {
		return []Range{{0, 0}}
	}
	var ranges []Range
	for i, hi := range edges[1:] {
		ranges = append(ranges, Range{edges[i], hi})
	}
	return ranges
}

// table returns the texts of the cells, behind those of their rows and below those of
// their columns.
func (d *drawing) table() [][]string {
	table := [][]string{{""}}
	for _, j := range drawn(len(d.cols)) {
		table[0] = append(table[0], label(d.cols, j, d.col))
	}
	for _, i := range drawn(len(d.rows)) {
		line := []string{label(d.rows, i, d.row)}
		for _, j := range drawn(len(d.cols)) {
			line = append(line, d.cell(i, j))
		}
		table = append(table, line)
	}
	return table
}

// grid writes the cells with the ranges of their rows and columns.
func (d *drawing) grid(b *strings.Builder) {
	table := d.table()
	widths := make([]int, len(table[0]))
	for _, line := range table {
		for j, text := range line {
			widths[j] = max(widths[j], utf8.RuneCountInString(text))
		}
	}
	if d.col >= 0 {
		writeRow(b, table[0], widths, "  ", " ", " ")
	}
	writeRule(b, widths, "┌", "┬", "┐")
	for i, line := range table[1:] {
		if i > 0 {
			writeRule(b, widths, "├", "┼", "┤")
		}
		writeRow(b, line, widths, " │", "│", "│")
	}
	writeRule(b, widths, "└", "┴", "┘")
}

// drawn lists the indices of n rows or columns that are drawn; -1 stands for
// those left out.
func drawn(n int) []int {
	var list []int
	for i := range n {
		switch {
		case n <= maxDrawn || i < maxDrawn/2 || i >= n-maxDrawn/2:
			list = append(list, i)
		case i == maxDrawn/2:
			list = append(list, -1)
		}
	}
	return list
}

// label returns the i-th of ranges as a slice of dim.
func label(ranges []Range, i, dim int) string {
	if dim < 0 {
		return ""
	}
	if i < 0 {
		return "..."
	}
	return strconv.Itoa(ranges[i].Lo) + ":" + strconv.Itoa(ranges[i].Hi)
}

// cell returns the ranks that hold something in row i and column j.
func (d *drawing) cell(i, j int) string {
	if i < 0 || j < 0 {
		return "..."
	}
	var parts, terms []int
	holders := map[[2]int][]int{} // by part and term
	for _, r := range d.layout.Ranks() {
		if !slices.ContainsFunc(d.layout.Boxes(r), func(b Box) bool { return d.meets(b, i, j) }) {
			continue
		}
		part, term := d.layout.at(r)
		parts, terms = include(parts, part), include(terms, term)
		holders[[2]int{part, term}] = append(holders[[2]int{part, term}], r)
	}
	d.sum, d.fold = d.sum || len(terms) > 1, d.fold || len(parts) > 1
	blocks := make([]string, len(parts))
	for k, part := range parts {
		sum := make([]string, len(terms))
		for e, term := range terms {
			sum[e] = rankRanges(holders[[2]int{part, term}])
		}
		blocks[k] = strings.Join(sum, " + ")
	}
	return strings.Join(blocks, " | ")
}

// include returns list with x in it.
func include(list []int, x int) []int {
	if slices.Contains(list, x) {
		return list
	}
	return append(list, x)
}

// meets reports whether b has elements in row i and column j.
func (d *drawing) meets(b Box, i, j int) bool {
	in := func(dim int, r Range) bool { return dim < 0 || b.Lo[dim] <= r.Lo && r.Hi <= b.Hi[dim] }
	return b.Numel() > 0 && in(d.row, d.rows[i]) && in(d.col, d.cols[j])
}

// rankRanges lists ranks in ascending order: 0-2,5,6.
func rankRanges(ranks []int) string { return ranklist.Ranges(slices.Sorted(slices.Values(ranks))) }

// legend writes who holds nothing, and what the signs in the cells mean.
func (d *drawing) legend(b *strings.Builder) {
	var none []int
	for _, r := range d.layout.Ranks() {
		if total(d.layout.Boxes(r)) == 0 {
			none = append(none, r)
		}
	}
	if none != nil {
		fmt.Fprintf(b, "nothing: %s\n", rankRanges(none))
	}
	if d.sum {
		fmt.Fprintln(b, "+ adds terms")
	}
	if d.fold {
		fmt.Fprintln(b, "| is between blocks along the other dims")
	}
}

// writeRow writes texts between the given signs; the first has no sign before
// it.
func writeRow(b *strings.Builder, texts []string, widths []int, first, between, last string) {
	var line strings.Builder
	fmt.Fprintf(&line, "%*s", widths[0], texts[0])
	for j, text := range texts[1:] {
		sign := between
		if j == 0 {
			sign = first
		}
		fmt.Fprintf(&line, "%s %-*s ", sign, widths[j+1], text)
	}
	line.WriteString(last)
	b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
}

// writeRule writes a line of the grid.
func writeRule(b *strings.Builder, widths []int, first, between, last string) {
	b.WriteString(strings.Repeat(" ", widths[0]+1))
	for j, w := range widths[1:] {
		sign := between
		if j == 0 {
			sign = first
		}
		b.WriteString(sign + strings.Repeat("─", w+2))
	}
	b.WriteString(last + "\n")
}
