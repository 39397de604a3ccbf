package nn

import (
	"fmt"
	"slices"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/internal/spell"
	"tpsh/runtime/grad"
	"tpsh/runtime/op"
)

// addGroups adds the groups of params: a list of tensors, or of dicts with
// hyperparameters, which are values where a dict does not have them.
func (o *Optimizer) addGroups(fn string, params starlark.Value, values []starlark.Value) error {
	bad := func(err error) error { return arg.In(fn, "params", err) }
	var list arg.List
	if x, ok := params.(*builtins.Tensor); ok {
		list = arg.List{x}
	} else if list.Unpack(params) != nil {
		return bad(arg.Bad(params, "a list of tensors, or of dicts with \"params\"", "m.parameters() is one"))
	}
	if len(list) == 0 {
		return bad(arg.Bad(params, "at least one tensor", ""))
	}
	if _, dicts := list[0].(*starlark.Dict); !dicts {
		d := starlark.NewDict(1)
		if err := d.SetKey(starlark.String("params"), starlark.NewList(list)); err != nil {
			return err
		}
		list = arg.List{d}
	}
	seen := map[*builtins.Tensor]bool{}
	for i, v := range list {
		d, ok := v.(*starlark.Dict)
		if !ok {
			return bad(arg.BadItem(v, i, "a dict with \"params\", as before it"))
		}
		if err := o.addGroup(fn, d, values, seen); err != nil {
			return err
		}
	}
	return nil
}

// addParamGroup adds a group to an optimiser that is there.
func addParamGroup(o *Optimizer, fn string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var v starlark.Value
	if err := arg.Unpack(fn, args, kwargs, "param_group", &v); err != nil {
		return nil, err
	}
	d, ok := v.(*starlark.Dict)
	if !ok {
		return nil, arg.In(fn, "param_group", arg.Bad(v, "a dict with \"params\"", ""))
	}
	if err := o.mayChange(fn); err != nil {
		return nil, err
	}
	if o.rule.whole != nil {
		return nil, arg.In(fn, "param_group", arg.Bad(d, "no second group", o.rule.name+" steps all parameters at once"))
	}
	seen := map[*builtins.Tensor]bool{}
	for _, g := range o.groups {
		list, err := optimized(valueAt(g, "params"), seen)
		if err != nil || len(list) == 0 {
			return nil, arg.In(fn, "params", err)
		}
	}
	before := len(o.groups)
	if err := o.addGroup(fn, d, o.values, seen); err != nil {
		o.groups = o.groups[:before]
		return nil, err
	}
	return starlark.None, nil
}

// addGroup adds the group that d of a script describes.
func (o *Optimizer) addGroup(fn string, d *starlark.Dict, values []starlark.Value, seen map[*builtins.Tensor]bool) error {
	known := []string{"params"}
	own := starlark.NewDict(len(values) + 1)
	params := valueAt(d, "params")
	if params == nil {
		return arg.In(fn, "params", arg.Bad(d, "a dict with \"params\"", ""))
	}
	tensors, err := optimized(params, seen)
	if err != nil {
		return arg.In(fn, "params", err)
	}
	if err := own.SetKey(starlark.String("params"), tensors); err != nil {
		return err
	}
	for i, h := range o.rule.hyper {
		known = append(known, h.name)
		v := valueAt(d, h.name)
		if v == nil {
			v = values[i]
		}
		if err := own.SetKey(starlark.String(h.name), v); err != nil {
			return err
		}
	}
	for _, key := range d.Keys() {
		if name, ok := starlark.AsString(key); !ok || !slices.Contains(known, name) {
			rule := ""
			if n := spell.Nearest(name, known); n != "" {
				rule = fmt.Sprintf("did you mean %q?", n)
			}
			return arg.In(fn, "params", arg.Bad(key, "one of "+builtins.QuotedNames(known), rule))
		}
	}
	o.groups = append(o.groups, own)
	_, _, err = o.ready(fn, own)
	return err
}

// optimized returns v, a tensor or a list of them, as a tuple, after checking
// that each can be optimised and is in no group twice.
func optimized(v starlark.Value, seen map[*builtins.Tensor]bool) (starlark.Tuple, error) {
	if x, ok := v.(*builtins.Tensor); ok {
		v = starlark.Tuple{x}
	}
	var list arg.List
	if list.Unpack(v) != nil {
		return nil, arg.Bad(v, "a list of tensors", "m.parameters() is one")
	}
	if len(list) == 0 {
		return nil, arg.Bad(v, "at least one tensor", "")
	}
	for i, v := range list {
		x, ok := v.(*builtins.Tensor)
		if !ok {
			return nil, arg.BadItem(v, i, "a tensor")
		}
		if err := canOptimize(x, i); err != nil {
			return nil, err
		}
		if seen[x] {
			return nil, arg.BadItem(x, i, "each tensor once")
		}
		seen[x] = true
	}
	return starlark.Tuple(list), nil
}

// canOptimize returns an error unless x, at index i, is a leaf that requires
// grad. A Parameter need not, and is left alone then.
func canOptimize(x *builtins.Tensor, i int) error {
	t, err := Leaf(x)
	switch {
	case err != nil:
		return err
	case !grad.IsLeaf(t):
		return &op.ArgError{Got: fmt.Sprintf("the result of an operation at index %d", i), Want: "a leaf", Rule: ".detach().requires_grad_() makes one"}
	case !t.RequiresGrad() && !x.Parameter:
		return &op.ArgError{Got: fmt.Sprintf("%s at index %d, which does not require grad", op.Describe(t), i), Want: "a tensor that does", Rule: ".requires_grad_() says so"}
	}
	return nil
}

// valueAt returns d[key], or nil.
func valueAt(d *starlark.Dict, key string) starlark.Value {
	if v, found, _ := d.Get(starlark.String(key)); found {
		return v
	}
	return nil
}

// A group reads a group of an optimiser for the function fn. After the first
// error it gives zeros.
type group struct {
	o   *Optimizer
	fn  string
	d   *starlark.Dict
	err error

	read []starlark.Value // the hyperparameters, in the order of the rule; nil before they are read
}

// get returns a hyperparameter, checked.
func (g *group) get(name string) starlark.Value {
	if g.read == nil {
		g.read = make([]starlark.Value, len(g.o.rule.hyper))
	}
	for i := range g.o.rule.hyper {
		if h := g.o.rule.hyper[i]; h.name == name {
			if g.read[i] == nil {
				g.read[i] = g.checked(h)
			}
			return g.read[i]
		}
	}
	panic("builtins: " + g.o.rule.name + " has no " + name)
}

// checked returns the hyperparameter h, or its default if there is an error.
func (g *group) checked(h *hyper) starlark.Value {
	v := valueAt(g.d, h.name)
	if err := h.check(v); err != nil {
		if g.err == nil {
			g.err = arg.In(g.fn, h.name, err)
		}
		return h.value
	}
	return v
}

// float returns a hyperparameter that is a number.
func (g *group) float(name string) float64 {
	f, _ := starlark.AsFloat(g.get(name))
	return f
}

// on returns a hyperparameter that is True or False.
func (g *group) on(name string) bool { return g.get(name) == starlark.True }

// pair returns a hyperparameter that is two numbers.
func (g *group) pair(name string) (a, b float64) {
	var pair arg.List
	if err := pair.Unpack(g.get(name)); err != nil {
		return 0, 0 // g.err tells
	}
	a, _ = starlark.AsFloat(pair[0])
	b, _ = starlark.AsFloat(pair[1])
	return a, b
}

// betas returns the hyperparameter of that name.
func (g *group) betas() (beta1, beta2 float64) { return g.pair("betas") }

// params returns the parameters.
func (g *group) params() []*builtins.Tensor {
	list, err := optimized(valueAt(g.d, "params"), map[*builtins.Tensor]bool{})
	if err != nil {
		if g.err == nil {
			g.err = arg.In(g.fn, "params", err)
		}
		return nil
	}
	tensors := make([]*builtins.Tensor, len(list))
	for i, x := range list {
		tensors[i] = x.(*builtins.Tensor)
	}
	return tensors
}

// group returns the group d, read for the function fn and checked.
func (o *Optimizer) group(fn string, d *starlark.Dict) (*group, error) {
	g := &group{o: o, fn: fn, d: d}
	for _, h := range o.rule.hyper {
		g.get(h.name)
	}
	if g.err == nil && o.rule.check != nil {
		g.err = arg.In(fn, "", o.rule.check(g))
	}
	return g, g.err
}
