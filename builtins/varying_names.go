package builtins

import (
	"fmt"
	"regexp"
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
	lifted = []string{"abs", "all", "any", "bool", "chr", "divmod", "float", "int", "max", "min", "ord", "repr", "round", "sorted", "str", "sum", "fmt", "hash"}
	// safe are those of them that fail for no number or text unless for all, and of which the results are
	// of one type.
	safe = map[string]bool{"abs": true, "bool": true, "repr": true, "str": true, "hash": true, "%": true, "f-string": true, "format": true}
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
	if f, ok := names["len"].(*starlark.Builtin); ok {
		names["len"] = lengthFunction(e, f)
	}
	names["range"] = rangeFunction(e, starlark.Universe["range"].(*starlark.Builtin))
	names[indexName] = starlark.NewBuiltin(indexName, func(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
		return indexIn(e, args[0], args[1])
	})
	names[sliceName] = starlark.NewBuiltin(sliceName, func(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
		return sliceIn(e, args[0], &operator.Slice{Lo: args[1], Hi: args[2], Step: args[3]})
	})
	names[boundName] = starlark.NewBuiltin(boundName, func(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
		if len(args) > 1 {
			if _, ok := args[1].(*Tensor); ok { // which knows better
				return args[0], nil
			}
		}
		return settled(args[0]), nil
	})
	if !e.Options.Settled {
		names[keptName] = starlark.NewBuiltin(keptName, func(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
			return keptOf(e, args[0].(*starlark.List))
		})
	}
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

// withVaryingText makes the notations of text, and of slices that are set, among names take what varies.
func withVaryingText(e *Env, names starlark.StringDict) {
	for name, v := range operator.Library {
		if f, ok := v.(*starlark.Builtin); ok && f.Name() == "x[a:b] = v" {
			names[name] = setSliceFunction(f)
		}
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
			switch v := a.(type) {
			case *Varying:
				own[i] = v.own
			case *varyingRange:
				own[i] = v.own
			}
		}
		return starlark.Call(thread, f, own, kwargs)
	})
}

// lengthFunction returns f, of which the length of a text may vary.
func lengthFunction(e *Env, f *starlark.Builtin) *starlark.Builtin {
	lifted := liftedFunction(e, f)
	return starlark.NewBuiltin(f.Name(), func(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		if len(args) == 1 && isVarying(args[0]) {
			return starlark.Call(thread, lifted, args, kwargs)
		}
		return starlark.Call(thread, f, args, kwargs)
	})
}

// setSliceFunction returns f, which sets a part of a tensor or a list. Tensors know better than
// to be told bounds.
func setSliceFunction(f *starlark.Builtin) *starlark.Builtin {
	return starlark.NewBuiltin(f.Name(), func(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		if _, ok := args[1].(*Tensor); !ok {
			for i := 2; i < len(args); i++ {
				args[i] = settled(args[i])
			}
		}
		return starlark.Call(thread, f, args, kwargs)
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

// liftedFunction returns f, a pure function, whose result varies as its arguments do.
func liftedFunction(e *Env, f *starlark.Builtin) *starlark.Builtin {
	return starlark.NewBuiltin(f.Name(), func(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		if !e.varied {
			return starlark.Call(thread, f, args, kwargs)
		}
		given := make([]starlark.Value, 0, len(args)+len(kwargs))
		spread := false
		for i, a := range args {
			if t, ok := a.(starlark.Tuple); ok && i == 1 && len(args) == 2 && f.Name() == "%" { // the values of a format
				spread = true
				given = append(given, t...)
				continue
			}
			given = append(given, a)
		}
		for _, kw := range kwargs {
			given = append(given, kw[1])
		}
		if slices.ContainsFunc(given, func(v starlark.Value) bool { return !simple(v) }) {
			args, kwargs = settledArgs(e, args, kwargs)
			return starlark.Call(thread, f, args, kwargs)
		}
		return lift(e, func(list []starlark.Value) (starlark.Value, error) {
			if spread {
				return starlark.Call(thread, f, starlark.Tuple{list[0], starlark.Tuple(list[1:])}, nil)
			}
			var named []starlark.Tuple
			for i, kw := range kwargs {
				named = append(named, starlark.Tuple{kw[0], list[len(args)+i]})
			}
			return starlark.Call(thread, f, starlark.Tuple(list[:len(args)]), named)
		}, safe[f.Name()] && !slices.ContainsFunc(given, isCharacter), given...)
	})
}

// characters are formats of a character, of which there is none for some numbers.
var characters = regexp.MustCompile(`%[^a-zA-Z]*c|c}|c$`)

// isCharacter reports whether v may be one of characters.
func isCharacter(v starlark.Value) bool {
	s, ok := v.(starlark.String)
	return ok && characters.MatchString(string(s))
}

// indexName, sliceName, boundName and keptName are the functions that stand for x[y], x[a:b], the
// bounds of x[a:b] = y and [x for y in z if a], where a rank runs for others: lang.IndexFunction and
// the others beside it.
const (
	indexName = "<index>"
	sliceName = "<slice>"
	boundName = "<bound>"
	keptName  = "<kept>"
)

// indexIn returns x[y].
func indexIn(e *Env, x, y starlark.Value) (starlark.Value, error) {
	if t, ok := x.(*Tensor); ok && t.observeTaken(y) {
		y = ofRank(y, ownOf)
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
		n, err := i.of(rank)
		if err != nil {
			return nil, err
		}
		x, err := at(list, n)
		return valueOn(x, rank, err)
	}, false)
	return v, true, err
}

func isVarying(v starlark.Value) bool {
	_, ok := v.(*Varying)
	return ok
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
				x, err := c.of(rank)
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
