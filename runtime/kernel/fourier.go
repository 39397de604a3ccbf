package kernel

import (
	"math"
	"math/bits"
	"slices"
	"sync"

	"tpsh/internal/libm"
)

// A Fourier transforms rows of n complex numbers. It is not for use by several
// goroutines at a time.
type Fourier struct {
	n int
	// One of these is set.
	factors *factorFourier
	chirp   *chirp
}

// mostPrime is the greatest prime factor of lengths of rows that are transformed by
// factors. A factor takes as many steps for each element as it is great, a chirp as
// many as some hundred would, more or less as far as a power of two is.
const mostPrime = 97

// NewFourier returns a Fourier of rows of n numbers, at least one: one that was
// released, if there is one.
func NewFourier(n int) *Fourier {
	if f := fouriers.take(n); f != nil {
		return f
	}
	f := &Fourier{n: n}
	if odd := oddFactors(n); len(odd) > 0 && slices.Max(odd) > mostPrime {
		f.chirp = newChirp(n)
	} else {
		f.factors = newFactorFourier(n)
	}
	return f
}

func (f *Fourier) length() int { return f.n }

// Release gives f back, for a later NewFourier.
func (f *Fourier) Release() { fouriers.put(f) }

// Transform is
//
//	for k := range row {
//		dst[k] = scale * sum over j of row[j] * exp(∓2πi jk / n)
//	}
//
// with - in the exponent or, if inverse, +. dst may be row. It panics if the
// lengths are not n.
func (f *Fourier) Transform(dst, row []complex128, inverse bool, scale float64) {
	check2(len(dst), len(row))
	if f.factors != nil {
		f.factors.transform(dst, row, inverse, scale)
		return
	}
	f.chirp.transform(dst, row, inverse)
	if scale != 1 {
		for i, z := range dst {
			dst[i] = complex(real(z)*scale, imag(z)*scale)
		}
	}
}

// A chirp transforms rows of any length n in a time of n log n: as jk is
// (j² + k² - (k-j)²)/2, a transform is a convolution with exp(πi j²/n), and that is
// made by transforms of a power of two. See Bluestein, "A linear filtering approach to
// the computation of discrete Fourier transform", IEEE Transactions on Audio and
// Electroacoustics 18(4), 1970.
type chirp struct {
	power  *factorFourier
	turns  []complex128 // [n], exp(-πi j²/n)
	filter []complex128 // the transform of their conjugates, around 0, by its length
	room   []complex128
}

func newChirp(n int) *chirp {
	size := 1 << bits.Len(uint(2*n-2))
	c := &chirp{newFactorFourier(size), make([]complex128, n), make([]complex128, size), make([]complex128, size)}
	square := 0 // j² modulo 2n
	for j := range n {
		sin, cos := libm.Sincos(math.Pi * float64(square) / float64(n))
		c.turns[j] = complex(cos, -sin)
		c.filter[j] = complex(cos, sin)
		c.filter[(size-j)%size] = c.filter[j]
		square = (square + 2*j + 1) % (2 * n)
	}
	c.power.transform(c.filter, c.filter, false, 1/float64(size))
	return c
}

// transform is Transform with a scale of 1. The inverse is the transform of the
// conjugates, conjugated.
func (c *chirp) transform(dst, row []complex128, inverse bool) {
	check2(len(row), len(c.turns))
	clear(c.room[len(row):])
	for j, z := range row {
		if inverse {
			z = complex(real(z), -imag(z))
		}
		c.room[j] = libm.Mul(z, c.turns[j])
	}
	c.power.transform(c.room, c.room, false, 1)
	for k, z := range c.filter {
		c.room[k] = libm.Mul(c.room[k], z)
	}
	c.power.transform(c.room, c.room, true, 1)
	for k, turn := range c.turns {
		z := libm.Mul(c.room[k], turn)
		if inverse {
			z = complex(real(z), -imag(z))
		}
		dst[k] = z
	}
}

// fouriers are those that were released. The sines and cosines of one take longer
// to compute than a transform.
var fouriers fourierShelf[*Fourier]

// mostFouriers bounds how many numbers the rows of those have together.
const mostFouriers = 1 << 20

// A fourierShelf keeps what transforms rows for who needs it next.
type fourierShelf[F interface{ length() int }] struct {
	mu   sync.Mutex
	list []F // the last used last
	size int
}

// take returns one of rows of n numbers, or nothing.
func (s *fourierShelf[F]) take(n int) (f F) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := len(s.list) - 1; i >= 0; i-- {
		if f := s.list[i]; f.length() == n {
			s.list = append(s.list[:i], s.list[i+1:]...)
			s.size -= n
			return f
		}
	}
	return f
}

// put keeps f, in the place of those that were used long ago.
func (s *fourierShelf[F]) put(f F) {
	n := f.length()
	if n > mostFouriers {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list, s.size = append(s.list, f), s.size+n
	for s.size > mostFouriers || len(s.list) > 64 {
		s.size -= s.list[0].length()
		s.list = append(s.list[:0], s.list[1:]...)
	}
}
