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
