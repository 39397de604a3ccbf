package repl

import (
	"context"
	"io"
	"os"
	"slices"
	"strings"

	"tpsh/lang"
)

// Cells returns a shell without an input: whoever has it, such as a kernel of
// notebooks, runs programs on its Session and gives it the lines that are commands.
// It has no debugger, which would ask for lines.
func Cells(opts Options) (*Shell, error) {
	opts.Interrupts = make(chan os.Signal) // Interrupt is called instead
	s := newShell(opts)
	s.commands = slices.DeleteFunc(s.commands, func(c Command) bool { return slices.Contains(onlyTyped, c.Name) })
	s.in = &statements{reader: noReader{}}
	return s, s.restart(opts.Ranks)
}

// onlyTyped are the commands that make sense where lines are typed.
var onlyTyped = []string{"break", "clear", "step", "next", "where", "locals", "continue", "until", "quit"}

// noReader is the input of a shell that has none.
type noReader struct{}

func (noReader) ReadLine(string) (string, error) { return "", io.EOF }
func (noReader) Interactive() bool               { return false }
func (noReader) Close() error                    { return nil }

// A Part is a part of a cell: a command, or the source of statements.
type Part struct {
	Command string // without its colon; "" for statements
	Source  string
	Line    int // of the cell, from 1 on
}

// Split returns the parts of a cell. Lines at the margin that begin with a colon, or
// ask for documentation (NAME?), are commands, unless they are part of a statement.
func (s *Shell) Split(ctx context.Context, cell string) []Part {
	if command := s.word(ctx, cell); command != "" && command != "quit" {
		return []Part{{Command: command, Line: 1}}
	}
	var parts []Part
	source, begin := "", 1
	flush := func() {
		if strings.TrimSpace(source) != "" {
			parts = append(parts, Part{Source: source, Line: begin})
		}
	}
	for i, line := range strings.SplitAfter(cell, "\n") {
		command, is := strings.CutPrefix(strings.TrimRight(line, " \t\r\n"), ":")
		if is {
			state, _ := parse(source, begin)
			is = state != open
		}
		if !is {
			source += line
			continue
		}
		flush()
		parts = append(parts, Part{Command: command, Line: i + 1})
		source, begin = "", i+2
	}
	flush()
	return parts
}

// Command carries out a command, given without its colon, and returns the exit status
// of its failure, which Options.Err has been told.
func (s *Shell) Command(ctx context.Context, line string) int {
	s.status = lang.StatusOK
	s.command(ctx, line)
	return s.status
}

// Keep notes that a program ran well, for the commands that go back to it.
func (s *Shell) Keep(p lang.Program) { s.keep(entry{program: p, typed: p.Source}) }

// Session returns the session on the ranks that there are now.
func (s *Shell) Session() *lang.Session { return s.session }

// Complete completes a line of a cell: the name of a command, or a name that the ranks know.
func (s *Shell) Complete(ctx context.Context, line string) (start int, names []string) {
	return s.complete(ctx, line)
}

// Interrupt ends the statement that runs. It may be called from any goroutine.
func (s *Shell) Interrupt() {
	if session := s.current.Load(); session != nil {
		session.Interrupt()
	}
}

// Close ends the ranks.
func (s *Shell) Close() { s.end() }
