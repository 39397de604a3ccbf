package nn

import (
	"go.starlark.net/starlark"

	"tpsh/builtins"
)

// The hyperparameters that optimisers share.
var (
	lrHyper = &hyper{name: "lr", value: starlark.Float(1e-3), check: notNegative}

	betasHyper   = &hyper{name: "betas", value: starlark.Tuple{starlark.Float(0.9), starlark.Float(0.999)}, check: twoBetas}
	epsHyper     = &hyper{name: "eps", value: starlark.Float(1e-8), check: notNegative}
	amsgradHyper = &hyper{name: "amsgrad", value: starlark.False, check: trueOrFalse}
	// decoupledHyper says that weights decay apart from the gradient, as AdamW has it.
	decoupledHyper = &hyper{name: "decoupled_weight_decay", value: starlark.False, check: trueOrFalse, quiet: true}
)

var (
	sgdRule = &optimRule{
		name: "SGD",
		hyper: []*hyper{
			lrHyper,
			{name: "momentum", value: starlark.Float(0), check: notNegative},
			{name: "dampening", value: starlark.Float(0), check: anyNumber},
			{name: "weight_decay", value: starlark.Float(0), check: notNegative},
			{name: "nesterov", value: starlark.False, check: trueOrFalse},
		},
		all:     []string{"momentum_buffer"},
		buffers: sgdBuffers,
		update:  updateSGD,
		check:   checkNesterov,
	}
	adamRule = &optimRule{
		name:    "Adam",
		hyper:   []*hyper{lrHyper, betasHyper, epsHyper, {name: "weight_decay", value: starlark.Float(0), check: notNegative}, amsgradHyper, decoupledHyper},
		all:     adamTensors,
		buffers: adamBuffers,
		update:  updateAdam,
	}
	adamWRule = &optimRule{
		name:    "AdamW",
		hyper:   []*hyper{lrHyper, betasHyper, epsHyper, {name: "weight_decay", value: starlark.Float(0.01), check: notNegative}, amsgradHyper},
		all:     adamTensors,
		buffers: adamBuffers,
		update:  updateAdamW,
	}
)

func sgdBuffers(g *group) []string {
	if g.float("momentum") == 0 {
		return nil
	}
	return []string{"momentum_buffer"}
}

// adamTensors are what Adam keeps: m, v, and with amsgrad the greatest v.
var adamTensors = []string{"exp_avg", "exp_avg_sq", "max_exp_avg_sq"}

func adamBuffers(g *group) []string {
	if g.on("amsgrad") {
		return adamTensors
	}
	return adamTensors[:2]
}

const docParams = "params is a list of tensors, such as m.parameters(), or a list of dicts that have it\n" +
	"under \"params\" and hyperparameters of their own. The tensors are leaves that require\n" +
	"grad; a Parameter that does not is left alone. "

func init() {
	builtins.Register(&builtins.Row{
		Name: "optim", Namespace: true,
		Doc: "optim is the module of optimisers, which change parameters by their gradients.",
	})
	registerRule(sgdRule,
		"SGD(params, lr=1e-3, momentum=0, dampening=0, weight_decay=0, nesterov=False) returns an optimiser that goes down the gradient.\n"+
			docParams+"A step is, for the gradient d,\n"+
			"  d = d + weight_decay p\n"+
			"  b = momentum b + (1 - dampening) d, or d in the first step\n"+
			"  d = b, or with nesterov d + momentum b\n"+
			"  p = p - lr d\n"+
			"where the lines with b are there with a momentum only.\n",
		">>> w = tensor([2.0], requires_grad=True)\n"+
			">>> opt = optim.SGD([w], lr=0.25)\n"+
			">>> (w * w).sum().backward()\n"+
			">>> opt.step()\n"+
			">>> w.tolist()\n[1.0]")
	registerRule(adamRule,
		"Adam(params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, amsgrad=False, decoupled_weight_decay=False) returns an optimiser that divides a mean of gradients by the root of a mean of their squares.\n"+
			docParams+"Step t is, for the gradient d,\n"+
			"  d = d + weight_decay p\n"+
			"  m = m + (1 - beta1) (d - m)\n"+
			"  v = beta2 v + (1 - beta2) d²\n"+
			"  p = p - lr / (1 - beta1^t) m / (√v / √(1 - beta2^t) + eps)\n"+
			"and takes the greatest v so far with amsgrad. With decoupled_weight_decay it is AdamW.\n",
		">>> w = tensor([2.0], requires_grad=True)\n"+
			">>> opt = optim.Adam([w], lr=0.5)\n"+
			">>> (w * w).sum().backward()\n"+
			">>> opt.step()\n"+
			">>> w.tolist()\n[1.5]")
	registerRule(adamWRule,
		"AdamW(params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01, amsgrad=False) returns an optimiser that is Adam, but for the decay of the weights.\n"+
			docParams+"A step begins\n"+
			"with p = p (1 - lr weight_decay), and the gradient is left as it is; see Adam.\n",
		">>> w = tensor([2.0], requires_grad=True)\n"+
			">>> opt = optim.AdamW([w], lr=0.5, weight_decay=1.0)\n"+
			">>> (w * w).sum().backward()\n"+
			">>> opt.step()\n"+
			">>> fmt(w, \".4f\")\n\"0.5000\"")
}
