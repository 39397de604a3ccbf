package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"syscall"

	"golang.org/x/term"
)

// stdio is where a command reads and writes.
type stdio struct {
	in       io.Reader
	out, err io.Writer
}

// isStandard reports whether the command writes to standard output itself.
func (s *stdio) isStandard() bool {
	o, checked := s.out.(*output)
	return s.out == os.Stdout || checked && o.w == os.Stdout
}

// isTerminal reports whether a command reads from a terminal and writes to one.
func (s *stdio) isTerminal() bool {
	return s.in == os.Stdin && s.isStandard() && term.IsTerminal(int(os.Stdin.Fd())) && term.IsTerminal(int(os.Stdout.Fd()))
}

// An output passes on what a command writes to w, up to the first error, which
// it keeps: a command whose output is lost must not end as if it were there.
type output struct {
	w io.Writer

	mu  sync.Mutex
	err error
}

func (o *output) Write(b []byte) (int, error) {
	n, err := o.w.Write(b)
	if err != nil {
		err = unwritten("standard output", err)
		o.mu.Lock()
		if o.err == nil {
			o.err = err
		}
		o.mu.Unlock()
	}
	return n, err
}

// lost returns the first error of writing, or nil.
func (o *output) lost() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// An outputError says that what a command was to write cannot be written.
type outputError struct {
	what string // standard output, or the name of a file
	err  error
}

func (e *outputError) Error() string { return fmt.Sprintf("cannot write %s: %v", e.what, e.err) }
func (e *outputError) Unwrap() error { return e.err }

// unwritten returns err, of writing what, as an outputError.
func unwritten(what string, err error) error {
	if err == nil {
		return nil
	}
	if e := (*fs.PathError)(nil); errors.As(err, &e) {
		err = e.Err
	}
	return &outputError{what, err}
}

// writeJSON writes a value as JSON that people can read, too.
func writeJSON(w io.Writer, value any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(value)
}

// isUnread reports whether err is that nobody reads standard output any more,
// as behind "| head -1". Who wanted no more needs no message.
func isUnread(err error) bool {
	var e *outputError
	return errors.As(err, &e) && e.what == "standard output" && errors.Is(e, syscall.EPIPE)
}

// A heardWriter writes to w, and calls lost with the error when that cannot be
// written any more.
type heardWriter struct {
	w    io.Writer
	lost func(error)
}

func (h *heardWriter) Write(b []byte) (int, error) {
	n, err := h.w.Write(b)
	if err != nil {
		h.lost(err)
	}
	return n, err
}
