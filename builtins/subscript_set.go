package builtins

import (
	"go.starlark.net/starlark"

	"tpsh/builtins/arg"
	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// storeOp copies one tensor into another.
var storeOp = op.Lookup("copy_")

// getSubscript is x[v] of an index of several kinds.
func (x *Tensor) getSubscript(t *tensor.Tensor, v starlark.Value) (starlark.Value, error) {
	sub, err := newSubscript(x.Env, v, t.Shape())
	if err == nil {
		t, err = sub.get(t)
	}
	if err != nil {
		return nil, arg.Rename("x[...]", arg.In("x[...]", "index", err))
	}
	return x.Env.Wrap(t), nil
}

// setSubscript is x[v] = w of an index of several kinds.
func (x *Tensor) setSubscript(t *tensor.Tensor, v, w starlark.Value) error {
	const fn = "x[...] = v"
	sub, err := newSubscript(x.Env, v, t.Shape())
	if err != nil {
		return arg.Rename(fn, arg.In(fn, "index", err))
	}
	value, err := ToOperand(w)
	if err != nil {
		return arg.In(fn, "value", err)
	}
	switch {
	case t.Placed():
		err = sub.setPlaced(t, value)
	case sub.advanced():
		err = sub.setPlaces(t, value)
	default:
		err = sub.setView(t, value)
	}
	return arg.Rename(fn, err)
}

// setView sets a part of t that is a view.
func (sub *subscript) setView(t, value *tensor.Tensor) error {
	v, flips, err := sub.view(t)
	if err != nil {
		return err
	}
	var own []int // the dims of value that are flipped
	for _, d := range flips {
		if d -= v.Ndim() - value.Ndim(); d >= 0 && value.Shape()[d] > 1 {
			own = append(own, d)
		}
	}
	if len(own) > 0 {
		if value, err = sub.do(flipOp, value, op.IntsN(own...)); err != nil {
			return err
		}
	}
	_, err = sub.env.invoke(setItemOp, []*tensor.Tensor{v, value}, []op.Arg{op.IntsN()})
	return err
}

// setPlaces sets the elements of t that tensors select: what the subscript takes
// of the numbers of the elements says where they are.
func (sub *subscript) setPlaces(t, value *tensor.Tensor) error {
	places, err := sub.numbered(t.Shape())
	if err != nil {
		return err
	}
	flat, err := sub.do(reshapeOp, t, op.IntsN(-1))
	if err != nil {
		return err
	}
	if _, err = sub.env.invoke(indexPutOp, []*tensor.Tensor{flat, places, value}, nil); err != nil || flat.Buffer() == t.Buffer() {
		return err
	}
	back, err := sub.do(reshapeOp, flat, op.IntsN(t.Shape()...))
	if err != nil {
		return err
	}
	_, err = sub.env.invoke(storeOp, []*tensor.Tensor{t, back}, nil)
	return err
}

// numbered returns what the subscript takes of the numbers of the elements of a tensor of shape s.
func (sub *subscript) numbered(s shape.Shape) (*tensor.Tensor, error) {
	numbers := make([]int64, s.Numel())
	for i := range numbers {
		numbers[i] = int64(i)
	}
	all, err := op.FromInts(sub.env.Runtime.Ops(), dtype.Int64, s, numbers)
	if err != nil {
		return nil, err
	}
	return sub.get(all)
}

// setPlaced sets elements of a distributed tensor: every rank of its mesh sets
// them in a whole tensor, of which each then keeps its block.
func (sub *subscript) setPlaced(t, value *tensor.Tensor) error {
	rank := sub.env.Runtime
	if value.Placed() {
		var err error
		if value, err = rank.Shard.Full("x[...] = v", value, nil); err != nil {
			return err
		}
	}
	marks, err := op.FromInts(rank.Ops(), dtype.Bool, t.Shape(), make([]int64, t.Numel()))
	if err != nil {
		return err
	}
	whole, err := rank.Do("zeros", nil, op.IntsN(t.Shape()...), op.Int1(int(t.DType())))
	if err != nil {
		return err
	}
	set := (*subscript).setView
	if sub.advanced() {
		set = (*subscript).setPlaces
	}
	if err := set(sub, marks, tensor.Number(true)); err != nil {
		return err
	}
	if err := set(sub, whole, value); err != nil {
		return err
	}
	y, err := invokeOne(sub.env, whereOp, []*tensor.Tensor{marks, whole, t})
	if err == nil {
		_, err = sub.env.invoke(storeOp, []*tensor.Tensor{t, y}, nil)
	}
	return err
}
