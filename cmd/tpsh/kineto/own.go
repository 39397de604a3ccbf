package kineto

import (
	"slices"
	"strconv"
	"strings"

	"tpsh/internal/lazyregexp"
)

// ownProcess is how tpsh names the process of a rank in its traces, after the
// test that it ran if there was one.
var ownProcess = lazyregexp.New(`^(?:(.*), )?rank ([0-9]{1,6})$`)

// takeName begins the trace of a rank whose process tpsh named. One file of tpsh
// holds all its ranks, each as a process.
func (p *parser) takeName(e *event) {
	m := ownProcess.Get().FindStringSubmatch(str(e.Args.Process))
	pid := str(e.Pid)
	if e.Name != "process_name" || m == nil || p.own[pid] != nil {
		return
	}
	rank, err := strconv.Atoi(m[2])
	if err != nil {
		return
	}
	if p.own == nil {
		p.own = map[string]*Trace{}
	}
	p.own[pid] = &Trace{Path: p.t.Path, Job: m[1], Rank: rank}
}

// takeOwn keeps an event of a rank of tpsh: a call, or an operation.
func (p *parser) takeOwn(t *Trace, e *event, s Span) {
	widen(&t.Whole, s)
	if e.Cat != "communication" {
		t.Busy = append(t.Busy, s)
		return
	}
	bytes, ok := num(e.Args.Bytes)
	if !ok || bytes < 0 || bytes >= 1<<53 {
		bytes = -1
	}
	group := str(e.Args.PG)
	if t.Job != "" {
		group = t.Job + ": " + group
	}
	t.Calls = append(t.Calls, &Call{Op: e.Name, Group: group, Bytes: int64(bytes), Span: s, Where: str(e.Args.Line), known: true})
}

// finishOwn returns the traces of a file of tpsh, in the order of tests and ranks.
func (p *parser) finishOwn() []*Trace {
	world := map[string]int{}
	var list []*Trace
	for _, t := range p.own {
		world[t.Job]++
		list = append(list, t)
	}
	for _, t := range list {
		t.World, t.Busy = world[t.Job], t.Busy.union()
		slices.SortStableFunc(t.Calls, byStart)
		n := map[string]int{}
		for _, c := range t.Calls {
			if !c.pairwise() {
				c.order = n[c.Group]
				n[c.Group]++
			}
		}
	}
	slices.SortFunc(list, byRank)
	return list
}

// name is what tables call the rank.
func (r *Rank) name() string {
	return strings.TrimSpace(r.Job + " " + strconv.Itoa(r.Rank))
}
