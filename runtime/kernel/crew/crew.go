// Package crew has the cores that no rank of a job needs help one that has more work than
// one core's.
//
//	w.Split(len(dst), least, func(lo, hi int) { f(dst[lo:hi], x[lo:hi]) })
//
// Terms:
//
//   - Workers are such cores: a job has as many as are left when each of its ranks has one.
//   - Helpers are goroutines that run on workers which a call has taken, and who look for the
//     next call's tasks before they end.
//   - The crew of a call is its helpers and the goroutine that called.
//
// No result depends on how many they are: parts and tasks are made each for itself.
package crew

import (
	goruntime "runtime"
	"sync/atomic"
	"time"
)

// Workers are the cores that no rank of a job needs. Calls that have work for
// more than one core take what is free, and give it back before they return.
// The zero value and nil have none. Results do not depend on Workers.
type Workers struct{ free atomic.Int64 }

// NewWorkers returns n workers, none if n is negative.
func NewWorkers(n int) *Workers {
	w := &Workers{}
	w.free.Store(int64(max(n, 0)))
	return w
}

// take takes up to n workers and returns how many it got.
func (w *Workers) take(n int) int {
	if w == nil || n <= 0 {
		return 0
	}
	for {
		free := w.free.Load()
		got := min(free, int64(n))
		if got <= 0 {
			return 0
		}
		if w.free.CompareAndSwap(free, free-got) {
			return int(got)
		}
	}
}

// give gives back n workers.
func (w *Workers) give(n int) {
	if n > 0 {
		w.free.Add(int64(n))
	}
}

// A Crew is the goroutine that called and helpers, for one call. The zero value has none.
type Crew struct {
	workers *Workers
	helpers int
}

// Hire returns a crew of at most n, the caller included.
func (w *Workers) Hire(n int) Crew { return Crew{w, w.take(n - 1)} }

// Of returns a crew with helpers that nobody has lent: tests and benchmarks say how many.
func Of(helpers int) Crew { return Crew{helpers: helpers} }

// Dismiss gives the helpers back.
func (c Crew) Dismiss() { c.workers.give(c.helpers) }

// Size returns the number of goroutines.
func (c Crew) Size() int { return c.helpers + 1 }

// partsEach is how many parts of a range each of a crew has: one that is late leaves some to
// the others, and few are large enough to be stored past the caches.
const partsEach = 2

// Split runs f on parts of range n, on the goroutine that calls and on workers that are
// free, and returns when all are done. Parts but the last are multiples of least. It runs f
// once, on all of the range, where there are no two parts or nobody is free.
func (w *Workers) Split(n, least int, f func(lo, hi int)) {
	c := w.Hire(n / least)
	defer c.Dismiss()
	if c.Size() == 1 {
		f(0, n)
		return
	}
	part := (max(n/(partsEach*c.Size()), 1) + least - 1) / least * least
	c.Do((n+part-1)/part, func(i int) { f(i*part, min((i+1)*part, n)) })
}

// Do runs f for each task in range n, each goroutine taking the next one that
// nobody has taken. It returns when all are done: a helper that comes too late
// finds none left. A panic of a helper is raised in the caller.
func (c Crew) Do(n int, f func(task int)) {
	helpers := min(c.helpers, n-1)
	if helpers <= 0 {
		for i := range n {
			f(i)
		}
		return
	}
	b := &batch{f: f, n: int64(n)}
	for range helpers {
		callHelper(b)
	}
	defer func() {
		b.close()
		if r := b.failed.Load(); r != nil {
			panic(*r)
		}
	}()
	b.work()
}

// A batch is the tasks of one call of Do.
type batch struct {
	f      func(task int)
	n      int64
	next   atomic.Int64 // the first task that nobody has taken, from n on none
	busy   atomic.Int64 // helpers that take tasks or look for one
	failed atomic.Pointer[any]
}

// work does tasks until there are no more.
func (b *batch) work() {
	for i := b.next.Add(1) - 1; i < b.n; i = b.next.Add(1) - 1 {
		b.f(int(i))
	}
}

// help is work of a helper.
func (b *batch) help() {
	b.busy.Add(1)
	defer func() {
		if r := recover(); r != nil {
			b.failed.Store(&r)
		}
		b.busy.Add(-1)
	}()
	b.work()
}

// close waits until no helper has a task. No other task is begun: whoever had
// one counted as busy before it took it.
func (b *batch) close() {
	b.next.Add(b.n)
	for i := 0; b.busy.Load() > 0; i++ {
		switch {
		case i < patience:
			pause()
		case i < 2*patience:
			goruntime.Gosched()
		default: // the system has taken the helper's core away
			time.Sleep(20 * time.Microsecond)
		}
	}
}
