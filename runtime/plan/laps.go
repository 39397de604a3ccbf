package plan

import "tpsh/runtime/hardware"

// A shortening is what pipelines have left out.
type shortening struct {
	played, whole int // micro-batches
	lap           int // of which so many are one
	uneven        bool
	brief         bool // the first pipeline had a single lap
	before        int  // marks before it
	tooBrief      bool
}

// Brief reports whether the first pipeline may have a single lap, and notes that it has.
func (r *Recorder) Brief() bool {
	if r.program.Brief {
		r.short.brief, r.short.before = true, r.marks
	}
	return r.program.Brief
}

// Shortened notes that a pipeline has played so many micro-batches of the whole.
func (r *Recorder) Shortened(played, whole, lap int) {
	s := &r.short
	s.uneven = s.uneven || s.whole > 0 && (s.played != played || s.whole != whole)
	s.played, s.whole, s.lap = played, whole, lap
}

// Joint notes functions whose gradients of weights came with those of inputs in a pipeline that splits them.
func (r *Recorder) Joint(names []string) {
	for _, name := range names {
		if r.joint == nil {
			r.joint = map[string]bool{}
		}
		r.joint[name] = true
	}
}

// Lap notes the end of a micro-batch on the last stage.
func (r *Recorder) Lap() {
	if r.program.Laps > 0 {
		r.add(Event{Do: Lap}, "")
	}
}

// add joins what another kind has left out.
func (s *shortening) add(other *shortening, marks int) {
	s.uneven = s.uneven || other.uneven || s.whole > 0 && other.whole > 0 && (s.played != other.played || s.whole != other.whole)
	s.tooBrief = s.tooBrief || other.brief && marks < other.before+2
	s.played, s.whole, s.lap = max(s.played, other.played), max(s.whole, other.whole), max(s.lap, other.lap)
}

// TooBrief reports whether the last step is the one whose pipeline had a single lap.
func (p *Program) TooBrief() bool { return p.short.tooBrief }

// Uneven reports whether pipelines have several lengths, so that Seconds cannot tell how
// long those that were shortened take.
func (p *Program) Uneven() bool { return p.short.uneven }

// Seconds returns how long a step takes on m: Play's figure, and of a program with Laps
// that of the whole. Once a pipeline is full each micro-batch takes as long as the one
// before, the time of the slowest stage, at which the last one ends its own.
func (p *Program) Seconds(m *hardware.Machine) float64 {
	g := newGame(p, m)
	g.timeOnly = true
	g.play()
	steps := g.steps()
	t := g.stepSeconds(steps)
	if rest := p.short.whole - p.short.played; rest > 0 {
		t += float64(rest) * g.pace(steps)
	}
	return t
}

// pace returns how long a micro-batch of step n takes when the pipeline is full.
func (g *game) pace(n int) float64 {
	most := 0.0
	for _, pl := range g.players {
		laps, over := pl.spentIn(n).laps, max(2, g.p.short.lap)
		if last := len(laps) - 1; last >= over {
			most = max(most, (laps[last]-laps[last-over])/float64(over))
		}
	}
	return most
}
