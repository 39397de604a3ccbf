package allowance

import (
	"math"
	"runtime/metrics"
	"sync/atomic"
)

// taken is what this process has mapped of its own beside the collector's heap.
var taken atomic.Int64

// Take notes that the process has mapped n bytes of its own, which the collector does not know
// of, or if n is negative that it has given some back.
func Take(n int) { taken.Add(int64(n)) }

// mostReserve is how much is kept free of a small machine, at most an eighth of it: programs fill
// that much until they are seen to.
const mostReserve = 16 << 20

// Reserve returns how many bytes are kept free for others: a twentieth of what there is,
// of a small machine more.
func Reserve() int { return reserveOf(Memory()) }

func reserveOf(total int) int { return max(total/20, min(total/8, mostReserve)) }

// Left returns how many bytes this process may still come to use until others lack them, less
// than 0 if they do: what is available, less the Reserve and what the process has been given and
// has not written yet, for until then the system counts that as available. Where a system
// does not tell of its memory, nothing is known to end.
func Left() int {
	total := Memory()
	if total == 0 {
		return math.MaxInt
	}
	return Available() - reserveOf(total) - unwritten(Mapped()+int(taken.Load()), resident())
}

// unwritten returns how many of the bytes that a process has mapped of its own have no memory yet,
// given how many have; 0 if that is not known.
func unwritten(mapped, resident int) int {
	if resident == 0 {
		return 0
	}
	return max(0, mapped-resident)
}

// Mapped returns the bytes that the collector has mapped and not given back.
func Mapped() int {
	sample := [...]metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(sample[:])
	return int(sample[0].Value.Uint64() - sample[1].Value.Uint64())
}
