package main

import "math"

// The functions of this file record the steps of the logarithm of the gamma function and of its slope, in
// float64. With a = |x| they are, up to 3, those at the y of a and a + 1 that is 1 to 3, the zeros there times
// a polynomial of y - 2; from 3 on Stirling's series, whose terms in 1/a² are a polynomial; and of a negative
// x what the reflections make of these: Abramowitz and Stegun, 6.1.17, 6.1.41, 6.3.7 and 6.3.18. Polynomials are those
// through the values at Chebyshev's points, within 1e-16. Operands are loaded again and again, for want of registers.

// halfTurns returns the rest r of |x| by the nearest integer, and its square.
func (k *kernel) halfTurns() (r, square *expr) {
	a := k.abs(k.load("x"))
	r = k.widen(k.sub(a, k.round(a, toNearest)))
	return r, k.mul(r, r)
}

// sinePi returns the sine of πr, given the square of r, which is at most a half.
func (k *kernel) sinePi(r, square *expr) *expr {
	return k.mul(r, k.horner64(square, 3.141592653589793, -5.16771278004997, 2.5501640398773455, -0.5992645293207869, 0.08214588661099356,
		-0.007370430943702136, 0.0004663027874593273, -2.1915250301851375e-05, 7.94853903737232e-07, -2.228371216069697e-08))
}

// cosinePi returns the cosine of πr, given the square of r, which is at most a half.
func (k *kernel) cosinePi(square *expr) *expr {
	return k.horner64(square, 1, -4.934802200544679, 4.058712126416768, -1.3352627688545549, 0.235330630357995,
		-0.025806891376592964, 0.0019295741872812349, -0.00010463741681752138, 4.300724172734847e-06, -1.34352129509532e-07)
}

// wideAbs returns |x|.
func (k *kernel) wideAbs() *expr { return k.widen(k.abs(k.load("x"))) }

// nearGamma returns the y of |x| and |x| + 1 that is 1 or more, less 2.
func (k *kernel) nearGamma() *expr {
	a := k.wideAbs()
	return k.sub(k.pick(k.less(a, k.num64(1)), k.add(a, k.num64(1)), a), k.num64(2))
}

// lgamma records the logarithm of the gamma function's absolute value at x.
func (k *kernel) lgamma() {
	ln := k.logNormal64(k.wideAbs())
	r := k.div(k.num64(1), k.wideAbs())
	w := k.horner64(k.mul(r, r), 0.0833333333333333, -0.0027777777777198706, 0.0007936507724234067, -0.0005952350113118343, 0.0008415163778136668,
		-0.0019068288114279443, 0.006092364447572614, -0.023023388614372777, 0.0813307211132798, -0.2070933006751568, 0.26180852870866445)
	w = k.fma(w, r, k.num64(0.4189385332046727)) // half the logarithm of 2π, less a half
	far := k.fma(k.sub(k.wideAbs(), k.num64(0.5)), k.sub(ln, k.num64(1)), w)
	off := k.pick(k.less(k.wideAbs(), k.num64(1)), ln, k.num64(0))
	u := k.nearGamma()
	p := k.horner64(u, 0.42278433509846713, -0.10031730167435392, 0.03296500062115691, -0.012384192193371805, 0.004998641164627129,
		-0.0021081308339216706, 0.0009153769240386907, -0.0004057073983775151, 0.0001825526153982638, -8.309511477709561e-05,
		3.816907658276081e-05, -1.7661767658452517e-05, 8.221234475942905e-06, -3.846858091533014e-06, 1.8113906873056685e-06,
		-8.54560908975883e-07, 3.958940459367468e-07, -1.878442644643758e-07, 1.042041826608264e-07, -4.9827532071170234e-08,
		5.910565853507869e-09, -2.7296358592514825e-09, 1.6194359237484174e-08, -7.842557720538356e-09, -4.312495770350818e-09,
		2.0986002157033107e-09, 1.5746606982777302e-09, -7.639292345836201e-10)
	near := k.fma(k.fma(u, u, u), p, k.neg64(off))
	y := k.pick(k.less(k.wideAbs(), k.num64(3)), near, far)
	turns, square := k.halfTurns()
	sine := k.abs64(k.sinePi(turns, square))
	reflected := k.sub(k.logNormal64(k.div(k.num64(math.Pi), k.mul(k.wideAbs(), sine))), y)
	y = k.pick(k.less(k.widen(k.load("x")), k.num64(0)), reflected, y)
	z := k.narrow(y)
	x := k.load("x")
	a := k.abs(x)
	z = k.pick(k.equal(a, k.num(inf)), k.num(inf), z)
	pole := k.equal(k.pick(k.less(k.num(0), x), k.num(1), k.sub(a, k.round(a, toNearest))), k.num(0))
	k.store("dst", k.pick(pole, k.num(inf), z))
}

// digamma records the slope of lgamma at x.
func (k *kernel) digamma() {
	ln := k.logNormal64(k.wideAbs())
	r := k.div(k.num64(1), k.wideAbs())
	square := k.mul(r, r)
	series := k.horner64(square, 0.08333333333333287, -0.0083333333323328, 0.003968253600942064, -0.004166613154056894, 0.007571670662698111,
		-0.020904992716699745, 0.07768996902561713, -0.32525222437397994, 1.2213863296286607, -3.2200812668413126, 4.15409568940603)
	far := k.sub(ln, k.fma(square, series, k.mul(r, k.num64(0.5))))
	u := k.nearGamma()
	p := k.horner64(u, 0.7853075386041053, -0.2607389546830014, 0.10899991701762626, -0.04955103291767291, 0.023447309597724546,
		-0.011338432553333682, 0.005552254171350814, -0.0027395728831692795, 0.0013581421903714414, -0.000675313369799565,
		0.00033643237613001386, -0.00016781518722379935, 8.377966540530644e-05, -4.184622931937881e-05, 2.0891708911121205e-05,
		-1.044106631983514e-05, 5.26871942897218e-06, -2.6338311326151924e-06, 1.2119815782595426e-06, -6.059322795045256e-07,
		4.6173797029851077e-07, -2.3086248081342955e-07, -5.6422994902202784e-08, 2.821220170829738e-08, 1.1540536834062045e-07,
		-5.77025926771739e-08, -3.5705337308985145e-08, 1.7852672191376552e-08, 1.0201545142033868e-08, -5.100770214989469e-09)
	near := k.mul(k.sub(k.sub(u, k.num64(-0.5383678550316376)), k.num64(-1.5522348162858677e-17)), p) // the zero, less 2
	y := k.pick(k.less(k.wideAbs(), k.num64(3)), near, far)
	// Of a below 1 that is the function at a + 1, which 1/a is more, and which the reflection of a negative x takes.
	beyond := k.pick(k.less(k.widen(k.load("x")), k.num64(0)), k.sub(k.num64(2), k.wideAbs()), k.wideAbs())
	y = k.sub(y, k.pick(k.less(beyond, k.num64(1)), k.div(k.num64(1), k.widen(k.load("x"))), k.num64(0)))
	turns, square := k.halfTurns()
	sine := k.sinePi(turns, square)
	cotangent := k.div(k.mul(k.mul(k.cosinePi(square), k.num64(math.Pi)), sine), k.mul(sine, sine)) // NaN where that is 0
	y = k.add(y, k.pick(k.less(k.widen(k.load("x")), k.num64(0)), cotangent, k.num64(0)))
	k.store("dst", k.pick(k.equal(k.load("x"), k.num(inf)), k.num(inf), k.narrow(y)))
}
