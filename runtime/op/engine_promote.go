package op

import (
	"fmt"

	"tpsh/runtime/dtype"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// promote returns the dtype of an operation on in, by PyTorch's rule: tensors
// with dims outrank tensors of shape (), and these outrank numbers; a lower
// rank changes the dtype only by a wider family (bool, integer, float). A nil
// input does not count.
func promote(c *Ctx, in ...*tensor.Tensor) dtype.DType {
	if dt, ok := sameDType(in); ok {
		return dt
	}
	var rank [3]struct {
		dt   dtype.DType
		seen bool
	}
	pairs := false // one is complex: the parts of the result follow the rule
	for _, x := range in {
		if x == nil {
			continue
		}
		r, dt := &rank[0], x.DType().Real()
		pairs = pairs || x.DType().IsComplex()
		switch {
		case x.Weak():
			r = &rank[2]
			if dt.IsFloat() {
				dt = c.Float
			}
		case x.Ndim() == 0:
			r = &rank[1]
		}
		if r.seen {
			dt = dtype.Promote(r.dt, dt)
		}
		r.dt, r.seen = dt, true
	}
	low := rank[2]
	for i := 1; i >= 0; i-- {
		high := rank[i]
		if high.seen && (!low.seen || dtype.SameKind(high.dt, low.dt) || high.dt == dtype.Promote(high.dt, low.dt)) {
			low = high
		}
	}
	if pairs && !low.dt.IsFloat() {
		low.dt = c.Float
	}
	if pairs {
		return low.dt.Complex()
	}
	return low.dt
}

// sameDType returns the dtype that all of in have, and false if there are several, or none,
// or numbers among them.
func sameDType(in []*tensor.Tensor) (dt dtype.DType, ok bool) {
	for _, x := range in {
		if x == nil {
			continue
		}
		if x.Weak() || ok && x.DType() != dt {
			return dt, false
		}
		dt, ok = x.DType(), true
	}
	return dt, ok
}

// promote2 is promote of two operands, quick where there is nothing to decide.
func promote2(c *Ctx, x, y *tensor.Tensor) dtype.DType {
	if x.DType() == y.DType() && x.Weak() == y.Weak() {
		if x.Weak() && x.DType().IsFloat() {
			return c.Float
		}
		if x.Weak() && x.DType().IsComplex() {
			return c.Float.Complex()
		}
		return x.DType()
	}
	return promote(c, x, y)
}

// checkNumber refuses the number x, the tensor parameter called param, if it
// is an integer beyond the range of dt, in which the operator computes.
func (c *Call) checkNumber(param string, x *tensor.Tensor, dt dtype.DType) error {
	if !x.Weak() || x.DType() != dtype.Int64 || x.Buffer() == nil || x.Hollow() {
		return nil
	}
	if !dt.IsInt() {
		return nil
	}
	lo, hi := dt.Limits()
	if v := tensor.Data[int64](x)[0]; v < lo || v > hi {
		return c.Bad(param, fmt.Sprint(v), fmt.Sprintf("%d..%d", lo, hi), fmt.Sprintf("the range of %v", dt))
	}
	return nil
}

// broadcast2 returns the shape of an operation on x and y. An error is about y, the tensor
// parameter called py.
func (c *Call) broadcast2(x, y *tensor.Tensor, py string) (shape.Shape, error) {
	s, ok := shape.Broadcast(x.Shape(), y.Shape())
	if !ok {
		return nil, c.Bad(py, fmt.Sprintf("shapes %v and %v", x.Shape(), y.Shape()),
			"sizes that are equal or 1, aligned at the last dim", "")
	}
	return s, nil
}
