package wire

import "testing"

// A pool gives back what suits, and never keeps more than it may.
func TestBufferPool(t *testing.T) {
	var p BufferPool
	first := p.Get(leastSpare)
	p.Put(first[:1])
	if got := p.Get(2*leastSpare + 1); cap(got) != 2*leastSpare+1 {
		t.Errorf("got room for %d bytes, want new memory", cap(got))
	}
	if got := p.Get(leastSpare / 2); cap(got) >= leastSpare {
		t.Errorf("got room for %d bytes, want as many as asked for", cap(got))
	}
	got := p.Get(leastSpare - 1 + 1)
	if len(got) != 0 || &got[:1][0] != &first[:1][0] {
		t.Error("got other memory than was put back")
	}
	for range 5 {
		p.Put(make([]byte, spareBytes/3))
	}
	p.Put(make([]byte, spareBytes+1))
	if p.bytes > spareBytes {
		t.Errorf("got %d bytes kept, want at most %d", p.bytes, spareBytes)
	}
	var none *BufferPool
	none.Put(none.Get(leastSpare))
}
