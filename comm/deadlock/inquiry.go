package deadlock

import (
	"slices"

	"tpsh/comm"
)

// examine looks for deadlocks. It looks into one at a time.
func (s *Machine) examine() {
	if s.inquiry != nil {
		if s.inquiry.holds(s) {
			return
		}
		s.drop()
	}
	if !slices.ContainsFunc(s.ranks, func(k knowledge) bool { return k.waits() }) {
		return
	}
	graph := s.graph()
	for _, set := range graph.ClosedSets() {
		if s.consistent(set) {
			s.inquire(set, slices.Clone(graph))
			return
		}
	}
}

// consistent reports whether nothing is on its way to a rank of a set from one
// for which it waits.
func (s *Machine) consistent(set []int) bool {
	for _, r := range set {
		wait := s.ranks[r].wait
		if s.ranks[r].relayed() {
			continue
		}
		for i, from := range wait.Waits {
			if sent := s.ranks[from].sent; sent == nil || sent[r] != wait.Received[i] {
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
	graph  Graph
	basis  []*Report // by place in set: the reports that show the deadlock
	asked  int       // questions that are not answered
	result []comm.Wait
}

// holds reports whether the ranks still wait for the same.
func (q *inquiry) holds(s *Machine) bool {
	for i, r := range q.set {
		k := &s.ranks[r]
		if !k.waits() || k.wait.Wait != q.basis[i].Wait || !slices.Equal(s.missing(k, nil), q.graph[r].Waits) {
			return false
		}
	}
	return true
}

// drop ends an inquiry that has not come to a deadlock.
func (s *Machine) drop() {
	for i, r := range s.inquiry.set {
		s.write(r, &Verdict{Kind: VerdictRelease, Wait: s.inquiry.basis[i].Wait})
	}
	s.inquiry = nil
}

// inquire asks the ranks of a closed set where they are.
func (s *Machine) inquire(set []int, graph Graph) {
	q := &inquiry{set: set, graph: graph}
	s.inquiry = q
	for _, r := range set {
		q.basis = append(q.basis, s.ranks[r].wait)
	}
	for _, r := range set {
		wait, missing := s.ranks[r].wait, graph[r].Waits
		if wait.Call == (CallKey{}) || !graph.AllEnded(missing) {
			s.askFor(q, r, wait.Wait, CallKey{}, missing)
			continue
		}
		// Only ended ranks are missing. Every rank that has come to the call is in the same case; see
		// monitor.waits.
		for _, member := range wait.All {
			if !slices.Contains(missing, member) {
				s.askFor(q, member, 0, wait.Call, missing)
			}
		}
	}
}

// askFor asks a rank about a wait or a call for q.
func (s *Machine) askFor(q *inquiry, rank, wait int, what CallKey, missing []int) {
	q.asked++
	s.ask(VerdictHold, rank, wait, what, func(r *Report) {
		if s.inquiry != q {
			return
		}
		if r.Kind == ReportNone {
			s.drop()
			if wait != 0 { // it goes on, and will say if it waits again
				s.ranks[rank].wait = nil
			}
			return
		}
		q.result = append(q.result, comm.Wait{Rank: rank, Function: r.Function, Text: r.Text, Where: r.Where, For: missing, Caught: r.Caught})
		if q.asked--; q.asked == 0 && q.holds(s) {
			s.condemn(q)
		}
	})
}

// condemn ends the waits of a deadlock, and fails the collectives in which its
// ranks wait on every member. Where some of its ranks have left out calls that others
// wait for, only the waits of those end.
func (s *Machine) condemn(q *inquiry) {
	slices.SortFunc(q.result, func(a, b comm.Wait) int { return a.Rank - b.Rank })
	ends := q.graph.LeftOut(q.set)
	v := Verdict{Kind: VerdictLeftOut, Deadlock: &comm.DeadlockError{Waits: q.result, Ended: q.graph.EndedAmong(q.set)}}
	q.graph.Tell(v.Deadlock, ends)
	if len(ends) == 0 {
		v.Kind, ends = VerdictDeadlock, q.set
	}
	told := slices.Clone(ends)
	for _, r := range ends {
		if wait := s.ranks[r].wait; wait.Call != (CallKey{}) && !slices.Contains(v.Failed, wait.Call) {
			v.Failed = append(v.Failed, wait.Call)
			told = append(told, wait.All...)
		}
	}
	slices.Sort(told)
	for _, to := range slices.Compact(told) {
		mine := v
		if slices.Contains(ends, to) {
			mine.Wait = s.ranks[to].wait.Wait
		}
		s.send(to, &mine)
	}
	for i, r := range q.set {
		if !slices.Contains(ends, r) {
			s.write(r, &Verdict{Kind: VerdictRelease, Wait: q.basis[i].Wait})
		}
	}
	s.inquiry = nil
}
