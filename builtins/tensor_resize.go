package builtins

import (
	"fmt"

	"go.starlark.net/starlark"

	"tpsh/builtins/arg"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

func init() {
	Register(
		methodRow("resize_", "resize_(*size) makes x a tensor of other sizes on its storage, with the elements in the order in which they lie there, and returns it.\n"+
			"size is separate ints or one list. Storage does not grow: new_empty makes a larger tensor. A distributed tensor\n"+
			"keeps the number of its elements. One that requires grad is refused, as in PyTorch.\n"+
			">>> arange(6).resize_(2, 2).tolist()\n[[0, 1], [2, 3]]",
			func(e *Env, fn string, x *Tensor, t *tensor.Tensor, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
				if err := arg.Unpack(fn, nil, kwargs); err != nil {
					return nil, err
				}
				var size starlark.Value = args
				if len(args) == 1 {
					size = args[0]
				}
				s, err := arg.ToInts(size)
				if err != nil {
					return nil, arg.In(fn, "size", err)
				}
				return resized(e, fn, x, t, s)
			}),
		methodRow("resize_as_", "resize_as_(other) is resize_(*other.shape).\n>>> arange(6).resize_as_(zeros(2, 2)).tolist()\n[[0, 1], [2, 3]]",
			func(e *Env, fn string, x *Tensor, t *tensor.Tensor, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
				var other OneTensor
				if err := arg.Unpack(fn, args, kwargs, "other", &other); err != nil {
					return nil, err
				}
				return resized(e, fn, x, t, other.T.Shape())
			}),
	)
}

// resized makes x, whose tensor is t, one of shape s on the same storage.
func resized(e *Env, fn string, x *Tensor, t *tensor.Tensor, s shape.Shape) (starlark.Value, error) {
	if err := CheckFrozen(fn, t); err != nil {
		return nil, err
	}
	for _, n := range s {
		if n < 0 {
			return nil, arg.In(fn, "size", arg.Bad(ShapeTuple(s), "non-negative ints", ""))
		}
	}
	switch {
	case x.Lens != nil:
		return nil, &op.ArgError{Func: fn, Got: "a " + x.Type(), Want: "a tensor or a DTensor"}
	case t.RequiresGrad():
		return nil, &op.ArgError{Func: fn, Got: "a tensor that requires grad", Want: "another tensor", Rule: "x.detach() is one"}
	case t.Shape().Equal(s):
		return x, nil
	}
	room, most, rule := t.Numel(), "", "a distributed tensor keeps the number of its elements"
	if b := t.Buffer(); !t.Placed() && b != nil {
		room, most, rule = b.Len()/t.DType().Size()-t.Offset(), "at most ", "storage does not grow: new_empty makes a larger tensor"
	}
	if s.Check(t.DType().Size()) != nil || s.Numel() > room || s.Numel() != room && t.Placed() {
		return nil, &op.ArgError{Func: fn, Param: "size", Got: s.String(), Want: fmt.Sprintf("%s%d elements", most, room), Rule: rule}
	}
	if !t.Placed() {
		x.T = t.View(s, s.Strides(), t.Offset())
		return x, nil
	}
	y, err := invokeOne(e, reshapeOp, []*tensor.Tensor{t}, op.IntsN(s...))
	if err != nil {
		return nil, arg.Rename(fn, err)
	}
	x.T = y
	return x, nil
}
