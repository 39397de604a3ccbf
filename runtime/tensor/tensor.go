// Package tensor holds tensors: a dtype, a shape, strides, and storage that
// several tensors may share.
//
// A tensor whose storage is absent is shape-only: it can be inferred with but
// not computed with.
//
// A Buffer is the storage, and counts its changes, so that differentiation finds
// values that were overwritten. An Allocator is a rank's memory: it has a limit, and
// keeps what is free for the next tensor. A hollow allocator gives buffers without
// elements, on which a program is planned without computing. A tensor with a Layout is
// the block that a rank has of a distributed one. For example
//
//	a := tensor.NewAllocator(1 << 30)
//	elements, buf, err := tensor.Room[float32](a, 6)  // buf belongs to a
package tensor

import (
	"fmt"
	"unsafe"

	"tpsh/mesh"
	"tpsh/runtime/dtype"
	"tpsh/runtime/shape"
)

// A Tensor is an n-dimensional array of elements of one dtype. The element at
// index (i, j, ...) lies at offset + i*strides[0] + j*strides[1] + ... of its
// buffer, counted in elements. Shape, strides and dtype never change; the
// elements may, and every tensor that shares the buffer sees it.
type Tensor struct {
	shape   shape.Shape
	strides []int
	offset  int
	buf     *Buffer
	dt      dtype.DType
	weak    bool
	dense   bool // it was made contiguous; of another one Contiguous has to look

	// Copied says that the tensor is the result of a view operator that had to
	// move or cut what ranks hold: a change of it would not reach the input.
	Copied bool

	// Base is the tensor that a view was made of, itself no view; nil for a
	// tensor that is no view. Changes counts the in-place changes of a base
	// that differentiation has recorded; a view whose own count differs has a
	// record that is out of date. Package grad keeps both.
	Changes uint32
	Base    *Tensor

	// Auto is what differentiation keeps; nil if x takes no part in it.
	Auto *Auto

	// Of a tensor that ranks hold together: where, and this rank's block.
	layout  *mesh.Placed
	local   *Tensor
	settled *settled // what its terms were reduced to

	// Lens is what a language sees the tensor through besides, such as the group
	// and specs of a ColoTensor; nil for nothing. Operators pay no heed to it, and
	// their results have none; Detach keeps it.
	Lens any
}

// Auto is what differentiation keeps with a tensor.
type Auto struct {
	// Requires says that gradients are wanted here.
	Requires bool
	// Passing says that the tensor is the result of another stage, and no parameter.
	Passing bool
	// Grad is the gradient accumulated in a leaf, or nil.
	Grad *Tensor
	// Sole says that nobody else has the storage of Grad. Whoever gives Grad to
	// somebody who may keep it clears this.
	Sole bool
	// Node made the tensor; nil for a leaf. Package grad defines it.
	Node Node
	// Again is how the tensor is made again where records are not to keep it; nil to
	// keep it. Package grad defines it.
	Again any
	// Index is the place of the tensor among the results of Node.
	Index int
	// Hooks are called with a leaf's gradient before it is accumulated.
	Hooks []Hook
	// Accumulated are called after a leaf's gradient has been accumulated.
	Accumulated []func() error
}

// Forget sets Grad to nil. Its storage is back at once if nobody else has it.
func (a *Auto) Forget() {
	if g := a.Grad; g != nil && a.Sole {
		g.Buffer().Discard()
	}
	a.Grad, a.Sole = nil, false
}

// A Hook sees a gradient as it arrives, and may replace it: a nil result
// leaves it.
type Hook func(g *Tensor) (*Tensor, error)

// A Node is the record of the operation that made a tensor.
type Node interface{ IsNode() }

// New returns an uninitialised contiguous tensor. It fails if the memory is
// not to be had.
func New(a *Allocator, dt dtype.DType, s shape.Shape) (*Tensor, error) {
	buf, err := a.allocFor(dt, s)
	if err != nil {
		return nil, err
	}
	t := ShapeOnly(dt, s)
	t.buf = buf
	return t, nil
}

// allocFor returns a buffer for a contiguous tensor.
func (a *Allocator) allocFor(dt dtype.DType, s shape.Shape) (*Buffer, error) {
	if err := s.Check(dt.Size()); err != nil {
		return nil, err
	}
	buf, err := a.Alloc(s.Numel() * dt.Size())
	if err != nil {
		return nil, fmt.Errorf("%w for %v[%s]", err, dt, s.Join())
	}
	return buf, nil
}

// A Header is where a tensor may lie inside of another object: of the value that a script has,
// or of a PlacedHeader. Both are then one object of the collector. The zero value is for one
// tensor that is yet to be made.
type Header struct{ flat }

// New is the function New in h.
func (h *Header) New(a *Allocator, dt dtype.DType, s shape.Shape) (*Tensor, error) {
	buf, err := a.allocFor(dt, s)
	if err != nil {
		return nil, err
	}
	h.shapeOnly(dt, s)
	h.buf = buf
	return &h.Tensor, nil
}

// Has reports whether x lies in h.
func (h *Header) Has(x *Tensor) bool { return x == &h.Tensor }

// NewOn returns a contiguous tensor whose elements are those of buf, which has as
// many bytes as they take.
func NewOn(buf *Buffer, dt dtype.DType, s shape.Shape) *Tensor {
	t := ShapeOnly(dt, s)
	t.buf = buf
	t.checkBounds()
	return t
}

// ShapeOnly returns a tensor without storage.
func ShapeOnly(dt dtype.DType, s shape.Shape) *Tensor {
	if len(s) > len(flat{}.room) {
		return &Tensor{shape: s, strides: s.Strides(), dt: dt, dense: true}
	}
	f := &flat{}
	f.shapeOnly(dt, s)
	return &f.Tensor
}

// A flat is a tensor that is one object of the collector together with its strides,
// as long as it has few dims. Nobody else has that room: it would keep the tensor, and
// all that differentiation has of it.
type flat struct {
	Tensor
	room [2]int
}

// shapeOnly makes f, which is zero, a contiguous tensor without storage.
func (f *flat) shapeOnly(dt dtype.DType, s shape.Shape) {
	f.shape, f.dt, f.dense = s, dt, true
	if len(s) > len(f.room) {
		f.strides = s.Strides()
		return
	}
	f.strides = s.StridesIn(f.room[:len(s)])
}

// copyOf makes f a tensor like x, on the same storage.
func (f *flat) copyOf(x *Tensor) {
	f.Tensor = *x
	f.ownStrides()
}

// ownStrides has f keep its strides itself, which it has of another tensor.
func (f *flat) ownStrides() {
	if theirs := f.strides; len(theirs) <= len(f.room) {
		f.strides = f.room[:len(theirs)]
		copy(f.strides, theirs)
	}
}

// Number returns a tensor of shape () that holds a number of a script. It is
// weak: it does not widen a tensor of its own kind. The dtype is Float64,
// Int64, Bool or Complex128.
func Number[T float64 | int64 | bool | complex128](v T) *Tensor {
	n := &number{}
	t, buf := &n.Tensor, &n.buffer
	t.weak, t.buf = true, buf
	buf.data = unsafe.Slice((*byte)(unsafe.Pointer(&n.raw)), len(n.raw)*8)
	switch v := any(v).(type) {
	case float64:
		t.dt = dtype.Float64
		*(*float64)(unsafe.Pointer(&buf.data[0])) = v
	case int64:
		t.dt = dtype.Int64
		*(*int64)(unsafe.Pointer(&buf.data[0])) = v
	case bool:
		t.dt = dtype.Bool
		*(*bool)(unsafe.Pointer(&buf.data[0])) = v
	case complex128:
		t.dt = dtype.Complex128
		*(*complex128)(unsafe.Pointer(&buf.data[0])) = v
	}
	return t
}

// A number is a tensor that is one object of the collector together with its storage.
type number struct {
	Tensor
	buffer Buffer
	raw    [2]uint64
}

// View returns a tensor with another shape, strides and offset on the storage
// of x. It panics if the view reaches outside the storage.
func (x *Tensor) View(s shape.Shape, strides []int, offset int) *Tensor {
	return x.As(x.dt, s, strides, offset)
}

// As is View with another dtype: strides and offset count its elements.
func (x *Tensor) As(dt dtype.DType, s shape.Shape, strides []int, offset int) *Tensor {
	x.mustBePlain()
	v := &flat{Tensor: Tensor{shape: s, strides: strides, offset: offset, dt: dt, buf: x.buf}}
	v.ownStrides()
	v.checkBounds()
	return &v.Tensor
}

// mustBePlain panics if ranks hold x together: it has no elements of its own.
func (x *Tensor) mustBePlain() {
	if x.layout != nil {
		panic(fmt.Sprintf("tensor: the elements of a distributed tensor %v", x.layout))
	}
}

// checkBounds panics if an index of x would reach outside its buffer.
func (x *Tensor) checkBounds() {
	if x.buf == nil {
		return
	}
	last := x.offset
	for i, d := range x.shape {
		if d == 0 {
			return
		}
		if x.strides[i] < 0 {
			panic(fmt.Sprintf("tensor: negative stride in view %v %v", x.shape, x.strides))
		}
		last += (d - 1) * x.strides[i]
	}
	if x.offset < 0 || (last+1)*x.dt.Size() > len(x.buf.data) {
		panic(fmt.Sprintf("tensor: view %v strides %v offset %d outside a buffer of %d bytes", x.shape, x.strides, x.offset, len(x.buf.data)))
	}
}

// Detach returns a tensor on the same storage that takes no part in
// differentiation.
func (x *Tensor) Detach() *Tensor {
	y := x.copyHeader()
	y.Auto, y.Base, y.Changes = nil, nil, 0
	return y
}

// copyHeader returns a tensor that is in all like x, on the same storage.
func (x *Tensor) copyHeader() *Tensor {
	if x.layout != nil {
		h := &PlacedHeader{whole: *x}
		h.hold(x.local)
		return &h.whole
	}
	f := &flat{}
	f.copyOf(x)
	return &f.Tensor
}

// ShapeOnly returns a tensor of the shape and dtype of x without storage. It
// requires grad if x does.
func (x *Tensor) ShapeOnly() *Tensor {
	if x.layout != nil {
		y := NewPlaced(x.layout, x.local.ShapeOnly())
		y.Auto = x.Auto
		return y
	}
	f := &flat{Tensor: Tensor{shape: x.shape, strides: x.strides, dt: x.dt, weak: x.weak, dense: x.dense, Auto: x.Auto}}
	f.ownStrides()
	return &f.Tensor
}

// Shape returns the sizes of x; the caller must not modify it.
func (x *Tensor) Shape() shape.Shape { return x.shape }

// Strides returns the strides of x in elements; the caller must not modify it.
func (x *Tensor) Strides() []int { return x.strides }

// Offset returns the offset of x's first element in its buffer, in elements.
func (x *Tensor) Offset() int { return x.offset }

// DType returns the type of x's elements.
func (x *Tensor) DType() dtype.DType { return x.dt }

// Weak reports whether x stands for a number of a script; see Number.
func (x *Tensor) Weak() bool { return x.weak }

// Buffer returns the storage of x, or nil for a shape-only tensor.
func (x *Tensor) Buffer() *Buffer { return x.buf }

// Ndim returns the number of dims.
func (x *Tensor) Ndim() int { return len(x.shape) }

// Numel returns the number of elements.
func (x *Tensor) Numel() int { return x.shape.Numel() }

// RequiresGrad reports whether gradients flow to x.
func (x *Tensor) RequiresGrad() bool { return x.Auto != nil && x.Auto.Requires }

// Contiguous reports whether the elements of x lie in row-major order without
// gaps. Strides of dims of size 1 do not matter.
func (x *Tensor) Contiguous() bool { return x.dense || x.liesInOrder() }

// liesInOrder is Contiguous, by the strides.
func (x *Tensor) liesInOrder() bool {
	x.mustBePlain()
	n := 1
	for i := len(x.shape) - 1; i >= 0; i-- {
		if d := x.shape[i]; d != 1 {
			if d == 0 {
				return true
			}
			if x.strides[i] != n {
				return false
			}
			n *= d
		}
	}
	return true
}
