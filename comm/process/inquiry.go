package process

import (
	"slices"

	"tpsh/comm"
	"tpsh/comm/deadlock"
)

// examine looks for deadlocks. It looks into one at a time.
func (s *Machine) examine() {
	if s.inquiry != nil {
		if s.inquiry.holds(s) {
			return
		}
		s.drop()
	}
	graph := s.graph()
	for _, set := range graph.ClosedSets() {
		if s.consistent(set) {
			s.inquire(set, graph)
			return
		}
	}
}

// consistent reports whether nothing is on its way to a rank of a set from one
// for which it waits.
func (s *Machine) consistent(set []int) bool {
	for _, r := range set {
		wait := s.ranks[r].wait
		for i, from := range wait.waits {
			if sent := s.ranks[from].sent; sent == nil || sent[r] != wait.received[i] {
				return false
			}
		}
	}
	return true
}

// An inquiry collects where the ranks of a deadlock are. Their waits are held
// until it is over.
type inquiry struct {
	set    []int
	graph  deadlock.Graph
	basis  []*report // by place in set: the reports that show the deadlock
	asked  int       // questions that are not answered
	result []comm.Wait
}

// holds reports whether the ranks still wait for the same.
func (q *inquiry) holds(s *Machine) bool {
	for i, r := range q.set {
		k := &s.ranks[r]
		if !k.waits() || k.wait.wait != q.basis[i].wait || !slices.Equal(k.wait.waits, q.basis[i].waits) {
			return false
		}
	}
	return true
}

// drop ends an inquiry that has not come to a deadlock.
func (s *Machine) drop() {
	for i, r := range s.inquiry.set {
		s.write(r, &verdict{kind: verdictRelease, wait: s.inquiry.basis[i].wait})
	}
	s.inquiry = nil
}

// inquire asks the ranks of a closed set where they are.
func (s *Machine) inquire(set []int, graph deadlock.Graph) {
	q := &inquiry{set: set, graph: graph}
	s.inquiry = q
	for _, r := range set {
		q.basis = append(q.basis, s.ranks[r].wait)
	}
	for _, r := range set {
		wait := s.ranks[r].wait
		if !onlyEnded(graph, wait) {
			s.askFor(q, r, wait.wait, callKey{}, wait.waits)
			continue
		}
		// Everyone who has come to the call is in the same case; see
		// monitor.waits.
		for _, member := range wait.all {
			if !slices.Contains(wait.waits, member) {
				s.askFor(q, member, 0, wait.what, wait.waits)
			}
		}
	}
}

// onlyEnded reports whether a wait is for a collective whose missing members
// have ended.
func onlyEnded(g deadlock.Graph, wait *report) bool {
	return wait.what != callKey{} && g.AllEnded(wait.waits)
}

// askFor asks a rank about a wait or a call for q.
func (s *Machine) askFor(q *inquiry, rank, wait int, what callKey, missing []int) {
	q.asked++
	s.ask(verdictHold, rank, wait, what, func(r *report) {
		if s.inquiry != q {
			return
		}
		if r.kind == reportNone {
			s.drop()
			if wait != 0 { // it goes on, and will say if it waits again
				s.ranks[rank].wait = nil
			}
			return
		}
		q.result = append(q.result, comm.Wait{Rank: rank, Function: r.function, Text: r.text, Where: r.where, For: missing})
		if q.asked--; q.asked == 0 && q.holds(s) {
			s.condemn(q)
		}
	})
}

// condemn ends the waits of a deadlock, and fails the collectives in which its
// ranks wait on every member.
func (s *Machine) condemn(q *inquiry) {
	slices.SortFunc(q.result, func(a, b comm.Wait) int { return a.Rank - b.Rank })
	v := verdict{kind: verdictDeadlock, deadlock: &comm.DeadlockError{Waits: q.result, Ended: q.graph.EndedAmong(q.set)}}
	told := slices.Clone(q.set)
	for _, r := range q.set {
		if wait := s.ranks[r].wait; wait.what != (callKey{}) && !slices.Contains(v.failed, wait.what) {
			v.failed = append(v.failed, wait.what)
			told = append(told, wait.all...)
		}
	}
	slices.Sort(told)
	for _, to := range slices.Compact(told) {
		mine := v
		if slices.Contains(q.set, to) {
			mine.wait = s.ranks[to].wait.wait
		}
		s.send(to, &mine)
	}
	s.inquiry = nil
}
