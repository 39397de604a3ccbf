package builtins

import (
	"go.starlark.net/starlark"

	"tpsh/builtins/arg"
	"tpsh/lang/operator"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// The operators behind index_put, looked up once.
var (
	putAtOp = op.Lookup("put")
	putInto = op.Lookup("put_")
)

func init() {
	Register(
		methodRow("index_put", "index_put(indices, values, accumulate=False) returns a copy of the tensor with values where x[indices] is.\n"+
			"indices is a tuple of index tensors or masks, one for each of the first dims; values is\n"+
			"broadcast to what they select. With accumulate the values are added, each of equal places.\n"+
			">>> zeros(2, 2).index_put((tensor([0, 0]), tensor([1, 1])), tensor([1.0, 2.0]), accumulate=True).tolist()\n[[0.0, 3.0], [0.0, 0.0]]",
			indexPut(putAtOp)),
		methodRow("index_put_", "index_put_(indices, values, accumulate=False) is index_put in place: it changes the tensor and returns it.\n"+
			">>> zeros(3).index_put_((tensor([2, 0]),), tensor(5.0)).tolist()\n[5.0, 0.0, 5.0]",
			indexPut(putInto)),
		methodRow("where", "where(condition, other) is where(condition, x, other): the elements of the tensor where condition is true, and other elsewhere.\n"+
			">>> tensor([1.0, 2.0]).where(tensor([True, False]), 0.0).tolist()\n[1.0, 0.0]",
			whereMethod),
	)
}

// whereMethod is the method where, whose tensor is the second operand of the operator.
func whereMethod(e *Env, fn string, _ *Tensor, t *tensor.Tensor, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var condition, other starlark.Value
	if err := arg.Unpack(fn, args, kwargs, "condition", &condition, "other", &other); err != nil {
		return nil, err
	}
	cond, err := e.TensorArg(fn, "condition", condition)
	if err != nil {
		return nil, err
	}
	y, err := ToOperand(other)
	if err != nil {
		return nil, arg.In(fn, "other", err)
	}
	z, err := invokeOne(e, whereOp, []*tensor.Tensor{cond, t, y})
	if err != nil {
		return nil, arg.Rename(fn, err)
	}
	return e.Wrap(z), nil
}

// indexPut returns the method that puts values where indices select, by d.
func indexPut(d *op.Def) tensorMethod {
	return func(e *Env, fn string, x *Tensor, t *tensor.Tensor, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		var (
			indices    arg.List
			v          starlark.Value
			accumulate arg.Bool
		)
		if err := arg.Unpack(fn, args, kwargs, "indices", &indices, "values", &v, "accumulate?", &accumulate); err != nil {
			return nil, err
		}
		value, err := ToOperand(v)
		if err != nil {
			return nil, arg.In(fn, "values", err)
		}
		for i, item := range indices {
			if _, ok := item.(*Tensor); !ok && item != starlark.None {
				return nil, arg.In(fn, "indices", arg.BadItem(item, i, "a tensor of ints or of truths"))
			}
		}
		places, err := placesOf(e, starlark.Tuple(indices), t)
		if err != nil {
			return nil, arg.Rename(fn, arg.In(fn, "indices", err))
		}
		y, err := invokeOne(e, d, []*tensor.Tensor{t, places, value}, op.Bool1(bool(accumulate)))
		if err != nil {
			return nil, arg.Rename(fn, err)
		}
		if y == t {
			return x, nil
		}
		return e.Wrap(y), nil
	}
}

// placesOf returns the numbers of the elements of t that t[indices] has. None
// stands for all of a dim, as in PyTorch.
func placesOf(e *Env, indices starlark.Tuple, t *tensor.Tensor) (*tensor.Tensor, error) {
	for i, v := range indices {
		if v == starlark.None {
			indices[i] = &operator.Slice{Lo: v, Hi: v, Step: v}
		}
	}
	sub, err := newSubscript(e, indices, t.Shape())
	if err != nil {
		return nil, err
	}
	return sub.numbered(t)
}
