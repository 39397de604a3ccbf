package nn

import (
	"math"
	"slices"
	"strings"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/internal/libm"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// Optimisers that divide the gradient by a norm of those before it, in PyTorch's
// order of operations.

// num is a hyperparameter that is a number of 0 or more.
func num(name string, v float64) *hyper {
	return &hyper{name: name, value: starlark.Float(v), check: notNegative}
}

// A describedRule is a rule with its documentation, and an example where it is not
// the one of all.
type describedRule struct {
	rule         *optimRule
	doc, example string
}

var moreRules = []describedRule{
	{&optimRule{
		name: "RMSprop", all: []string{"square_avg", "grad_avg", "momentum_buffer"}, buffers: rmspropBuffers, update: updateRMSprop,
		hyper: []*hyper{num("lr", 0.01), num("alpha", 0.99), epsHyper, num("weight_decay", 0), num("momentum", 0), {name: "centered", value: starlark.False, check: trueOrFalse}},
	}, "RMSprop(params, lr=0.01, alpha=0.99, eps=1e-8, weight_decay=0, momentum=0, centered=False) returns an optimiser that divides gradients by the root of a mean of their squares.\n" +
		docParams + "With\ncentered the square of the mean is subtracted from that.\n", ""},
	{&optimRule{
		name: "Adagrad", all: []string{"sum"}, buffers: func(*group) []string { return []string{"sum"} }, update: updateAdagrad,
		hyper: []*hyper{num("lr", 0.01), num("lr_decay", 0), num("weight_decay", 0), num("initial_accumulator_value", 0), num("eps", 1e-10)},
	}, "Adagrad(params, lr=0.01, lr_decay=0, weight_decay=0, initial_accumulator_value=0, eps=1e-10) returns an optimiser that divides gradients by the root of the sum of their squares.\n" + docParams + "\n", ""},
	{&optimRule{
		name: "NAdam", all: adamTensors[:2], buffers: func(*group) []string { return adamTensors[:2] }, update: updateNAdam,
		hyper: []*hyper{num("lr", 2e-3), betasHyper, epsHyper, num("weight_decay", 0), num("momentum_decay", 4e-3), decoupledHyper},
	}, "NAdam(params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, momentum_decay=4e-3, decoupled_weight_decay=False) returns an optimiser that is Adam with Nesterov's momentum.\n" + docParams + "\n", ""},
	{&optimRule{
		name: "Adamax", all: []string{"exp_avg", "exp_inf"}, buffers: func(*group) []string { return []string{"exp_avg", "exp_inf"} }, update: updateAdamax,
		hyper: []*hyper{num("lr", 2e-3), betasHyper, epsHyper, num("weight_decay", 0)},
	}, "Adamax(params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0) returns an optimiser that is Adam with the greatest gradient in place of a mean of squares.\n" + docParams + "\n", ""},
	{&optimRule{
		name: "Adadelta", all: []string{"square_avg", "acc_delta"}, buffers: func(*group) []string { return []string{"square_avg", "acc_delta"} }, update: updateAdadelta,
		hyper: []*hyper{num("lr", 1), num("rho", 0.9), num("eps", 1e-6), num("weight_decay", 0)},
	}, "Adadelta(params, lr=1, rho=0.9, eps=1e-6, weight_decay=0) returns an optimiser that scales gradients by the roots of means of the squares of steps and of gradients.\n" + docParams + "\n", ""},
}

func init() { registerRules(moreRules) }

// registerRules registers the constructors of optimisers.
func registerRules(list []describedRule) {
	for _, r := range list {
		registerRule(r.rule, r.doc, r.example)
	}
}

// registerRule registers the constructor of optimisers of r, which take what all
// of them take besides. Its example is a usual one if there is none.
func registerRule(r *optimRule, doc, example string) {
	r.hyper = append(slices.Clone(r.hyper), commonHyper...)
	if example == "" {
		example = usualExample
	}
	builtins.Register(&builtins.Row{Name: "optim." + r.name, Fn: newOptimizer(r), MakeDoc: func() string {
		return strings.Replace(doc, ") returns", ", maximize=False, foreach=None, fused=None, capturable=False, differentiable=False) returns", 1) +
			strings.Replace(example, "%s", r.name, 1)
	}})
}

// usualExample is an example of an optimiser by its name.
const usualExample = ">>> w = tensor([2.0], requires_grad=True)\n>>> opt = optim.%s([w])\n>>> (w * w).sum().backward()\n>>> opt.step()\n>>> w.item() < 2\nTrue"

// commonHyper are hyperparameters of every optimiser: maximize goes up the
// gradient; foreach, fused and capturable, which say how PyTorch computes, change
// nothing, and steps are never recorded, as without differentiable.
var commonHyper = []*hyper{
	{name: "maximize", value: starlark.False, check: trueOrFalse, quiet: true},
	{name: "foreach", value: starlark.None, check: truthOrNone, quiet: true},
	{name: "fused", value: starlark.None, check: truthOrNone, quiet: true},
	{name: "capturable", value: starlark.False, check: trueOrFalse, quiet: true},
	{name: "differentiable", value: starlark.False, check: notRecorded, quiet: true},
}

// notRecorded checks that a step need not be differentiated.
func notRecorded(v starlark.Value) error {
	if v == starlark.False {
		return nil
	}
	return arg.Bad(v, "False", "steps are not recorded; p - lr * g, of gradients g made with create_graph=True, is")
}

// truthOrNone checks a bool or None.
func truthOrNone(v starlark.Value) error {
	if v == starlark.None {
		return nil
	}
	return trueOrFalse(v)
}

// decayed returns the gradient with the decay of the weights.
func (u *paramStep) decayed() *tensor.Tensor {
	if decay := u.g.float("weight_decay"); decay != 0 {
		return u.weighted(u.p, u.dp, decay, 1)
	}
	return u.dp
}

// root returns √x / by + eps.
func (u *paramStep) root(x *tensor.Tensor, by, eps float64) *tensor.Tensor {
	r := u.Do("sqrt", []*tensor.Tensor{x})
	if by != 1 {
		r = u.Do("div", []*tensor.Tensor{r, tensor.Number(by)})
	}
	return u.Do("add", []*tensor.Tensor{r, tensor.Number(eps)})
}

// over returns x / y, elementwise.
func (u *paramStep) over(x, y *tensor.Tensor) *tensor.Tensor {
	return u.Do("div", []*tensor.Tensor{x, y})
}

// square stores keep v + (1 - keep) d² in v.
func (u *paramStep) square(v, d *tensor.Tensor, keep float64) {
	u.Do("add_square_", []*tensor.Tensor{v, d}, op.Float1(keep), op.Float1(1-keep))
}

func rmspropBuffers(g *group) []string {
	names := []string{"square_avg"}
	if g.on("centered") {
		names = append(names, "grad_avg")
	}
	if g.float("momentum") != 0 {
		names = append(names, "momentum_buffer")
	}
	return names
}

func updateRMSprop(u *paramStep) {
	d, v, alpha := u.decayed(), u.buffer("square_avg"), u.g.float("alpha")
	u.square(v, d, alpha)
	if u.g.on("centered") {
		mean := u.buffer("grad_avg")
		u.Do("lerp_", []*tensor.Tensor{mean, d}, op.Float1(1-alpha))
		v = u.Do("sub", []*tensor.Tensor{v, u.Do("mul", []*tensor.Tensor{mean, mean})})
	}
	d = u.over(d, u.root(v, 1, u.g.float("eps")))
	if momentum := u.g.float("momentum"); momentum != 0 {
		b := u.buffer("momentum_buffer")
		u.weigh(b, d, momentum, 1)
		d = b
	}
	u.weigh(u.p, d, 1, -u.g.float("lr"))
}

func updateAdagrad(u *paramStep) {
	d, sum := u.decayed(), u.buffer("sum")
	if first := u.g.float("initial_accumulator_value"); first != 0 && u.state.steps == 1 {
		u.Do("add_", []*tensor.Tensor{sum, tensor.Number(first)})
	}
	u.Do("add_square_", []*tensor.Tensor{sum, d}, op.Float1(1), op.Float1(1))
	rate := u.g.float("lr") / (1 + float64(float64(u.state.steps-1)*u.g.float("lr_decay")))
	u.weigh(u.p, u.over(d, u.root(sum, 1, u.g.float("eps"))), 1, -rate)
}

// updateNAdam is Dozat, "Incorporating Nesterov momentum into Adam", 2016.
func updateNAdam(u *paramStep) {
	d, m, v := u.dp, u.buffer("exp_avg"), u.buffer("exp_avg_sq")
	if u.g.on("decoupled_weight_decay") {
		u.Do("mul_", []*tensor.Tensor{u.p, tensor.Number(1 - float64(u.g.float("lr")*u.g.float("weight_decay")))})
	} else {
		d = u.decayed()
	}
	beta1, beta2 := u.g.betas()
	t, lr := u.state.steps, u.g.float("lr")
	mu := func(t int) float64 {
		return float64(beta1 * (1 - float64(0.5*libm.Pow(0.96, float64(t)*u.g.float("momentum_decay")))))
	}
	product := 1.0
	for i := 1; i <= t; i++ {
		product *= mu(i)
	}
	u.Do("lerp_", []*tensor.Tensor{m, d}, op.Float1(1-beta1))
	u.square(v, d, beta2)
	root := u.root(v, math.Sqrt(1-libm.Pow(beta2, float64(t))), u.g.float("eps"))
	u.weigh(u.p, u.over(d, root), 1, -lr*(1-mu(t))/(1-product))
	u.weigh(u.p, u.over(m, root), 1, -lr*mu(t+1)/(1-float64(product*mu(t+1))))
}

func updateAdamax(u *paramStep) {
	d, m, most := u.decayed(), u.buffer("exp_avg"), u.buffer("exp_inf")
	beta1, beta2 := u.g.betas()
	u.Do("lerp_", []*tensor.Tensor{m, d}, op.Float1(1-beta1))
	now := u.Do("add", []*tensor.Tensor{u.Do("abs", []*tensor.Tensor{d}), tensor.Number(u.g.float("eps"))})
	before := u.Do("mul", []*tensor.Tensor{most, tensor.Number(beta2)})
	u.Do("copy_", []*tensor.Tensor{most, u.Do("maximum", []*tensor.Tensor{before, now})})
	u.weigh(u.p, u.over(m, most), 1, -u.g.float("lr")/(1-libm.Pow(beta1, float64(u.state.steps))))
}

func updateAdadelta(u *paramStep) {
	d, v, steps := u.decayed(), u.buffer("square_avg"), u.buffer("acc_delta")
	rho, eps := u.g.float("rho"), u.g.float("eps")
	u.square(v, d, rho)
	root := func(x *tensor.Tensor) *tensor.Tensor {
		return u.Do("sqrt", []*tensor.Tensor{u.Do("add", []*tensor.Tensor{x, tensor.Number(eps)})})
	}
	delta := u.Do("mul", []*tensor.Tensor{u.over(root(steps), root(v)), d})
	u.square(steps, delta, rho)
	u.weigh(u.p, delta, 1, -u.g.float("lr"))
}
