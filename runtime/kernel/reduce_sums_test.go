package kernel

import (
	"math"
	"testing"
)

// Sums of what is made of each element have the bits of the sum of what was made before, and those of
// float32 the bits of the same numbers in float64.
func TestSumsOfMade(t *testing.T) {
	for n := range 70 {
		x, narrow := make([]float64, n), make([]float32, n)
		for i := range x {
			narrow[i] = float32(math.Sin(float64(i))) / 3
			x[i] = float64(narrow[i])
		}
		const mean = 0.1
		for _, s := range []struct {
			name    string
			f64     func(x []float64) float64
			f32     func(x []float32) float64
			element func(v float64) float64
		}{
			{"WideSum", WideSum[float64], WideSum[float32], func(v float64) float64 { return v }},
			{"AbsSum", AbsSum[float64], AbsSum[float32], math.Abs},
			{"SquareSum", SquareSum[float64], SquareSum[float32], func(v float64) float64 { return v * v }},
			{
				"SquaredDiffSum",
				func(x []float64) float64 { return SquaredDiffSum(x, mean) },
				func(x []float32) float64 { return SquaredDiffSum(x, mean) },
				func(v float64) float64 { return (v - mean) * (v - mean) },
			},
		} {
			made := make([]float64, n)
			for i, v := range x {
				made[i] = s.element(v)
			}
			want := sum64(made)
			if got := s.f64(x); got != want {
				t.Errorf("%s of %d float64 = %v, want %v", s.name, n, got, want)
			}
			if got := s.f32(narrow); got != want {
				t.Errorf("%s of %d float32 = %v, want %v", s.name, n, got, want)
			}
		}
	}
}

// The greatest and the least element of float64 are those of Go's max and min, wherever they stand among
// others, NaN and zeros of both signs too.
func TestExtremes64(t *testing.T) {
	special := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), 7, -7}
	for n := 1; n < 70; n++ {
		for at := range n {
			for _, filled := range special {
				for _, v := range special {
					x := make([]float64, n)
					Fill(x, filled)
					x[at] = v
					greatest, least := x[0], x[0]
					for _, w := range x {
						greatest, least = max(greatest, w), min(least, w)
					}
					if got := max64(x); !sameNumber(got, greatest) {
						t.Fatalf("greatest of %v = %v, want %v", x, got, greatest)
					}
					if got := min64(x); !sameNumber(got, least) {
						t.Fatalf("least of %v = %v, want %v", x, got, least)
					}
				}
			}
		}
	}
}

// sameNumber reports whether a and b are the same bits, or both NaN.
func sameNumber(a, b float64) bool {
	return math.Float64bits(a) == math.Float64bits(b) || a != a && b != b
}
