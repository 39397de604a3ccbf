package tensor

import "unsafe"

// A Buffer is storage that tensors share.
type Buffer struct {
	data    []byte
	version uint32
	frozen  bool
	hollow  bool    // data has a length and no memory
	block   bool    // data is a block, see Allocator.block
	watched *uint32 // the version, for who keeps it and not the buffer; nil until somebody does
	known   *known  // of a hollow buffer, what its elements are; nil mostly
	alloc   *Allocator
	hold    func() error
	region  *region  // of a large buffer that has its memory
	away    *absence // of a buffer that has been dropped
}

// Hold makes in-place changes of the buffer wait: before the next one, wait is
// called, and the hold ends. An asynchronous collective holds its input.
func (b *Buffer) Hold(wait func() error) {
	if prev := b.hold; prev != nil {
		b.hold = func() error {
			if err := prev(); err != nil {
				return err
			}
			return wait()
		}
		return
	}
	b.hold = wait
}

// Await ends the holds on the buffer. It is called before an in-place change.
func (b *Buffer) Await() error {
	if b.hold == nil {
		return nil
	}
	wait := b.hold
	b.hold = nil
	return wait()
}

// Version counts the in-place changes of the buffer. A gradient that needs a
// saved input compares it, and so notices that the input has changed.
func (b *Buffer) Version() uint32 { return b.version }

// Changed notes an in-place change.
func (b *Buffer) Changed() {
	b.version++
	if b.watched != nil {
		*b.watched = b.version
	}
}

// Watch returns a place that holds the Version whenever it is looked at, and does not keep the buffer.
func (b *Buffer) Watch() *uint32 {
	if b.watched == nil {
		v := b.version
		b.watched = &v
	}
	return b.watched
}

// Freeze makes the buffer read-only for scripts.
func (b *Buffer) Freeze() { b.frozen = true }

// Frozen reports whether the buffer is read-only for scripts.
func (b *Buffer) Frozen() bool { return b.frozen }

// Allocator returns the allocator the buffer came from.
func (b *Buffer) Allocator() *Allocator { return b.alloc }

// Len returns the size of the buffer in bytes; that of a dropped one is what it
// was.
func (b *Buffer) Len() int {
	if b.away != nil {
		return b.away.size
	}
	return len(b.data)
}

// Small buffers are one object of the collector together with their header.
type (
	buffer64 struct {
		Buffer
		raw [8]uint64
	}
	buffer256 struct {
		Buffer
		raw [32]uint64
	}
)

// small returns a zeroed buffer of n bytes on the collector's heap, aligned
// to 8 bytes.
func small(n int) *Buffer {
	switch {
	case n <= 64:
		b := new(buffer64)
		b.data = unsafe.Slice((*byte)(unsafe.Pointer(&b.raw)), 64)[:n]
		return &b.Buffer
	case n <= 256:
		b := new(buffer256)
		b.data = unsafe.Slice((*byte)(unsafe.Pointer(&b.raw)), 256)[:n]
		return &b.Buffer
	}
	raw := make([]uint64, (n+7)/8)
	return &Buffer{data: unsafe.Slice((*byte)(unsafe.Pointer(&raw[0])), n)}
}
