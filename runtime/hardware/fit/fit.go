package fit

import (
	"cmp"
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
}

// A Result is a fitted machine.
type Result struct {
	Machine *hardware.Machine
	Values  map[string]float64 // of the constants that were fitted
	Names   []string           // of them, in a file's order
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

// Fit returns m with the constants that explain samples best.
func Fit(m *hardware.Machine, samples []Sample, o Options) (*Result, error) {
	p := &problem{base: m, samples: samples}
	for i, s := range samples {
		if s.Seconds > 0 {
			p.targets = append(p.targets, target{i, false, math.Log(s.Seconds)})
		}
		if s.Bytes > 0 {
			p.targets = append(p.targets, target{i, true, math.Log(s.Bytes)})
		}
	}
	if len(p.targets) == 0 {
		return nil, errors.New("nothing was measured: no row has seconds or gigabytes")
	}
	if err := p.choose(o); err != nil {
		return nil, err
	}
	x := p.solve(make([]float64, len(p.free)), nil)
	r := &Result{Machine: p.machine(x), Values: p.values(x)}
	for _, c := range p.free {
		r.Names = append(r.Names, c.Name)
	}
	r.Errors = Check(r.Machine, samples)
	r.LeftOut = p.leaveOut(x)
	return r, nil
}

// choose sets p.free: the constants that may change, of those the ones that
// matter most, and no more than one for each four targets.
func (p *problem) choose(o Options) error {
	all := p.base.Constants()
	names := o.Constants
	for _, name := range names {
		if !slices.ContainsFunc(all, func(c hardware.Constant) bool { return c.Name == name }) {
			return errors.New("the machine has no constant " + name)
		}
	}
	for _, c := range all {
		if names == nil || slices.Contains(names, c.Name) {
			p.free = append(p.free, c)
		}
	}
	type ranked struct {
		c      hardware.Constant
		weight float64
	}
	var list []ranked
	for k, weight := range p.effects() {
		list = append(list, ranked{p.free[k], weight})
	}
	most := o.Most
	if most == 0 {
		most = min(max(1, len(p.targets)/samplesAConstant), mostConstants)
		if !slices.ContainsFunc(p.targets, func(t target) bool { return !t.bytes }) {
			most = min(most, mostOfMemory)
		}
	}
	slices.SortStableFunc(list, func(a, b ranked) int { return cmpDown(a.weight, b.weight) })
	var chosen []string
	for _, r := range list[:min(most, len(list))] {
		if r.weight > leastEffect {
			chosen = append(chosen, r.c.Name)
		}
	}
	p.free = slices.DeleteFunc(p.free, func(c hardware.Constant) bool { return !slices.Contains(chosen, c.Name) })
	if len(p.free) == 0 {
		return errors.New("no constant of the machine changes what the rows measure")
	}
	return nil
}

// effects returns how much, in the mean, each constant changes predictions within
// its spread, up or down, whichever is more: what is hidden behind something
// slower shows when it grows.
func (p *problem) effects() []float64 {
	r := p.residuals(p.base)
	out := make([]float64, len(p.free))
	for k := range p.free {
		for _, x := range []float64{-1, 1} {
			at := make([]float64, len(p.free))
			at[k] = x
			sum := 0.
			for i, v := range p.residuals(p.machine(at)) {
				sum += (v - r[i]) * (v - r[i])
			}
			out[k] = max(out[k], math.Sqrt(sum/float64(len(r))))
		}
	}
	return out
}

// samplesAConstant is how many measurements there are for each constant that is
// fitted, at least.
const samplesAConstant = 3

// mostConstants is how many constants are fitted at most unless one says: more
// would explain what is particular to the rows.
const mostConstants = 8

// mostOfMemory is the same where memory alone was measured, which has fewer parts.
const mostOfMemory = 6

// leastEffect is how much, relatively, a constant must change predictions within
// its spread to be fitted.
const leastEffect = 0.003

func cmpDown(a, b float64) int {
	switch {
	case a > b:
		return -1
	case a < b:
		return 1
	}
	return 0
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
		j := i
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
