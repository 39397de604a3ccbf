package main

import (
	"os"
	goruntime "runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"

	"tpsh/internal/allowance"
)

const (
	// usualPercent is by how much of itself the heap grows between collections. Scripts make
	// many small values and keep few: collecting when the heap has grown fivefold costs
	// little memory and saves a tenth of the time. Large tensors are not in this heap.
	usualPercent = 400
	// mostPercent is that of a small heap. The collector begins at 4 MiB for 100, at the
	// least: it is leastHeap there.
	mostPercent = 800
	// leastHeap is the size to which a heap grows before it is collected, of the only
	// process of a core: a loop over small tensors otherwise spends a tenth of its time on it.
	// Of 64 MiB the first use of pages, and memory that no cache holds, take that again.
	leastHeap = 32 << 20
)

// collectSeldom has the heap of this process, one of so many on this machine, be collected
// seldom, unless the user has said how often. The limit of memory of a program holds all the
// same: near to it the collector runs by itself.
func collectSeldom(processes int) {
	if os.Getenv("GOGC") != "" {
		return
	}
	least := leastHeap
	if processes > 1 { // one alone has a core, however many there are
		least = leastHeap * allowance.Processors() / max(processes, allowance.Processors())
	}
	percent := collectorPercent(0, least)
	debug.SetGCPercent(percent)
	if percent > usualPercent {
		(&collector{least: least}).afterNext()
	}
}

// collectorPercent returns by how much of itself a heap is to grow until it is collected again, of
// which so many bytes are reachable: to no more than least, or by usualPercent if that
// is more.
func collectorPercent(live, least int) int {
	const begins = 4 << 20
	if max(live+live/100*mostPercent, begins/100*mostPercent) <= least {
		return mostPercent
	}
	return usualPercent
}

// A collector adapts the collector of the process to the heap, until it is over.
type collector struct {
	least int
	over  atomic.Bool
}

// afterNext has c adapt after the next collection, which finds a value that nobody refers to, and
// after each that follows.
func (c *collector) afterNext() {
	goruntime.SetFinalizer(&struct{ *collector }{c}, func(*struct{ *collector }) {
		if !c.over.Load() {
			c.adapt()
			c.afterNext()
		}
	})
}

// adapt sets the percentage by what was reachable in the last collection.
func (c *collector) adapt() {
	now := [...]metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/gogc:percent"}}
	metrics.Read(now[:])
	if p := collectorPercent(int(now[0].Value.Uint64()), c.least); p != int(now[1].Value.Uint64()) {
		debug.SetGCPercent(p)
	}
}
