package kernel

import (
	"math"
	"testing"
)

// Values of the gamma function's relatives from Abramowitz and Stegun, tables 6.1
// and 6.2, and from ψ'(1/2) = π²/2, ψ”(1) = -2ζ(3).
func TestGammaRow(t *testing.T) {
	trigamma := func(v float64) float64 { return polygamma(v, 1, 1) }
	tests := []struct {
		name    string
		f       func(float64) float64
		x, want float64
	}{
		{"lgamma", lgamma, 0.5, math.Log(math.Pi) / 2},
		{"1/lgamma", func(v float64) float64 { return 1 / lgamma(v) }, math.Inf(-1), 0},
		{"digamma", digamma, 1, -0.57721566490153286},
		{"digamma", digamma, 0.5, -0.57721566490153286 - 2*math.Ln2},
		{"digamma", digamma, -0.5, 0.03648997397857652},
		{"trigamma", trigamma, 1, math.Pi * math.Pi / 6},
		{"trigamma", trigamma, 0.5, math.Pi * math.Pi / 2},
		{"trigamma", trigamma, -0.5, math.Pi*math.Pi/2 + 4},
		{"polygamma of 2", func(v float64) float64 { return polygamma(v, 2, -2) }, -0.5, -0.8287966442343},
		{"tetragamma", func(v float64) float64 { return polygamma(v, 2, -2) }, 1, -2 * 1.2020569031595942},
	}
	for _, test := range tests {
		if got := test.f(test.x); math.Abs(got-test.want) > 1e-12*max(1, math.Abs(test.want)) {
			t.Errorf("%s(%v): got %v, want %v", test.name, test.x, got, test.want)
		}
	}
	if got := digamma(-1); !math.IsNaN(got) {
		t.Errorf("digamma(-1): got %v, want NaN", got)
	}
}
