package mpi

import (
	"fmt"
	goruntime "runtime"
	"time"
)

const (
	// spinning is for how long after something has happened one looks again
	// without a pause, and moving for how long while something is under way,
	// which moves only when MPI is called.
	spinning = 50 * time.Microsecond
	moving   = 5 * time.Millisecond
	// idleShare is the part of the time for which nothing has happened that the
	// owner then sleeps, and longestSleep and shortestSleep bound it.
	idleShare     = 50
	shortestSleep = 5 * time.Microsecond
	longestSleep  = time.Millisecond
	// looked is for how long the owner leaves the looking to others who look.
	looked      = 50 * time.Microsecond
	lookedSleep = 200 * time.Microsecond
	// atOnce is how many messages are taken in before others have their turn.
	atOnce = 16
)

// drive moves on what is under way until the world ends, and then leaves MPI.
// It is the owner's.
func (w *World) drive() {
	for !w.ended.Load() {
		if w.wanted.Load() > 0 {
			w.bell.yield()
			continue
		}
		w.mu.Lock()
		happened := w.advance()
		w.mu.Unlock()
		if !happened {
			w.rest()
		}
	}
	w.end = w.leave()
	close(w.done)
}

// rest lets some time pass before the owner looks again.
func (w *World) rest() {
	now, limit := time.Since(w.start), spinning
	idle := now - time.Duration(w.active.Load())
	if w.busy.Load() {
		limit = moving
	}
	switch {
	case now-time.Duration(w.looked.Load()) < looked:
		w.bell.sleep(lookedSleep)
	case idle < limit:
		w.bell.yield()
	default:
		w.bell.sleep(min(max(idle/idleShare, shortestSleep), longestSleep))
	}
}

// stir notes that something has happened.
func (w *World) stir() { w.active.Store(w.now()) }

// now returns the time in ns after start.
func (w *World) now() int64 { return int64(time.Since(w.start)) }

// look moves on what is under way, unless somebody else does just now. It is
// for those who wait for something.
func (w *World) look() {
	w.looked.Store(w.now())
	if w.mu.TryLock() {
		w.advance()
		w.mu.Unlock()
	}
}

// advance ends what has ended and takes in what has come. It reports whether
// there was any. The caller holds mu.
func (w *World) advance() (happened bool) {
	if w.err != nil {
		return false
	}
	happened = w.testAll()
	for range atOnce {
		a, found, err := w.engine.probe(chat)
		if err != nil {
			w.fail(err)
			return true
		}
		if !found {
			break
		}
		happened = true
		w.arrive(a)
	}
	if happened {
		w.stir()
	}
	return happened
}

// testAll ends what has ended.
func (w *World) testAll() (happened bool) {
	left := 0
	for i := 0; i < len(w.pending); i++ { // the list may grow meanwhile
		o := w.pending[i]
		done, n, err := w.engine.test(o.request)
		if !done && err == nil {
			w.pending[left] = o
			left++
			continue
		}
		happened = true
		o.pins.Unpin()
		o.finish(n, err)
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
	if w.err != nil {
		o.pins.Unpin()
		o.finish(0, w.err)
		return
	}
	r, err := start()
	if err != nil {
		o.pins.Unpin()
		o.finish(0, err)
		w.fail(err)
		return
	}
	o.request = r
	w.stir()
	done, n, err := w.engine.test(r)
	if !done && err == nil {
		w.pending = append(w.pending, o)
		w.busy.Store(true)
		return
	}
	o.pins.Unpin()
	o.finish(n, err)
	if err != nil {
		w.fail(err)
	}
}

// arrive begins to receive a message of a stream. The caller holds mu.
func (w *World) arrive(a arrival) {
	if a.from < 0 || a.from >= w.size || a.from == w.rank || a.tag < 0 || a.tag > farewell || a.bytes < 0 || a.bytes > messageMost {
		w.fail(fmt.Errorf("mpi: got a message of rank %d with tag %d and %d bytes, want one of another rank of %d, a tag of 0..%d and at most %d bytes",
			a.from, a.tag, a.bytes, w.size, farewell, messageMost))
		return
	}
	if a.tag == farewell {
		w.takeFarewell(chat, a.from)
		return
	}
	s := w.stream(streamKey{a.from, a.tag})
	o := &operation{}
	b := w.memory.get(a.bytes)
	if !small(b) {
		o.hold(b)
	}
	o.then = func(n int, err error) { s.settle(err) }
	s.expect(o, b)
	w.begin(o, func() (request, error) { return w.engine.receive(chat, a.from, a.tag, b) })
}

// wait waits until an operation has ended, or the channel is closed. Who waits
// moves it on: large messages move only when MPI is called.
func (w *World) wait(o *operation, closed <-chan struct{}) {
	for begun := w.now(); !o.over.Load() && w.now()-max(begun, w.active.Load()) < int64(moving); {
		w.look()
		goruntime.Gosched()
		w.bell.yield()
	}
	if !o.over.Load() {
		w.bell.ring()
		select {
		case <-o.wake:
		case <-closed:
		}
	}
}

// leave takes part in what the others still send until all ranks have come here,
// and finalises MPI. It is the owner's.
//
// Each rank's last message to each other says so. A barrier would not do: what a
// rank has sent before it may come after it, and for that nobody would be left.
func (w *World) leave() error {
	w.lock()
	w.draining = true
	w.cancelReceives()
	w.sayFarewell(chat)
	w.sayFarewell(bulk)
	w.mu.Unlock()
	w.drain(func() bool { return len(w.pending) == 0 && w.farewells == 2*(w.size-1) })
	w.lock()
	defer w.mu.Unlock()
	err := w.err
	w.fail(errClosed)
	if err == nil { // otherwise it might wait for ever
		err = w.engine.finalize()
	}
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
	o := &operation{then: func(int, error) { w.farewells++ }}
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

// drain drops what comes until something holds.
func (w *World) drain(over func() bool) {
	for idle := 0; ; idle++ {
		w.lock()
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
