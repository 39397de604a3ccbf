package fit

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"tpsh/internal/spell"
	"tpsh/runtime/hardware"
)

// samplesAConstant is how many measurements there are for each constant that is
// fitted, at least.
const samplesAConstant = 3

// mostConstants is how many constants are fitted at most unless one says: more
// would explain what is particular to the rows.
const mostConstants = 10

// mostOfMemory is the same where memory alone was measured, which has fewer parts.
const mostOfMemory = 6

// leastEffect is how much, relatively, a constant must change predictions within
// its spread to be fitted.
const leastEffect = 0.003

// unknownConstant is the error of a constant that is to change and is not among all.
func unknownConstant(name string, all []hardware.Constant) error {
	var names []string
	for _, c := range all {
		names = append(names, c.Name)
	}
	if near := spell.Nearest(name, names); near != "" {
		return fmt.Errorf("the machine has no constant %s: did you mean %s?", name, near)
	}
	return fmt.Errorf("the machine has no constant %s, want some of %s", name, strings.Join(names, ", "))
}

// choose sets p.free: the constants that may change, those that matter most first,
// and no more of them than the targets carry.
func (p *problem) choose(o Options) error {
	all := p.base.Constants()
	for _, name := range o.Constants {
		if !slices.ContainsFunc(all, func(c hardware.Constant) bool { return c.Name == name }) {
			return unknownConstant(name, all)
		}
	}
	for _, c := range all {
		if o.Constants == nil || slices.Contains(o.Constants, c.Name) {
			p.free = append(p.free, c)
		}
	}
	effects := p.effects()
	order := make([]int, len(p.free))
	for k := range order {
		order[k] = k
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(effects[b], effects[a]) })
	var chosen []hardware.Constant
	for _, k := range order[:min(p.most(o), len(order))] {
		if effects[k] > leastEffect {
			chosen = append(chosen, p.free[k])
		}
	}
	p.free = chosen
	if len(p.free) == 0 {
		return errors.New("no constant of the machine changes what the rows measure")
	}
	return nil
}

// most returns how many constants may change at most.
func (p *problem) most(o Options) int {
	if o.Most > 0 {
		return o.Most
	}
	most := min(max(1, len(p.targets)/samplesAConstant), mostConstants)
	if !slices.ContainsFunc(p.targets, func(t target) bool { return !t.bytes }) {
		most = min(most, mostOfMemory)
	}
	return most
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

// best solves p with all of its constants, and with fewer of them, those that
// matter most, and returns the problem whose rows left out are foretold best, its
// solution, and their errors. Who names the constants has all of them.
func (p *problem) best(o Options) (*problem, []float64, []Error) {
	x := p.search()
	left := p.leaveOut(x)
	if o.Constants != nil || o.Most > 0 {
		return p, x, left
	}
	at, n := p, len(p.free)
	for _, fewer := range []int{n * 3 / 4, n / 2} {
		if fewer < 1 || fewer == n {
			continue
		}
		q := *p
		q.free = p.free[:fewer]
		y := q.search()
		if l := q.leaveOut(y); meanError(l) < meanError(left) {
			at, x, left = &q, y, l
		}
	}
	return at, x, left
}

// meanError returns the mean absolute error of all that was measured.
func meanError(list []Error) float64 {
	var all []float64
	for _, e := range list {
		all = append(all, e.Seconds, e.Bytes)
	}
	return Mean(all)
}

// starts is how many points are tried to start from, and tries how many of them,
// the best and the file's own values, a solution is sought from.
const starts, tries = 24, 3

// search solves p from several starts, for its loss has several valleys: what the
// host issues hides what the device does, and the other way round.
func (p *problem) search() []float64 {
	type start struct {
		x    []float64
		loss float64
	}
	rng := rand.New(rand.NewPCG(1, uint64(len(p.free)))) // the same on every machine
	var all []start
	for i := range starts {
		x := make([]float64, len(p.free))
		for k := range x {
			if i > 0 {
				x[k] = p.clamp(k, rng.NormFloat64())
			}
		}
		all = append(all, start{x, p.held.loss(p.residuals(p.machine(x)), x, nil)})
	}
	slices.SortStableFunc(all[1:], func(a, b start) int { return cmp.Compare(a.loss, b.loss) })
	var best start
	for _, s := range all[:tries] {
		x := p.solve(s.x, nil)
		if l := p.held.loss(p.residuals(p.machine(x)), x, nil); best.x == nil || l < best.loss {
			best = start{x, l}
		}
	}
	return best.x
}
