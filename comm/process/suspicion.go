package process

import (
	"fmt"
	"slices"
	"time"

	"tpsh/comm"
)

// A suspicion is that a rank is lost, for which there may be a better reason
// than that a stream has ended: who watches its process will tell.
type suspicion struct {
	rank     int
	by       int // the rank that has lost it, or -1 for the supervisor
	received int // what came from rank to by before
	text     string
	due      time.Time // when to believe it
}

// kind returns the verdict that follows from x.
func (x *suspicion) kind() verdictKind {
	if x.by < 0 {
		return verdictGone
	}
	return verdictLost
}

// accuse takes in that a rank has lost another, or itself. What a rank says
// that is itself lost counts for nothing.
func (s *supervisor) accuse(rank int, r *report) {
	switch {
	case s.ranks[rank].lost:
	case r.peer == rank:
		s.lose(verdictLost, rank, r.text)
	default:
		x := suspicion{rank: r.peer, by: rank, received: -1}
		x.text = fmt.Sprintf("its connection to rank %d was lost%s: %s", rank, onHost(s.where(r.peer)), r.text)
		if len(r.received) == 1 {
			x.received = r.received[0]
		}
		s.suspect(x)
	}
}

// suspect believes a suspicion at once, or when grace has passed.
func (s *supervisor) suspect(x suspicion) {
	if s.grace == 0 {
		s.lose(x.kind(), x.rank, x.text)
		return
	}
	x.due = time.Now().Add(s.grace)
	s.suspects = append(s.suspects, x)
	if len(s.suspects) == 1 {
		s.limit.Reset(s.grace)
	}
}

// decide believes the suspicions that are due, unless the rank has ended in
// good order.
func (s *supervisor) decide() {
	for len(s.suspects) > 0 {
		x := s.suspects[0]
		if wait := time.Until(x.due); wait > 0 {
			s.limit.Reset(wait)
			return
		}
		s.suspects = s.suspects[1:]
		if !s.excused(x) {
			s.lose(x.kind(), x.rank, x.text)
		}
	}
}

// excused reports whether the rank of x has ended, with all delivered that it
// had sent.
func (s *supervisor) excused(x suspicion) bool {
	k := &s.ranks[x.rank]
	if x.by < 0 {
		return k.exits || k.ended
	}
	return k.ended && x.received == k.sent[x.by]
}

// unreceived returns what no rank has received, once no more can come of it.
func (s *supervisor) unreceived() []comm.Unreceived {
	select {
	case <-s.settled:
	case <-s.done:
		return nil
	}
	slices.SortStableFunc(s.left, comm.CompareUnreceived)
	return s.left
}

// settle closes settled when every rank has told what it has not received, is
// lost, or has exited.
func (s *supervisor) settle() {
	for r := range s.ranks {
		if k := &s.ranks[r]; !k.left && !k.lost && !(k.exits && k.silent) {
			return
		}
	}
	select {
	case <-s.settled:
	default:
		close(s.settled)
	}
}
