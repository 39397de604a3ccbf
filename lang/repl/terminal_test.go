package repl

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chzyer/readline"
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
	}
	in := &script{lines: []string{"width = 1", "def fn(alpha): return 1", "", "0"}}
	opts.Input = func(c Completer) (Reader, error) {
		complete = c
		return in, nil
	}
	opts.Commands = []Command{{"check", "", "", nil}}
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

func TestWordCompleter(t *testing.T) {
	w := &wordCompleter{func(line string) (int, []string) {
		return strings.LastIndexAny(line, " (") + 1, []string{"weight", "width", "other"}
	}}
	rest, length := w.Do([]rune("é(we)"), 4)
	if len(rest) != 1 || string(rest[0]) != "ight" || length != 2 {
		t.Errorf("got %q, %d, want ight, 2", rest, length)
	}
	rest, length = w.Do([]rune("  "), 2)
	if len(rest) != 1 || string(rest[0]) != "    " || length != 0 {
		t.Errorf("at the start of a line: got %q, %d, want four spaces", rest, length)
	}
}

// A terminal edits, completes and remembers.
func TestTerminal(t *testing.T) {
	history := filepath.Join(t.TempDir(), "history")
	keys, typist := io.Pipe()
	var screen lockedBuffer
	reader, err := openTerminal(&readline.Config{
		HistoryFile:    history,
		Stdin:          keys,
		StdinWriter:    io.Discard,
		Stdout:         &screen,
		Stderr:         &screen,
		FuncGetWidth:   func() int { return 80 },
		FuncIsTerminal: func() bool { return true },
		FuncMakeRaw:    func() error { return nil },
		FuncExitRaw:    func() error { return nil },
	}, func(line string) (int, []string) { return 0, []string{"width"} })
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		io.WriteString(typist, "wi\t + 1\n")
		io.WriteString(typist, "\x10\n")   // Ctrl-P: the line before
		io.WriteString(typist, "half\x03") // Ctrl-C
		io.WriteString(typist, "\x04")     // Ctrl-D
		typist.Close()
	}()
	for i, want := range []struct {
		line string
		err  error
	}{{"width + 1", nil}, {"width + 1", nil}, {"", ErrInterrupt}, {"", io.EOF}} {
		line, err := reader.ReadLine("tpsh[4]> ")
		if line != want.line || err != want.err {
			t.Errorf("line %d: got %q, %v, want %q, %v", i, line, err, want.line, want.err)
		}
	}
	reader.Close()
	if !strings.Contains(screen.String(), "tpsh[4]> ") {
		t.Errorf("the prompt was not shown: %q", screen.String())
	}
	if got, err := os.ReadFile(history); err != nil || !strings.Contains(string(got), "width + 1\n") {
		t.Errorf("history: got %q, %v", got, err)
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

// A lockedBuffer is a buffer that several goroutines write to.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
