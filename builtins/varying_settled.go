package builtins

import (
	"slices"

	"go.starlark.net/starlark"

	"tpsh/lang/operator"
)

// What varies is settled where Go decides by it: the ranks are told apart, and what the rank has
// takes its place.

// settledArgs returns arguments with what the rank has for what varies, an observation.
func settledArgs(e *Env, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Tuple, []starlark.Tuple) {
	if !e.varied {
		return args, kwargs
	}
	args = settled(args).(starlark.Tuple)
	for i, kw := range kwargs {
		if varies(kw[1]) {
			kwargs = append(append(kwargs[:i:i], starlark.Tuple{kw[0], settled(kw[1])}), kwargs[i+1:]...)
		}
	}
	return args, kwargs
}

// settled returns v with what the rank has for what varies in it, an observation: v
// itself if nothing does. A list or dict stays the same one, which others may hold and
// change, but for one that is frozen or gone through.
func settled(v starlark.Value) starlark.Value {
	return settledWithin(v, map[starlark.Value]starlark.Value{})
}

// settledWithin is settled of a part of a value; done are the lists and dicts met so far,
// which may hold each other, and what has become of them.
func settledWithin(v starlark.Value, done map[starlark.Value]starlark.Value) starlark.Value {
	if !varies(v) {
		return v
	}
	switch v := v.(type) {
	case *Varying:
		return v.settle()
	case *varyingRange:
		return v.Settle()
	case *starlark.List:
		if done[v] != nil {
			return done[v]
		}
		list := v
		if v.SetIndex(0, v.Index(0)) != nil {
			list = starlark.NewList(slices.Collect(v.Elements()))
		}
		done[v] = list
		for i := range list.Len() {
			list.SetIndex(i, settledWithin(list.Index(i), done))
		}
		return list
	case starlark.Tuple:
		list := make(starlark.Tuple, len(v))
		for i := range list {
			list[i] = settledWithin(v[i], done)
		}
		return list
	case *operator.Slice:
		return &operator.Slice{Lo: settledWithin(v.Lo, done), Hi: settledWithin(v.Hi, done), Step: settledWithin(v.Step, done)}
	case *starlark.Dict:
		if done[v] != nil {
			return done[v]
		}
		d, items := v, v.Items()
		if v.SetKey(items[0][0], items[0][1]) != nil {
			d = starlark.NewDict(len(items))
		}
		done[v] = d
		for _, item := range items {
			d.SetKey(item[0], settledWithin(item[1], done))
		}
		return d
	}
	return v
}

// varies reports whether v varies, or an element of a list, tuple or dict does.
func varies(v starlark.Value) bool {
	var w walk
	return w.varies(v, 0)
}

// A walk goes through a value whose lists and dicts may hold each other.
type walk struct{ met map[starlark.Value]bool }

// again reports whether the walk has met v, a list or dict so deep in the value. One at
// its top is met again below.
func (w *walk) again(v starlark.Value, deep int) bool {
	if deep == 0 {
		return false
	}
	if w.met[v] {
		return true
	}
	if w.met == nil {
		w.met = map[starlark.Value]bool{}
	}
	w.met[v] = true
	return false
}

func (w *walk) varies(v starlark.Value, deep int) bool {
	switch v := v.(type) {
	case *Varying, *varyingRange:
		return true
	case *starlark.List:
		if w.again(v, deep) {
			return false
		}
		for i := range v.Len() {
			if w.varies(v.Index(i), deep+1) {
				return true
			}
		}
	case starlark.Tuple:
		for _, x := range v {
			if w.varies(x, deep) {
				return true
			}
		}
	case *operator.Slice:
		return w.varies(v.Lo, deep) || w.varies(v.Hi, deep) || w.varies(v.Step, deep)
	case *starlark.Dict:
		if w.again(v, deep) {
			return false
		}
		for _, item := range v.Items() {
			if w.varies(item[1], deep+1) {
				return true
			}
		}
	}
	return false
}

func isVarying(v starlark.Value) bool {
	_, ok := v.(*Varying)
	return ok
}
