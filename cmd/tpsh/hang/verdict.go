package hang

import (
	"fmt"

	"tpsh/internal/ranklist"
)

// What a Verdict says.
const (
	Nothing    = "nothing wrong"
	Culprits   = "culprits"
	CannotTell = "cannot tell"
)

// The kinds of a culprit.
const (
	NeverCalled = "never called"
	NotFinished = "not finished"
	CallsDiffer = "calls differ"
	Cycle       = "cycle"
)

// A Verdict is what the evidence says.
type Verdict struct {
	Verdict  string    `json:"verdict"`
	Culprits []Culprit `json:"culprits"`
	Waiting  []Waiting `json:"waiting"`
	Missing  []string  `json:"missing"`

	job   *Job
	diffs []*difference
	graph *graph
}

// A Culprit is a rank that made the job hang. Where is the line of the call; for
// a rank that never called, that of its last call.
type Culprit struct {
	Rank  int    `json:"rank"`
	Kind  string `json:"kind"`
	Call  string `json:"call"`
	Group string `json:"group"`
	Where string `json:"where"`

	call *Call // that it made, or that its peers made and it did not
}

// A Waiting is a rank that only waits.
type Waiting struct {
	Rank  int    `json:"rank"`
	For   []int  `json:"for"`
	Call  string `json:"call"`
	Group string `json:"group"`
	Where string `json:"where"`

	call *Call
}

// Explain says what the evidence of a job shows.
func Explain(j *Job) *Verdict {
	v := &Verdict{Verdict: Nothing, Culprits: []Culprit{}, Waiting: []Waiting{}, Missing: []string{}, job: j}
	v.diffs = j.differences()
	v.graph = newGraph(j)
	if len(v.diffs) > 0 {
		v.blameDifferences()
	} else {
		v.blameEnds()
	}
	v.listWaiting()
	v.listMissing()
	switch {
	case len(v.Culprits) > 0:
		v.Verdict = Culprits
	case v.doubtful():
		v.Verdict = CannotTell
	}
	return v
}

// listWaiting lists the ranks that wait and are no culprits.
func (v *Verdict) listWaiting() {
	blamed := map[int]bool{}
	for _, c := range v.Culprits {
		blamed[c.Rank] = true
	}
	for _, id := range v.job.ids() {
		if blamed[id] {
			continue
		}
		if c, to := v.waitOf(id); c != nil {
			v.Waiting = append(v.Waiting, Waiting{id, to, c.String(), c.Group.String(), c.Where(), c})
		}
	}
}

// waitOf returns the call in which a rank waits, and for whom.
func (v *Verdict) waitOf(id int) (*Call, []int) {
	for _, d := range v.diffs {
		for _, c := range d.calls {
			if c.Rank == id {
				var to []int
				for _, o := range d.odd {
					to = append(to, o.Rank)
				}
				return c, to
			}
		}
	}
	var c *Call
	for _, w := range v.graph.waits[id] {
		if c == nil || w.call.Record < c.Record {
			c = w.call
		}
	}
	if c == nil {
		c = v.graph.open[id]
	}
	if c == nil {
		c = v.job.Ranks[id].now
	}
	return c, v.graph.waitedFor(id, c)
}

// waitedFor returns for whom a rank waits in a call: those that are known to be
// late, or if there is none, those of which nothing is known.
func (g *graph) waitedFor(id int, c *Call) []int {
	late, silent := []int{}, []int{}
	for _, w := range g.waits[id] {
		switch {
		case w.call != c:
		case w.why == noWord:
			silent = append(silent, w.to)
		default:
			late = append(late, w.to)
		}
	}
	if len(late) == 0 {
		late = silent
	}
	return sortedSet(late)
}

// doubtful reports whether there is more to it than the evidence says.
func (v *Verdict) doubtful() bool {
	j := v.job
	return len(j.Damaged) > 0 || len(j.Ranks) < j.World || len(v.graph.open) > 0 || len(v.graph.lost) > 0 || len(v.graph.waits) > 0 ||
		len(v.Waiting) > 0 || j.TimedOut || j.behind() || j.silent() || j.outside()
}

// behind reports whether r has made a call that had not finished: numbers of a log say so where no line tells
// of the call.
func (r *Rank) behind() bool {
	for _, s := range r.Status {
		if !r.Dumped && s.Made > max(s.Done, 0) {
			return true
		}
	}
	return false
}

func (j *Job) behind() bool {
	for _, r := range j.Ranks {
		if r.behind() {
			return true
		}
	}
	return false
}

// silent reports whether no rank has made any call.
func (j *Job) silent() bool {
	for _, r := range j.Ranks {
		if len(r.Calls) > 0 {
			return false
		}
		for _, s := range r.Status {
			if s.Made > 0 {
				return false
			}
		}
	}
	return true
}

// outside reports whether ranks may be in a send or receive of gloo, which
// leaves no trace: all recorded calls have finished, and the last is none that
// ends a step. A barrier does.
func (j *Job) outside() bool {
	for _, r := range j.Ranks {
		c := r.lastOf()
		if c == nil || c.Backend != "gloo" || c.Done != Done || c.Sure || c.Op == "barrier" {
			return false
		}
	}
	return true
}

// listMissing lists the evidence that is not there.
func (v *Verdict) listMissing() {
	j := v.job
	var none []int
	for id := range j.World {
		if j.Ranks[id] == nil {
			none = append(none, id)
		}
	}
	if len(none) > 0 {
		what := "no dump"
		if len(j.Damaged) > 0 {
			what = "no dump that can be read"
		}
		v.Missing = append(v.Missing, fmt.Sprintf("%s: %s, and no line of a watchdog", ranklist.Text(none), what))
	}
	v.Missing = append(v.Missing, j.Damaged...)
	if j.silent() {
		v.Missing = append(v.Missing, "calls: none is recorded of any rank (TORCH_FR_BUFFER_SIZE, once TORCH_NCCL_TRACE_BUFFER_SIZE, turns the recorder on)")
		return
	}
	v.listUnrecorded()
}

// listUnrecorded lists what the recorders leave out.
func (v *Verdict) listUnrecorded() {
	gloo, lines, unsure, cut := false, false, false, []int{}
	for _, id := range v.job.ids() {
		r := v.job.Ranks[id]
		for _, c := range r.Calls {
			gloo, lines, unsure = gloo || c.Backend == "gloo", lines || len(c.Frames) > 0, unsure || c.Done == Unrecorded
		}
		if !r.Dumped {
			cut = append(cut, id)
		}
	}
	if gloo {
		v.Missing = append(v.Missing, "sends and receives: gloo records none, and a rank that waits in one looks like one outside any call")
	}
	if unsure {
		v.Missing = append(v.Missing, "the end of calls: it is not recorded whether they finished")
	}
	if !lines {
		v.Missing = append(v.Missing, "lines: no dump has stacks")
	}
	if len(cut) > 0 {
		v.Missing = append(v.Missing, fmt.Sprintf("calls of %s: a log has only those that ran out of time", ranklist.Text(cut)))
	}
	for _, c := range v.graph.lost {
		v.Missing = append(v.Missing, fmt.Sprintf("members of group %s: rank %d waits for one that has made no call in it, and more than one rank can be that", c.Group, c.Rank))
	}
}
