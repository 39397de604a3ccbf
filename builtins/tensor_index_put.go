package builtins

import (
	"errors"

	"go.starlark.net/starlark"

	"tpsh/builtins/arg"
	"tpsh/lang/operator"
	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// The operators behind index_put, looked up once.
var (
	putAtOp     = op.Lookup("put")
	putIntoOp   = op.Lookup("put_")
	putRowsOp   = op.Lookup("put_rows")
	putRowsInto = op.Lookup("put_rows_")
)

func init() {
	Register(
		methodRow("index_put", "index_put(indices, values, accumulate=False) returns a copy of the tensor with values where x[indices] is.\n"+
			"indices is a tuple of index tensors or masks, one for each of the first dims; values is\n"+
			"broadcast to what they select. With accumulate the values are added, each of equal places.\n"+
			">>> zeros(2, 2).index_put((tensor([0, 0]), tensor([1, 1])), tensor([1.0, 2.0]), accumulate=True).tolist()\n[[0.0, 3.0], [0.0, 0.0]]",
			indexPut(putAtOp, putRowsOp)),
		methodRow("index_put_", "index_put_(indices, values, accumulate=False) is index_put in place: it changes the tensor and returns it.\n"+
			">>> zeros(3).index_put_((tensor([2, 0]),), tensor(5.0)).tolist()\n[5.0, 0.0, 5.0]",
			indexPut(putIntoOp, putRowsInto)),
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

// indexPut returns the method that puts values where indices select, by d; by rows where they select rows of a distributed
// tensor, of which it then moves none that is cut along its other dims.
func indexPut(d, rows *op.Def) tensorMethod {
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
		s, by, how := t.Shape(), d, []op.Arg{op.Bool1(bool(accumulate))}
		if k := rowsBy(indices); t.Placed() && k > 0 && k < len(s) {
			s, by, how = s[:k], rows, []op.Arg{op.Int1(k), how[0]}
		}
		places, err := placesOf(e, starlark.Tuple(indices), s)
		if err != nil {
			return nil, arg.Rename(fn, arg.In(fn, "indices", err))
		}
		y, err := invokeOne(e, by, []*tensor.Tensor{t, places, value}, how...)
		if err != nil {
			return nil, arg.Rename(fn, ofIndexPut(err))
		}
		if y == t {
			return x, nil
		}
		return e.Wrap(y), nil
	}
}

// ofIndexPut has err, which is one of put, name the parameters of index_put.
func ofIndexPut(err error) error {
	var bad *op.ArgError
	if errors.As(err, &bad) {
		switch bad.Param {
		case "index":
			bad.Param = "indices"
		case "source":
			bad.Param = "values"
		}
	}
	return err
}

// rowsBy returns how many dims indices are for, if each is a tensor of ints and for one dim; else 0.
func rowsBy(indices arg.List) int {
	for _, v := range indices {
		x, ok := v.(*Tensor)
		if !ok || x.T.DType() == dtype.Bool {
			return 0
		}
	}
	return len(indices)
}

// placesOf returns the numbers of the elements of a tensor of shape s that indices
// select. None stands for all of a dim, as in PyTorch.
func placesOf(e *Env, indices starlark.Tuple, s shape.Shape) (*tensor.Tensor, error) {
	for i, v := range indices {
		if v == starlark.None {
			indices[i] = &operator.Slice{Lo: v, Hi: v, Step: v}
		}
	}
	sub, err := newSubscript(e, indices, s)
	if err != nil {
		return nil, err
	}
	return sub.numbered(s)
}
