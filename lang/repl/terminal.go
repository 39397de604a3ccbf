package repl

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/term"

	"tpsh/lang/repl/edit"
)

// A terminal is a Reader with editing, history and completion. Each read is a
// statement, or several that were pasted.
type terminal struct{ *edit.Editor }

// newTerminal returns the Reader of the terminal of the process.
func newTerminal(complete Completer) Reader {
	return &terminal{edit.New(edit.Config{
		In:       os.Stdin,
		Out:      os.Stdout,
		Raw:      func() (func(), error) { return rawMode(int(os.Stdin.Fd())) },
		Size:     terminalSize,
		Suspend:  suspend,
		State:    stateOf,
		Complete: complete,
		History:  edit.OpenHistory(historyFile(), 5000),
	})}
}

// terminalSize returns the columns and rows of the terminal of the process.
func terminalSize() (width, height int) {
	width, height, err := term.GetSize(int(os.Stdout.Fd()))
	if err != nil || width == 0 {
		return 80, 24
	}
	return width, height
}

func (t *terminal) ReadLine(prompt string) (string, error) {
	text, err := t.Read(prompt, continuation)
	if errors.Is(err, edit.ErrInterrupt) {
		err = ErrInterrupt
	}
	return text, err
}

func (t *terminal) Interactive() bool { return true }
func (t *terminal) Close() error      { return nil }

// stateOf says whether Enter behind a text ends it: a command and a mistake end there.
func stateOf(text string) edit.State {
	if text == "" || text[0] == ':' || isQuestion(text) {
		return edit.Whole
	}
	state, err := parse(text+"\n", 1)
	switch {
	case err != nil || state == whole:
		return edit.Whole
	case state == block:
		return edit.Block
	}
	return edit.Open
}

// historyFile returns the file that keeps the texts typed, or "" if there is
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

// LineReader returns the function that reads lines at the terminal of the process, for a prompt that
// is no shell.
func LineReader() func(prompt string) (string, error) {
	e := edit.New(edit.Config{
		In: os.Stdin, Out: os.Stdout, Size: terminalSize, Suspend: suspend,
		Raw: func() (func(), error) { return rawMode(int(os.Stdin.Fd())) },
	})
	return func(prompt string) (string, error) { return e.Read(prompt, continuation) }
}
