package nn

import "math"

// A trial is a point on the line that a search goes along: how far it is, its loss,
// gradient, and slope along the line.
type trial struct {
	t, loss float64
	g       vector
	slope   float64
}

// The constants of the strong Wolfe conditions: how much of the promised decrease
// there must be, and how much of the slope may be left.
const (
	wolfeDecrease = 1e-4
	wolfeSlope    = 0.9
	leastBracket  = 1e-9
)

// try returns the point at t along d from the parameters, which stay where they
// are.
func (l *lbfgs) try(t float64, d vector) trial {
	was := make(vector, len(l.p))
	for i, p := range l.p {
		was[i] = l.Do("clone", vector{p.Detach()})
	}
	l.move(d, t)
	x := trial{t: t}
	if l.Err == nil {
		v, err := l.call()
		l.Fail(err)
		if l.Err == nil {
			x.loss, x.g = l.number(v), l.gradient()
		}
	}
	for i, p := range l.p {
		l.Do("copy_", vector{p, was[i]})
	}
	if l.Err == nil {
		x.slope = l.dot(x.g, d)
	}
	return x
}

// search looks, from length t on, for a step along d after which the strong Wolfe
// conditions hold, in so many evaluations; loss, g and slope are those here.
func (l *lbfgs) search(t float64, d vector, loss float64, g vector, slope float64, evals int) (float64, vector, float64) {
	here := trial{0, loss, g, slope}
	last, now := here, l.try(t, d)
	lo, hi, done := here, now, false
	n := 0
	for ; n < evals && l.Err == nil; n++ {
		if now.loss > loss+float64(wolfeDecrease*now.t*slope) || n > 1 && now.loss >= last.loss {
			lo, hi = last, now
			break
		}
		if math.Abs(now.slope) <= -wolfeSlope*slope {
			lo, hi, done = now, now, true
			break
		}
		if now.slope >= 0 {
			lo, hi = last, now
			break
		}
		next := cubicMinimum(last, now, now.t+float64(0.01*(now.t-last.t)), now.t*10)
		last, now = now, l.try(next, d)
		lo, hi = here, now // if this was the last
	}
	best := l.zoom(here, lo, hi, d, done, n, evals)
	return best.loss, best.g, best.t
}

// zoom makes the bracket between two points smaller until the better one is good
// enough.
func (l *lbfgs) zoom(here, lo, hi trial, d vector, done bool, n, evals int) trial {
	if lo.loss > hi.loss {
		lo, hi = hi, lo
	}
	size := l.greatest(d)
	stuck := false
	for ; !done && n < evals && l.Err == nil; n++ {
		if math.Abs(hi.t-lo.t)*size < leastBracket {
			break
		}
		left, right := min(lo.t, hi.t), max(lo.t, hi.t)
		t := cubicMinimum(lo, hi, left, right)
		if margin := float64(0.1 * (right - left)); min(right-t, t-left) < margin { // near an end
			if stuck || t >= right || t <= left {
				if math.Abs(t-right) < math.Abs(t-left) {
					t = right - margin
				} else {
					t = left + margin
				}
				stuck = false
			} else {
				stuck = true
			}
		} else {
			stuck = false
		}
		now := l.try(t, d)
		switch {
		case now.loss > here.loss+float64(wolfeDecrease*t*here.slope) || now.loss >= lo.loss:
			if hi = now; lo.loss > hi.loss {
				lo, hi = hi, lo
			}
		default:
			done = math.Abs(now.slope) <= -wolfeSlope*here.slope
			if !done && now.slope*(hi.t-lo.t) >= 0 {
				hi = lo
			}
			lo = now
		}
	}
	return lo
}

// cubicMinimum returns where between lo and hi the cubic through two points, with
// their slopes, is least; the middle where it has no minimum.
func cubicMinimum(a, b trial, lo, hi float64) float64 {
	d1 := a.slope + b.slope - 3*(a.loss-b.loss)/(a.t-b.t)
	square := float64(d1*d1) - float64(a.slope*b.slope)
	if !(square >= 0) {
		return (lo + hi) / 2
	}
	d2 := math.Sqrt(square)
	if a.t > b.t {
		a, b = b, a
	}
	return min(max(b.t-float64((b.t-a.t)*((b.slope+d2-d1)/(b.slope-a.slope+2*d2))), lo), hi)
}
