package builtins

import (
	"fmt"
	"regexp"
	"slices"
	"sync"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"tpsh/builtins/arg"
	"tpsh/runtime/op"
)

// An assertionError is the failure of an assertion.
type assertionError struct {
	fn, text string
	ranks    []int // the ranks concerned
}

func (e *assertionError) Error() string { return e.fn + ": " + e.text }

// Kind returns "assertion".
func (e *assertionError) Kind() string { return "assertion" }

// Function returns the name of the assertion.
func (e *assertionError) Function() string { return e.fn }

// Ranks returns the ranks concerned.
func (e *assertionError) Ranks() []int { return e.ranks }

// assertionFailed returns the failure of the assertion fn on the rank of e.
func assertionFailed(e *Env, fn, format string, args ...any) error {
	return &assertionError{fn, fmt.Sprintf(format, args...), []int{e.Runtime.Self()}}
}

func init() {
	Register(&Row{
		Name: "assert.eq",
		Doc: "eq(got, want, msg=None) fails unless got equals want.\n" +
			"Every assertion takes msg=, a text that its failure says.\n" +
			"It looks into lists, tuples, dicts and structs. Tensors are equal if their shapes and values are; a tensor may\n" +
			"be compared with nested lists, one of one element with a number. NaN equals NaN.\n" +
			">>> assert.eq(ones(2, 2) + 1, [[2, 2], [2, 2]])",
		Fn: assertEq,
	}, &Row{
		Name: "assert.ne",
		Doc:  "ne(a, b, msg=None) fails if a equals b, as assert.eq has it.\n>>> assert.ne([1, 2], [1, 3])",
		Fn:   assertNe,
	}, &Row{
		Name: "assert.true",
		Doc:  "true(x, msg=None) fails unless x is true: a tensor of one element has that element's truth. The failure says msg.\n>>> assert.true(ones(2).equal(ones(2)))",
		Fn:   assertTruth(true),
	}, &Row{
		Name: "assert.false",
		Doc:  "false(x, msg=None) fails unless x is false. The failure says msg.\n>>> assert.false([])",
		Fn:   assertTruth(false),
	}, &Row{
		Name: "assert.lt",
		Doc:  "lt(a, b, msg=None) fails unless a < b. Tensors of one element count as numbers.\n>>> assert.lt(1, 2.5)",
		Fn:   assertLt,
	}, &Row{
		Name: "assert.contains",
		Doc: "contains(x, item, msg=None) fails unless item is in x: an element of a list or tuple, a key of a dict, a part of a string.\n" +
			">>> assert.contains(\"all_reduce\", \"reduce\")",
		Fn: assertContains,
	}, &Row{
		Name: "assert.close",
		Doc: "close(got, want, rtol=1e-5, atol=1e-8, equal_nan=False, msg=None) fails unless every number x of got is close to that of want, y: |x - y| <= atol + rtol |y|.\n" +
			"It looks into containers and tensors as assert.eq does. NaN is close to NaN if equal_nan.\n" +
			">>> assert.close(ones(2) / 3, [0.333333, 0.333333])",
		Fn: assertClose,
	}, &Row{
		Name: "assert.fails",
		Doc: "fails(fn, pattern, msg=None) fails unless fn() fails with an error e whose str(e) matches the regular expression pattern.\n" +
			"The pattern, in RE2 syntax, may match anywhere. What attempt does not catch, fails does not either.\n" +
			">>> assert.fails(lambda: ones(2).reshape(3), \"reshape\")",
		Fn: assertFails,
	})
}

// withMsg returns the function of an assertion with the argument msg, its last one, which its
// failure says.
func withMsg(r *Row) Function {
	fn := r.Fn
	place := sync.OnceValue(func() int { return slices.Index(r.parameters(), "msg") })
	return func(e *Env, thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		var given starlark.Value
		if i := place(); i >= 0 && len(args) == i+1 {
			args, given = args[:i], args[i]
		}
		var rest []starlark.Tuple
		for _, kw := range kwargs {
			switch {
			case kw[0] != starlark.String("msg"):
				rest = append(rest, kw)
			case given != nil:
				return nil, arg.Duplicate(b.Name(), "msg")
			default:
				given = kw[1]
			}
		}
		var msg arg.OptString
		if given != nil {
			if err := arg.Set(b.Name(), "msg", &msg, given); err != nil {
				return nil, err
			}
		}
		v, err := fn(e, thread, b, args, rest)
		if failure, ok := err.(*assertionError); ok && msg.Set {
			failure.text = fmt.Sprintf("%s (%s)", msg.V, failure.text)
		}
		return v, err
	}
}

// pair unpacks the arguments got and want of an assertion.
func pair(b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple, first, second string) (x, y starlark.Value, err error) {
	err = arg.Unpack(b.Name(), args, kwargs, first, &x, second, &y)
	return x, y, err
}

func assertEq(e *Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	got, want, err := pair(b, args, kwargs, "got", "want")
	if err != nil {
		return nil, err
	}
	c := comparison{env: e}
	if err := c.compare(got, want); err != nil {
		return nil, err
	}
	if !c.equal() {
		return nil, assertionFailed(e, b.Name(), "got %s, want %s%s", showAll(e, got), showAll(e, want), c.where())
	}
	return starlark.None, nil
}

func assertNe(e *Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	x, y, err := pair(b, args, kwargs, "a", "b")
	if err != nil {
		return nil, err
	}
	c := comparison{env: e}
	if err := c.compare(x, y); err != nil {
		return nil, err
	}
	if c.equal() && !c.unknown {
		return nil, assertionFailed(e, b.Name(), "got %s twice, want values that differ", showAll(e, x))
	}
	return starlark.None, nil
}

func assertClose(e *Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var got, want starlark.Value
	rtol, atol := bound(1e-5), bound(1e-8)
	var nan arg.Bool
	if err := arg.Unpack(b.Name(), args, kwargs, "got|a", &got, "want|b", &want, "rtol?", &rtol, "atol?", &atol, "equal_nan?", &nan); err != nil {
		return nil, err
	}
	c := comparison{env: e, close: &tolerance{float64(rtol), float64(atol), bool(nan)}}
	if err := c.compare(got, want); err != nil {
		return nil, err
	}
	if !c.equal() {
		return nil, assertionFailed(e, b.Name(), "got %s, want %s within rtol=%g, atol=%g%s", showAll(e, got), showAll(e, want), rtol, atol, c.where())
	}
	return starlark.None, nil
}

// A bound is an argument that is a number of at least 0.
type bound float64

// Unpack implements starlark.Unpacker.
func (p *bound) Unpack(v starlark.Value) error {
	var f arg.Float
	if err := f.Unpack(v); err != nil {
		return err
	}
	if !(f >= 0) {
		return arg.Bad(v, "a number of at least 0", "")
	}
	*p = bound(f)
	return nil
}

// showAll returns v as the failure of an assertion shows it: longer than
// other errors do, and of a small tensor all elements.
func showAll(e *Env, v starlark.Value) string {
	const few, long = 16, 300
	if s, ok := v.(starlark.String); ok && len(s) <= long {
		return s.String()
	}
	if x, ok := v.(*Tensor); ok {
		if t, err := x.Tensor(); err == nil && t.Numel() <= few {
			if list, err := Nested(e, "assert", t); err == nil {
				return list.String()
			}
		}
	}
	return arg.Show(v)
}

// assertTruth returns the function that fails unless its argument has the
// given truth.
func assertTruth(want bool) Function {
	return func(e *Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		var x starlark.Value
		if err := arg.Unpack(b.Name(), args, kwargs, "x", &x); err != nil {
			return nil, err
		}
		if t, ok := x.(*Tensor); ok && e.Planning() {
			var err error
			if x, err = t.item(b.Name()); err != nil {
				return nil, err
			}
		}
		if isUnknown(x) {
			return starlark.None, nil
		}
		truth := bool(x.Truth())
		if err := e.pending; err != nil {
			resume(e)
			return nil, err
		}
		if truth == want {
			return starlark.None, nil
		}
		return nil, assertionFailed(e, b.Name(), "got %s, want a value that is %t", showAll(e, x), want)
	}
}

func assertLt(e *Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	x, y, err := pair(b, args, kwargs, "a", "b")
	if err != nil {
		return nil, err
	}
	for _, v := range []*starlark.Value{&x, &y} {
		if t, ok := (*v).(*Tensor); ok {
			if *v, err = t.item(b.Name()); err != nil {
				return nil, err
			}
		}
	}
	if isUnknown(x) || isUnknown(y) {
		return starlark.None, nil
	}
	less, err := starlark.Compare(syntax.LT, x, y)
	if err != nil {
		return nil, err
	}
	if !less {
		return nil, assertionFailed(e, b.Name(), "got %s, want less than %s", arg.Show(x), arg.Show(y))
	}
	return starlark.None, nil
}

func assertContains(e *Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	x, item, err := pair(b, args, kwargs, "x", "item")
	if err != nil {
		return nil, err
	}
	found, err := containsItem(e, x, item)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, assertionFailed(e, b.Name(), "got %s, want one that contains %s", showAll(e, x), showAll(e, item))
	}
	return starlark.None, nil
}

// containsItem reports whether item is in x. The elements of lists and tuples are
// compared as assert.eq compares.
func containsItem(e *Env, x, item starlark.Value) (bool, error) {
	if !IsList(x) {
		v, err := starlark.Binary(syntax.IN, item, x)
		return v == starlark.True, err
	}
	for v := range starlark.Elements(x.(starlark.Iterable)) {
		c := comparison{env: e}
		if err := c.compare(v, item); err != nil {
			return false, err
		}
		if c.equal() {
			return true, nil
		}
	}
	return false, nil
}

func assertFails(e *Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		fn      arg.Callable
		pattern arg.String
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "fn", &fn, "pattern", &pattern); err != nil {
		return nil, err
	}
	re, err := regexp.Compile(string(pattern))
	if err != nil {
		return nil, &op.ArgError{Func: b.Name(), Param: "pattern", Got: arg.Show(starlark.String(pattern)), Want: "a regular expression", Rule: err.Error()}
	}
	v, failure, err := catch(e, fn.Fn, nil, nil)
	switch {
	case err != nil:
		return nil, err
	case failure == nil && e.Planning(): // what depends on elements does not fail
	case failure == nil:
		return nil, assertionFailed(e, b.Name(), "got no error but the value %s, want an error that matches %q", arg.Show(v), string(pattern))
	case !re.MatchString(failure.String()):
		return nil, assertionFailed(e, b.Name(), "got the error %q, want one that matches %q", failure, string(pattern))
	}
	return starlark.None, nil
}
