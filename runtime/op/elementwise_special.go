package op

import (
	"fmt"
	"math"

	"tpsh/runtime/kernel"
	"tpsh/runtime/tensor"
)

// specialOps are further elementwise operators of one tensor, with PyTorch's names.
var specialOps = []*unaryOp{
	{
		name: "log1p", returns: "the natural logarithm of 1 + x, exact for small x", row: kernel.Log1p, float: true,
		example: ">>> tensor([0.0, 1e-10]).log1p().tolist()\n[0.0, 1.000000013351432e-10]",
		grad: func(t *Tape, x, y, dy *tensor.Tensor) *tensor.Tensor {
			return t.Div(dy, t.AddNumber(x, 1))
		},
	},
	{
		name: "expm1", returns: "e to the power x, less 1, exact for small x", row: kernel.Expm1, float: true,
		example: ">>> tensor([0.0, 1e-10]).expm1().tolist()\n[0.0, 1.000000013351432e-10]",
		grad:    func(t *Tape, x, y, dy *tensor.Tensor) *tensor.Tensor { return t.Mul(dy, t.AddNumber(y, 1)) },
		shard:   Monotonic,
	},
	{
		name: "log2", returns: "the logarithm of x to the base 2", row: kernel.Log2, float: true,
		example: ">>> tensor([8.0]).log2().tolist()\n[3.0]",
		grad:    func(t *Tape, x, y, dy *tensor.Tensor) *tensor.Tensor { return t.Div(dy, t.Scale(x, math.Ln2)) },
	},
	{
		name: "log10", returns: "the logarithm of x to the base 10", row: kernel.Log10, float: true,
		example: ">>> tensor([100.0]).log10().tolist()\n[2.0]",
		grad:    func(t *Tape, x, y, dy *tensor.Tensor) *tensor.Tensor { return t.Div(dy, t.Scale(x, math.Ln10)) },
	},
	{
		name: "exp2", returns: "2 to the power x", row: kernel.Exp2, float: true,
		example: ">>> tensor([3.0]).exp2().tolist()\n[8.0]",
		grad:    func(t *Tape, x, y, dy *tensor.Tensor) *tensor.Tensor { return t.Mul(dy, t.Scale(y, math.Ln2)) },
		shard:   Monotonic,
	},
	{
		name: "tan", returns: "the tangent of x, an angle in radians", row: kernel.Tan, float: true,
		example: ">>> tensor([0.0]).tan().tolist()\n[0.0]",
		grad: func(t *Tape, x, y, dy *tensor.Tensor) *tensor.Tensor {
			return t.Mul(dy, t.AddNumber(t.Mul(y, y), 1))
		},
	},
	{
		name: "asin", returns: "the angle in radians whose sine is x", row: kernel.Asin, float: true,
		notes: "It is NaN beyond -1 and 1.\n", example: ">>> tensor([0.0]).asin().tolist()\n[0.0]",
		grad: func(t *Tape, x, y, dy *tensor.Tensor) *tensor.Tensor { return t.Mul(dy, t.rootOf1Minus(x)) },
	},
	{
		name: "acos", returns: "the angle in radians whose cosine is x", row: kernel.Acos, float: true,
		notes: "It is NaN beyond -1 and 1.\n", example: ">>> tensor([1.0]).acos().tolist()\n[0.0]",
		grad: func(t *Tape, x, y, dy *tensor.Tensor) *tensor.Tensor {
			return t.Neg(t.Mul(dy, t.rootOf1Minus(x)))
		},
	},
	{
		name: "atan", returns: "the angle in radians whose tangent is x", row: kernel.Atan, float: true,
		example: ">>> tensor([0.0]).atan().tolist()\n[0.0]",
		grad: func(t *Tape, x, y, dy *tensor.Tensor) *tensor.Tensor {
			return t.Div(dy, t.AddNumber(t.Mul(x, x), 1))
		},
		shard: Monotonic,
	},
	{
		name: "sinh", returns: "the hyperbolic sine of x", row: kernel.Sinh, float: true,
		example: ">>> tensor([0.0]).sinh().tolist()\n[0.0]",
		grad:    func(t *Tape, x, y, dy *tensor.Tensor) *tensor.Tensor { return t.Mul(dy, t.unary("cosh", x)) },
		shard:   Monotonic,
	},
	{
		name: "cosh", returns: "the hyperbolic cosine of x", row: kernel.Cosh, float: true,
		example: ">>> tensor([0.0]).cosh().tolist()\n[1.0]",
		grad:    func(t *Tape, x, y, dy *tensor.Tensor) *tensor.Tensor { return t.Mul(dy, t.unary("sinh", x)) },
	},
	{
		name: "asinh", returns: "the number whose hyperbolic sine is x", row: kernel.Asinh, float: true,
		example: ">>> tensor([0.0]).asinh().tolist()\n[0.0]",
		grad: func(t *Tape, x, y, dy *tensor.Tensor) *tensor.Tensor {
			return t.Mul(dy, t.unary("rsqrt", t.AddNumber(t.Mul(x, x), 1)))
		},
		shard: Monotonic,
	},
	{
		name: "acosh", returns: "the number from 0 on whose hyperbolic cosine is x", row: kernel.Acosh, float: true,
		notes: "It is NaN below 1.\n", example: ">>> tensor([1.0]).acosh().tolist()\n[0.0]",
		grad: func(t *Tape, x, y, dy *tensor.Tensor) *tensor.Tensor {
			return t.Mul(dy, t.unary("rsqrt", t.AddNumber(t.Mul(x, x), -1)))
		},
	},
	{
		name: "atanh", returns: "the number whose hyperbolic tangent is x", row: kernel.Atanh, float: true,
		notes: "It is NaN beyond -1 and 1.\n", example: ">>> tensor([0.0]).atanh().tolist()\n[0.0]",
		grad: func(t *Tape, x, y, dy *tensor.Tensor) *tensor.Tensor {
			return t.Div(dy, t.AddNumber(t.Neg(t.Mul(x, x)), 1))
		},
	},
	{
		name: "erfc", returns: "1 less the error function of x, exact for large x", row: kernel.Erfc, float: true,
		example: ">>> tensor([0.0]).erfc().tolist()\n[1.0]",
		grad: func(t *Tape, x, y, dy *tensor.Tensor) *tensor.Tensor {
			slope := t.Scale(t.unary("exp", t.Neg(t.Mul(x, x))), -2/math.Sqrt(math.Pi))
			return t.Mul(dy, slope)
		},
	},
	{
		name: "erfinv", returns: "the number whose error function is x", row: kernel.Erfinv, float: true,
		notes: "It is infinite at -1 and 1, and NaN beyond.\n", example: ">>> tensor([0.0]).erfinv().tolist()\n[0.0]",
		grad: func(t *Tape, x, y, dy *tensor.Tensor) *tensor.Tensor {
			slope := t.Scale(t.unary("exp", t.Mul(y, y)), math.Sqrt(math.Pi)/2)
			return t.Mul(dy, slope)
		},
	},
	{
		name: "lgamma", returns: "the natural logarithm of the gamma function's absolute value at x", row: kernel.Lgamma, float: true,
		example: ">>> tensor([1.0, 2.0]).lgamma().tolist()\n[0.0, 0.0]",
		grad:    func(t *Tape, x, y, dy *tensor.Tensor) *tensor.Tensor { return t.Mul(dy, t.unary("digamma", x)) },
	},
	{
		name: "digamma", returns: "the derivative of lgamma at x", row: kernel.Digamma, float: true,
		example: ">>> tensor([1.0]).digamma().tolist()\n[-0.5772156715393066]",
		grad: func(t *Tape, x, y, dy *tensor.Tensor) *tensor.Tensor {
			return t.Mul(dy, t.Do("polygamma_of", one(x), Int1(1)))
		},
	},
	{
		name: "fraction", surface: Internal, returns: "the fraction of x, from 1/2 to 1 in absolute value", row: kernel.Fraction, float: true,
		grad: func(t *Tape, x, y, dy *tensor.Tensor) *tensor.Tensor {
			return t.Div(dy, t.unary("exp2", t.unary("exponent", x)))
		},
	},
	{
		name: "exponent", surface: Internal, returns: "the power of 2 that fraction(x) times is x", row: kernel.Exponent, float: true,
		grad: zeroGrad,
	},
	{
		name: "trunc", returns: "x without its fraction", row: kernel.Trunc,
		example: ">>> tensor([1.5, -1.5]).trunc().tolist()\n[1.0, -1.0]",
		grad:    zeroGrad,
		shard:   Monotonic,
	},
}

// rootOf1Minus returns 1 / √(1 - x²).
func (t *Tape) rootOf1Minus(x *tensor.Tensor) *tensor.Tensor {
	return t.unary("rsqrt", t.AddNumber(t.Neg(t.Mul(x, x)), 1))
}

var fmod = &binaryOp{row: kernel.Fmod, wants: "numbers", refuses: isZero, refused: "a divisor of 0"}

func init() {
	for _, u := range specialOps {
		register(u.def())
	}
	register(polygamma)
	register((&binaryOp{row: kernel.Atan2, float: true, wants: "numbers"}).def(&Def{
		Name:    "atan2",
		Surface: Method | Function,
		Doc: "atan2(x, other) returns the angle in radians, from -π to π, of the point that is other to the right and x up, elementwise.\n" +
			"x and other are broadcast. Integers and bools give the default float dtype.\n" +
			">>> atan2(tensor([0.0, 1.0]), tensor([1.0, 1.0])).tolist()\n" +
			"[0.0, 0.7853981852531433]",
		Grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			x, y := t.wide(c.In[0]), t.wide(c.In[1])
			share := t.Div(dy[0], t.Add(t.Mul(x, x), t.Mul(y, y)))
			return t.broadcastGrads(c, func() *tensor.Tensor { return t.Mul(share, y) }, func() *tensor.Tensor { return t.Neg(t.Mul(share, x)) })
		},
		Shard: Elementwise,
	}))
	register(fmod.def(&Def{
		Name:    "fmod",
		Surface: Method | Function,
		Doc: "fmod(x, other) returns the remainder of x by other with the sign of x, elementwise; % gives that of other.\n" +
			"x and other are broadcast. An integer by zero is an error, a float NaN.\n" +
			">>> fmod(tensor([7, -7]), 3).tolist()\n" +
			"[1, -1]",
		Grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			return t.broadcastGrads(c, func() *tensor.Tensor { return dy[0] }, func() *tensor.Tensor {
				x, y := t.wide(c.In[0]), t.wide(c.In[1])
				return t.Neg(t.Mul(dy[0], t.unary("trunc", t.Div(x, y))))
			})
		},
		Shard: Elementwise,
	}))
	register((&binaryOp{row: kernel.Copysign, float: true, wants: "numbers"}).def(&Def{
		Name:    "copysign",
		Surface: Method | Function,
		Doc: "copysign(x, other) returns x with the sign of other, elementwise; a zero has one, too.\n" +
			"x and other are broadcast. Integers and bools give the default float dtype.\n" +
			">>> copysign(tensor([1.0, 2.0]), tensor([-3.0, 0.0])).tolist()\n" +
			"[-1.0, 2.0]",
		Grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			return t.broadcastGrads(c, func() *tensor.Tensor {
				x, y := t.wide(c.In[0]), t.wide(c.Out[0])
				return t.Mul(dy[0], t.Mul(t.unary("sign", x), t.unary("sign", y)))
			}, func() *tensor.Tensor { return t.Scale(dy[0], 0) })
		},
		Shard: Elementwise,
	}))
	register((&binaryOp{row: kernel.Nextafter, wants: "floats"}).def(&Def{
		Name:    "nextafter",
		Surface: Method | Function,
		Doc: "nextafter(x, other) returns the float next to x on the way to other, elementwise. Its gradient is that of x where the two differ.\n" +
			">>> nextafter(tensor([1.0]), tensor([2.0])).tolist()\n" +
			"[1.0000001192092896]",
		Reads: ReadsInputs,
		Grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			return t.broadcastGrads(c, func() *tensor.Tensor {
				return t.Where(t.binary("eq", c.In[0], c.In[1]), tensor.Number(0.0), dy[0])
			}, func() *tensor.Tensor { return t.Scale(dy[0], 0) })
		},
		Shard: Elementwise,
	}))
}

// polygamma is the derivative number n of digamma.
var polygamma = &Def{
	Name:    "polygamma_of",
	Surface: Internal,
	Doc:     "polygamma_of(x, n) returns the derivative number n of digamma, elementwise.",
	Params:  []Param{{Name: "x", Kind: Tensor, Doc: "a tensor"}, {Name: "n", Kind: Int, Doc: "an int from 1 on"}},
	Infer: func(c *Call) error {
		if n := c.Args[0].Int; n < 1 || n > 100 {
			return c.Bad("n", fmt.Sprint(n), "an int from 1 to 100", "")
		}
		return (&unaryOp{float: true, row: kernel.Digamma}).infer(c)
	},
	Run: func(c *Call) error {
		n := c.Args[0].Int
		row := kernel.Unary{
			F32: func(dst, x []float32) { kernel.PolygammaTo(dst, x, n) },
			F64: func(dst, x []float64) { kernel.PolygammaTo(dst, x, n) },
		}
		runUnary(c.Ctx.Workers, &row, c.Spec[0].DType, c.Out[0], c.In[0])
		return nil
	},
	Grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
		x := t.wide(c.In[0])
		return one(t.Mul(t.wide(dy[0]), t.Do("polygamma_of", one(x), Int1(c.Args[0].Int+1))))
	},
	Shard: Elementwise,
}
