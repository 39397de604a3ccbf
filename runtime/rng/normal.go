package rng

import (
	"math"

	"tpsh/runtime/kernel/vec"
)

// The rational approximations of Wichura, "Algorithm AS 241: the percentage
// points of the normal distribution", Applied Statistics 37(3), 1988: near the
// middle, in the flanks, and in the tails. Coefficients of x^7 come first.
var (
	midNum = [8]float64{2509.0809287301226727, 33430.575583588128105, 67265.770927008700853, 45921.953931549871457,
		13731.693765509461125, 1971.5909503065514427, 133.14166789178437745, 3.387132872796366608}
	midDen = [8]float64{5226.495278852854561, 28729.085735721942674, 39307.89580009271061, 21213.794301586595867,
		5394.1960214247511077, 687.1870074920579083, 42.313330701600911252, 1}

	flankNum = [8]float64{7.7454501427834140764e-4, 2.27238449892691845833e-2, 0.24178072517745061177, 1.27045825245236838258,
		3.64784832476320460504, 5.7694972214606914055, 4.6303378461565452959, 1.42343711074968357734}
	flankDen = [8]float64{1.05075007164441684324e-9, 5.475938084995344946e-4, 1.51986665636164571966e-2, 0.14810397642748007459,
		0.68976733498510000455, 1.6763848301838038494, 2.05319162663775882187, 1}

	tailNum = [8]float64{2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.2426609473880784386e-3, 2.65321895265761230930e-2,
		0.29656057182850489123, 1.7848265399172913358, 5.4637849111641143699, 6.6579046435011037772}
	tailDen = [8]float64{2.04426310338993978564e-15, 1.4215117583164458887e-7, 1.8463183175100546818e-5, 7.868691311456132591e-4,
		1.48753612908506148525e-2, 0.13692988092273580531, 0.59983220655588793769, 1}
)

// normal returns the quantile of the standard normal distribution at
// 1/2 + k*unit, for an odd k and a power of two unit such that k*unit lies
// inside (-1/2, 1/2). It is odd in k, and off by about one part in 10^16.
func normal(k int64, unit float64) float64 {
	q := float64(k) * unit
	if math.Abs(q) <= 0.425 {
		r := 0.180625 - float64(q*q)
		return q * poly(&midNum, r) / poly(&midDen, r)
	}
	r := math.Sqrt(-ln(0.5 - math.Abs(q)))
	if r <= 5 {
		r -= 1.6
		return math.Copysign(poly(&flankNum, r)/poly(&flankDen, r), q)
	}
	r -= 5
	return math.Copysign(poly(&tailNum, r)/poly(&tailDen, r), q)
}

// normals sets dst[i] to normal of word w[i], of which there are at most 4*batch,
// rounded: to
//
//	float32(normal(int64(w[i])<<1-(1<<32-1), 0x1p-33))
//
// One of seven words lies in the flanks; these are taken together. None lies in
// the tails.
func normals(dst []float32, w []uint32) {
	// How many words there are in the middle, less one, and the first of them: k of these is at most
	// 0.425 * 2^33.
	const last, first = 3650722201, 1<<31 - 1825361101
	vec.Quantile(dst, w)
	var far [4 * batch]uint32
	var at [4 * batch]uint16
	n := uint64(0)
	for i, w := range w {
		far[n%(4*batch)], at[n%(4*batch)] = w, uint16(i)
		n += (last - uint64(w-first)) >> 63 // without a branch, which would often be mispredicted
	}
	var quantiles [4 * batch]float32
	vec.QuantileFar(quantiles[:n], far[:n])
	for i, at := range at[:n] {
		dst[at] = quantiles[i]
	}
}

// poly evaluates a polynomial at x by Horner's rule. The conversions keep the
// compiler from fusing a multiplication with an addition, which would make
// the bits depend on the machine.
func poly(c *[8]float64, x float64) float64 {
	y := float64(c[0]*x) + c[1]
	y = float64(y*x) + c[2]
	y = float64(y*x) + c[3]
	y = float64(y*x) + c[4]
	y = float64(y*x) + c[5]
	y = float64(y*x) + c[6]
	return float64(y*x) + c[7]
}

// ln returns the natural logarithm of x, a normal positive number, within one
// unit in the last place. It is the algorithm of FreeBSD's e_log.c with every
// step rounded, so that its bits do not depend on the machine.
func ln(x float64) float64 {
	const (
		ln2hi = 6.93147180369123816490e-01
		ln2lo = 1.90821492927058770002e-10
	)
	m, e := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m *= 2
		e--
	}
	f, k := m-1, float64(e)
	s := f / (2 + f)
	s2 := float64(s * s)
	s4 := float64(s2 * s2)
	odd := float64(s2 * (6.666666666666735130e-01 + float64(s4*(2.857142874366239149e-01+float64(s4*(1.818357216161805012e-01+float64(s4*1.479819860511658591e-01)))))))
	even := float64(s4 * (3.999999999940941908e-01 + float64(s4*(2.222219843214978396e-01+float64(s4*1.531383769920937332e-01)))))
	h := float64(float64(0.5*f) * f)
	tail := float64(s*(h+(odd+even))) + float64(k*ln2lo)
	return float64(k*ln2hi) - ((h - tail) - f)
}
