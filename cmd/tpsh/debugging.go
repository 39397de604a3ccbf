package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"tpsh/internal/ranklist"
	"tpsh/lang"
	"tpsh/lang/debug"
	"tpsh/lang/halt"
	"tpsh/lang/repl"
)

// A debugging is how the programs of a command are stopped and looked at. A nil one
// stops none.
type debugging struct {
	control *debug.Controller
	step    halt.Step // with which a program begins
	talk    func(debug.Stop)
	whole   bool // it is stopped anywhere, and not only near a breakpoint()
	pauses  bool // an interrupt stops the ranks, and only a second one ends the program
}

// newDebugging returns the debugging in which somebody types what is read by read.
func newDebugging(std *stdio, read func(prompt string) (string, error)) *debugging {
	c := debug.New()
	return &debugging{control: c, talk: (&debug.Prompt{C: c, Read: read, Out: std.out}).Talk}
}

// atTerminal returns the debugging of breakpoint() where somebody sits before a
// terminal; else nil.
func atTerminal(std *stdio) *debugging {
	if !std.isTerminal() {
		return nil
	}
	return newDebugging(std, repl.LineReader())
}

// plainLines returns what reads lines without a prompt.
func plainLines(in io.Reader) func(string) (string, error) {
	r := bufio.NewReader(in)
	return func(string) (string, error) {
		line, err := r.ReadString('\n')
		if line == "" && err != nil {
			return "", err
		}
		return strings.TrimRight(line, "\r\n"), nil
	}
}

// debugger returns who is told where ranks stop; nil for nobody.
func (d *debugging) debugger() lang.Debugger {
	if d == nil {
		return nil
	}
	return d.control
}

// drive calls run, which runs a program on s, and talks where that stops.
func (d *debugging) drive(s *lang.Session, run func()) {
	if d == nil {
		run()
		return
	}
	d.control.Drive(s, nil, d.step, run, d.talk)
}

// hear returns a context that ends when the program is to end; s hears of that where
// interrupts do not mean a pause.
func (d *debugging) hear(s *stopRequest) (context.Context, context.CancelFunc) {
	if d == nil || !d.pauses {
		return s.hear()
	}
	goOn := unreadGoesOn()
	ctx, stop := signal.NotifyContext(context.Background(), endings()...)
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	hearsItself()
	go func() {
		for paused := false; ctx.Err() == nil; {
			select {
			case <-interrupts:
				if paused || d.control.Stopping() {
					stop()
				}
				paused = true
				d.control.Pause()
			case <-ctx.Done():
			}
			paused = paused && !d.control.Stopping()
		}
	}()
	return ctx, func() {
		signal.Stop(interrupts)
		stop()
		goOn()
	}
}

// notes returns a writer to w of lines about long waits, to which it adds who is
// stopped.
func (d *debugging) notes(w io.Writer) io.Writer {
	if d == nil {
		return w
	}
	return &stoppedNotes{d.control, w}
}

type stoppedNotes struct {
	control *debug.Controller
	io.Writer
}

func (n *stoppedNotes) Write(p []byte) (int, error) {
	ranks := n.control.Stopped()
	if len(ranks) == 0 || !strings.Contains(string(p), " has waited ") {
		return n.Writer.Write(p)
	}
	_, err := fmt.Fprintf(n.Writer, "%s (%s: stopped by the debugger)\n", strings.TrimRight(string(p), "\n"), ranklist.Text(ranks))
	return len(p), err
}
