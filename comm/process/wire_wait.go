package process

import (
	"context"
	goruntime "runtime"
	"time"

	"tpsh/comm"
	"tpsh/comm/deadlock"
	"tpsh/comm/process/shm"
)

// A wireWait is a wait in progress at a rank.
type wireWait struct {
	program  bool             // whether the rank itself waits, and not a call that goes on beside it
	id       int              // the number of the wait among those of the rank itself
	what     deadlock.CallKey // the call whose members are missing, or zero for a message
	all      []int            // the members of the group
	relayed  bool             // whether its contracts are relayed
	lacks    func() bool      // if they are: whether anybody is missing
	missing  func() []int
	advance  func()               // does what others wait for, as far as it can be done; nil for nothing
	outcome  func() (bool, error) // whether the wait is over, and how
	site     func() callSite
	wake     chan struct{}
	verdict  *comm.DeadlockError // for a message
	held     bool                // whether only the supervisor or a failure may end it
	told     bool                // whether the supervisor has heard of it
	heard    int                 // wireRank.heard when it was told
	left     bool                // whether a context has ended it
	piece    bool                // whether it is for a piece of data in a staging buffer
	own      bool                // whether it is on the rank's goroutine
	inbounds []inbound           // at which it may sleep
}

// signal makes w look again.
func (w *wireWait) signal() {
	w.poke()
	for _, in := range w.inbounds {
		in.Wake()
	}
}

// signal has all waits for the call of key look again.
func (wr *wireRank) signal(key deadlock.CallKey) {
	for w := range wr.waiting {
		if w.what == key {
			w.signal()
		}
	}
}

// signalPieces has those waits for pieces look again that do not sleep where
// the futex wakes them.
func (wr *wireRank) signalPieces() {
	wr.mu.Lock()
	defer wr.mu.Unlock()
	for w := range wr.waiting {
		if w.piece && !w.own {
			w.poke()
		}
	}
}

func (wr *wireRank) signalAll() {
	for w := range wr.waiting {
		w.signal()
	}
}

// poke is signal for a wireWait that does not sleep where the futex wakes it.
func (w *wireWait) poke() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// wakeFor has all waits for the call of key look again.
func (wr *wireRank) wakeFor(key deadlock.CallKey) {
	wr.mu.Lock()
	defer wr.mu.Unlock()
	wr.signal(key)
}

// waitUntilOver returns when w is over, ctx ends, or the fabric is closed. While w is
// a wait of the rank itself, the supervisor knows of it.
func (wr *wireRank) waitUntilOver(ctx context.Context, w *wireWait) error {
	w.wake = make(chan struct{}, 1)
	w.inbounds = wr.inbounds // before others know of w
	wr.begin(w)
	defer wr.finish(w)
	looks := (w.program || w.own) && len(wr.inbounds) > 0
	for i, in := range wr.inbounds {
		if i > 0 || !looks {
			in.Background(1)
			defer in.Background(-1)
		}
	}
	if looks {
		if over, err := wr.waitAt(ctx, wr.inbounds[0], w); over {
			return err
		}
	}
	return wr.waitForWake(ctx, w)
}

// waitForWake is waitUntilOver for a goroutine that sleeps until a goroutine that takes something
// in wakes it.
func (wr *wireRank) waitForWake(ctx context.Context, w *wireWait) error {
	for range 2 { // it may take no more than letting the others run
		if over, err := wr.look(w, false); over {
			return err
		}
		goruntime.Gosched()
	}
	var reportDue <-chan time.Time
	tell := !wr.remoteSupervisor
	if wr.remoteSupervisor {
		timer := time.NewTimer(reportTime)
		defer timer.Stop()
		reportDue = timer.C
	}
	for {
		if over, err := wr.look(w, tell); over {
			return err
		}
		select {
		case <-w.wake:
		case <-reportDue:
			tell = true
		case <-ctx.Done():
			w.left = true
			return context.Cause(ctx)
		case <-wr.fabric.Context().Done():
			return comm.ErrClosed
		}
	}
}

// reportTime is how long a rank waits before it lets a supervisor in another
// process know: most waits end sooner, and a report costs more than they do.
const reportTime = time.Millisecond

// begin makes w one of the waits.
func (wr *wireRank) begin(w *wireWait) {
	wr.mu.Lock()
	defer wr.mu.Unlock()
	wr.waiting[w] = true
	if w.program {
		wr.waitCount++
		w.id = wr.waitCount
		wr.wait = w
	}
}

// finish makes w a wireWait no more.
func (wr *wireRank) finish(w *wireWait) {
	wr.mu.Lock()
	defer wr.mu.Unlock()
	delete(wr.waiting, w)
	if w.program {
		wr.wait = nil
	}
	if w.told {
		wr.report(&deadlock.Report{Kind: deadlock.ReportRuns, Wait: w.id})
	}
}

// look reports whether w is over. If not, and tell is set, it lets the
// supervisor know for whom the rank waits.
func (wr *wireRank) look(w *wireWait, tell bool) (bool, error) {
	if w.advance != nil {
		w.advance()
	}
	wr.mu.Lock()
	defer wr.mu.Unlock()
	over, err := w.outcome()
	over = over && (err != nil || !w.held)
	if !over && tell && w.program {
		wr.tell(w)
	}
	return over, err
}

// tell lets the supervisor know for whom the rank waits in w, if for anyone:
// not while a failure is on its way, which may end the wait.
func (wr *wireRank) tell(w *wireWait) {
	var missing []int
	if w.relayed && w.lacks() && len(wr.endings) == 0 {
		wr.tellRelayed(w)
		return
	} else if !w.relayed {
		missing = w.missing()
	}
	switch {
	case len(missing) > 0 && len(wr.endings) == 0:
		received := make([]int, len(missing))
		for i, m := range missing {
			received[i] = wr.received[m]
		}
		wr.report(&deadlock.Report{
			Kind: deadlock.ReportWaits, Wait: w.id, Heard: wr.heard, Call: w.what,
			Waits: missing, All: w.all, Received: received, Sent: wr.sent,
			Calls: wr.latestCalls(), Caught: wr.endpoint.Caught(),
		})
		w.told = true
	case w.told:
		wr.report(&deadlock.Report{Kind: deadlock.ReportRuns, Wait: w.id})
		w.told = false
	}
}

// tellRelayed is tell for a call whose contracts are relayed. The supervisor knows who is missing.
func (wr *wireRank) tellRelayed(w *wireWait) {
	if w.told && w.heard == wr.heard {
		return // nothing else has changed
	}
	wr.report(&deadlock.Report{
		Kind: deadlock.ReportWaits, Wait: w.id, Heard: wr.heard, Call: w.what, All: w.all, Sent: wr.sent,
		Calls: wr.latestCalls(), Caught: wr.endpoint.Caught(),
	})
	w.told, w.heard = true, wr.heard
}

// latestCalls returns the number of the rank's latest call on each group whose contracts are
// relayed.
func (wr *wireRank) latestCalls() (calls []deadlock.CallKey) {
	for _, g := range wr.relaying {
		if g.calls > 0 {
			calls = append(calls, deadlock.CallKey{Group: g.hash, Number: g.calls})
		}
	}
	return calls
}

// tellCalls lets the supervisor know of a call in which the rank does not wait, if its contracts are
// relayed. The caller holds mu.
func (wr *wireRank) tellCalls(g *wireGroup) {
	if g.relays {
		wr.report(&deadlock.Report{Kind: deadlock.ReportCalls, Calls: wr.latestCalls()})
	}
}

// answer tells the supervisor where the rank is in a call, or in a wait. A wait
// that is part of a deadlock is held from here on: another rank of the deadlock
// may hear of it first, go on, and send a message that this one no longer is to receive.
func (wr *wireRank) answer(v *deadlock.Verdict) {
	r := &deadlock.Report{Kind: deadlock.ReportNone, Question: v.Question}
	var find func() callSite
	switch {
	case v.Wait != 0 && wr.wait != nil && wr.wait.id == v.Wait:
		wr.wait.held = wr.wait.held || v.Kind == deadlock.VerdictHold
		find = wr.wait.site
	case v.Wait == 0 && wr.known(v.Call) != nil:
		find = wr.known(v.Call).site
	}
	if find != nil {
		p := find()
		r.Kind, r.Function, r.Text, r.Where = deadlock.ReportAnswer, p.function, p.text, p.where
		r.Caught = wr.endpoint.Caught()
	}
	wr.report(r)
}

// release lets a wait end after all.
func (wr *wireRank) release(v *deadlock.Verdict) {
	if wr.wait != nil && wr.wait.id == v.Wait {
		wr.wait.held = false
		wr.wait.signal()
	}
}

// backoff say how long a wait sleeps at most before it looks again, though nobody
// has woken it: for a short sleep until the wait is long enough to be reported, and
// for a long one from then on.
type backoff struct{ short, long time.Duration }

// backoffOf returns the usual sleeps of one of so many ranks as share memory: in a crowd they are as many
// times longer as ranks share a core, since who is to end a wait needs as many times longer to have one,
// and whoever looks in vain takes it.
func backoffOf(size int) backoff {
	b := usualBackoff
	if share := shm.Share(size); share >= shm.Crowd {
		b.short, b.long = b.short*time.Duration(share), b.long*time.Duration(share)
	}
	return b
}

// usualBackoff are the sleeps of links whose LinkOptions say nothing of them.
var usualBackoff = backoff{reportTime, longestSleep}

// longestSleep is how long somebody sleeps at most whom nobody wakes.
const longestSleep = 100 * time.Millisecond
