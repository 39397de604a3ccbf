package main

import "math"

// The functions of this file record the steps of functions of a float64. Polynomials are those
// through the values at Chebyshev's points, within the relative errors given.

// shifter64 is to float64 what shifter is to float32.
const shifter64 = 3 << 51

// abs64, sign64 and neg64 are abs, sign and neg of a float64.
func (k *kernel) abs64(a *expr) *expr  { return k.and(a, k.constant(f64, math.MaxInt64)) }
func (k *kernel) sign64(a *expr) *expr { return k.and(a, k.num64(math.Copysign(0, -1))) }
func (k *kernel) neg64(a *expr) *expr  { return k.xor(a, k.num64(math.Copysign(0, -1))) }

// reduce64 is reduce of a float64. The product of n and the greater part of ln 2 is exact as it is
// taken off.
func (k *kernel) reduce64(x *expr) (r, n, shifted *expr) {
	shifted = k.fma(x, k.num64(log2E), k.num64(shifter64))
	n = k.sub(shifted, k.num64(shifter64))
	r = k.fnma(n, k.num64(ln2), x)
	return k.fnma(n, k.num64(2.3190468138462996e-17), r), n, shifted
}

// bend64 returns Q(r) of e^r = 1 + r + r² Q(r), for |r| of at most half of ln 2, which it gives
// to 2e-17.
func (k *kernel) bend64(r *expr) *expr {
	return k.horner64(r, 0.5, 0.16666666666666669, 0.04166666666662413, 0.008333333333330062, 0.0013888888917213717,
		0.00019841269863053618, 2.4801521295954376e-05, 2.7557268459997064e-06, 2.7620088445409746e-07, 2.510038549551032e-08)
}

// exp64 returns e to the power x: 2^n (1 + r + r² Q), of which r adds what 1 + r is rounded by. The power of two is in
// two parts, so that subnormal numbers are rounded once.
func (k *kernel) exp64(x *expr) *expr {
	r, _, shifted := k.reduce64(k.min(k.num64(710), k.max(k.num64(-746), x)))
	q := k.mul(k.bend64(r), r)
	lack := k.sub(r, k.sub(k.add(r, k.num64(1)), k.num64(1)))
	m := k.add(k.fma(q, r, lack), k.add(r, k.num64(1))) // a sum and n are computed twice, for want of registers
	n := k.sub(shifted, k.num64(shifter64))
	if k.wide {
		return k.step(opScaleAny, f64, m, n)
	}
	half := k.fma(n, k.num64(0.5), k.num64(shifter64))
	first := k.sub(half, k.num64(shifter64))
	rest := k.sub(shifted, first)
	return k.scale64(k.scale64(m, first, half), k.sub(rest, k.num64(shifter64)), rest)
}

// scale64 returns m 2^n, a normal number or that which it is rounded to once; shifted is n plus
// shifter64.
func (k *kernel) scale64(m, n, shifted *expr) *expr {
	k.constant(i64, 1023<<52) // of AVX2
	return k.step(opScale, f64, m, n, shifted)
}

// ln2High64 and ln2Low64 are the logarithm of 2, the former with as many zeros at its end as an exponent has bits.
const ln2High64, ln2Low64 = 6.93147180369123816490e-01, 1.90821492927058770002e-10

// log64 returns the natural logarithm of x. With x = 2^e (1 + f), 1 + f between √½ and √2, and
// s = f/(2 + f), it is e ln 2 + f - (f²/2 - s (f²/2 + R(s²))). The form and R, which gives it to 2^-58, are
// those of FreeBSD's e_log.c.
func (k *kernel) log64(x *expr) *expr {
	tiny := k.less(x, k.num64(0x1p-1022))
	m, whole := k.mantissa64(k.pick(tiny, k.mul(x, k.num64(0x1p54)), x))
	e := k.sub(whole, k.pick(tiny, k.num64(1<<52+1023+54), k.num64(1<<52+1023)))
	y := k.logNear64(k.sub(m, k.num64(1)), e)
	y = k.pick(k.less(x, k.num64(inf)), y, x)
	y = k.pick(k.less(x, k.num64(0)), k.num64(nan), y)
	return k.pick(k.equal(x, k.num64(0)), k.num64(-inf), y)
}

// logNormal64 is log64 of a positive normal number.
func (k *kernel) logNormal64(x *expr) *expr {
	m, whole := k.mantissa64(x)
	e := k.sub(whole, k.num64(1<<52+1023))
	return k.logNear64(k.sub(m, k.num64(1)), e)
}

// logNear64 returns the logarithm of 2^e (1 + f), 1 + f between √½ and √2.
func (k *kernel) logNear64(f, e *expr) *expr {
	s := k.div(f, k.add(f, k.num64(2)))
	z := k.mul(s, s)
	r := k.mul(z, k.horner64(z, 6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01, 2.222219843214978396e-01,
		1.818357216161805012e-01, 1.531383769920937332e-01, 1.479819860511658591e-01))
	half := k.mul(k.mul(f, f), k.num64(0.5))
	y := k.fma(s, k.add(half, r), k.mul(e, k.num64(ln2Low64)))
	return k.fma(e, k.num64(ln2High64), k.sub(f, k.sub(half, y)))
}

// mantissa64 returns the m between √½ and √2 of a normal x = 2^e m, and e plus its bias and 2^52.
func (k *kernel) mantissa64(x *expr) (m, whole *expr) {
	const rootHalf, one, fraction = 0x3fe6a09e667f3bcd, 0x3ff << 52, 1<<52 - 1
	above := k.intAdd(k.bits64(x), k.integer64(one-rootHalf)) // its exponent is e, with the bias of a float64
	m = k.from64(k.intAdd(k.step(opAnd, i64, above, k.integer64(fraction)), k.integer64(rootHalf)))
	return m, k.from64(k.step(opOr, i64, k.shift(opShiftDown, above, 52), k.integer64(0x433<<52)))
}

// tanh64 is tanh of a float64.
func (k *kernel) tanh64(x *expr) *expr {
	one := k.num64(1)
	r, n, shifted := k.reduce64(k.max(k.num64(-44), k.mul(k.abs64(x), k.num64(-2))))
	p := k.fma(k.mul(r, r), k.bend64(r), r)
	unit := k.scale64(one, n, shifted)
	less, more := k.sub(one, unit), k.add(unit, one)
	return k.or(k.div(k.fnma(p, unit, less), k.fma(p, unit, more)), k.sign64(x))
}

// normalTail64 returns |x|, the normal distribution function at -|x|, and e^(-x²/2). With
// a = |x| and t = 1/(1 + a/5), the tail is e^(-a²/2) t P(t), which P gives to 2e-16. Beyond 38.6, where the
// tail is less than 1e-323, a stays 38.6.
func (k *kernel) normalTail64(x *expr) (a, tail, e *expr) {
	a = k.min(k.num64(38.6), k.abs64(x))
	e = k.exp64(k.mul(k.mul(a, a), k.num64(-0.5)))
	lack := k.fnma(a, a, k.mul(a, a)) // what the square was rounded by, of which e^(½ lack) is 1 + ½ lack
	e = k.fma(e, k.mul(lack, k.num64(0.5)), e)
	t := k.div(k.num64(1), k.fma(a, k.num64(0.2), k.num64(1)))
	p := k.horner64(t, 0.07978845608956175, 0.0797884554673577, 0.07659693659240818, 0.07021348776011532, 0.06102682157904468,
		0.049743755728627916, 0.03790814514974808, 0.02376729386449057, 0.023676143192783047, -0.0247842498194973, 0.09673013104215797,
		-0.23470268258424823, 0.46417383717517596, -0.7570780034800223, 0.9864168756472674, -1.0226051548324846, 0.8248691528741359,
		-0.49919569827686777, 0.21708270667069918, -0.06388208898184863, 0.011398886098713914, -0.0009332069573188149)
	return a, k.mul(k.mul(p, t), e), e
}

// gelu64 records x times the normal distribution function at x; for x > 0 it is x (1 - tail). x is
// loaded once more, for want of registers.
func (k *kernel) gelu64() {
	a, tail, _ := k.normalTail64(k.load("x"))
	k.store("dst", k.fnma(a, tail, k.max(k.num64(0), k.load("x"))))
}

// geluGrad64 records grad times the slope of gelu64 at x. With φ the density, the slope at -|x|
// is Φ(-|x|) - |x| φ, and at |x| it is 1 less that.
func (k *kernel) geluGrad64() {
	a, tail, e := k.normalTail64(k.load("x"))
	d := k.fnma(k.mul(e, k.num64(1/math.Sqrt(2*math.Pi))), a, tail)
	d = k.pick(k.less(k.load("x"), k.num64(0)), d, k.sub(k.num64(1), d))
	k.store("dst", k.mul(k.load("grad"), d))
}
