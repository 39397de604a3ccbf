package kernel

import (
	"fmt"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/dsp/fourier"
)

// randomRow returns a row of n numbers about 0.
func randomRow(n int) []complex128 {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	row := make([]complex128, n)
	for i := range row {
		row[i] = complex(r.NormFloat64(), r.NormFloat64())
	}
	return row
}

// Rows of all lengths, made of small primes or of great ones, have the transform of
// the definition, forwards and back.
func TestFourier(t *testing.T) {
	for _, n := range []int{1, 2, 3, 4, 7, 8, 16, 30, 32, 60, 61, 64, 67, 100, 105, 122, 127, 128, 134, 243, 256, 262, 509, 512} {
		row := randomRow(n)
		for _, inverse := range []bool{false, true} {
			sign := -1.0
			if inverse {
				sign = 1
			}
			f, got := NewFourier(n), make([]complex128, n)
			f.Transform(got, row, inverse, 0.5)
			f.Release()
			for k := range n {
				var want complex128
				for j, z := range row {
					want += z * cmplx.Rect(0.5, sign*2*math.Pi*float64(j*k%n)/float64(n))
				}
				if cmplx.Abs(got[k]-want) > 1e-13*float64(n) {
					t.Fatalf("n=%d inverse=%v: element %d is %v, want %v", n, inverse, k, got[k], want)
				}
			}
		}
	}
}

func TestOddFactors(t *testing.T) {
	for n, want := range map[int][]int{1: nil, 2: nil, 12: {3}, 49: {7, 7}, 97: {97}, 2 * 97: {97}, 1 << 20: nil, 10007: {10007}, 360: {3, 3, 5}} {
		if got := oddFactors(n); !slices.Equal(got, want) {
			t.Errorf("oddFactors(%d) = %v, want %v", n, got, want)
		}
	}
}

// What is released is used again, and does not grow beyond its bound.
func TestFourierShelf(t *testing.T) {
	var s fourierShelf[*Fourier]
	a := &Fourier{n: 8}
	s.put(a)
	if got := s.take(9); got != nil {
		t.Errorf("take(9) = %v, want none of 8", got)
	}
	if got := s.take(8); got != a || s.size != 0 {
		t.Errorf("take(8) = %p and leaves %d numbers, want %p and 0", got, s.size, a)
	}
	for range 3 {
		s.put(&Fourier{n: mostFouriers / 2})
	}
	s.put(&Fourier{n: mostFouriers + 1})
	if len(s.list) != 2 || s.size != mostFouriers {
		t.Errorf("%d of %d numbers are kept, want 2 of %d", len(s.list), s.size, mostFouriers)
	}
}

// Beside gonum's transform with its tables at hand.
func BenchmarkFourier(b *testing.B) {
	for _, n := range []int{1 << 10, 1 << 14, 1 << 20, 1000, 59 * 16, 67 * 16, 127 * 8, 10007, 100000} {
		row := randomRow(n)
		b.Run(fmt.Sprintf("%d/tpsh", n), func(b *testing.B) {
			for b.Loop() {
				f := NewFourier(n)
				f.Transform(row, row, false, 1/math.Sqrt(float64(n)))
				f.Release()
			}
		})
		b.Run(fmt.Sprintf("%d/gonum", n), func(b *testing.B) {
			f := fourier.NewCmplxFFT(n)
			for b.Loop() {
				f.Coefficients(row, row)
				for i := range row {
					row[i] *= complex(1/math.Sqrt(float64(n)), 0)
				}
			}
		})
	}
}
