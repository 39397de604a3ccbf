package optest

import (
	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
)

func init() {
	for _, name := range []string{"add", "sub", "mul"} {
		addExamples(name,
			call(values(2, 3), values(2, 3)),
			call(values(2, 3), values(3)),
			call(values(2, 1, 3), values(4, 1)),
			call(values(2, 3), number(2)))
	}
	addExamples("div",
		call(values(2, 3), positive(2, 3)),
		call(values(3), positive(2, 1)),
		call(values(2, 3), number(4)))
	for _, name := range []string{"floordiv", "mod"} {
		addExamples(name,
			call(values(2, 3), positive(2, 3)).notComparable("a quotient near an integer"),
			call(values(2, 3), number(2)))
	}
	addExamples("pow",
		call(positive(2, 3), number(2)),
		call(values(2, 3), number(3)),
		call(positive(2, 3), unit(3)),
		call(values(5), number(0)))
	for _, name := range []string{"maximum", "minimum"} {
		addExamples(name,
			call(values(2, 3), unit(2, 3)),
			call(values(2, 3), unit(3)),
			call(values(2, 3), number(0)))
	}
	for _, name := range []string{"and", "or", "xor"} {
		addExamples(name,
			call(values(2, 3), values(3)),
			call(bools(2, 3), bools(2, 1)),
			call(values(2, 3), number(3)))
	}
	addExamples("invert", call(values(2, 3)).notComparable("a bool has one bit"), call(bools(4)))
	for _, name := range []string{"eq", "ne", "lt", "le", "gt", "ge"} {
		addExamples(name,
			call(values(2, 3), values(3)),
			call(values(2, 3), values(2, 3)),
			call(values(2, 3), number(1)))
	}
	addExamples("equal", call(values(2, 3), values(2, 3)), call(values(2, 3), values(3)))
	addExamples("allclose", call(values(2, 3), values(2, 3)), call(values(2, 3), values(3), op.Float1(0.5), op.Float1(9), op.Bool1(true)))
	addExamples("isnan", call(values(2, 3)))
	addExamples("isfinite", call(values(2, 3)))
	addUnaryExamples()
	addExamples("where",
		call(bools(2, 3), values(2, 3), values(2, 3)),
		call(bools(2, 1), values(3), number(2)),
		call(bools(3), number(1), values(2, 1)))
	addExamples("clamp",
		call(values(2, 3), op.Float1(-0.125), op.Float1(0.25)).notComparable("limits with fractions make integers floats"),
		call(values(2, 3), op.None, op.Float1(1)),
		call(values(2, 3), op.Float1(0)))
	addSpecialExamples()
	addConversionExamples()
	addInPlaceExamples()
}

func addUnaryExamples() {
	for _, name := range []string{"neg", "abs", "sign", "relu", "rounded", "floor", "ceil", "sin", "cos", "tanh", "sigmoid", "erf", "exp"} {
		addExamples(name, call(values(2, 3)), call(values(2, 1, 5)))
	}
	for _, name := range []string{"expm1", "exp2", "atan", "sinh", "cosh", "asinh", "erfc", "trunc"} {
		addExamples(name, call(values(2, 3)), call(values(2, 1, 5)))
	}
	addExamples("tan", call(unit(2, 3)))
	for _, name := range []string{"asin", "acos", "atanh", "erfinv"} {
		addExamples(name, call(unit(2, 3)), call(unit(7)))
	}
	addExamples("acosh", call(literal(dtype.Float32, []int{3}, 1.5, 2, 3)))
	for _, name := range []string{"atan2", "fmod", "copysign"} {
		addExamples(name, call(values(2, 3), positive(2, 3)), call(values(2, 3), positive(3)))
	}
	addExamples("polygamma_of", call(positive(2, 3), op.Int1(1)), call(positive(4), op.Int1(2)))
	addExamples("nextafter", call(values(2, 3), values(3)))
	for _, name := range []string{"log", "sqrt", "rsqrt", "reciprocal", "log1p", "log2", "log10", "lgamma", "digamma"} {
		addExamples(name, call(positive(2, 3)), call(positive(7)))
	}
}

func addSpecialExamples() {
	for _, name := range []string{"bessel_j0", "bessel_j1", "i0", "i1", "i0e", "i1e", "modified_bessel_i0", "modified_bessel_i1", "spherical_bessel_j0", "airy_ai", "erfcx", "ndtr", "log_ndtr"} {
		addExamples(name, call(values(2, 3)), call(values(2, 1, 5)))
	}
	for _, name := range []string{"bessel_y0", "bessel_y1", "modified_bessel_k0", "modified_bessel_k1", "scaled_modified_bessel_k0", "scaled_modified_bessel_k1", "entr"} {
		addExamples(name, call(positive(2, 3)), call(positive(7)))
	}
	addExamples("fraction", call(positive(2, 3)).notComparable("it is no function of nearby numbers"))
	addExamples("exponent", call(positive(2, 3)).notComparable("it is no function of nearby numbers"))
	addExamples("ndtri", call(literal(dtype.Float32, []int{3}, 0.125, 0.5, 0.75)))
	addExamples("xlog1py", call(values(2, 3), positive(2, 3)), call(values(2, 3), positive(3)))
	for _, name := range []string{"igamma", "igammac", "zeta"} {
		addExamples(name,
			call(literal(dtype.Float32, []int{3}, 1.5, 2, 3), positive(2, 3)).noGradient(0),
			call(literal(dtype.Float32, []int{2, 1}, 1.5, 4), positive(3)).noGradient(0))
	}
	for _, name := range []string{"gcd", "lcm"} {
		addExamples(name, call(values(2, 3), positive(2, 3)), call(values(2, 3), number(6)))
	}
	for _, name := range []string{"bitwise_left_shift", "bitwise_right_shift"} {
		addExamples(name, call(values(2, 3), number(2)).notComparable("integers have different numbers of bits"))
	}
	for _, kind := range []string{"t", "u", "v", "w"} {
		addExamples("chebyshev_polynomial_"+kind, call(values(2, 3), number(3)), call(unit(2, 3), literal(dtype.Int64, []int{3}, 0, 5, 20)))
		addExamples("shifted_chebyshev_polynomial_"+kind, call(values(2, 3), number(3)), call(unit(2, 3), literal(dtype.Int64, []int{3}, 0, 5, 2)))
	}
	for _, name := range []string{"hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p"} {
		addExamples(name, call(values(2, 3), number(3)), call(unit(2, 3), literal(dtype.Int64, []int{3}, 0, 5, 2)))
	}
}

func addConversionExamples() {
	addExamples("to",
		call(values(2, 3), op.Int1(int(dtype.Float64))),
		call(values(2, 3), op.Int1(int(dtype.Float16))).notSmooth("differences are rounded away"),
		call(values(2, 3), op.Int1(int(dtype.Int32))).notSmooth("an integer has no gradient"),
		call(values(2, 3), op.Int1(int(dtype.Bool))).notSmooth("a bool has no gradient"))
	addExamples("clone", call(values(2, 3)))
	addExamples("contiguous", call(values(2, 3)))
	addExamples("settle", call(values(2, 3), op.IntsN(0, 1)), call(values(2, 3), op.IntsN(1)))
	for _, name := range []string{"zeros_like", "ones_like", "empty_like"} {
		addExamples(name, call(values(2, 3)), call(values(2, 3), op.Int1(int(dtype.Int64))))
	}
	addExamples("full_like",
		call(values(2, 3), number(3)),
		call(values(2, 3), literal(dtype.Float32, []int{1}, 2.5), op.Int1(int(dtype.Float64))))
}

func addInPlaceExamples() {
	for _, name := range []string{"add_", "sub_", "mul_"} {
		addExamples(name,
			call(values(2, 3), values(2, 3)),
			call(values(2, 3), values(3)),
			call(values(2, 3), number(2)))
	}
	addExamples("div_", call(values(2, 3), positive(2, 3)), call(values(2, 3), number(4)))
	addExamples("clamp_", call(values(2, 3), op.Float1(-1), op.Float1(1)), call(values(2, 3), op.Float1(0)))
	for _, name := range []string{"zero", "zero_"} {
		addExamples(name, call(values(2, 3)))
	}
	for _, name := range []string{"fill", "fill_"} {
		addExamples(name, call(values(2, 3), number(5)), call(values(2, 3), literal(dtype.Float64, []int{1}, 2)))
	}
	for _, name := range []string{"copy", "copy_"} {
		addExamples(name, call(values(2, 3), values(2, 3)), call(values(2, 3), values(3)))
	}
}
