package mpi

import (
	goruntime "runtime"
	"sync"
)

// smallBytes is the length of the buffers that are used again, for most of what
// streams carry.
const smallBytes = 4 << 10

// slabBuffers is how many of them are made at a time.
const slabBuffers = 64

// A memory gives out buffers. Small ones never move, and are used again.
type memory struct {
	mu     sync.Mutex
	free   [][]byte
	pins   goruntime.Pinner
	closed bool // whether MPI uses none any more
}

// get returns a buffer of n bytes.
func (m *memory) get(n int) []byte {
	if n > smallBytes {
		return make([]byte, n)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.free) == 0 {
		m.grow()
	}
	last := len(m.free) - 1
	b := m.free[last]
	m.free = m.free[:last]
	return b[:n]
}

func (m *memory) grow() {
	slab := make([]byte, slabBuffers*smallBytes)
	if !m.closed {
		m.pins.Pin(&slab[0])
	}
	for at := 0; at < len(slab); at += smallBytes {
		m.free = append(m.free, slab[at:at:at+smallBytes])
	}
}

// put takes a buffer of get back.
func (m *memory) put(b []byte) {
	if small(b) {
		m.mu.Lock()
		m.free = append(m.free, b[:0])
		m.mu.Unlock()
	}
}

// small reports whether b is one that is used again.
func small(b []byte) bool { return cap(b) == smallBytes }

// close lets the buffers go.
func (m *memory) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	m.pins.Unpin()
}
