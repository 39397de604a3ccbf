package builtins

import (
	"go.starlark.net/starlark"

	"tpsh/builtins/arg"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// What scripts may ask of shapes alone, and the method behind x[...].
func init() {
	Register(
		&Row{Name: "broadcast_shapes", Fn: broadcastShapes,
			Doc: "broadcast_shapes(*shapes) returns the shape to which tensors of the given shapes broadcast. A shape is an int or a list of ints.\n>>> broadcast_shapes((2, 1), (3,))\n(2, 3)"},
		methodRow("__getitem__", "__getitem__(index) returns x[index].\n>>> tensor([1, 2]).__getitem__(1)\n2",
			func(_ *Env, fn string, x *Tensor, _ *tensor.Tensor, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
				var index starlark.Value
				if err := arg.Unpack(fn, args, kwargs, "index", &index); err != nil {
					return nil, err
				}
				y, _, err := x.Get(index)
				return y, err
			}),
	)
}

func broadcastShapes(_ *Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if err := arg.Unpack(b.Name(), nil, kwargs); err != nil {
		return nil, err
	}
	all := shape.Shape{}
	for i, v := range args {
		var s arg.Shape
		if err := s.Unpack(v); err != nil {
			return nil, arg.In(b.Name(), "shapes", err)
		}
		to, ok := shape.Broadcast(all, shape.Shape(s))
		if !ok {
			return nil, &op.ArgError{Func: b.Name(), Param: "shapes", Got: arg.BadItem(v, i, "").(*op.ArgError).Got, Want: "a shape that broadcasts to " + all.String(), Rule: "sizes along a dim are equal, or 1"}
		}
		all = to
	}
	return ShapeTuple(all), nil
}
