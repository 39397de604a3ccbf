package process

import (
	"fmt"
	"slices"

	"tpsh/comm"
	"tpsh/comm/deadlock"
)

// An ending is the end of a rank, which becomes valid when all has come that
// the rank sent before.
type ending struct {
	lasting
	count int // calls and messages from the rank to this one
}

// A lasting failure is the error that a rank has ended with.
type lasting struct {
	rank  int
	cause error
	lost  bool               // whether the rank cannot even be relied on to finish its calls
	calls []deadlock.CallKey // as in its report
}

// called reports whether the rank had made a call before it ended, on a group whose contracts are
// relayed.
func (f *lasting) called(key deadlock.CallKey) bool {
	return slices.ContainsFunc(f.calls, func(latest deadlock.CallKey) bool {
		return latest.Group == key.Group && latest.Number >= key.Number
	})
}

func (wr *wireRank) End(cause error) {
	wr.mu.Lock()
	defer wr.mu.Unlock()
	r := &deadlock.Report{Kind: deadlock.ReportEnded, Sent: wr.sent, Calls: wr.latestCalls()}
	if cause != nil {
		r.Kind, r.Text = deadlock.ReportFailed, cause.Error()
	}
	wr.report(r)
}

// lose notes that nothing sensible comes from a participant any more. The
// supervisor decides what follows, unless it is the one that is lost.
func (wr *wireRank) lose(peer int, cause error) {
	wr.mu.Lock()
	defer wr.mu.Unlock()
	if peer != wr.supervisor() && wr.ended[peer] {
		return // it has said all that it had to
	}
	if peer == wr.supervisor() {
		cause = fmt.Errorf("%s: %w", deadlock.SupervisorLost(wr.where), cause)
		wr.report(&deadlock.Report{Kind: deadlock.ReportLost, Peer: wr.rank, Text: cause.Error()})
		for r := range wr.received { // of no rank will it hear that it has ended
			wr.noteEnded(r)
		}
		wr.conclude(ending{lasting: lasting{wr.rank, cause, true, nil}})
		return
	}
	if !wr.broken[peer] {
		wr.broken[peer] = true
		wr.report(&deadlock.Report{
			Kind: deadlock.ReportLost, Peer: peer, Text: cause.Error(),
			Waits: []int{peer}, Received: []int{wr.received[peer]},
		})
		wr.settle()
	}
}

// giveUp lets no rank rely on this one any more.
func (wr *wireRank) giveUp(cause error) {
	wr.report(&deadlock.Report{Kind: deadlock.ReportLost, Peer: wr.rank, Text: cause.Error()})
}

// conclude notes the end of a rank.
func (wr *wireRank) conclude(e ending) {
	wr.endings = append(wr.endings, e)
	if wr.settle(); e.lost && e.rank == wr.rank {
		wr.wake() // the supervisor may not have heard that it has resumed
	}
}

// concludeAll notes that ranks have ended well. Hundreds may in one verdict: those of which
// all has come do not wait for settle.
func (wr *wireRank) concludeAll(ends []deadlock.End) {
	valid := false
	for _, end := range ends {
		e := ending{lasting{rank: end.Rank}, end.Count}
		if len(wr.endings) == 0 && wr.hasAll(e) {
			wr.validate(e)
			valid = true
			continue
		}
		wr.endings = append(wr.endings, e)
	}
	if wr.settle(); valid {
		wr.tellEnded()
	}
}

// settle makes those endings valid before which nothing is on its way. They
// become so in the order in which the supervisor has told them: the failure of one rank
// comes before that which it caused in another.
func (wr *wireRank) settle() {
	changed := false
	for len(wr.endings) > 0 && wr.hasAll(wr.endings[0]) {
		e := wr.endings[0]
		wr.endings = wr.endings[1:]
		wr.validate(e)
		changed = true
	}
	if changed {
		wr.tellEnded()
	}
}

// validate makes an ending valid.
func (wr *wireRank) validate(e ending) {
	if e.cause != nil {
		wr.failures = append(wr.failures, e.lasting)
	}
	wr.noteEnded(e.rank)
	if !e.lost {
		wr.exposures.endTo(e.rank)
	}
}

// tellEnded has those look again that wait for ranks of which some have ended.
func (wr *wireRank) tellEnded() {
	wr.signalAll()
	wr.closeIfAllEnded()
}

// noteEnded notes that the end of a rank is valid, or that none will be told.
func (wr *wireRank) noteEnded(rank int) {
	if !wr.ended[rank] {
		wr.ended[rank] = true
		wr.endCount++
	}
}

// closeIfAllEnded closes quiet if every rank has ended.
func (wr *wireRank) closeIfAllEnded() {
	select {
	case <-wr.quiet:
	default:
		if wr.endCount == len(wr.received) {
			close(wr.quiet)
			if wr.remoteSupervisor {
				wr.report(&deadlock.Report{Kind: deadlock.ReportLeft, Left: wr.box.Unreceived()})
			}
		}
	}
}

// unreceived returns the messages that the rank has not received, once no more can come.
func (wr *wireRank) unreceived() []comm.Unreceived {
	select {
	case <-wr.quiet:
	case <-wr.fabric.Context().Done():
	}
	return wr.box.Unreceived()
}

// hasAll reports whether all has come that a rank sent before it ended.
func (wr *wireRank) hasAll(e ending) bool {
	return e.rank == wr.rank || e.lost || wr.broken[e.rank] || wr.received[e.rank] >= e.count
}

// failedMember returns the error of a call on the group of ranks that holds
// failed ranks: it tells of the first of them that counts.
func (wr *wireRank) failedMember(ranks []int, function string, counts func(f lasting) bool) error {
	for _, f := range wr.failures {
		if slices.Contains(ranks, f.rank) && counts(f) {
			return &comm.PeerError{Func: function, Rank: f.rank, Cause: f.cause}
		}
	}
	return nil
}

func (wr *wireRank) Idle() {
	wr.mu.Lock()
	defer wr.mu.Unlock()
	wr.report(&deadlock.Report{Kind: deadlock.ReportIdle, Sent: wr.sent, Calls: wr.latestCalls()})
}

// Resume returns when the supervisor knows: a rank that waits for this one is
// not in a deadlock. A rank that cannot be relied on, since one of the two does not hear the
// other, does not wait for that: its calls fail.
func (wr *wireRank) Resume() {
	wr.report(&deadlock.Report{Kind: deadlock.ReportResumes})
	select {
	case <-wr.awake:
	case <-wr.fabric.Context().Done():
	}
}

// wake ends the wait of Resume.
func (wr *wireRank) wake() {
	select {
	case wr.awake <- struct{}{}:
	default:
	}
}
