package nn

import (
	"fmt"
	"math"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/internal/libm"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// Adafactor, which keeps of a matrix's mean of squares the means of its rows and
// of its columns, in PyTorch's order of operations.

func init() {
	registerRules([]describedRule{{&optimRule{
		name: "Adafactor", all: adafactorTensors, buffers: func(*group) []string { return adafactorTensors }, over: adafactorDims, update: updateAdafactor, check: checkWhole,
		hyper: []*hyper{num("lr", 0.01), {name: "beta2_decay", value: starlark.Float(-0.8), check: notPositive}, {name: "eps", value: starlark.Tuple{starlark.None, starlark.Float(1e-3)}, check: twoEps},
			{name: "d", value: starlark.Float(1), check: atLeastOne}, num("weight_decay", 0)},
	}, "Adafactor(params, lr=0.01, beta2_decay=-0.8, eps=(None, 1e-3), d=1.0, weight_decay=0) returns an optimiser that keeps little: of a parameter of two dims and more a mean of squares for each row and each column.\n" + docParams +
		"A step is\nas long as the parameter, times lr or 1 / √t in step t, the less of both: by the root of the\nmean of its squares, or eps[1] if that is more. eps[0], the least mean of squares to\ndivide by, is the distance from 1 to the next number where it is None. An update whose root\nmean square is above d is scaled down to it.\n",
		">>> w = tensor([[2.0, 1.0], [1.0, 3.0]], requires_grad=True)\n>>> opt = optim.Adafactor([w])\n>>> (w * w).sum().backward()\n>>> opt.step()\n>>> sorted([(k, v.shape) for k, v in opt.state_dict()[\"state\"][\"0\"].items() if k != \"step\"])\n[(\"col_var\", (1, 2)), (\"row_var\", (2, 1))]"}})
}

var adafactorTensors = []string{"row_var", "col_var", "variance"}

// adafactorDims returns the dim over which the buffer called name is a mean: a row
// has one number in row_var, a column one in col_var. What has fewer than two dims
// has a variance for each element.
func adafactorDims(name string, of shape.Shape) (dim int, kept bool) {
	switch name {
	case "row_var":
		return len(of) - 1, len(of) > 1
	case "col_var":
		return len(of) - 2, len(of) > 1
	}
	return wholeBuffer, len(of) < 2
}

// updateAdafactor is Shazeer and Stern, "Adafactor: adaptive learning rates with
// sublinear memory cost", ICML 2018.
func updateAdafactor(u *paramStep) {
	n := float64(u.p.Numel())
	if n == 0 {
		return
	}
	t, lr := float64(u.state.steps), u.g.float("lr")
	share := libm.Pow(t, u.g.float("beta2_decay"))
	eps1, eps2 := u.g.adafactorEps(u.p)
	length := u.scaled(u.norm(u.p, nil), 1/math.Sqrt(n))
	length = u.scaled(u.Do("clamp", []*tensor.Tensor{length}, op.Float1(eps2), op.None), math.Min(lr, 1/math.Sqrt(t)))
	if decay := u.g.float("weight_decay"); decay != 0 {
		u.Do("mul_", []*tensor.Tensor{u.p, tensor.Number(1 - float64(lr*decay))})
	}
	squares := u.adafactorSquares(share, eps1)
	update := u.Do("rsqrt", []*tensor.Tensor{u.Do("clamp", []*tensor.Tensor{squares}, op.Float1(eps1*eps1), op.None)})
	update = u.Do("mul", []*tensor.Tensor{update, u.dp})
	excess := u.scaled(u.norm(update, nil), 1/(math.Sqrt(n)*u.g.float("d")))
	rate := u.over(length, u.Do("clamp", []*tensor.Tensor{excess}, op.Float1(1), op.None))
	u.weigh(u.p, u.Do("mul", []*tensor.Tensor{update, rate}), 1, -1)
}

// adafactorSquares takes the squares of the gradient into their means, in which
// they count for share, and returns what those say of each element.
func (u *paramStep) adafactorSquares(share, eps float64) *tensor.Tensor {
	dims := u.p.Ndim()
	if dims < 2 {
		variance := u.buffer("variance")
		u.Do("lerp_", []*tensor.Tensor{variance, u.Do("mul", []*tensor.Tensor{u.dp, u.dp})}, op.Float1(share))
		return variance
	}
	var means [2]*tensor.Tensor
	for i, name := range adafactorTensors[:2] {
		dim := dims - 1 - i
		norm := u.norm(u.dp, &dim)
		squares := u.scaled(u.Do("mul", []*tensor.Tensor{norm, norm}), 1/float64(u.p.Shape()[dim]))
		means[i] = u.buffer(name)
		u.Do("lerp_", []*tensor.Tensor{means[i], squares}, op.Float1(share))
	}
	mean := u.Do("mean", []*tensor.Tensor{means[0]}, op.IntsN(dims-2), op.Bool1(true))
	mean = u.Do("clamp", []*tensor.Tensor{mean}, op.Float1(eps), op.None)
	return u.over(u.Do("mul", []*tensor.Tensor{means[0], means[1]}), mean)
}

// norm returns the root of the sum of squares of x, along dim where it is given.
func (u *paramStep) norm(x *tensor.Tensor, dim *int) *tensor.Tensor {
	if dim == nil {
		return u.Do("norm", []*tensor.Tensor{x}, op.Float1(2), op.None, op.Bool1(false))
	}
	return u.Do("norm", []*tensor.Tensor{x}, op.Float1(2), op.IntsN(*dim), op.Bool1(true))
}

// scaled returns x times by.
func (u *paramStep) scaled(x *tensor.Tensor, by float64) *tensor.Tensor {
	return u.Do("mul", []*tensor.Tensor{x, tensor.Number(by)})
}

// adafactorEps returns the hyperparameter eps, for the parameter p.
func (g *group) adafactorEps(p *tensor.Tensor) (square, length float64) {
	square, length = g.pair("eps")
	if list, _ := g.get("eps").(starlark.Indexable); list != nil && list.Index(0) == starlark.None {
		square = builtins.Epsilon(p.DType())
	}
	return square, length
}

// checkWhole refuses parameters of which this rank stores a part as a row of
// numbers: they have no rows and columns, and other ranks have the rest.
func checkWhole(g *group) error {
	for i, x := range g.params() {
		stored, of, err := storeOf(x).Stored(x)
		if err != nil {
			return err
		}
		if !stored.Shape().Equal(of) {
			return &op.ArgError{Func: g.fn, Param: "params", Got: fmt.Sprintf("a part of a parameter at index %d", i), Want: "whole or distributed parameters", Rule: "fully_shard has each rank store a row of numbers"}
		}
	}
	return nil
}

// notPositive checks a number that is 0 or less.
func notPositive(v starlark.Value) error {
	var f arg.Float
	if err := f.Unpack(v); err != nil || !(f <= 0) || math.IsInf(float64(f), 0) {
		return arg.Bad(v, "a number that is not above 0", "")
	}
	return nil
}

// atLeastOne checks a number that is 1 or more.
func atLeastOne(v starlark.Value) error {
	var f arg.Float
	if err := f.Unpack(v); err != nil || !(f >= 1) || math.IsInf(float64(f), 0) {
		return arg.Bad(v, "a number from 1 on", "")
	}
	return nil
}

// twoEps checks two non-negative numbers, of which the first may be None.
func twoEps(v starlark.Value) error {
	var pair arg.List
	if pair.Unpack(v) != nil || len(pair) != 2 || (pair[0] != starlark.None && notNegative(pair[0]) != nil) || notNegative(pair[1]) != nil {
		return arg.Bad(v, "two non-negative numbers, or None and one", "")
	}
	return nil
}
