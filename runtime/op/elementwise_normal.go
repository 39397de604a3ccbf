package op

import (
	"fmt"
	"math"

	"tpsh/runtime/kernel"
	"tpsh/runtime/tensor"
)

// normalOps are functions of the module special of the normal distribution.
var normalOps = []*unaryOp{
	{name: "erfcx", returns: "e to the power x² times erfc(x), which does not underflow", row: kernel.Erfcx, example: specialExample("erfcx", "0.0", "1.0"),
		grad: func(t *Tape, x, y, dy *tensor.Tensor) *tensor.Tensor {
			return t.Mul(dy, t.AddNumber(t.Scale(t.Mul(x, y), 2), -2/math.Sqrt(math.Pi)))
		}},
	{name: "ndtr", returns: "the share of the standard normal distribution below x", row: kernel.Ndtr, example: specialExample("ndtr", "0.0", "0.5"), shard: Monotonic,
		grad: func(t *Tape, x, y, dy *tensor.Tensor) *tensor.Tensor {
			return t.Mul(dy, t.Scale(t.unary("exp", t.Scale(t.Mul(x, x), -0.5)), 1/math.Sqrt(2*math.Pi)))
		}},
	{name: "log_ndtr", returns: "the logarithm of ndtr(x), exact where that is near 0", row: kernel.LogNdtr, example: specialExample("log_ndtr", "0.0", "-0.6931471824645996"), shard: Monotonic,
		grad: func(t *Tape, x, y, dy *tensor.Tensor) *tensor.Tensor { // of the density over the share, both times e^(x²/2)
			share := t.unary("erfcx", t.Scale(x, -1/math.Sqrt2))
			return t.Mul(dy, t.Div(tensor.Number(math.Sqrt(2/math.Pi)), share))
		}},
	{name: "ndtri", returns: "the number below which a share x of the standard normal distribution lies", row: kernel.Ndtri, notes: "It is infinite at 0 and 1, and NaN beyond.\n", example: specialExample("ndtri", "0.5", "0.0"),
		grad: func(t *Tape, x, y, dy *tensor.Tensor) *tensor.Tensor {
			return t.Mul(dy, t.Scale(t.unary("exp", t.Scale(t.Mul(y, y), 0.5)), math.Sqrt(2*math.Pi)))
		}},
	{name: "entr", returns: "-x log(x), 0 where x is 0 and -inf where it is negative", row: kernel.Entr, example: specialExample("entr", "1.0", "-0.0"),
		grad: func(t *Tape, x, y, dy *tensor.Tensor) *tensor.Tensor {
			return t.Neg(t.Mul(dy, t.AddNumber(t.unary("log", x), 1)))
		}},
}

// specialExample is an example of a function of the module special.
func specialExample(name, at, gives string) string {
	return fmt.Sprintf(">>> special.%s(tensor([%s])).tolist()\n[%s]", name, at, gives)
}

// registerSpecial registers an operator of the module special, which gives floats; it
// need not have a gradient.
func registerSpecial(u *unaryOp) {
	u.float = true
	if u.surface == 0 {
		u.surface = Special
	}
	d := u.def()
	if u.grad == nil {
		d.Grad = nil
	}
	register(d)
}

func init() {
	for _, u := range normalOps {
		registerSpecial(u)
	}
	register((&binaryOp{row: kernel.Xlog1py, float: true, wants: "numbers"}).def(&Def{
		Name:    "xlog1py",
		Surface: Special,
		Doc: "xlog1py(x, other) returns x * log(1 + other), and 0 where x is 0 unless other is NaN, elementwise.\n" +
			"x and other are broadcast. Integers and bools give the default float dtype.\n" +
			">>> special.xlog1py(tensor([0.0]), tensor([-1.0])).tolist()\n" +
			"[0.0]",
		Grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			x, y, _ := t.operands(c)
			return t.broadcastGrads(c, func() *tensor.Tensor {
				flat := t.And(t.isZero(x), t.binary("le", y, tensor.Number(-1.0)))
				return t.Where(flat, tensor.Number(0.0), t.Mul(dy[0], t.unary("log1p", y)))
			}, func() *tensor.Tensor { return t.Mul(dy[0], t.Div(x, t.AddNumber(y, 1))) })
		},
		Shard: Elementwise,
	}))
	register((&binaryOp{row: kernel.GammaInc, float: true, wants: "numbers"}).def(&Def{
		Name:    "igamma",
		Surface: bothSides,
		Doc: "igamma(x, other) returns the regularised lower incomplete gamma function of order x at other, elementwise.\n" +
			"It is NaN where one of them is negative. There is a gradient for other alone.\n" +
			">>> igamma(tensor([1.0]), tensor([0.0])).tolist()\n" +
			"[0.0]",
		Grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			return t.broadcastGrads(c, t.noGradOf(c, "x"), func() *tensor.Tensor { return t.Mul(dy[0], t.gammaDensity(c)) })
		},
		Shard: Elementwise,
	}))
	register((&binaryOp{row: kernel.GammaIncC, float: true, wants: "numbers"}).def(&Def{
		Name:    "igammac",
		Surface: bothSides,
		Doc: "igammac(x, other) returns the regularised upper incomplete gamma function of order x at other, elementwise.\n" +
			"It is NaN where one of them is negative. There is a gradient for other alone.\n" +
			">>> igammac(tensor([1.0]), tensor([0.0])).tolist()\n" +
			"[1.0]",
		Grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			return t.broadcastGrads(c, t.noGradOf(c, "x"), func() *tensor.Tensor { return t.Neg(t.Mul(dy[0], t.gammaDensity(c))) })
		},
		Shard: Elementwise,
	}))
	register((&binaryOp{row: kernel.Zeta, float: true, wants: "numbers"}).def(&Def{
		Name:    "zeta",
		Surface: Special,
		Doc: "zeta(x, other) returns Hurwitz's zeta function, the sum of (other + k) to the power -x over all k from 0, elementwise.\n" +
			"There is a gradient for other alone.\n" +
			">>> special.zeta(tensor([2.0]), 1.0).tolist()\n" +
			"[1.644934058189392]",
		Grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			return t.broadcastGrads(c, t.noGradOf(c, "x"), func() *tensor.Tensor {
				x, q, _ := t.operands(c)
				return t.Neg(t.Mul(dy[0], t.Mul(x, t.binary("zeta", t.AddNumber(x, 1), q))))
			})
		},
		Shard: Elementwise,
	}))
}

// gammaDensity is the derivative of the lower incomplete gamma function in its second
// operand: e^-y y^(x-1) / Γ(x).
func (t *Tape) gammaDensity(c *Call) *tensor.Tensor {
	x, y, _ := t.operands(c)
	power := t.Mul(t.AddNumber(x, -1), t.unary("log", y))
	return t.unary("exp", t.Sub(t.Sub(power, y), t.unary("lgamma", x)))
}

// noGradOf returns what makes the gradient of a parameter that has none: an error.
func (t *Tape) noGradOf(c *Call, param string) func() *tensor.Tensor {
	return func() *tensor.Tensor {
		panic(&TapeError{c.Bad(param, "a tensor that requires grad", "one that does not", "no derivative of "+c.Def.Name+" is known there")})
	}
}
