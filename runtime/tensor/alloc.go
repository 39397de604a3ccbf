package tensor

import (
	"fmt"
	"math/bits"
	goruntime "runtime"
	"sync"
	"time"
)

// largeSize is Allocator.Large unless a test wants another.
const largeSize = 64 << 10

// A collection is due when minSlack bytes of large buffers have been handed out
// since the last and it would take no more than one part in collectShare of the
// time since then, or when maxSlack bytes have. What it takes does not depend on
// the bytes, which the collector does not look at; how fast they are handed out
// depends on the program.
const (
	minSlack     = 16 << 20
	maxSlack     = 128 << 20
	collectShare = 16
)

// An Allocator hands out the storage of tensors. Large buffers live outside
// the collector's heap: one that is no longer reachable goes back to a free
// list by size class, and is handed out again without being zeroed or faulted
// in anew. Since the collector cannot see them, the Allocator starts a
// collection itself when it has handed out enough since the last.
//
// An Allocator may be used by several ranks at a time.
type Allocator struct {
	// Large is from how many bytes on a buffer is large: such ones come from the
	// operating system and are reused; smaller ones are the collector's.
	Large int
	// Limit is the number of bytes that may be in use; 0 means no limit.
	Limit int
	// Strict says that Limit was asked for: going beyond it ends the program.
	Strict bool
	// Poison overwrites a byte of every cache line of released buffers, so
	// that a test sees whatever still reads them.
	Poison bool
	// Guard has the hardware watch over storage that buffers share: a write to it
	// is a fault. It is for tests, too.
	Guard bool

	collecting sync.Mutex // held during a collection

	blocks blockPools

	mu     sync.Mutex
	free   map[int][][]byte // by size class
	spare  int              // bytes in free
	inUse  int              // bytes handed out and not yet returned
	peak   int              // the most inUse has been
	closed bool

	collected time.Time // when the last collection ended
	took      mean      // what collections take
	left      int       // bytes in use after the last one
}

// A MemoryError says that a tensor does not fit in memory.
type MemoryError struct {
	Want, Limit, InUse int
	Strict             bool // the limit was asked for
}

// Uncatchable reports whether the error ends the program whatever it does.
func (e *MemoryError) Uncatchable() bool { return e.Strict }

func (e *MemoryError) Error() string {
	if e.Want > e.Limit { // whatever is in use, which is not the same every time
		return fmt.Sprintf("out of memory: %d bytes wanted, %d allowed", e.Want, e.Limit)
	}
	return fmt.Sprintf("out of memory: %d bytes wanted, %d in use, %d allowed", e.Want, e.InUse, e.Limit)
}

// NewAllocator returns an allocator that hands out at most limit bytes at a
// time; 0 means the machine's memory.
func NewAllocator(limit int) *Allocator {
	if limit <= 0 {
		limit = machineMemory()
	}
	return &Allocator{Large: largeSize, Limit: limit, free: map[int][][]byte{}}
}

// Alloc returns a buffer of n bytes. Its contents are arbitrary.
func (a *Allocator) Alloc(n int) (*Buffer, error) {
	switch {
	case n >= a.Large:
	case n >= leastBlock:
		return a.block(n), nil
	default:
		b := small(n)
		b.alloc = a
		return b, nil
	}
	b := &Buffer{alloc: a}
	return b, b.fill(n)
}

// region returns a region of size bytes, a size class.
func (a *Allocator) region(size int) ([]byte, error) {
	if r := a.take(size, false); r != nil {
		return r, nil
	}
	// On a busy machine what is unreachable may be slow to come back: only the
	// last collection, after a long wait, tells that memory is short.
	for _, moment := range []time.Duration{100 * time.Microsecond, 2 * time.Millisecond, 50 * time.Millisecond} {
		if size > a.Limit && a.Limit > 0 {
			break
		}
		a.collect(size, moment)
		if r := a.take(size, true); r != nil {
			return r, nil
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return nil, &MemoryError{Want: size, Limit: a.Limit, InUse: a.inUse, Strict: a.Strict}
}

// take returns a free or a new region, or nil if a collection is due. With force
// it does not wait for one, but goes no further than the limit.
func (a *Allocator) take(size int, force bool) []byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.inUse+size > a.Limit && a.Limit > 0 {
		return nil
	}
	if list := a.free[size]; len(list) > 0 {
		r := list[len(list)-1]
		a.free[size] = list[:len(list)-1]
		a.spare -= size
		a.use(size)
		return r
	}
	if !force && due(a.inUse-a.left, time.Since(a.collected), time.Duration(a.took)) {
		return nil
	}
	r, err := mapRegion(size)
	if err != nil {
		return nil
	}
	a.use(size)
	return r
}

// due reports whether a collection that takes so long is due when so many bytes
// have become in use since the last, which ended so long ago.
func due(bytes int, since, took time.Duration) bool {
	return bytes >= minSlack && (bytes >= maxSlack || since >= took*collectShare)
}

func (a *Allocator) use(size int) {
	a.inUse += size
	a.peak = max(a.peak, a.inUse)
}

// trim returns free regions to the operating system until at most keep bytes
// are left, from the size class that has most of them first. a.mu is held.
func (a *Allocator) trim(keep int) {
	for a.spare > keep {
		most := 0
		for size, list := range a.free {
			if size*len(list) > most*len(a.free[most]) {
				most = size
			}
		}
		list := a.free[most]
		last := len(list) - 1
		unmapRegion(list[last])
		list[last] = nil
		a.free[most] = list[:last]
		a.spare -= most
	}
}

// release takes back a region that nothing can reach any more.
func (a *Allocator) release(region []byte) {
	if a.Guard {
		protect(region, false)
	}
	if a.Poison {
		for i := 0; i < len(region); i += 64 {
			region[i] = 0xA5
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.inUse -= len(region)
	if a.closed {
		unmapRegion(region)
		return
	}
	a.free[len(region)] = append(a.free[len(region)], region)
	a.spare += len(region)
}

// collect runs the collector, and waits until what it found unreachable has come
// back, and nothing more for a moment. A collection that another rank has just made
// counts. As much stays free as may well be handed out before the next one.
func (a *Allocator) collect(size int, moment time.Duration) {
	a.collecting.Lock()
	defer a.collecting.Unlock()
	a.mu.Lock()
	needless := len(a.free[size]) > 0 && a.inUse+size <= a.Limit
	used := a.inUse - a.left
	a.mu.Unlock()
	if needless {
		return
	}
	begin := time.Now()
	done := make(chan struct{})
	goruntime.AddCleanup(new(Buffer), func(c chan struct{}) { close(c) }, done)
	goruntime.GC()
	a.settle(done, moment)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.trim(5 * max(used, minSlack) / 4)
	a.left, a.collected = a.inUse, time.Now()
	a.took.add(a.collected.Sub(begin))
}

// A mean is an average in which the last value counts half. Values of more than
// twice the mean count as that: they say more of the moment than of the program.
type mean time.Duration

func (m *mean) add(v time.Duration) {
	if *m == 0 {
		*m = mean(v)
	}
	*m = (*m + min(mean(v), 2**m)) / 2
}

// settle waits until the cleanups that a collection found due have run, in
// goroutines of the runtime and in no order: until that of a fresh object has
// closed done, or for a hundred moments, and then until no region has come back
// for a moment. It yields rather than sleeps: most often it is over soon.
func (a *Allocator) settle(done <-chan struct{}, moment time.Duration) {
	patience := time.Now().Add(100 * moment)
	for waiting := true; waiting && time.Now().Before(patience); goruntime.Gosched() {
		select {
		case <-done:
			waiting = false
		default:
		}
	}
	last, since := -1, time.Now()
	for time.Since(since) < moment {
		goruntime.Gosched()
		if now, _ := a.InUse(); now != last {
			last, since = now, time.Now()
		}
	}
}

// Close returns free regions to the operating system; regions still in use
// follow when they are released.
func (a *Allocator) Close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	a.trim(0)
}

// InUse returns the bytes of large buffers that are handed out, reachable or
// not, and the most there have been.
func (a *Allocator) InUse() (now, peak int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.inUse, a.peak
}

// sizeClass rounds n up to a multiple of a quarter of the next lower power of
// two, so that at most a fifth is wasted.
func sizeClass(n int) int {
	n = max(n, 4096)
	step := 1 << (bits.Len(uint(n-1)) - 3)
	step = max(step, 4096)
	return (n + step - 1) / step * step
}
