//go:build unix

package repl

import (
	"syscall"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// rawMode has the terminal give each key as it is typed. Output of others
// meanwhile still begins its lines at the margin.
func rawMode(fd int) (restore func(), err error) {
	old, err := term.MakeRaw(fd)
	if err != nil {
		return nil, err
	}
	if t, err := unix.IoctlGetTermios(fd, getTermios); err == nil {
		t.Oflag |= unix.OPOST | unix.ONLCR
		unix.IoctlSetTermios(fd, setTermios, t)
	}
	return func() { term.Restore(fd, old) }, nil
}

// suspend stops the process until its terminal continues it.
func suspend() { syscall.Kill(syscall.Getpid(), syscall.SIGTSTP) }
