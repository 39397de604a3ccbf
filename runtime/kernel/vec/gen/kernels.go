package main

import (
	"math"
	"slices"
)

// kernels returns the kernels of package vec.
func kernels() []*kernel {
	all := slices.Concat(unary(), binary(), gradients(), reductions(), sums(), softmaxes(), moments(), normalizations(), steps(), moves(), random(), rounding(), comparisons(), powers(), bounded(), distances(), fourRows(), transforms(),
		passes(), bitwiseWords(), doubles())
	for _, k := range all {
		k.together = together[k.name]
	}
	return all
}

// together is how many groups kernels take side by side whose steps wait for
// each other for long.
var together = map[string]int{
	"Exp": 2, "Tanh": 2, "Erf": 2, "Sigmoid": 2, "Silu": 2, "GeluTanh": 2, "Gelu": 4, "ExpSum": 4, "ExpShift": 4, "Most": 4,
	"ExpSumAny": 4, "ExpLess": 4,
}

// oneToOne returns a kernel dst[i] = f(x[i]).
func oneToOne(name, doc string, f func(k *kernel, x *expr) *expr) *kernel {
	return &kernel{
		name: name, doc: "stores " + doc + " in dst. dst may be x.", arrays: f32s("dst", "x"), past: true,
		body: func(k *kernel) { k.store("dst", f(k, k.load("x"))) },
	}
}

// unary returns the kernels of functions of one number.
func unary() []*kernel {
	return []*kernel{
		oneToOne("Exp", "e to the power x, within 1.1 ulp,", (*kernel).exp),
		oneToOne("Log", "the natural logarithm of x, within 1 ulp,", (*kernel).log),
		oneToOne("Tanh", "the hyperbolic tangent of x, within 2 ulp,", (*kernel).tanh),
		oneToOne("Erf", "the error function of x, within 2 ulp,", (*kernel).erf),
		oneToOne("Sigmoid", "1/(1+exp(-x)), within 2.5 ulp,", func(k *kernel, x *expr) *expr {
			return k.sigmoidTimes(k.num(1), x, k.expSmall(k.neg(k.abs(x))))
		}),
		oneToOne("Silu", "x/(1+exp(-x)), within 3 ulp or 1e-42,", func(k *kernel, x *expr) *expr {
			return k.sigmoidTimes(x, x, k.expSmall(k.neg(k.abs(x))))
		}),
		oneToOne("Gelu", "x times the normal distribution function at x, within 8 ulp or 2e-8,", func(k *kernel, x *expr) *expr {
			a, tail := k.normalTailPower(x) // for x > 0 it is x (1 - tail)
			return k.fnma(a, tail, k.relu(x))
		}),
		oneToOne("GeluTanh", "x/2 (1 + tanh(√(2/π) (x + 0.044715 x³))), within 8 ulp or 2e-8,", func(k *kernel, x *expr) *expr {
			u, _ := k.geluTanhArg(x)
			return k.sigmoidTimes(x, x, k.expNormal(k.neg(k.abs(u))))
		}),
		oneToOne("Sqrt", "√x, correctly rounded,", (*kernel).sqrt),
		oneToOne("Rsqrt", "1/√x, within 1.5 ulp,", func(k *kernel, x *expr) *expr { return k.div(k.num(1), k.sqrt(x)) }),
		oneToOne("Reciprocal", "1/x, correctly rounded,", func(k *kernel, x *expr) *expr { return k.div(k.num(1), x) }),
		oneToOne("Neg", "-x", (*kernel).neg),
		oneToOne("Abs", "|x|", (*kernel).abs),
		oneToOne("Square", "x²", func(k *kernel, x *expr) *expr { return k.mul(x, x) }),
		oneToOne("Relu", "the greater of x and 0, or NaN,", func(k *kernel, x *expr) *expr {
			return k.add(k.relu(x), k.num(0)) // of -0 the sum is 0
		}),
	}
}

// twoToOne returns a kernel dst[i] = f(x[i], y[i]).
func twoToOne(name, doc string, arrays []array, f func(k *kernel, x, y *expr) *expr) *kernel {
	x, y := arrays[1].name, arrays[2].name
	return &kernel{
		name: name, doc: "stores " + doc + " in dst. dst may be " + x + " or " + y + ".", arrays: arrays, past: true,
		body: func(k *kernel) { k.store("dst", f(k, k.load(x), k.load(y))) },
	}
}

// binary returns the kernels of functions of two numbers.
func binary() []*kernel {
	xy, xy64 := f32s("dst", "x", "y"), f64s("dst", "x", "y")
	squaredDiff := func(k *kernel, x, y *expr) *expr {
		d := k.sub(x, y)
		return k.mul(d, d)
	}
	return []*kernel{
		twoToOne("Add", "x + y", xy, (*kernel).add),
		twoToOne("Sub", "x - y", xy, (*kernel).sub),
		twoToOne("Mul", "x y", xy, (*kernel).mul),
		twoToOne("Div", "x / y", xy, (*kernel).div),
		twoToOne("Maximum", "the greater of x and y, or NaN,", xy, (*kernel).maximum),
		twoToOne("Minimum", "the lesser of x and y, or NaN,", xy, (*kernel).minimum),
		twoToOne("SquaredDiff", "(x - y)²", xy, squaredDiff),
		twoToOne("Add64", "x + y", xy64, (*kernel).add),
		twoToOne("Sub64", "x - y", xy64, (*kernel).sub),
		twoToOne("Mul64", "x y", xy64, (*kernel).mul),
		twoToOne("Div64", "x / y", xy64, (*kernel).div),
		twoToOne("Maximum64", "the greater of x and y, or NaN,", xy64, (*kernel).maximum),
		twoToOne("Minimum64", "the lesser of x and y, or NaN,", xy64, (*kernel).minimum),
		{
			name: "Scale", doc: "stores x times a in dst. dst may be x.",
			arrays: f32s("dst", "x"), scalars: scalars32("a"), past: true,
			body: func(k *kernel) { k.store("dst", k.mul(k.load("x"), k.scalar("a"))) },
		},
	}
}

// gradients returns the kernels of a gradient times the slope of a function
// at x.
func gradients() []*kernel {
	gx := f32s("dst", "grad", "x")
	return []*kernel{
		twoToOne("GeluGrad", "grad times the slope of Gelu at x", gx, func(k *kernel, g, x *expr) *expr {
			// With φ the density, the slope at -|x| is Φ(-|x|) - |x| φ, and at |x|
			// it is 1 less that.
			a, tail, e := k.normalTail(x)
			d := k.fnma(k.mul(e, k.num(1/math.Sqrt(2*math.Pi))), a, tail)
			return k.mul(g, k.pick(k.less(x, k.num(0)), d, k.sub(k.num(1), d)))
		}),
		twoToOne("GeluTanhGrad", "grad times the slope of GeluTanh at x", gx, func(k *kernel, g, x *expr) *expr {
			x = k.clamp(x, 15)
			u, slope := k.geluTanhArg(x)
			up, down := k.sigmoids(x, k.expNormal(k.neg(k.abs(u))))
			return k.mul(g, k.fma(k.mul(k.mul(up, down), x), slope(), up))
		}),
		twoToOne("SiluGrad", "grad times the slope of Silu at x", gx, func(k *kernel, g, x *expr) *expr {
			x = k.clamp(x, 200)
			up, down := k.sigmoids(x, k.expSmall(k.neg(k.abs(x))))
			return k.mul(g, k.fma(k.mul(up, down), x, up))
		}),
		twoToOne("TanhGrad", "grad (1 - y²), the gradient of x for y = tanh x,", f32s("dst", "grad", "y"), func(k *kernel, g, y *expr) *expr {
			return k.mul(g, k.fnma(y, y, k.num(1)))
		}),
		twoToOne("SigmoidGrad", "grad y (1 - y), the gradient of x for its sigmoid y,", f32s("dst", "grad", "y"), func(k *kernel, g, y *expr) *expr {
			return k.mul(g, k.fnma(y, y, y))
		}),
		twoToOne("ReluGrad", "grad where y > 0 or y is NaN, else 0, the gradient of x for y = relu x,", f32s("dst", "grad", "y"), func(k *kernel, g, y *expr) *expr {
			return k.pick(k.less(k.num(0), y), g, k.pick(k.isNaN(y), g, k.num(0)))
		}),
	}
}

// extreme returns a kernel of which the lanes of to become those of themselves and x that than
// picks, and the lanes of nan each x that is NaN, which than passes over.
func extreme(name, doc, to string, arrays []array, accs func(...string) []scalar, than func(k *kernel, x, lane *expr) *expr) *kernel {
	return &kernel{
		name: name, doc: "makes the lanes of " + to + " the " + doc + " of themselves and x, passing over an x that is NaN: those of nan\nkeep it. Of zeros any is taken.",
		arrays: arrays, accs: accs(to, "nan"),
		body: func(k *kernel) {
			x := k.load("x")
			k.setAcc(0, than(k, x, k.acc(0)))
			k.setAcc(1, k.pick(k.isNaN(x), x, k.acc(1)))
		},
	}
}

// reductions returns the kernels that reduce rows. Lane l of an accumulator takes elements l, l+16,
// l+32, ... in turn, here and below.
func reductions() []*kernel {
	return []*kernel{
		{
			name: "Sum", doc: "adds x to the lanes of sum.", arrays: f32s("x"), accs: scalars32("sum"),
			body: func(k *kernel) { k.setAcc(0, k.add(k.acc(0), k.load("x"))) },
		},
		{
			name: "SumNumbers", doc: "adds x to the lanes of sum, and 0 in the place of NaN.", arrays: f32s("x"), accs: scalars32("sum"),
			body: func(k *kernel) {
				x := k.load("x")
				k.setAcc(0, k.add(k.acc(0), k.pick(k.isNaN(x), k.num(0), x)))
			},
		},
		{
			name: "Sum64", doc: "adds x to the lanes of sum.", arrays: f64s("x"), accs: scalars64("sum"),
			body: func(k *kernel) { k.setAcc(0, k.add(k.acc(0), k.load("x"))) },
		},
		{
			name: "SumU64", doc: "adds x to the lanes of sum.", arrays: []array{{"x", eU64}}, accs: []scalar{{"sum", i64}},
			body: func(k *kernel) { k.setAcc(0, k.intAdd(k.acc(0), k.load("x"))) },
		},
		{
			name: "Prod", doc: "multiplies the lanes of product by x.", arrays: f32s("x"), accs: scalars32("product"),
			body: func(k *kernel) { k.setAcc(0, k.mul(k.acc(0), k.load("x"))) },
		},
		{
			name: "Prod64", doc: "multiplies the lanes of product by x.", arrays: f64s("x"), accs: scalars64("product"),
			body: func(k *kernel) { k.setAcc(0, k.mul(k.acc(0), k.load("x"))) },
		},
		{
			name: "Max", doc: "makes the lanes of most the greater of themselves and x, or NaN.", arrays: f32s("x"), accs: scalars32("most"),
			body: func(k *kernel) { k.setAcc(0, k.maximum(k.load("x"), k.acc(0))) },
		},
		{
			name: "Min", doc: "makes the lanes of least the lesser of themselves and x, or NaN.", arrays: f32s("x"), accs: scalars32("least"),
			body: func(k *kernel) { k.setAcc(0, k.minimum(k.load("x"), k.acc(0))) },
		},
		{
			name: "Max64", doc: "makes the lanes of most the greater of themselves and x, or NaN.", arrays: f64s("x"), accs: scalars64("most"),
			body: func(k *kernel) { k.setAcc(0, k.maximum(k.load("x"), k.acc(0))) },
		},
		{
			name: "Min64", doc: "makes the lanes of least the lesser of themselves and x, or NaN.", arrays: f64s("x"), accs: scalars64("least"),
			body: func(k *kernel) { k.setAcc(0, k.minimum(k.load("x"), k.acc(0))) },
		},
		extreme("Greatest", "greater", "most", f32s("x"), scalars32, (*kernel).max),
		extreme("Least", "lesser", "least", f32s("x"), scalars32, (*kernel).min),
		extreme("Greatest64", "greater", "most", f64s("x"), scalars64, (*kernel).max),
		extreme("Least64", "lesser", "least", f64s("x"), scalars64, (*kernel).min),
		{
			name: "Most", doc: "makes the lanes of most the greater of themselves and x. It passes over NaN.", arrays: f32s("x"), accs: scalars32("most"),
			body: func(k *kernel) { k.setAcc(0, k.max(k.load("x"), k.acc(0))) },
		},
		{
			name: "Dot", doc: "adds the products of x and y, in float64, to the lanes of sum.", arrays: f32s("x", "y"), accs: scalars64("sum"),
			body: func(k *kernel) { k.setAcc(0, k.fma(k.widen(k.load("x")), k.widen(k.load("y")), k.acc(0))) },
		},
		{
			name: "RowPair64", doc: "adds w0 row0 and then w1 row1 to dst, and the products of x and row0 to the lanes of\ndot0, those of x and row1 to the lanes of dot1. dst is none of the others.",
			arrays: f64s("dst", "x", "row0", "row1"), scalars: scalars64("w0", "w1"), accs: scalars64("dot0", "dot1"), full: true,
			body: func(k *kernel) {
				row0 := k.load("row0")
				dst := k.fma(row0, k.scalar("w0"), k.load("dst"))
				x := k.load("x")
				k.setAcc(0, k.fma(x, row0, k.acc(0)))
				row1 := k.load("row1")
				k.store("dst", k.fma(row1, k.scalar("w1"), dst))
				k.setAcc(1, k.fma(x, row1, k.acc(1)))
			},
		},
		{
			name: "RowDots64", doc: "adds the products of x and row0 to the lanes of dot0, those of x and row1 to the lanes of\ndot1.",
			arrays: f64s("x", "row0", "row1"), accs: scalars64("dot0", "dot1"),
			body: func(k *kernel) {
				x := k.load("x")
				k.setAcc(0, k.fma(x, k.load("row0"), k.acc(0)))
				k.setAcc(1, k.fma(x, k.load("row1"), k.acc(1)))
			},
		},
		{
			name: "AddRows64", doc: "adds w0 row0 and then w1 row1 to dst. dst is neither.",
			arrays: f64s("dst", "row0", "row1"), scalars: scalars64("w0", "w1"),
			body: func(k *kernel) {
				dst := k.fma(k.load("row0"), k.scalar("w0"), k.load("dst"))
				k.store("dst", k.fma(k.load("row1"), k.scalar("w1"), dst))
			},
		},
	}
}

// sums returns the kernels that sum up in float64 what they make of each element, rounded before it is
// added.
func sums() []*kernel {
	of := func(name, doc string, arrays []array, scalars []scalar, f func(k *kernel, x *expr) *expr) *kernel {
		return &kernel{
			name: name, doc: "adds " + doc + " to the lanes of sum.", arrays: arrays, scalars: scalars, accs: scalars64("sum"),
			body: func(k *kernel) { k.setAcc(0, k.add(k.acc(0), f(k, k.load("x")))) },
		}
	}
	squaredDiff := func(k *kernel, x *expr) *expr {
		d := k.sub(x, k.scalar("mean"))
		return k.mul(d, d)
	}
	widened := func(f func(k *kernel, x *expr) *expr) func(k *kernel, x *expr) *expr {
		return func(k *kernel, x *expr) *expr { return f(k, k.widen(x)) }
	}
	return []*kernel{
		of("WideSum", "x", f32s("x"), nil, (*kernel).widen),
		of("AbsSum", "|x|", f32s("x"), nil, widened((*kernel).abs64)),
		of("AbsSum64", "|x|", f64s("x"), nil, (*kernel).abs64),
		of("SquareSum64", "x²", f64s("x"), nil, func(k *kernel, x *expr) *expr { return k.mul(x, x) }),
		of("SquaredDiffSum", "(x - mean)²", f32s("x"), scalars64("mean"), widened(squaredDiff)),
		of("SquaredDiffSum64", "(x - mean)²", f64s("x"), scalars64("mean"), squaredDiff),
	}
}

// softmaxes returns the kernels of the softmax of a row, of its logarithm and of their gradients.
func softmaxes() []*kernel {
	return []*kernel{
		{
			name: "ExpSum", doc: "adds exp(x - most) to the lanes of sum. No x is more than most; what is below\n1e-38 counts as 0.",
			ahead: []string{"x"}, arrays: f32s("x"), scalars: scalars32("most"), accs: scalars64("sum"),
			body: func(k *kernel) {
				e := k.expNormal(k.sub(k.load("x"), k.scalar("most")))
				k.setAcc(0, k.add(k.acc(0), k.widen(e)))
			},
		},
		{
			name: "ExpShift", doc: "is ExpSum, and stores what it adds in dst. dst may be x.",
			ahead: []string{"x"}, arrays: f32s("dst", "x"), scalars: scalars32("most"), accs: scalars64("sum"),
			body: func(k *kernel) {
				e := k.expNormal(k.sub(k.load("x"), k.scalar("most")))
				k.store("dst", e)
				k.setAcc(0, k.add(k.acc(0), k.widen(e)))
			},
		},
		{
			name: "ExpSumAny", doc: "is ExpSum for an x that may be more than most.",
			ahead: []string{"x"}, arrays: f32s("x"), scalars: scalars32("most"), accs: scalars64("sum"),
			body: func(k *kernel) {
				e := k.expFlushed(k.sub(k.load("x"), k.scalar("most")))
				k.setAcc(0, k.add(k.acc(0), k.widen(e)))
			},
		},
		{
			name: "ExpLess", doc: "stores exp(x - by) in dst, 0 in place of subnormal numbers. dst may be x.",
			arrays: f32s("dst", "x"), scalars: scalars32("by"),
			body: func(k *kernel) { k.store("dst", k.expFlushed(k.sub(k.load("x"), k.scalar("by")))) },
		},
		{
			name: "Shift", doc: "stores x - by, computed in float64, in dst. dst may be x.",
			arrays: f32s("dst", "x"), scalars: scalars64("by"),
			body: func(k *kernel) { k.store("dst", k.narrow(k.sub(k.widen(k.load("x")), k.scalar("by")))) },
		},
		{
			name: "SoftmaxGrad", doc: "stores y (grad - dot) in dst. dst may be grad or y.",
			arrays: f32s("dst", "grad", "y"), scalars: scalars32("dot"),
			body: func(k *kernel) { k.store("dst", k.mul(k.load("y"), k.sub(k.load("grad"), k.scalar("dot")))) },
		},
		{
			name: "LogSoftmaxGrad", doc: "stores grad - exp(y) sum in dst. dst may be grad or y.",
			arrays: f32s("dst", "grad", "y"), scalars: scalars32("sum"),
			body: func(k *kernel) {
				k.store("dst", k.fnma(k.exp(k.load("y")), k.scalar("sum"), k.load("grad")))
			},
		},
	}
}

// moments returns the kernels that sum up what a normalization of a row, or its gradient, needs.
func moments() []*kernel {
	return []*kernel{
		{
			name: "Moments", doc: "adds d = x - pivot to the lanes of sum, and d² to those of squares.",
			ahead: []string{"x"}, arrays: f32s("x"), scalars: scalars64("pivot"), accs: scalars64("sum", "squares"),
			body: func(k *kernel) {
				d := k.sub(k.widen(k.load("x")), k.scalar("pivot"))
				k.setAcc(0, k.add(k.acc(0), d))
				k.setAcc(1, k.fma(d, d, k.acc(1)))
			},
		},
		{
			name: "MomentsGrad", doc: "adds grad to the lanes of sum, and grad (x - pivot) to those of dot.",
			ahead: []string{"grad"}, arrays: f32s("grad", "x"), scalars: scalars64("pivot"), accs: scalars64("sum", "dot"),
			body: func(k *kernel) { k.addMoments(k.load("grad")) },
		},
		{
			name: "MomentsGradWeight", doc: "stores the products of grad and weight in dst, and is MomentsGrad of them. dst may be\ngrad.",
			ahead: []string{"grad"}, arrays: f32s("dst", "grad", "x", "weight"), scalars: scalars64("pivot"), accs: scalars64("sum", "dot"),
			body: func(k *kernel) {
				g := k.mul(k.load("grad"), k.load("weight"))
				k.store("dst", g)
				k.addMoments(g)
			},
		},
	}
}

// normalizations returns the kernels that carry out what the sums of a row have
// told: see normalized.
func normalizations() []*kernel {
	return []*kernel{
		{
			name: "Normalize", doc: "stores (x - high - low) scale in dst. dst may be x.",
			arrays: f32s("dst", "x"), scalars: scalars32("high", "low", "scale"),
			body: func(k *kernel) { k.store("dst", k.normalized()) },
		},
		{
			name: "NormalizeWeight", doc: "is Normalize times weight.",
			arrays: f32s("dst", "x", "weight"), scalars: scalars32("high", "low", "scale"),
			body: func(k *kernel) { k.store("dst", k.mul(k.normalized(), k.load("weight"))) },
		},
		{
			name: "NormalizeAffine", doc: "is Normalize times weight plus bias, rounded once.",
			arrays: f32s("dst", "x", "weight", "bias"), scalars: scalars32("high", "low", "scale"),
			body: func(k *kernel) { k.store("dst", k.fma(k.normalized(), k.load("weight"), k.load("bias"))) },
		},
		{
			name: "ScaleShift", doc: "stores (x - mean) scale + shift, computed in float64, in dst. dst may be x.",
			arrays: f32s("dst", "x"), scalars: scalars64("mean", "scale", "shift"),
			body: func(k *kernel) {
				d := k.sub(k.widen(k.load("x")), k.scalar("mean"))
				k.store("dst", k.narrow(k.add(k.mul(d, k.scalar("scale")), k.scalar("shift"))))
			},
		},
		{
			name: "NormalizeTimes", doc: "is Normalize times y. dst may be x or y.",
			arrays: f32s("dst", "x", "y"), scalars: scalars32("high", "low", "scale"),
			body: func(k *kernel) { k.store("dst", k.mul(k.normalized(), k.load("y"))) },
		},
		{
			name: "NormalizeGrad", doc: "stores scale (grad - mean - h dot) in dst, for the h that Normalize stores. dst may\nbe grad or x.",
			arrays: f32s("dst", "grad", "x"), scalars: scalars32("high", "low", "scale", "mean", "dot"),
			body: func(k *kernel) {
				t := k.sub(k.load("grad"), k.scalar("mean"))
				k.store("dst", k.mul(k.fnma(k.normalized(), k.scalar("dot"), t), k.scalar("scale")))
			},
		},
	}
}

// normalized returns (x - high - low) scale.
func (k *kernel) normalized() *expr {
	d := k.sub(k.sub(k.load("x"), k.scalar("high")), k.scalar("low"))
	return k.mul(d, k.scalar("scale"))
}

// addMoments adds grad to the first accumulator, and grad (x - pivot) to the
// second.
func (k *kernel) addMoments(grad *expr) {
	g := k.widen(grad)
	k.setAcc(0, k.add(k.acc(0), g))
	d := k.sub(k.widen(k.load("x")), k.scalar("pivot"))
	k.setAcc(1, k.fma(d, g, k.acc(1)))
}

// steps returns the kernels of optimisers' steps. Products are rounded before
// they are added.
func steps() []*kernel {
	return []*kernel{
		{
			name: "Combine", doc: "stores a x + b y in dst. dst may be x or y.",
			arrays: f32s("dst", "x", "y"), scalars: scalars32("a", "b"),
			body: func(k *kernel) {
				k.store("dst", k.add(k.mul(k.scalar("a"), k.load("x")), k.mul(k.scalar("b"), k.load("y"))))
			},
		},
		{
			name: "Lerp", doc: "stores x + w (y - x) in dst. dst may be x or y.",
			arrays: f32s("dst", "x", "y"), scalars: scalars32("w"), past: true,
			body: func(k *kernel) {
				x := k.load("x")
				k.store("dst", k.add(x, k.mul(k.scalar("w"), k.sub(k.load("y"), x))))
			},
		},
		{
			name: "LerpBack", doc: "stores y - rest (y - x) in dst. dst may be x or y.",
			arrays: f32s("dst", "x", "y"), scalars: scalars32("rest"),
			body: func(k *kernel) {
				y := k.load("y")
				k.store("dst", k.sub(y, k.mul(k.sub(y, k.load("x")), k.scalar("rest"))))
			},
		},
		{
			name: "AddSquare", doc: "stores keep x + share y y in dst. dst may be x or y.",
			arrays: f32s("dst", "x", "y"), scalars: scalars32("keep", "share"),
			body: func(k *kernel) {
				y := k.load("y")
				k.store("dst", k.add(k.mul(k.scalar("keep"), k.load("x")), k.mul(k.mul(k.scalar("share"), y), y)))
			},
		},
		{
			name: "Adam", doc: "stores x - rate m / (√v/root + eps) in dst. dst may be any of them.",
			arrays: f32s("dst", "x", "m", "v"), scalars: scalars32("rate", "root", "eps"),
			body: func(k *kernel) { k.store("dst", k.adam(k.load("x"), k.load("m"), k.load("v"))) },
		},
		{
			name: "AdamStep", doc: "is Lerp of m and grad into m by w, AddSquare of v and grad into v, and Adam of x\ntimes decay into x.",
			arrays: f32s("x", "m", "v", "grad"), scalars: scalars32("decay", "w", "keep", "share", "rate", "root", "eps"),
			body: func(k *kernel) {
				g, m := k.load("grad"), k.load("m")
				m = k.add(m, k.mul(k.scalar("w"), k.sub(g, m)))
				k.store("m", m)
				v := k.add(k.mul(k.scalar("keep"), k.load("v")), k.mul(k.mul(k.scalar("share"), g), g))
				k.store("v", v)
				k.store("x", k.adam(k.mul(k.load("x"), k.scalar("decay")), m, v))
			},
		},
	}
}

// adam returns x - rate m / (√v/root + eps).
func (k *kernel) adam(x, m, v *expr) *expr {
	d := k.add(k.div(k.sqrt(v), k.scalar("root")), k.scalar("eps"))
	return k.sub(x, k.div(k.mul(k.scalar("rate"), m), d))
}

// moves returns the kernels that convert and choose elements.
func moves() []*kernel {
	return []*kernel{
		{
			name: "Double", doc: "stores x in dst.", arrays: []array{{"dst", eF64}, {"x", eF32}},
			body: func(k *kernel) { k.store("dst", k.widen(k.load("x"))) },
		},
		{
			name: "Single", doc: "stores x, rounded to the nearest float32, in dst.", arrays: []array{{"dst", eF32}, {"x", eF64}},
			body: func(k *kernel) { k.store("dst", k.narrow(k.load("x"))) },
		},
		{
			name: "WidenF16", doc: "stores x in dst.", arrays: []array{{"dst", eF32}, {"x", eF16}},
			body: func(k *kernel) { k.store("dst", k.load("x")) },
		},
		{
			name: "WidenBF16", doc: "stores x in dst.", arrays: []array{{"dst", eF32}, {"x", eBF16}},
			body: func(k *kernel) { k.store("dst", k.load("x")) },
		},
		{
			name: "NarrowF16", doc: "stores x in dst, rounded to the nearest, ties to even.", arrays: []array{{"dst", eF16}, {"x", eF32}},
			body: func(k *kernel) { k.store("dst", k.load("x")) },
		},
		{
			name: "NarrowBF16", doc: "stores x in dst, rounded to the nearest, ties to even.", arrays: []array{{"dst", eBF16}, {"x", eF32}},
			body: func(k *kernel) {
				x := k.load("x")
				b := k.bits(x)
				odd := k.step(opAnd, i32, k.shr(b, 16), k.integer(1))
				rounded := k.intAdd(k.intAdd(b, k.integer(0x7fff)), odd)
				quiet := k.step(opOr, i32, b, k.integer(0x400000))
				k.store("dst", k.pick(k.isNaN(x), quiet, rounded))
			},
		},
		{
			name: "Drop", doc: "stores x times scale in dst where keep is not 0, and 0 elsewhere. dst may be x.",
			arrays: []array{{"dst", eF32}, {"x", eF32}, {"keep", eU8}}, scalars: scalars32("scale"),
			body: func(k *kernel) {
				y := k.mul(k.load("x"), k.scalar("scale"))
				k.store("dst", k.pick(k.nonZero(k.load("keep")), y, k.num(0)))
			},
		},
	}
}

// random returns the kernels that draw.
func random() []*kernel {
	return []*kernel{
		{
			name: "Philox",
			doc: "stores in x0 to x3 the words of Philox4x32-10 at counters (x0, c1, c2, c3) under the\n" +
				"key (k0, k1). What x1 to x3 held is lost.",
			arrays:  []array{{"x0", eU32}, {"x1", eU32}, {"x2", eU32}, {"x3", eU32}},
			scalars: []scalar{{"c1", i32}, {"c2", i32}, {"c3", i32}, {"k0", i32}, {"k1", i32}},
			body:    (*kernel).philox,
		},
		{
			name:   "Erfinv",
			doc:    "stores the number whose error function is x, within 0.51 ulp, in dst: infinite at -1 and 1,\nNaN beyond. dst may be x.",
			arrays: f32s("dst", "x"), body: (*kernel).erfinv,
		},
		{
			name:   "Lgamma",
			doc:    "stores the logarithm of the gamma function's absolute value at x, within 0.51 ulp, in dst. dst may be x.",
			arrays: f32s("dst", "x"), body: (*kernel).lgamma, full: true,
		},
		{
			name:   "Digamma",
			doc:    "stores the slope of Lgamma at x, within 0.51 ulp, in dst: NaN at its poles but for 0. dst may be x.",
			arrays: f32s("dst", "x"), body: (*kernel).digamma, full: true,
		},
		{
			name: "Quantile",
			doc: "stores in dst the quantiles of the standard normal distribution at (w + 1/2) / 2^32,\n" +
				"which is 0.425 or less from 1/2. Of other words it stores some number.",
			arrays: []array{{"dst", eF32}, {"w", eU32}}, body: (*kernel).quantile,
		},
		{
			name: "QuantileFar",
			doc: "is Quantile of words that are farther from the middle. Of those that are not it stores\n" +
				"some number.",
			arrays: []array{{"dst", eF32}, {"w", eU32}}, body: (*kernel).quantileFar,
		},
	}
}

// philox records the ten rounds of Salmon, Moraes, Dror and Shaw, "Parallel
// random numbers: as easy as 1, 2, 3", SC'11.
func (k *kernel) philox() {
	mul0, mul1 := k.integer(0xD2511F53), k.integer(0xCD9E8D57)
	c0, c1, c2, c3 := k.load("x0"), k.scalar("c1"), k.scalar("c2"), k.scalar("c3")
	k0, k1 := k.scalar("k0"), k.scalar("k1")
	k.constant(f64, 0xffffffff00000000) // of mulHigh
	for round := range 10 {
		if round > 0 {
			k0, k1 = k.intAdd(k0, k.integer(0x9E3779B9)), k.intAdd(k1, k.integer(0xBB67AE85))
		}
		high0, low0 := k.mulHigh(c0, mul0), k.mulLow(c0, mul0)
		high1, low1 := k.mulHigh(c2, mul1), k.mulLow(c2, mul1)
		c0, c1 = k.step(opXor, i32, k.step(opXor, i32, high1, c1), k0), low1
		c2, c3 = k.step(opXor, i32, k.step(opXor, i32, high0, c3), k1), low0
	}
	for i, c := range []*expr{c0, c1, c2, c3} {
		k.store([]string{"x0", "x1", "x2", "x3"}[i], c)
	}
}
