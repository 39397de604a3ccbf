package deadlock

import (
	"fmt"
	"slices"
	"time"

	"tpsh/comm"
)

// A suspicion is that a rank is lost, for which there may be a better reason
// than that a stream has ended: whoever watches its process will tell.
type suspicion struct {
	rank     int
	by       int // the rank that has lost it, or -1 for the supervisor
	received int // how many messages came from rank to by before
	text     string
	due      time.Time // when to believe it
}

// kind returns the verdict that follows from x.
func (x *suspicion) kind() VerdictKind {
	if x.by < 0 {
		return VerdictGone
	}
	return VerdictLost
}

// accuse takes in that a rank has lost another, or itself. The word of a rank
// that is itself lost counts for nothing.
func (s *Machine) accuse(rank int, r *Report) {
	switch {
	case s.ranks[rank].lost:
	case r.Peer == rank:
		s.lose(VerdictLost, rank, r.Text)
	default:
		x := suspicion{rank: r.Peer, by: rank, received: -1}
		x.text = fmt.Sprintf("its connection to rank %d was lost%s: %s", rank, onHost(s.host(r.Peer)), r.Text)
		if len(r.Received) == 1 {
			x.received = r.Received[0]
		}
		s.suspect(x)
	}
}

// suspect believes a suspicion at once, or when grace has passed.
func (s *Machine) suspect(x suspicion) {
	if s.options.Grace == 0 {
		s.lose(x.kind(), x.rank, x.text)
		return
	}
	x.due = s.now.Add(s.options.Grace)
	s.suspects = append(s.suspects, x)
}

// decide believes the suspicions that are due, unless the rank has ended in
// good order.
func (s *Machine) decide() {
	for len(s.suspects) > 0 && !s.now.Before(s.suspects[0].due) {
		x := s.suspects[0]
		s.suspects = s.suspects[1:]
		if !s.excused(x) {
			s.lose(x.kind(), x.rank, x.text)
		}
	}
}

// excused reports whether the rank of x has ended, with all delivered that it
// had sent.
func (s *Machine) excused(x suspicion) bool {
	k := &s.ranks[x.rank]
	if x.by < 0 {
		return k.exits || k.ended
	}
	return k.ended && x.received == k.sent[x.by]
}

// settle notes whether every rank has listed the messages that it has not received, is lost, or
// has exited.
func (s *Machine) settle() {
	for r := range s.ranks {
		if k := &s.ranks[r]; !k.left && !k.lost && !(k.exits && k.silent) {
			return
		}
	}
	slices.SortStableFunc(s.left, comm.CompareUnreceived)
	s.out.Settled = true
}

// SupervisorLost says that a rank on a host, "" for any, has lost the
// supervisor.
func SupervisorLost(host string) string {
	return "its connection to the supervisor was lost" + onHost(host)
}

// onHost says on which host something is: " on b". It is "" if that is no
// matter.
func onHost(host string) string {
	if host == "" {
		return ""
	}
	return " on " + host
}
