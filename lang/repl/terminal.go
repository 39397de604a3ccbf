package repl

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/chzyer/readline"
)

// A terminal is a Reader with editing, history and completion. Readline keeps
// two goroutines until the process ends, so a process opens one terminal.
type terminal struct {
	rl *readline.Instance
}

func newTerminal(complete Completer) (Reader, error) {
	return openTerminal(&readline.Config{
		HistoryFile:  historyFile(),
		HistoryLimit: 5000,
	}, complete)
}

// openTerminal completes a configuration and opens the terminal it describes.
func openTerminal(c *readline.Config, complete Completer) (Reader, error) {
	c.AutoComplete = &wordCompleter{complete}
	c.InterruptPrompt = "^C"
	rl, err := readline.NewEx(c)
	if err != nil {
		return nil, err
	}
	return &terminal{rl}, nil
}

func (t *terminal) ReadLine(prompt string) (string, error) {
	t.rl.SetPrompt(prompt)
	line, err := t.rl.Readline()
	if errors.Is(err, readline.ErrInterrupt) {
		return "", ErrInterrupt
	}
	if errors.Is(err, io.EOF) {
		return "", io.EOF
	}
	return line, err
}

func (t *terminal) Interactive() bool { return true }
func (t *terminal) Close() error      { return t.rl.Close() }

// historyFile returns the file that keeps what was typed, or "" if there is
// no place for it.
func historyFile() string {
	state := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) {
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		state = filepath.Join(home, ".local", "state")
	}
	dir := filepath.Join(state, "tpsh")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return ""
	}
	return filepath.Join(dir, "history")
}

// A wordCompleter is a Completer as readline wants it.
type wordCompleter struct{ complete Completer }

// Do returns what can follow the text before the cursor, and how many of its
// last runes the whole words begin with. Tab indents at the start of a line.
func (w *wordCompleter) Do(line []rune, pos int) ([][]rune, int) {
	text := string(line[:pos])
	if strings.TrimSpace(text) == "" {
		return [][]rune{[]rune("    ")}, 0
	}
	start, names := w.complete(text)
	prefix := text[start:]
	var rest [][]rune
	for _, name := range names {
		if after, ok := strings.CutPrefix(name, prefix); ok {
			rest = append(rest, []rune(after))
		}
	}
	return rest, len([]rune(prefix))
}
