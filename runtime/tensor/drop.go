package tensor

import goruntime "runtime"

// A region is the memory of a large buffer, and what gives it back when the
// buffer is no longer reachable.
type region struct {
	bytes   []byte
	cleanup goruntime.Cleanup
}

// An absence is what is known of a buffer without memory.
type absence struct {
	size    int
	restore func() error
}

// fill gives b a large region of n bytes of its own.
func (b *Buffer) fill(n int) error {
	bytes, err := b.alloc.region(sizeClass(n))
	if err != nil {
		return err
	}
	b.data = bytes[:n:n]
	b.region = &region{bytes, goruntime.AddCleanup(b, b.alloc.release, bytes)}
	return nil
}

// Drop gives the memory of b back at once, though tensors refer to b. Whoever
// wants its elements calls Restore before; that calls restore, which is to give
// it memory again with Refill, or to say why there is none.
func (b *Buffer) Drop(restore func() error) {
	if b.away != nil {
		return
	}
	b.away = &absence{len(b.data), restore}
	b.data = nil
	if r := b.region; r != nil {
		b.region = nil
		r.cleanup.Stop()
		b.alloc.release(r.bytes)
	}
}

// Dropped reports whether b has no memory.
func (b *Buffer) Dropped() bool { return b.away != nil }

// Restore has b given its elements again, if it was dropped.
func (b *Buffer) Restore() error {
	if b.away == nil {
		return nil
	}
	return b.away.restore()
}

// Refill gives b memory again after Drop, with arbitrary contents. Its elements
// count as those it had: its version stays.
func (b *Buffer) Refill() error {
	if b.away == nil {
		return nil
	}
	n := b.away.size
	if n >= largeSize {
		if err := b.fill(n); err != nil {
			return err
		}
	} else {
		b.data = small(n).data
	}
	b.away = nil
	return nil
}
