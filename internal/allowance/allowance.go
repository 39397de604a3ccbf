// Package allowance tells how much of a machine a process may use: its memory and
// its processors, or less where control groups, which containers, batch systems and
// services are run in, leave it less.
//
// Terms:
//
//   - A control group holds its processes together to a limit, and so does each
//     group around it. A process may use what the tightest of them leaves. Groups
//     of version 1 and 2 are asked, side by side where a machine has both, from that
//     of the process up to the outermost that it sees.
//   - What is available can be had without taking from another process: the pages
//     of files that nobody has read of late are given up for it.
//   - Processors are those that the processes of a machine may use together, cores
//     those that this process uses of them.
//
// For example, the default limit of a job:
//
//	limit := allowance.Memory() / 10 * 8
//
// Where a system does not tell of its memory, the numbers are 0.
package allowance

import (
	goruntime "runtime"
	"sync"
)

// here is this machine, and the groups of this process when it was first asked. What memory
// they allow is read each time: it may be changed while they run.
var here = sync.OnceValue(func() *machine {
	if told != nil {
		return machineWith(told.Groups)
	}
	return thisMachine()
})

// Known is what a process knows of its machine and its groups, in which those are that it
// starts: one of hundreds that begins need not find it out again.
type Known struct {
	Processors Limit   `json:"processors"`
	Memory     Limit   `json:"memory"`
	Groups     []Group `json:"groups,omitempty"`
}

// told is what this process was told before it asked, nil for nothing.
var told *Known

// Here returns what this process knows.
func Here() *Known { return &Known{ProcessorLimit(), MemoryLimit(), here().memoryGroups} }

// Believe has this process, which has not asked yet, know what the one knew that has started it. Memory
// is then what it was at that time.
func Believe(k *Known) { told = k }

// Memory returns how many bytes of memory the machine or its groups let the process have.
func Memory() int { return MemoryLimit().N }

// MemoryLimit returns the limit of Memory.
func MemoryLimit() Limit {
	if told != nil {
		return told.Memory
	}
	m := here()
	return m.memory(m.total())
}

// Available returns how many bytes of memory nobody uses.
func Available() int {
	m := here()
	return m.available(m.total(), m.free())
}

// Processors returns how many processors the processes of this machine may use together: those
// that this one may run on, or as many as the quota of its groups is worth, rounded up.
func Processors() int { return ProcessorLimit().N }

// ProcessorLimit returns the limit of Processors, as it was when it was first asked: each of
// many connections asks.
func ProcessorLimit() Limit {
	if told != nil {
		return told.Processors
	}
	return processorsHere()
}

var processorsHere = sync.OnceValue(func() Limit { return here().processors(goruntime.NumCPU()) })

// Cores returns how many processors this process uses at a time: GOMAXPROCS may leave it less
// than Processors. For ranks that are processes that does not count, as each has its own.
func Cores() int { return min(Processors(), goruntime.GOMAXPROCS(0)) }
