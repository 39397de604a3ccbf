package builtins

import (
	"go.starlark.net/starlark"

	"tpsh/builtins/arg"
	"tpsh/runtime/tensor"
)

// What scripts may ask of how a tensor lies in memory and in a graph.
func init() {
	Register(
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
