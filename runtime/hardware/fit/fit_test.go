package fit

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"tpsh/runtime/dtype"
	"tpsh/runtime/hardware"
)

// programs are runs of which the parts are known: products of several sizes,
// traffic, collectives and memory.
func programs(n int) []Sample {
	rng := rand.New(rand.NewPCG(1, 2))
	var out []Sample
	for range n {
		size, layers, tp := float64(int(256)<<rng.IntN(5)), float64(4+rng.IntN(20)), 1<<rng.IntN(4)
		out = append(out, Sample{Predict: func(m *hardware.Machine) (float64, float64) {
			f := 2 * size * size * size
			t := m.Operation(hardware.Operation{Products: 1, FLOPs: f, Bytes: 6 * size * size, Dim: int(size), DType: dtype.Float16})
			t += 4 * max(m.Issue, m.Operation(hardware.Operation{Bytes: 4 * size * size}))
			t += m.CollectiveOn("all_reduce", hardware.NewGroup(tp), 2*size*size)
			k := hardware.Kept{Parameters: layers * size * size * 2, Activations: layers * size * 1e4, Optimizer: layers * size * size * 8}
			return layers*t + m.Step, m.Peak(k)
		}})
	}
	return out
}

func TestFitFindsConstants(t *testing.T) {
	m, err := hardware.Builtin("dgx-a100-80g")
	if err != nil {
		t.Fatal(err)
	}
	before := m.Issue
	truth := map[string]float64{"share.top": 0.6, "issue": 2e-5, "node.reached": 0.3, "memory_share": 0.5, "share.half_flops": 1e10}
	samples, rest := programs(40), programs(200)[40:]
	rng := rand.New(rand.NewPCG(3, 4))
	measure := func(list []Sample, noise float64) {
		for i := range list {
			s, b := list[i].Predict(m.Set(truth))
			list[i].Seconds, list[i].Bytes = s*math.Exp(noise*rng.NormFloat64()), b*1.0
		}
	}
	measure(samples, 0.03)
	measure(rest, 0)
	samples[3].Seconds *= 2 // an outlier
	r, err := Fit(t.Context(), m, samples, Options{})
	if err != nil {
		t.Fatal(err)
	}
	errors := seconds(Check(r.Machine, rest))
	if got := Mean(errors); got > 0.02 {
		t.Errorf("error of rows left out: got %.3f, want 0.02 at most (%v)", got, r.Values)
	}
	if e := Mean(seconds(Check(m, rest))); e < 0.1 {
		t.Errorf("before the fit: got %.3f, want something to fit", e)
	}
	if e := r.LeftOut[3].Seconds; e > -0.3 {
		t.Errorf("the outlier left out: got %.2f, want about -0.5", e)
	}
	if m.Issue != before {
		t.Error("the file's machine was changed")
	}
}

func seconds(list []Error) []float64 {
	var out []float64
	for _, e := range list {
		out = append(out, e.Seconds)
	}
	return out
}

func TestFewRowsFewConstants(t *testing.T) {
	m, _ := hardware.Builtin("dgx-a100-80g")
	for _, c := range []struct{ rows, most int }{{1, 1}, {3, 1}, {7, 2}, {30, 10}} {
		samples := programs(c.rows)
		for i := range samples {
			samples[i].Seconds, _ = samples[i].Predict(m)
		}
		r, err := Fit(t.Context(), m, samples, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Names) > c.most {
			t.Errorf("%d rows: fitted %v, want %d constants at most", c.rows, r.Names, c.most)
		}
		if e := Mean(seconds(r.Errors)); e > 1e-3 {
			t.Errorf("%d rows that the file explains: error %g", c.rows, e)
		}
	}
}

// A fit that is ended asks for no more predictions.
func TestFitEnds(t *testing.T) {
	m, _ := hardware.Builtin("dgx-a100-80g")
	samples := programs(20)
	ctx, end := context.WithCancelCause(t.Context())
	defer end(nil)
	enough := errors.New("enough")
	const most = 100
	var asked atomic.Int64
	for i := range samples {
		predict := samples[i].Predict
		samples[i].Seconds, _ = predict(m)
		samples[i].Predict = func(m *hardware.Machine) (float64, float64) {
			if asked.Add(1) == most {
				end(enough)
			}
			return predict(m)
		}
	}
	if _, err := Fit(ctx, m, samples, Options{}); err != enough || asked.Load() > most+int64(len(samples)) {
		t.Errorf("got %v after %d predictions, want %v after %d", err, asked.Load(), enough, most)
	}
}

func TestSpearman(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		a, b []float64
		want float64
	}{
		{[]float64{1, 2, 3}, []float64{10, 20, 30}, 1}, {[]float64{3, 2, 1}, []float64{10, 20, 30}, -1},
		{[]float64{1, 1, 2}, []float64{5, 5, 6}, 1}, {[]float64{nan, 1, 2}, []float64{0, 1, 2}, 1}, {[]float64{4, 4}, []float64{1, 2}, nan},
	} {
		if got := Spearman(c.a, c.b); math.Abs(got-c.want) > 1e-12 || math.IsNaN(got) != math.IsNaN(c.want) {
			t.Errorf("Spearman(%v, %v) = %v, want %v", c.a, c.b, got, c.want)
		}
	}
}

func TestMistakes(t *testing.T) {
	m, _ := hardware.Builtin("dgx-a100-80g")
	if _, err := Fit(t.Context(), m, programs(3), Options{}); err == nil || !strings.Contains(err.Error(), "nothing was measured") {
		t.Errorf("got %v", err)
	}
	one := programs(1)
	one[0].Seconds = 1
	if _, err := Fit(t.Context(), m, one, Options{Constants: []string{"tops"}}); err == nil || !strings.Contains(err.Error(), "no constant tops") {
		t.Errorf("got %v", err)
	}
}
