package main

import "math"

// The functions of this file record the steps of package rng's quantiles of the normal distribution:
// in float64, each rounded, so that they give the same bits. See there for where the numbers are from.

// fromWord returns (w + 1/2) / 2^32 - 1/2 for a word w, in float64, without rounding: of w, less half of
// what words there are, the upper and the lower half are numbers of float32.
func (k *kernel) fromWord(w *expr) *expr {
	w = k.step(opXor, i32, w, k.integer(1<<31))
	upper := k.widen(k.toFloat(k.shr(w, 16)))
	lower := k.widen(k.toFloat(k.step(opAnd, i32, w, k.integer(0xffff))))
	return k.fma(upper, k.num64(0x1p-16), k.fma(lower, k.num64(0x1p-32), k.num64(0x1p-33)))
}

// rounded64 returns the polynomial of x whose coefficients are c, that of the highest power first,
// by Horner's rule, products rounded before they are added.
func (k *kernel) rounded64(x *expr, c ...float64) *expr {
	y := k.num64(c[0])
	for _, c := range c[1:] {
		y = k.add(k.mul(y, x), k.num64(c))
	}
	return y
}

// quantile records the quantiles of words in the middle, 0.425 or less from a half.
func (k *kernel) quantile() {
	q := k.fromWord(k.load("w"))
	r := k.sub(k.num64(0.180625), k.mul(q, q))
	num := k.rounded64(r, 2509.0809287301226727, 33430.575583588128105, 67265.770927008700853, 45921.953931549871457,
		13731.693765509461125, 1971.5909503065514427, 133.14166789178437745, 3.387132872796366608)
	den := k.rounded64(r, 5226.495278852854561, 28729.085735721942674, 39307.89580009271061, 21213.794301586595867,
		5394.1960214247511077, 687.1870074920579083, 42.313330701600911252, 1)
	k.store("dst", k.narrow(k.div(k.mul(q, num), den)))
}

// quantileFar records the quantiles of words that are farther from the middle, of which none is in the
// tails of 1e-11.
func (k *kernel) quantileFar() {
	ln := k.logRounded(k.sub(k.num64(0.5), k.abs64(k.fromWord(k.load("w")))))
	r := k.sub(k.sqrt(k.neg64(ln)), k.num64(1.6))
	num := k.rounded64(r, 7.7454501427834140764e-4, 2.27238449892691845833e-2, 0.24178072517745061177, 1.27045825245236838258,
		3.64784832476320460504, 5.7694972214606914055, 4.6303378461565452959, 1.42343711074968357734)
	den := k.rounded64(r, 1.05075007164441684324e-9, 5.475938084995344946e-4, 1.51986665636164571966e-2, 0.14810397642748007459,
		0.68976733498510000455, 1.6763848301838038494, 2.05319162663775882187, 1)
	y := k.narrow(k.div(num, den))
	upper := k.step(opXor, i32, k.load("w"), k.integer(1<<31)) // loaded once more, for want of registers
	k.store("dst", k.or(y, k.sign(k.from(upper))))
}

// erfinv records the number whose error function is x, by the functions of libm.Erfinv, in float64,
// products fused with sums. A |x| of float32 below 1 is so far from it that it takes two of their three.
func (k *kernel) erfinv() {
	r := k.sub(k.sqrt(k.sub(k.num64(math.Ln2), k.logRounded(k.sub(k.num64(1), k.widen(k.abs(k.load("x"))))))), k.num64(1.6))
	num := k.horner64(r, 1.4234371107496835, 4.630337846156546, 5.769497221460691, 3.6478483247632045, 1.2704582524523684, 0.2417807251774506, 0.022723844989269184, 0.0007745450142783414)
	den := k.horner64(r, 1.4142135623730951, 2.9036514445419948, 2.3707661626024534, 0.9754783200178743, 0.2094506521051275, 0.021494160384252878, 0.0007744145906515771, 1.4859850019840355e-09)
	far := k.div(num, den)
	a := k.widen(k.abs(k.load("x"))) // once more, for want of registers
	r = k.fnma(k.mul(a, a), k.num64(0.25), k.num64(0.180625))
	num = k.horner64(r, 1.1975323115670913, 47.07268811238398, 697.062665343896, 4854.886889384388, 16235.862515167575, 23782.041382114385, 11819.493347062295, 887.0940696254552)
	den = k.horner64(r, 1.0, 42.31333070160091, 687.1870074920579, 5394.196021424751, 21213.794301586597, 39307.89580009271, 28729.085735721943, 5226.495278852854)
	near := k.div(k.mul(a, num), den)
	y := k.narrow(k.pick(k.lessEqual(a, k.num64(0.85)), near, far))
	ax := k.abs(k.load("x"))
	y = k.pick(k.less(ax, k.num(1)), y, k.pick(k.equal(ax, k.num(1)), k.num(inf), k.num(nan)))
	k.store("dst", k.or(y, k.sign(k.load("x"))))
}

// logRounded is log64 of a normal positive number, each product rounded. The square of s is computed
// twice, for want of registers.
func (k *kernel) logRounded(x *expr) *expr {
	m, whole := k.mantissa64(x)
	e := k.sub(whole, k.num64(1<<52+1023))
	f := k.sub(m, k.num64(1))
	s := k.div(f, k.add(f, k.num64(2)))
	s4 := k.mul(s, s)
	s4 = k.mul(s4, s4)
	even := k.mul(s4, k.rounded64(s4, 1.531383769920937332e-01, 2.222219843214978396e-01, 3.999999999940941908e-01))
	odd := k.rounded64(s4, 1.479819860511658591e-01, 1.818357216161805012e-01, 2.857142874366239149e-01, 6.666666666666735130e-01)
	odd = k.mul(odd, k.mul(s, s))
	half := k.mul(k.mul(f, k.num64(0.5)), f)
	tail := k.add(k.mul(s, k.add(half, k.add(odd, even))), k.mul(e, k.num64(ln2Low64)))
	return k.sub(k.mul(e, k.num64(ln2High64)), k.sub(k.sub(half, tail), f))
}
