package plan

import (
	"testing"

	"tpsh/runtime/hardware"
)

// What a step would take if operations began at once, or without what it communicates, is what the step
// takes on a machine on which they cost nothing.
func TestWithout(t *testing.T) {
	m := machine(t)
	for _, issue := range []float64{0, 1e-3} {
		slow := m.Set(map[string]float64{"issue": issue, "step": issue, "call": issue})
		p := NewProgram(2)
		for rank := range 2 {
			r := p.Recorder()
			g := r.Group("world", "tp", Cost{}, func(int) []int { return []int{0, 1} })
			for range 3 {
				r.Compute(Operation{Name: "add", Operation: hardware.Operation{Bytes: 1e6}}, Manner{}, Forward, "a.star:1:1")
				call, _ := r.Begin(Collective, g, Forward, "a.star:2:1", "")
				r.Finish(call, Call{Op: "all_reduce", Bytes: 1e9}, 1e9)
			}
			p.Add(r, []int32{int32(rank)})
		}
		f, w := p.Play(slow), p.Without(slow)
		if want := f.StepSeconds - f.Seconds.Communication; issue == 0 && !near(w.Communication, want) {
			t.Errorf("without communication %g s, want %g", w.Communication, want)
		}
		if want := p.Play(m.Set(map[string]float64{"issue": 0, "step": 0, "call": 0, "start": 0})).StepSeconds; !near(w.Starts, want) {
			t.Errorf("issuing takes %g s: without it %g s, want %g", issue, w.Starts, want)
		}
		if w.Starts > f.StepSeconds || w.Communication >= f.StepSeconds {
			t.Errorf("a step of %g s takes longer without a part of it: %+v", f.StepSeconds, *w)
		}
	}
}
