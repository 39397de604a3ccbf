package nn

import (
	"math"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// New parameters have PyTorch's distributions. Each that is random is one draw
// of the rank's generator, of its whole shape, made where the parameter is
// defined: so ranks that have drawn equally often since one seed get the same
// bits, and an element depends on its place alone.

// A maker makes the parameters of a new module.
type maker struct {
	fn string // the constructor
	m  *Module
	dt dtype.DType
}

// newMaker returns a maker of parameters of m, of dtype dt or the default.
func newMaker(e *builtins.Env, fn string, m *Module, dt arg.OptDType) (*maker, error) {
	mk := &maker{fn, m, e.Runtime.Ops().Float}
	if dt.Set {
		mk.dt = dt.V.D
	}
	if !mk.dt.IsFloat() {
		return nil, &op.ArgError{Func: fn, Param: "dtype", Got: mk.dt.String(), Want: "a float dtype"}
	}
	return mk, nil
}

// do applies an operator, unrecorded.
func (mk *maker) do(name string, in []*tensor.Tensor, args ...op.Arg) (*tensor.Tensor, error) {
	defer mk.m.env.Runtime.Tape.SetEnabled(false)()
	t, err := mk.m.env.Runtime.Do(name, in, args...)
	return t, arg.Rename(mk.fn, err)
}

// create returns what the operator called name, one that takes a shape and a
// dtype, makes.
func (mk *maker) create(name string, s shape.Shape) (*tensor.Tensor, error) {
	return mk.do(name, nil, op.IntsN(s...), op.Int1(int(mk.dt)))
}

// parameter makes t, which nothing else has, the parameter called name.
func (mk *maker) parameter(name string, t *tensor.Tensor, err error) error {
	if err != nil {
		return err
	}
	if err := builtins.RequireGrad(mk.fn, t); err != nil {
		return err
	}
	x := mk.m.env.Wrap(t)
	x.Parameter = true
	mk.m.Put(Field{name, ParameterField, x})
	return nil
}

// constant makes a parameter of one number: "zeros" or "ones".
func (mk *maker) constant(name, of string, s ...int) error {
	t, err := mk.create(of, s)
	return mk.parameter(name, t, err)
}

// uniform makes a parameter of numbers uniform in [-bound, bound): 2 bound u -
// bound for the draw u = rand(shape).
func (mk *maker) uniform(name string, bound float64, s ...int) error {
	u, err := mk.create("rand", s)
	if err == nil {
		u, err = mk.do("mul", []*tensor.Tensor{u, tensor.Number(2 * bound)})
	}
	if err == nil {
		u, err = mk.do("sub", []*tensor.Tensor{u, tensor.Number(bound)})
	}
	return mk.parameter(name, u, err)
}

// normal makes a parameter of normal numbers of mean 0 and a standard deviation.
func (mk *maker) normal(name string, std float64, s ...int) error {
	x, err := mk.create("randn", s)
	if err == nil {
		x, err = mk.do("mul", []*tensor.Tensor{x, tensor.Number(std)})
	}
	return mk.parameter(name, x, err)
}

// xavier makes a weight [out, in] of numbers uniform within √(6 / (in + out)).
//
// Glorot and Bengio, "Understanding the difficulty of training deep
// feedforward neural networks", AISTATS 2010.
func (mk *maker) xavier(name string, out, in int) error {
	return mk.uniform(name, math.Sqrt(6/float64(max(in+out, 1))), out, in)
}

// linear makes the weight [out, in] and the bias [out] of a linear function,
// both uniform within 1 / √in. A bias that is not wanted is None.
func (mk *maker) linear(out, in int, bias bool) error {
	bound := 0.0
	if in > 0 {
		bound = 1 / math.Sqrt(float64(in))
	}
	if err := mk.uniform("weight", bound, out, in); err != nil {
		return err
	}
	if !bias {
		mk.none("bias")
		return nil
	}
	return mk.uniform("bias", bound, out)
}

// none makes a parameter that is not there.
func (mk *maker) none(name string) { mk.m.Put(Field{name, ParameterField, starlark.None}) }
