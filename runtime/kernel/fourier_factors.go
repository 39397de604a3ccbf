package kernel

import (
	"math"

	"tpsh/internal/libm"
)

// A factorFourier transforms rows of n numbers by the factors of n: by fours, by two,
// and by its odd primes, with the results of each pass in order: Stockham's form of the
// fast Fourier transform, as in Swarztrauber, "FFT algorithms for vector computers",
// Parallel Computing 1, 1984.
type factorFourier struct {
	turns []complex128 // [n], exp(-2πi j/n)
	odd   []int        // the odd primes of n, each as often as it divides n
	room  [2][]complex128
}

func newFactorFourier(n int) *factorFourier {
	f := &factorFourier{turns: make([]complex128, n), odd: oddFactors(n), room: [2][]complex128{make([]complex128, n), make([]complex128, n)}}
	for j := range f.turns {
		sin, cos := libm.Sincos(2 * math.Pi * float64(j) / float64(n))
		f.turns[j] = complex(cos, -sin)
	}
	return f
}

// transform is Transform. The inverse is the transform of numbers whose parts are
// exchanged, with the parts exchanged.
func (f *factorFourier) transform(dst, row []complex128, inverse bool, scale float64) {
	x, y := f.room[0], f.room[1]
	check2(len(row), len(x))
	if inverse {
		for i, z := range row {
			x[i] = complex(imag(z), real(z))
		}
	} else {
		copy(x, row)
	}
	n, apart := len(x), 1 // what is left of each of apart transforms
	for ; n%4 == 0; n, apart = n/4, 4*apart {
		if apart == 1 {
			f.firstPass(y, x)
		} else {
			f.pass(y, x, n, apart)
		}
		x, y = y, x
	}
	for _, r := range f.odd {
		f.oddPass(y, x, n, apart, r)
		x, y, n, apart = y, x, n/r, r*apart
	}
	if n == 2 {
		low, high := x[:apart], x[apart:][:apart]
		for q, a := range low {
			b := high[q]
			low[q], high[q] = a+b, a-b
		}
	}
	switch {
	case inverse:
		for i, z := range x {
			dst[i] = complex(imag(z)*scale, real(z)*scale)
		}
	case scale != 1:
		for i, z := range x {
			dst[i] = complex(real(z)*scale, imag(z)*scale)
		}
	default:
		copy(dst, x)
	}
}

// pass takes a step of apart transforms of n numbers, each of which is apart from the
// next of its transform: it makes four of a quarter the size of each.
func (f *factorFourier) pass(y, x []complex128, n, apart int) {
	part := n / 4 * apart
	for p := range n / 4 {
		t1, t2, t3 := f.turns[p*apart], f.turns[2*p*apart], f.turns[3*p*apart]
		from, to := x[p*apart:], y[4*p*apart:]
		a, b, c, d := from[:apart], from[part:][:apart], from[2*part:][:apart], from[3*part:][:apart]
		y0, y1, y2, y3 := to[:apart], to[apart:][:apart], to[2*apart:][:apart], to[3*apart:][:apart]
		for q := range a {
			ac, bd := a[q]+c[q], b[q]+d[q]
			am, bm := a[q]-c[q], b[q]-d[q]
			im := complex(-imag(bm), real(bm)) // i (b - d)
			y0[q], y1[q], y2[q], y3[q] = ac+bd, libm.Mul(t1, am-im), libm.Mul(t2, ac-bd), libm.Mul(t3, am+im)
		}
	}
}

// firstPass is pass of one transform.
func (f *factorFourier) firstPass(y, x []complex128) {
	part := len(x) / 4
	a, b, c, d := x[:part], x[part:][:part], x[2*part:][:part], x[3*part:][:part]
	for p := range a {
		ac, bd := a[p]+c[p], b[p]+d[p]
		am, bm := a[p]-c[p], b[p]-d[p]
		im := complex(-imag(bm), real(bm))
		to := y[4*p:][:4]
		to[0], to[1], to[2], to[3] = ac+bd, libm.Mul(f.turns[p], am-im), libm.Mul(f.turns[2*p], ac-bd), libm.Mul(f.turns[3*p], am+im)
	}
}

// oddPass is pass to r transforms of a part of the size each, for an odd r. Those of
// opposite numbers have the same terms but for the sign of the sines.
func (f *factorFourier) oddPass(y, x []complex128, n, apart, r int) {
	part, half := n/r*apart, r/2
	var sums, differences [mostPrime / 2]complex128
	roots := make([]complex128, r)
	for j := range roots {
		roots[j] = f.turns[j*(len(x)/r)]
	}
	for p := range n / r {
		for q := range apart {
			from, to := x[p*apart+q:], y[r*p*apart+q:]
			first := from[0]
			all := first
			for j := range half {
				a, b := from[(j+1)*part], from[(r-1-j)*part]
				sums[j], differences[j] = a+b, a-b
				all += a + b
			}
			to[0] = all
			for k := 1; k <= half; k++ {
				even, odd, at := first, complex(0, 0), 0
				for j := range half {
					if at += k; at >= r {
						at -= r
					}
					cos, sin := real(roots[at]), imag(roots[at])
					even += complex(float64(cos*real(sums[j])), float64(cos*imag(sums[j])))
					odd += complex(float64(-sin*imag(differences[j])), float64(sin*real(differences[j])))
				}
				to[k*apart] = libm.Mul(f.turns[k*p*apart], even+odd)
				to[(r-k)*apart] = libm.Mul(f.turns[(r-k)*p*apart], even-odd)
			}
		}
	}
}

// oddFactors returns the odd prime factors of n.
func oddFactors(n int) []int {
	var all []int
	for n%2 == 0 {
		n /= 2
	}
	for p := 3; n > 1; p += 2 {
		if p*p > n {
			p = n
		}
		for n%p == 0 {
			n, all = n/p, append(all, p)
		}
	}
	return all
}
