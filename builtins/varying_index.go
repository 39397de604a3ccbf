package builtins

import (
	"fmt"
	"slices"

	"go.starlark.net/starlark"
)

// What x[y] is, and which elements a comprehension keeps, where x or y varies.

// indexIn returns x[y].
func indexIn(e *Env, x, y starlark.Value) (starlark.Value, error) {
	if t, ok := x.(*Tensor); ok && t.observeTaken(y) {
		y = withValues(y, ownOf)
	} else if v, ok := y.(*Varying); ok && v.Type() == "int" {
		if list, ok := x.(starlark.Indexable); ok {
			if one, ok, err := pick(e, list, v); ok {
				return one, err
			}
		}
	}
	if d, ok := x.(*starlark.Dict); ok && e.varied && varies(y) {
		if key, ok := variantOf(y); ok {
			return lookUp(e, d, key)
		}
	}
	y = settled(y)
	switch x := x.(type) {
	case starlark.Mapping:
		return entryOf(x, y)
	case starlark.Indexable:
		return at(x, y)
	case *Varying:
		return lift(e, func(a []starlark.Value) (starlark.Value, error) { return indexIn(e, a[0], a[1]) }, false, x, y)
	}
	return nil, fmt.Errorf("unhandled index operation %s[%s]", x.Type(), y.Type())
}

// entryOf returns x[y] of a dict or what else has keys.
func entryOf(x starlark.Mapping, y starlark.Value) (starlark.Value, error) {
	v, found, err := x.Get(y)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, fmt.Errorf("key %v not in %s", y, x.Type())
	}
	return v, nil
}

// lookUp returns d[key] for each rank.
func lookUp(e *Env, d *starlark.Dict, key variant) (starlark.Value, error) {
	return eachRank(e, func(rank int) (starlark.Value, error) {
		y, err := key.at(rank)
		if err != nil {
			return nil, err
		}
		v, err := entryOf(d, y)
		return valueOn(v, rank, err)
	}, false)
}

// amongInts returns whether x, an int that varies, is in y, a list, a tuple, a range or the keys of a dict, if all
// of these are ints: each rank's place in it is looked up when something hangs on it.
func amongInts(e *Env, name string, x, y starlark.Value) (v starlark.Value, ok bool) {
	if !isVarying(x) || x.Type() != "int" || name != "in" && name != "not in" {
		return nil, false
	}
	switch y.(type) {
	case *starlark.List, starlark.Tuple, *starlark.Dict:
	default:
		if _, varies := y.(*varyingRange); varies || y.Type() != "range" {
			return nil, false
		}
	}
	ints := map[int]bool{}
	for item := range starlark.Elements(y.(starlark.Iterable)) {
		n, err := starlark.AsInt32(item)
		if err != nil {
			return nil, false
		}
		ints[n] = true
	}
	v, err := lift(e, func(a []starlark.Value) (starlark.Value, error) {
		n, err := starlark.AsInt32(a[0])
		return starlark.Bool((err == nil && ints[n]) == (name == "in")), nil
	}, true, x)
	return v, err == nil
}

// finding returns a method that looks something up: of a dict, a list or a text for each rank, if what
// is looked up varies, or an element of the list.
func finding(e *Env, method starlark.Value) starlark.Value {
	f, ok := method.(*starlark.Builtin)
	if !ok {
		return method
	}
	return starlark.NewBuiltin(f.Name(), func(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		from, ok := variant{own: f.Receiver()}, true
		switch x := f.Receiver().(type) {
		case *starlark.Dict, starlark.String:
		case *starlark.List:
			from, ok = variantOf(x)
		default:
			ok = false
		}
		given, fine := variantOf(args)
		if !e.varied || ok && fine && from.on == nil && given.on == nil {
			return starlark.Call(thread, f, args, kwargs)
		}
		if !ok || !fine || len(kwargs) > 0 {
			args, kwargs = settledArgs(e, args, kwargs)
			return starlark.Call(thread, f, args, kwargs)
		}
		return eachRank(e, func(rank int) (starlark.Value, error) {
			x, err := from.at(rank)
			if err != nil {
				return nil, err
			}
			args, err := given.at(rank)
			if err != nil {
				return nil, err
			}
			find, err := x.(starlark.HasAttrs).Attr(f.Name())
			if err != nil {
				return nil, err
			}
			v, err := starlark.Call(thread, find, args.(starlark.Tuple), nil)
			return valueOn(v, rank, err)
		}, false)
	})
}

// valueOn returns v, or of a scalar or a tuple that varies what a rank has.
func valueOn(v starlark.Value, rank int, err error) (starlark.Value, error) {
	if err != nil || !varies(v) {
		return v, err
	}
	switch v.(type) {
	case *Varying, starlark.Tuple:
		if x, ok := variantOf(v); ok && flat(v) {
			return x.at(rank)
		}
	}
	return v, nil
}

// at returns element y of x, as the interpreter does.
func at(x starlark.Indexable, y starlark.Value) (starlark.Value, error) {
	n := x.Len()
	i, err := starlark.AsInt32(y)
	if err != nil {
		return nil, fmt.Errorf("%s index: %s", x.Type(), err)
	}
	if i < 0 {
		i += n
	}
	if i < 0 || i >= n {
		return nil, fmt.Errorf("%s index %d out of range [%d:%d]", x.Type(), y, -n, n-1)
	}
	return x.Index(i), nil
}

// pick returns the element of list at i. It is not ok if list is none that a program can make.
func pick(e *Env, list starlark.Indexable, i *Varying) (v starlark.Value, ok bool, err error) {
	switch list.(type) {
	case *starlark.List, starlark.Tuple, starlark.String:
	default:
		if list.Type() != "range" {
			return nil, false, nil
		}
	}
	v, err = eachRank(e, func(rank int) (starlark.Value, error) {
		n, err := i.on(rank)
		if err != nil {
			return nil, err
		}
		x, err := at(list, n)
		return valueOn(x, rank, err)
	}, false)
	return v, true, err
}

// keptOf returns the first element of each tuple in list of which all others are true.
func keptOf(e *Env, list *starlark.List) (starlark.Value, error) {
	var values []starlark.Value
	var conditions [][]*Varying // of values
	some := false
next:
	for item := range list.Elements() {
		item := item.(starlark.Tuple)
		var open []*Varying
		for _, c := range item[1:] {
			if v, ok := c.(*Varying); ok && !v.settled && !v.decided {
				open = append(open, v)
				continue
			}
			if isUnknown(c) && slices.ContainsFunc(open, func(v *Varying) bool { return !bool(v.Truth()) }) || !bool(c.Truth()) {
				continue next
			}
		}
		values, conditions, some = append(values, item[0]), append(conditions, open), some || open != nil
	}
	if !some {
		return starlark.NewList(values), nil
	}
	return eachRank(e, func(rank int) (starlark.Value, error) {
		var kept []starlark.Value
	next:
		for i, v := range values {
			for _, c := range conditions[i] {
				x, err := c.on(rank)
				if err != nil {
					return nil, err
				}
				if !x.Truth() {
					continue next
				}
			}
			x, err := valueOn(v, rank, nil)
			if err != nil {
				return nil, err
			}
			kept = append(kept, x)
		}
		return starlark.NewList(kept), nil
	}, true)
}
