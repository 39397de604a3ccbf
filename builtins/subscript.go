package builtins

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.starlark.net/starlark"

	"tpsh/builtins/arg"
	"tpsh/lang/operator"
	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// The operators behind indices of several kinds, looked up once.
var (
	atOp      = op.Lookup("at")
	permuteOp = op.Lookup("permute")
	reshapeOp = op.Lookup("reshape")
	whereOp   = op.Lookup("where")
)

const subscriptWant = "ints, slices, None, ..., tensors of indices or of truths, or lists of indices"

// A subscript is what stands between the brackets of x[...] where that is more
// than ints or one tensor: one element for each dim of x and each new one.
type subscript struct {
	env   *Env
	elems []subscriptElem
	dims  int // of x
}

// A subscriptElem is one element of a subscript.
type subscriptElem struct {
	text  string         // in the notation of at; "" for a tensor
	flip  bool           // the slice goes backwards
	isInt bool           // it takes a dim away
	isNew bool           // it adds a dim
	at    int            // the int
	index *tensor.Tensor // int64, or nil
	size  int            // of the dim of x that it is for
}

// isPlainIndex reports whether v is an index of ints alone, or of one tensor.
func isPlainIndex(v starlark.Value) bool {
	switch v := v.(type) {
	case starlark.Tuple:
		return !slices.ContainsFunc(v, func(e starlark.Value) bool {
			_, isInt := e.(starlark.Int)
			return !isInt
		})
	case *operator.Slice, *starlark.List, starlark.NoneType:
		return false
	}
	return v != operator.Ellipsis
}

// newSubscript returns v, of x[v], where x has the shape s.
func newSubscript(e *Env, v starlark.Value, s shape.Shape) (*subscript, error) {
	items, sub := itemsOf(v), &subscript{env: e}
	for i, item := range items {
		if item == operator.Ellipsis {
			if slices.Contains(items[i+1:], operator.Ellipsis) {
				return nil, arg.Bad(v, "at most one ...", "")
			}
			rest, err := countDims(items[i+1:])
			if err != nil {
				return nil, err
			}
			for sub.dims+rest < len(s) {
				sub.whole(s)
			}
			continue
		}
		if err := sub.add(item, i, s); err != nil {
			return nil, err
		}
	}
	for sub.dims < len(s) {
		sub.whole(s)
	}
	return sub, nil
}

// countDims returns how many dims of x the elements of an index are for.
func countDims(items starlark.Tuple) (int, error) {
	n := 0
	for _, item := range items {
		switch item := item.(type) {
		case starlark.NoneType:
		case *Tensor:
			t, err := item.Tensor()
			if err != nil {
				return 0, err
			}
			if t.DType() == dtype.Bool {
				n += t.Ndim()
				continue
			}
			n++
		default:
			n++
		}
	}
	return n, nil
}

// whole adds an element that takes all of a dim.
func (sub *subscript) whole(s shape.Shape) {
	sub.elems = append(sub.elems, subscriptElem{text: ":", size: s[sub.dims]})
	sub.dims++
}

// add adds the item at index i of an index.
func (sub *subscript) add(item starlark.Value, i int, s shape.Shape) error {
	if item == starlark.None {
		sub.elems = append(sub.elems, subscriptElem{text: "None", isNew: true})
		return nil
	}
	if sub.dims >= len(s) {
		return &op.ArgError{Got: fmt.Sprintf("more than %d indices", len(s)), Want: "at most one for each dim", Rule: fmt.Sprintf("shape %v", s)}
	}
	size := s[sub.dims]
	switch item := item.(type) {
	case starlark.Int:
		n, err := arg.ToInt(item)
		if err != nil {
			return err
		}
		if n < -size || n >= size {
			return &op.ArgError{Got: strconv.Itoa(n), Want: fmt.Sprintf("%d..%d", -size, size-1), Rule: fmt.Sprintf("dim %d of shape %v", sub.dims, s)}
		}
		sub.elems = append(sub.elems, subscriptElem{text: strconv.Itoa(n), isInt: true, at: n, size: size})
	case *operator.Slice:
		e, err := sliceElem(item, size)
		if err != nil {
			return err
		}
		sub.elems = append(sub.elems, e)
	case *Tensor:
		t, err := item.Tensor()
		if err != nil {
			return err
		}
		return sub.addTensor(t, s)
	case *starlark.List:
		t, err := FromNested(sub.env, item, arg.OptDType{})
		if err == nil && item.Len() == 0 {
			t, err = op.FromInts(sub.env.Runtime.Ops(), dtype.Int64, shape.Shape{0}, nil)
		}
		if err != nil {
			return err
		}
		return sub.addTensor(t, s)
	default:
		return arg.BadItem(item, i, subscriptWant)
	}
	sub.dims++
	return nil
}

// sliceElem returns the element for a slice of a dim of a size. What goes
// backwards is taken forwards and flipped.
func sliceElem(item *operator.Slice, size int) (subscriptElem, error) {
	start, step, count, err := item.Bounds(size)
	if err != nil {
		return subscriptElem{}, &op.ArgError{Got: strings.TrimPrefix(err.Error(), "got "), Want: "lo:hi:step of ints"}
	}
	e := subscriptElem{size: size}
	if count == 0 {
		start, step = 0, 1
	}
	if e.flip = step < 0; e.flip {
		start, step = start+(count-1)*step, -step
	}
	stop := 0
	if count > 0 {
		stop = start + (count-1)*step + 1
	}
	e.text = fmt.Sprintf("%d:%d:%d", start, stop, step)
	return e, nil
}

// addTensor adds a tensor of indices, or of truths, which are as many tensors of
// indices as they have dims.
func (sub *subscript) addTensor(t *tensor.Tensor, s shape.Shape) error {
	if t.DType() != dtype.Bool {
		if t.DType().IsFloat() {
			return &op.ArgError{Got: op.Describe(t), Want: "a tensor of ints or of truths"}
		}
		index, err := sub.env.Runtime.Do("to", []*tensor.Tensor{t}, op.Int1(int(dtype.Int64)))
		sub.elems = append(sub.elems, subscriptElem{index: index, size: s[sub.dims]})
		sub.dims++
		return err
	}
	end := sub.dims + t.Ndim()
	if end > len(s) || !s[sub.dims:end].Equal(t.Shape()) {
		return &op.ArgError{Got: "a mask " + op.Describe(t), Want: fmt.Sprintf("one of the dims from %d on", sub.dims), Rule: fmt.Sprintf("shape %v", s)}
	}
	places, err := sub.env.Runtime.Do("nonzero", []*tensor.Tensor{t}, op.None)
	if err != nil {
		return err
	}
	for d := range t.Ndim() {
		index, err := sub.env.Runtime.Do("select", []*tensor.Tensor{places}, op.Int1(1), op.Int1(d))
		if err != nil {
			return err
		}
		sub.elems = append(sub.elems, subscriptElem{index: index, size: s[sub.dims]})
		sub.dims++
	}
	return nil
}

// advanced reports whether the subscript has a tensor. Its ints are then tensors,
// too, as in NumPy.
func (sub *subscript) advanced() bool {
	return slices.ContainsFunc(sub.elems, func(e subscriptElem) bool { return e.index != nil })
}

// view returns the part of t that the elements show which are no tensors; dims in
// which a slice goes backwards are still to be flipped.
func (sub *subscript) view(t *tensor.Tensor) (v *tensor.Tensor, flips []int, err error) {
	advanced := sub.advanced()
	texts := make([]string, len(sub.elems))
	dim := 0
	for i, e := range sub.elems {
		texts[i] = e.text
		if e.index != nil || e.isInt && advanced {
			texts[i] = ":"
		} else if e.isInt {
			continue
		}
		if e.flip {
			flips = append(flips, dim)
		}
		dim++
	}
	if len(texts) == 0 {
		return t, nil, nil
	}
	v, err = sub.do(atOp, t, op.Str1(strings.Join(texts, ", ")))
	return v, flips, err
}

// get returns x[...].
func (sub *subscript) get(t *tensor.Tensor) (*tensor.Tensor, error) {
	v, flips, err := sub.view(t)
	if err == nil && len(flips) > 0 {
		v, err = sub.do(flipOp, v, op.IntsN(flips...))
	}
	if err != nil || !sub.advanced() {
		return v, err
	}
	return sub.take(v)
}

// do applies an operator of one tensor and one result.
func (sub *subscript) do(d *op.Def, t *tensor.Tensor, args ...op.Arg) (*tensor.Tensor, error) {
	return invokeOne(sub.env, d, []*tensor.Tensor{t}, args...)
}

// take returns the elements of v, in which every tensor of the subscript has a
// dim: these become one dim in front, which is indexed.
func (sub *subscript) take(v *tensor.Tensor) (*tensor.Tensor, error) {
	var front, rest []int
	first, last := -1, -1 // of the elements that are tensors
	for i, e := range sub.elems {
		if e.index == nil && !e.isInt {
			rest = append(rest, i)
			continue
		}
		front = append(front, i)
		if first < 0 {
			first = i
		}
		last = i
	}
	together := last-first+1 == len(front)
	index, err := sub.place(front)
	if err != nil {
		return nil, err
	}
	if len(front) > 1 || first > 0 {
		if v, err = sub.do(permuteOp, v, op.IntsN(append(slices.Clone(front), rest...)...)); err != nil {
			return nil, err
		}
	}
	if len(front) > 1 {
		if v, err = sub.do(reshapeOp, v, op.IntsN(append([]int{v.Shape()[:len(front)].Numel()}, v.Shape()[len(front):]...)...)); err != nil {
			return nil, err
		}
	}
	y, err := invokeOne(sub.env, indexOp, []*tensor.Tensor{v, index})
	if err != nil || !together || first == 0 {
		return y, err
	}
	// The dims of the indices stand where the tensors do.
	n := index.Ndim()
	var order []int
	for i := range first {
		order = append(order, n+i)
	}
	for i := range n {
		order = append(order, i)
	}
	for i := n + first; i < y.Ndim(); i++ {
		order = append(order, i)
	}
	return sub.do(permuteOp, y, op.IntsN(order...))
}

// place returns the indices of the dims of some elements as one, of all these
// dims as one.
func (sub *subscript) place(list []int) (*tensor.Tensor, error) {
	var sum *tensor.Tensor
	for _, i := range list {
		e := sub.elems[i]
		index := e.index
		if index == nil {
			index = tensor.Number(int64(e.at))
		}
		if len(list) == 1 {
			return index, nil // whose range the operator checks
		}
		if err := sub.check(index, e.size, i); err != nil {
			return nil, err
		}
		wrapped, err := sub.env.Runtime.Do("mod", []*tensor.Tensor{index, tensor.Number(int64(max(e.size, 1)))})
		if err != nil {
			return nil, err
		}
		if sum == nil {
			sum = wrapped
			continue
		}
		if sum, err = sub.env.Runtime.Do("mul", []*tensor.Tensor{sum, tensor.Number(int64(e.size))}); err == nil {
			if _, ok := shape.Broadcast(sum.Shape(), wrapped.Shape()); !ok {
				return nil, &op.ArgError{Got: "indices of the shapes " + sum.Shape().String() + " and " + wrapped.Shape().String(), Want: "shapes that broadcast"}
			}
			sum, err = sub.env.Runtime.Do("add", []*tensor.Tensor{sum, wrapped})
		}
		if err != nil {
			return nil, err
		}
	}
	return sum, nil
}

// check returns an error if an index is out of its dim. Of a distributed tensor
// nothing is looked at.
func (sub *subscript) check(index *tensor.Tensor, size, elem int) error {
	if index.Placed() || index.Buffer() == nil || index.Numel() == 0 {
		return nil
	}
	for _, end := range []string{"min", "max"} {
		y, err := sub.env.Runtime.Do(end, []*tensor.Tensor{index}, op.None, op.Bool1(false))
		if err != nil {
			return err
		}
		if y.Hollow() {
			continue
		}
		n, _ := elementOf(y, y.Offset()).(starlark.Int).Int64()
		if n < int64(-size) || n >= int64(size) {
			return &op.ArgError{Got: fmt.Sprintf("%d in the tensor at index %d", n, elem), Want: fmt.Sprintf("%d..%d", -size, size-1)}
		}
	}
	return nil
}
