package kernel

import (
	"math"
	"testing"

	"tpsh/runtime/dtype"
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

// The greatest and the least element are those of Go's max and min, wherever they stand among
// others, NaN and zeros of both signs too.
func TestExtremes(t *testing.T) {
	testExtremes(t, &Max.F64, &Min.F64)
	testExtremes(t, &Max.F32, &Min.F32)
}

func testExtremes[T dtype.Float](t *testing.T, most, least *Reduction[T]) {
	special := []T{T(math.NaN()), T(math.Inf(1)), T(math.Inf(-1)), 0, T(math.Copysign(0, -1)), 7, -7}
	for n := 1; n < 70; n++ {
		for at := range n {
			for _, filled := range special {
				for _, v := range special {
					x := make([]T, n)
					Fill(x, filled)
					x[at] = v
					high, low := x[0], x[0]
					for _, w := range x {
						high, low = max(high, w), min(low, w)
					}
					if got := most.Block(x); !sameNumber(float64(got), float64(high)) {
						t.Fatalf("greatest of %v = %v, want %v", x, got, high)
					}
					if got := least.Block(x); !sameNumber(float64(got), float64(low)) {
						t.Fatalf("least of %v = %v, want %v", x, got, low)
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
