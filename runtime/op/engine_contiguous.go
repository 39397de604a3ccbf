package op

import (
	goruntime "runtime"

	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel"
	"tpsh/runtime/tensor"
)

// contiguous returns x if its elements lie in row-major order without gaps,
// else a copy of it that does.
func contiguous(c *Ctx, x *tensor.Tensor) (*tensor.Tensor, error) {
	if x.Contiguous() {
		return x, nil
	}
	return copyOf(c, x, x.DType())
}

// castTo returns x if it is of dtype dt, else a contiguous copy of it in dt.
func castTo(c *Ctx, x *tensor.Tensor, dt dtype.DType) (*tensor.Tensor, error) {
	if x.DType() == dt {
		return x, nil
	}
	return copyOf(c, x, dt)
}

// copyOf returns a contiguous copy of x in dtype dt.
func copyOf(c *Ctx, x *tensor.Tensor, dt dtype.DType) (*tensor.Tensor, error) {
	y, err := tensor.New(c.Alloc, dt, x.Shape())
	if err != nil {
		return nil, err
	}
	copyInto(y, x)
	return y, nil
}

// copyInto stores x, converted and broadcast, in the elements of dst. A float
// becomes an integer by truncation, within the integer's range; an integer
// keeps its low bits; all but 0 becomes true. x does not overlap dst.
func copyInto(dst, x *tensor.Tensor) {
	if dst.Hollow() {
		return
	}
	if dst.DType() == x.DType() {
		copySame(dst, x)
		return
	}
	if dst.DType() == dtype.Bool {
		copyBools(dst, x)
		return
	}
	dt := dst.DType().Compute()
	if dst.DType().IsInt() && dt != dst.DType() {
		dt = x.DType().Compute() // a float is cut to the range of dst, not of dt
	}
	switch dt {
	case dtype.Float32:
		moveInto[float32](dst, x)
	case dtype.Float64:
		moveInto[float64](dst, x)
	case dtype.Int64:
		moveInto[int64](dst, x)
	case dtype.Int32:
		moveInto[int32](dst, x)
	default:
		moveInto[uint8](dst, x)
	}
}

// copyBools is copyInto of a bool tensor.
func copyBools(dst, x *tensor.Tensor) {
	switch x.DType().Compute() {
	case dtype.Float32:
		run1(nil, dst, x, kernel.NotZero[float32])
	case dtype.Float64:
		run1(nil, dst, x, kernel.NotZero[float64])
	case dtype.Int64:
		run1(nil, dst, x, kernel.NotZero[int64])
	case dtype.Int32:
		run1(nil, dst, x, kernel.NotZero[int32])
	default:
		run1(nil, dst, x, kernel.NotZero[uint8])
	}
}

// moveInto is copyInto by way of T.
func moveInto[T dtype.Number](dst, x *tensor.Tensor) {
	d, ok := direct[T](dst)
	if !ok || kernel.Past(len(d)*dst.DType().Size()) {
		run1(nil, dst, x, func(dst, x []T) { copy(dst, x) })
		return
	}
	src := newSource[T](x, dst.Shape())
	if src.direct != nil {
		copy(d, src.direct)
	} else if len(d) > 0 {
		loadRuns(d, x, &src.layout, 0, len(d))
	}
	goruntime.KeepAlive(x)
	goruntime.KeepAlive(dst)
}
