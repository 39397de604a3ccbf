//go:build unix

package tcp

import (
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"tpsh/comm/wire"
)

// readSocket reads the bytes that are there, without waiting.
func readSocket(fd int, b []byte) (int, error) {
	for {
		n, err := syscall.Read(fd, b)
		switch {
		case err == syscall.EINTR:
		case err == syscall.EAGAIN:
			return 0, wire.ErrAgain
		case err != nil:
			return 0, err
		case n == 0:
			return 0, io.EOF
		default:
			return n, nil
		}
	}
}

// writeSocket writes as much of runs as there is room for, without waiting. It
// returns wire.ErrAgain if there is none.
func writeSocket(fd int, runs [][]byte) (n int, err error) {
	for {
		if len(runs) == 1 {
			n, err = syscall.Write(fd, runs[0])
		} else {
			n, err = unix.SendmsgBuffers(fd, runs, nil, nil, 0)
		}
		switch {
		case err == syscall.EINTR:
		case err == syscall.EAGAIN:
			return 0, wire.ErrAgain
		case err != nil:
			return 0, err
		default:
			return n, nil
		}
	}
}

// Polls says that connections can be read without waiting.
const Polls = true

// detach returns a descriptor of its own for a connection, which does not block.
func detach(conn *net.TCPConn) (int, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	var fd int
	controlled := raw.Control(func(at uintptr) {
		fd, err = unix.FcntlInt(at, unix.F_DUPFD_CLOEXEC, 0)
	})
	if controlled != nil {
		return 0, controlled
	}
	return fd, err
}

// segmentLen returns how many bytes a connection sends at a time, of which there
// are several in most; 1 if there are not.
func segmentLen(fd, most int) int {
	n, err := unix.GetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_MAXSEG)
	if err != nil || n <= 0 || n > most/2 {
		return 1
	}
	return n
}

func shutdownSocket(fd int) error {
	if err := unix.Shutdown(fd, unix.SHUT_RDWR); err != unix.ENOTCONN {
		return err
	}
	return nil
}

func closeSocket(fd int) error { return unix.Close(fd) }

// A pollList lists the sockets that a goroutine sleeps at.
type pollList []unix.PollFd

// add adds a descriptor from which to read, to which to write, or both.
func (l *pollList) add(fd int, read, write bool) {
	var events int16
	if read {
		events |= unix.POLLIN
	}
	if write {
		events |= unix.POLLOUT
	}
	*l = append(*l, unix.PollFd{Fd: int32(fd), Events: events})
}

// wait returns when one of the list is ready, or after timeout, which is rounded
// up to milliseconds.
func (l pollList) wait(timeout time.Duration) {
	unix.Poll(l, int((timeout+time.Millisecond-1)/time.Millisecond))
}

// ready reports whether there is something to do at entry i of the list, after wait.
func (l pollList) ready(i int) bool { return l[i].Revents != 0 }

// A wakePipe wakes a goroutine that sleeps at a pollList.
type wakePipe struct {
	at int // the end of a pipe from which to read

	mu     sync.Mutex
	to     int  // the other end
	full   bool // whether there is a byte in the pipe
	closed bool // whether the descriptors may be somebody else's
}

func newWakePipe() (*wakePipe, error) {
	var ends [2]int
	if err := unix.Pipe(ends[:]); err != nil {
		return nil, err
	}
	for _, fd := range ends {
		unix.CloseOnExec(fd)
		if err := unix.SetNonblock(fd, true); err != nil {
			return nil, err
		}
	}
	return &wakePipe{at: ends[0], to: ends[1]}, nil
}

// wake wakes the goroutine that sleeps, or that will sleep next.
func (r *wakePipe) wake() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed && !r.full {
		r.full = true
		unix.Write(r.to, []byte{0})
	}
}

// drain makes ready for the next rouse.
func (r *wakePipe) drain() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed && r.full {
		var b [1]byte
		unix.Read(r.at, b[:])
		r.full = false
	}
}

func (r *wakePipe) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	unix.Close(r.at)
	unix.Close(r.to)
}
