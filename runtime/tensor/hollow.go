package tensor

import (
	"fmt"

	"tpsh/runtime/dtype"
	"tpsh/runtime/shape"
)

// Hollow storage has a size and no memory: what a plan computes with. It is a slice
// of address space that nobody may read or write, so that lengths, views and
// versions are those of a run, and a step that touches elements is found at once.

// maxHollow is how many bytes a hollow buffer may have.
const maxHollow = 1 << 46

// NewHollow returns an allocator of hollow buffers, which take no memory, or an
// error where the system has no address space to spare.
func NewHollow() (*Allocator, error) {
	all, err := phantom()
	if err != nil {
		return nil, err
	}
	a := NewAllocator(0)
	a.phantom = all
	return a, nil
}

// Hollow reports whether the allocator's buffers are hollow.
func (a *Allocator) Hollow() bool { return a.phantom != nil }

// hollow returns a hollow buffer of n bytes.
func (a *Allocator) hollow(n int) (*Buffer, error) {
	if n > len(a.phantom) {
		return nil, fmt.Errorf("a tensor of %d bytes: got address space for %d in a plan, want as much (a plan takes no memory for it; ulimit -v is in the way)", n, len(a.phantom))
	}
	return &Buffer{alloc: a, data: a.phantom[:n:n], hollow: true}, nil
}

// Hollow reports whether b has no elements; b may be nil.
func (b *Buffer) Hollow() bool { return b != nil && b.hollow }

// Hollow reports whether x has a size and no elements: the storage of a plan, or
// none at all.
func (x *Tensor) Hollow() bool { return x.buf == nil || x.buf.hollow }

// UnknownNumber returns a tensor of shape () that stands for a number of a script
// that is not known, as Number does for one that is.
func UnknownNumber(a *Allocator, dt dtype.DType) (*Tensor, error) {
	x, err := New(a, dt, shape.Shape{})
	if err != nil {
		return nil, err
	}
	x.weak = true
	return x, nil
}

// A known is what the integers are that a hollow buffer stands for.
type known struct {
	at      func(i int) int64
	ask     func() // before somebody is told, unless it is nil
	version uint32 // of the buffer of which it is so
}

// Remember has x, which is new and hollow, know what integers it stands for, in row-major order: until it is
// changed in place. ask, which may be nil, is called before they are told.
func (x *Tensor) Remember(at func(i int) int64, ask func()) {
	x.buf.known = &known{at, ask, x.buf.version}
}

// Remembered returns the integers that x stands for, in row-major order, nil if they are not known. They are of
// a tensor that has all of its storage: which part of it another has may not be the same on
// ranks that one runs for.
func (x *Tensor) Remembered() []int64 {
	if x.buf == nil || x.buf.known == nil || x.buf.known.version != x.buf.version || !x.whole() {
		return nil
	}
	if ask := x.buf.known.ask; ask != nil {
		ask()
	}
	var list []int64
	var add func(at, d int)
	add = func(at, d int) {
		if d == x.Ndim() {
			list = append(list, x.buf.known.at(at))
			return
		}
		for i := range x.Shape()[d] {
			add(at+i*x.Strides()[d], d+1)
		}
	}
	add(0, 0)
	return list
}

// whole reports whether x has as many elements as its storage, from the first to the last.
func (x *Tensor) whole() bool {
	last := 0
	for d, n := range x.Shape() {
		if n == 0 || x.Strides()[d] < 0 {
			return false
		}
		last += (n - 1) * x.Strides()[d]
	}
	n := x.buf.Len() / x.DType().Size()
	return x.Offset() == 0 && x.Numel() == n && last == n-1
}
