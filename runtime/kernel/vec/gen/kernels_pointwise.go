package main

// rounding returns the kernels that round, clamp and choose.
func rounding() []*kernel {
	round := func(how uint64) func(k *kernel, x *expr) *expr {
		return func(k *kernel, x *expr) *expr { return k.round(x, how) }
	}
	return []*kernel{
		oneToOne("Floor", "the greatest integer not above x", round(toFloor)),
		oneToOne("Ceil", "the least integer not below x", round(toCeil)),
		oneToOne("Trunc", "x without its fraction", round(toZero)),
		oneToOne("Round", "x rounded to an integer, ties to even,", round(toNearest)),
		oneToOne("Sign", "1 where x > 0, -1 where x < 0, else x", func(k *kernel, x *expr) *expr {
			return k.pick(k.less(k.num(0), x), k.num(1), k.pick(k.less(x, k.num(0)), k.num(-1), x))
		}),
		{
			name: "Clamp", doc: "stores the lesser of high and of the greater of x and low, or NaN, in dst. dst may be x.",
			arrays: f32s("dst", "x"), scalars: scalars32("low", "high"), past: true,
			body: func(k *kernel) {
				k.store("dst", k.minimum(k.maximum(k.load("x"), k.scalar("low")), k.scalar("high")))
			},
		},
		{
			name: "Select", doc: "stores x in dst where cond is not 0, and y elsewhere. dst may be x or y.",
			arrays: []array{{"dst", eF32}, {"cond", eU8}, {"x", eF32}, {"y", eF32}},
			body: func(k *kernel) {
				k.store("dst", k.pick(k.nonZero(k.load("cond")), k.load("x"), k.load("y")))
			},
		},
	}
}

// comparison returns a kernel dst[i] = 1 if f of the other arrays' elements else 0.
func comparison(name, doc string, arrays []string, f func(k *kernel) *expr) *kernel {
	return &kernel{
		name: name, doc: "stores 1 in dst where " + doc + ", else 0.", arrays: append([]array{{"dst", eU8}}, f32s(arrays...)...),
		body: func(k *kernel) { k.store("dst", k.bit(f(k))) },
	}
}

// comparisons returns the kernels that compare.
func comparisons() []*kernel {
	xy := []string{"x", "y"}
	return []*kernel{
		comparison("Eq", "x = y", xy, func(k *kernel) *expr { return k.equal(k.load("x"), k.load("y")) }),
		{
			name: "Ne", doc: "stores 0 in dst where x = y, else 1.", arrays: append([]array{{"dst", eU8}}, f32s(xy...)...),
			body: func(k *kernel) {
				k.store("dst", k.pick(k.equal(k.load("x"), k.load("y")), k.integer(0), k.integer(1)))
			},
		},
		comparison("Lt", "x < y", xy, func(k *kernel) *expr { return k.less(k.load("x"), k.load("y")) }),
		comparison("Le", "x ≤ y", xy, func(k *kernel) *expr { return k.lessEqual(k.load("x"), k.load("y")) }),
		comparison("IsNaN", "x is NaN", xy[:1], func(k *kernel) *expr { return k.isNaN(k.load("x")) }),
		comparison("IsFinite", "x is neither infinite nor NaN", xy[:1], func(k *kernel) *expr {
			return k.less(k.abs(k.load("x")), k.num(inf))
		}),
	}
}

// powers returns the kernels of powers and of logarithms of sums.
func powers() []*kernel {
	return []*kernel{
		oneToOne("Expm1", "e to the power x, less 1, within 2 ulp,", (*kernel).expm1),
		oneToOne("Log1p", "the logarithm of 1 + x, within 2 ulp,", (*kernel).log1p),
		oneToOne("Softplus", "the logarithm of 1 + exp(x), within 3 ulp,", (*kernel).softplus),
		twoToOne("Pow", "x to the power y, within 1 ulp,", f32s("dst", "x", "y"), (*kernel).pow),
		twoToOne("Atan2", "the angle of the point (y, x), from -π to π, within 2 ulp,", f32s("dst", "x", "y"), (*kernel).atan2),
	}
}

// bounded returns the kernels that are right for some arguments only, and say in lanes whether
// they were.
func bounded() []*kernel {
	angle := func(name, doc string, f func(k *kernel, x *expr) *expr) *kernel {
		return &kernel{
			name: name, arrays: f32s("dst", "x"), accs: scalars32("most"),
			doc: "stores the " + doc + " of x, within 2 ulp, in dst, and makes the lanes of most the\n" +
				"greater of themselves and |x|. Beyond FarAngle it stores some number. dst may be x.",
			body: func(k *kernel) {
				x := k.load("x")
				k.store("dst", f(k, x))
				k.setAcc(0, k.max(k.abs(x), k.acc(0)))
			},
		}
	}
	quotient := func(name, doc string, f func(k *kernel, x, y *expr) (r, q *expr)) *kernel {
		return &kernel{
			name: name, arrays: f32s("dst", "x", "y"), accs: scalars32("most"),
			doc: "stores the remainder of x by y with the sign of " + doc + " in dst, and makes the lanes of\n" +
				"most the greater of themselves and |x/y|. Beyond FarQuotient it stores some number. dst\nmay be x or y.",
			body: func(k *kernel) {
				r, q := f(k, k.load("x"), k.load("y"))
				k.store("dst", r)
				k.setAcc(0, k.max(k.abs(q), k.acc(0)))
			},
		}
	}
	return []*kernel{
		angle("Sin", "sine", (*kernel).sin), angle("Cos", "cosine", (*kernel).cos), angle("Tan", "tangent", (*kernel).tan),
		quotient("Fmod", "x", (*kernel).fmod), quotient("Remainder", "y", (*kernel).remainder),
	}
}

// passes returns the kernels of functions that are made of several others, rounded as these
// are: what takes them one after the other has the same bits.
func passes() []*kernel {
	return []*kernel{
		{
			name: "LeakyRelu", doc: "stores x in dst where it is positive, else slope x. dst may be x.",
			arrays: f32s("dst", "x"), scalars: scalars32("slope"), past: true,
			body: func(k *kernel) {
				x := k.load("x")
				k.store("dst", k.pick(k.less(k.num(0), x), x, k.mul(x, k.scalar("slope"))))
			},
		},
		{
			name: "Elu", doc: "stores times x in dst where x is positive, else times alpha (exp(x share) - 1), of the\nexponential as Expm1 has it. dst may be x.",
			arrays: f32s("dst", "x"), scalars: scalars32("alpha", "share", "times"),
			body: func(k *kernel) {
				x := k.load("x")
				low := k.mul(k.expm1(k.mul(x, k.scalar("share"))), k.scalar("alpha"))
				k.store("dst", k.mul(k.pick(k.less(k.num(0), x), x, low), k.scalar("times")))
			},
		},
		{
			name: "AddProduct", doc: "stores x + a (y z) in dst. dst may be any of them.",
			arrays: f32s("dst", "x", "y", "z"), scalars: scalars32("a"), past: true,
			body: func(k *kernel) {
				k.store("dst", k.add(k.load("x"), k.mul(k.mul(k.load("y"), k.load("z")), k.scalar("a"))))
			},
		},
		{
			name: "AddQuotient", doc: "stores x + a (y / z) in dst. dst may be any of them.",
			arrays: f32s("dst", "x", "y", "z"), scalars: scalars32("a"), past: true,
			body: func(k *kernel) {
				k.store("dst", k.add(k.load("x"), k.mul(k.div(k.load("y"), k.load("z")), k.scalar("a"))))
			},
		},
		{
			name: "Huber", doc: "stores times d²/2 in dst for d = x - y where |d| < delta, else times delta (|d| + less).\ndst may be x or y.",
			arrays: f32s("dst", "x", "y"), scalars: scalars32("delta", "less", "times"), past: true,
			body: func(k *kernel) {
				d, delta := k.sub(k.load("x"), k.load("y")), k.scalar("delta")
				far := k.abs(d)
				near := k.mul(k.mul(d, d), k.num(0.5))
				k.store("dst", k.mul(k.pick(k.less(far, delta), near, k.mul(k.add(far, k.scalar("less")), delta)), k.scalar("times")))
			},
		},
		{
			name: "Finite", doc: "stores none in dst where x is NaN, most where it is infinite, least where it is minus\ninfinity, else x. dst may be x.",
			arrays: f32s("dst", "x"), scalars: scalars32("none", "most", "least"), past: true,
			body: func(k *kernel) {
				x := k.load("x")
				y := k.pick(k.isNaN(x), k.scalar("none"), x)
				y = k.pick(k.equal(x, k.num(inf)), k.scalar("most"), y)
				k.store("dst", k.pick(k.equal(x, k.num(-inf)), k.scalar("least"), y))
			},
		},
		{
			name: "CrossEntropy", doc: "stores (1 - t) x + (1 + (w - 1) t) Softplus(-x) in dst, sums rounded with their products.\ndst may be any of them.",
			arrays: f32s("dst", "x", "t", "w"),
			body: func(k *kernel) {
				x, t, one := k.load("x"), k.load("t"), k.num(1)
				plus := k.softplus(k.neg(x))
				factor := k.fma(k.sub(k.load("w"), one), t, one)
				k.store("dst", k.fma(factor, plus, k.mul(k.sub(one, t), x)))
			},
		},
	}
}

// bitwiseWords returns the kernels of bits, of words of 32 of them.
func bitwiseWords() []*kernel {
	two := func(name, doc string, o op) *kernel {
		return twoToOne(name, doc, []array{{"dst", eU32}, {"x", eU32}, {"y", eU32}}, func(k *kernel, x, y *expr) *expr { return k.step(o, i32, x, y) })
	}
	list := []*kernel{
		two("And", "the bits that x and y have", opAnd), two("Or", "the bits that x or y has", opOr), two("Xor", "the bits that one of x and y has", opXor),
		{
			name: "Flip", doc: "stores the bits of x in dst, those of mask inverted. dst may be x.",
			arrays: []array{{"dst", eU32}, {"x", eU32}}, scalars: []scalar{{"mask", i32}},
			body: func(k *kernel) { k.store("dst", k.step(opXor, i32, k.load("x"), k.scalar("mask"))) },
		},
		{
			name: "Fill", doc: "stores v in dst.", arrays: []array{{"dst", eU32}}, scalars: []scalar{{"v", i32}},
			body: func(k *kernel) { k.store("dst", k.scalar("v")) },
		},
	}
	for _, k := range list {
		k.past = false
	}
	return list
}

// doubles returns the kernels of float64 that are no counterparts of instructions.
func doubles() []*kernel {
	one := func(name, doc string, f func(k *kernel, x *expr) *expr) *kernel {
		return &kernel{
			name: name, doc: "stores " + doc + " in dst. dst may be x.", arrays: f64s("dst", "x"),
			body: func(k *kernel) { k.store("dst", f(k, k.load("x"))) },
		}
	}
	return []*kernel{
		one("Exp64", "e to the power x, within 2 ulp,", (*kernel).exp64),
		one("Log64", "the natural logarithm of x, within 1 ulp,", (*kernel).log64),
		one("Tanh64", "the hyperbolic tangent of x, within 2 ulp,", (*kernel).tanh64),
		{
			name: "Gelu64", doc: "stores x times the normal distribution function at x, within 8 ulp or 1e-16, in dst. dst\nmay be x.",
			arrays: f64s("dst", "x"), body: (*kernel).gelu64,
		},
		{
			name: "GeluGrad64", doc: "stores grad times the slope of Gelu64 at x in dst. dst may be grad or x.",
			arrays: f64s("dst", "grad", "x"), body: (*kernel).geluGrad64,
		},
		{
			name: "Scale64", doc: "stores x times a in dst. dst may be x.", arrays: f64s("dst", "x"), scalars: scalars64("a"), past: true,
			body: func(k *kernel) { k.store("dst", k.mul(k.load("x"), k.scalar("a"))) },
		},
		{
			name: "Most64", doc: "makes the lanes of most the greater of themselves and x. It passes over NaN.",
			arrays: f64s("x"), accs: scalars64("most"),
			body: func(k *kernel) { k.setAcc(0, k.max(k.load("x"), k.acc(0))) },
		},
		{
			name: "ExpShift64", doc: "stores exp(x - most) in dst and adds it to the lanes of sum. dst may be x.",
			arrays: f64s("dst", "x"), scalars: scalars64("most"), accs: scalars64("sum"),
			body: func(k *kernel) {
				e := k.exp64(k.sub(k.load("x"), k.scalar("most")))
				k.store("dst", e)
				k.setAcc(0, k.add(k.acc(0), e))
			},
		},
		{
			name: "ExpSum64", doc: "adds exp(x - most) to the lanes of sum.",
			arrays: f64s("x"), scalars: scalars64("most"), accs: scalars64("sum"),
			body: func(k *kernel) {
				k.setAcc(0, k.add(k.acc(0), k.exp64(k.sub(k.load("x"), k.scalar("most")))))
			},
		},
	}
}
