package op

import (
	"tpsh/runtime/dtype"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// An Applier applies operators: plainly, or recording them for
// differentiation (package grad).
type Applier interface {
	Apply(d *Def, in []*tensor.Tensor, args []Arg) ([]*tensor.Tensor, error)
}

// A Tape applies operators for gradients. Its methods panic with a *TapeError
// if the operator fails, which whoever runs the gradient recovers.
type Tape struct{ A Applier }

// A TapeError is the failure of an operator inside a gradient.
type TapeError struct{ Err error }

// Do applies the operator called name and returns its first result.
func (t *Tape) Do(name string, in []*tensor.Tensor, args ...Arg) *tensor.Tensor {
	return t.apply(must(name), in, args...)
}

// apply applies d and returns its first result.
func (t *Tape) apply(d *Def, in []*tensor.Tensor, args ...Arg) *tensor.Tensor {
	out, err := t.A.Apply(d, in, args)
	if err != nil {
		panic(&TapeError{err})
	}
	return out[0]
}

// several applies an operator of more than one result.
func (t *Tape) several(name string, in []*tensor.Tensor, args ...Arg) []*tensor.Tensor {
	out, err := t.A.Apply(must(name), in, args)
	if err != nil {
		panic(&TapeError{err})
	}
	return out
}

func (t *Tape) unary(name string, x *tensor.Tensor) *tensor.Tensor {
	return t.Do(name, []*tensor.Tensor{x})
}

func (t *Tape) binary(name string, x, y *tensor.Tensor) *tensor.Tensor {
	return t.Do(name, []*tensor.Tensor{x, y})
}

// The elementwise operators, with broadcasting.
func (t *Tape) Add(x, y *tensor.Tensor) *tensor.Tensor { return t.binary("add", x, y) }
func (t *Tape) Sub(x, y *tensor.Tensor) *tensor.Tensor { return t.binary("sub", x, y) }
func (t *Tape) Mul(x, y *tensor.Tensor) *tensor.Tensor { return t.binary("mul", x, y) }
func (t *Tape) Div(x, y *tensor.Tensor) *tensor.Tensor { return t.binary("div", x, y) }
func (t *Tape) Neg(x *tensor.Tensor) *tensor.Tensor    { return t.unary("neg", x) }

// Scale returns x times the number k.
func (t *Tape) Scale(x *tensor.Tensor, k float64) *tensor.Tensor {
	return t.binary("mul", x, tensor.Number(k))
}

// Where returns x where cond is true and y elsewhere.
func (t *Tape) Where(cond, x, y *tensor.Tensor) *tensor.Tensor {
	return t.Do("where", []*tensor.Tensor{cond, x, y})
}

// MatMul returns the matrix product of x and y, batched over leading dims.
func (t *Tape) MatMul(x, y *tensor.Tensor) *tensor.Tensor { return t.binary("matmul", x, y) }

// Transpose returns x with dims d0 and d1 exchanged.
func (t *Tape) Transpose(x *tensor.Tensor, d0, d1 int) *tensor.Tensor {
	return t.Do("transpose", []*tensor.Tensor{x}, Int1(d0), Int1(d1))
}

// Reshape returns x with shape s.
func (t *Tape) Reshape(x *tensor.Tensor, s shape.Shape) *tensor.Tensor {
	if x.Shape().Equal(s) {
		return x
	}
	return t.Do("reshape", []*tensor.Tensor{x}, IntsN(s...))
}

// Expand returns x broadcast to shape s.
func (t *Tape) Expand(x *tensor.Tensor, s shape.Shape) *tensor.Tensor {
	if x.Shape().Equal(s) {
		return x
	}
	return t.Do("expand", []*tensor.Tensor{x}, IntsN(s...))
}

// Sum returns the sum of x over dims, which stay with size 1 if keep.
func (t *Tape) Sum(x *tensor.Tensor, dims []int, keep bool) *tensor.Tensor {
	return t.Do("sum", []*tensor.Tensor{x}, IntsN(dims...), Bool1(keep))
}

// SumTo returns x summed over the dims that broadcasting stretched from
// shape s, so that it has shape s: the gradient of a broadcast.
func (t *Tape) SumTo(x *tensor.Tensor, s shape.Shape) *tensor.Tensor {
	xs := x.Shape()
	if xs.Equal(s) {
		return x
	}
	lead := len(xs) - len(s)
	dims := make([]int, lead, len(xs))
	for d := range dims {
		dims[d] = d
	}
	for d := lead; d < len(xs); d++ {
		if s[d-lead] == 1 && xs[d] != 1 {
			dims = append(dims, d)
		}
	}
	if len(dims) == lead {
		return t.Sum(x, dims, false)
	}
	return t.Reshape(t.Sum(x, dims, true), s)
}

// Cast returns x in dtype dt.
func (t *Tape) Cast(x *tensor.Tensor, dt dtype.DType) *tensor.Tensor {
	if x.DType() == dt {
		return x
	}
	return t.Do("to", []*tensor.Tensor{x}, Int1(int(dt)))
}

// wide returns x in the dtype in which arithmetic on it is done.
func (t *Tape) wide(x *tensor.Tensor) *tensor.Tensor { return t.Cast(x, x.DType().Compute()) }

// AddNumber returns x plus the number k.
func (t *Tape) AddNumber(x *tensor.Tensor, k float64) *tensor.Tensor {
	return t.Add(x, tensor.Number(k))
}

// column returns x with a dim of size 1 put in at dim.
func (t *Tape) column(x *tensor.Tensor, dim int) *tensor.Tensor {
	s := x.Shape()
	out := make(shape.Shape, 0, len(s)+1)
	out = append(append(append(out, s[:dim]...), 1), s[dim:]...)
	return t.Reshape(x, out)
}
