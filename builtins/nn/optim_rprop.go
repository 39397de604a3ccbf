package nn

import (
	"math"

	"go.starlark.net/starlark"

	"tpsh/builtins/arg"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// Rprop, which keeps a step size for every element, in PyTorch's order of
// operations.

func init() {
	registerRules([]describedRule{{&optimRule{
		name: "Rprop", all: rpropTensors, buffers: func(*group) []string { return rpropTensors }, update: updateRprop,
		hyper: []*hyper{num("lr", 0.01),
			{name: "etas", value: starlark.Tuple{starlark.Float(0.5), starlark.Float(1.2)}, check: twoEtas},
			{name: "step_sizes", value: starlark.Tuple{starlark.Float(1e-6), starlark.Float(50)}, check: twoSteps}},
	}, "Rprop(params, lr=0.01, etas=(0.5, 1.2), step_sizes=(1e-6, 50)) returns an optimiser that steps by the sign of the gradient, each element by a step size of its own.\n" + docParams +
		"A step size begins\nas lr. It is multiplied by etas[1] where the sign of the gradient is that of the step\nbefore, by etas[0] where it has turned, and there is no step then; it stays within\nstep_sizes.\n", ""}})
}

var rpropTensors = []string{"prev", "step_size"}

// updateRprop is Riedmiller and Braun, "A direct adaptive method for faster
// backpropagation learning: the RPROP algorithm", ICNN 1993.
func updateRprop(u *paramStep) {
	before, size := u.buffer("prev"), u.buffer("step_size")
	if u.state.steps == 1 {
		u.Do("fill_", []*tensor.Tensor{size, tensor.Number(u.g.float("lr"))})
	}
	less, more := u.g.pair("etas")
	least, most := u.g.pair("step_sizes")
	turn := u.Do("mul", []*tensor.Tensor{u.dp, before})
	turned := u.Do("lt", []*tensor.Tensor{turn, tensor.Number(0.0)})
	kept := u.Do("gt", []*tensor.Tensor{turn, tensor.Number(0.0)})
	u.Do("mul_", []*tensor.Tensor{size, u.choose(kept, tensor.Number(more), u.choose(turned, tensor.Number(less), tensor.Number(1.0)))})
	u.Do("clamp_", []*tensor.Tensor{size}, op.Float1(least), op.Float1(most))
	d := u.choose(turned, tensor.Number(0.0), u.dp)
	step := u.Do("mul", []*tensor.Tensor{u.Do("sign", []*tensor.Tensor{d}), size})
	u.weigh(u.p, step, 1, -1)
	u.Do("copy_", []*tensor.Tensor{before, d})
}

// choose returns x where the condition holds, and y elsewhere.
func (u *paramStep) choose(where, x, y *tensor.Tensor) *tensor.Tensor {
	return u.Do("where", []*tensor.Tensor{where, x, y})
}

// twoNumbers returns v, a pair of finite numbers.
func twoNumbers(v starlark.Value) (a, b float64, ok bool) {
	var pair arg.List
	if err := pair.Unpack(v); err != nil || len(pair) != 2 {
		return 0, 0, false
	}
	var x, y arg.Float
	if x.Unpack(pair[0]) != nil || y.Unpack(pair[1]) != nil || math.IsInf(float64(x), 0) || math.IsInf(float64(y), 0) {
		return 0, 0, false
	}
	return float64(x), float64(y), true
}

// twoEtas checks a factor between 0 and 1 and one above 1.
func twoEtas(v starlark.Value) error {
	if a, b, ok := twoNumbers(v); !ok || !(0 < a && a < 1 && 1 < b) {
		return arg.Bad(v, "a number between 0 and 1, and one above 1", "")
	}
	return nil
}

// twoSteps checks the least and the greatest step size.
func twoSteps(v starlark.Value) error {
	if a, b, ok := twoNumbers(v); !ok || !(0 <= a && a <= b) {
		return arg.Bad(v, "two non-negative numbers, the second not below the first", "")
	}
	return nil
}
