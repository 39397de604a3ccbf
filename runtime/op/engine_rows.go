package op

import (
	goruntime "runtime"

	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel"
	"tpsh/runtime/kernel/crew"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// This file serves kernels that work on a row of elements: those along one
// dim, or along the last dims. Rows that do not lie as a kernel wants them are
// copied, and results are copied back.

// lastDim returns a view of x with dim d moved to the end, and of an x of shape
// () one of shape (1,).
func lastDim(x *tensor.Tensor, d int) *tensor.Tensor {
	n := x.Ndim()
	if n == 0 {
		return x.View(shape.Shape{1}, []int{1}, x.Offset())
	}
	if d == n-1 {
		return x
	}
	s, st := make([]int, 0, n), make([]int, 0, n)
	for i := range n {
		if i != d {
			s, st = append(s, x.Shape()[i]), append(st, x.Strides()[i])
		}
	}
	return x.View(append(s, x.Shape()[d]), append(st, x.Strides()[d]), x.Offset())
}

// inOrder returns x, or a copy of it, contiguous and in dtype dt.
func (c *Call) inOrder(x *tensor.Tensor, dt dtype.DType) (*tensor.Tensor, error) {
	if x.DType() == dt && x.Contiguous() {
		return x, nil
	}
	y, err := copyOf(c.Ctx, x, dt)
	if err != nil {
		return nil, c.memory(err)
	}
	return y, nil
}

// room returns an uninitialised tensor for what a kernel computes on the way.
func (c *Call) room(dt dtype.DType, s shape.Shape) (*tensor.Tensor, error) {
	x, err := tensor.New(c.Ctx.Alloc, dt, s)
	if err != nil {
		return nil, c.memory(err)
	}
	return x, nil
}

// An output is a tensor to be filled in order: the result itself or, where
// that is of another dtype or lies otherwise, room that is copied there.
type output struct{ dst, room *tensor.Tensor }

// newOutput returns an output to dst, of dtype dt.
func (c *Call) newOutput(dst *tensor.Tensor, dt dtype.DType) (output, error) {
	if dst.DType() == dt && dst.Contiguous() {
		return output{dst, dst}, nil
	}
	room, err := c.room(dt, dst.Shape())
	return output{dst, room}, err
}

// done puts the elements where they belong. It is the end of o.
func (o *output) done() {
	if o.room != o.dst {
		copyInto(o.dst, o.room)
		o.room.Buffer().Discard()
	}
	goruntime.KeepAlive(o.room)
}

// alongDim runs a kernel over the rows of x along dim d, into c.Out[0]. f32
// and f64 are given a row of the result and one of x.
func (c *Call) alongDim(x *tensor.Tensor, d int, f32 func(dst, x []float32), f64 func(dst, x []float64)) error {
	dt := c.Out[0].DType().Compute()
	in, err := c.inRows(lastDim(x, d), dt)
	if err != nil {
		return err
	}
	to := lastDim(c.Out[0], d)
	out := output{to, to}
	if !inRows(to) {
		if out, err = c.newOutput(to, dt); err != nil {
			return err
		}
	}
	n := in.Shape()[in.Ndim()-1]
	if dt == dtype.Float64 {
		eachRow(c.Ctx.Workers, out.room, in, n, false, f64)
	} else {
		eachRow(c.Ctx.Workers, out.room, in, n, false, f32)
	}
	out.done()
	return nil
}

// inRows returns x, or a copy of it in order and in dtype dt, whose elements along the last dim lie next to
// each other.
func (c *Call) inRows(x *tensor.Tensor, dt dtype.DType) (*tensor.Tensor, error) {
	if inRows(x) {
		return x, nil
	}
	return c.inOrder(x, dt)
}

// inRows reports whether the elements of x along the last dim lie next to each other.
func inRows(x *tensor.Tensor) bool { return x.Strides()[x.Ndim()-1] == 1 }

// eachRow calls f with each row of n elements of dst and x, of one shape, on parts of them at a time
// where w are free: with some rows at a time that are brought together where they do not lie in order.
// light says that f takes few steps for each element, so that it waits for memory and rows may be
// stored past the caches. (That of softmax does not: it takes 2 to 6 % longer past them.)
func eachRow[T dtype.Number](w *crew.Workers, dst, x *tensor.Tensor, n int, light bool, f func(dst, x []T)) {
	some := func(lo, hi int) {
		to, from, step := newSink[T](dst), newSource[T](x, x.Shape()), hi-lo
		if to.direct == nil || from.direct == nil {
			step = n * max(blockSize/n, 1)
		}
		for ; lo < hi; lo += step {
			end := min(lo+step, hi)
			rows(to.block(lo, end), from.block(lo, end), n, light, f)
			to.store(lo, end)
		}
	}
	switch all := x.Numel(); {
	case all == 0:
	case all < 2*LeastPart:
		some(0, all)
	default:
		splitRows(w, all, n, some)
	}
	goruntime.KeepAlive(x)
	goruntime.KeepAlive(dst)
}

// rows calls f with each row of n elements of dst and x, one after the other.
func rows[T any](dst, x []T, n int, light bool, f func(dst, x []T)) {
	if f32, ok := any(f).(func(dst, x []float32)); ok && light && kernel.RowsPast(any(dst).([]float32), any(x).([]float32), n, f32) {
		return
	}
	for at := 0; at < len(x); at += n {
		f(dst[at:at+n], x[at:at+n])
	}
}

// splitRows runs f on parts of all elements that are whole rows of n.
func splitRows(w *crew.Workers, all, n int, f func(lo, hi int)) {
	w.Split(all/n, max(LeastPart/n, 1), func(lo, hi int) { f(lo*n, hi*n) })
}
