//go:build unix

package launch

import (
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
)

// socketPair returns the two ends of a connection: ours, and one for a worker
// to inherit.
func socketPair() (ours net.Conn, theirs *os.File, err error) {
	syscall.ForkLock.RLock() // no process starts between the two steps
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fds[0])
		syscall.CloseOnExec(fds[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, fmt.Errorf("socketpair: %w", err)
	}
	theirs = os.NewFile(uintptr(fds[1]), "worker's end")
	ours, err = fileConn(os.NewFile(uintptr(fds[0]), "launcher's end"))
	if err != nil {
		theirs.Close()
		return nil, nil, err
	}
	return ours, theirs, nil
}

// wake lets a process go on that was stopped, if it is the parent still.
func wake(parent int) {
	if os.Getppid() == parent {
		syscall.Kill(parent, syscall.SIGCONT)
	}
}

// ends returns the ends of a stream within this process.
func ends() (a, b io.ReadWriteCloser, err error) {
	a, file, err := socketPair()
	if err != nil {
		return nil, nil, err
	}
	if b, err = fileConn(file); err != nil {
		a.Close()
		return nil, nil, err
	}
	return a, b, nil
}

// fileConn returns the connection that f is, and closes f.
func fileConn(f *os.File) (net.Conn, error) {
	defer f.Close()
	return net.FileConn(f)
}

// inherited returns the connection that a worker finds at descriptor fd.
func inherited(fd int) (net.Conn, error) {
	return fileConn(inheritedFile(fd))
}

// inheritedFile returns the file at a descriptor of the process, which children do not
// inherit.
func inheritedFile(fd int) *os.File {
	syscall.CloseOnExec(fd)
	return os.NewFile(uintptr(fd), "inherited")
}
