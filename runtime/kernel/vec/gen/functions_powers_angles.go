package main

import "math"

// The functions of this file record the steps of powers, of the trigonometric functions and
// of remainders. What float32 has too few bits for is computed in float64.

// expm1 returns e to the power x, less 1. Of e^x = 2^n (1 + p), with p as power has it,
// that is (2^n - 1) + 2^n p, rounded once; beyond 30 it is e^x.
func (k *kernel) expm1(x *expr) *expr {
	r, n, shifted := k.reduce(k.min(k.num(90), k.max(k.num(-20), x)))
	p := k.fma(k.mul(r, r), k.horner(r, powerTerms[1:]...), r)
	unit := k.scale(power{k.num(1), shifted, n})
	near := k.fma(p, unit, k.sub(unit, k.num(1)))
	far := k.scaleAny(power{k.add(p, k.num(1)), shifted, n})
	return k.or(k.pick(k.less(k.num(30), x), far, near), k.sign(x))
}

// log1p returns the logarithm of 1 + x. With u = 1 + x rounded and c what is lacking, it
// is that of 2^e (m + c 2^-e) for the parts of u.
func (k *kernel) log1p(x *expr) *expr {
	one := k.num(1)
	u := k.add(x, one)
	c := k.sub(k.min(one, x), k.sub(u, k.max(one, x)))
	m, e := k.logParts(u)
	shifted := k.sub(k.num(shifter), k.min(k.num(100), e)) // where e is greater, c is nothing
	f := k.fma(c, k.scale(power{one, shifted, k.sub(shifted, k.num(shifter))}), k.sub(m, one))
	return k.or(k.fixedLog(u, k.logNear(f, e)), k.sign(x))
}

// softplus returns log(1 + e^x): the greater of x and 0, plus the logarithm of 1 + t for
// t = e^-|x|, at most 1, by the parts of log1p.
func (k *kernel) softplus(x *expr) *expr {
	one := k.num(1)
	t := k.expSmall(k.neg(k.abs(x)))
	u := k.add(t, one)
	c := k.sub(t, k.sub(u, one))
	high := k.less(k.num(math.Sqrt2), u)
	unit := k.pick(high, k.num(0.5), one)
	f := k.fma(c, unit, k.fma(u, unit, k.num(-1)))
	return k.add(k.relu(x), k.logNear(f, k.pick(high, one, k.num(0))))
}

// quarters returns r, also in float64, and the bits of n, in the low half of an integer, of x = n π/2 + r for
// the n that is nearest, where |x| is at most 2^22: n then has 22 bits, the product with π/2 is
// exact as it is taken off, and of what π/2 lacks in float64 the second product takes off enough.
func (k *kernel) quarters(x *expr) (r, wide, n *expr) {
	wide = k.widen(x)
	whole := k.round(k.mul(wide, k.num64(2/math.Pi)), toNearest)
	y := k.fnma(whole, k.num64(math.Pi/2), wide)
	y = k.fnma(whole, k.num64(6.123233995736766e-17), y)
	return k.narrow(y), y, k.bits(k.add(k.narrow(whole), k.num(shifter)))
}

// sine returns the sine of x = n π/2 + r, of which n are the bits; that of n + 1 is the cosine.
// Near 0 it is r + r³ P(r²), which P gives to 4e-9, else 1 - r²/2 + r⁴ Q(r²), which Q
// gives to 2e-10, with the sign that n says.
func (k *kernel) sine(r, n *expr) *expr {
	s := k.mul(r, r)
	sin := k.mul(r, k.fma(s, k.horner(s, -0.16666655, 0.008332189, -0.00019518292), k.num(1)))
	cos := k.fma(k.mul(s, s), k.horner(s, 0.041666646, -0.0013887311, 2.4432567e-05), k.fma(s, k.num(-0.5), k.num(1)))
	odd := k.nonZero(k.step(opAnd, i32, n, k.integer(1)))
	sign := k.shl(k.step(opAnd, i32, n, k.integer(2)), 30)
	return k.xor(k.pick(odd, cos, sin), k.from(sign))
}

// sin returns the sine of x, cos its cosine.
func (k *kernel) sin(x *expr) *expr {
	r, _, n := k.quarters(x)
	return k.sine(r, n)
}

func (k *kernel) cos(x *expr) *expr {
	r, _, n := k.quarters(x)
	return k.sine(r, k.intAdd(n, k.integer(1)))
}

// tan returns the tangent of x: t = r + r³ T(r²), which T gives to 2e-9 and which is added in
// float64, or -1/t where n is odd.
func (k *kernel) tan(x *expr) *expr {
	r, wide, n := k.quarters(x)
	s := k.mul(r, r)
	more := k.mul(k.mul(r, s), k.horner(s, 0.3333335, 0.13332675, 0.0540589, 0.021286387, 0.010826708, 9.950885e-05, 0.0043719225))
	t := k.narrow(k.add(wide, k.widen(more)))
	odd := k.nonZero(k.step(opAnd, i32, n, k.integer(1)))
	return k.pick(odd, k.div(k.num(-1), t), t)
}

// atan2 returns the angle of the point (x, y): with q the lesser of |x| and |y| through the
// greater, and a = q + q³ P(q²), which P gives to 1e-8 and at 1 to the last bit, it is one of a, π/2 ∓ a and π - a, with the
// sign of y.
func (k *kernel) atan2(y, x *expr) *expr {
	ax, ay, zero := k.abs(x), k.abs(y), k.num(0)
	less, most := k.min(ax, ay), k.max(ax, ay)
	q := k.pick(k.equal(less, most), k.num(1), k.div(less, most))
	q = k.pick(k.equal(most, zero), zero, q)
	s := k.mul(q, q)
	a := k.fma(k.mul(q, s), k.horner(s, -0.333333, 0.19998531, -0.14264052, 0.10951175, -0.08400475, 0.057906546, -0.031127002, 0.010887361, -0.0017875376), q)
	steep, left := k.less(ax, ay), k.signed(x)
	flip := k.xor(k.pick(steep, k.num(math.Copysign(0, -1)), zero), k.sign(x))
	const high, low = 1.57079637050628662109375, math.Pi/2 - 1.57079637050628662109375
	begin := k.pick(steep, k.num(high), k.pick(left, k.num(2*high), zero))
	beginLow := k.pick(steep, k.num(low), k.pick(left, k.num(2*low), zero))
	angle := k.or(k.add(begin, k.add(k.xor(a, flip), beginLow)), k.sign(y))
	return k.pick(k.isNaN(x), x, k.pick(k.isNaN(y), y, angle))
}

// signed returns whether the sign of x, which may be a zero, is minus.
func (k *kernel) signed(x *expr) *expr {
	return k.nonZero(k.step(opAnd, i32, k.shr(k.bits(x), 31), k.integer(1)))
}

// pow returns x to the power y, by way of 2^(y log2 |x|) in float64, to 1e-11: of |x| = 2^e m,
// m between √½ and √2, the logarithm is e + s L(s²) with s = (m-1)/(m+1), which L gives to
// 3e-14, and of t = n + r, n the nearest integer, 2^t is 2^n P(r), which P gives to 8e-13.
func (k *kernel) pow(x, y *expr) *expr {
	ax := k.abs(x)
	m, e := k.logParts(ax)
	if !k.wide { // where zero and infinity have these exponents
		e = k.pick(k.equal(ax, k.num(0)), k.num(-inf), k.pick(k.equal(ax, k.num(inf)), k.num(inf), e))
	}
	f := k.widen(k.sub(m, k.num(1)))
	s := k.div(f, k.add(f, k.num64(2)))
	l := k.horner64(k.mul(s, s), 2.88539008177785, 0.9617966941134634, 0.5770779423237972, 0.4122092569180958, 0.3199054975014126, 0.2829031807144788)
	l = k.fma(s, l, k.widen(e))
	t := k.mul(k.widen(k.clamp(y, math.MaxFloat32)), l)
	whole := k.round(t, toNearest)
	p := k.horner64(k.sub(t, whole), 0.999999999999762, 0.6931471805465126, 0.24022650698884063, 0.05550410939348406, 0.009618128542198462,
		0.0013333452055469205, 0.00015403852142417736, 1.530973930351861e-05, 1.3175784444810044e-06)
	n, t32 := k.narrow(whole), k.narrow(t)
	part := power{mantissa: k.narrow(p), n: n}
	if !k.wide {
		part.shifted = k.add(n, k.num(shifter))
	}
	z := k.scaleAny(part)
	z = k.pick(k.less(t32, k.num(-160)), k.num(0), k.pick(k.less(k.num(140), t32), k.num(inf), z))
	return k.powSpecial(x, y, ax, z)
}

// powSpecial returns x to the power y, given that of |x|: that of a negative x has a sign where y
// is odd and is NaN where y is no integer, that of 1 and any number to the power 0 is 1.
func (k *kernel) powSpecial(x, y, ax, z *expr) *expr {
	zero, one := k.num(0), k.num(1)
	half := k.mul(y, k.num(0.5))
	whole := k.equal(k.round(y, toZero), y)
	even := k.equal(k.round(half, toZero), half)
	odd := k.or(z, k.pick(even, zero, k.sign(x)))
	broken := k.pick(k.less(x, zero), k.pick(k.equal(ax, k.num(inf)), z, k.num(nan)), z)
	z = k.pick(whole, odd, broken)
	z = k.pick(k.isNaN(x), x, z)
	z = k.pick(k.equal(x, one), one, z)
	return k.pick(k.equal(y, zero), one, z)
}

// fmod returns the remainder of x by y with the sign of x, and the quotient without its fraction: x less the product
// of y and that, which is exact where the quotient is less than 2^28.
func (k *kernel) fmod(x, y *expr) (r, quotient *expr) {
	wx, wy := k.widen(x), k.widen(y)
	q := k.round(k.div(wx, wy), toZero)
	r = k.or(k.narrow(k.fnma(q, wy, wx)), k.sign(x))
	return k.pick(k.less(k.abs(x), k.abs(y)), x, r), k.narrow(q)
}

// remainder is fmod with the sign of y.
func (k *kernel) remainder(x, y *expr) (r, quotient *expr) {
	r, quotient = k.fmod(x, y)
	differ := k.signed(k.xor(r, y))
	return k.pick(k.equal(r, k.num(0)), r, k.pick(differ, k.add(r, y), r)), quotient
}
