package builtins

import (
	"go.starlark.net/starlark"

	"tpsh/builtins/arg"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

var (
	_ starlark.Mapping   = (*Tensor)(nil)
	_ starlark.HasSetKey = (*Tensor)(nil)
	_ starlark.Sliceable = (*Tensor)(nil)
	_ starlark.Sequence  = (*Tensor)(nil)
)

// The operators behind indexing, looked up once.
var (
	getItemOp  = op.Lookup("getitem")
	indexOp    = op.Lookup("index")
	setItemOp  = op.Lookup("setitem_")
	indexPutOp = op.Lookup("index_put_")
	sliceOp    = op.Lookup("slice")
	flipOp     = op.Lookup("flip")
)

// An indexKey is what stands between the brackets of x[...]: an int or a tuple
// of ints, or a tensor of indices or of truths.
type indexKey struct {
	ints  []int
	index *tensor.Tensor // if not nil
}

// newIndexKey returns v, of x[v], as a key.
func newIndexKey(v starlark.Value) (key indexKey, err error) {
	switch v := v.(type) {
	case starlark.Int, starlark.Tuple:
		key.ints, err = arg.ToInts(v)
		return key, err
	case *Tensor:
		key.index, err = v.Tensor()
		return key, err
	case starlark.Bool:
		return key, arg.Bad(v, "an int, a slice, a tensor, or several of them", "== compares the values themselves; .eq() compares element by element")
	case starlark.String:
		return key, arg.Bad(v, "an int, a slice, a tensor, or several of them", ".at() takes NumPy's notation")
	}
	return key, arg.Bad(v, "an int, a slice, a tensor, or several of them", "")
}

// Get implements starlark.Mapping: x[v]. Indices give a view, a tensor of
// indices or truths a copy.
func (x *Tensor) Get(v starlark.Value) (_ starlark.Value, found bool, err error) {
	t, err := x.Tensor()
	if err != nil {
		return nil, false, err
	}
	if !isPlainIndex(v) {
		y, err := x.getSubscript(t, v)
		return y, err == nil, err
	}
	key, err := newIndexKey(v)
	if err != nil {
		return nil, false, arg.In("x[...]", "index", err)
	}
	var y *tensor.Tensor
	if key.index != nil {
		y, err = invokeOne(x.Env, indexOp, []*tensor.Tensor{t, key.index})
	} else {
		y, err = invokeOne(x.Env, getItemOp, []*tensor.Tensor{t}, op.IntsN(key.ints...))
	}
	if err != nil {
		return nil, false, arg.Rename("x[...]", err)
	}
	return x.Env.Wrap(y), true, nil
}

// SetKey implements starlark.HasSetKey: x[v] = w.
func (x *Tensor) SetKey(v, w starlark.Value) error {
	t, err := x.Tensor()
	if err != nil {
		return err
	}
	if x.Env.varied && varies(v) {
		if x.observeTaken(v) {
			v = withValues(v, ownOf)
		} else {
			v = settled(v)
		}
	}
	if !isPlainIndex(v) {
		return x.setSubscript(t, v, w)
	}
	key, err := newIndexKey(v)
	if err != nil {
		return arg.In("x[...] = v", "index", err)
	}
	value, err := ToOperand(w)
	if err != nil {
		return arg.In("x[...] = v", "value", err)
	}
	if key.index != nil {
		_, err = x.Env.invoke(indexPutOp, []*tensor.Tensor{t, key.index, value}, nil)
	} else {
		_, err = x.Env.invoke(setItemOp, []*tensor.Tensor{t, value}, []op.Arg{op.IntsN(key.ints...)})
	}
	return arg.Rename("x[...] = v", err)
}

// Len implements starlark.Sequence: the size of dim 0. Without dims there is
// none: an error, left with the rank.
func (x *Tensor) Len() int {
	t, err := x.Tensor()
	if err == nil && t.Ndim() == 0 {
		err = &op.ArgError{Func: "len", Got: op.Describe(t), Want: "a tensor with a dim 0", Rule: ".numel() counts the elements"}
	}
	if err != nil {
		x.Env.Leave(err)
		return 0
	}
	return t.Shape()[0]
}

// Index implements starlark.Indexable: x[i], with 0 <= i < x.Len(). An error is left with
// the rank.
func (x *Tensor) Index(i int) starlark.Value {
	t, err := x.Tensor()
	if err != nil {
		x.Env.Leave(err)
		return starlark.None
	}
	y, err := invokeOne(x.Env, getItemOp, []*tensor.Tensor{t}, op.IntsN(i))
	if err != nil {
		x.Env.Leave(err)
		return starlark.None
	}
	return x.Env.Wrap(y)
}

// Slice implements starlark.Sliceable: x[start:end:step] of dim 0, with bounds
// as starlark.Sliceable has them. It is a view, or for a negative step a copy.
func (x *Tensor) Slice(start, end, step int) starlark.Value {
	v, err := x.slice(start, end, step)
	if err != nil {
		x.Env.Leave(err)
		return starlark.None
	}
	return v
}

func (x *Tensor) slice(start, end, step int) (starlark.Value, error) {
	t, err := x.Tensor()
	if err != nil {
		return nil, err
	}
	reverse := step < 0
	if reverse {
		n := max((start-end-1)/-step+1, 0) // of the indices start, start+step, ... after end
		if start <= end {
			n = 0
		}
		step = -step
		start, end = start-(n-1)*step, start+1
		if n == 0 {
			start, end = 0, 0
		}
	}
	y, err := invokeOne(x.Env, sliceOp, []*tensor.Tensor{t}, op.Int1(0), op.Int1(start), op.Int1(end), op.Int1(step))
	if err == nil && reverse {
		y, err = invokeOne(x.Env, flipOp, []*tensor.Tensor{y}, op.IntsN(0))
	}
	if err != nil {
		return nil, err
	}
	return x.Env.Wrap(y), nil
}

// Iterate implements starlark.Iterable: x[0], x[1], ...
func (x *Tensor) Iterate() starlark.Iterator {
	n := x.Len() // leaves an error if there is no dim 0
	return &rowIterator{x: x, n: n}
}

// A rowIterator goes through dim 0 of a tensor.
type rowIterator struct {
	x    *Tensor
	i, n int
}

// Next implements starlark.Iterator.
func (it *rowIterator) Next(p *starlark.Value) bool {
	if it.i >= it.n {
		return false
	}
	*p = it.x.Index(it.i)
	it.i++
	return true
}

// Done implements starlark.Iterator.
func (it *rowIterator) Done() {}
