package comm

import (
	goruntime "runtime"
	"sync/atomic"
)

// A gate is where the n members of a meeting wait for each other, once, when
// all of them are on their way.
type gate struct {
	in   atomic.Int32 // how many have come
	door door
}

// enter counts a member in.
func (g *gate) enter(n int32) {
	if g.in.Add(1) == n {
		g.door.open()
	}
}

// pass waits until all n members are in.
func (g *gate) pass(n int32, p patience) {
	all := func() bool { return g.in.Load() == n }
	if p.linger(all) {
		return
	}
	if opened := g.door.knock(); !all() {
		<-opened
	}
}

// A door lets those who have waited for long sleep until it is opened.
type door struct {
	bell atomic.Pointer[chan struct{}] // nil while nobody sleeps
}

// knock returns a channel that is closed when the door is opened the next
// time. The caller looks once more before it sleeps: what it waits for may
// have come before it knocked.
func (d *door) knock() chan struct{} {
	opened := make(chan struct{})
	for !d.bell.CompareAndSwap(nil, &opened) {
		if other := d.bell.Load(); other != nil {
			return *other
		}
	}
	return opened
}

// open wakes those who sleep, after what they wait for has come.
func (d *door) open() {
	if opened := d.bell.Swap(nil); opened != nil {
		close(*opened)
	}
}

// A patience says how long a wait goes on before it gives up its goroutine.
type patience struct {
	spins  int // looks without a pause
	yields int // looks after letting other goroutines run
}

// patienceFor returns the patience of size ranks in this process: with a core
// for each, a wait in step ends sooner than a goroutine sleeps and is woken;
// with fewer cores, who spins keeps another rank from coming.
func patienceFor(size int) patience {
	if size > goruntime.GOMAXPROCS(0) {
		return patience{spins: 0, yields: 2}
	}
	return patience{spins: 2000, yields: 4}
}

// linger looks for a moment whether something has come, and reports whether it
// has.
func (p patience) linger(come func() bool) bool {
	if come() {
		return true
	}
	for range p.spins {
		if come() {
			return true
		}
	}
	for range p.yields {
		goruntime.Gosched()
		if come() {
			return true
		}
	}
	return false
}
