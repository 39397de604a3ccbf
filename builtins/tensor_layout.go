package builtins

import (
	"go.starlark.net/starlark"

	"tpsh/builtins/arg"
	"tpsh/runtime/grad"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// What scripts may ask of how a tensor lies in memory and in a graph.
func init() {
	Register(
		tensorRow("is_leaf", "is_leaf is whether the tensor was not made by a recorded operation.\n>>> x = ones(1, requires_grad=True)\n>>> x.is_leaf, (x * 2).is_leaf\n(True, False)",
			func(e *Env, t *tensor.Tensor) (starlark.Value, error) {
				e.Runtime.Tape.Refresh(t)
				return starlark.Bool(grad.IsLeaf(t)), nil
			}),
		methodRow("stride", "stride(dim=None) returns how many elements apart neighbours along each dim lie, or along one dim; of a distributed tensor, how they would lie in the whole.\n>>> zeros(2, 3).T.stride()\n(1, 3)",
			func(_ *Env, fn string, _ *Tensor, t *tensor.Tensor, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
				var dim arg.OptInt
				if err := arg.Unpack(fn, args, kwargs, "dim?", &dim); err != nil {
					return nil, err
				}
				strides := t.Strides()
				if t.Placed() {
					strides = t.Shape().Strides()
				}
				if !dim.Set {
					return ShapeTuple(strides), nil
				}
				d, err := arg.Dim(fn, "dim", int(dim.V), t.Shape())
				if err != nil {
					return nil, err
				}
				return starlark.MakeInt(strides[d]), nil
			}),
		methodRow("is_contiguous", "is_contiguous() returns whether the elements lie in row-major order without gaps; of a distributed tensor, whether those of this rank's block do.\n>>> zeros(2, 3).T.is_contiguous()\nFalse",
			func(_ *Env, fn string, _ *Tensor, t *tensor.Tensor, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
				if t.Placed() {
					t = t.Local()
				}
				return starlark.Bool(t.Buffer() == nil || t.Contiguous()), arg.Unpack(fn, args, kwargs)
			}),
	)
}

// weighed returns outputs as tensors of one element whose gradients are those of
// outputs given dys; nil stands for 1.
func weighed(e *Env, fn string, outputs Tensors, dys []*tensor.Tensor) (Tensors, error) {
	if len(dys) != len(outputs) {
		return nil, &op.ArgError{Func: fn, Param: "grad_outputs", Got: CountWord(len(dys), "tensor"), Want: CountWord(len(outputs), "tensor"), Rule: "one for each of outputs"}
	}
	sums := make(Tensors, len(outputs))
	for i, y := range outputs {
		if sums[i] = y; dys[i] == nil {
			continue
		}
		if !dys[i].Shape().Equal(y.Shape()) {
			return nil, &op.ArgError{Func: fn, Param: "grad_outputs", Got: op.Describe(dys[i]), Want: op.Describe(y), Rule: "a gradient is like its tensor"}
		}
		c := &OpChain{E: e, Fn: fn}
		dy := c.Do("to", []*tensor.Tensor{dys[i]}, op.Int1(int(y.DType())))
		if y.DType().IsComplex() {
			y, dy = c.Do("view_as_real", []*tensor.Tensor{y}), c.Do("view_as_real", []*tensor.Tensor{dy})
		}
		sums[i] = c.Do("sum", []*tensor.Tensor{c.Do("mul", []*tensor.Tensor{y, dy})}, op.None, op.Bool1(false))
		if c.Err != nil {
			return nil, c.Err
		}
	}
	return sums, nil
}

// gradOutputs returns v, a tensor, or a list of tensors and Nones, or None for none.
func gradOutputs(v starlark.Value) ([]*tensor.Tensor, error) {
	list := arg.List{v}
	if _, one := v.(*Tensor); !one {
		list = nil
		if err := list.Unpack(v); err != nil {
			return nil, arg.Bad(v, "a tensor or a list of tensors", "")
		}
	}
	dys := make([]*tensor.Tensor, len(list))
	for i, x := range list {
		if x == starlark.None {
			continue
		}
		t, err := ToTensor(x)
		if err != nil {
			return nil, err
		}
		dys[i] = t
	}
	return dys, nil
}
