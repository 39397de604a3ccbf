package lang

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	goruntime "runtime"

	"go.starlark.net/starlark"

	"tpsh/internal/allowance"
)

// A Watch holds the programs of a process to a number of bytes, which the values
// of the interpreter and the storage that Outside counts use together. It looks at the heap
// every few milliseconds; where processes share cores, it does so less often while nothing grows.
//
// When the reachable part goes beyond the limit, it ends the programs, each at its line. A program
// that is within one call of a builtin function, which no cancellation reaches, is reported where it
// is and left behind; if it then goes on filling memory, the process ends.
//
// A nil Watch watches nothing.
type Watch struct {
	// Limit is the number of bytes that may be in use.
	Limit int
	// Outside returns the bytes of tensors that lie outside the collector's heap.
	Outside func() int
	// Text names the limit, as "memory limit of 512 MiB reached".
	Text string
	// Scarce, if set, reports whether the machine lacks memory. While it does not, no program is
	// ended: to go beyond a limit that nobody asked for hurts nobody then.
	Scarce func() bool
	// Sharing is how many processes like this one there are for each core; 0 is one.
	Sharing int
	// Room, if set, returns the bytes that the machine has left beyond Reserve: less than 0 if
	// others need what there is. One value alone may take no more than that. Without it, one value
	// may take Limit.
	Room    func() int
	Reserve int
	// Parts is how many processes share what Room returns; 0 is one.
	Parts int
	// GiveBack, if set, collects what nobody can reach, and gives the machine back what is not in
	// use of the collector's heap and of what Outside counts.
	GiveBack func()

	mu     sync.Mutex // holds all below but many
	runs   map[*watched]bool
	base   int           // bytes of the heap before the first program
	part   int           // the bytes that there were for this process then
	soft   int64         // the bytes near which the collector runs by itself
	over   time.Time     // when the programs were ended for their memory, or zero
	heeded bool          // one of them has stopped since
	used   int           // bytes in use at the last look
	full   time.Time     // when the last collection that was asked for ended
	took   time.Duration // how long that took
	left   int           // bytes that the machine had left then
	many   atomic.Bool   // whether it was so much that programs look ahead

	reached   chan int      // gets what is reachable when the collection that was asked for ends; nil without one
	collected chan struct{} // closed when it has ended
	idle      chan struct{} // closed when there are no more runs
}

// A watched is a run on a thread.
type watched struct {
	s      *server
	j      *job
	thread *starlark.Thread
	told   bool // the front end was told that it has ended
}

const (
	// watchEvery is the time between looks at the heap, and watchSeldom the longest between
	// those of many processes, which grow more slowly the more of them there are.
	// watchClosely is that where there is little room.
	watchEvery   = 5 * time.Millisecond
	watchSeldom  = 100 * time.Millisecond
	watchClosely = time.Millisecond
	// heapSlack is how much a process may have beside the memory it had before its programs:
	// the collector's own, buffers of messages, stacks. On a small machine it is less.
	heapSlack = 16 << 20
	// stuckAfter is how long a program may take to heed that it is ended, and urgentAfter how long
	// if it goes on filling memory meanwhile.
	stuckAfter  = 400 * time.Millisecond
	urgentAfter = 50 * time.Millisecond
	// endsWithin is how long a program that has heeded it may take to tell its end, which
	// a collection of what it has left may hold up.
	endsWithin = 10 * time.Second
	// giveBackTakes is about how long other processes take to give back what they do not need.
	giveBackTakes = 20 * time.Millisecond
)

// begin watches a run until end is called.
func (w *Watch) begin(s *server, j *job, t *starlark.Thread) (end func()) {
	if w == nil || w.Limit <= 0 {
		return func() {}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.runs == nil {
		w.runs = map[*watched]bool{}
		w.base, w.left = int(heapBytes()), math.MaxInt
		w.share()
		debug.SetMemoryLimit(w.soft)
	}
	run := &watched{s: s, j: j, thread: t}
	w.runs[run] = true
	if len(w.runs) == 1 {
		w.idle = make(chan struct{})
		w.reached = nil // it is of programs before
		go w.watch(w.idle)
	}
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.runs, run)
		if !w.over.IsZero() && len(w.runs) > 0 {
			w.heeded = true
			w.collect(w.giveBack) // no other is to end for what this one had
		}
		if len(w.runs) == 0 {
			close(w.idle)
			if !w.over.IsZero() {
				w.over = time.Time{}
				debug.SetMemoryLimit(w.soft)
			}
		}
	}
}

// leastPart is for how many bytes the collector leaves a program alone, however little there is.
const leastPart = 4 << 20

// share finds what part of the memory that is left is for this process. Near to that part, as near
// to the limit, the collector runs by itself: it knows which part of its memory is reachable, and
// the machine does not. w.mu is held.
func (w *Watch) share() {
	w.part, w.soft = w.Limit, w.most()
	if w.Room != nil {
		w.part = min(w.Limit, max(w.Room()/max(w.Parts, 1), leastPart))
		w.soft = min(w.soft, int64(allowance.Mapped())+int64(w.part))
	}
}

// watch looks at the heap until there are no runs.
func (w *Watch) watch(idle <-chan struct{}) {
	every := watchEvery
	timer := time.NewTimer(every)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			w.mu.Lock()
			before := w.used
			w.look()
			every = w.next(every, w.used-before)
			w.mu.Unlock()
			timer.Reset(every)
		case <-idle:
			return
		}
	}
}

// quiet is by how many bytes what is used grows between looks where nothing grows.
const quiet = 1 << 20

// next returns the time until the next look, given the time before the last one and how many bytes
// more were in use then. w.mu is held.
func (w *Watch) next(every time.Duration, grown int) time.Duration {
	if w.isClose() {
		return watchClosely
	}
	if grown > quiet || !w.over.IsZero() {
		return watchEvery
	}
	return max(watchEvery, min(2*every, time.Duration(w.Sharing)*watchEvery, watchSeldom))
}

// look ends the programs if they use too much. w.mu is held.
func (w *Watch) look() {
	if len(w.runs) == 0 || !w.exceeds() {
		return
	}
	switch {
	case w.over.IsZero():
		if w.end(); w.nothingLeft() {
			w.leave()
		}
	case time.Since(w.over) > stuckAfter || w.urgent():
		w.leave()
	}
}

// end ends the programs. w.mu is held.
func (w *Watch) end() {
	w.over, w.heeded = time.Now(), false
	debug.SetMemoryLimit(math.MaxInt64) // a process that has to end needs no collections on the way
	for run := range w.runs {
		run.j.cancel(&stopError{Reason: stopMemory, Text: w.Text})
		run.thread.Cancel(w.Text)
	}
}

// HardLimit returns the bytes of the collector's heap and of tensors with which a
// process ends at once, whatever its programs are in: of a limit that was asked for
// twice as much, and the memory that a process may take that is about to end.
func (w *Watch) HardLimit() int { return 2*w.Limit + 256<<20 }

// urgent reports whether programs that were ended fill the memory that others need,
// and have had a moment to stop: none where they are about to be killed. w.mu is held.
func (w *Watch) urgent() bool {
	since := time.Since(w.over)
	return since > urgentAfter && (w.used > w.HardLimit() || w.left <= 0) || since >= watchClosely && w.nothingLeft() && !w.heeded
}

// admit returns an error if there is no room for one value of so many bytes, and
// ends the programs then. -1 is more than can be told.
func (w *Watch) admit(bytes int) error {
	if w == nil || w.Limit <= 0 || 0 <= bytes && bytes < w.slack() || w.holds(bytes) {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over.IsZero() {
		w.end()
	}
	return errors.New(cancelledPrefix + w.Text) // as the interpreter says it
}

// admitGrowth ends the programs if there is no room for a value that is to grow. bytes returns how
// many it takes at most, given how many of the heap are in use.
func (w *Watch) admitGrowth(bytes func(heap int) int) {
	if w == nil || w.Limit <= 0 {
		return
	}
	if n := bytes(int(heapBytes())); n < w.slack() || n <= w.Limit && (w.Room == nil || n <= w.Room()) {
		return
	}
	w.giveBack()
	w.admit(bytes(int(heapBytes())))
}

// holds reports whether there is room for so many bytes, if what nobody can reach any more is given
// back.
func (w *Watch) holds(bytes int) bool {
	if bytes < 0 || bytes > w.Limit {
		return false
	}
	if w.Room == nil || bytes <= w.Room() {
		return true
	}
	w.giveBack()
	for range min(w.Parts-1, 3) {
		if bytes <= w.Room() {
			return true
		}
		time.Sleep(giveBackTakes) // which give back theirs
	}
	return bytes <= w.Room()
}

// ending reports whether all programs have heeded their end, and have only to tell it.
// w.mu is held.
func (w *Watch) ending() bool {
	for run := range w.runs {
		if run.thread.CallStackDepth() > 0 {
			return false
		}
	}
	return true
}

// leave reports the programs that do not heed their end, and ends the process
// at a later look when that does not help. w.mu is held.
func (w *Watch) leave() {
	telling := false
	for run := range w.runs {
		if run.told || run.thread.CallStackDepth() == 0 { // the latter is ending
			continue
		}
		run.told, telling = true, true
		run.s.send(&message{Seq: run.j.seq, Done: &doneMsg{Failure: w.failureOf(run.thread)}})
	}
	since := time.Since(w.over)
	if telling || since < 4*stuckAfter && !w.urgent() || since < endsWithin && w.ending() {
		return
	}
	for run := range w.runs {
		fmt.Fprintf(os.Stderr, "tpsh: rank %d: %s %s\n", run.s.rank, w.Text, w.failureOf(run.thread).here())
	}
	os.Exit(StatusFailed)
}

// failureOf describes the end of a program that is within a call of a builtin
// function: its stack does not change meanwhile, and so can be read here.
func (w *Watch) failureOf(t *starlark.Thread) *Failure {
	f := &Failure{Kind: kindOther, Message: text(w.Text), Stop: stopMemory}
	f.setTrace(t.CallStack())
	f.Function = f.Within
	return f
}

// exceeds reports whether reachable memory goes beyond the limit, or beyond what the machine has left.
// Only a collection tells what is reachable, so exceeds asks for one and learns the result at a later
// look. Collections are so far apart that they take a quarter of the time at most, unless memory grows
// fast. Where the machine has nothing left, exceeds waits for none. w.mu is held.
func (w *Watch) exceeds() bool {
	most := int(w.most())
	outside := 0
	if w.Outside != nil {
		outside = w.Outside()
	}
	w.used = outside + int(heapBytes())
	w.many.Store(w.used-w.base > w.part/8)
	w.left = w.whatIsLeft()
	if w.reached != nil {
		select {
		case reachable := <-w.reached:
			w.reached = nil
			return outside+reachable > most || w.left <= 0
		default:
			return w.nothingLeft()
		}
	}
	switch ended := !w.over.IsZero(); {
	case w.nothingLeft(), w.left <= 0 && ended:
		return true
	case w.left <= 0, w.isClose() && w.mayCollect():
		w.collect(w.giveBack)
		return false
	case w.used <= most, w.Scarce != nil && !w.Scarce():
		return false
	case ended:
		return true
	}
	if w.used >= most+most/2 || w.mayCollect() {
		w.collect(goruntime.GC)
	}
	return false
}

// nothingLeft reports whether others need so much of what there is that no collection can be waited
// for. w.mu is held.
func (w *Watch) nothingLeft() bool { return w.left <= -w.Reserve/2 }

// giveBack gives the memory that nobody can reach, and what is kept for later, back to the machine.
func (w *Watch) giveBack() {
	if w.GiveBack != nil {
		w.GiveBack()
	} else {
		debug.FreeOSMemory()
	}
}

// whatIsLeft returns the bytes that the machine has left, if this process uses a good part of what there
// was for it: to end the programs of another would leave no more. w.mu is held.
func (w *Watch) whatIsLeft() int {
	if w.Room == nil || w.used-w.base <= w.part/2 {
		return math.MaxInt
	}
	return w.Room()
}

// closeBy is up to how many bytes a process may fill in a few looks.
const closeBy = 128 << 20

// isClose reports whether there was little left at the last look. w.mu is held.
func (w *Watch) isClose() bool { return w.left < min(w.part/2, closeBy) }

// mayCollect reports whether the last collection is so long ago that another may begin. w.mu is held.
func (w *Watch) mayCollect() bool { return time.Since(w.full) >= 4*w.took }

// collect begins a collection, of which w.reached tells what it has found reachable. w.mu is held.
func (w *Watch) collect(run func()) {
	reached, over := make(chan int, 1), make(chan struct{})
	w.reached, w.collected = reached, over
	go func() {
		began := time.Now()
		run()
		reachable := int(heapBytes())
		w.mu.Lock()
		defer w.mu.Unlock()
		w.full = time.Now()
		w.took = w.full.Sub(began)
		reached <- reachable
		close(over)
	}()
}

// awaitCollection has a program wait, if there is little memory left, until the collection that was
// asked for last has found which part of it is reachable.
func (w *Watch) awaitCollection() {
	w.mu.Lock()
	over, near := w.collected, w.isClose()
	w.mu.Unlock()
	if near && over != nil {
		<-over
	}
}

// most returns how many bytes the process may use.
func (w *Watch) most() int64 { return int64(w.base) + int64(w.Limit) + int64(w.slack()) }

// slack returns how many bytes nobody asks for.
func (w *Watch) slack() int {
	if w.Room == nil {
		return heapSlack
	}
	return min(heapSlack, w.Limit/64)
}

// heapBytes returns the bytes of the collector's heap that hold values, reachable
// or not yet known to be unreachable.
func heapBytes() uint64 {
	sample := [...]metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample[:])
	return sample[0].Value.Uint64()
}

// otherRank returns err. But if the run was ended for its memory while its rank waited for
// others, it returns that the rank was stopped on their account.
func otherRank(ctx context.Context, err error, size int) error {
	var stop *stopError
	if size == 1 || err == nil || !errors.As(context.Cause(ctx), &stop) || stop.Reason != stopMemory {
		return err
	}
	if e := deepest(err); e == nil || strings.HasPrefix(e.Msg, cancelledPrefix) {
		return err
	}
	return &located{&stopError{Reason: stopPeer, Text: "stopped: " + stop.Text}, deepest(err)}
}
