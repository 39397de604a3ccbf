package kineto

import (
	"cmp"
	"fmt"
	"slices"
)

// A Summary is what the traces of a job hold of communication.
type Summary struct {
	Ranks []Rank `json:"ranks"`
	Calls []Row  `json:"calls"`
	// Stragglers are ranks for which others waited, the worst first.
	Stragglers []Straggler `json:"stragglers"`
	Missing    []string    `json:"missing"`
	// Plan has the calls of a plan beside those of the traces, if there is one.
	Plan []Compared `json:"plan,omitempty"`

	waits map[*Call]float64 // of each call, for later members
}

// A Rank is one rank's time.
type Rank struct {
	Job           string  `json:"job,omitempty"` // the test that it ran, in traces of tpsh test
	Rank          int     `json:"rank"`
	Seconds       float64 `json:"seconds"` // from the first event to the last
	Compute       float64 `json:"compute_seconds"`
	Communication float64 `json:"communication_seconds"` // while any call was under way
	Hidden        float64 `json:"hidden_seconds"`        // of that, while it computed
	Wait          float64 `json:"wait_seconds"`          // of its calls, for later members
	Calls         int     `json:"calls"`
	Bytes         int64   `json:"bytes"` // that it put in
}

// A Row is the calls of one operation, group and line.
type Row struct {
	Op    string  `json:"op"`
	Group string  `json:"group"`
	Where string  `json:"where"`
	Calls int     `json:"calls"` // of all ranks
	Bytes int64   `json:"bytes"` // that all ranks put in; -1 if it is not recorded of some call
	Time  float64 `json:"seconds"`
	Wait  float64 `json:"wait_seconds"` // of Time, for later members
	Ranks []int   `json:"ranks"`
}

// A Straggler is a rank that came last.
type Straggler struct {
	Rank  int     `json:"rank"`
	Calls int     `json:"calls"`        // in which it came last by more than a little
	Wait  float64 `json:"wait_seconds"` // of the others, together
	Where string  `json:"where"`        // the line at which they waited most
}

// little is how much later than others a rank may come and not be called late, in
// seconds: launching a kernel varies by that.
const little = 50e-6

// Summarize puts the traces of ranks together.
func Summarize(traces []*Trace) *Summary {
	s := &Summary{Ranks: []Rank{}, Calls: []Row{}, Stragglers: []Straggler{}, Missing: []string{}}
	traces = slices.Clone(traces)
	slices.SortStableFunc(traces, byRank)
	s.waits = s.meet(traces)
	waits := s.waits
	rows := map[string]*Row{}
	for _, t := range traces {
		s.Ranks = append(s.Ranks, t.times(waits))
		for _, c := range t.Calls {
			key := c.Op + "\n" + c.Group + "\n" + c.Where
			r := rows[key]
			if r == nil {
				r = &Row{Op: c.Op, Group: c.Group, Where: c.Where}
				rows[key] = r
			}
			r.add(t.Rank, c, waits[c])
		}
	}
	for _, r := range rows {
		s.Calls = append(s.Calls, *r)
	}
	slices.SortFunc(s.Calls, func(a, b Row) int {
		return cmp.Or(cmp.Compare(b.Time, a.Time), cmp.Compare(a.Op, b.Op), cmp.Compare(a.Group, b.Group), cmp.Compare(a.Where, b.Where))
	})
	s.listMissing(traces)
	return s
}

// byRank orders traces by test and rank.
func byRank(a, b *Trace) int {
	return cmp.Or(cmp.Compare(a.Job, b.Job), cmp.Compare(a.Rank, b.Rank))
}

func (r *Row) add(rank int, c *Call, wait float64) {
	r.Calls++
	r.Time += c.Span.Seconds()
	r.Wait += wait
	if c.Bytes < 0 || r.Bytes < 0 {
		r.Bytes = -1
	} else {
		r.Bytes += c.Bytes
	}
	if !slices.Contains(r.Ranks, rank) {
		r.Ranks = append(r.Ranks, rank)
	}
}

// times returns the times of one rank.
func (t *Trace) times(waits map[*Call]float64) Rank {
	r := Rank{Job: t.Job, Rank: t.Rank, Seconds: t.Whole.Seconds(), Compute: t.Busy.Seconds(), Calls: len(t.Calls)}
	var comm Spans
	for _, c := range t.Calls {
		comm = append(comm, c.Span)
		r.Wait += waits[c]
		r.Bytes += max(c.Bytes, 0)
	}
	comm = comm.union()
	r.Communication, r.Hidden = comm.Seconds(), comm.and(t.Busy).Seconds()
	return r
}

// A meeting is one call on the members that made it.
type meeting struct {
	group string
	order int
}

// A member is a call of one rank.
type member struct {
	rank int
	call *Call
}

// meetings returns the calls of groups, each with its members, in order.
func meetings(traces []*Trace) [][]member {
	of := map[meeting]int{}
	var out [][]member
	for _, t := range traces {
		for _, c := range t.Calls {
			if !c.known || c.pairwise() {
				continue
			}
			m := meeting{c.Group, c.order}
			i, ok := of[m]
			if !ok {
				i = len(out)
				of[m] = i
				out = append(out, nil)
			}
			out[i] = append(out[i], member{t.Rank, c})
		}
	}
	return out
}

// meet finds how long each call waited for later members, and who those were.
func (s *Summary) meet(traces []*Trace) map[*Call]float64 {
	waits := map[*Call]float64{}
	late := lateness{}
	for _, members := range meetings(traces) {
		if len(members) < 2 || slices.ContainsFunc(members, func(o member) bool { return o.call.Op != members[0].call.Op }) {
			continue
		}
		last := slices.MinFunc(members, func(a, b member) int {
			return cmp.Compare(a.call.Span.Seconds(), b.call.Span.Seconds())
		})
		var sum, most float64
		for _, o := range members {
			w := o.call.Span.Seconds() - last.call.Span.Seconds()
			waits[o.call] = w
			sum, most = sum+w, max(most, w)
		}
		if most >= little {
			late.add(last, sum)
		}
	}
	s.Stragglers = append(s.Stragglers, late.list()...)
	return waits
}

// A lateness has, by rank and line, for how long others waited.
type lateness map[int]*struct {
	Straggler
	lines map[string]float64
}

func (l lateness) add(m member, wait float64) {
	r := l[m.rank]
	if r == nil {
		r = &struct {
			Straggler
			lines map[string]float64
		}{Straggler{Rank: m.rank}, map[string]float64{}}
		l[m.rank] = r
	}
	r.Calls++
	r.Wait += wait
	r.lines[m.call.Where] += wait
}

// list returns the stragglers, the worst first.
func (l lateness) list() []Straggler {
	var out []Straggler
	for _, r := range l {
		first := true
		for where, w := range r.lines {
			if best := r.lines[r.Where]; first || w > best || w == best && where < r.Where {
				r.Where, first = where, false
			}
		}
		out = append(out, r.Straggler)
	}
	slices.SortFunc(out, func(a, b Straggler) int { return cmp.Or(cmp.Compare(b.Wait, a.Wait), cmp.Compare(a.Rank, b.Rank)) })
	return out
}

// listMissing says what the traces leave open.
func (s *Summary) listMissing(traces []*Trace) {
	world, have := 0, map[int]bool{}
	seen := map[string]bool{}
	group, line, calls := false, false, 0
	for _, t := range traces {
		world = max(world, t.World)
		key := fmt.Sprint(t.Job, t.Rank)
		if seen[key] {
			s.Missing = append(s.Missing, fmt.Sprintf("rank %d: two traces say that they are of it", t.Rank))
		}
		have[t.Rank], seen[key] = true, true
		for _, c := range t.Calls {
			calls++
			group, line = group || !c.known, line || c.Where == ""
		}
	}
	var none []int
	for r := range min(world, 1<<17) {
		if !have[r] {
			none = append(none, r)
		}
	}
	switch {
	case len(none) == 1:
		s.Missing = append(s.Missing, fmt.Sprintf("rank %d: no trace", none[0]))
	case len(none) > 1:
		s.Missing = append(s.Missing, fmt.Sprintf("%d of %d ranks, the first of them %d: no trace", len(none), world, none[0]))
	}
	if calls == 0 {
		s.Missing = append(s.Missing, "calls: no trace has any call of a collective")
	}
	if group {
		s.Missing = append(s.Missing, "groups of some calls: gloo's are not recorded, so who waited in them is not known")
	}
	if line {
		s.Missing = append(s.Missing, "lines of some calls: with_stack=True records them")
	}
}
