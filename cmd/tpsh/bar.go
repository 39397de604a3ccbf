package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

// A bar shows on a terminal how much of something is done.
type bar struct {
	w     io.Writer // nil for none
	label string
	total int64
	next  time.Time // when it may be drawn again
}

// newBar returns a bar on w, which shows nothing unless w is a terminal.
func newBar(w io.Writer, label string, total int64) *bar {
	b := &bar{label: label, total: max(total, 1)}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		b.w = w
	}
	return b
}

// barWidth is the number of cells of a bar.
const barWidth = 30

// show draws the bar with so many bytes done, ten times a second at most.
func (b *bar) show(done int64) {
	now := time.Now()
	if b.w == nil || now.Before(b.next) && done < b.total {
		return
	}
	b.next = now.Add(100 * time.Millisecond)
	n := int(done * barWidth / b.total)
	fmt.Fprintf(b.w, "\r%s [%s%s] %3d%% of %d MB", b.label, strings.Repeat("#", n), strings.Repeat(".", barWidth-n), done*100/b.total, b.total>>20)
}

// clear removes the bar.
func (b *bar) clear() {
	if b.w != nil {
		fmt.Fprint(b.w, "\r\x1b[K")
	}
}
