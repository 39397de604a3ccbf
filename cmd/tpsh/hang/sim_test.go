package hang

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A planned call is one of a job's program: an all_reduce of a group.
type plannedCall struct {
	group string
	size  int
}

// A sim runs a program of collectives that block, with one fault.
type sim struct {
	n       int
	groups  map[string][]int
	program []plannedCall
	fault   string
	victim  int
	at      int // the call of the program at which the fault is
}

func drawSim(t *rapid.T) *sim {
	s := &sim{n: rapid.IntRange(2, 6).Draw(t, "n"), groups: map[string][]int{}}
	s.groups["0"] = allRanks(s.n)
	for i := range rapid.IntRange(1, 3).Draw(t, "groups") {
		members := rapid.SliceOfNDistinct(rapid.IntRange(0, s.n-1), 2, s.n, rapid.ID).Draw(t, "members")
		s.groups[fmt.Sprint(i+1)] = sortedSet(members)
	}
	names := make([]string, 0, len(s.groups))
	for i := range len(s.groups) {
		names = append(names, fmt.Sprint(i))
	}
	for range rapid.IntRange(2, 10).Draw(t, "calls") {
		s.program = append(s.program, plannedCall{rapid.SampledFrom(names).Draw(t, "group"), rapid.IntRange(1, 2).Draw(t, "size")})
	}
	s.program = append(s.program, plannedCall{"0", 3}, plannedCall{"0", 3})
	s.fault = rapid.SampledFrom([]string{"stop", "size", "swap"}).Draw(t, "fault")
	s.at = rapid.IntRange(0, len(s.program)-1).Draw(t, "at")
	s.victim = rapid.SampledFrom(s.groups[s.program[s.at].group]).Draw(t, "victim")
	return s
}

// calls returns what a rank calls, with its fault.
func (s *sim) calls(rank int) []plannedCall {
	program := slices.Clone(s.program)
	if rank == s.victim {
		switch s.fault {
		case "stop":
			program = program[:s.at]
		case "size":
			program[s.at].size = 9
		case "swap":
			if s.at+1 < len(program) {
				program[s.at], program[s.at+1] = program[s.at+1], program[s.at]
			}
		}
	}
	var own []plannedCall
	for _, c := range program {
		if slices.Contains(s.groups[c.group], rank) {
			own = append(own, c)
		}
	}
	return own
}

// run returns how many calls each rank makes, of which all but the last have
// finished if it is stuck; and whether it is.
func (s *sim) run() (made []int, stuck []bool) {
	made, stuck = make([]int, s.n), make([]bool, s.n)
	calls := make([][]plannedCall, s.n)
	for r := range s.n {
		calls[r] = s.calls(r)
	}
	done := make([]int, s.n)
	for progress := true; progress; {
		progress = false
		for r := range s.n {
			made[r] = min(done[r]+1, len(calls[r]))
			if done[r] < len(calls[r]) && s.met(calls, done, r) {
				done[r]++
				progress = true
			}
		}
	}
	for r := range s.n {
		stuck[r] = done[r] < len(calls[r])
	}
	return made, stuck
}

// met reports whether all members are in r's next call, or past it, with the
// same.
func (s *sim) met(calls [][]plannedCall, done []int, r int) bool {
	c := calls[r][done[r]]
	number := count(calls[r][:done[r]], c.group)
	for _, m := range s.groups[c.group] {
		at := min(done[m]+1, len(calls[m]))
		if count(calls[m][:at], c.group) <= number {
			return false
		}
		if nth(calls[m], c.group, number).size != c.size {
			return false
		}
	}
	return true
}

func count(calls []plannedCall, group string) (n int) {
	for _, c := range calls {
		if c.group == group {
			n++
		}
	}
	return n
}

func nth(calls []plannedCall, group string, n int) plannedCall {
	for _, c := range calls {
		if c.group == group {
			if n == 0 {
				return c
			}
			n--
		}
	}
	return plannedCall{}
}

// world returns the dumps of the job, of NCCL or of gloo.
func (s *sim) world(gloo bool) *world {
	made, stuck := s.run()
	w := &world{n: s.n, ranks: map[int][]row{}, groups: s.groups, plain: gloo}
	for r := range s.n {
		seq := map[string]int{}
		w.ranks[r] = []row{}
		for i, c := range s.calls(r)[:made[r]] {
			seq[c.group]++
			e := call("all_reduce", seq[c.group], sizes(c.size), sizes(c.size))
			if c.group != "0" {
				e = e.group(c.group, "undefined", int(c.group[0]-'0'))
			}
			last := stuck[r] && i == made[r]-1
			switch {
			case gloo:
				e = e.gloo(!last)
			case last:
				e = e.pending()
			default:
				e = e.done()
			}
			w.ranks[r] = append(w.ranks[r], e)
		}
	}
	return w
}

// truth returns the culprits of a job that is stuck: who differs, or where the
// waits end.
func (s *sim) truth() (kind string, ranks []int) {
	made, stuck := s.run()
	if !slices.Contains(stuck, true) {
		return "", nil
	}
	waits := map[int][]int{}
	for r := range s.n {
		if !stuck[r] {
			continue
		}
		own := s.calls(r)[:made[r]]
		c := own[len(own)-1]
		number := count(own, c.group) - 1
		for _, m := range s.groups[c.group] {
			theirs := s.calls(m)[:made[m]]
			if count(theirs, c.group) <= number {
				waits[r] = append(waits[r], m)
			} else if nth(theirs, c.group, number).size != c.size {
				return CallsDiffer, nil
			}
		}
	}
	for r := range s.n {
		if !stuck[r] && slices.ContainsFunc(allRanks(s.n), func(o int) bool { return slices.Contains(waits[o], r) }) {
			return NeverCalled, []int{r}
		}
	}
	return Cycle, nil
}

// Jobs drawn at random are told as they were made. Of gloo's, whose dumps do not
// have the members of groups, not all can be told, but none is told wrong.
func TestSimulated(t *testing.T) {
	told, all := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		s := drawSim(t)
		kind, ranks := s.truth()
		for _, gloo := range []bool{false, true} {
			v := Explain(s.world(gloo).job(t))
			got := []int{}
			for _, c := range v.Culprits {
				got = append(got, c.Rank)
			}
			if gloo && v.Verdict == CannotTell {
				all++
				continue
			}
			all, told = all+1, told+1
			switch {
			case kind == "":
				if len(got) > 0 || !gloo && v.Verdict != Nothing {
					t.Fatalf("gloo %t: nothing is wrong, and got %s", gloo, short(v))
				}
			case len(got) == 0 || v.Culprits[0].Kind != kind || ranks != nil && !slices.Equal(got, ranks):
				t.Fatalf("gloo %t: got %s, want %s of %v\n%+v", gloo, short(v), kind, ranks, s)
			case kind == CallsDiffer && !slices.Contains(got, s.victim) && s.fault == "size":
				t.Fatalf("gloo %t: got %s, want %d\n%+v", gloo, short(v), s.victim, s)
			}
		}
	})
	t.Logf("%d of %d told", told, all)
}
