package builtins

import (
	"fmt"
	"slices"

	"go.starlark.net/starlark"

	"tpsh/lang/operator"
	"tpsh/runtime"
	"tpsh/runtime/shape"
)

// Which elements of a plain tensor x[y] takes makes no difference to a plan, but how many: where
// an index varies, ranks are told apart by that alone.

// observeTaken tells apart the ranks for which x[y] has another shape, or fails. It reports
// whether it has: y is of numbers, slices, None and ..., of which one varies, and x is plain.
func (x *Tensor) observeTaken(y starlark.Value) bool {
	if !varies(y) || !counting(y) {
		return false
	}
	t, err := x.Tensor()
	if err != nil || t.Placed() {
		return false
	}
	s := t.Shape()
	runtime.Asked(x.Env.Runtime, func(rank int) string {
		text, err := takenText(itemsOf(withValues(y, func(v *Varying) starlark.Value { return v.at(rank) })), s)
		if err != nil {
			return "! " + err.Error()
		}
		return text
	})
	return true
}

// counting reports whether y, of x[y], is made of ints, slices of them, None and ... alone.
func counting(y starlark.Value) bool {
	switch y := y.(type) {
	case starlark.Int, starlark.NoneType:
		return true
	case *Varying:
		return y.Type() == "int"
	case *operator.Slice:
		return counting(y.Lo) && counting(y.Hi) && counting(y.Step)
	case starlark.Tuple:
		return !slices.ContainsFunc(y, func(item starlark.Value) bool { return !counting(item) })
	}
	return y == operator.Ellipsis
}

// withValues returns y, for which counting holds, with value(v) in place of each v in it that varies.
func withValues(y starlark.Value, value func(v *Varying) starlark.Value) starlark.Value {
	switch y := y.(type) {
	case *Varying:
		return value(y)
	case *operator.Slice:
		return &operator.Slice{Lo: withValues(y.Lo, value), Hi: withValues(y.Hi, value), Step: withValues(y.Step, value)}
	case starlark.Tuple:
		list := make(starlark.Tuple, len(y))
		for i, item := range y {
			list[i] = withValues(item, value)
		}
		return list
	}
	return y
}

// ownOf returns the value of v of the rank that runs.
func ownOf(v *Varying) starlark.Value { return v.own }

// at returns the value of v of a rank; None if it has none.
func (v *Varying) at(rank int) starlark.Value {
	if v.settled {
		return v.own
	}
	x, err := v.on(rank)
	if err != nil {
		return starlark.None
	}
	return x
}

// itemsOf returns the elements of y, of x[y].
func itemsOf(y starlark.Value) starlark.Tuple {
	if items, ok := y.(starlark.Tuple); ok {
		return items
	}
	return starlark.Tuple{y}
}

// takenText returns a text that indices of a tensor of shape s share which take as many elements of each
// dim, at the same distances.
func takenText(items starlark.Tuple, s shape.Shape) (string, error) {
	text, dim := "", 0
	for i, item := range items {
		if item == starlark.None {
			text += " new"
			continue
		}
		if item == operator.Ellipsis {
			text += " ..."
			rest, err := countDims(items[i+1:])
			if err != nil {
				return "", err
			}
			dim = max(dim, len(s)-rest)
			continue
		}
		if dim >= len(s) {
			return "", fmt.Errorf("more than %d indices", len(s))
		}
		size := s[dim]
		dim++
		if by, ok := item.(*operator.Slice); ok {
			_, step, count, err := by.Bounds(size)
			if err != nil {
				return "", err
			}
			text += fmt.Sprintf(" %d by %d", count, step)
			continue
		}
		n, err := starlark.AsInt32(item)
		if err != nil || n < -size || n >= size {
			return "", fmt.Errorf("%v is none of %d", item, size)
		}
		text += " one"
	}
	return text, nil
}

// sliceIn returns x[by].
func sliceIn(e *Env, x starlark.Value, by *operator.Slice) (starlark.Value, error) {
	if t, ok := x.(*Tensor); ok && t.observeTaken(by) {
		return sliceOf(x, withValues(by, ownOf).(*operator.Slice))
	}
	if r, ok := x.(*varyingRange); ok {
		return sliceOf(r, settled(by).(*operator.Slice))
	}
	if e.varied && (varies(x) || varies(by)) {
		if y, ok, err := sliceEach(e, x, by); ok {
			return y, err
		}
	}
	return sliceOf(settled(x), settled(by).(*operator.Slice))
}

// sliceEach returns x[by] of a list, a tuple or a text, of which the elements may vary. It is not
// ok if x is anything else.
func sliceEach(e *Env, x starlark.Value, by *operator.Slice) (y starlark.Value, ok bool, err error) {
	switch x.(type) {
	case *starlark.List, starlark.Tuple:
		if !varies(by) { // which elements there are does not vary
			y, err = sliceOf(x, by)
			return y, true, err
		}
	case starlark.String, *Varying:
	default:
		return nil, false, nil
	}
	list, ok := variantOf(x)
	bounds, fine := variantOf(starlark.Tuple{by.Lo, by.Hi, by.Step})
	if !ok || !fine || !flat(x) {
		return nil, false, nil
	}
	y, err = eachRank(e, func(rank int) (starlark.Value, error) {
		from, err := list.at(rank)
		if err != nil {
			return nil, err
		}
		b, err := bounds.at(rank)
		if err != nil {
			return nil, err
		}
		t := b.(starlark.Tuple)
		return sliceOf(from, &operator.Slice{Lo: t[0], Hi: t[1], Step: t[2]})
	}, true)
	return y, true, err
}

// sliceOf returns x[by], as the interpreter does.
func sliceOf(x starlark.Value, by *operator.Slice) (starlark.Value, error) {
	list, ok := x.(starlark.Sliceable)
	if !ok {
		return nil, fmt.Errorf("invalid slice operand %s", x.Type())
	}
	step := 1
	if by.Step != starlark.None {
		var err error
		if step, err = starlark.AsInt32(by.Step); err != nil {
			return nil, fmt.Errorf("invalid slice step: %s", err)
		}
		if step == 0 {
			return nil, fmt.Errorf("zero is not a valid slice step")
		}
	}
	n := list.Len()
	start, end, least, most := 0, n, 0, n
	if step < 0 {
		start, end, least, most = n-1, -1, -1, n-1
	}
	bounds := []struct {
		name  string
		given starlark.Value
		at    *int
	}{{"start", by.Lo, &start}, {"end", by.Hi, &end}}
	for _, b := range bounds {
		if b.given == starlark.None {
			continue
		}
		i, err := starlark.AsInt32(b.given)
		if err != nil {
			return nil, fmt.Errorf("invalid %s index: %s", b.name, err)
		}
		if i < 0 {
			i += n
		}
		*b.at = min(max(i, least), most)
	}
	if (end-start)*step < 0 {
		end = start
	}
	return list.Slice(start, end, step), nil
}
