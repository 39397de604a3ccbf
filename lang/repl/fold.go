package repl

import (
	"strings"

	"tpsh/lang/repl/edit"
)

// fold breaks the lines of a text that are wider than a terminal, behind the last
// comma or space that fits, and indents the lines below by two. A width of 0 is
// that of no terminal.
func fold(text string, width int) string {
	if width < 10 {
		return text
	}
	var out strings.Builder
	for line := range strings.Lines(text) {
		end := line[len(strings.TrimRight(line, "\n")):]
		line = strings.TrimRight(line, "\n")
		indent := ""
		for edit.Cells(indent+line) > width {
			cut := breakAt(line, width-len(indent))
			out.WriteString(indent + strings.TrimRight(line[:cut], " ") + "\n")
			line, indent = strings.TrimLeft(line[cut:], " "), "  "
		}
		out.WriteString(indent + line + end)
	}
	return out.String()
}

// breakAt returns where to break a line so that the part before takes at most width
// columns: behind a space or a comma in its second half, or if there is none, anywhere.
func breakAt(line string, width int) int {
	columns, gap, last := 0, 0, 0
	for i, r := range line {
		columns += edit.Cells(string(r))
		if columns > width {
			break
		}
		last = i + len(string(r))
		if (r == ' ' || r == ',') && columns > width/2 {
			gap = last
		}
	}
	if gap > 0 {
		return gap
	}
	return max(last, 1)
}
