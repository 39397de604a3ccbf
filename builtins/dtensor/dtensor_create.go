package dtensor

import (
	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/mesh"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// A filler makes a tensor placed as l, for the function fn. v is the value that a script gives, nil
// where it gives none.
type filler func(e *builtins.Env, fn string, l *mesh.Placed, dt arg.OptDType, v starlark.Value) (*tensor.Tensor, error)

// dtensorCreator returns DTensor.zeros or one like it, whose tensors fill makes. With value the
// function has a parameter for their elements.
func dtensorCreator(value bool, fill filler) builtins.Function {
	return func(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		var (
			fn    = b.Name()
			sizes arg.Shape
			v     starlark.Value
			m     optMesh
			p     optPlacements
			dt    arg.OptDType
			req   arg.Bool
		)
		params := []any{"shape|size", &sizes, "mesh|device_mesh?", &m, "placements?", &p, "dtype?", &dt, "requires_grad?", &req}
		if value {
			params = append([]any{"shape|size", &sizes, "value|fill_value", &v}, params[2:]...)
		}
		if err := arg.Unpack(fn, args, kwargs, params...); err != nil {
			return nil, err
		}
		dm, err := meshFor(e, m, p)
		if err != nil {
			return nil, err
		}
		l, err := layoutArgs(e, fn, dm, shape.Shape(sizes), p)
		if err != nil {
			return nil, err
		}
		if l.IsPartial() {
			return nil, &op.ArgError{Func: fn, Param: "placements", Got: mesh.List(l.Placements()), Want: "Replicate() or Shard(dim)"}
		}
		t, err := fill(e, fn, l, dt, v)
		if err != nil {
			return nil, err
		}
		if req {
			if err := builtins.RequireGrad(fn, t); err != nil {
				return nil, err
			}
		}
		return e.Wrap(t), nil
	}
}

// filled returns a tensor placed as l whose elements are v.
func filled(e *builtins.Env, fn string, l *mesh.Placed, dt arg.OptDType, v *tensor.Tensor) (*tensor.Tensor, error) {
	s := shape.Shape(e.Runtime.Shard.LocalShape(l))
	if s == nil {
		s = make(shape.Shape, max(1, len(l.Shape())))
	}
	d := op.None
	if dt.Set {
		d = op.Int1(int(dt.V.D))
	}
	restore := e.Runtime.Tape.SetEnabled(false)
	defer restore()
	block, err := e.Runtime.Do("full", []*tensor.Tensor{v}, op.IntsN(s...), d)
	if err != nil {
		return nil, op.Rename(fn, err)
	}
	return e.Runtime.Shard.FromLocal(block, l)
}

// constant returns what fills a tensor with the number v.
func constant(v float64) filler {
	return func(e *builtins.Env, fn string, l *mesh.Placed, dt arg.OptDType, _ starlark.Value) (*tensor.Tensor, error) {
		if !dt.Set {
			dt.V.D, dt.Set = e.Runtime.Ops().Float, true
		}
		return filled(e, fn, l, dt, tensor.Number(v))
	}
}

// fullOf is the filler with the number of a script.
func fullOf(e *builtins.Env, fn string, l *mesh.Placed, dt arg.OptDType, v starlark.Value) (*tensor.Tensor, error) {
	x, err := builtins.ToOperand(v)
	if err != nil {
		return nil, arg.In(fn, "value", err)
	}
	return filled(e, fn, l, dt, x)
}

// drawnBy returns what fills a tensor with random numbers, by the operator
// called name.
func drawnBy(name string) filler {
	return func(e *builtins.Env, fn string, l *mesh.Placed, dt arg.OptDType, v starlark.Value) (*tensor.Tensor, error) {
		like, err := constant(0)(e, fn, l, dt, v)
		if err != nil {
			return nil, err
		}
		t, err := e.Runtime.Do(name, []*tensor.Tensor{like}, op.None)
		return t, op.Rename(fn, err)
	}
}
