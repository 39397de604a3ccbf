package op

import (
	goruntime "runtime"

	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel"
	"tpsh/runtime/kernel/crew"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// plain is an Applier that records nothing.
type plain struct{ ctx *Ctx }

func (p plain) Apply(d *Def, in []*tensor.Tensor, args []Arg) ([]*tensor.Tensor, error) {
	c, err := Apply(p.ctx, d, in, args)
	if err != nil {
		return nil, err
	}
	return c.Out, nil
}

// compose stores in c.Out[0] what f makes with other operators. Its dtype and
// shape may differ from those of c.Out[0] if they convert and broadcast to
// them.
func (c *Call) compose(f func(t *Tape) *tensor.Tensor) (err error) {
	defer Recover(&err)
	y := f(&Tape{plain{c.Ctx}})
	copyInto(c.Out[0], y)
	goruntime.KeepAlive(y)
	return nil
}

// Recover, deferred, turns the panic of a Tape into the error of its function:
//
//	func f(t *op.Tape) (err error) {
//		defer op.Recover(&err)
//		t.Do("add", ...)
func Recover(err *error) {
	if p := recover(); p != nil {
		te, ok := p.(*TapeError)
		if !ok {
			panic(p)
		}
		*err = te.Err
	}
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

// float1 runs the float kernel of row over x, as run1 does.
func float1(w *crew.Workers, dst, x *tensor.Tensor, row *kernel.Unary) {
	if computeOf(dst, x) == dtype.Float64 {
		run1(w, dst, x, row.F64)
	} else {
		run1(w, dst, x, row.F32)
	}
}

// float2 runs the float kernel of row over x and y, as run2 does.
func float2(w *crew.Workers, dst, x, y *tensor.Tensor, row *kernel.Binary) {
	if computeOf(dst, x, y) == dtype.Float64 {
		run2(w, dst, x, y, row.F64)
	} else {
		run2(w, dst, x, y, row.F32)
	}
}

// computeOf returns the dtype in which a computation on the tensors is done:
// Float64 if one is of that, else Float32.
func computeOf(list ...*tensor.Tensor) dtype.DType {
	for _, x := range list {
		if x.DType() == dtype.Float64 {
			return dtype.Float64
		}
	}
	return dtype.Float32
}

// checkFloat returns an error if x is no float tensor.
func (c *Call) checkFloat(param string, x *tensor.Tensor) error {
	if !x.DType().IsFloat() {
		return c.Bad(param, Describe(x), "a float tensor", "")
	}
	return nil
}

// checkInts returns an error if x is no integer tensor.
func (c *Call) checkInts(param string, x *tensor.Tensor) error {
	if !x.DType().IsInt() {
		return c.Bad(param, Describe(x), "an integer tensor", "")
	}
	return nil
}
