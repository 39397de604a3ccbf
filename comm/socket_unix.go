//go:build unix

package comm

import (
	"io"
	"syscall"
)

// readSocket reads what is there, without waiting.
func readSocket(fd uintptr, b []byte) (int, error) {
	for {
		n, err := syscall.Read(int(fd), b)
		switch {
		case err == syscall.EINTR:
		case err == syscall.EAGAIN:
			return 0, errAgain
		case err != nil:
			return 0, err
		case n == 0:
			return 0, io.EOF
		default:
			return n, nil
		}
	}
}

// polls says that sockets can be read without waiting.
const polls = true
