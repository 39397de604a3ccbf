//go:build !unix

package tcp

import (
	"errors"
	"io"
	"net"
	"time"
)

// Polls says that connections cannot be read without waiting. The functions below are not
// called.
const Polls = false

func readSocket(int, []byte) (int, error) { return 0, io.EOF }

func writeSocket(int, [][]byte) (int, error) { return 0, io.EOF }

func detach(*net.TCPConn) (int, error) { return 0, errors.ErrUnsupported }

func segmentLen(int, int) int { return 1 }

func shutdownSocket(int) error { return nil }

func closeSocket(int) error { return nil }

type pollList []int

func (l *pollList) add(int, bool, bool) {}

func (l pollList) wait(time.Duration) {}

func (l pollList) ready(int) bool { return false }

type wakePipe struct{ at int }

func newWakePipe() (*wakePipe, error) { return nil, errors.ErrUnsupported }

func (r *wakePipe) wake() {}

func (r *wakePipe) drain() {}

func (r *wakePipe) close() {}
