package main

import (
	goruntime "runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"
)

// A small heap grows to the least size before it is collected, and a large one as far as
// it always did; of many processes each has a part of the least size.
func TestCollectorPercent(t *testing.T) {
	for _, test := range []struct{ live, least, want int }{
		{0, 32 << 20, 800},
		{3 << 20, 32 << 20, 800},
		{4 << 20, 32 << 20, 400},
		{1 << 30, 32 << 20, 400},
		{0, 64 << 20, 800},
		{0, 31 << 20, 400},
		{0, 0, 400},
	} {
		if got := collectorPercent(test.live, test.least); got != test.want {
			t.Errorf("%d bytes of %d are reachable: got %d %%, want %d", test.live, test.least, got, test.want)
		}
	}
}

// What is reachable sets the percentage after each collection.
func TestCollectorAdapts(t *testing.T) {
	was := debug.SetGCPercent(usualPercent)
	defer debug.SetGCPercent(was)
	(&collector{least: 1 << 40}).adapt()
	if got := gcPercent(); got != mostPercent {
		t.Fatalf("got %d %% of a heap far from the least, want %d", got, mostPercent)
	}
	c := new(collector)
	defer c.over.Store(true)
	c.afterNext()
	for range 2 { // of which the first arms the second
		debug.SetGCPercent(mostPercent)
		for deadline := time.Now().Add(time.Minute); gcPercent() != usualPercent; goruntime.GC() {
			if time.Now().After(deadline) {
				t.Fatal("no collection has adapted the percentage")
			}
		}
	}
}

func gcPercent() int {
	now := [...]metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(now[:])
	return int(now[0].Value.Uint64())
}
