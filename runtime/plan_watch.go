package runtime

import (
	"time"

	"tpsh/runtime/hardware"
	"tpsh/runtime/op"
	"tpsh/runtime/plan"
)

// A Watch times the operations of a rank, each by itself, in a program that runs: those that a plan
// of it has. It is for calibration. The time that it takes itself is in none of them.
type Watch struct {
	On  bool // operations are noted; to be set while no program runs
	All []Watched

	rank  *Rank
	base  time.Time
	begun int64  // when All was last empty
	steps uint64 // of the interpreter, until then
	views int    // since then
	bytes float64
}

// A Watched is an operation that has run.
type Watched struct {
	Operation plan.Operation
	Hosting   hardware.Hosting // what the host has done before it
	Host, Ran float64          // seconds of that, and of the operation

	begin, noted int64 // when the operation began, and when it had been noted
}

// Watch has the rank's operations be measured from now on.
func (r *Rank) Watch() *Watch {
	w := &Watch{rank: r, base: time.Now()}
	r.ops.Timed = w
	r.ops.Placed = func() { w.views++ }
	return w
}

// Now implements op.Timer, in nanoseconds.
func (w *Watch) Now() int64 { return int64(time.Since(w.base)) }

// Ran implements op.Timer.
func (w *Watch) Ran(c *op.Call, begin int64) {
	end, r := w.Now(), w.rank
	if !w.On || r.quiet {
		return
	}
	o, ok := r.operationOf(c)
	if !ok {
		w.views++
		return
	}
	how, steps := r.manner(), r.instructions()
	h := hardware.Hosting{Views: float64(w.views), Operation: true, Placed: how.Placed, Recorded: how.Recorded, Backward: r.Phase() == Backward, Touched: w.bytes}
	if steps >= w.steps {
		h.Instructions = float64(steps - w.steps)
	}
	n := len(w.All)
	for n > 0 && w.All[n-1].begin >= begin { // a part of this one
		n--
		h.Instructions, h.Touched = h.Instructions+w.All[n].Hosting.Instructions, w.All[n].Hosting.Touched
	}
	w.All = w.All[:n]
	last := w.begun
	if n > 0 {
		last = w.All[n-1].noted
	}
	w.steps, w.views, w.bytes = steps, 0, o.Bytes
	w.All = append(w.All, Watched{o, h, float64(begin-last) / 1e9, float64(end-begin) / 1e9, begin, w.Now()})
}

// Take returns the operations noted since it was last called.
func (w *Watch) Take() []Watched {
	all := w.All
	w.All, w.views, w.begun = nil, 0, w.Now()
	return all
}

// instructions returns how many of them the interpreter has carried out.
func (r *Rank) instructions() uint64 {
	if r.Instructions == nil {
		return 0
	}
	return r.Instructions()
}
