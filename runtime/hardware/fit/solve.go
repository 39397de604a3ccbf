package fit

import (
	"context"
	"math"
	goruntime "runtime"

	"gonum.org/v1/gonum/mat"

	"tpsh/runtime/hardware"
)

func workers() int { return goruntime.GOMAXPROCS(0) }

// A problem is a fit under way. Its unknowns x are, for each free constant, how
// many spreads the logarithm of its value lies from the file's.
type problem struct {
	ctx     context.Context // ends the predictions: what is found without them is of no worth
	base    *hardware.Machine
	samples []Sample
	targets []target
	free    []hardware.Constant
	held    hold
}

// A target is a measured number.
type target struct {
	sample int
	bytes  bool
	log    float64
}

// value returns the value of constant k at x.
func (p *problem) value(k int, x float64) float64 {
	c := &p.free[k]
	v := c.Value(p.base)
	if v <= 0 {
		v = c.Typical
	}
	return min(max(v*math.Exp(x*c.Spread), c.Low), c.High)
}

func (p *problem) values(x []float64) map[string]float64 {
	out := map[string]float64{}
	for k, c := range p.free {
		out[c.Name] = p.value(k, x[k])
	}
	return out
}

func (p *problem) machine(x []float64) *hardware.Machine { return p.base.Set(p.values(x)) }

// residuals returns by target the logarithm of predicted over measured.
func (p *problem) residuals(m *hardware.Machine) []float64 {
	seconds, bytes := make([]float64, len(p.samples)), make([]float64, len(p.samples))
	each(len(p.samples), func(i int) {
		if p.ctx.Err() == nil {
			seconds[i], bytes[i] = p.samples[i].Predict(m)
		}
	})
	out := make([]float64, len(p.targets))
	for i, t := range p.targets {
		v := seconds[t.sample]
		if t.bytes {
			v = bytes[t.sample]
		}
		out[i] = math.Log(max(v, 1e-30)) - t.log
	}
	return out
}

// linearize returns the residuals at x and their derivatives, [target][constant].
func (p *problem) linearize(x []float64) (r []float64, jac [][]float64) {
	const h = 0.02
	r = p.residuals(p.machine(x))
	jac = make([][]float64, len(r))
	for i := range jac {
		jac[i] = make([]float64, len(x))
	}
	for k := range x {
		step := h
		if p.value(k, x[k]+h) == p.value(k, x[k]) {
			step = -h // at the upper bound
		}
		y := append([]float64(nil), x...)
		y[k] += step
		for i, v := range p.residuals(p.machine(y)) {
			jac[i][k] = (v - r[i]) / step
		}
	}
	return r, jac
}

// A hold says how strongly constants are held to the file's values, in units of
// relative errors, and the relative error from which on a sample counts less.
type hold struct{ prior, outlier float64 }

// loose is the width of a good model: of a file of guesses, and of memory, of which much
// is known exactly. tight is that of times which others measured, with a tenth between
// one run and the like of it.
var loose, tight = hold{0.05, 0.1}, hold{0.1, 0.05}

// weight returns how much a residual counts: less and less beyond an outlier's.
func (h hold) weight(r float64) float64 { return 1 / math.Sqrt(1+r*r/(h.outlier*h.outlier)) }

// loss returns what solve makes small.
func (h hold) loss(r, x []float64, omit func(i int) bool) float64 {
	sum := 0.
	for i, v := range r {
		if omit == nil || !omit(i) {
			sum += 2 * h.outlier * h.outlier * (math.Sqrt(1+v*v/(h.outlier*h.outlier)) - 1)
		}
	}
	for _, v := range x {
		sum += h.prior * h.prior * v * v
	}
	return sum
}

// solve returns the x of least loss, from x on, without the targets that omit
// names.
func (p *problem) solve(x []float64, omit func(i int) bool) []float64 {
	damping := 1e-3
	r, jac := p.linearize(x)
	now := p.held.loss(r, x, omit)
	for range 30 {
		step := p.held.newton(r, jac, x, damping, omit)
		if step == nil {
			return x
		}
		y := make([]float64, len(x))
		for k := range x {
			y[k] = p.clamp(k, x[k]+min(max(step[k], -2), 2))
		}
		next := p.held.loss(p.residuals(p.machine(y)), y, omit)
		if next >= now {
			if damping *= 8; damping > 1e6 {
				return x
			}
			continue
		}
		gain := (now - next) / now
		x, now, damping = y, next, damping/4
		if gain < 1e-4 {
			return x
		}
		r, jac = p.linearize(x)
	}
	return x
}

// clamp keeps x of constant k where its value moves with it.
func (p *problem) clamp(k int, x float64) float64 {
	c := &p.free[k]
	v := c.Value(p.base)
	if v <= 0 {
		v = c.Typical
	}
	if c.High > 0 {
		x = min(x, math.Log(c.High/v)/c.Spread)
	}
	if c.Low > 0 {
		x = max(x, math.Log(c.Low/v)/c.Spread)
	}
	return min(max(x, -8), 8)
}

// newton returns a step of Levenberg and Marquardt: the solution of
// (JᵀWJ + P + λ diag) dx = -(JᵀWr + Px), nil if there is none.
func (h hold) newton(r []float64, jac [][]float64, x []float64, damping float64, omit func(i int) bool) []float64 {
	n := len(x)
	a, b := mat.NewSymDense(n, nil), mat.NewVecDense(n, nil)
	prior := h.prior * h.prior
	for k := range n {
		a.SetSym(k, k, prior)
		b.SetVec(k, -prior*x[k])
	}
	for i, v := range r {
		if omit != nil && omit(i) {
			continue
		}
		w := h.weight(v)
		for k := range n {
			b.SetVec(k, b.AtVec(k)-w*jac[i][k]*v)
			for l := k; l < n; l++ {
				a.SetSym(k, l, a.At(k, l)+w*jac[i][k]*jac[i][l])
			}
		}
	}
	for k := range n {
		a.SetSym(k, k, a.At(k, k)*(1+damping)+1e-12)
	}
	var c mat.Cholesky
	var out mat.VecDense
	if !c.Factorize(a) || c.SolveVecTo(&out, b) != nil {
		return nil
	}
	return append([]float64(nil), out.RawVector().Data...)
}

// leaveOut returns the error of each sample as the others foretell it: the step
// that the fit takes from x when it forgets the sample, which is the whole way
// where predictions are nearly linear in the logarithms. A constant at a bound
// stays there.
func (p *problem) leaveOut(x []float64) []Error {
	r, jac := p.linearize(x)
	for k := range x {
		if p.atBound(k, x[k]) {
			for i := range jac {
				jac[i][k] = 0
			}
		}
	}
	rest := p.held.newton(r, jac, x, 0, nil) // what the fit left undone
	out := make([]Error, len(p.samples))
	each(len(p.samples), func(i int) {
		if p.ctx.Err() != nil {
			return
		}
		omit := func(t int) bool { return p.targets[t].sample == i }
		y := append([]float64(nil), x...)
		if step := p.held.newton(r, jac, x, 0, omit); step != nil && rest != nil {
			for k := range y {
				if !p.atBound(k, x[k]) {
					y[k] = p.clamp(k, y[k]+min(max(step[k]-rest[k], -2), 2))
				}
			}
		}
		s, b := p.samples[i].Predict(p.machine(y))
		out[i] = Error{relative(s, p.samples[i].Seconds), relative(b, p.samples[i].Bytes)}
	})
	return out
}

// atBound reports whether constant k at x has the greatest or the least value
// that it may have.
func (p *problem) atBound(k int, x float64) bool {
	return p.clamp(k, x+1e-6) == x || p.clamp(k, x-1e-6) == x
}
