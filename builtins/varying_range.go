package builtins

import (
	"fmt"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"tpsh/runtime"
)

// A varyingRange is a range of as many numbers on all the ranks that the rank runs for,
// which are others.
type varyingRange struct {
	env         *Env
	own         starlark.Value                         // of the rank that runs
	on          func(rank int) (starlark.Value, error) // of any rank
	start, step starlark.Value                         // ints that may vary
}

var (
	_ starlark.Indexable  = (*varyingRange)(nil)
	_ starlark.Sliceable  = (*varyingRange)(nil)
	_ starlark.Comparable = (*varyingRange)(nil)
)

// rangeFunction returns the range that f gives, which tells apart the ranks that have
// another number of numbers.
func rangeFunction(e *Env, f *starlark.Builtin) *starlark.Builtin {
	return starlark.NewBuiltin(f.Name(), func(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		if !e.varied || !varies(args) || len(kwargs) > 0 || len(args) > 3 {
			args, kwargs = settledArgs(e, args, kwargs)
			return starlark.Call(thread, f, args, kwargs)
		}
		given, _ := variantOf(args)
		on := func(rank int) (starlark.Value, error) {
			x, err := given.at(rank)
			if err != nil {
				return nil, err
			}
			return starlark.Call(thread, f, x.(starlark.Tuple), nil)
		}
		runtime.Asked(e.Runtime, func(rank int) string {
			x, err := on(rank)
			if err != nil {
				return "! " + err.Error()
			}
			return fmt.Sprint(starlark.Len(x))
		})
		own, err := starlark.Call(thread, f, given.own.(starlark.Tuple), nil)
		if err != nil {
			return nil, err
		}
		r := &varyingRange{env: e, own: own, on: on, start: starlark.MakeInt(0), step: starlark.MakeInt(1)}
		if len(args) > 1 {
			r.start = args[0]
		}
		if len(args) > 2 {
			r.step = args[2]
		}
		return r, nil
	})
}

// String implements starlark.Value: what the rank that runs has. So it is printed.
func (r *varyingRange) String() string { return r.own.String() }

// Type implements starlark.Value.
func (r *varyingRange) Type() string { return r.own.Type() }

// Freeze implements starlark.Value.
func (r *varyingRange) Freeze() {}

// Truth implements starlark.Value.
func (r *varyingRange) Truth() starlark.Bool { return r.own.Truth() }

// Hash implements starlark.Value.
func (r *varyingRange) Hash() (uint32, error) { return r.own.Hash() }

// CompareSameType implements starlark.Comparable, an observation.
func (r *varyingRange) CompareSameType(op syntax.Token, y starlark.Value, _ int) (bool, error) {
	return starlark.Compare(op, r.Settle(), settled(y))
}

// Settle implements arg.Settler.
func (r *varyingRange) Settle() starlark.Value {
	runtime.Asked(r.env.Runtime, func(rank int) string { return told(r.on(rank)) })
	return r.own
}

// Len implements starlark.Sequence.
func (r *varyingRange) Len() int { return starlark.Len(r.own) }

// Index implements starlark.Indexable: a number that may vary.
func (r *varyingRange) Index(i int) starlark.Value { return r.after(r.start, i) }

// after returns x and n steps.
func (r *varyingRange) after(x starlark.Value, n int) starlark.Value {
	y, err := lift(r.env, func(a []starlark.Value) (starlark.Value, error) {
		steps, err := starlark.Binary(syntax.STAR, starlark.MakeInt(n), a[1])
		if err != nil {
			return nil, err
		}
		return starlark.Binary(syntax.PLUS, a[0], steps)
	}, true, x, r.step)
	if err != nil {
		panic(fmt.Sprintf("builtins: a range of %v by %v: %v", x, r.step, err)) // both are ints
	}
	return y
}

// Slice implements starlark.Sliceable.
func (r *varyingRange) Slice(start, end, step int) starlark.Value {
	y := *r
	y.own = r.own.(starlark.Sliceable).Slice(start, end, step)
	y.on = func(rank int) (starlark.Value, error) {
		x, err := r.on(rank)
		if err != nil {
			return nil, err
		}
		return x.(starlark.Sliceable).Slice(start, end, step), nil
	}
	y.start, y.step = r.Index(start), y.after(starlark.MakeInt(0), step)
	return &y
}

// Iterate implements starlark.Iterable.
func (r *varyingRange) Iterate() starlark.Iterator { return &rangeNumbers{r: r} }

// rangeNumbers goes through a varyingRange.
type rangeNumbers struct {
	r *varyingRange
	n int
}

// Next implements starlark.Iterator.
func (n *rangeNumbers) Next(p *starlark.Value) bool {
	if n.n >= n.r.Len() {
		return false
	}
	*p = n.r.Index(n.n)
	n.n++
	return true
}

// Done implements starlark.Iterator.
func (n *rangeNumbers) Done() {}
