package tensor

import (
	goruntime "runtime"
	"sync/atomic"
	"unsafe"
)

// A region is the memory of a large buffer, or of several that share it until
// one of them is to be written to. It goes back to the allocator when the last of
// them has left it, or when none can be reached any more.
type region struct {
	alloc *Allocator
	piece
	sharers atomic.Int32 // buffers that have not left it
	sealed  atomic.Bool  // nobody may write, see Allocator.Guard
	cleanup goruntime.Cleanup
}

// newRegion returns a region for n bytes that so many buffers are to share.
func (a *Allocator) newRegion(n, sharers int) (*region, error) {
	m, err := a.region(sizeClass(n))
	if err != nil {
		return nil, err
	}
	r := &region{alloc: a, piece: m}
	r.sharers.Store(int32(sharers))
	r.cleanup = goruntime.AddCleanup(r, a.release, m)
	return r, nil
}

// leave notes that a buffer has r no more. The last to leave gives it back.
func (r *region) leave() {
	if r.sharers.Add(-1) == 0 {
		r.cleanup.Stop()
		r.alloc.release(r.piece)
	}
}

// A Shared is memory that several buffers are to have. It is written once,
// before any of them is read.
type Shared struct {
	region *region
	n      int
}

// Share returns n bytes for so many buffers, which may belong to different
// ranks. n is at least a.Large.
func (a *Allocator) Share(n, buffers int) (*Shared, error) {
	r, err := a.newRegion(n, buffers)
	if err != nil {
		return nil, err
	}
	return &Shared{r, n}, nil
}

// Buffer returns one of the buffers that share s. It is called as often as was
// said to Share, or less; then the memory counts as shared for ever. Another, to
// write s through, may be had of one who does not keep it.
func (s *Shared) Buffer() *Buffer {
	return &Buffer{alloc: s.region.alloc, data: s.region.bytes[:s.n:s.n], region: s.region}
}

// Own gives b memory of its own if it shares some: it is called before b is
// written to. Slices of the old memory (Data, Bytes) must not be used
// afterwards. It fails if there is no memory.
func (b *Buffer) Own() error {
	r := b.region
	if r == nil {
		return nil
	}
	if r.sharers.Load() > 1 {
		return b.copyOut()
	}
	if r.sealed.Load() {
		r.sealed.Store(false)
		r.alloc.unguard(r.bytes)
	}
	return nil
}

// copyOut moves b from its region to one of its own. The old one is left when it
// has been read: whoever is alone in it then may write.
func (b *Buffer) copyOut() error {
	shared, old := b.region, b.data
	if err := b.fill(len(old)); err != nil {
		return err
	}
	copy(b.data, old)
	shared.leave()
	return nil
}

// Seal says that what b shares has been written. With Allocator.Guard nobody can
// write there from now on.
func (b *Buffer) Seal() {
	r := b.region
	if r == nil || !r.alloc.Guard || r.sharers.Load() == 1 {
		return
	}
	if r.sealed.CompareAndSwap(false, true) {
		r.alloc.guarded.Store(unsafe.SliceData(r.bytes), nil)
		protect(r.bytes, true)
	}
}

// unguard has the memory of a region be written to again, if it is sealed.
func (a *Allocator) unguard(bytes []byte) {
	if _, sealed := a.guarded.LoadAndDelete(unsafe.SliceData(bytes)); sealed {
		protect(bytes, false)
	}
}

// Share returns a tensor with the elements of x on the same memory, until one of
// the two is written to: Own gives that memory of its own. It returns nil if x is
// not contiguous, or not most of a large buffer, of which a copy would then cost
// more than one of x. Who calls it may write to x.
func (x *Tensor) Share() *Tensor {
	b := x.buf
	if b == nil || b.region == nil || !x.Contiguous() || 2*x.Numel()*x.dt.Size() < len(b.data) {
		return nil
	}
	b.region.sharers.Add(1)
	other := &Buffer{alloc: b.alloc, data: b.data, region: b.region}
	other.Seal()
	y := &flat{Tensor: Tensor{shape: x.shape, strides: x.strides, offset: x.offset, dt: x.dt, dense: x.dense, buf: other}}
	y.ownStrides()
	return &y.Tensor
}
