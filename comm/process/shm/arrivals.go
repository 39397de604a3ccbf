package shm

import (
	"math/bits"
	"sync/atomic"
	"unsafe"
)

// Arrivals tell a rank in which of many rings something has come: a bit for each rank that
// writes to it, by index, so that a look costs a word for 64 rings and not two cache lines for each.
//
// A writer makes a record visible, sets its bit, and then wakes. The reader clears bits
// and then looks at their rings: either it sees the record, or the writer sets the bit after it
// was cleared. So a ring with records that nobody has looked at has its bit set, or will have it
// before the writer wakes.
//
// Where few ranks share memory there are none (nil), and readers look at all rings.
type Arrivals []atomic.Uint64

// arrivalsFrom is of how many ranks each has arrivals: a bit to set and to clear costs as much as
// looks at that many rings.
const arrivalsFrom = 24

// arrivalBytes returns the bytes of the arrivals of a rank among size ranks.
func arrivalBytes(size int) int {
	if size < arrivalsFrom {
		return 0
	}
	return (size + 8*lineBytes - 1) / (8 * lineBytes) * lineBytes
}

// Arrivals returns those of the rank at an index.
func (s *Segment) Arrivals(index int) Arrivals {
	n := arrivalBytes(s.size)
	if n == 0 {
		return nil
	}
	at := s.plan.arrivals + index*n
	return unsafe.Slice((*atomic.Uint64)(unsafe.Pointer(&s.mem[at])), n/8)
}

// Add says that something has come from the rank at an index.
func (a Arrivals) Add(index int) {
	if a == nil {
		return
	}
	w, bit := &a[index/64], uint64(1)<<(index%64)
	if w.Load()&bit == 0 { // otherwise the reader has yet to clear it, and to look
		w.Or(bit)
	}
}

// Any reports whether something has come that was not taken.
func (a Arrivals) Any() bool {
	for i := range a {
		if a[i].Load() != 0 {
			return true
		}
	}
	return false
}

// Take calls look with the indexes of the ranks from which something has come, and clears
// their bits before.
func (a Arrivals) Take(look func(index int)) {
	for i := range a {
		if a[i].Load() == 0 {
			continue
		}
		for set := a[i].Swap(0); set != 0; set &= set - 1 {
			look(64*i + bits.TrailingZeros64(set))
		}
	}
}
