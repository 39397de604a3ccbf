package hang

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// enqueued runs the program as NCCL does: processes enqueue without waiting, and
// devices carry out what is enqueued in order. It returns what each rank has
// enqueued, and how much of it its device has done.
func (s *sim) enqueued() (calls [][]plannedCall, done []int) {
	calls, done = make([][]plannedCall, s.n), make([]int, s.n)
	for r := range s.n {
		calls[r] = s.calls(r)
	}
	if s.fault == "freeze" { // its process learns of the error two calls later
		own := s.position()
		calls[s.victim] = calls[s.victim][:min(own+3, len(calls[s.victim]))]
	}
	for progress := true; progress; {
		progress = false
		for r := range s.n {
			if done[r] == len(calls[r]) {
				continue
			}
			c := calls[r][done[r]]
			number := count(calls[r][:done[r]], c.group)
			if s.here(calls, done, c, number) {
				for _, m := range s.groups[c.group] {
					done[m]++
				}
				progress = true
			}
		}
	}
	return calls, done
}

// position returns the place of the fault among the victim's calls.
func (s *sim) position() (n int) {
	for _, c := range s.program[:s.at] {
		if slices.Contains(s.groups[c.group], s.victim) {
			n++
		}
	}
	return n
}

// here reports whether the devices of all members are at that call of c's group.
func (s *sim) here(calls [][]plannedCall, done []int, c plannedCall, number int) bool {
	for _, m := range s.groups[c.group] {
		if done[m] == len(calls[m]) || calls[m][done[m]] != c || count(calls[m][:done[m]], c.group) != number {
			return false
		}
	}
	return true
}

// asyncWorld returns the dumps. Those of active calls alone have the numbers of
// the rest in pg_status, under numbers that each rank counts for itself.
func (s *sim) asyncWorld(active bool) (*world, bool) {
	calls, done := s.enqueued()
	known := slices.Clone(done)
	if s.fault == "freeze" {
		known[s.victim] = min(known[s.victim], s.position())
	}
	w := &world{n: s.n, ranks: map[int][]row{}, groups: s.groups, status: map[int]map[string]Status{}}
	stuck := false
	for r := range s.n {
		seq, ids := map[string]int{}, map[string]int{}
		w.status[r] = map[string]Status{}
		for i := range len(s.groups) {
			if name := fmt.Sprint(i); slices.Contains(s.groups[name], r) {
				ids[name] = len(ids)
				if active {
					w.status[r][fmt.Sprint(ids[name])] = Status{int64(count(calls[r], name)), int64(count(calls[r][:known[r]], name))}
				}
			}
		}
		w.ranks[r] = []row{}
		for i, c := range calls[r] {
			seq[c.group]++
			e := call("all_reduce", seq[c.group], sizes(c.size), sizes(c.size))
			if c.group != "0" {
				e = e.group(c.group, "undefined", ids[c.group])
			}
			e = e.with("record_id", i)
			if i < known[r] {
				e = e.done()
			} else {
				e, stuck = e.pending(), true
			}
			if i >= known[r] || !active {
				w.ranks[r] = append(w.ranks[r], e)
			}
		}
	}
	return w, stuck
}

// The same of jobs whose processes run ahead of their devices.
func TestSimulatedAsync(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSim(t)
		s.fault = rapid.SampledFrom([]string{"stop", "size", "swap", "freeze"}).Draw(t, "async fault")
		w, stuck := s.asyncWorld(rapid.Bool().Draw(t, "active calls alone"))
		v := Explain(w.job(t))
		only := fmt.Sprintf("culprits %d ", s.victim)
		want := map[string]string{"stop": only + NeverCalled, "freeze": only + NotFinished}[s.fault]
		switch {
		case !stuck:
			want = Nothing
		case s.fault == "size" || s.fault == "swap":
			if len(v.Culprits) == 0 || v.Culprits[0].Kind != CallsDiffer && v.Culprits[0].Kind != Cycle {
				t.Fatalf("got %s, want other calls or a cycle\n%+v", short(v), s)
			}
			return
		}
		if got := short(v); got != want {
			t.Fatalf("got %s, want %s\n%+v", got, want, s)
		}
		lost := rapid.IntRange(0, s.n-1).Draw(t, "lost")
		delete(w.ranks, lost)
		switch got := short(Explain(w.job(t))); {
		case got == Nothing, got != want && got != CannotTell, lost == s.victim && stuck && got != CannotTell && s.fault == "stop":
			t.Fatalf("without the dump of rank %d: got %s, want %s or less\n%+v", lost, got, want, s)
		}
	})
}
