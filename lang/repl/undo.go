package repl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// undo goes back to before the last statement: it starts the ranks anew and runs
// again, without a word, the statements that ran well before it.
func undo(ctx context.Context, s *Shell, _ string) error {
	last, keep := s.lastStatement, s.done
	if last == "" && len(keep) == 0 {
		return errors.New("there is no statement before this")
	}
	if last == "" || s.lastWell {
		last = keep[len(keep)-1].program.Source
		keep = keep[:len(keep)-1]
	}
	if err := s.replay(ctx, keep); err != nil {
		return err
	}
	first, _, more := strings.Cut(strings.TrimSpace(last), "\n")
	if more {
		first += " ..."
	}
	fmt.Fprintf(s.opts.Out, "back to before: %s\n", first)
	return nil
}

// replay starts the ranks anew and runs statements on them.
func (s *Shell) replay(ctx context.Context, list []entry) error {
	if err := s.restart(s.session.Size()); err != nil {
		return err
	}
	s.out.off, s.notes.off = true, true
	defer func() { s.out.off, s.notes.off = false, false }()
	release := s.watchInterrupts()
	defer release()
	for _, e := range list {
		o, err := s.session.Run(ctx, e.program)
		if err == nil && !o.OK() {
			var why strings.Builder
			o.Report(&why)
			err = fmt.Errorf("what ran well before does not run again:\n%s", why.String())
		}
		if err != nil {
			return err
		}
		s.done = append(s.done, e)
	}
	return nil
}

// A tap is a Writer that can be shut. Nobody writes to it while that is changed.
type tap struct {
	io.Writer
	off bool
}

func (t *tap) Write(p []byte) (int, error) {
	if t.off {
		return len(p), nil
	}
	return t.Writer.Write(p)
}
