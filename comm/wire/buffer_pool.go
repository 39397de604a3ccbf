package wire

import "sync"

// A BufferPool keeps memory for bytes from others: for data of
// collectives until the call is over, for messages until Message.Release. It
// may be used by several goroutines. A nil pool keeps nothing.
type BufferPool struct {
	mu    sync.Mutex
	spare [][]byte
	bytes int // in spare
}

const (
	// spareBytes is how many bytes a pool keeps at most.
	spareBytes = 128 << 20
	// leastSpare is the length below which a buffer is not worth keeping.
	leastSpare = 16 << 10
)

// Get returns an empty slice with room for n bytes.
func (p *BufferPool) Get(n int) []byte {
	if p == nil || n < leastSpare {
		return make([]byte, 0, n)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, b := range p.spare {
		if n <= cap(b) && cap(b) <= 2*n {
			last := len(p.spare) - 1
			p.spare[i], p.spare[last] = p.spare[last], nil
			p.spare = p.spare[:last]
			p.bytes -= cap(b)
			return b[:0]
		}
	}
	return make([]byte, 0, n)
}

// Put gives memory back that Get has returned, or other memory that nobody has
// a use for.
func (p *BufferPool) Put(b []byte) {
	if p == nil || cap(b) < leastSpare {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.spare) > 0 && p.bytes+cap(b) > spareBytes { // the longest unused first
		p.bytes -= cap(p.spare[0])
		p.spare = append(p.spare[:0], p.spare[1:]...)
	}
	if p.bytes+cap(b) <= spareBytes {
		p.spare = append(p.spare, b)
		p.bytes += cap(b)
	}
}
