package tensor

// An absence is what is known of a buffer without memory.
type absence struct {
	size    int
	restore func() error
}

// fill gives b a large region of n bytes of its own.
func (b *Buffer) fill(n int) error {
	r, err := b.alloc.newRegion(n, 1)
	if err != nil {
		return err
	}
	b.data, b.region = r.bytes[:n:n], r
	return nil
}

// Drop gives the memory of b back at once, or its share in it, though tensors
// refer to b. Whoever wants its elements calls Restore before; that calls restore,
// which is to give it memory again with Refill, or to say why there is none.
func (b *Buffer) Drop(restore func() error) {
	if b.away != nil {
		return
	}
	b.away = &absence{len(b.data), restore}
	if b.block {
		b.block = false
		b.alloc.releaseBlock(b.data)
	}
	b.data = nil
	if r := b.region; r != nil {
		b.region = nil
		r.leave()
	}
}

// Pooled reports whether b has memory that Drop gives back. b may be nil.
func (b *Buffer) Pooled() bool { return b != nil && (b.region != nil || b.block) }

// Discard is Drop of a buffer that nobody reads any more. It does nothing to a
// small one, or to one that an asynchronous call holds.
func (b *Buffer) Discard() {
	if b.Pooled() && b.hold == nil {
		b.Drop(func() error { panic("tensor: storage is wanted that was discarded") })
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
	if b.hollow {
		b.data, b.away = b.alloc.phantom[:n:n], nil
		return nil
	}
	if b.alloc != nil && n >= b.alloc.Large {
		if err := b.fill(n); err != nil {
			return err
		}
	} else {
		b.data = small(n).data
	}
	b.away = nil
	return nil
}
