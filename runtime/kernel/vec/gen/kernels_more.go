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
		withScalars("Clamp", "the lesser of high and of the greater of x and low, or NaN,", f32s("dst", "x"), func(k *kernel) *expr {
			return k.minimum(k.maximum(k.load("x"), k.scalar("low")), k.scalar("high"))
		}, "low", "high"),
		withScalars("NaNToNum", "x, but whenNaN, above and below for NaN, infinity and minus infinity,", f32s("dst", "x"), func(k *kernel) *expr {
			x := k.load("x")
			y := k.pick(k.equal(x, k.num(inf)), k.scalar("above"), k.pick(k.equal(x, k.num(-inf)), k.scalar("below"), x))
			return k.pick(k.isNaN(x), k.scalar("whenNaN"), y)
		}, "whenNaN", "above", "below"),
		{
			name: "Select", doc: "stores x in dst where cond is not 0, and y elsewhere. dst may be x or y.",
			arrays: []array{{"dst", eF32}, {"cond", eU8}, {"x", eF32}, {"y", eF32}},
			body: func(k *kernel) {
				k.store("dst", k.pick(k.nonZero(k.load("cond")), k.load("x"), k.load("y")))
			},
		},
	}
}

// withScalars returns a kernel dst[i] = f of the other arrays' elements and of numbers.
func withScalars(name, doc string, arrays []array, f func(k *kernel) *expr, scalars ...string) *kernel {
	doc = "stores " + doc + " in dst. dst may be " + arrays[1].name
	for _, a := range arrays[2:] {
		doc += " or " + a.name
	}
	return &kernel{
		name: name, doc: doc + ".", arrays: arrays, scalars: scalars32(scalars...), past: true,
		body: func(k *kernel) { k.store("dst", f(k)) },
	}
}

// test returns a kernel dst[i] = 1 if f of the other arrays' elements else 0.
func test(name, doc string, arrays []string, f func(k *kernel) *expr) *kernel {
	return &kernel{
		name: name, doc: "stores 1 in dst where " + doc + ", else 0.", arrays: append([]array{{"dst", eU8}}, f32s(arrays...)...),
		body: func(k *kernel) { k.store("dst", k.bit(f(k))) },
	}
}

// tests returns the kernels that compare.
func tests() []*kernel {
	xy := []string{"x", "y"}
	return []*kernel{
		test("Eq", "x = y", xy, func(k *kernel) *expr { return k.equal(k.load("x"), k.load("y")) }),
		{
			name: "Ne", doc: "stores 0 in dst where x = y, else 1.", arrays: append([]array{{"dst", eU8}}, f32s(xy...)...),
			body: func(k *kernel) {
				k.store("dst", k.pick(k.equal(k.load("x"), k.load("y")), k.integer(0), k.integer(1)))
			},
		},
		test("Lt", "x < y", xy, func(k *kernel) *expr { return k.less(k.load("x"), k.load("y")) }),
		test("Le", "x ≤ y", xy, func(k *kernel) *expr { return k.lessEqual(k.load("x"), k.load("y")) }),
		test("IsNaN", "x is NaN", xy[:1], func(k *kernel) *expr { return k.isNaN(k.load("x")) }),
		test("IsFinite", "x is neither infinite nor NaN", xy[:1], func(k *kernel) *expr {
			return k.less(k.abs(k.load("x")), k.num(inf))
		}),
	}
}

// fusions returns the kernels of several operations in one pass. Products are rounded
// before they are added.
func fusions() []*kernel {
	xyz := f32s("dst", "x", "y", "z")
	return []*kernel{
		withScalars("AddProduct", "x + a y z", xyz, func(k *kernel) *expr {
			return k.add(k.load("x"), k.mul(k.mul(k.load("y"), k.load("z")), k.scalar("a")))
		}, "a"),
		withScalars("AddQuotient", "x + a y / z", xyz, func(k *kernel) *expr {
			return k.add(k.load("x"), k.mul(k.div(k.load("y"), k.load("z")), k.scalar("a")))
		}, "a"),
		withScalars("LeakyRelu", "x where x > 0, else slope x", f32s("dst", "x"), func(k *kernel) *expr {
			x := k.load("x")
			return k.pick(k.less(k.num(0), x), x, k.mul(x, k.scalar("slope")))
		}, "slope"),
		withScalars("Elu", "up x where x > 0, else down (exp(in x) - 1), within 3 ulp,", f32s("dst", "x"), func(k *kernel) *expr {
			x := k.load("x")
			low := k.mul(k.scalar("down"), k.expm1(k.mul(x, k.scalar("in"))))
			return k.pick(k.less(k.num(0), x), k.mul(x, k.scalar("up")), low)
		}, "up", "down", "in"),
		withScalars("Huber", "a (x - y)² where |x - y| < delta, else b (|x - y| - delta/2),", f32s("dst", "x", "y"), func(k *kernel) *expr {
			d := k.sub(k.load("x"), k.load("y"))
			far := k.abs(d)
			line := k.mul(k.scalar("b"), k.sub(far, k.mul(k.scalar("delta"), k.num(0.5))))
			return k.pick(k.less(far, k.scalar("delta")), k.mul(k.mul(d, d), k.scalar("a")), line)
		}, "delta", "a", "b"),
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
