package comm

import (
	"fmt"
	"slices"
)

// An ending is the end of a rank, which becomes valid when all has come that
// the rank sent before.
type ending struct {
	lasting
	count int // calls and messages from the rank to this one
}

// A lasting failure is what a rank has ended with.
type lasting struct {
	failure
	lost bool // whether the rank cannot even be relied on to finish its calls
}

func (st *station) end(cause error) {
	r := &report{kind: reportEnded, sent: st.sent}
	if cause != nil {
		r.kind, r.text = reportFailed, cause.Error()
	}
	st.report(r)
}

// lose notes that nothing sensible comes from a participant any more. The
// supervisor decides what follows, unless it is the one that is lost.
func (st *station) lose(peer int, cause error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if peer != st.supervisor() && st.ended[peer] {
		return // it has said all that it had to
	}
	if peer == st.supervisor() {
		cause = fmt.Errorf("%s: %w", supervisorLost(st.where), cause)
		st.report(&report{kind: reportLost, peer: st.rank, text: cause.Error()})
		for r := range st.received { // of no rank will it hear that it has ended
			st.ended[r] = true
		}
		st.conclude(ending{lasting: lasting{failure{st.rank, cause}, true}})
		return
	}
	if !st.broken[peer] {
		st.broken[peer] = true
		st.report(&report{
			kind: reportLost, peer: peer, text: cause.Error(),
			waits: []int{peer}, received: []int{st.received[peer]},
		})
		st.settle()
	}
}

// supervisorLost says that a rank on a host, "" for any, has lost the
// supervisor.
func supervisorLost(host string) string {
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

// giveUp lets no rank rely on this one any more.
func (st *station) giveUp(cause error) {
	st.report(&report{kind: reportLost, peer: st.rank, text: cause.Error()})
}

// conclude notes the end of a rank.
func (st *station) conclude(e ending) {
	st.endings = append(st.endings, e)
	st.settle()
}

// settle makes those endings valid before which nothing is on its way. They
// become so in the order in which the supervisor has told them: what one rank
// failed of comes before what that was for another.
func (st *station) settle() {
	changed := false
	for len(st.endings) > 0 && st.hasAll(st.endings[0]) {
		e := st.endings[0]
		st.endings = st.endings[1:]
		changed = true
		if e.cause != nil {
			st.failures = append(st.failures, e.lasting)
		}
		st.ended[e.rank] = true
		if !e.lost {
			st.loans.endTo(e.rank)
		}
	}
	if changed {
		st.signalAll()
		st.hush()
	}
}

// hush closes quiet if every rank has ended.
func (st *station) hush() {
	select {
	case <-st.quiet:
	default:
		if len(st.ended) == len(st.received) {
			close(st.quiet)
			if st.apart {
				st.report(&report{kind: reportLeft, left: st.box.unreceived()})
			}
		}
	}
}

// hasAll reports whether all has come that a rank sent before it ended.
func (st *station) hasAll(e ending) bool {
	return e.rank == st.rank || e.lost || st.broken[e.rank] || st.received[e.rank] >= e.count
}

// failedMember returns the error of a call on the group of ranks that holds
// failed ranks: it tells of the first of them that counts.
func (st *station) failedMember(ranks []int, function string, counts func(f lasting) bool) error {
	for _, f := range st.failures {
		if slices.Contains(ranks, f.rank) && counts(f) {
			return &PeerError{function, f.rank, f.cause}
		}
	}
	return nil
}
