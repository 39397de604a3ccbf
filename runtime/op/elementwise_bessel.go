package op

import (
	"tpsh/runtime/kernel"
	"tpsh/runtime/tensor"
)

// besselOps are functions of the module special whose derivatives are each other.
var besselOps = []*unaryOp{
	{name: "bessel_j0", returns: "Bessel's function of the first kind of order 0 at x", row: kernel.BesselJ0, example: specialExample("bessel_j0", "0.0", "1.0"),
		grad: func(t *Tape, x, y, dy *tensor.Tensor) *tensor.Tensor {
			return t.Neg(t.Mul(dy, t.unary("bessel_j1", x)))
		}},
	{name: "bessel_j1", returns: "Bessel's function of the first kind of order 1 at x", row: kernel.BesselJ1, example: specialExample("bessel_j1", "0.0", "0.0"),
		grad: func(t *Tape, x, y, dy *tensor.Tensor) *tensor.Tensor {
			return t.Mul(dy, t.Sub(t.unary("bessel_j0", x), t.overX(x, y)))
		}},
	{name: "bessel_y0", returns: "Bessel's function of the second kind of order 0 at x", row: kernel.BesselY0, notes: "It is -inf at 0 and NaN below.\n", example: specialExample("bessel_y0", "0.0", "-inf"),
		grad: func(t *Tape, x, y, dy *tensor.Tensor) *tensor.Tensor {
			return t.Neg(t.Mul(dy, t.unary("bessel_y1", x)))
		}},
	{name: "bessel_y1", returns: "Bessel's function of the second kind of order 1 at x", row: kernel.BesselY1, notes: "It is -inf at 0 and NaN below.\n", example: specialExample("bessel_y1", "0.0", "-inf"),
		grad: func(t *Tape, x, y, dy *tensor.Tensor) *tensor.Tensor {
			return t.Mul(dy, t.Sub(t.unary("bessel_y0", x), t.Div(y, x)))
		}},
	{name: "i0", surface: bothSides | Special, returns: "the modified Bessel function of the first kind of order 0 at x", row: kernel.BesselI0, example: ">>> i0(tensor([0.0])).tolist()\n[1.0]",
		grad: func(t *Tape, x, y, dy *tensor.Tensor) *tensor.Tensor { return t.Mul(dy, t.unary("i1", x)) }},
	{name: "i1", returns: "the modified Bessel function of the first kind of order 1 at x", row: kernel.BesselI1, example: specialExample("i1", "0.0", "0.0"), shard: Monotonic,
		grad: func(t *Tape, x, y, dy *tensor.Tensor) *tensor.Tensor {
			return t.Mul(dy, t.Sub(t.unary("i0", x), t.overX(x, y)))
		}},
	{name: "i0e", returns: "i0(x) times e to the power -|x|, which does not overflow", row: kernel.BesselI0e, example: specialExample("i0e", "0.0", "1.0"),
		grad: func(t *Tape, x, y, dy *tensor.Tensor) *tensor.Tensor {
			return t.Mul(dy, t.Sub(t.unary("i1e", x), t.Mul(t.unary("sign", x), y)))
		}},
	{name: "i1e", returns: "i1(x) times e to the power -|x|, which does not overflow", row: kernel.BesselI1e, example: specialExample("i1e", "0.0", "0.0"),
		grad: func(t *Tape, x, y, dy *tensor.Tensor) *tensor.Tensor {
			slope := t.Sub(t.unary("i0e", x), t.overX(x, y))
			return t.Mul(dy, t.Sub(slope, t.Mul(t.unary("sign", x), y)))
		}},
	{name: "modified_bessel_i0", returns: "the modified Bessel function of the first kind of order 0 at x", row: kernel.BesselI0, example: specialExample("modified_bessel_i0", "0.0", "1.0"),
		grad: func(t *Tape, x, y, dy *tensor.Tensor) *tensor.Tensor { return t.Mul(dy, t.unary("i1", x)) }},
	{name: "modified_bessel_i1", returns: "the modified Bessel function of the first kind of order 1 at x", row: kernel.BesselI1, example: specialExample("modified_bessel_i1", "0.0", "0.0"), shard: Monotonic,
		grad: func(t *Tape, x, y, dy *tensor.Tensor) *tensor.Tensor {
			return t.Mul(dy, t.Sub(t.unary("i0", x), t.overX(x, y)))
		}},
	{name: "modified_bessel_k0", returns: "the modified Bessel function of the second kind of order 0 at x", row: kernel.BesselK0, notes: belowZero, example: specialExample("modified_bessel_k0", "0.0", "+inf"),
		grad: func(t *Tape, x, y, dy *tensor.Tensor) *tensor.Tensor {
			return t.Neg(t.Mul(dy, t.unary("modified_bessel_k1", x)))
		}},
	{name: "modified_bessel_k1", returns: "the modified Bessel function of the second kind of order 1 at x", row: kernel.BesselK1, notes: belowZero, example: specialExample("modified_bessel_k1", "0.0", "+inf"),
		grad: func(t *Tape, x, y, dy *tensor.Tensor) *tensor.Tensor {
			return t.Neg(t.Mul(dy, t.Add(t.unary("modified_bessel_k0", x), t.Div(y, x))))
		}},
	{name: "scaled_modified_bessel_k0", returns: "modified_bessel_k0(x) times e to the power x", row: kernel.BesselK0e, notes: belowZero, example: specialExample("scaled_modified_bessel_k0", "0.0", "+inf"),
		grad: func(t *Tape, x, y, dy *tensor.Tensor) *tensor.Tensor {
			return t.Mul(dy, t.Sub(y, t.unary("scaled_modified_bessel_k1", x)))
		}},
	{name: "scaled_modified_bessel_k1", returns: "modified_bessel_k1(x) times e to the power x", row: kernel.BesselK1e, notes: belowZero, example: specialExample("scaled_modified_bessel_k1", "0.0", "+inf"),
		grad: func(t *Tape, x, y, dy *tensor.Tensor) *tensor.Tensor {
			return t.Mul(dy, t.Sub(t.Sub(y, t.unary("scaled_modified_bessel_k0", x)), t.Div(y, x)))
		}},
	{name: "spherical_bessel_j0", returns: "sin(x) / x, and 1 where x is 0", row: kernel.SphericalJ0, example: specialExample("spherical_bessel_j0", "0.0", "1.0"),
		grad: func(t *Tape, x, y, dy *tensor.Tensor) *tensor.Tensor {
			flat := t.isZero(x)
			return t.Where(flat, tensor.Number(0.0), t.Mul(dy, t.Div(t.Sub(t.unary("cos", x), y), t.Where(flat, tensor.Number(1.0), x))))
		}},
	{name: "airy_ai", returns: "Airy's function Ai at x", row: kernel.AiryAi, notes: "It has no gradient.\n", example: ">>> special.airy_ai(tensor([200.0])).tolist()\n[0.0]"},
}

const belowZero = "It is infinite at 0 and NaN below.\n"

// overX returns y / x, and where x is 0 half: the limit for a function of order 1.
func (t *Tape) overX(x, y *tensor.Tensor) *tensor.Tensor {
	zero := t.isZero(x)
	return t.Where(zero, tensor.Number(0.5), t.Div(y, t.Where(zero, tensor.Number(1.0), x)))
}

func init() {
	for _, u := range besselOps {
		registerSpecial(u)
	}
}
