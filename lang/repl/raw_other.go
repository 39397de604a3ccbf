//go:build !unix

package repl

import "golang.org/x/term"

// rawMode has the terminal give each key as it is typed.
func rawMode(fd int) (restore func(), err error) {
	old, err := term.MakeRaw(fd)
	if err != nil {
		return nil, err
	}
	return func() { term.Restore(fd, old) }, nil
}

// suspend does nothing: there is no shell that would continue the process.
func suspend() {}
