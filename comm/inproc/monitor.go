package inproc

import (
	"slices"
	"sync"
	"time"

	"tpsh/comm"
	"tpsh/comm/deadlock"
)

// A monitor watches the waits of the ranks of an inproc: it finds those that
// can never end, and ends those that a failure concerns. A wait comes to it
// only when it lasts; ranks that meet in step do not.
//
// Its methods that do not lock mu, all but notice, are called with it held.
type monitor struct {
	transport *inproc

	mu       sync.Mutex
	groups   map[string]*groupState // by Group.key
	waiting  map[*inprocWait]bool   // all that wait
	blocked  []*inprocWait          // by rank: that of the rank itself, nil while it runs
	crowds   map[*round]*crowd      // those of them that wait at rounds
	single   map[*inprocWait]bool   // and for messages
	ended    []bool                 // by rank
	idle     []bool                 // by rank; see Endpoint.Idle
	failures []failure              // in the order in which they came
}

// A failure is a rank that ended with a cause.
type failure struct {
	rank  int
	cause error
}

func newMonitor(t *inproc) *monitor {
	return &monitor{
		transport: t,
		groups:    map[string]*groupState{},
		waiting:   map[*inprocWait]bool{},
		blocked:   make([]*inprocWait, t.size),
		crowds:    map[*round]*crowd{},
		single:    map[*inprocWait]bool{},
		ended:     make([]bool, t.size),
		idle:      make([]bool, t.size),
	}
}

// block notes that w waits. The last rank to do so finds the deadlock.
func (mo *monitor) block(w *inprocWait) {
	w.since = time.Now()
	mo.mu.Lock()
	defer mo.mu.Unlock()
	mo.waiting[w] = true
	if w.program {
		mo.blocked[w.rank] = w
		mo.join(w)
		mo.check()
	}
}

// unblock notes that w waits no longer.
func (mo *monitor) unblock(w *inprocWait) {
	mo.mu.Lock()
	defer mo.mu.Unlock()
	mo.remove(w)
}

func (mo *monitor) remove(w *inprocWait) {
	delete(mo.waiting, w)
	if mo.blocked[w.rank] == w {
		mo.blocked[w.rank] = nil
		mo.part(w)
	}
}

// detach ends the wait of a caller that leaves its call, and returns an Op for
// the rest of the call: its Where does not need the caller.
func (mo *monitor) detach(w *inprocWait, member int) *comm.Op {
	mo.mu.Lock()
	defer mo.mu.Unlock()
	mo.remove(w)
	entry := &w.round.entries[member]
	op := *entry.op.Load()
	where := w.where()
	op.Where = func() string { return where }
	entry.op.Store(&op)
	return &op
}

// recheck looks for a deadlock after an arrival that leaves others waiting.
func (mo *monitor) recheck() {
	mo.mu.Lock()
	defer mo.mu.Unlock()
	mo.check()
}

// end notes that a rank has ended.
func (mo *monitor) end(rank int, cause error) {
	mo.mu.Lock()
	defer mo.mu.Unlock()
	if mo.ended[rank] {
		return
	}
	mo.ended[rank] = true
	if cause != nil {
		mo.failures = append(mo.failures, failure{rank, cause})
		for _, s := range mo.groups {
			s.markFailing(rank)
		}
		for w := range mo.waiting {
			w.signal()
		}
	}
	mo.check()
}

// groupOf returns where the members of g meet, whichever of them asks first.
func (mo *monitor) groupOf(g *comm.Group) *groupState {
	mo.mu.Lock()
	defer mo.mu.Unlock()
	s := mo.groups[g.Key()]
	if s == nil {
		s = newGroupState(mo.transport, uint64(len(mo.groups)), g)
		mo.groups[g.Key()] = s
		for _, f := range mo.failures {
			s.markFailing(f.rank)
		}
	}
	return s
}

// outcome reports whether the wait of w is over, and its error.
func (mo *monitor) outcome(w *inprocWait) (over bool, err error) {
	mo.mu.Lock()
	defer mo.mu.Unlock()
	return mo.outcomeLocked(w)
}

// outcomeLocked is outcome for callers that hold mu.
func (mo *monitor) outcomeLocked(w *inprocWait) (over bool, err error) {
	if w.round == nil {
		return mo.received(w)
	}
	if certain, fails := w.round.outcome(); fails {
		return true, w.round.verdict
	} else if certain {
		return true, nil
	}
	err = mo.failedMember(w.state, w.function, w.round.lacks)
	return err != nil, err
}

// received is outcomeLocked for a wait for a message. A message that has been sent is received,
// though the sender has failed since.
func (mo *monitor) received(w *inprocWait) (over bool, err error) {
	switch {
	case w.verdict != nil:
		return true, w.verdict
	case mo.transport.boxes[w.rank].Has(w.key):
		return true, nil
	}
	err = mo.failedMember(w.state, w.function, func(int) bool { return true })
	return err != nil, err
}

// failedMember returns the error of a call on a group that holds failed ranks:
// it tells of the first of them that counts, and is nil if none does.
func (mo *monitor) failedMember(s *groupState, function string, counts func(member int) bool) error {
	if !s.failing.Load() {
		return nil
	}
	for _, f := range mo.failures {
		if i := slices.Index(s.ranks, f.rank); i >= 0 && counts(i) {
			return &comm.PeerError{Func: function, Rank: f.rank, Cause: f.cause}
		}
	}
	return nil
}

// sendError returns the error of sending to a group that holds a failed rank:
// that dst has failed, or a member of whose failure the sender has heard.
func (mo *monitor) sendError(g *inprocGroup, dst int) error {
	mo.mu.Lock()
	defer mo.mu.Unlock()
	return mo.failedMember(g.state, comm.SendName, func(member int) bool {
		return member == dst || g.endpoint.HasFailed(g.state.ranks[member])
	})
}

// gone reports whether a rank makes no call any more, or until it resumes.
func (mo *monitor) gone(rank int) bool { return mo.ended[rank] || mo.idle[rank] }

// runs reports whether a rank is not gone and not blocked, or about to learn
// that its wait is over.
func (mo *monitor) runs(rank int) bool {
	if mo.gone(rank) {
		return false
	}
	w := mo.blocked[rank]
	if w == nil {
		return true
	}
	over, _ := mo.outcomeLocked(w)
	return over
}

// check finds the deadlocks there are, and ends their waits.
func (mo *monitor) check() {
	if mo.allHope() {
		return
	}
	graph := mo.graph()
	for _, set := range graph.ClosedSets() {
		if !mo.runs(set[0]) { // unless a set before it has ended its waits
			mo.condemn(set, graph)
		}
	}
}

// graph returns the graph of the ranks' waits.
func (mo *monitor) graph() deadlock.Graph {
	graph := make(deadlock.Graph, len(mo.blocked))
	for r, w := range mo.blocked {
		switch {
		case mo.gone(r):
			graph[r].State = deadlock.Ended
		case !mo.runs(r):
			graph[r] = deadlock.Node{State: deadlock.Blocked, Waits: w.missing(), Caught: w.endpoint.Caught()}
			if w.round != nil {
				graph[r].Call = w.round
			}
		}
	}
	return graph
}

// condemn ends the waits of a closed set, and fails the collectives in which
// its ranks wait on every member. Where some of its ranks have left out calls that
// others wait for, only the waits of those end.
func (mo *monitor) condemn(set []int, graph deadlock.Graph) {
	verdict := &comm.DeadlockError{Ended: graph.EndedAmong(set)}
	for _, r := range set {
		verdict.Waits = append(verdict.Waits, mo.waits(mo.blocked[r], graph)...)
	}
	slices.SortFunc(verdict.Waits, func(a, b comm.Wait) int { return a.Rank - b.Rank })
	ends := graph.LeftOut(set)
	graph.Tell(verdict, ends)
	leftOut := len(ends) > 0
	if !leftOut {
		ends = set
	}
	for _, r := range ends {
		mo.endWait(mo.blocked[r], verdict, leftOut)
	}
}

// waits returns the waits that the report of a deadlock tells for w. Where nobody but ended
// ranks are missing at a round, every rank that has come is in the same case,
// whether it waits yet or not: all are named, so that the report does not
// depend on which was first to wait.
func (mo *monitor) waits(w *inprocWait, graph deadlock.Graph) []comm.Wait {
	missing := w.missing()
	if w.round == nil || !graph.AllEnded(missing) {
		return []comm.Wait{{Rank: w.rank, Function: w.function, Text: w.text(), Where: w.where(), For: missing, Caught: w.endpoint.Caught()}}
	}
	var all []comm.Wait
	for i := range w.round.entries {
		if !w.round.lacks(i) {
			op, g := w.round.entries[i].op.Load(), &w.state.members[i]
			all = append(all, comm.Wait{Rank: g.endpoint.Rank(), Function: op.Desc.Op, Text: g.text(op), Where: g.endpoint.SourceLine(op.Where), For: missing})
		}
	}
	return all
}

// endWait ends the wait of w with a verdict, and for a collective that of every
// member, which those may have left out that have not come.
func (mo *monitor) endWait(w *inprocWait, verdict *comm.DeadlockError, leftOut bool) {
	if w.round == nil {
		w.verdict = verdict
		w.signal()
		return
	}
	w.round.fail(verdict, leftOut)
	for other := range mo.waiting {
		if other.round == w.round {
			other.signal()
		}
	}
}

// setIdle notes that a rank rests, or does so no more.
func (mo *monitor) setIdle(rank int, rests bool) {
	mo.mu.Lock()
	defer mo.mu.Unlock()
	mo.idle[rank] = rests
	if rests {
		mo.check()
	}
}
