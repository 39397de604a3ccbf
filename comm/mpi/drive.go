package mpi

import (
	goruntime "runtime"
	"time"
)

const (
	// moving is for how long while something is under way one looks again
	// without a long pause, since it moves only when MPI is called.
	moving = 100 * time.Millisecond
	// idleShare is the part of the time for which nothing has happened that the
	// owner then sleeps, and longestSleep and shortestSleep bound it.
	idleShare     = 16
	shortestSleep = 10 * time.Microsecond
	longestSleep  = time.Millisecond
	// lookedSleep is for how long the owner leaves polling to other goroutines that
	// have looked since it last did.
	lookedSleep = 300 * time.Microsecond
	// atOnce is how many messages are taken in before others have their turn.
	atOnce = 16
)

// drive moves on the operations under way until the world ends, and then leaves MPI.
// It is the owner's.
func (w *World) drive() {
	w.openSlots()
	for !w.ended.Load() {
		if looks := w.looks.Load(); looks != w.seen {
			w.seen = looks
			w.bell.sleep(lookedSleep)
			continue
		}
		w.mu.Lock()
		happened := w.advance()
		w.mu.Unlock()
		if happened {
			w.active = w.now()
		} else {
			w.rest()
		}
	}
	w.end = w.leave()
	close(w.done)
}

// rest lets some time pass before the owner looks again.
func (w *World) rest() {
	idle := w.now() - w.active
	limit := longestSleep
	if w.busy.Load() && idle < moving {
		limit = 2 * shortestSleep
	}
	w.bell.sleep(min(max(idle/idleShare, shortestSleep), limit))
}

// now returns the time after start.
func (w *World) now() time.Duration { return time.Since(w.start) }

// look moves on the operations under way, unless another goroutine does just now, and
// reports whether something has happened. It is for goroutines that wait for
// something.
func (w *World) look() (happened bool) {
	w.looks.Add(1)
	if w.mu.TryLock() {
		happened = w.advance()
		w.mu.Unlock()
	}
	return happened
}

// advance ends operations that have ended and takes in messages that have come. It reports whether
// there was any. The caller holds mu.
func (w *World) advance() (happened bool) {
	if w.err != nil || w.slots == nil {
		return false
	}
	happened = w.takeAll()
	if len(w.pending) > 0 {
		happened = w.testAll() || happened
	}
	if !happened && len(w.flights) > 0 {
		w.land(1)
	}
	return happened
}

// testAll ends operations that have ended. The caller holds mu.
func (w *World) testAll() (happened bool) {
	left := 0
	for i := 0; i < len(w.pending); i++ { // the list may grow meanwhile
		o := w.pending[i]
		done, a, err := w.engine.test(o.request)
		if !done && err == nil {
			w.pending[left] = o
			left++
			continue
		}
		happened = true
		o.pins.Unpin()
		o.finish(a.bytes, err)
		if err != nil {
			w.fail(err)
		}
	}
	if w.err != nil { // others may still be under way
		return happened
	}
	clear(w.pending[left:])
	w.pending = w.pending[:left]
	w.busy.Store(left > 0)
	return happened
}

// submit begins an operation of a stream, unless the world is closed. The caller
// holds mu.
func (w *World) submit(o *operation, start func() (request, error)) {
	if w.draining {
		o.pins.Unpin()
		o.finish(0, errClosed)
		return
	}
	w.begin(o, start)
}

// begin begins an operation, unless it ends at once. The caller holds mu.
func (w *World) begin(o *operation, start func() (request, error)) {
	err := w.err
	if err == nil {
		o.request, err = start()
		if err != nil {
			w.fail(err)
		}
	}
	if err != nil {
		o.pins.Unpin()
		o.finish(0, err)
		return
	}
	w.pending = append(w.pending, o)
	w.busy.Store(true)
}

// wait waits until an operation has ended, or the channel is closed. The waiting goroutine
// moves it on: large messages move only when MPI is called.
func (w *World) wait(o *operation, closed <-chan struct{}) {
	w.moveUntil(o.over.Load)
	if !o.over.Load() {
		w.bell.ring()
		select {
		case <-o.wake:
		case <-closed:
		}
	}
}

// moveUntil looks until something is so, or nothing has happened for a while.
func (w *World) moveUntil(over func() bool) {
	begun := w.now()
	for i := 1; !over(); i++ {
		if w.look() {
			begun = w.now()
			continue
		}
		if i%goYields == 0 {
			if w.now()-begun > moving {
				return
			}
			goruntime.Gosched()
		}
		w.bell.yield()
	}
}

// goYields is how many times other processes may run for one time that other
// goroutines may: that may wake a thread for them, which costs more.
const goYields = 32

// leave takes part in the messages that others still send until all ranks have come here,
// and finalises MPI. It is the owner's.
//
// Each rank's last message to each other says so. A barrier would not do: messages that a
// rank has sent before it may come after it, and nobody would be left for them.
func (w *World) leave() error {
	w.mu.Lock()
	w.draining = true
	w.cancelReceives()
	w.sayFarewell(chat)
	w.sayFarewell(bulk)
	w.mu.Unlock()
	w.drain(func() bool { return len(w.pending) == 0 && len(w.flights) == 0 && w.farewells == 2*(w.size-1) })
	w.mu.Lock()
	w.closeSlots()
	err := w.err
	w.fail(errClosed)
	w.mu.Unlock()
	close(w.parted)
	if err == nil { // otherwise it might wait for ever
		err = w.engine.finalize()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.release()
	return err
}

// release lets the memory go that MPI does not use any more.
func (w *World) release() {
	for _, o := range w.pending {
		o.pins.Unpin()
	}
	w.pending = nil
	w.memory.close()
}

// farewell is the tag of the last message of a rank to another in a circle.
const farewell = maxChannel + 1

// sayFarewell sends the last message of a circle to all other ranks. The caller
// holds mu.
func (w *World) sayFarewell(in circle) {
	for peer := range w.size {
		if peer != w.rank {
			w.begin(&operation{}, func() (request, error) { return w.engine.send(in, peer, farewell, nil) })
		}
	}
}

// takeFarewell receives the last message of a rank in a circle. The caller holds
// mu.
func (w *World) takeFarewell(in circle, from int) {
	o := &operation{then: func() { w.farewells++ }}
	w.begin(o, func() (request, error) { return w.engine.receive(in, from, farewell, nil) })
}

// cancelReceives ends the receives for which nothing has come.
func (w *World) cancelReceives() {
	for _, o := range w.pending {
		if o.posted {
			w.engine.cancel(o.request)
		}
	}
}

// drainLooks is how often drain looks in vain before it sleeps.
const drainLooks = 200

// drain drops messages until something holds.
func (w *World) drain(over func() bool) {
	for idle := 0; ; idle++ {
		w.mu.Lock()
		if over() || w.err != nil {
			w.mu.Unlock()
			return
		}
		if w.advance() || w.dropBlock() {
			idle = 0
		}
		w.mu.Unlock()
		if idle > drainLooks {
			w.bell.sleep(lookedSleep)
		}
	}
}

// dropBlock receives a block that nobody will read, and reports whether there
// was one.
func (w *World) dropBlock() bool {
	a, found, err := w.engine.probe(bulk)
	if err != nil {
		w.fail(err)
	}
	if !found {
		return false
	}
	if a.tag == farewell {
		w.takeFarewell(bulk, a.from)
		return true
	}
	o, b := &operation{}, make([]byte, a.bytes)
	o.hold(b)
	w.begin(o, func() (request, error) { return w.engine.receive(bulk, a.from, a.tag, b) })
	return true
}
