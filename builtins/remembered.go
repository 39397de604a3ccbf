package builtins

import (
	"go.starlark.net/starlark"

	"tpsh/runtime/dtype"
	"tpsh/runtime/tensor"
)

// The tensors of a plan have no elements. Of those that a program has counted or listed it is remembered what
// they would be: a mesh may be made of them, and then tells apart the ranks on which they differ.

// rememberInts has x, which the operator has made of the arguments, know its numbers if they are ints.
func (b *binding) rememberInts(x *tensor.Tensor) {
	first, step, ok := b.def.Ints(b.in)
	if ok && !x.Placed() && x.Numel() > 0 && keepsInts(x.DType(), first, first+int64(x.Numel()-1)*step) {
		given := b.varying
		x.Remember(func(i int) int64 { return first + int64(i)*step }, func() {
			for _, a := range given {
				a.v.settle()
			}
		})
	}
}

// remember has x, which is made of n, know its numbers if they are ints.
func (n *nest) remember(x *tensor.Tensor) {
	list := make([]int64, len(n.elems))
	for i, v := range n.elems {
		k, ok := v.(starlark.Int)
		if !ok {
			return
		}
		if list[i], ok = k.Int64(); !ok || !keepsInts(x.DType(), list[i]) {
			return
		}
	}
	given := n.varying
	x.Remember(func(i int) int64 { return list[i] }, func() {
		for _, v := range given {
			v.settle()
		}
	})
}

// keepsInts reports whether list are elements of dt, an integer dtype.
func keepsInts(dt dtype.DType, list ...int64) bool {
	for _, k := range list {
		if !dt.IsInt() || !FitsIn(k, dt) {
			return false
		}
	}
	return true
}

// recalled returns the elements of x, in lists, if they are remembered; else x.
func recalled(x *Tensor) starlark.Value {
	t, err := x.Tensor()
	if err != nil || t.Placed() {
		return x
	}
	list := t.Remembered()
	if list == nil {
		return x
	}
	var rows func(d int) starlark.Value
	rows = func(d int) starlark.Value {
		if d == t.Ndim() {
			k := list[0]
			list = list[1:]
			return starlark.MakeInt64(k)
		}
		items := make([]starlark.Value, t.Shape()[d])
		for i := range items {
			items[i] = rows(d + 1)
		}
		return starlark.NewList(items)
	}
	return rows(0)
}
