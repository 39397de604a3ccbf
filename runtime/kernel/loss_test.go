package kernel

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// lossCase draws rows of scores, weights or nil, and targets, some ignored.
func lossCase(t *rapid.T) (x, weight []float32, target []int64, classes int, l ClassLoss) {
	rows := rapid.IntRange(0, 4).Draw(t, "rows")
	classes = rapid.IntRange(1, 5).Draw(t, "classes")
	x = floats32(t, "x", rows*classes, 10)
	if rapid.Bool().Draw(t, "weighted") {
		weight = rapid.SliceOfN(rapid.Float32Range(0, 4), classes, classes).Draw(t, "weight")
	}
	target = rapid.SliceOfN(rapid.Int64Range(-1, int64(classes)-1), rows, rows).Draw(t, "target")
	l = ClassLoss{Logits: rapid.Bool().Draw(t, "logits"), Ignore: -1, Smoothing: rapid.SampledFrom([]float64{0, 0.25, 1}).Draw(t, "smoothing")}
	return x, weight, target, classes, l
}

// logProbabilities returns the row of scores as the loss takes it.
func logProbabilities(row []float32, logits bool) []float64 {
	p := wide(row)
	if logits {
		LogSoftmaxTo(p, p)
	}
	return p
}

// A loss is minus the sum of the class weights times the logarithms of the
// probabilities, and the weights are as documented.
func TestClassLoss(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, weight, target, classes, l := lossCase(t)
		losses, weights := make([]float32, len(target)), make([]float32, len(x))
		ClassLossTo(losses, x, weight, target, classes, l)
		ClassWeightsTo(weights, weight, target, classes, l, 1)
		want := make([]float64, len(target))
		for i, y := range target {
			p := logProbabilities(x[i*classes:(i+1)*classes], l.Logits)
			for c := range p {
				share := l.Smoothing / float64(classes)
				if int64(c) == y {
					share += 1 - l.Smoothing
				}
				share *= weightOf(weight, c)
				if y == l.Ignore {
					share = 0
				}
				want[i] -= share * p[c]
				near(t, "weight", weights[i*classes+c:], []float64{share}, 1e-6, 1e-6)
			}
		}
		near(t, "loss", losses, want, 1e-5, 10)
	})
}

func TestSoftClassLoss(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, weight, _, classes, l := lossCase(t)
		q := rapid.SliceOfN(rapid.Float32Range(0, 1), len(x), len(x)).Draw(t, "q")
		losses, want := make([]float32, len(x)/classes), make([]float64, len(x)/classes)
		SoftClassLossTo(losses, x, weight, q, classes, l.Smoothing)
		for i := range want {
			p := logProbabilities(x[i*classes:(i+1)*classes], true)
			for c := range p {
				want[i] -= weightOf(weight, c) * ((1-l.Smoothing)*float64(q[i*classes+c]) + l.Smoothing/float64(classes)) * p[c]
			}
		}
		near(t, "loss", losses, want, 1e-5, 10)
	})
}

func TestClassTotal(t *testing.T) {
	target := []int64{0, 2, 2, 9}
	if got := ClassTotal([]float32{1, 2, 4}, target, 9); got != 9 {
		t.Errorf("with weights: got %v, want 9", got)
	}
	if got := ClassTotal[float32](nil, target, 9); got != 3 {
		t.Errorf("without: got %v, want 3", got)
	}
}

func TestBinaryCrossEntropy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, y, w := rapid.Float64Range(-30, 30).Draw(t, "x"), rapid.Float64Range(0, 1).Draw(t, "y"), rapid.Float64Range(0, 5).Draw(t, "w")
		got := make([]float64, 1)
		BinaryCrossEntropyTo(got, []float64{x}, []float64{y}, []float64{w})
		near(t, "loss", got, []float64{-w*y*math.Log(1/(1+math.Exp(-x))) - (1-y)*math.Log(1/(1+math.Exp(x)))}, 1e-9, 1)
	})
}

func TestSquaredDifference(t *testing.T) {
	x := []float32{1, 5}
	SquaredDifferenceTo(x, x, []float32{3, 2})
	if x[0] != 4 || x[1] != 9 {
		t.Errorf("got %v, want [4 9]", x)
	}
}
