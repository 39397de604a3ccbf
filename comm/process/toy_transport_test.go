package process_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"tpsh/comm"
	"tpsh/comm/process"
)

// A fileStream is one end of a stream between two who share nothing but a folder: what
// each writes is appended to a file, which the other reads, looking ever more rarely for
// more. Its mode, atEnd, says that no more comes. It stands for what CONTRIBUTING.md says of
// transports: whatever is an io.ReadWriteCloser is one.
type fileStream struct {
	in, out *os.File
	closed  chan struct{}
	close   sync.Once
}

// atEnd is the mode of a file that is written no longer.
const atEnd = 0o400

// filePair returns a function that makes both ends of streams through files, whose names
// begin with a path.
func filePair(t *testing.T, path string) func() (a, b io.ReadWriteCloser) {
	streams := 0
	open := func(file string, flag int) *os.File {
		f, err := os.OpenFile(file, flag|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	return func() (a, b io.ReadWriteCloser) {
		streams++
		there, back := fmt.Sprintf("%s-%d-there", path, streams), fmt.Sprintf("%s-%d-back", path, streams)
		return &fileStream{in: open(back, os.O_RDONLY), out: open(there, os.O_WRONLY), closed: make(chan struct{})},
			&fileStream{in: open(there, os.O_RDONLY), out: open(back, os.O_WRONLY), closed: make(chan struct{})}
	}
}

func (s *fileStream) Write(b []byte) (int, error) { return s.out.Write(b) }

// Read waits for at least one byte, and returns io.EOF once the other end is closed and all
// that it wrote is read. Only when nothing has come for a while it asks whether the other end is.
func (s *fileStream) Read(b []byte) (int, error) {
	const longest = 4 * time.Millisecond
	for pause := 20 * time.Microsecond; ; pause = min(2*pause, longest) {
		ended := false
		if pause == longest {
			file, err := s.in.Stat()
			ended = err == nil && file.Mode().Perm() == atEnd // before the read: nothing is written after
		}
		if n, err := s.in.Read(b); n > 0 || err != io.EOF || ended {
			return n, err
		}
		select {
		case <-time.After(pause):
		case <-s.closed:
			return 0, os.ErrClosed
		}
	}
}

func (s *fileStream) Close() (err error) {
	s.close.Do(func() {
		close(s.closed)
		err = s.out.Chmod(atEnd)
		s.out.Close()
		s.in.Close()
	})
	return err
}

// Ranks that share a folder pass the whole conformance suite, and nothing but the stream
// had to be written for it.
func TestToyTransport(t *testing.T) {
	if testing.Short() {
		t.Skip("TestPiped does the same by pipes in memory")
	}
	dir, made := t.TempDir(), 0
	conform(t, func(size int) *comm.Fabric {
		made++
		return process.NewPiped(size, nil, 0, filePair(t, filepath.Join(dir, strconv.Itoa(made))))
	})
}
