package tensor

import "sync"

// lentRegions are the regions that an allocator has of memory that is not its own.
type lentRegions struct {
	mu    sync.Mutex
	byKey map[string]*region
}

// Lend returns a buffer on memory that is not the allocator's own, such as a file that
// is mapped: open returns it, and it is never written to, because whoever changes
// the buffer gets memory of its own first (see Own). It counts as in use, once for all
// who ask for the same key, and until the allocator is closed. Only the first of
// these has open called. It fails if the memory is more than may be in use, or as open
// does; release is then called, and else never.
func (a *Allocator) Lend(key string, open func() (data []byte, release func(), err error)) (*Buffer, error) {
	l := &a.lent
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.byKey[key]
	if r == nil {
		data, release, err := open()
		if err != nil {
			return nil, err
		}
		if err := a.count(len(data)); err != nil {
			release()
			return nil, err
		}
		r = &region{alloc: a, piece: piece{bytes: data}}
		r.sharers.Store(1) // of the allocator, so that no buffer is ever alone in it
		r.sealed.Store(true)
		if l.byKey == nil {
			l.byKey = map[string]*region{}
		}
		l.byKey[key] = r
	}
	r.sharers.Add(1)
	return &Buffer{alloc: a, data: r.bytes[:len(r.bytes):len(r.bytes)], region: r}, nil
}

// count takes note of n bytes more in use.
func (a *Allocator) count(n int) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.allows(n) {
		return &MemoryError{Want: n, Limit: a.Limit, InUse: a.inUse, Strict: a.Strict}
	}
	a.inUse += n
	a.peak = max(a.peak, a.inUse)
	return nil
}
