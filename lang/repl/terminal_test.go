package repl

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestCompletion(t *testing.T) {
	var out bytes.Buffer
	opts := options(t, &out)
	var complete Completer
	type query struct {
		line  string
		start int
		want  []string
	}
	queries := []query{
		{":r", 0, []string{":rank ", ":ranks "}},
		{":time wid", 6, []string{"width"}},
		{"print(wid", 6, []string{"width"}},
		{"fn(al", 3, []string{"all", "alpha="}},
		{"fn(", 3, []string{"alpha="}},
	}
	in := &script{lines: []string{"width = 1", "def fn(alpha): return 1", "", "0"}}
	opts.Input = func(c Completer) (Reader, error) {
		complete = c
		return in, nil
	}
	opts.Commands = []Command{{Name: "check"}}
	opts.Commands[0].Run = checkRun(func() {
		for _, q := range queries {
			if start, got := complete(q.line); start != q.start || !slices.Equal(got, q.want) {
				t.Errorf("%q: got %d, %q, want %d, %q", q.line, start, got, q.start, q.want)
			}
		}
	})
	in.lines = append(in.lines, ":check")
	if status := Run(t.Context(), opts); status != 0 {
		t.Errorf("got status %d: %s", status, &out)
	}
}

func TestHistoryFile(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_STATE_HOME", dir)
	if got, want := historyFile(), filepath.Join(dir, "tpsh", "history"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	t.Setenv("XDG_STATE_HOME", "relative")
	t.Setenv("HOME", dir)
	if got, want := historyFile(), filepath.Join(dir, ".local", "state", "tpsh", "history"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	file := filepath.Join(dir, "file")
	os.WriteFile(file, nil, 0o666)
	t.Setenv("XDG_STATE_HOME", file)
	if got := historyFile(); got != "" {
		t.Errorf("no place: got %s, want none", got)
	}
}
