package tensor

import (
	"fmt"
	"math/bits"
	"os"
	goruntime "runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"

	"tpsh/internal/allowance"
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
// the collector's heap, on huge pages where the system has them: one that is no
// longer reachable goes back to its slab, or to a free list by size class, and is
// handed out again without being zeroed or faulted in anew. Since the collector
// cannot see them, the Allocator starts a collection itself when it has handed out
// enough since the last.
//
// An Allocator may be used by several ranks at a time.
type Allocator struct {
	// Large is from how many bytes on a buffer is large: such ones come from the
	// operating system and are reused; smaller ones are the collector's.
	Large int
	// Limit is the number of bytes that may be in use; 0 means no limit.
	Limit int
	// Strict says that Limit was asked for: going beyond it ends the program, and
	// small buffers count, too.
	Strict bool
	// Poison overwrites a byte of every cache line of released buffers, so
	// that a test sees whatever still reads them.
	Poison bool
	// Guard has the hardware watch over storage that buffers share: a write to it
	// is a fault. It is for tests, too.
	Guard bool

	guarded sync.Map // by first byte: the memory that is sealed

	phantom []byte // what hollow buffers are slices of; nil for those with memory

	collecting sync.Mutex // held during a collection

	blocks blockPools
	lent   lentRegions

	mu     sync.Mutex
	slabs  slabs            // of regions that are carved
	free   map[int][][]byte // the others, by size class
	spare  int              // bytes in free
	inUse  int              // bytes handed out and not yet returned
	peak   int              // the most inUse has been
	closed bool

	collected time.Time // when the last collection ended
	took      mean      // what collections take
	left      int       // bytes in use after the last one

	unasked int // bytes that were mapped since it was asked whether the machine has any left
}

// A MemoryError says that a tensor does not fit in memory.
type MemoryError struct {
	Want, Limit, InUse int
	Strict             bool // the limit was asked for
	Short              bool // the limit allows it, but others have the memory
}

// Uncatchable reports whether the error ends the program whatever it does.
func (e *MemoryError) Uncatchable() bool { return e.Strict }

func (e *MemoryError) Error() string {
	switch {
	case e.Want > e.Limit: // whatever is in use, which is not the same every time
		return fmt.Sprintf("out of memory: %d bytes wanted, %d allowed", e.Want, e.Limit)
	case e.Short:
		return fmt.Sprintf("out of memory: %d bytes wanted, %d in use, and the machine has none left", e.Want, e.InUse)
	}
	return fmt.Sprintf("out of memory: %d bytes wanted, %d in use, %d allowed", e.Want, e.InUse, e.Limit)
}

// NewAllocator returns an allocator that hands out at most limit bytes at a
// time; 0 means four fifths of the machine's or the container's memory.
func NewAllocator(limit int) *Allocator {
	if limit <= 0 {
		limit = allowance.Memory() / 5 * 4
	}
	return &Allocator{Large: largeSize, Limit: limit, free: map[int][][]byte{}}
}

// Alloc returns a buffer of n bytes. Its contents are arbitrary.
func (a *Allocator) Alloc(n int) (*Buffer, error) {
	switch {
	case a.phantom != nil:
		return a.hollow(n)
	case n >= a.Large:
		b := &Buffer{alloc: a}
		return b, b.fill(n)
	case a.Strict:
		if err := a.admit(n); err != nil {
			return nil, err
		}
	}
	b := a.heapBuffer(n)
	if a.Strict {
		goruntime.AddCleanup(b, a.dismiss, n)
	}
	return b, nil
}

// heapBuffer returns a buffer that is not large, on the collector's heap.
func (a *Allocator) heapBuffer(n int) *Buffer {
	if n >= leastBlock {
		return a.block(n)
	}
	b := small(n)
	b.alloc = a
	return b
}

// admit counts n bytes of a buffer on the collector's heap as in use, where there is
// a limit that was asked for: many small tensors are much memory, too. It is dismiss
// that no longer counts them, when the buffer is unreachable.
func (a *Allocator) admit(n int) error {
	for try := 0; ; try++ {
		a.mu.Lock()
		if a.allows(n) {
			a.inUse += n
			a.peak = max(a.peak, a.inUse)
			a.mu.Unlock()
			return nil
		}
		err := &MemoryError{Want: n, Limit: a.Limit, InUse: a.inUse, Strict: a.Strict}
		a.mu.Unlock()
		if try == len(moments) || n > a.Limit {
			return err
		}
		a.collect(n, moments[try])
	}
}

func (a *Allocator) dismiss(n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.inUse -= n
}

// moments are how long to wait, collection by collection, for what is unreachable to
// come back. On a busy machine it may be slow to: only the last collection, after a
// long wait, tells that memory is short.
var moments = [...]time.Duration{100 * time.Microsecond, 2 * time.Millisecond, 50 * time.Millisecond, 300 * time.Millisecond}

// region returns the memory of a region of size bytes, a size class.
func (a *Allocator) region(size int) (piece, error) {
	if m := a.take(size, false); m.bytes != nil {
		return m, nil
	}
	for _, moment := range moments {
		if size > a.Limit && a.Limit > 0 {
			break
		}
		a.collect(size, moment)
		if m := a.take(size, true); m.bytes != nil {
			return m, nil
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return piece{}, &MemoryError{Want: size, Limit: a.Limit, InUse: a.inUse, Strict: a.Strict, Short: a.allows(size)}
}

// take returns free or new memory, or the zero piece if a collection is due. With
// force it does not wait for one, but goes no further than the limit.
func (a *Allocator) take(size int, force bool) piece {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.allows(size) {
		return piece{}
	}
	m := a.reuse(size)
	if m.bytes == nil && (force || !due(a.inUse-a.left, time.Since(a.collected), time.Duration(a.took))) {
		m = a.fresh(size)
	}
	if m.bytes != nil {
		a.inUse += size
		a.peak = max(a.peak, a.inUse)
	}
	return m
}

// allows reports whether size bytes more may be in use. a.mu is held.
func (a *Allocator) allows(size int) bool { return a.Limit <= 0 || a.inUse+size <= a.Limit }

// reuse returns memory that is there already, or the zero piece. a.mu is held.
func (a *Allocator) reuse(size int) piece {
	if carved(size) {
		return a.slabs.cut(size, false)
	}
	list := a.free[size]
	if len(list) == 0 {
		return piece{}
	}
	last := len(list) - 1
	a.free[size] = list[:last]
	a.spare -= size
	return piece{bytes: list[last]}
}

// hasFree reports whether reuse would return memory. a.mu is held.
func (a *Allocator) hasFree(size int) bool {
	if carved(size) {
		return a.slabs.has(size)
	}
	return len(a.free[size]) > 0
}

// fresh returns memory from the operating system, or the zero piece if it gives
// none. a.mu is held.
func (a *Allocator) fresh(size int) piece {
	if !a.affords(size) {
		return piece{}
	}
	if carved(size) {
		return a.slabs.cut(size, true)
	}
	bytes, err := mapRegion(size)
	if err != nil {
		return piece{}
	}
	allowance.Take(size)
	return piece{bytes: bytes}
}

// oftenAsked is the part of the limit after which it is asked anew what the machine has left.
const oftenAsked = 128

// affords reports whether the machine has size bytes left, where nobody asked for the limit: others
// may have what it allows. a.mu is held.
func (a *Allocator) affords(size int) bool {
	if a.Strict || a.Limit <= 0 || a.unasked+size < a.Limit/oftenAsked {
		a.unasked += size
		return true
	}
	left := allowance.Left()
	if left < size && a.spare+a.slabs.spare > 0 {
		a.trim(0)
		left = allowance.Left()
	}
	if left < size {
		return false
	}
	a.unasked = 0
	return true
}

// due reports whether a collection that takes so long is due when so many bytes
// have become in use since the last, which ended so long ago.
func due(bytes int, since, took time.Duration) bool {
	return bytes >= minSlack && (bytes >= maxSlack || since >= took*collectShare)
}

// trim gives free memory back to the operating system until at most keep bytes are
// left, or what is left lies on pages in use: from the size class that has most of
// them first, among which the huge pages of slabs count as one. a.mu is held.
func (a *Allocator) trim(keep int) {
	idle := a.slabs.idle()
	for a.spare+a.slabs.spare > keep {
		most := 0
		for size, list := range a.free {
			if size*len(list) > most*len(a.free[most]) {
				most = size
			}
		}
		list := a.free[most]
		if len(idle)*hugePage > most*len(list) {
			a.slabs.drop(idle[len(idle)-1])
			idle = idle[:len(idle)-1]
			continue
		}
		if most == 0 {
			break
		}
		last := len(list) - 1
		unmapRegion(list[last])
		allowance.Take(-most)
		list[last] = nil
		a.free[most] = list[:last]
		a.spare -= most
	}
	a.slabs.unmap()
}

// release takes back the memory of a region that nothing can reach any more.
func (a *Allocator) release(m piece) {
	if a.Guard {
		a.unguard(m.bytes)
	}
	if a.Poison {
		for i := 0; i < len(m.bytes); i += 64 {
			m.bytes[i] = 0xA5
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	size := len(m.bytes)
	a.inUse -= size
	if m.slab != nil {
		a.slabs.put(m)
	} else {
		a.free[size] = append(a.free[size], m.bytes)
		a.spare += size
	}
	if a.closed {
		a.trim(0)
	}
}

// collect runs the collector, and waits until what it found unreachable has come
// back, and nothing more for a moment. If there is room, a collection counts that
// another rank has made meanwhile: of a thousand that wait, one collects. As much
// stays free as may well be handed out before the next one.
func (a *Allocator) collect(size int, moment time.Duration) {
	asked := time.Now()
	a.collecting.Lock()
	defer a.collecting.Unlock()
	a.mu.Lock()
	needless := a.allows(size) && (a.hasFree(size) || a.collected.After(asked))
	used := a.inUse - a.left
	a.mu.Unlock()
	if needless {
		return
	}
	begin := time.Now()
	goruntime.GC()
	a.settle(moment)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.trim(5 * max(used, minSlack) / 4)
	a.left, a.collected = a.inUse, time.Now()
	a.took.add(a.collected.Sub(begin))
}

// GiveBack collects what nobody can reach any more, and gives all free memory back to the operating
// system, that of the collector too.
func (a *Allocator) GiveBack() {
	a.collecting.Lock()
	defer a.collecting.Unlock()
	debug.FreeOSMemory()
	a.settle(moments[0])
	a.mu.Lock()
	defer a.mu.Unlock()
	a.trim(0)
	a.left, a.collected = a.inUse, time.Now()
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

// settle waits until the cleanups that a collection found due have run, which goroutines
// of the runtime do in no order, or for a second; and then until no region has come back
// for a moment. It yields rather than sleeps: most often it is over soon.
func (a *Allocator) settle(moment time.Duration) {
	patience := time.Now().Add(time.Second)
	counts := [...]metrics.Sample{{Name: "/gc/cleanups/queued:cleanups"}, {Name: "/gc/cleanups/executed:cleanups"}}
	metrics.Read(counts[:])
	due, run := counts[0].Value.Uint64(), &counts[1]
	for run.Value.Uint64() < due && time.Now().Before(patience) {
		goruntime.Gosched()
		metrics.Read(counts[1:])
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

// InUse returns the bytes of large buffers that are handed out, reachable or not, and
// the most there have been; with Strict those of all buffers.
func (a *Allocator) InUse() (now, peak int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.inUse, a.peak
}

// sizeClass rounds n up to whole pages, and to a multiple of a quarter of the next
// lower power of two, so that at most a fifth of more than four pages is wasted.
func sizeClass(n int) int {
	page := os.Getpagesize()
	n = max(n, page)
	step := max(1<<(bits.Len(uint(n-1))-3), page)
	return (n + step - 1) / step * step
}
