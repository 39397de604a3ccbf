package main

import (
	goruntime "runtime"
	"sync"
	"time"

	"tpsh/runtime/kernel/peak"
)

// A machine is what this one can do at most, measured when first asked for.
type machine struct {
	flops, bfloat16Flops float64

	copies map[[2]int]float64 // by cores, and bytes of a block
}

// limitTime is how long a limit is measured, in rounds of which the fastest
// counts.
const limitTime = 20 * time.Millisecond

// peakFlops returns the operations per second of all cores together in products of
// bfloat16, or of other dtypes: the multiply-adds of float32.
func (m *machine) peakFlops(bfloat16 bool) float64 {
	multiply, flops := peak.Multiply, &m.flops
	if bfloat16 {
		multiply, flops = peak.MultiplyBFloat16, &m.bfloat16Flops
	}
	if *flops == 0 {
		*flops = bestRate(func() int {
			var operations int
			onCores(goruntime.GOMAXPROCS(0), func(core int) {
				if n := multiply(1 << 16); core == 0 {
					operations = n
				}
			})
			return operations * goruntime.GOMAXPROCS(0)
		})
	}
	return *flops
}

// copyRate returns the bytes per second, read and written, at which some cores
// together copy blocks of size bytes, each its own.
func (m *machine) copyRate(cores, size int) float64 {
	key := [2]int{cores, size}
	if rate, known := m.copies[key]; known {
		return rate
	}
	src, dst := make([][]byte, cores), make([][]byte, cores)
	onCores(cores, func(core int) { src[core], dst[core] = make([]byte, size), make([]byte, size) })
	times := max(1, 1<<20/size)
	rate := bestRate(func() int {
		onCores(cores, func(core int) {
			for range times {
				copy(dst[core], src[core])
			}
		})
		return 2 * size * times * cores
	})
	if m.copies == nil {
		m.copies = map[[2]int]float64{}
	}
	m.copies[key] = rate
	return rate
}

// onCores calls f at once on so many goroutines.
func onCores(cores int, f func(core int)) {
	var wg sync.WaitGroup
	for core := range cores {
		wg.Go(func() { f(core) })
	}
	wg.Wait()
}

// bestRate calls do, which returns how much it has done, for limitTime and at
// least three times, and returns the most that it did per second.
func bestRate(do func() int) float64 {
	best := 0.0
	begin := time.Now()
	for i := 0; i < 3 || time.Since(begin) < limitTime; i++ {
		since := time.Now()
		done := do()
		best = max(best, float64(done)/time.Since(since).Seconds())
	}
	return best
}
