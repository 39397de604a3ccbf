package main

import (
	"bytes"
	"io"
	"strings"
	"sync"

	"tpsh/lang"
)

// A kernelOutput passes on what ranks print, or say beside that.
type kernelOutput struct {
	k     *notebook
	notes bool
}

func (o kernelOutput) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if o.notes {
		o.k.answer(answer{Note: string(p)})
	} else {
		o.k.answer(answer{Text: string(p)})
	}
	return len(p), nil
}

// A lineOutput passes on what is written, at once or by lines: tables come cell by cell.
type lineOutput struct {
	io.Writer
	mu    sync.Mutex
	lines bool
	rest  []byte // of a line
}

func (l *lineOutput) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rest = append(l.rest, p...)
	end := len(l.rest)
	if l.lines {
		end = bytes.LastIndexByte(l.rest, '\n') + 1
	}
	_, err := l.Writer.Write(l.rest[:end])
	l.rest = l.rest[end:]
	return len(p), err
}

// by says whether from now on lines are passed on.
func (l *lineOutput) by(lines bool) {
	l.mu.Lock()
	l.lines = lines
	l.mu.Unlock()
	l.Write(nil)
}

// A heldOutput passes on what is written, or keeps it back.
type heldOutput struct {
	io.Writer
	mu   sync.Mutex
	held *strings.Builder // nil to pass on
}

func (h *heldOutput) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.held != nil {
		return h.held.Write(p)
	}
	return h.Writer.Write(p)
}

// hold calls do and keeps back what is written meanwhile; if do returns 0, it is
// passed on then.
func (h *heldOutput) hold(do func() int) (held string, code int) {
	var b strings.Builder
	h.mu.Lock()
	h.held = &b
	h.mu.Unlock()
	code = do()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.held = nil
	if code == lang.StatusOK && b.Len() > 0 {
		io.WriteString(h.Writer, b.String())
	}
	return b.String(), code
}
