package repl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tpsh/internal/lazyregexp"
	"tpsh/internal/units"
	"tpsh/lang"
)

// An entry is a statement that ran well.
type entry struct {
	program lang.Program
	typed   string // the text that :save writes; "" for nothing
	shown   bool   // it has a value, which was shown
}

// save writes the statements that ran well. It replaces no file but its own.
func save(_ context.Context, s *Shell, arg string) error {
	path := s.path(arg)
	flags := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if s.saved[path] {
		flags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	f, err := os.OpenFile(path, flags, 0o777)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s exists", arg)
	}
	if err != nil {
		return err
	}
	text, n := s.script()
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err == nil {
		s.saved[path] = true
		fmt.Fprintf(s.opts.Out, "%s written to %s\n", units.Count(n, "statement"), arg)
	}
	return err
}

// path returns the absolute path of a file that a command names.
func (s *Shell) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(s.dir, name)
}

// script returns the statements that ran well as a script that does the same, and
// their number: it says on how many ranks, and prints the values that were shown.
func (s *Shell) script() (text []byte, n int) {
	var out bytes.Buffer
	fmt.Fprintf(&out, "#!/usr/bin/env -S tpsh run -n %d\n", s.session.Size())
	last := false // whether _ is the value of the statement before
	for i, e := range s.done {
		if e.typed == "" {
			continue
		}
		n++
		source := strings.TrimRight(e.typed, "\n")
		if e.shown {
			var before string
			before, source = cutLast(source)
			out.WriteString(before)
		}
		next := i+1 < len(s.done) && lastValue.Get().MatchString(s.done[i+1].typed)
		switch {
		case !e.shown:
		case next, last && lastValue.Get().MatchString(source), strings.Contains(source, "#"): // a comment would hold the ) of print
			source = "_ = " + strings.TrimSpace(source) + "\nprint(_)"
		default:
			source = "print(" + strings.TrimSpace(source) + ")"
		}
		last = e.shown
		fmt.Fprintln(&out, source)
	}
	return out.Bytes(), n
}

// cutLast cuts the source of statements before the last of them.
func cutLast(text string) (before, last string) {
	f, _, err := parseAll(text, 1)
	if err != nil || len(f.Stmts) < 2 {
		return "", text
	}
	at, _ := f.Stmts[len(f.Stmts)-1].Span()
	lines := strings.SplitAfter(text, "\n")
	line := []rune(lines[at.Line-1])
	before = strings.Join(lines[:at.Line-1], "") + string(line[:at.Col-1])
	last = string(line[at.Col-1:]) + strings.Join(lines[at.Line:], "")
	return strings.TrimRight(before, "; \n") + "\n", last
}

var lastValue = lazyregexp.New(`\b_\b`)
