package main

import "math"

// The functions of this file record the steps of functions of one number.
// Polynomials were fitted by a weighted minimax (Lawson's iteration) to within
// the relative errors given, with coefficients rounded to float32 one after
// the other, the constant first.

// Numbers that functions share.
const (
	log2E   = 1.4426950408889634
	ln2     = 0.6931471805599453
	ln2High = 0.693147182464599609375 // ln 2 in float32
	ln2Low  = ln2 - ln2High

	// shifter is what rounds a float32 to an integer when it is added: the
	// integer is then in the low bits of the sum.
	shifter     = 3 << 22
	shifterBits = 0x4b400000
)

var (
	inf = math.Inf(1)
	nan = math.NaN()
)

// A power is e to some power, in parts: mantissa * 2^exponent.
type power struct {
	mantissa *expr
	shifted  *expr // the exponent plus shifter
	n        *expr // the exponent
}

// powerTerms are the coefficients of the Q for which 1 + r Q(r) is e^r to 4e-9, for
// |r| of at most half of ln 2.
var powerTerms = []float64{1, 0.49999994, 0.1666652, 0.041668266, 0.0083686775, 0.0013820732}

// power returns e to the power x: with r and n of reduce it is 2^n (1 + r Q(r)).
func (k *kernel) power(x *expr) power {
	r, n, shifted := k.reduce(x)
	return power{k.horner(r, append([]float64{1}, powerTerms...)...), shifted, n}
}

// reduce returns the integer n nearest to x/ln 2, also with shifter added, and
// r = x - n ln 2.
func (k *kernel) reduce(x *expr) (r, n, shifted *expr) {
	shifted = k.fma(x, k.num(log2E), k.num(shifter))
	n = k.sub(shifted, k.num(shifter))
	r = k.fnma(n, k.num(ln2High), x)
	return k.fnma(n, k.num(ln2Low), r), n, shifted
}

// scale returns p as a number, whose exponent is -126 to 127.
func (k *kernel) scale(p power) *expr {
	k.constant(i32, 127<<23) // of AVX2
	return k.step(opScale, f32, p.mantissa, p.n, p.shifted)
}

// scaleAny returns p as a number, whose exponent is -252 to 254: subnormal
// numbers are rounded once, where there is no instruction for it in the second of
// two products.
func (k *kernel) scaleAny(p power) *expr {
	if k.wide {
		return k.step(opScaleAny, f32, p.mantissa, p.n)
	}
	n := k.intSub(k.bits(p.shifted), k.integer(shifterBits))
	half := k.shr(n, 1)
	bias := k.integer(127)
	y := k.mul(p.mantissa, k.from(k.shl(k.intAdd(half, bias), 23)))
	return k.mul(y, k.from(k.shl(k.intAdd(k.intSub(n, half), bias), 23)))
}

// exp returns e to the power x. Beyond -105, where it is 0, and 90, where it is
// infinite, x stays there.
func (k *kernel) exp(x *expr) *expr { return k.expSmall(k.min(k.num(90), x)) }

// expSmall returns e to the power x, which is at most 90.
func (k *kernel) expSmall(x *expr) *expr { return k.scaleAny(k.power(k.max(k.num(-105), x))) }

// leastNormal is the least x whose power of e is no subnormal number.
const leastNormal = -87.33654022216797

// expNormal returns e to the power x, which is not positive; 0 in place of
// subnormal numbers.
func (k *kernel) expNormal(x *expr) *expr {
	return k.pick(k.less(x, k.num(leastNormal)), k.num(0), k.scale(k.power(x)))
}

// expFlushed is expNormal of any x. Where x is not positive it has the same bits.
func (k *kernel) expFlushed(x *expr) *expr {
	return k.pick(k.less(x, k.num(leastNormal)), k.num(0), k.scaleAny(k.power(k.min(k.num(90), x))))
}

// log returns the natural logarithm of x. With x = 2^e (1 + f), 1 + f between
// √½ and √2, it is e ln 2 + f - f²/2 + f³ P(f), which P gives to 6e-9.
func (k *kernel) log(x *expr) *expr {
	m, e := k.logParts(x)
	return k.fixedLog(x, k.logNear(k.sub(m, k.num(1)), e))
}

// fixedLog returns y, the logarithm of x, but where x has none, or no finite one.
func (k *kernel) fixedLog(x, y *expr) *expr {
	if k.wide {
		return k.step(opFixLog, f32, x, y, k.integer(logFixes))
	}
	y = k.pick(k.less(x, k.num(inf)), y, x)
	y = k.pick(k.less(x, k.num(0)), k.num(nan), y)
	return k.pick(k.equal(x, k.num(0)), k.num(-inf), y)
}

// logNear returns the logarithm of 2^e (1 + f), 1 + f between √½ and √2.
func (k *kernel) logNear(f, e *expr) *expr {
	z := k.mul(f, f)
	p := k.poly(f, 0.3333333, -0.2500082, 0.20001243, -0.16623412, 0.14201544, -0.13159537, 0.12762427, -0.076368906)
	y := k.fma(k.mul(z, f), p, k.mul(e, k.num(ln2Low)))
	y = k.add(f, k.fnma(z, k.num(0.5), y))
	return k.fma(e, k.num(ln2High), y)
}

// logParts returns m and e of x = 2^e m, m between √½ and √2.
func (k *kernel) logParts(x *expr) (m, e *expr) {
	const rootHalf = 0x3f3504f3
	if k.wide {
		m, e = k.step(opMantissa, f32, x), k.step(opExponent, f32, x)
		high := k.less(k.constant(f32, rootHalf+1<<23-1), m)
		return k.pick(high, k.mul(m, k.num(0.5)), m), k.pick(high, k.add(e, k.num(1)), e)
	}
	tiny := k.less(x, k.num(0x1p-126))
	normal := k.pick(tiny, k.mul(x, k.num(0x1p23)), x)
	above := k.intSub(k.bits(normal), k.integer(rootHalf))
	e = k.add(k.toFloat(k.shr(above, 23)), k.pick(tiny, k.num(-23), k.num(0)))
	return k.from(k.intAdd(k.step(opAnd, i32, above, k.integer(1<<23-1)), k.integer(rootHalf))), e
}

// tanh returns the hyperbolic tangent of x: (1 - e)/(1 + e) for e = e^-2|x|, with
// the sign of x. Of e = 2^n (1 + p), with p as power has it, both are rounded once,
// as (1 - 2^n) - 2^n p, which near 0 is -p, and (1 + 2^n) + 2^n p.
func (k *kernel) tanh(x *expr) *expr {
	r, n, shifted := k.reduce(k.max(k.num(-20), k.mul(k.abs(x), k.num(-2))))
	p := k.fma(k.mul(r, r), k.horner(r, powerTerms[1:]...), r)
	unit := k.scale(power{k.num(1), shifted, n})
	less, more := k.sub(k.num(1), unit), k.add(unit, k.num(1))
	return k.or(k.div(k.fnma(p, unit, less), k.fma(p, unit, more)), k.sign(x))
}

// erf returns the error function of x: x + x P(x²) near 0, where P gives it to
// 2e-8, and 1 - exp(-t - t Q(t)) for t = |x| beyond, where Q gives it to 1e-9,
// with the sign of x. The form is Juffa's.
func (k *kernel) erf(x *expr) *expr {
	a := k.abs(x)
	s := k.mul(x, x)
	near := k.fma(x, k.poly(s, 0.12837915, -0.3761249, 0.11281731, -0.026762966, 0.004987353, -5.9595896e-04), x)
	t := k.min(k.num(4), a)
	q := k.poly(t, 0.1286485, 0.63515127, 0.10623694, -0.023762101, 0.0036424678, -3.2280333e-04, 1.12309435e-05)
	e := k.scale(k.power(k.neg(k.fma(t, q, t))))
	far := k.sub(k.num(1), e)
	return k.pick(k.less(a, k.num(0.93)), near, k.or(far, k.sign(x)))
}

// sigmoids returns 1/(1+e^-x) and 1/(1+e^x), given e = e^-|x|.
func (k *kernel) sigmoids(x, e *expr) (up, down *expr) {
	d := k.div(k.num(1), k.add(k.num(1), e))
	ed := k.mul(e, d)
	negative := k.less(x, k.num(0))
	return k.pick(negative, ed, d), k.pick(negative, d, ed)
}

// sigmoidTimes returns v/(1+e^-x), given e = e^-|x|.
func (k *kernel) sigmoidTimes(v, x, e *expr) *expr {
	top := k.pick(k.less(x, k.num(0)), k.mul(v, e), v)
	return k.div(top, k.add(k.num(1), e))
}

// clamp returns x, but no more than most and no less than -most.
func (k *kernel) clamp(x *expr, most float64) *expr {
	return k.min(k.num(most), k.max(k.num(-most), x))
}

// normalTail returns |x|, the normal distribution function at -|x|, and
// e^(-x²/2). With a = |x| and t = 1/(1 + 0.3 a), the tail Φ(-a) is e^(-a²/2)
// t P(t), which P gives to 4e-9. Beyond 12.8, where the tail is less than
// 1e-37, a stays 12.8.
func (k *kernel) normalTail(x *expr) (a, tail, e *expr) {
	a = k.min(k.num(12.8), k.abs(x))
	e = k.scale(k.power(k.mul(k.mul(a, k.num(-0.5)), a)))
	t := k.div(k.num(1), k.fma(a, k.num(0.3), k.num(1)))
	p := k.poly(t, 0.1196867, 0.119571716, 0.110236205, 0.07838635, 0.096165575, -0.07943859, 0.19180158, -0.22822581, 0.11244066, -0.020624386)
	return a, k.mul(k.mul(p, t), e), e
}

// normalTailPower returns |x| and the normal distribution function at -|x|,
// which is 2^(-1 - a R(a)) for a = |x|, where R gives it to 3e-7 up to 3 and,
// times a, to 1e-9 beyond. Beyond 12.8, where it is less than 1e-37, a stays
// 12.8. The power of two is 2^n P(f) for n - f = -a R(a), -½ <= f <= ½, where
// P gives it and the ½ to 3e-9.
func (k *kernel) normalTailPower(x *expr) (a, tail *expr) {
	a = k.min(k.num(12.8), k.abs(x))
	r := k.horner(a, -1.151105523109436, -0.4592077434062958, -0.05248500779271126, 0.007015636656433344, -5.793189848191105e-05, -0.0002520213893149048,
		6.906845374032855e-05, -1.000902739178855e-05, 8.467437737635919e-07, -3.896259670455038e-08, 7.490872366844314e-10)
	shifted := k.fma(a, r, k.num(shifter))
	n := k.sub(shifted, k.num(shifter))
	f := k.fnma(a, r, n)
	p := k.horner(f, 0.5, -0.3465735912322998, 0.12011323869228363, -0.02775179781019688, 0.0048092505894601345, -0.0006695493939332664, 7.664298755116761e-05)
	return a, k.scale(power{p, shifted, n})
}

// relu returns the greater of x and 0, or NaN.
func (k *kernel) relu(x *expr) *expr { return k.max(k.num(0), x) }

// The constants of Hendrycks and Gimpel, "Gaussian error linear units", 2016,
// doubled: tanh u is 2/(1+e^-2u) - 1.
const (
	geluScale = 2 * 0.7978845608028654 // 2 √(2/π)
	geluCube  = 0.044715 * geluScale
)

// geluTanhArg returns x (A + B x²) and its derivative.
func (k *kernel) geluTanhArg(x *expr) (u *expr, slope func() *expr) {
	s := k.mul(x, x)
	u = k.mul(x, k.fma(s, k.num(geluCube), k.num(geluScale)))
	return u, func() *expr { return k.fma(s, k.num(3*geluCube), k.num(geluScale)) }
}

// maximum returns the greater of a and b: NaN if either is, and +0 of zeros.
func (k *kernel) maximum(a, b *expr) *expr {
	m := k.pick(k.equal(a, b), k.and(a, b), k.max(a, b))
	return k.pick(k.isNaN(a), a, m)
}

// minimum returns the lesser of a and b: NaN if either is, and -0 of zeros.
func (k *kernel) minimum(a, b *expr) *expr {
	m := k.pick(k.equal(a, b), k.or(a, b), k.min(a, b))
	return k.pick(k.isNaN(a), a, m)
}
