package builtins

import (
	"fmt"
	"slices"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"

	"tpsh/lang/operator"
)

// What a program of a rank that runs for others finds under names: functions that
// tell the ranks apart by what they are given, unless they know better.

// How functions take what varies. All others are told what the rank has, be it an
// argument or an element of a list or dict that is one.
var (
	// lifted compute for each rank, and their results vary.
	lifted = []string{"abs", "bool", "chr", "divmod", "float", "int", "max", "min", "ord", "repr", "round", "str", "fmt", "hash"}
	// keeping are given anything and keep it as it is.
	keeping = map[string]bool{"print": true, "known": true, "list": true, "tuple": true, "zip": true, "reversed": true, "struct": true, "tensor": true, "dict": true, "type": true, "enumerate": true, "hasattr": true, "getattr": true, "len": true, "region": true, "checkpoint": true, "regather": true, "no_grad": true, "with_seed": true, "manual_seed": true, "autocast": true}
)

// withVarying makes functions take what varies. names are all that a program finds.
func withVarying(e *Env, names starlark.StringDict) {
	for name, v := range starlark.Universe {
		if _, ok := names[name]; !ok {
			if f, ok := v.(*starlark.Builtin); ok {
				names[name] = f
			}
		}
	}
	for name, v := range names {
		if f, ok := v.(*starlark.Builtin); ok && starlark.Universe[name] != nil && !keeping[name] {
			names[name] = settling(e, f)
		}
	}
	for _, name := range lifted {
		if f, ok := names[name].(*starlark.Builtin); ok {
			names[name] = liftedFunction(e, f)
		}
	}
	if f, ok := names["print"].(*starlark.Builtin); ok {
		names["print"] = showing(f)
	}
	names[indexName] = starlark.NewBuiltin(indexName, func(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
		return indexIn(e, args[0], args[1])
	})
	names[sliceName] = starlark.NewBuiltin(sliceName, func(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
		return sliceIn(e, args[0], &operator.Slice{Lo: args[1], Hi: args[2], Step: args[3]})
	})
	names[boundName] = starlark.NewBuiltin(boundName, func(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
		return settled(args[0]), nil
	})
	withVaryingText(e, names)
	if m, ok := names["math"].(*starlarkstruct.Module); ok {
		members := starlark.StringDict{}
		for name, v := range m.Members {
			if f, ok := v.(*starlark.Builtin); ok {
				v = liftedFunction(e, f)
			}
			members[name] = v
		}
		names["math"] = &starlarkstruct.Module{Name: m.Name, Members: members}
	}
}

// withVaryingText makes the notations of text among names take what varies.
func withVaryingText(e *Env, names starlark.StringDict) {
	for name, v := range operator.Library {
		if f, ok := v.(*starlark.Builtin); ok && slices.Contains([]string{"%", "f-string", "format"}, f.Name()) {
			names[name] = liftedFunction(e, f)
		}
	}
}

// showing returns f, which writes what the rank has, and tells nobody apart.
func showing(f *starlark.Builtin) *starlark.Builtin {
	return starlark.NewBuiltin(f.Name(), func(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		own := slices.Clone(args)
		for i, a := range own {
			if v, ok := a.(*Varying); ok {
				own[i] = v.own
			}
		}
		return starlark.Call(thread, f, own, kwargs)
	})
}

// settling returns f, which is given what the rank has.
func settling(e *Env, f *starlark.Builtin) *starlark.Builtin {
	return starlark.NewBuiltin(f.Name(), func(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		args, kwargs = settledArgs(e, args, kwargs)
		return starlark.Call(thread, f, args, kwargs)
	})
}

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
	case *Varying:
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

// liftedFunction returns f, a pure function, whose result varies as its arguments do.
// What varies within a list is settled.
func liftedFunction(e *Env, f *starlark.Builtin) *starlark.Builtin {
	return starlark.NewBuiltin(f.Name(), func(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		if !e.varied {
			return starlark.Call(thread, f, args, kwargs)
		}
		flat := make([]starlark.Value, 0, len(args)+len(kwargs))
		spread := -1
		for i, a := range args {
			if t, ok := a.(starlark.Tuple); ok && i == 1 && len(args) == 2 && f.Name() == "%" { // the values of a format
				spread = len(t)
				for _, x := range t {
					flat = append(flat, shallow(x))
				}
				continue
			}
			flat = append(flat, shallow(a))
		}
		for _, kw := range kwargs {
			flat = append(flat, shallow(kw[1]))
		}
		return lift(e, func(list []starlark.Value) (starlark.Value, error) {
			given := starlark.Tuple(list)
			if spread >= 0 {
				return starlark.Call(thread, f, starlark.Tuple{given[0], given[1:]}, nil)
			}
			var named []starlark.Tuple
			for i, kw := range kwargs {
				named = append(named, starlark.Tuple{kw[0], given[len(args)+i]})
			}
			return starlark.Call(thread, f, given[:len(args)], named)
		}, flat...)
	})
}

// shallow returns v, settled unless it is itself what varies.
func shallow(v starlark.Value) starlark.Value {
	if _, ok := v.(*Varying); ok {
		return v
	}
	return settled(v)
}

// indexName, sliceName and boundName are the functions that stand for x[y], x[a:b] and the
// bounds of x[a:b] = y, where a rank runs for others: lang.IndexFunction and the others beside it.
const (
	indexName = "<index>"
	sliceName = "<slice>"
	boundName = "<bound>"
)

// indexIn returns x[y].
func indexIn(e *Env, x, y starlark.Value) (starlark.Value, error) {
	if t, ok := x.(*Tensor); ok && t.observeTaken(y) {
		y = ofRank(y, ownOf)
	} else if v, ok := y.(*Varying); ok {
		if list, ok := x.(starlark.Indexable); ok && v.Type() == "int" {
			if one, ok := pick(e, list, v); ok {
				return one, nil
			}
		}
	}
	y = settled(y)
	switch x := x.(type) {
	case starlark.Mapping:
		v, found, err := x.Get(y)
		if err != nil {
			return nil, err
		}
		if !found {
			return nil, fmt.Errorf("key %v not in %s", y, x.Type())
		}
		return v, nil
	case starlark.Indexable:
		return at(x, y)
	case *Varying:
		return indexIn(e, x.settle(), y)
	}
	return nil, fmt.Errorf("unhandled index operation %s[%s]", x.Type(), y.Type())
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

// pick returns the element of list at i: what varies, if all elements are scalars, or
// that of the rank, if all are tensors of one kind that no gradient knows. It is not
// ok if they are anything else.
func pick(e *Env, list starlark.Indexable, i *Varying) (v starlark.Value, ok bool) {
	own, err := at(list, i.own)
	if err != nil {
		return nil, false
	}
	for k := range list.Len() {
		x := list.Index(k)
		if _, nested := x.(*Varying); !nested && !scalar(x) && !interchangeable(own, x) {
			return nil, false
		}
		if (scalar(own) || isVarying(own)) != (scalar(x) || isVarying(x)) {
			return nil, false
		}
	}
	if !scalar(own) && !isVarying(own) {
		return own, true
	}
	values := make([]starlark.Value, list.Len()) // the list may change
	for k := range values {
		values[k] = list.Index(k)
	}
	of := func(rank int) (starlark.Value, error) {
		n, err := i.of(rank)
		if err != nil {
			return nil, err
		}
		x, err := at(starlark.Tuple(values), n)
		if v, ok := x.(*Varying); ok {
			return v.of(rank)
		}
		return x, err
	}
	if v, ok := own.(*Varying); ok {
		own = v.own
	}
	y := &Varying{env: e, own: own, of: of, depth: i.depth + 1}
	y.flatten()
	return y, true
}

func isVarying(v starlark.Value) bool {
	_, ok := v.(*Varying)
	return ok
}

// interchangeable reports whether a and b are plain tensors of which nothing says
// which is which, but elements.
func interchangeable(a, b starlark.Value) bool {
	x, ok := a.(*Tensor)
	if !ok {
		return false
	}
	y, ok := b.(*Tensor)
	if !ok || x.Lens != nil || y.Lens != nil {
		return false
	}
	s, err := x.Tensor()
	if err != nil {
		return false
	}
	t, err := y.Tensor()
	if err != nil || s.Placed() || t.Placed() || s.Auto != nil || t.Auto != nil || s.Buffer() == nil || t.Buffer() == nil {
		return false
	}
	return s.DType() == t.DType() && s.Shape().Equal(t.Shape()) && slices.Equal(s.Strides(), t.Strides()) && s.Buffer() == t.Buffer()
}
