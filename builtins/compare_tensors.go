package builtins

import (
	"fmt"
	"math"
	goruntime "runtime"

	"go.starlark.net/starlark"

	"tpsh/builtins/arg"
	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// whole returns t, or what a distributed tensor stands for: its ranks compare
// it together, and what that sends is not the script's.
func (c *comparison) whole(t *tensor.Tensor) (whole *tensor.Tensor, err error) {
	if !t.Placed() {
		return t, nil
	}
	err = c.env.Runtime.Quietly(func() (err error) {
		whole, err = c.env.Whole("assert", t)
		return err
	})
	return whole, err
}

// tensor compares a tensor with any value; swapped says that the value is the
// one that was got.
func (c *comparison) tensor(x *Tensor, v starlark.Value, swapped bool) error {
	t, err := x.Tensor()
	if err != nil {
		return err
	}
	if t, err = c.whole(t); err != nil {
		return err
	}
	var other *tensor.Tensor
	switch v := v.(type) {
	case *Tensor:
		if other, err = v.Tensor(); err != nil {
			return err
		}
		if other, err = c.whole(other); err != nil {
			return err
		}
	case starlark.Int, starlark.Float, starlark.Bool:
		if t.Hollow() && t.Numel() == 1 {
			return c.ordered(unknownOf(c.env, t.DType()), v, swapped)
		}
		if t.Numel() == 1 {
			return c.ordered(elementOf(t, t.Offset()), v, swapped)
		}
	case *starlark.List, starlark.Tuple:
		list, err := Nested(c.env, "assert", t)
		if err != nil {
			return err
		}
		return c.ordered(list, listsOf(v), swapped)
	}
	if other == nil {
		got, want := arg.Show(x), arg.Show(v)
		if swapped {
			got, want = want, got
		}
		c.form(got, want)
		return nil
	}
	if swapped {
		t, other = other, t
	}
	return c.tensors(t, other)
}

// tensors compares two tensors by shape and value.
func (c *comparison) tensors(got, want *tensor.Tensor) error {
	if !got.Shape().Equal(want.Shape()) {
		c.form(fmt.Sprintf("shape %v", got.Shape()), fmt.Sprintf("shape %v", want.Shape()))
		return nil
	}
	if got.Hollow() {
		c.unknown = true
		return nil
	}
	if got.DType().IsComplex() || want.DType().IsComplex() {
		return c.pairs(got, want)
	}
	floats := got.DType().IsFloat()
	if c.close == nil && floats != want.DType().IsFloat() {
		return c.asLists(got, want) // neither kind holds all numbers of the other
	}
	if c.close != nil || floats {
		return compareElements(c, got, want, dtype.Float64, func(x, y float64) bool {
			if c.close != nil {
				return c.close.holds(x, y)
			}
			return x == y || x != x && y != y
		})
	}
	return compareElements(c, got, want, dtype.Int64, func(x, y int64) bool { return x == y })
}

// pairs compares two tensors, of which one is complex, by their parts.
func (c *comparison) pairs(got, want *tensor.Tensor) error {
	chain := &OpChain{E: c.env, Fn: "assert"}
	both := make([]*tensor.Tensor, 2)
	for i, x := range []*tensor.Tensor{got, want} {
		dt := x.DType().Complex()
		if !x.DType().Differentiable() {
			dt = dtype.Complex128
		}
		both[i] = chain.Do("view_as_real", []*tensor.Tensor{chain.Do("to", []*tensor.Tensor{x.Detach()}, op.Int1(int(dt)))})
	}
	if chain.Err != nil {
		return chain.Err
	}
	return c.tensors(both[0], both[1])
}

// asLists compares two tensors as nested lists.
func (c *comparison) asLists(got, want *tensor.Tensor) error {
	g, err := Nested(c.env, "assert", got)
	if err != nil {
		return err
	}
	w, err := Nested(c.env, "assert", want)
	if err != nil {
		return err
	}
	return c.compare(g, w)
}

// compareElements compares the elements of two tensors of one shape, converted
// to dt, whose Go type is T.
func compareElements[T float64 | int64](c *comparison, got, want *tensor.Tensor, dt dtype.DType, same func(x, y T) bool) error {
	g, err := c.convert(got, dt)
	if err != nil {
		return err
	}
	w, err := c.convert(want, dt)
	if err != nil {
		return err
	}
	defer goruntime.KeepAlive(g)
	defer goruntime.KeepAlive(w)
	ys := tensor.Data[T](w)
	c.parts += len(ys)
	for i, x := range tensor.Data[T](g) {
		if same(x, ys[i]) {
			continue
		}
		c.differ++
		if c.first == nil {
			c.noteElement(got, want, i)
		}
	}
	return nil
}

// convert returns the elements of t, contiguous and of dtype dt.
func (c *comparison) convert(t *tensor.Tensor, dt dtype.DType) (*tensor.Tensor, error) {
	t, err := c.env.Runtime.Do("to", []*tensor.Tensor{t.Detach()}, op.Int1(int(dt)))
	if err != nil {
		return nil, err
	}
	return c.env.Runtime.Do("contiguous", []*tensor.Tensor{t})
}

// noteElement notes that element i of two tensors, counted row by row,
// differs.
func (c *comparison) noteElement(got, want *tensor.Tensor, i int) {
	if got.Ndim() > 0 {
		c.path = append(c.path, "["+joinInts(unravel(i, got.Shape()))+"]")
		defer func() { c.path = c.path[:len(c.path)-1] }()
	}
	x, y := elementAt(got, i), elementAt(want, i)
	c.note(difference{got: arg.Show(x), want: arg.Show(y), more: c.explain(x, y)})
}

// elementAt returns element i of t, counted row by row.
func elementAt(t *tensor.Tensor, i int) starlark.Value {
	at := t.Offset()
	for d, k := range unravel(i, t.Shape()) {
		at += k * t.Strides()[d]
	}
	return elementOf(t, at)
}

// A tolerance says which numbers are close.
type tolerance struct {
	rtol, atol float64
	nan        bool // a NaN is close to a NaN
}

// holds reports whether |x - y| <= atol + rtol |y|. An infinity is close to
// itself.
func (t *tolerance) holds(x, y float64) bool {
	if x == y || t.nan && x != x && y != y {
		return true
	}
	return !math.IsInf(y, 0) && math.Abs(x-y) <= t.allowed(y)
}

func (t *tolerance) allowed(y float64) float64 { return t.atol + float64(t.rtol*math.Abs(y)) }
