package tensor

import (
	goruntime "runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// A loop that makes and drops large buffers touches no fresh memory once it
// is under way.
func TestNoFreshPages(t *testing.T) {
	a := NewAllocator(0)
	defer a.Close()
	const size, turns = 64 << 20, 50
	turn := func() {
		b, err := a.Alloc(size)
		if err != nil {
			t.Fatal(err)
		}
		clear(b.data)
		goruntime.KeepAlive(b)
	}
	for range turns {
		turn()
	}
	before := pageFaults(t)
	for range turns {
		turn()
	}
	// Faulted in anew, they would take 16,384 faults a turn, or 32 of huge pages.
	if got := pageFaults(t) - before; got > 4*turns {
		t.Errorf("%d buffers of %d bytes took %d page faults, want at most %d", turns, size, got, 4*turns)
	}
}

func pageFaults(t *testing.T) int64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return u.Minflt
}
