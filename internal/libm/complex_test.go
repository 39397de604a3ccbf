package libm

import (
	"math"
	"runtime"
	"testing"

	"pgregory.net/rapid"
)

// On amd64 nothing is fused: Go's own arithmetic is the reference.
func TestComplexArithmetic(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("Go's products may be fused here")
	}
	part := rapid.OneOf(rapid.Float64(), rapid.Float64Range(-4, 4), rapid.SampledFrom([]float64{0, math.Copysign(0, -1), 1, math.Inf(1), math.Inf(-1), math.NaN()}))
	rapid.Check(t, func(t *rapid.T) {
		x, y := complex(part.Draw(t, "re x"), part.Draw(t, "im x")), complex(part.Draw(t, "re y"), part.Draw(t, "im y"))
		if got, want := Mul(x, y), x*y; !sameComplex(got, want) {
			t.Fatalf("Mul(%v, %v) = %v, want %v", x, y, got, want)
		}
		if got, want := Div(x, y), x/y; !sameComplex(got, want) {
			t.Fatalf("Div(%v, %v) = %v, want %v", x, y, got, want)
		}
	})
}

func sameComplex(a, b complex128) bool { return same(real(a), real(b)) && same(imag(a), imag(b)) }

// same reports whether a and b have the same bits; all NaN are one.
func same(a, b float64) bool {
	return math.Float64bits(a) == math.Float64bits(b) || math.IsNaN(a) && math.IsNaN(b)
}
