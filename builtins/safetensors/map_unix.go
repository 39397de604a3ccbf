//go:build unix

package safetensors

import (
	"io"
	"os"
	"runtime/debug"
	"sync"

	"golang.org/x/sys/unix"
)

// window is about how many bytes of a mapping stay in memory after a read.
const window = 4 << 20

// around is how many bytes the system may map in when one is touched.
const around = 64 << 10

// A mapping is a file in memory. What has been read does not stay there: its
// pages are given back, window by window, so that a copy of a part takes
// little more memory than the copy. The system is not to guess what comes
// next, which in a slice of columns is far away; each read says what it needs.
type mapping struct {
	data []byte

	mu      sync.Mutex
	lo, hi  int // bounds of what was touched since pages were given back
	touched int // bytes of it, about
}

// newSource maps f, which has size bytes, and closes it. A file that cannot be
// mapped is the source itself.
func newSource(f *os.File, size int64) source {
	if size == 0 || size != int64(int(size)) {
		return f
	}
	data, err := unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return f
	}
	f.Close()
	_ = unix.Madvise(data, unix.MADV_RANDOM) // fetch says what is needed
	return &mapping{data: data}
}

// Close implements source.
func (m *mapping) Close() error { return unix.Munmap(m.data) }

// ReadAt implements source. A file that has become shorter since it was mapped
// ends early.
func (m *mapping) ReadAt(dst []byte, off int64) (n int, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if faulted(recover()) {
			err = io.EOF
		}
	}()
	for n < len(dst) && off < int64(len(m.data)) {
		m.fetch(int(off), len(dst)-n)
		k := copy(dst[n:min(len(dst), n+window)], m.data[off:])
		m.touch(int(off), k)
		n, off = n+k, off+int64(k)
	}
	if n < len(dst) {
		return n, io.EOF
	}
	return n, nil
}

// faulted reports whether r, which was recovered, is an access to memory that
// is not there. Other panics go on.
func faulted(r any) bool {
	if r == nil {
		return false
	}
	if _, ok := r.(interface{ Addr() uintptr }); !ok {
		panic(r)
	}
	return true
}

// fetch has the system read ahead: this window of n bytes from off on, and the
// next one.
func (m *mapping) fetch(off, n int) {
	if n <= os.Getpagesize() {
		return
	}
	end := min(off+min(n, 2*window), len(m.data))
	_ = unix.Madvise(m.data[off/os.Getpagesize()*os.Getpagesize():end], unix.MADV_WILLNEED)
}

// touch notes that n bytes from off on have been read, and gives pages back
// when enough have been.
func (m *mapping) touch(off, n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.touched == 0 {
		m.lo, m.hi = off, off
	}
	if gap := off - m.hi; gap < 0 || gap > around {
		m.touched += around
	} else {
		m.touched += gap
	}
	m.touched += n
	m.lo, m.hi = min(m.lo, off), max(m.hi, off+n)
	if m.touched < window {
		return
	}
	lo := m.lo / os.Getpagesize() * os.Getpagesize()
	// Should it fail, the pages stay as long as the system has room for them.
	_ = unix.Madvise(m.data[lo:m.hi], unix.MADV_DONTNEED)
	m.touched = 0
}
