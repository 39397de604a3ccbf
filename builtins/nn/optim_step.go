package nn

import (
	"math"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/internal/libm"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// A paramStep is one step of one parameter. Its operators are applied in turn,
// unrecorded, until an error.
type paramStep struct {
	builtins.OpChain
	g     *group
	state *paramState
	p, dp *tensor.Tensor // the parameter and its gradient
}

// buffer returns what the optimiser keeps for the parameter under name.
func (u *paramStep) buffer(name string) *tensor.Tensor {
	t, err := u.state.buffers[name].Tensor()
	u.Fail(err)
	return t
}

// weighted returns a x + b y.
func (u *paramStep) weighted(x, y *tensor.Tensor, a, b float64) *tensor.Tensor {
	return u.Do("combine", []*tensor.Tensor{x, y}, op.Float1(a), op.Float1(b))
}

// weigh stores a x + b y in x.
func (u *paramStep) weigh(x, y *tensor.Tensor, a, b float64) {
	u.Do("combine_", []*tensor.Tensor{x, y}, op.Float1(a), op.Float1(b))
}

// stepAll makes a step of every parameter that has a gradient.
func (o *Optimizer) stepAll(fn string) error {
	if err := o.mayChange(fn); err != nil {
		return err
	}
	defer o.env.Runtime.Tape.SetEnabled(false)()
	for _, d := range o.groups {
		g, params, err := o.ready(fn, d)
		if err != nil {
			return err
		}
		for _, x := range params {
			if err := o.updateOne(g, x); err != nil {
				return err
			}
		}
	}
	return nil
}

// updateOne makes a step of x, of the group g.
func (o *Optimizer) updateOne(g *group, x *builtins.Tensor) error {
	t, err := Leaf(x)
	if err != nil || !t.RequiresGrad() {
		return err
	}
	if err := builtins.CheckFrozen(g.fn, t); err != nil || t.Auto.Grad == nil {
		return err
	}
	if dp := t.Auto.Grad; !dp.Shape().Equal(t.Shape()) {
		return &op.ArgError{Func: g.fn, Got: "a gradient " + op.Describe(dp) + " of a parameter " + op.Describe(t), Want: "one of its shape", Rule: "of a flat parameter, the gradient is as the parameter was when it was computed with"}
	}
	u := &paramStep{OpChain: builtins.OpChain{E: o.env, Fn: g.fn}, g: g, state: o.state[x], p: t, dp: t.Auto.Grad}
	u.state.steps++
	if g.on("maximize") {
		u.dp = u.Do("neg", []*tensor.Tensor{u.dp})
	}
	o.rule.update(u)
	return u.Err
}

// updateSGD is
//
//	d = dp + weight_decay p
//	b = momentum b + (1 - dampening) d      d in the first step
//	d = b                                   with nesterov d + momentum b
//	p = p - lr d
//
// where b and the choice of d are there with a momentum only; PyTorch's order
// of operations.
func updateSGD(u *paramStep) {
	d := u.decayed()
	if momentum := u.g.float("momentum"); momentum != 0 {
		b := u.buffer("momentum_buffer")
		if u.state.steps == 1 {
			u.Do("copy_", []*tensor.Tensor{b, d})
		} else {
			u.weigh(b, d, momentum, 1-u.g.float("dampening"))
		}
		if u.g.on("nesterov") {
			d = u.weighted(d, b, 1, momentum)
		} else {
			d = b
		}
	}
	u.weigh(u.p, d, 1, -u.g.float("lr"))
}

// updateAdam is Adam with the decay of the weights in the gradient.
//
// Kingma and Ba, "Adam: a method for stochastic optimization", ICLR 2015.
func updateAdam(u *paramStep) {
	if u.g.on("decoupled_weight_decay") {
		updateAdamW(u)
		return
	}
	u.adam(u.decayed(), 1)
}

// updateAdamW is Adam with the decay of the weights apart from the gradient.
//
// Loshchilov and Hutter, "Decoupled weight decay regularization", ICLR 2019.
func updateAdamW(u *paramStep) {
	u.adam(u.dp, 1-float64(u.g.float("lr")*u.g.float("weight_decay")))
}

// adam is, in step t,
//
//	p = keep p
//	m = m + (1 - beta1) (d - m)
//	v = beta2 v + (1 - beta2) d²
//	p = p - lr / (1 - beta1^t) m / (√v / √(1 - beta2^t) + eps)
//
// with the greatest v so far in the last line, if amsgrad; PyTorch's order of
// operations. It is one operator, but with amsgrad and on tensors that ranks
// hold together.
func (u *paramStep) adam(d *tensor.Tensor, keep float64) {
	beta1, beta2 := u.g.betas()
	m, v := u.buffer("exp_avg"), u.buffer("exp_avg_sq")
	t := float64(u.state.steps)
	rate := u.g.float("lr") / (1 - libm.Pow(beta1, t))
	root := math.Sqrt(1 - libm.Pow(beta2, t))
	eps := u.g.float("eps")
	if u.Err == nil && !u.g.on("amsgrad") && !u.p.Placed() && !m.Placed() && !v.Placed() && !d.Placed() {
		u.Do("adam_update_", []*tensor.Tensor{u.p, m, v, d}, op.Float1(keep), op.Float1(1-beta1),
			op.Float1(beta2), op.Float1(1-beta2), op.Float1(rate), op.Float1(root), op.Float1(eps))
		return
	}
	if keep != 1 {
		u.Do("mul_", []*tensor.Tensor{u.p, tensor.Number(keep)})
	}
	u.Do("lerp_", []*tensor.Tensor{m, d}, op.Float1(1-beta1))
	u.square(v, d, beta2)
	if u.g.on("amsgrad") {
		most := u.buffer("max_exp_avg_sq")
		u.Do("copy_", []*tensor.Tensor{most, u.Do("maximum", []*tensor.Tensor{most, v})})
		v = most
	}
	u.Do("adam_step_", []*tensor.Tensor{u.p, m, v}, op.Float1(rate), op.Float1(root), op.Float1(eps))
}

// notNegative checks a number that is 0 or more.
func notNegative(v starlark.Value) error {
	var f arg.Float
	if err := f.Unpack(v); err != nil {
		return err
	}
	if !(f >= 0) || math.IsInf(float64(f), 1) {
		return arg.Bad(v, "a non-negative number", "")
	}
	return nil
}

// anyNumber checks a number.
func anyNumber(v starlark.Value) error { return new(arg.Float).Unpack(v) }

// trueOrFalse checks a bool.
func trueOrFalse(v starlark.Value) error { return new(arg.Bool).Unpack(v) }

// twoBetas checks a pair of numbers from 0 to 1, without 1.
func twoBetas(v starlark.Value) error {
	var pair arg.List
	if err := pair.Unpack(v); err != nil || len(pair) != 2 {
		return arg.Bad(v, "a pair of numbers", "")
	}
	for i, b := range pair {
		var f arg.Float
		if err := f.Unpack(b); err != nil || !(f >= 0 && f < 1) {
			return arg.BadItem(b, i, "a number from 0 to 1, without 1")
		}
	}
	return nil
}

// checkNesterov refuses Nesterov's momentum where there is none.
func checkNesterov(g *group) error {
	if g.on("nesterov") && (g.float("momentum") <= 0 || g.float("dampening") != 0) {
		return &op.ArgError{Func: g.fn, Param: "nesterov", Got: "True", Want: "False", Rule: "it needs a momentum and no dampening"}
	}
	return nil
}

// optimRow returns a row for a method of optimisers.
func optimRow(name, doc string, do func(o *Optimizer, fn string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error)) *builtins.Row {
	return &builtins.Row{Name: "Optimizer." + name, Doc: doc, Fn: func(_ *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		return do(b.Receiver().(*Optimizer), b.Name(), args, kwargs)
	}}
}

func init() {
	builtins.Register(
		&builtins.Row{Name: "Optimizer", Doc: "Optimizer is the type of optimisers, as optim makes them; type(x) is the kind: \"SGD\"."},
		&builtins.Row{Name: "Optimizer.lr",
			Doc: "lr is the learning rate: of the first group, where groups have their own. Assigning sets that of every group.\n" +
				">>> opt = optim.SGD([zeros(2, requires_grad=True)], lr=0.5)\n" +
				">>> opt.lr = opt.lr / 2\n" +
				">>> opt.lr\n0.25",
			Get: func(_ *builtins.Env, x starlark.Value) (starlark.Value, error) {
				return valueAt(x.(*Optimizer).groups[0], "lr"), nil
			}},
		&builtins.Row{Name: "Optimizer.param_groups",
			Doc: "param_groups is the tuple of the groups: dicts of \"params\" and of hyperparameters, which can be changed between steps.\n" +
				">>> a, b = zeros(1, requires_grad=True), zeros(1, requires_grad=True)\n" +
				">>> opt = optim.SGD([{\"params\": [a]}, {\"params\": [b], \"lr\": 0.5}], lr=0.25)\n" +
				">>> [g[\"lr\"] for g in opt.param_groups]\n[0.25, 0.5]\n" +
				">>> opt.param_groups[1][\"lr\"] = 0.125",
			Get: func(_ *builtins.Env, x starlark.Value) (starlark.Value, error) {
				var groups starlark.Tuple
				for _, d := range x.(*Optimizer).groups {
					groups = append(groups, d)
				}
				return groups, nil
			}},
		&builtins.Row{Name: "Optimizer.step", Fn: stepOptimizer, Doc: "step(closure=None) changes every parameter that has a gradient by it. Nothing is recorded.\n" +
			"closure, if it is given, is called first, with recording on: it computes the gradients and\n" +
			"returns the loss, which step returns.\n" +
			">>> w = tensor([2.0], requires_grad=True)\n" +
			">>> w.grad = ones(1)\n" +
			">>> optim.SGD([w], lr=0.5).step()\n" +
			">>> w.tolist()\n[1.5]"},
		optimRow("add_param_group", "add_param_group(param_group) adds a group: a dict of \"params\" and of hyperparameters of its own, the others as the optimiser was made with.\n"+
			">>> a, b = zeros(1, requires_grad=True), zeros(1, requires_grad=True)\n"+
			">>> opt = optim.SGD([a], lr=0.25)\n"+
			">>> opt.add_param_group({\"params\": [b], \"momentum\": 0.5})\n"+
			">>> opt.param_groups[1][\"lr\"]\n0.25", addParamGroup),
		optimRow("zero_grad", "zero_grad(set_to_none=True) forgets the gradients of the parameters; without set_to_none those that are there become zeros.\n"+
			">>> w = tensor([2.0], requires_grad=True)\n"+
			">>> w.backward()\n"+
			">>> optim.SGD([w]).zero_grad()\n"+
			">>> w.grad == None\nTrue",
			func(o *Optimizer, fn string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
				toNone := arg.Bool(true)
				if err := arg.Unpack(fn, args, kwargs, "set_to_none?", &toNone); err != nil {
					return nil, err
				}
				for _, d := range o.groups {
					g := &group{o: o, fn: fn, d: d}
					if err := zeroGrads(o.env, fn, g.params(), bool(toNone)); err != nil {
						return nil, err
					}
					if g.err != nil {
						return nil, g.err
					}
				}
				return starlark.None, nil
			}),
	)
}

func stepOptimizer(e *builtins.Env, thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var closure arg.OptCallable
	if err := arg.Unpack(b.Name(), args, kwargs, "closure?", &closure); err != nil {
		return nil, err
	}
	o := b.Receiver().(*Optimizer)
	if o.rule.whole != nil {
		if !closure.Set {
			return nil, &op.ArgError{Func: b.Name(), Param: "closure", Got: "None", Want: "a function that computes the gradients and returns the loss", Rule: o.rule.name + " calls it several times in a step"}
		}
		return o.rule.whole(o, thread, b.Name(), closure.V.Fn)
	}
	var loss starlark.Value = starlark.None
	if closure.Set {
		var err error
		if loss, err = o.evaluate(thread, closure.V.Fn); err != nil {
			return nil, err
		}
	}
	return loss, e.Runtime.Optimizing(func() error { return o.stepAll(b.Name()) })
}

// evaluate returns what a closure of a script does, called with recording on.
func (o *Optimizer) evaluate(thread *starlark.Thread, closure starlark.Callable) (starlark.Value, error) {
	defer o.env.Runtime.Tape.SetEnabled(true)()
	return starlark.Call(thread, closure, nil, nil)
}
