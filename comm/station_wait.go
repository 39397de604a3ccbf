package comm

import (
	"context"
	goruntime "runtime"
	"time"
)

// A watcher is a wait in progress at a station.
type watcher struct {
	program bool    // whether the rank itself waits, and not a call that goes on beside it
	id      int     // the number of the wait among those of the rank itself
	what    callKey // the call whose members are missing, or zero for a message
	all     []int   // the members of the group
	missing func() []int
	over    func() (bool, error) // whether the wait is over, and how
	place   func() place
	wake    chan struct{}
	verdict *DeadlockError // for a message
	held    bool           // for a message: whether only the supervisor may end it
	told    bool           // whether the supervisor has heard of it
	left    bool           // whether a context has ended it
	piece   bool           // whether it is for a piece of data in a lane
	own     bool           // whether it is on the rank's goroutine
	bell    bell           // to be rung as well, where memory is shared
	cables  *cables        // to be roused as well; nil if there are none
}

// A place is where a rank is: its call and its line.
type place struct{ function, text, where string }

// signal makes w look again.
func (w *watcher) signal() {
	w.poke()
	if w.bell.rung != nil {
		w.bell.ring()
	}
	if w.cables != nil {
		w.cables.rouse()
	}
}

// drain takes in what has come through shared memory.
func (st *station) drain() {
	if st.shared != nil {
		st.shared.drain(st)
	}
}

// signal lets all look again who wait for the call of key.
func (st *station) signal(key callKey) {
	for w := range st.watchers {
		if w.what == key {
			w.signal()
		}
	}
}

// signalPieces lets those look again who wait for pieces and do not sleep where
// the bell wakes them.
func (st *station) signalPieces() {
	st.mu.Lock()
	defer st.mu.Unlock()
	for w := range st.watchers {
		if w.piece && !w.own {
			w.poke()
		}
	}
}

func (st *station) signalAll() {
	for w := range st.watchers {
		w.signal()
	}
}

// poke is signal for a watcher that does not sleep where the bell wakes it.
func (w *watcher) poke() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// wakeFor lets all look again who wait for the call of key.
func (st *station) wakeFor(key callKey) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.signal(key)
}

// await returns when w is over, ctx ends, or the fabric is closed. While w is
// a wait of the rank itself, the supervisor knows of it.
func (st *station) await(ctx context.Context, w *watcher) error {
	w.wake = make(chan struct{}, 1)
	if st.shared != nil {
		w.bell = st.shared.bell
	}
	w.cables = st.cables // before others know of w
	st.begin(w)
	defer st.finish(w)
	if st.cables != nil {
		if st.shared == nil && (w.program || w.own) {
			return st.cables.await(ctx, st, w)
		}
		st.cables.heed()
		defer st.cables.unheed()
	}
	if st.shared != nil {
		if w.program || w.own {
			return st.shared.await(ctx, st, w)
		}
		if st.shared.aside.Add(1) == 1 {
			w.bell.alarm() // for the listener to heed it
		}
		defer st.shared.aside.Add(-1)
	}
	if st.polled != nil && (w.program || w.own) {
		if over, err := st.polled.await(st, w); over {
			return err
		}
	}
	for range 2 { // it may take no more than letting the others run
		if over, err := st.look(w, false); over {
			return err
		}
		goruntime.Gosched()
	}
	var patience <-chan time.Time
	tell := !st.apart
	if st.apart {
		timer := time.NewTimer(reportTime)
		defer timer.Stop()
		patience = timer.C
	}
	for {
		if over, err := st.look(w, tell); over {
			return err
		}
		select {
		case <-w.wake:
		case <-patience:
			tell = true
		case <-ctx.Done():
			w.left = true
			return context.Cause(ctx)
		case <-st.fabric.ctx.Done():
			return errClosed
		}
	}
}

// reportTime is how long a rank waits before it lets a supervisor in another
// process know: most waits end sooner, and a report costs more than they do.
const reportTime = time.Millisecond

// begin makes w one of the watchers.
func (st *station) begin(w *watcher) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.watchers[w] = true
	if w.program {
		st.waits++
		w.id = st.waits
		st.wait = w
	}
}

// finish makes w a watcher no more.
func (st *station) finish(w *watcher) {
	st.mu.Lock()
	defer st.mu.Unlock()
	delete(st.watchers, w)
	if w.program {
		st.wait = nil
	}
	if w.told {
		st.report(&report{kind: reportRuns, wait: w.id})
	}
}

// look reports whether w is over. If not, and tell is set, it lets the
// supervisor know for whom the rank waits.
func (st *station) look(w *watcher, tell bool) (bool, error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	over, err := w.over()
	if !over && tell && w.program {
		st.tell(w)
	}
	return over, err
}

// tell lets the supervisor know for whom the rank waits in w, if for anyone:
// not while a failure is on its way, which may end the wait.
func (st *station) tell(w *watcher) {
	missing := w.missing()
	switch {
	case len(missing) > 0 && len(st.endings) == 0:
		received := make([]int, len(missing))
		for i, m := range missing {
			received[i] = st.received[m]
		}
		st.report(&report{
			kind: reportWaits, wait: w.id, heard: st.heard, what: w.what,
			waits: missing, all: w.all, received: received, sent: st.sent,
		})
		w.told = true
	case w.told:
		st.report(&report{kind: reportRuns, wait: w.id})
		w.told = false
	}
}

// answer tells the supervisor where the rank is in a call, or in a wait. A wait
// that is part of a deadlock is held from here on: another rank of the deadlock
// may hear of it first, go on, and send what this one no longer is to receive.
func (st *station) answer(v *verdict) {
	r := &report{kind: reportNone, question: v.question}
	var find func() place
	switch {
	case v.wait != 0 && st.wait != nil && st.wait.id == v.wait:
		st.wait.held = st.wait.held || v.kind == verdictHold
		find = st.wait.place
	case v.wait == 0 && st.known(v.what) != nil:
		find = st.known(v.what).place
	}
	if find != nil {
		p := find()
		r.kind, r.function, r.text, r.where = reportAnswer, p.function, p.text, p.where
	}
	st.report(r)
}

// release lets a wait end after all.
func (st *station) release(v *verdict) {
	if st.wait != nil && st.wait.id == v.wait {
		st.wait.held = false
		st.wait.signal()
	}
}

// naps say how long who waits sleeps at most before it looks again, though nobody
// has woken it: for a short nap until the wait is long enough to be reported, and
// for a long one from then on.
type naps struct{ short, long time.Duration }

// usualNaps are the naps of links whose LinkOptions say nothing of them.
var usualNaps = naps{reportTime, longestNap}

// longestNap is how long somebody sleeps at most whom nobody wakes.
const longestNap = 100 * time.Millisecond

// nap is the rest of an await that sleeps: it calls once, which looks and then
// sleeps for a nap at most, until that tells how the wait has ended. Whatever
// ends the wait from outside calls alarm. tell says that once is to let the
// supervisor know, before a long nap.
func (st *station) nap(ctx context.Context, alarm func(), once func(nap time.Duration, tell bool) (over bool, err error)) error {
	defer context.AfterFunc(ctx, alarm)()
	defer context.AfterFunc(st.fabric.ctx, alarm)()
	for start, nap := time.Now(), st.naps.short; ; {
		if over, err := once(nap, nap == st.naps.long); over {
			return err
		}
		if nap != st.naps.long && time.Since(start) >= nap {
			nap = st.naps.long
		}
	}
}

// ends looks whether w is over, or the wait for it ends for another reason. tell
// is that of look.
func (st *station) ends(ctx context.Context, w *watcher, tell bool) (over bool, err error) {
	if over, err := st.look(w, tell); over {
		return true, err
	}
	switch {
	case ctx.Err() != nil:
		w.left = true
		return true, context.Cause(ctx)
	case st.fabric.ctx.Err() != nil:
		return true, errClosed
	}
	return false, nil
}
