package op

import (
	goruntime "runtime"

	"tpsh/runtime/dtype"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// FromFloats returns a tensor of dtype dt and shape s with the given elements,
// in row-major order, converted as `to` does. It panics if s has another
// number of elements.
func FromFloats(c *Ctx, dt dtype.DType, s shape.Shape, elems []float64) (*tensor.Tensor, error) {
	return fromSlice(c, dtype.Float64, dt, s, elems)
}

// FromInts is FromFloats of ints.
func FromInts(c *Ctx, dt dtype.DType, s shape.Shape, elems []int64) (*tensor.Tensor, error) {
	return fromSlice(c, dtype.Int64, dt, s, elems)
}

// FromBools is FromFloats of bools.
func FromBools(c *Ctx, dt dtype.DType, s shape.Shape, elems []bool) (*tensor.Tensor, error) {
	return fromSlice(c, dtype.Bool, dt, s, elems)
}

// FromComplex returns a tensor of a complex dtype and shape s with the given
// elements, in row-major order. It panics if s has another number of elements.
func FromComplex(c *Ctx, dt dtype.DType, s shape.Shape, elems []complex128) (*tensor.Tensor, error) {
	if len(elems) != s.Numel() {
		panic("op: elements for another shape")
	}
	x, err := tensor.New(c.Alloc, dt, s)
	if err != nil || c.Hollow() {
		return x, err
	}
	if dt == dtype.Complex128 {
		copy(tensor.Data[complex128](x), elems)
	} else {
		for i, z := range elems {
			tensor.Data[complex64](x)[i] = complex64(z)
		}
	}
	goruntime.KeepAlive(x)
	return x, nil
}

// fromSlice returns a tensor of dt with elems, which are of dtype from.
func fromSlice[T tensor.Element](c *Ctx, from, dt dtype.DType, s shape.Shape, elems []T) (*tensor.Tensor, error) {
	if len(elems) != s.Numel() {
		panic("op: elements for another shape")
	}
	if c.Hollow() {
		return tensor.New(c.Alloc, dt, s)
	}
	x, err := tensor.New(c.Alloc, from, s)
	if err != nil {
		return nil, err
	}
	copy(tensor.Data[T](x), elems)
	return castTo(c, x, dt)
}

// Float64s returns the elements of x in row-major order as float64, which holds
// those of every dtype but int64 exactly.
func Float64s(x *tensor.Tensor) []float64 { return elements(x, load[float64]) }

// Int64s returns the elements of x in row-major order as int64: those of an
// integer or bool dtype exactly, floats truncated.
func Int64s(x *tensor.Tensor) []int64 { return elements(x, load[int64]) }

// elements returns the elements of x, which load reads from its buffer.
func elements[T dtype.Number](x *tensor.Tensor, load func(dst []T, x *tensor.Tensor, off, stride int)) []T {
	mustHaveElements(x)
	out := make([]T, x.Numel())
	l := broadcastLayout(x, x.Shape())
	if len(out) > 0 {
		l.runs(0, len(out), func(at, off, stride, n int) { load(out[at:at+n], x, off, stride) })
	}
	goruntime.KeepAlive(x)
	return out
}

// Float64At returns the element of x with index i in row-major order, as
// Float64s does.
func Float64At(x *tensor.Tensor, i int) float64 {
	mustHaveElements(x)
	var v [1]float64
	load(v[:], x, position(x, i), 0)
	goruntime.KeepAlive(x)
	return v[0]
}

// Int64At returns the element of x with index i in row-major order, as Int64s
// does.
func Int64At(x *tensor.Tensor, i int) int64 {
	mustHaveElements(x)
	var v [1]int64
	load(v[:], x, position(x, i), 0)
	goruntime.KeepAlive(x)
	return v[0]
}

// position returns where the element of x with index i in row-major order
// lies in its buffer.
func position(x *tensor.Tensor, i int) int {
	at := x.Offset()
	for d := x.Ndim() - 1; d >= 0; d-- {
		at += i % x.Shape()[d] * x.Strides()[d]
		i /= x.Shape()[d]
	}
	return at
}
