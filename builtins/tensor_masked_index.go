package builtins

import (
	"go.starlark.net/starlark"

	"tpsh/builtins/arg"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// What PyTorch's compiler makes of indices that may be out of range where a mask is false.
func init() {
	Register(
		&Row{Name: "_unsafe_masked_index", Fn: maskedIndex,
			Doc: "_unsafe_masked_index(x, mask, indices, fill) returns x[indices] where mask is true, and fill elsewhere.\n" +
				"indices are integer tensors, or None for all of a dim; where mask is false they may be out of range.\n" +
				">>> _unsafe_masked_index(tensor([1.0, 2.0]), tensor([True, False]), [tensor([1, 5])], 0.5).tolist()\n[2.0, 0.5]"},
		&Row{Name: "_unsafe_masked_index_put_accumulate", Fn: maskedIndexPut,
			Doc: "_unsafe_masked_index_put_accumulate(x, mask, indices, values) returns a copy of x to which values are added where x[indices] is and mask is true.\n" +
				"It is the gradient of _unsafe_masked_index, which has the same indices.\n" +
				">>> _unsafe_masked_index_put_accumulate(zeros(2), tensor([True, False]), [tensor([1, 5])], ones(2)).tolist()\n[0.0, 1.0]"},
	)
}

// A maskedIndices is what both functions take, before their last argument.
type maskedIndices struct {
	*OpChain
	x, mask, last starlark.Value
	indices       arg.List
}

// unpack takes over the arguments of the function fn, the last of which is called last.
func (m *maskedIndices) unpack(e *Env, fn, last string, args starlark.Tuple, kwargs []starlark.Tuple) (x, mask *tensor.Tensor, err error) {
	m.OpChain = &OpChain{E: e, Fn: fn}
	if err := arg.Unpack(fn, args, kwargs, "x|input", &m.x, "mask", &m.mask, "indices", &m.indices, last, &m.last); err != nil {
		return nil, nil, err
	}
	if x, err = e.TensorArg(fn, "x", m.x); err != nil {
		return nil, nil, err
	}
	mask, err = e.TensorArg(fn, "mask", m.mask)
	return x, mask, err
}

// inRange returns the indices of x, those beyond its ends moved there.
func (m *maskedIndices) inRange(x *tensor.Tensor) (starlark.Tuple, error) {
	out := make(starlark.Tuple, len(m.indices))
	for i, item := range m.indices {
		if out[i] = item; item == starlark.None {
			continue
		}
		t, ok := item.(*Tensor)
		if !ok || i >= x.Ndim() {
			return nil, arg.In(m.Fn, "indices", arg.BadItem(item, i, "a tensor of ints, or None, for each dim of x"))
		}
		index, err := t.Tensor()
		if err != nil {
			return nil, err
		}
		n := float64(x.Shape()[i])
		index = m.Do("clamp", []*tensor.Tensor{index}, op.Float1(-n), op.Float1(n-1))
		if m.Err != nil {
			return nil, m.Err
		}
		out[i] = m.E.Wrap(index)
	}
	return out, nil
}

func maskedIndex(e *Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var m maskedIndices
	x, mask, err := m.unpack(e, b.Name(), "fill", args, kwargs)
	if err != nil {
		return nil, err
	}
	fill, err := ToOperand(m.last)
	if err != nil {
		return nil, arg.In(m.Fn, "fill", err)
	}
	indices, err := m.inRange(x)
	if err != nil {
		return nil, err
	}
	places, err := placesOf(e, indices, x.Shape())
	if err != nil {
		return nil, arg.Rename(m.Fn, arg.In(m.Fn, "indices", err))
	}
	y := m.Do("take", []*tensor.Tensor{x, places})
	y = m.Do("masked_fill", []*tensor.Tensor{y, m.Do("logical_not", []*tensor.Tensor{mask}), fill})
	if m.Err != nil {
		return nil, m.Err
	}
	return e.Wrap(y), nil
}

func maskedIndexPut(e *Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var m maskedIndices
	x, mask, err := m.unpack(e, b.Name(), "values", args, kwargs)
	if err != nil {
		return nil, err
	}
	values, err := e.TensorArg(m.Fn, "values", m.last)
	if err != nil {
		return nil, err
	}
	indices, err := m.inRange(x)
	if err != nil {
		return nil, err
	}
	places, err := placesOf(e, indices, x.Shape())
	if err != nil {
		return nil, arg.Rename(m.Fn, arg.In(m.Fn, "indices", err))
	}
	values = m.Do("masked_fill", []*tensor.Tensor{values, m.Do("logical_not", []*tensor.Tensor{mask}), tensor.Number(0.0)})
	y := m.Do("put", []*tensor.Tensor{x, places, values}, op.Bool1(true))
	if m.Err != nil {
		return nil, m.Err
	}
	return e.Wrap(y), nil
}
