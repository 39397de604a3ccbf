package operator

import (
	"go.starlark.net/starlark"
)

// spread is [*x, *y]: the elements of all its arguments, as a list.
func spread(_ string, t *starlark.Thread, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	all, err := joined(t, args)
	return starlark.NewList(all), err
}

// spreadTuple is (*x, *y): the elements of all its arguments, as a tuple.
func spreadTuple(_ string, t *starlark.Thread, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	all, err := joined(t, args)
	return starlark.Tuple(all), err
}

func joined(t *starlark.Thread, args starlark.Tuple) ([]starlark.Value, error) {
	n := uint(0)
	for _, x := range args {
		n += elementsOf(x)
	}
	if err := room(t, n, elementSize); err != nil {
		return nil, err
	}
	var all []starlark.Value
	for _, x := range args {
		elems, err := elements("*", x)
		if err != nil {
			return nil, err
		}
		all = append(all, elems...)
	}
	return all, nil
}

// maxElements bounds the elements that a * stands for, which no limit of steps interrupts.
const maxElements = 1 << 28

// elements returns the elements of a value.
func elements(fn string, x starlark.Value) ([]starlark.Value, error) {
	seq, ok := x.(starlark.Iterable)
	if !ok {
		return nil, errorf(fn, "got %s, want a list, a tuple or something else that has elements", describe(x))
	}
	if n := starlark.Len(x); n > maxElements {
		return nil, errorf(fn, "got %d elements, want at most %d", n, maxElements)
	}
	var all []starlark.Value
	for v := range starlark.Elements(seq) {
		all = append(all, v)
	}
	return all, nil
}

// joinDicts is {**x, **y}: of a key that several have, the last value counts.
func joinDicts(_ string, _ *starlark.Thread, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	return join(args, true)
}

// joinKeywords is f(**x, **y), where no key is in both.
func joinKeywords(_ string, _ *starlark.Thread, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	return join(args, false)
}

func join(args starlark.Tuple, again bool) (starlark.Value, error) {
	all := new(starlark.Dict)
	for _, x := range args {
		m, ok := x.(starlark.IterableMapping)
		if !ok {
			return nil, errorf("**", "got %s, want a dict", describe(x))
		}
		for _, kv := range m.Items() {
			if _, there, err := all.Get(kv[0]); err == nil && there && !again {
				return nil, errorf("**", "got the argument %s twice, want it once", kv[0])
			}
			if err := all.SetKey(kv[0], kv[1]); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// makeSet is {x, y}, of which it gets the list.
func makeSet(_ string, _ *starlark.Thread, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	set := new(starlark.Set)
	for v := range starlark.Elements(args[0].(starlark.Iterable)) {
		if err := set.Insert(v); err != nil {
			return nil, err
		}
	}
	return set, nil
}

// unpack gets x and how many names are before and behind the one with a * in
// a, *b, c = x, and returns as many values as there are names.
func unpack(_ string, _ *starlark.Thread, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	elems, err := elements("=", args[0])
	if err != nil {
		return nil, err
	}
	before, _ := starlark.AsInt32(args[1])
	behind, _ := starlark.AsInt32(args[2])
	if len(elems) < before+behind {
		noun := "values"
		if len(elems) == 1 {
			noun = "value"
		}
		return nil, errorf("=", "got %d %s, want %d or more (a name without a * takes one)", len(elems), noun, before+behind)
	}
	end := len(elems) - behind
	out := append(starlark.Tuple{}, elems[:before]...)
	out = append(out, starlark.NewList(append([]starlark.Value{}, elems[before:end]...)))
	return append(out, elems[end:]...), nil
}

// repeat is (x, x, ...), n times, for x = y = v.
func repeat(_ string, _ *starlark.Thread, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	n, _ := starlark.AsInt32(args[1])
	out := make(starlark.Tuple, n)
	for i := range out {
		out[i] = args[0]
	}
	return out, nil
}
