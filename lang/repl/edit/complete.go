package edit

import (
	"fmt"
	"io"
	"strings"
)

// tab indents at the start of a line, and elsewhere completes the word before the
// cursor: by all that is certain, or if nothing is, by showing the candidates.
func (e *Editor) tab() {
	before, line := e.before()
	if strings.TrimSpace(line) == "" {
		e.insert(strings.Repeat(" ", step-len(line)%step))
		return
	}
	if e.Complete == nil {
		return
	}
	start, names := e.Complete(before)
	if start < 0 || start > len(before) || len(names) == 0 {
		return
	}
	word := before[start:]
	if common := commonPrefix(names); strings.HasPrefix(common, word) && common != word {
		e.insert(common[len(word):])
	} else if len(names) > 1 {
		e.list(names)
	}
}

// commonPrefix returns the longest text with which all names begin.
func commonPrefix(names []string) string {
	common := names[0]
	for _, name := range names[1:] {
		for !strings.HasPrefix(name, common) {
			common = common[:len(common)-1]
		}
	}
	return strings.ToValidUTF8(common, "")
}

// maxListed is how many names are listed.
const maxListed = 200

// list shows names in columns below the text, which is then drawn anew.
func (e *Editor) list(names []string) {
	e.leave("")
	width, _ := e.Size()
	io.WriteString(e.Out, strings.ReplaceAll(columns(names[:min(len(names), maxListed)], width), "\n", "\r\n"))
	if more := len(names) - maxListed; more > 0 {
		fmt.Fprintf(e.Out, "and %d more\r\n", more)
	}
}

// columns returns names in as many columns as fit into a width, down each column.
func columns(names []string, width int) string {
	widest := 0
	for _, name := range names {
		widest = max(widest, Cells(name))
	}
	across := max(1, (width+1)/(widest+2))
	rows := (len(names) + across - 1) / across
	var out strings.Builder
	for row := range rows {
		line := ""
		for i := row; i < len(names); i += rows {
			line += names[i] + strings.Repeat(" ", widest+2-Cells(names[i]))
		}
		out.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return out.String()
}
