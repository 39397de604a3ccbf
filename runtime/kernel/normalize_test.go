package kernel

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// A centered row has mean 0, and every row has a mean square of 1 before
// weight and bias, which apply as documented.
func TestNormalize(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 12).Draw(t, "n")
		x, w, b := floats32(t, "x", n, 100), floats32(t, "w", n, 3), floats32(t, "b", n, 3)
		x[0], x[1] = 50, -70 // some spread
		how := Normal{Center: rapid.Bool().Draw(t, "center")}
		h := make([]float64, n)
		NormalizeTo(h, wide(x), nil, nil, how)
		if mean := Total(h) / float64(n); how.Center && math.Abs(mean) > 1e-12 {
			t.Fatalf("the mean is %v, want 0", mean)
		}
		if square := Variance(h, 0); math.Abs(square-1) > 1e-12 {
			t.Fatalf("the mean square is %v, want 1", square)
		}
		want := make([]float64, n)
		for i := range want {
			want[i] = h[i]*float64(w[i]) + float64(b[i])
		}
		got := make([]float32, n)
		NormalizeTo(got, x, w, b, how)
		near(t, "with weight and bias", got, want, 1e-6, 1)
	})
}

// The gradient is the central difference along a direction.
func TestNormalizeGrad(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const h = 1e-6
		n := rapid.IntRange(2, 8).Draw(t, "n")
		x, g := wide(floats32(t, "x", n, 2)), wide(floats32(t, "g", n, 2))
		how := Normal{Center: rapid.Bool().Draw(t, "center"), Eps: 0.5}
		value := func() float64 {
			y := make([]float64, n)
			NormalizeTo(y, x, nil, nil, how)
			sum := 0.0
			for i := range y {
				sum += y[i] * g[i]
			}
			return sum
		}
		want := make([]float64, n)
		for i, v := range x {
			x[i] = v + h
			up := value()
			x[i] = v - h
			want[i] = (up - value()) / (2 * h)
			x[i] = v
		}
		got := make([]float64, n)
		NormalizeGradTo(got, g, x, how)
		near(t, "gradient", got, want, 1e-6, 10)
	})
}

func TestScaleShift(t *testing.T) {
	x := []float32{1, 3}
	ScaleShiftTo(x, x, 1, 2, 10)
	if x[0] != 10 || x[1] != 14 {
		t.Errorf("got %v, want [10 14]", x)
	}
}

func BenchmarkNormalize(b *testing.B) {
	x, dst := make([]float32, 1024), make([]float32, 1024)
	for i := range x {
		x[i] = float32(i%17) / 4
	}
	b.SetBytes(4 * 1024)
	for range b.N {
		NormalizeTo(dst, x, x, x, Normal{Center: true, Eps: 1e-5})
	}
}

// NormalizeGradsTo of float32 gives the bits of the passes that it joins.
func TestNormalizeGradsTo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 70).Draw(t, "n")
		how := Normal{Center: rapid.Bool().Draw(t, "center"), Eps: 1e-5}
		draw := func(name string) []float32 {
			return rapid.SliceOfN(rapid.Float32Range(-4, 4), n, n).Draw(t, name)
		}
		g, x, weight := draw("g"), draw("x"), draw("weight")
		dst, gh := make([]float32, n), make([]float32, n)
		NormalizeGradsTo(dst, gh, g, x, weight, how)
		wantGH, want := make([]float32, n), make([]float32, n)
		NormalizeTo(wantGH, x, nil, nil, how)
		MulTo(wantGH, wantGH, g)
		MulTo(want, g, weight)
		NormalizeGradTo(want, want, x, how)
		for i := range n {
			if math.Float32bits(dst[i]) != math.Float32bits(want[i]) || math.Float32bits(gh[i]) != math.Float32bits(wantGH[i]) {
				t.Fatalf("element %d is %v and %v, want %v and %v", i, dst[i], gh[i], want[i], wantGH[i])
			}
		}
	})
}
