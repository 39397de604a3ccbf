package operator

import (
	"errors"
	"fmt"

	"go.starlark.net/starlark"
)

// A Slice is lo:hi:step among the elements of an index. A bound that is left out is
// None.
type Slice struct{ Lo, Hi, Step starlark.Value }

var _ starlark.Value = (*Slice)(nil)

func (s *Slice) String() string {
	text := part(s.Lo) + ":" + part(s.Hi)
	if s.Step != starlark.None {
		text += ":" + part(s.Step)
	}
	return text
}

// part returns a bound of a slice as it is written.
func part(v starlark.Value) string {
	if v == starlark.None {
		return ""
	}
	return v.String()
}

func (s *Slice) Type() string          { return "slice" }
func (s *Slice) Freeze()               {}
func (s *Slice) Truth() starlark.Bool  { return true }
func (s *Slice) Hash() (uint32, error) { return 0, errors.New("unhashable type: slice") }

// Bounds returns the slice of n elements as Python has it: start, start+step,
// ... are count indices of them.
func (s *Slice) Bounds(n int) (start, step, count int, err error) {
	step = 1
	if s.Step != starlark.None {
		if step, err = bound(s.Step, "step"); err != nil {
			return 0, 0, 0, err
		}
		if step == 0 {
			return 0, 0, 0, errors.New("got the step 0, want another")
		}
	}
	start, stop := 0, n
	least, most := 0, n
	if step < 0 {
		start, stop = n-1, -1
		least, most = -1, n-1
	}
	if start, err = s.clamp(s.Lo, start, n, least, most); err != nil {
		return 0, 0, 0, err
	}
	if stop, err = s.clamp(s.Hi, stop, n, least, most); err != nil {
		return 0, 0, 0, err
	}
	if step > 0 {
		count = (stop - start + step - 1) / step
	} else {
		count = (stop - start + step + 1) / step
	}
	return start, step, max(count, 0), nil
}

// clamp returns the index of v, or if it is None otherwise.
func (s *Slice) clamp(v starlark.Value, otherwise, n, least, most int) (int, error) {
	if v == starlark.None {
		return otherwise, nil
	}
	i, err := bound(v, "bound")
	if i < 0 && err == nil {
		i += n
	}
	return min(max(i, least), most), err
}

// bound returns an int that is a part of a slice.
func bound(v starlark.Value, what string) (int, error) {
	i, ok := v.(starlark.Int)
	if !ok {
		return 0, fmt.Errorf("got the %s %s of a slice, want an int", what, describe(v))
	}
	n, ok := i.Int64()
	if !ok {
		n = int64(i.Sign()) << 62
	}
	return int(n), nil
}

type ellipsis struct{}

// Ellipsis is the value of "...".
var Ellipsis starlark.Value = ellipsis{}

func (ellipsis) String() string        { return "..." }
func (ellipsis) Type() string          { return "ellipsis" }
func (ellipsis) Freeze()               {}
func (ellipsis) Truth() starlark.Bool  { return true }
func (ellipsis) Hash() (uint32, error) { return 8291, nil }

func newSlice(_ string, _ *starlark.Thread, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	return &Slice{args[0], args[1], args[2]}, nil
}

// setSlice is x[lo:hi:step] = v, of arguments v, x, lo, hi and step.
func setSlice(fn string, t *starlark.Thread, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	v, s := args[0], &Slice{args[2], args[3], args[4]}
	switch x := args[1].(type) {
	case *starlark.List:
		if err := room(t, elementsOf(x)+elementsOf(v), elementSize); err != nil {
			return nil, err
		}
		return starlark.None, setListSlice(fn, x, s, v)
	case *starlark.Dict:
	case starlark.HasSetKey:
		return starlark.None, x.SetKey(s, v)
	}
	return nil, errorf(fn, "got %s, want a list or a tensor", describe(args[1]))
}

// sliced is x, or of a list what reads and sets its slices by an index, as x[:1] is set in
// a, x[:1] = 0, [1] and in a = x[:1] = [1].
func sliced(fn string, t *starlark.Thread, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	if x, ok := args[0].(*starlark.List); ok {
		return &slicedList{x, fn, t}, nil
	}
	return args[0], nil
}

// A slicedList is a list whose indices are slices.
type slicedList struct {
	*starlark.List
	fn     string
	thread *starlark.Thread
}

var _ starlark.HasSetKey = (*slicedList)(nil)

// Get returns the elements of the slice k.
func (l *slicedList) Get(k starlark.Value) (v starlark.Value, found bool, err error) {
	start, step, count, err := k.(*Slice).Bounds(l.Len())
	if err != nil {
		return nil, false, errorf(l.fn, "%v", err)
	}
	if err := room(l.thread, uint(count), elementSize); err != nil {
		return nil, false, err
	}
	elems := make([]starlark.Value, count)
	for i := range elems {
		elems[i] = l.Index(start + i*step)
	}
	return starlark.NewList(elems), true, nil
}

// SetKey sets the slice k to the elements of v.
func (l *slicedList) SetKey(k, v starlark.Value) error {
	if err := room(l.thread, elementsOf(l.List)+elementsOf(v), elementSize); err != nil {
		return err
	}
	return setListSlice(l.fn, l.List, k.(*Slice), v)
}

func setListSlice(fn string, x *starlark.List, s *Slice, v starlark.Value) error {
	start, step, count, err := s.Bounds(x.Len())
	if err != nil {
		return errorf(fn, "%v", err)
	}
	iterable, ok := v.(starlark.Iterable)
	if !ok {
		return errorf(fn, "got %s, want a list of the new elements (x[i] = v sets one)", describe(v))
	}
	elems := collect(iterable)
	if step != 1 && len(elems) != count {
		return errorf(fn, "got %d elements, want %d (as many as the slice %s has)", len(elems), count, s)
	}
	if step != 1 {
		for i, e := range elems {
			if err := x.SetIndex(start+i*step, e); err != nil {
				return err
			}
		}
		return nil
	}
	all := collect(x)
	tail := append([]starlark.Value(nil), all[start+count:]...)
	all = append(append(all[:start], elems...), tail...)
	if err := x.Clear(); err != nil {
		return err
	}
	for _, e := range all {
		if err := x.Append(e); err != nil {
			return err
		}
	}
	return nil
}

func collect(x starlark.Iterable) []starlark.Value {
	var list []starlark.Value
	for v := range starlark.Elements(x) {
		list = append(list, v)
	}
	return list
}
