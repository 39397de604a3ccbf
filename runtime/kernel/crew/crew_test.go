package crew

import (
	goruntime "runtime"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
)

// What one call has taken no other has, and all is given back.
func TestWorkersAreShared(t *testing.T) {
	w := NewWorkers(3)
	a, b, c := w.Hire(3), w.Hire(3), w.Hire(3)
	if a.helpers != 2 || b.helpers != 1 || c.helpers != 0 {
		t.Errorf("three calls that want 2 of 3 workers got %d, %d and %d, want 2, 1 and 0", a.helpers, b.helpers, c.helpers)
	}
	b.Dismiss()
	if d := w.Hire(1); d.helpers != 0 {
		t.Errorf("a call for one goroutine got %d helpers", d.helpers)
	}
	a.Dismiss()
	c.Dismiss()
	if got := w.Hire(10); got.helpers != 3 {
		t.Errorf("when all are back a call gets %d helpers, want 3", got.helpers)
	}
	if got := (*Workers)(nil).Hire(2); got.helpers != 0 {
		t.Errorf("no Workers gave %d helpers", got.helpers)
	}
	if got := NewWorkers(-1).Hire(2); got.helpers != 0 {
		t.Errorf("fewer than no Workers gave %d helpers", got.helpers)
	}
}

// Every task is done once, and helpers end when they have waited for more in vain.
func TestCrewDoesAll(t *testing.T) {
	for helpers := range 4 {
		for tasks := range 20 {
			done := make([]atomic.Int32, tasks)
			Of(helpers).Do(tasks, func(i int) { done[i].Add(1) })
			goleak.VerifyNone(t)
			for i := range done {
				if n := done[i].Load(); n != 1 {
					t.Errorf("%d helpers, %d tasks: task %d was done %d times", helpers, tasks, i, n)
				}
			}
		}
	}
}

// The parts of a range have each of its elements once, and begin at multiples of the least.
func TestSplit(t *testing.T) {
	for workers := range 4 {
		for _, n := range []int{0, 1, 2, 3, 7, 8, 15, 16, 17, 64, 1000} {
			for _, least := range []int{1, 8} {
				testSplit(t, workers, n, least)
			}
		}
	}
	goleak.VerifyNone(t)
}

func testSplit(t *testing.T, workers, n, least int) {
	done := make([]atomic.Int32, n)
	NewWorkers(workers).Split(n, least, func(lo, hi int) {
		if lo%least != 0 || hi-lo < least && hi != n {
			t.Errorf("%d workers, %d elements, %d at least: a part from %d to %d", workers, n, least, lo, hi)
		}
		for i := lo; i < hi; i++ {
			done[i].Add(1)
		}
	})
	for i := range done {
		if times := done[i].Load(); times != 1 {
			t.Errorf("%d workers, %d elements, %d at least: element %d was done %d times", workers, n, least, i, times)
		}
	}
}

// A helper that has waited for a call of Do works for the next one, and both do all
// their tasks.
func TestHelperStays(t *testing.T) {
	var done atomic.Int32
	for range 100 {
		Of(2).Do(20, func(int) { done.Add(1) })
		helpers.Lock()
		if n, most := helpers.live, goruntime.GOMAXPROCS(0); n > most || len(helpers.idle) > n {
			t.Errorf("%d helpers, of which %d look for tasks, want at most %d", n, len(helpers.idle), most)
		}
		helpers.Unlock()
	}
	if n := done.Load(); n != 100*20 {
		t.Errorf("100 calls of 20 tasks: %d were done", n)
	}
	goleak.VerifyNone(t)
	helpers.Lock()
	defer helpers.Unlock()
	if helpers.live != 0 {
		t.Errorf("%d helpers count when all have ended", helpers.live)
	}
}

// A panic in any goroutine reaches the caller when the others have ended.
func TestCrewPanics(t *testing.T) {
	for task := range 8 {
		func() {
			defer func() {
				if r := recover(); r != task {
					t.Errorf("task %d: recovered %v", task, r)
				}
				goleak.VerifyNone(t)
			}()
			Of(2).Do(8, func(i int) {
				if i == task {
					panic(i)
				}
			})
		}()
	}
}
