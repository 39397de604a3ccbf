package nn

import (
	"fmt"
	"math"

	"go.starlark.net/starlark"

	"tpsh/builtins/arg"
	"tpsh/internal/libm"
	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// Optimisers of PyTorch's later years, in its order of operations.

var newerRules = []describedRule{
	{&optimRule{
		name: "RAdam", all: adamTensors[:2], buffers: func(*group) []string { return adamTensors[:2] }, update: updateRAdam,
		hyper: []*hyper{num("lr", 1e-3), betasHyper, epsHyper, num("weight_decay", 0), {name: "decoupled_weight_decay", value: starlark.False, check: trueOrFalse}},
	}, "RAdam(params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, decoupled_weight_decay=False) returns an optimiser that is Adam once the variance of its first steps is known well enough.\n" + docParams + "\n", ""},
	{&optimRule{
		name: "ASGD", all: []string{"ax"}, buffers: func(*group) []string { return []string{"ax"} }, update: updateASGD,
		hyper: []*hyper{num("lr", 0.01), num("lambd", 1e-4), num("alpha", 0.75), num("t0", 1e6), num("weight_decay", 0)},
	}, "ASGD(params, lr=0.01, lambd=1e-4, alpha=0.75, t0=1e6, weight_decay=0) returns an optimiser that goes down the gradient and keeps the mean of the parameters from step t0 on, as \"ax\" of its state.\n" + docParams + "\n", ""},
	{&optimRule{
		name: "Lion", all: adamTensors[:1], buffers: func(*group) []string { return adamTensors[:1] }, update: updateLion,
		hyper: []*hyper{num("lr", 1e-4), {name: "betas", value: starlark.Tuple{starlark.Float(0.9), starlark.Float(0.99)}, check: twoBetas}, num("weight_decay", 0)},
	}, "Lion(params, lr=1e-4, betas=(0.9, 0.99), weight_decay=0) returns an optimiser that steps by the signs of a mean of gradients.\n" + docParams + "\n", ""},
	{&optimRule{
		name: "Muon", all: []string{"momentum_buffer"}, buffers: func(*group) []string { return []string{"momentum_buffer"} }, update: updateMuon, check: checkMuon,
		hyper: []*hyper{num("lr", 1e-3), num("weight_decay", 0.1), num("momentum", 0.95), {name: "nesterov", value: starlark.True, check: trueOrFalse},
			{name: "ns_coefficients", value: starlark.Tuple{starlark.Float(3.4445), starlark.Float(-4.775), starlark.Float(2.0315)}, check: threeNumbers},
			num("eps", 1e-7), {name: "ns_steps", value: starlark.MakeInt(5), check: below100}, {name: "adjust_lr_fn", value: starlark.None, check: adjustment}},
	}, "Muon(params, lr=1e-3, weight_decay=0.1, momentum=0.95, nesterov=True, ns_coefficients=(3.4445, -4.775, 2.0315), eps=1e-7, ns_steps=5, adjust_lr_fn=None) returns an optimiser of matrices that steps by the gradient made near orthogonal.\n" +
		docParams + "They are\nmatrices. ns_steps steps of Newton and Schulz, in bfloat16, push the singular values of a\nmean of gradients towards 1; of one that ranks hold together they are done on the whole, by\n" +
		"each rank. adjust_lr_fn says how the step grows with a matrix: \"original\", as None,\n\"match_rms_adamw\" or \"spectral_unclamped\".\n",
		">>> w = tensor([[2.0, 0.0], [0.0, 1.0]], requires_grad=True)\n>>> opt = optim.Muon([w])\n>>> (w * w).sum().backward()\n>>> opt.step()\n>>> w[0, 0].item() < 2\nTrue"},
}

func init() { registerRules(newerRules) }

// updateRAdam is Liu et al., "On the variance of the adaptive learning rate and
// beyond", ICLR 2020.
func updateRAdam(u *paramStep) {
	d, m, v := u.dp, u.buffer("exp_avg"), u.buffer("exp_avg_sq")
	beta1, beta2 := u.g.betas()
	t, lr, decay := float64(u.state.steps), u.g.float("lr"), u.g.float("weight_decay")
	switch {
	case decay != 0 && u.g.on("decoupled_weight_decay"):
		u.Do("mul_", []*tensor.Tensor{u.p, tensor.Number(1 - float64(lr*decay))})
	case decay != 0:
		d = u.decayed()
	}
	u.Do("lerp_", []*tensor.Tensor{m, d}, op.Float1(1-beta1))
	u.square(v, d, beta2)
	mean := u.Do("div", []*tensor.Tensor{m, tensor.Number(1 - libm.Pow(beta1, t))})
	correction, longest := 1-libm.Pow(beta2, t), 2/(1-beta2)-1
	length := longest - 2*t*libm.Pow(beta2, t)/correction
	if length > 5 {
		rect := math.Sqrt((length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length))
		mean = u.over(mean, u.root(v, 1, u.g.float("eps")))
		lr *= math.Sqrt(correction) * rect
	}
	u.weigh(u.p, mean, 1, -lr)
}

// updateASGD is Polyak and Juditsky, "Acceleration of stochastic approximation by
// averaging", 1992.
func updateASGD(u *paramStep) {
	d, mean := u.decayed(), u.buffer("ax")
	lambda, lr := u.g.float("lambd"), u.g.float("lr")
	before := float64(u.state.steps - 1)
	rate := lr / libm.Pow(1+float64(lambda*lr*before), u.g.float("alpha"))
	u.Do("mul_", []*tensor.Tensor{u.p, tensor.Number(1 - float64(lambda*rate))})
	u.weigh(u.p, d, 1, -rate)
	if share := 1 / math.Max(1, before-u.g.float("t0")); share != 1 {
		u.Do("lerp_", []*tensor.Tensor{mean, u.p}, op.Float1(share))
	} else {
		u.Do("copy_", []*tensor.Tensor{mean, u.p})
	}
}

// updateLion is Chen et al., "Symbolic discovery of optimization algorithms", 2023.
func updateLion(u *paramStep) {
	m := u.buffer("exp_avg")
	beta1, beta2 := u.g.betas()
	lr := u.g.float("lr")
	if decay := u.g.float("weight_decay"); decay != 0 {
		u.Do("mul_", []*tensor.Tensor{u.p, tensor.Number(1 - float64(lr*decay))})
	}
	way := u.Do("sign", []*tensor.Tensor{u.weighted(m, u.dp, beta1, 1-beta1)})
	u.weigh(u.p, way, 1, -lr)
	u.weigh(m, u.dp, beta2, 1-beta2)
}

// updateMuon is Jordan et al., "Muon: an optimizer for hidden layers in neural
// networks", 2024.
func updateMuon(u *paramStep) {
	b, momentum, lr := u.buffer("momentum_buffer"), u.g.float("momentum"), u.g.float("lr")
	u.Do("lerp_", []*tensor.Tensor{b, u.dp}, op.Float1(1-momentum))
	d := b
	if u.g.on("nesterov") {
		d = u.weighted(u.dp, b, 1-momentum, momentum)
	}
	d = u.orthogonal(d)
	if u.Err != nil {
		return
	}
	rows, cols := float64(u.p.Shape()[0]), float64(u.p.Shape()[1])
	ratio := math.Sqrt(math.Max(1, rows/cols))
	switch u.g.get("adjust_lr_fn") {
	case starlark.String("match_rms_adamw"):
		ratio = 0.2 * math.Sqrt(math.Max(rows, cols))
	case starlark.String("spectral_unclamped"):
		ratio = math.Sqrt(rows / cols)
	}
	u.Do("mul_", []*tensor.Tensor{u.p, tensor.Number(1 - float64(lr*u.g.float("weight_decay")))})
	u.weigh(u.p, d, 1, -lr*ratio)
}

// orthogonal returns d, a matrix, with its singular values near 1, in bfloat16. Of
// one that ranks hold together each computes all, so that it comes to the same.
func (u *paramStep) orthogonal(d *tensor.Tensor) *tensor.Tensor {
	x := u.Do("to", []*tensor.Tensor{d}, op.Int1(int(dtype.BFloat16)))
	if u.Err == nil && x.Placed() {
		x, u.Err = u.E.Whole(u.Fn, x)
	}
	if u.Err != nil {
		return nil
	}
	turned := x.Shape()[0] > x.Shape()[1]
	turn := func(x *tensor.Tensor) *tensor.Tensor {
		if turned {
			return u.Do("T", []*tensor.Tensor{x})
		}
		return x
	}
	x = turn(x)
	norm := u.Do("norm", []*tensor.Tensor{x}, op.Float1(2), op.None, op.Bool1(false))
	norm = u.Do("clamp", []*tensor.Tensor{norm}, op.Float1(u.g.float("eps")), op.None)
	x = u.over(x, norm)
	var c arg.List
	u.Fail(c.Unpack(u.g.get("ns_coefficients")))
	steps, err := arg.ToInt(u.g.get("ns_steps"))
	u.Fail(err)
	if u.Err != nil {
		return nil
	}
	var abc [3]float64
	for i := range abc {
		abc[i], _ = starlark.AsFloat(c[i])
	}
	for range steps {
		gram := u.Do("matmul", []*tensor.Tensor{x, u.Do("T", []*tensor.Tensor{x})})
		gram = u.Do("addmm", []*tensor.Tensor{gram, gram, gram}, op.Float1(abc[1]), op.Float1(abc[2]))
		x = u.Do("addmm", []*tensor.Tensor{x, gram, x}, op.Float1(abc[0]), op.Float1(1))
	}
	return turn(x)
}

// checkMuon refuses parameters that are no matrices.
func checkMuon(g *group) error {
	for i, x := range g.params() {
		if t, err := x.Tensor(); err != nil {
			return err
		} else if t.Ndim() != 2 {
			return &op.ArgError{Func: g.fn, Param: "params", Got: fmt.Sprintf("%s at index %d", op.Describe(t), i), Want: "matrices", Rule: "AdamW is for the other parameters"}
		} else if stored, err := Leaf(x); err != nil {
			return err
		} else if stored.Ndim() != 2 {
			return &op.ArgError{Func: g.fn, Param: "params", Got: fmt.Sprintf("a part of a parameter at index %d", i), Want: "whole or distributed matrices", Rule: "fully_shard has each rank store a row of numbers"}
		}
	}
	return nil
}

// threeNumbers checks three numbers.
func threeNumbers(v starlark.Value) error {
	var list arg.List
	if err := list.Unpack(v); err != nil || len(list) != 3 {
		return arg.Bad(v, "three numbers", "")
	}
	for i, x := range list {
		if new(arg.Float).Unpack(x) != nil {
			return arg.BadItem(x, i, "a number")
		}
	}
	return nil
}

// below100 checks a number of steps.
func below100(v starlark.Value) error {
	if n, err := arg.ToInt(v); err != nil || n < 0 || n >= 100 {
		return arg.Bad(v, "an int from 0 to 99", "")
	}
	return nil
}

// adjustment checks the name of what scales a step of Muon.
func adjustment(v starlark.Value) error {
	switch v {
	case starlark.None, starlark.String("original"), starlark.String("match_rms_adamw"), starlark.String("spectral_unclamped"):
		return nil
	}
	return arg.Bad(v, `None, "original", "match_rms_adamw" or "spectral_unclamped"`, "")
}
