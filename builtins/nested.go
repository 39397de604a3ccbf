package builtins

import (
	"errors"
	"fmt"
	"math"
	goruntime "runtime"
	"strings"

	"go.starlark.net/lib/json"
	"go.starlark.net/starlark"

	"tpsh/builtins/arg"
	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// A nest is nested lists of numbers on their way to a tensor.
type nest struct {
	shape      shape.Shape
	elems      []starlark.Value // numbers and bools, in row-major order
	allBool    bool
	anyFloat   bool
	anyComplex bool
	anyUnknown bool
	varying    []*Varying // the elements that are not the same on all ranks

	recalls bool // tensors of a plan whose elements are remembered are read
}

// Lists have bounds, so that one that holds itself, or a slip in a number, is
// an error before it fills the memory.
const (
	maxNesting = 64      // lists in lists
	maxListed  = 1 << 28 // elements that become Starlark values, or were
)

// NestedElements returns the shape of v, nested lists of numbers and bools, and these
// in row-major order.
func NestedElements(v starlark.Value) (shape.Shape, []starlark.Value, error) {
	n := nest{allBool: true, recalls: true}
	err := n.read(v, nil)
	return n.shape, n.elems, err
}

// read takes over v, whose place among the lists is path.
func (n *nest) read(v starlark.Value, path []int) error {
	if x, ok := v.(*Tensor); ok && n.recalls {
		v = recalled(x)
	}
	seq, err := Sequence(v)
	if err != nil {
		return err
	}
	if seq == nil {
		return n.add(v, path)
	}
	depth := len(path)
	if depth == maxNesting {
		return &op.ArgError{Got: "lists in lists without end", Want: fmt.Sprintf("at most %d", maxNesting), Rule: "each is a dim"}
	}
	if depth == len(n.shape) && len(n.elems) == 0 && !n.closed(path) {
		if seq.Len() > maxListed/max(n.shape.Numel(), 1) {
			return n.bad(v, path, fmt.Sprintf("at most %d numbers in all", maxListed))
		}
		n.shape = append(n.shape, seq.Len())
	}
	if depth >= len(n.shape) || n.shape[depth] != seq.Len() {
		return n.ragged(v, path)
	}
	for i := range seq.Len() {
		if err := n.read(seq.Index(i), append(path, i)); err != nil {
			return err
		}
	}
	return nil
}

// closed reports whether the number of dims is known: the first innermost
// list, perhaps empty, has been read.
func (n *nest) closed(path []int) bool {
	for _, i := range path {
		if i > 0 {
			return true
		}
	}
	return false
}

// Sequence returns v if it is a list, tuple or range, and nil if it is none.
func Sequence(v starlark.Value) (starlark.Indexable, error) {
	switch v := v.(type) {
	case *starlark.List, starlark.Tuple:
		return v.(starlark.Indexable), nil
	case *Tensor:
		t, err := v.Tensor()
		if err != nil || t.Ndim() == 0 {
			return nil, err
		}
		return v, nil
	case starlark.String, starlark.Bytes:
		return nil, nil
	case starlark.Indexable: // a range
		return v, nil
	}
	return nil, nil
}

// add takes over an element: a number, a bool or a tensor of shape ().
func (n *nest) add(v starlark.Value, path []int) error {
	if len(path) != len(n.shape) {
		return n.ragged(v, path)
	}
	if x, ok := v.(*Tensor); ok {
		item, err := x.item("tensor")
		if err != nil {
			return err
		}
		v = item
	}
	if x, ok := v.(*Varying); ok { // the tensors of a plan have no elements, so any rank's number will do
		v, n.varying = x.own, append(n.varying, x)
	}
	switch v := v.(type) {
	case *Unknown:
		n.anyUnknown = true
		n.allBool = n.allBool && v.kind == "bool"
		n.anyFloat = n.anyFloat || v.kind == "float"
	case starlark.Bool:
	case starlark.Int:
		n.allBool = false
	case starlark.Float:
		n.allBool, n.anyFloat = false, true
	case complexNumber:
		n.allBool, n.anyComplex = false, true
	default:
		return n.bad(v, path, "a number, or a list of numbers")
	}
	n.elems = append(n.elems, v)
	return nil
}

// ragged is the error of lists that have no shape.
func (n *nest) ragged(v starlark.Value, path []int) error {
	want := "a number"
	if len(path) < len(n.shape) {
		want = fmt.Sprintf("a list of %d", n.shape[len(path)])
	}
	return n.bad(v, path, want)
}

func (n *nest) bad(v starlark.Value, path []int, want string) error {
	got := arg.Show(v)
	if len(path) > 0 {
		got += " at index "
		for _, i := range path {
			got += fmt.Sprintf("[%d]", i)
		}
	}
	return &op.ArgError{Got: got, Want: want}
}

// dtype returns that of the elements: bool, int64, or if one is a float, def; if
// one is complex, the complex dtype of that.
func (n *nest) dtype(def dtype.DType) dtype.DType {
	switch {
	case n.anyComplex:
		return def.Complex()
	case len(n.elems) == 0 || n.anyFloat:
		return def
	case n.allBool:
		return dtype.Bool
	}
	return dtype.Int64
}

// tensor returns the elements as a tensor of dt.
func (n *nest) tensor(c *op.Ctx, dt dtype.DType) (*tensor.Tensor, error) {
	if c.Hollow() {
		x, err := tensor.New(c.Alloc, dt, n.shape)
		if err == nil && !n.anyUnknown {
			n.remember(x)
		}
		return x, err
	}
	if n.anyComplex || dt.IsComplex() {
		return n.complexes(c, dt)
	}
	if n.anyFloat || dt.IsFloat() {
		return n.floats(c, dt)
	}
	elems := make([]int64, len(n.elems))
	for i, v := range n.elems {
		if u, ok := v.(starlark.Int); ok && dt == dtype.Uint64 {
			if k, ok := u.Uint64(); ok {
				elems[i] = int64(k) // its low bits are what uint64 keeps
				continue
			}
		}
		k, ok := asInteger(v)
		if !ok || !FitsIn(k, dt) {
			return nil, n.outside(v, dt)
		}
		elems[i] = k
	}
	return op.FromInts(c, dt, n.shape, elems)
}

// floats is tensor of elements one of which is a float, or of a float dtype.
func (n *nest) floats(c *op.Ctx, dt dtype.DType) (*tensor.Tensor, error) {
	elems := make([]float64, len(n.elems))
	for i, v := range n.elems {
		f := asNumber(v)
		if !dt.IsFloat() && dt != dtype.Bool && !(math.Abs(f) < 1<<63 && FitsIn(int64(f), dt)) {
			return nil, n.outside(v, dt)
		}
		elems[i] = f
	}
	return op.FromFloats(c, dt, n.shape, elems)
}

// complexes is tensor of elements one of which is complex, or of a complex dtype.
func (n *nest) complexes(c *op.Ctx, dt dtype.DType) (*tensor.Tensor, error) {
	elems := make([]complex128, len(n.elems))
	for i, v := range n.elems {
		z, ok := asComplex(v)
		if !ok || !dt.IsComplex() {
			return nil, n.outside(v, dt)
		}
		elems[i] = z
	}
	return op.FromComplex(c, dt, n.shape, elems)
}

// outside is the error of an element that dt cannot hold.
func (n *nest) outside(v starlark.Value, dt dtype.DType) error {
	return &op.ArgError{Got: arg.Show(v), Want: "a number that " + dt.String() + " can hold"}
}

// asInteger returns an int or a bool as an integer; false if it has more than 64
// bits.
func asInteger(v starlark.Value) (int64, bool) {
	switch v := v.(type) {
	case starlark.Int:
		return v.Int64()
	case starlark.Bool:
		if v {
			return 1, true
		}
	}
	return 0, true
}

// asNumber returns an int, float or bool as a float.
func asNumber(v starlark.Value) float64 {
	if b, ok := v.(starlark.Bool); ok {
		if b {
			return 1
		}
		return 0
	}
	f, _ := starlark.AsFloat(v)
	return f
}

// FitsIn reports whether k is an element of dt, an integer dtype or bool.
func FitsIn(k int64, dt dtype.DType) bool {
	if !dt.IsInt() {
		return true
	}
	lo, hi := dt.Limits()
	return lo <= k && k <= hi
}

// FromNested returns v, nested lists of numbers, as a tensor of the dtype that
// is given, else of that of the numbers. Its errors lack the function.
func FromNested(e *Env, v starlark.Value, dt arg.OptDType) (*tensor.Tensor, error) {
	if x, ok := v.(*Tensor); ok {
		return copyOf(e, x, dt)
	}
	n := nest{allBool: true}
	if err := n.read(v, nil); err != nil {
		return nil, err
	}
	d := n.dtype(e.Runtime.Ops().Float)
	if dt.Set {
		d = dt.V.D
	}
	return n.tensor(e.Runtime.Ops(), d)
}

// copyOf returns a copy of x, of the dtype that is given, that takes no part
// in differentiation.
func copyOf(e *Env, x *Tensor, dt arg.OptDType) (*tensor.Tensor, error) {
	t, err := x.Tensor()
	if err != nil {
		return nil, err
	}
	t = t.Detach()
	if dt.Set && dt.V.D != t.DType() {
		return e.Runtime.Do("to", []*tensor.Tensor{t}, op.Int1(int(dt.V.D)))
	}
	return e.Runtime.Do("clone", []*tensor.Tensor{t})
}

// Nested returns the elements of t as nested lists, for the function fn.
func Nested(e *Env, fn string, t *tensor.Tensor) (starlark.Value, error) {
	if t.Buffer() == nil {
		return nil, &op.ArgError{Func: fn, Got: op.Describe(t) + " without data", Want: "a tensor with data", Rule: "only its shape is computed"}
	}
	if t.Numel() > maxListed {
		return nil, &op.ArgError{Func: fn, Got: op.Describe(t), Want: fmt.Sprintf("at most %d elements", maxListed), Rule: "each becomes a value of its own"}
	}
	t, err := e.Whole(fn, t)
	if err != nil {
		return nil, err
	}
	if t.Hollow() {
		return unknownsLike(e, t.DType(), t.Shape()), nil
	}
	v := lists(t, t.Offset(), 0)
	goruntime.KeepAlive(t)
	return v, nil
}

// MarshalJSON implements json.Marshaler, which Starlark's json.encode asks:
// x is encoded as what tolist gives.
func (x *Tensor) MarshalJSON() ([]byte, error) {
	t, err := x.Tensor()
	if err != nil {
		return nil, err
	}
	list, err := Nested(x.Env, "tolist", t)
	if err != nil {
		return nil, err
	}
	s, err := starlark.Call(x.Env.Thread, json.Module.Members["encode"], starlark.Tuple{list}, nil)
	if err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "json.encode: "))
	}
	return []byte(s.(starlark.String)), nil
}

// lists returns the elements of t from dim d on, the first lying at at.
func lists(t *tensor.Tensor, at, d int) starlark.Value {
	if d == t.Ndim() {
		return elementOf(t, at)
	}
	list := make([]starlark.Value, t.Shape()[d])
	for i := range list {
		list[i] = lists(t, at+i*t.Strides()[d], d+1)
	}
	return starlark.NewList(list)
}
