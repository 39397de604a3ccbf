package crew

import (
	goruntime "runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// To start a goroutine on a core that sleeps takes 20 to 120 µs, in which a core
// makes some ten million multiply-adds, and a product has two steps for helpers. So
// a helper that has no more tasks looks for others for a moment before it ends, as
// the threads of OpenMP do, and who waits for a helper's last task looks for its
// end.

// A helper is a goroutine that does tasks of calls of Do, one call after the other.
type helper struct{ batch atomic.Pointer[batch] }

// helpers are those of this process.
var helpers struct {
	sync.Mutex
	live int       // how many there are
	idle []*helper // those that look for a batch
}

// patience is how many pauses a helper looks for a batch before it ends, and who
// waits for one looks before it lets others run: about 100 µs.
const patience = 4000

// callHelper has a helper work on b: one that looks for a batch, or else a new one.
// There are no more than cores: where the system leaves them no time, whoever calls
// does the tasks.
func callHelper(b *batch) {
	helpers.Lock()
	defer helpers.Unlock()
	if last := len(helpers.idle) - 1; last >= 0 {
		helpers.idle[last].batch.Store(b)
		helpers.idle = helpers.idle[:last]
		return
	}
	if helpers.live < goruntime.GOMAXPROCS(0) {
		helpers.live++
		h := &helper{}
		h.batch.Store(b)
		go h.run()
	}
}

// run works on batches until none has come for a while.
func (h *helper) run() {
	for {
		h.batch.Swap(nil).help()
		helpers.Lock()
		helpers.idle = append(helpers.idle, h)
		helpers.Unlock()
		if !h.look() {
			return
		}
	}
}

// look waits for a batch, and reports whether one has come. If none has, h is no
// more.
func (h *helper) look() bool {
	for range patience {
		if h.batch.Load() != nil {
			return true
		}
		pause()
	}
	helpers.Lock()
	defer helpers.Unlock()
	if h.batch.Load() != nil {
		return true
	}
	helpers.live--
	helpers.idle = slices.DeleteFunc(helpers.idle, func(other *helper) bool { return other == h })
	return false
}

// pause passes about 25 ns without a look at memory that others write to.
func pause() {
	for range 64 {
	}
}
