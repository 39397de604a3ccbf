package fit

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"sync"

	"gonum.org/v1/gonum/stat"

	"tpsh/runtime/hardware"
)

// A Sample is one measured run.
type Sample struct {
	Seconds float64 // measured; 0 if not
	Bytes   float64 // of memory, measured; 0 if not
	// Predict returns what the run takes on m. It is called for several machines at
	// a time.
	Predict func(m *hardware.Machine) (seconds, bytes float64)
}

// Options say what a fit may do.
type Options struct {
	Constants []string // that may change; none: those that matter to the samples
	Most      int      // of them; 0: as many as the samples carry
	Guessed   bool     // the machine's values are guesses, to which less is held
}

// A Result is a fitted machine.
type Result struct {
	Machine *hardware.Machine
	Values  map[string]float64 // of the constants that were fitted
	Names   []string           // of them, those that matter most first
	Errors  []Error            // by sample
	LeftOut []Error            // by sample, as the others foretell it
}

// An Error is that of a sample: predicted over measured, less one. NaN stands
// for what was not measured.
type Error struct{ Seconds, Bytes float64 }

// Mean returns the mean of the absolute values of errors, of those that are
// there.
func Mean(errors []float64) float64 {
	sum, n := 0., 0.
	for _, e := range errors {
		if !math.IsNaN(e) {
			sum, n = sum+math.Abs(e), n+1
		}
	}
	return sum / n
}

// Check returns the errors of m on samples.
func Check(m *hardware.Machine, samples []Sample) []Error {
	out := make([]Error, len(samples))
	each(len(samples), func(i int) {
		s, b := samples[i].Predict(m)
		out[i] = Error{relative(s, samples[i].Seconds), relative(b, samples[i].Bytes)}
	})
	return out
}

func relative(got, want float64) float64 {
	if want <= 0 {
		return math.NaN()
	}
	return got/want - 1
}

// Fit returns m with the constants that explain samples best. ctx ends it, with its cause.
func Fit(ctx context.Context, m *hardware.Machine, samples []Sample, o Options) (*Result, error) {
	p := &problem{ctx: ctx, base: m, samples: samples, held: tight}
	for i, s := range samples {
		if s.Seconds > 0 {
			p.targets = append(p.targets, target{i, false, math.Log(s.Seconds)})
		}
		if s.Bytes > 0 {
			p.targets = append(p.targets, target{i, true, math.Log(s.Bytes)})
		}
	}
	if o.Guessed || slices.ContainsFunc(p.targets, func(t target) bool { return t.bytes }) {
		p.held = loose
	}
	if len(p.targets) == 0 {
		return nil, errors.New("nothing was measured: no row has seconds or gigabytes")
	}
	err := p.choose(o)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, err
	}
	p, x, left := p.best(o)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	r := &Result{Machine: p.machine(x), Values: p.values(x)}
	for _, c := range p.free {
		r.Names = append(r.Names, c.Name)
	}
	r.Errors = Check(r.Machine, samples)
	r.LeftOut = left
	return r, nil
}

// each calls f for 0 to n-1, several at a time.
func each(n int, f func(i int)) {
	var wg sync.WaitGroup
	next := make(chan int)
	for range min(n, workers()) {
		wg.Go(func() {
			for i := range next {
				f(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}

// Spearman returns the rank correlation of a and b: 1 if they are in the same
// order. Equal numbers share their ranks.
func Spearman(a, b []float64) float64 {
	return stat.Correlation(ranksOf(a), ranksOf(b), nil)
}

// ranksOf returns the place of each of v in their order.
func ranksOf(v []float64) []float64 {
	order := make([]int, len(v))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(v[i], v[j]) })
	out := make([]float64, len(v))
	for i := 0; i < len(order); {
		j := i + 1
		for j < len(order) && v[order[j]] == v[order[i]] {
			j++
		}
		for _, k := range order[i:j] {
			out[k] = float64(i+j-1) / 2
		}
		i = j
	}
	return out
}
