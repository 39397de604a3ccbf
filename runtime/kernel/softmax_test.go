package kernel

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// Against the reference loops, where these do not overflow.
func TestSoftmax(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := floats32(t, "x", rapid.IntRange(1, 20).Draw(t, "n"), 80)
		sum := 0.0
		for _, v := range x {
			sum += math.Exp(float64(v))
		}
		soft, logs := make([]float64, len(x)), make([]float64, len(x))
		for i, v := range x {
			soft[i], logs[i] = math.Exp(float64(v))/sum, float64(v)-math.Log(sum)
		}
		got := make([]float32, len(x))
		SoftmaxTo(got, x)
		near(t, "SoftmaxTo", got, soft, 1e-5, 1e-30) // x - most is rounded
		LogSoftmaxTo(got, x)
		near(t, "LogSoftmaxTo", got, logs, 1e-6, 1)
		total := 0.0
		SoftmaxTo(got, got)
		for _, v := range got {
			total += float64(v)
		}
		if math.Abs(total-1) > 1e-5 {
			t.Fatalf("in place: the sum is %v, want 1", total)
		}
	})
}

// The gradients in float32 are near those in float64, which are the loops.
func TestSoftmaxGrad(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 40).Draw(t, "n")
		x, g := floats32(t, "x", n, 5), floats32(t, "g", n, 5)
		y, got, want := make([]float32, n), make([]float32, n), make([]float64, n)
		SoftmaxTo(y, x)
		SoftmaxGradTo(got, g, y)
		SoftmaxGradTo(want, wide(g), wide(y))
		near(t, "SoftmaxGradTo", got, want, 1e-6, 5)
		LogSoftmaxTo(y, x)
		LogSoftmaxGradTo(got, g, y)
		LogSoftmaxGradTo(want, wide(g), wide(y))
		near(t, "LogSoftmaxGradTo", got, want, 1e-6, 50)
	})
}

func TestSoftmaxExtremes(t *testing.T) {
	inf := math.Inf(1)
	for _, x := range [][]float64{{inf, 0}, {-inf, -inf}, {math.NaN(), 1}} {
		soft, logs := make([]float64, 2), make([]float64, 2)
		SoftmaxTo(soft, x)
		LogSoftmaxTo(logs, x)
		for i := range x {
			if soft[i] == soft[i] || logs[i] == logs[i] {
				t.Errorf("of %v: softmax %v, logarithm %v, want NaN", x, soft, logs)
			}
		}
	}
	SoftmaxTo[float64](nil, nil)
	LogSoftmaxTo[float64](nil, nil)
}

func BenchmarkSoftmax(b *testing.B) {
	x, dst := make([]float32, 1024), make([]float32, 1024)
	for i := range x {
		x[i] = float32(i%17) / 4
	}
	b.SetBytes(4 * 1024)
	for range b.N {
		SoftmaxTo(dst, x)
	}
}
