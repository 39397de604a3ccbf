package mpi

import (
	goruntime "runtime"
	"sync"
)

// smallBytes is the length of the buffers, each for a message of a stream.
const smallBytes = 8 << 10

// slabBuffers is how many of them are made at a time.
const slabBuffers = 64

// A memory gives out buffers, which never move, and are used again.
type memory struct {
	mu     sync.Mutex
	free   [][]byte
	pins   goruntime.Pinner
	closed bool // whether MPI uses none any more
}

// get returns a buffer of n bytes, which are at most smallBytes.
func (m *memory) get(n int) []byte {
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
	m.mu.Lock()
	m.free = append(m.free, b[:0])
	m.mu.Unlock()
}

// close lets the buffers go.
func (m *memory) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	m.pins.Unpin()
}
