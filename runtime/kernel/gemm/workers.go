package gemm

import (
	"sync"
	"sync/atomic"
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

// A crew is the goroutine that called and helpers, for one call.
type crew struct {
	workers *Workers
	helpers int
}

// hire returns a crew of at most n, the caller included.
func (w *Workers) hire(n int) crew { return crew{w, w.take(n - 1)} }

// dismiss gives the helpers back.
func (c crew) dismiss() { c.workers.give(c.helpers) }

// size returns the number of goroutines.
func (c crew) size() int { return c.helpers + 1 }

// do runs f for each task in range n, each goroutine taking the next one that
// nobody has taken. It returns when all are done and all helpers have ended.
// A panic of a helper is raised in the caller.
func (c crew) do(n int, f func(task int)) {
	helpers := min(c.helpers, n-1)
	if helpers <= 0 {
		for i := range n {
			f(i)
		}
		return
	}
	var (
		next   atomic.Int64
		failed atomic.Pointer[any]
		ended  sync.WaitGroup
	)
	work := func() {
		for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
			f(i)
		}
	}
	for range helpers {
		ended.Go(func() {
			defer func() {
				if r := recover(); r != nil {
					failed.Store(&r)
				}
			}()
			work()
		})
	}
	defer func() {
		ended.Wait()
		if r := failed.Load(); r != nil {
			panic(*r)
		}
	}()
	work()
}
