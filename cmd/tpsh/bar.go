package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"tpsh/internal/units"
)

// A bar shows on a terminal how much of something is done.
type bar struct {
	w     io.Writer // nil for none
	label string
	total int64
	unit  string    // "" for bytes
	next  time.Time // when it may be drawn again
}

// newBar returns a bar on w that counts units, or bytes if unit is "". It shows
// nothing unless w is a terminal.
func newBar(w io.Writer, label string, total int64, unit string) *bar {
	b := &bar{label: label, total: max(total, 1), unit: unit}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		b.w = w
	}
	return b
}

// barWidth is the number of cells of a bar.
const barWidth = 30

// show draws the bar with so much done, ten times a second at most.
func (b *bar) show(done int64) {
	now := time.Now()
	if b.w == nil || now.Before(b.next) && done < b.total {
		return
	}
	b.next = now.Add(100 * time.Millisecond)
	n := int(done * barWidth / b.total)
	of := fmt.Sprintf("%d MB", b.total>>20)
	if b.unit != "" {
		of = units.Count(b.total, b.unit)
	}
	fmt.Fprintf(b.w, "\r%s [%s%s] %3d%% of %s", b.label, strings.Repeat("#", n), strings.Repeat(".", barWidth-n), done*100/b.total, of)
}

// clear removes the bar.
func (b *bar) clear() {
	if b.w != nil {
		fmt.Fprint(b.w, "\r\x1b[K")
	}
}
