package nn

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/internal/units"
	"tpsh/runtime/op"
)

func init() {
	builtins.Register(
		optimRow("state_dict", "state_dict() returns the state as a dict: {\"state\": {...}, \"param_groups\": [...]}.\n"+
			"Parameters are numbered through all groups. Under \"state\" each has a dict under its\n"+
			"number, a string, of the steps made and of tensors, which share the storage of the\n"+
			"optimiser's; a group has its hyperparameters and the list \"params\" of numbers. Of a\n"+
			"parameter that fully_shard has cut, they are distributed tensors of full shape, made by\n"+
			"every rank together.\n"+
			">>> opt = optim.SGD([zeros(2, requires_grad=True)], lr=0.5, momentum=0.5)\n"+
			">>> opt.state_dict()[\"state\"]\n{\"0\": {\"step\": 0, \"momentum_buffer\": [0. 0.]}}", optimStateDict),
		optimRow("load_state_dict", "load_state_dict(state_dict) takes over what state_dict() of an optimiser of the same kind returned: hyperparameters, steps, and copies of the tensors.\n"+
			"It has as many groups, with as many parameters, of the same shapes.\n"+
			">>> a, b = [optim.SGD([zeros(2, requires_grad=True)], lr=lr) for lr in [0.5, 0.25]]\n"+
			">>> b.load_state_dict(a.state_dict())\n"+
			">>> b.lr\n0.5", optimLoadStateDict),
	)
}

func optimStateDict(o *Optimizer, fn string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if err := arg.Unpack(fn, args, kwargs); err != nil {
		return nil, err
	}
	state, n := starlark.NewDict(len(o.state)), 0
	var groups []starlark.Value
	for _, d := range o.groups {
		_, params, err := o.ready(fn, d)
		if err != nil {
			return nil, err
		}
		var numbers []starlark.Value
		for _, x := range params {
			numbers = append(numbers, starlark.MakeInt(n))
			s, err := o.stateOf(fn, x)
			if err != nil {
				return nil, err
			}
			if err := state.SetKey(starlark.String(strconv.Itoa(n)), s); err != nil {
				return nil, err
			}
			n++
		}
		copied := starlark.NewDict(d.Len())
		for key, v := range d.Entries() {
			if key == starlark.String("params") {
				v = starlark.NewList(numbers)
			}
			if err := copied.SetKey(key, v); err != nil {
				return nil, err
			}
		}
		groups = append(groups, copied)
	}
	result := starlark.NewDict(2)
	if err := result.SetKey(starlark.String("state"), state); err != nil {
		return nil, err
	}
	return result, result.SetKey(starlark.String("param_groups"), starlark.NewList(groups))
}

// stateOf returns what is kept for x as a dict, for fn.
func (o *Optimizer) stateOf(fn string, x *builtins.Tensor) (*starlark.Dict, error) {
	s := o.state[x]
	d := starlark.NewDict(len(s.buffers) + 1)
	if err := d.SetKey(starlark.String("step"), starlark.MakeInt(s.steps)); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(s.buffers)) {
		t, err := s.buffers[name].Tensor()
		if err != nil {
			return nil, err
		}
		y, err := storeOf(x).StateWith(x, fn, t)
		if err != nil {
			return nil, err
		}
		if err := d.SetKey(starlark.String(name), y); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// A stateLoading is a call of load_state_dict of an optimiser. It checks
// everything first, and then changes the optimiser.
type stateLoading struct {
	o     *Optimizer
	fn    string
	state *starlark.Dict
	then  []func() error
}

func optimLoadStateDict(o *Optimizer, fn string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var v starlark.Value
	if err := arg.Unpack(fn, args, kwargs, "state_dict", &v); err != nil {
		return nil, err
	}
	if err := o.mayChange(fn); err != nil {
		return nil, err
	}
	l := &stateLoading{o: o, fn: fn}
	if err := l.check(v); err != nil {
		return nil, err
	}
	defer o.env.Runtime.Tape.SetEnabled(false)()
	for _, change := range l.then {
		if err := change(); err != nil {
			return nil, err
		}
	}
	return starlark.None, nil
}

// bad returns the error of a state dict that does not fit.
func (l *stateLoading) bad(got, want string) error {
	return &op.ArgError{Func: l.fn, Param: "state_dict", Got: got, Want: want, Rule: "what state_dict() of such an optimiser returned"}
}

func (l *stateLoading) check(v starlark.Value) error {
	d, ok := v.(*starlark.Dict)
	if !ok {
		return l.bad(arg.Show(v), "a dict with \"state\" and \"param_groups\"")
	}
	state, ok := valueAt(d, "state").(*starlark.Dict)
	var groups arg.List
	if !ok || valueAt(d, "param_groups") == nil || groups.Unpack(valueAt(d, "param_groups")) != nil {
		return l.bad("a dict with the keys "+arg.Show(starlark.NewList(d.Keys())), "\"state\", a dict, and \"param_groups\", a list")
	}
	if len(groups) != len(l.o.groups) {
		return l.bad(units.Count(len(groups), "group"), fmt.Sprint(len(l.o.groups)))
	}
	l.state = state
	for i, v := range groups {
		d, ok := v.(*starlark.Dict)
		if !ok {
			return l.bad(fmt.Sprintf("%s as group %d", arg.Show(v), i), "a dict")
		}
		if err := l.checkGroup(i, d); err != nil {
			return err
		}
	}
	return nil
}

// checkGroup checks group i of the dict, and notes what it is to change.
func (l *stateLoading) checkGroup(i int, d *starlark.Dict) error {
	into := l.o.groups[i]
	numbers, err := arg.ToInts(valueAt(d, "params"))
	if err != nil {
		return l.bad(fmt.Sprintf("group %d without a list of ints \"params\"", i), "one")
	}
	_, params, err := l.o.ready(l.fn, into)
	if err != nil {
		return err
	}
	if len(numbers) != len(params) {
		return l.bad(fmt.Sprintf("%s in group %d", units.Count(len(numbers), "parameter"), i), fmt.Sprint(len(params)))
	}
	for _, h := range l.o.rule.hyper {
		v := valueAt(d, h.name)
		if v == nil && h.quiet {
			continue
		}
		if v == nil {
			return l.bad(fmt.Sprintf("group %d without %q", i, h.name), "one with it")
		}
		if err := h.check(v); err != nil {
			return arg.In(l.fn, h.name, err)
		}
		l.then = append(l.then, func() error { return into.SetKey(starlark.String(h.name), v) })
	}
	for k, x := range params {
		if err := l.checkState(numbers[k], x); err != nil {
			return err
		}
	}
	return nil
}

// checkState checks the state of parameter number n, which is x here, and
// notes the change. Without one, x begins anew.
func (l *stateLoading) checkState(n int, x *builtins.Tensor) error {
	v := valueAt(l.state, strconv.Itoa(n))
	if v == nil {
		l.then = append(l.then, func() error { delete(l.o.state, x); return nil })
		return nil
	}
	d, ok := v.(*starlark.Dict)
	if !ok {
		return l.bad(fmt.Sprintf("%s as the state of parameter %d", arg.Show(v), n), "a dict")
	}
	var steps arg.Int
	if v := valueAt(d, "step"); v == nil || steps.Unpack(v) != nil || steps < 0 {
		return l.bad(fmt.Sprintf("a state of parameter %d without \"step\", a non-negative int", n), "one with it")
	}
	l.then = append(l.then, func() error { l.o.state[x] = &paramState{int(steps), map[string]*builtins.Tensor{}}; return nil })
	for key, v := range d.Entries() {
		if name, ok := starlark.AsString(key); ok && name != "step" {
			if err := l.checkBuffer(n, name, v, x); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkBuffer checks the tensor called name that is kept for parameter n, x,
// and notes that it is to be copied.
func (l *stateLoading) checkBuffer(n int, name string, v starlark.Value, x *builtins.Tensor) error {
	if !l.o.rule.keeps(name) {
		return l.bad(fmt.Sprintf("%q for parameter %d", name, n), "one of "+builtins.QuotedNames(l.o.rule.all))
	}
	from, ok := v.(*builtins.Tensor)
	if !ok {
		return l.bad(fmt.Sprintf("%s as %q of parameter %d", arg.Show(v), name, n), "a tensor")
	}
	_, want, err := storeOf(x).Stored(x)
	if err != nil {
		return err
	}
	dim, kept := l.o.rule.keepsOver(name, want)
	if !kept {
		return l.bad(fmt.Sprintf("%q for parameter %d, %s", name, n, want), "what is kept for parameters of that shape")
	}
	if dim != wholeBuffer {
		want = slices.Clone(want)
		want[dim] = 1
	}
	y, err := from.Tensor()
	if err != nil {
		return err
	}
	if !y.Shape().Equal(want) {
		return l.bad(fmt.Sprintf("%s as %q of parameter %d", op.Describe(y), name, n), "shape "+want.String())
	}
	l.then = append(l.then, func() error {
		if err := l.o.ensure(l.fn, x, []string{name}); err != nil {
			return err
		}
		return arg.Rename(l.fn, storeOf(x).Load(l.fn, x, l.o.state[x].buffers[name], from))
	})
	return nil
}

// keeps reports whether the optimiser keeps a tensor under name.
func (r *optimRule) keeps(name string) bool {
	for _, known := range r.all {
		if name == known {
			return true
		}
	}
	for _, prefix := range r.numbered {
		if digits, ok := strings.CutPrefix(name, prefix); ok && digits != "" && strings.Trim(digits, "0123456789") == "" {
			return true
		}
	}
	return false
}
