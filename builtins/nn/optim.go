package nn

import (
	"fmt"
	"strings"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// An Optimizer changes parameters by their gradients.
//
// A group is parameters with hyperparameters of their own: a dict of a script,
// which may change them between steps. It is read and checked at every step.
type Optimizer struct {
	env    *builtins.Env
	rule   *optimRule
	groups []*starlark.Dict
	values []starlark.Value // of the hyperparameters, where a group has none of its own
	state  map[*builtins.Tensor]*paramState
	frozen bool
}

// An optimRule is a kind of optimiser.
type optimRule struct {
	name  string
	hyper []*hyper
	// all names the tensors that it may keep for a parameter, and buffers those
	// that it keeps for each of a group.
	// Names of numbered ones begin as numbered says.
	all, numbered []string
	buffers       func(g *group) []string
	// over, if set, says of which shape what is kept for a parameter is: 1 along dim
	// dim, or the parameter's own where that is wholeBuffer; or that it is not kept.
	over func(name string, of shape.Shape) (dim int, kept bool)
	// update makes one step of one parameter.
	update func(u *paramStep)
	// check refuses hyperparameters that do not go together; it may be nil.
	check func(g *group) error
	// whole, if set, makes a step of all parameters in place of update. It evaluates
	// the loss and the gradients by a function of the script.
	whole func(o *Optimizer, thread *starlark.Thread, fn string, closure starlark.Callable) (starlark.Value, error)
}

// wholeBuffer is the dim of tensors that have the shape of their parameter.
const wholeBuffer = -1

// keepsOver returns over of r, which is of the parameter's own shape without one.
func (r *optimRule) keepsOver(name string, of shape.Shape) (dim int, kept bool) {
	if r.over == nil {
		return wholeBuffer, true
	}
	return r.over(name, of)
}

// A hyper is a hyperparameter.
type hyper struct {
	name  string
	value starlark.Value // unless it is given
	// check returns an error without function and parameter if v does not fit.
	check func(v starlark.Value) error
	quiet bool // str does not show it, and a state may lack it
}

// A paramState is what an optimiser keeps for a parameter.
type paramState struct {
	steps   int // made so far
	buffers map[string]*builtins.Tensor
}

var _ starlark.HasSetField = (*Optimizer)(nil)

func (o *Optimizer) Type() string          { return o.rule.name }
func (o *Optimizer) Truth() starlark.Bool  { return true }
func (o *Optimizer) Hash() (uint32, error) { return 0, builtins.Unhashable(o) }

// Owner implements owned.
func (o *Optimizer) Owner() string { return "Optimizer" }

// Freeze makes the optimiser and its parameters read-only: it belongs to a
// loaded file.
func (o *Optimizer) Freeze() {
	if o.frozen {
		return
	}
	o.frozen = true
	for _, d := range o.groups {
		d.Freeze()
	}
	for _, s := range o.state {
		for _, x := range s.buffers {
			x.Freeze()
		}
	}
}

// mayChange returns an error of the function fn if the optimiser is frozen.
func (o *Optimizer) mayChange(fn string) error {
	if !o.frozen {
		return nil
	}
	return &op.ArgError{Func: fn, Got: "a frozen " + o.rule.name, Want: "one that may be changed", Rule: "it belongs to a loaded file: build it in a function"}
}

// String shows the groups.
func (o *Optimizer) String() string {
	var parts []string
	for i, d := range o.groups {
		text := ""
		if len(o.groups) > 1 {
			text = fmt.Sprintf("group %d: ", i)
		}
		var fields []string
		for _, h := range o.rule.hyper {
			if h.quiet {
				continue
			}
			fields = append(fields, h.name+"="+arg.Show(valueAt(d, h.name)))
		}
		parts = append(parts, text+strings.Join(fields, ", "))
	}
	return o.rule.name + "(" + strings.Join(parts, "; ") + ")"
}

// Attr implements starlark.HasAttrs.
func (o *Optimizer) Attr(name string) (starlark.Value, error) {
	return o.env.Attr("Optimizer", o, name)
}

// AttrNames implements starlark.HasAttrs.
func (o *Optimizer) AttrNames() []string { return builtins.AttrNames("Optimizer") }

// SetField implements starlark.HasSetField: lr can be assigned.
func (o *Optimizer) SetField(name string, v starlark.Value) error {
	if name != "lr" {
		if builtins.IsMember("Optimizer", name) {
			return fmt.Errorf("can't assign to .%s of a %s", name, o.rule.name)
		}
		return starlark.NoSuchAttrError(fmt.Sprintf("%s has no .%s field to assign to", o.rule.name, name))
	}
	if err := o.mayChange("lr"); err != nil {
		return err
	}
	if err := notNegative(v); err != nil {
		return arg.In("lr", "", err)
	}
	for _, d := range o.groups {
		if err := d.SetKey(starlark.String("lr"), v); err != nil {
			return err
		}
	}
	return nil
}

// newOptimizer returns the constructor of optimisers of rule r.
func newOptimizer(r *optimRule) builtins.Function {
	return func(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		var params starlark.Value
		values := make([]starlark.Value, len(r.hyper))
		pairs := []any{"params", &params}
		for i, h := range r.hyper {
			values[i] = h.value
			pairs = append(pairs, h.name+"?", &values[i])
		}
		if err := arg.Unpack(b.Name(), args, kwargs, pairs...); err != nil {
			return nil, err
		}
		for i, h := range r.hyper {
			if err := h.check(values[i]); err != nil {
				return nil, arg.In(b.Name(), h.name, err)
			}
		}
		o := &Optimizer{env: e, rule: r, values: values, state: map[*builtins.Tensor]*paramState{}}
		if err := o.addGroups(b.Name(), params, values); err != nil {
			return nil, err
		}
		builtins.Hold(e, o)
		return o, nil
	}
}

// ready reads d for the function fn, and makes the buffers of its parameters
// that are not there, as zeros.
func (o *Optimizer) ready(fn string, d *starlark.Dict) (*group, []*builtins.Tensor, error) {
	g, err := o.group(fn, d)
	if err != nil {
		return nil, nil, err
	}
	names, params := o.rule.buffers(g), g.params()
	for _, x := range params {
		if err := o.ensure(fn, x, names); err != nil {
			return nil, nil, err
		}
	}
	return g, params, g.err
}

// ensure makes the buffers of x called names that are not there.
func (o *Optimizer) ensure(fn string, x *builtins.Tensor, names []string) error {
	s := o.state[x]
	if s == nil {
		s = &paramState{buffers: map[string]*builtins.Tensor{}}
		o.state[x] = s
	}
	t, err := Leaf(x)
	if err != nil {
		return err
	}
	defer o.env.Runtime.Tape.SetEnabled(false)()
	for _, name := range names {
		dim, kept := o.rule.keepsOver(name, t.Shape())
		if s.buffers[name] != nil || !kept {
			continue
		}
		c := &builtins.OpChain{E: o.env, Fn: fn}
		like := t
		if dim != wholeBuffer {
			like = c.Do("sum", []*tensor.Tensor{t}, op.IntsN(dim), op.Bool1(true))
		}
		b := c.Do("zeros_like", []*tensor.Tensor{like}, op.None)
		if c.Err != nil {
			return c.Err
		}
		s.buffers[name] = o.env.Wrap(b)
	}
	return nil
}
