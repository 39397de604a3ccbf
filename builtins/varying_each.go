package builtins

import (
	"fmt"
	"reflect"
	"slices"

	"go.starlark.net/starlark"

	"tpsh/runtime"
)

// Functions of what varies: lift, and what it computes for each rank.

// A variant is a value that may differ among ranks: own is that of the rank that runs. on
// returns that of any rank; it is nil of a value that does not differ.
type variant struct {
	own   starlark.Value
	on    func(rank int) (starlark.Value, error)
	depth int
}

// at returns the value of a rank.
func (x *variant) at(rank int) (starlark.Value, error) {
	if x.on == nil {
		return x.own, nil
	}
	return x.on(rank)
}

// maxNested is how deep lists are in each other of which something within varies.
const maxNested = 4

// variantOf returns v as a variant: of a list, a tuple or a dict in which anything varies, each rank
// is given a copy. It is not ok if what varies lies in a value of another type, or too deep.
func variantOf(v starlark.Value) (variant, bool) { return variantWithin(v, 0) }

func variantWithin(v starlark.Value, deep int) (variant, bool) {
	switch v := v.(type) {
	case *Varying:
		if v.settled {
			return variant{own: v.own}, true
		}
		return variant{v.own, v.on, v.depth}, true
	case *varyingRange:
		return variant{v.own, v.on, maxDepth}, true
	}
	if !varies(v) {
		return variant{own: v}, true
	}
	var items, keys []starlark.Value
	switch v := v.(type) {
	case *starlark.List:
		items = slices.Collect(v.Elements())
	case starlark.Tuple:
		items = v
	case *starlark.Dict:
		for _, item := range v.Items() {
			keys, items = append(keys, item[0]), append(items, item[1])
		}
	default:
		return variant{}, false
	}
	if deep == maxNested {
		return variant{}, false
	}
	parts := make([]variant, len(items))
	for i, item := range items {
		var ok bool
		if parts[i], ok = variantWithin(item, deep+1); !ok {
			return variant{}, false
		}
	}
	copied := func(value func(x *variant) (starlark.Value, error)) (starlark.Value, error) {
		list := make([]starlark.Value, len(parts))
		for i := range parts {
			var err error
			if list[i], err = value(&parts[i]); err != nil {
				return nil, err
			}
		}
		switch v.(type) {
		case starlark.Tuple:
			return starlark.Tuple(list), nil
		case *starlark.Dict:
			d := starlark.NewDict(len(list))
			for i, key := range keys {
				d.SetKey(key, list[i])
			}
			return d, nil
		}
		return starlark.NewList(list), nil
	}
	own, _ := copied(func(x *variant) (starlark.Value, error) { return x.own, nil })
	return variant{own, func(rank int) (starlark.Value, error) {
		return copied(func(x *variant) (starlark.Value, error) { return x.at(rank) })
	}, maxDepth}, true
}

// Each returns v as each rank has it that the rank runs for, nil if it does not vary. Otherwise v is settled.
func Each(e *Env, v starlark.Value) (own starlark.Value, on func(rank int) (starlark.Value, error)) {
	if !e.varied || !varies(v) {
		return v, nil
	}
	if x, ok := variantOf(v); ok {
		return x.own, x.on
	}
	return settled(v), nil
}

// EachOf returns v as each rank has it that the rank runs for. It is not ok if that cannot be said of v.
func EachOf(e *Env, v starlark.Value) (on func(rank int) (starlark.Value, error), ok bool) {
	x, ok := variant{own: v}, true
	if e.varied {
		x, ok = variantOf(v)
	}
	return x.at, ok
}

// simple reports whether v is a scalar that may vary, a tuple of such, or a list, a dict or a range of
// such.
func simple(v starlark.Value) bool {
	switch v := v.(type) {
	case *starlark.List:
		return all(v, fixed)
	case *starlark.Dict:
		return !slices.ContainsFunc(v.Items(), func(item starlark.Tuple) bool { return !fixed(item[1]) })
	}
	return v.Type() == "range" || fixed(v)
}

// fixed reports whether v is a scalar that may vary, or a tuple of such.
func fixed(v starlark.Value) bool {
	if t, ok := v.(starlark.Tuple); ok {
		return all(t, fixed)
	}
	return isVarying(v) || scalar(v)
}

// flat reports whether a copy of v copies no list or dict that lies within v and varies: the program
// may change such a one later, and the copy would not change with it.
func flat(v starlark.Value) bool {
	switch v := v.(type) {
	case *starlark.List:
		return all(v, func(x starlark.Value) bool { return fixed(x) || !varies(x) })
	case starlark.Tuple:
		return all(v, func(x starlark.Value) bool { return fixed(x) || !varies(x) })
	}
	return !varies(v) || isVarying(v) || v.Type() == "range"
}

// all reports whether f is so of all elements of list.
func all(list starlark.Indexable, f func(v starlark.Value) bool) bool {
	for i := range list.Len() {
		if !f(list.Index(i)) {
			return false
		}
	}
	return true
}

// lift returns f of args, of which some may vary, for each rank. f is a pure function; it is
// safe if it fails for no rank unless for all, and gives one type, whatever scalars it is given of the
// types of args. It is then computed for others when something hangs on it. Else, or if its result is no
// scalar, it is computed for all at once: see eachRank.
func lift(e *Env, f func(args []starlark.Value) (starlark.Value, error), safe bool, args ...starlark.Value) (starlark.Value, error) {
	list, owns, depth, some := make([]variant, len(args)), make([]starlark.Value, len(args)), 0, false
	for i, a := range args {
		x, ok := variantOf(a)
		if !ok {
			x = variant{own: settled(a)}
		}
		list[i], owns[i] = x, x.own
		depth, some, safe = max(depth, x.depth), some || x.on != nil, safe && scalar(x.own)
	}
	own, err := f(owns)
	if !some {
		return own, err
	}
	if err == nil && !scalar(own) && slices.ContainsFunc(args, func(v starlark.Value) bool { return !flat(v) }) {
		for i, a := range args {
			owns[i] = settled(a)
		}
		return f(owns)
	}
	on := func(rank int) (starlark.Value, error) {
		given := make([]starlark.Value, len(list))
		for i := range list {
			var err error
			if given[i], err = list[i].at(rank); err != nil {
				return nil, err
			}
		}
		return f(given)
	}
	if !safe || err != nil || !scalar(own) {
		return eachRank(e, on, true)
	}
	y := &Varying{env: e, own: own, on: on, depth: depth + 1}
	if y.depth > maxDepth {
		y.flatten()
	}
	return y, nil
}

// eachRank returns f(rank) for the rank that runs, as a value that varies. It computes f for every
// rank that this one runs for: those for which f fails, or returns a value of another form (see
// appendForm), are told apart. With fresh a list that f returns is a new one, whose elements may
// vary; otherwise a list has the form of no other.
func eachRank(e *Env, f func(rank int) (starlark.Value, error), fresh bool) (starlark.Value, error) {
	type outcome struct {
		v   starlark.Value
		err error
	}
	known := map[int]outcome{}
	get := func(rank int) outcome {
		x, ok := known[rank]
		if !ok {
			x.v, x.err = f(rank)
			known[rank] = x
		}
		return x
	}
	runtime.Asked(e.Runtime, func(rank int) string {
		x := get(rank)
		if x.err != nil {
			return "! " + x.err.Error()
		}
		return string(appendForm(nil, x.v, fresh))
	})
	if x := get(e.Runtime.Self()); x.err != nil {
		return nil, x.err
	}
	ranks := e.Runtime.RunsFor()
	values := make([]starlark.Value, len(ranks))
	for i, rank := range ranks {
		values[i] = get(rank).v
	}
	return merged(e, ranks, values, fresh), nil
}

// appendForm appends what values share that differ in nothing but scalars of one type.
func appendForm(text []byte, v starlark.Value, fresh bool) []byte {
	switch v := v.(type) {
	case starlark.Int:
		return append(text, 'i')
	case starlark.Float:
		return append(text, 'f')
	case starlark.Bool:
		return append(text, 'b')
	case starlark.String:
		return append(text, 's')
	case starlark.NoneType:
		return append(text, 'n')
	case *Unknown:
		return append(text, "?"+v.kind[:1]...)
	case *Tensor:
		if plain := plainForm(v); plain != "" {
			return append(text, plain...)
		}
	case starlark.Tuple:
		text = append(text, '(')
		for _, x := range v {
			text = appendForm(text, x, false)
		}
		return append(text, ')')
	case *starlark.List:
		if fresh {
			text = append(text, '[')
			for x := range v.Elements() {
				text = appendForm(text, x, false)
			}
			return append(text, ']')
		}
	}
	if r := reflect.ValueOf(v); r.Kind() == reflect.Pointer {
		return fmt.Appendf(text, "<%x>", r.Pointer())
	}
	return fmt.Appendf(text, "<%T %v>", v, v)
}

// merged returns values of ranks, all of one form, as one value in which scalars vary. The first of ranks is the
// one that runs. Where it does again what others did, too, a scalar varies that may have varied among them: it is
// observed as it was.
func merged(e *Env, ranks []int, values []starlark.Value, fresh bool) starlark.Value {
	own := values[0]
	parts := func(list starlark.Indexable) []starlark.Value {
		out, column := make([]starlark.Value, list.Len()), make([]starlark.Value, len(values))
		for i := range out {
			for k, v := range values {
				column[k] = v.(starlark.Indexable).Index(i)
			}
			out[i] = merged(e, ranks, column, false)
		}
		return out
	}
	switch v := own.(type) {
	case starlark.Tuple:
		return starlark.Tuple(parts(v))
	case *starlark.List:
		if fresh {
			return starlark.NewList(parts(v))
		}
	}
	if !scalar(own) || !e.Runtime.Repeats() && !slices.ContainsFunc(values, func(v starlark.Value) bool { return !sameScalar(own, v) }) {
		return own
	}
	list := slices.Clone(values)
	return &Varying{env: e, own: own, on: func(rank int) (starlark.Value, error) {
		i, _ := slices.BinarySearch(ranks, rank)
		return list[i], nil
	}}
}

// sameScalar reports whether two scalars of one type are the same.
func sameScalar(a, b starlark.Value) bool {
	switch a := a.(type) {
	case starlark.Int:
		same, err := starlark.Equal(a, b)
		return err == nil && same
	case starlark.String:
		return a == b
	}
	return told(a, nil) == told(b, nil)
}

// plainForm returns a text that plain tensors share if they are alike but for where in their
// storage, which is one, they begin; "" of a tensor that is not plain.
func plainForm(x *Tensor) string {
	t, err := x.Tensor()
	if err != nil || x.Lens != nil || t.Placed() || t.Auto != nil || t.Buffer() == nil {
		return ""
	}
	return fmt.Sprintf("<%p %v %v %v>", t.Buffer(), t.DType(), t.Shape(), t.Strides())
}
