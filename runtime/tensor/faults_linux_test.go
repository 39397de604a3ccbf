package tensor

import (
	"fmt"
	"os"
	goruntime "runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A loop that makes and drops large buffers touches no fresh memory once it
// is under way.
func TestNoFreshPages(t *testing.T) {
	const total = 3 << 30
	most := int64(500)
	if detectsRaces() {
		most = 50000 // the detector has faults of its own, for every small object
	}
	for _, size := range []int{96 << 10, 3 << 20, 64 << 20} {
		a := NewAllocator(0)
		turns := func() {
			for range total / size {
				b, err := a.Alloc(size)
				if err != nil {
					t.Fatal(err)
				}
				clear(b.data)
				goruntime.KeepAlive(b)
			}
		}
		turns()
		got := most + 1
		for i := 0; i < 5 && got > most; i++ { // the system may take pages back in between
			before := pageFaults(t)
			turns()
			got = pageFaults(t) - before
		}
		// Faulted in anew, they would take 786,432 faults, or 1,536 of huge pages.
		if got > most {
			t.Errorf("%d buffers of %d bytes took %d page faults, want at most %d", total/size, size, got, most)
		}
		a.Close()
	}
}

// Large storage is mapped where huge pages begin, and the system is asked for them.
func TestHugePages(t *testing.T) {
	for _, size := range []int{largeSize, 3 << 20, 64 << 20} {
		a := NewAllocator(0)
		m := a.take(size, true)
		whole := m.bytes
		if m.slab != nil {
			whole = m.slab.bytes
		}
		at := uintptr(unsafe.Pointer(unsafe.SliceData(whole)))
		if at%hugePage != 0 || len(whole)%hugePage != 0 {
			t.Errorf("%d bytes lie in %d from %#x, want multiples of %d", size, len(whole), at, hugePage)
		}
		if flags := mappingFlags(t, at); hasHugePages() && !slices.Contains(flags, "hg") {
			t.Errorf("%d bytes lie in a mapping with the flags %v, want hg among them", size, flags)
		}
		a.release(m)
		a.Close()
	}
}

// detectsRaces reports whether the test was built with the race detector.
func detectsRaces() bool {
	info, _ := debug.ReadBuildInfo()
	return slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// hasHugePages reports whether the kernel was built with transparent huge pages.
func hasHugePages() bool {
	_, err := os.Stat("/sys/kernel/mm/transparent_hugepage")
	return err == nil
}

// mappingFlags returns the flags of the mapping that holds the address at.
func mappingFlags(t *testing.T, at uintptr) []string {
	text, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	var inside bool
	for line := range strings.Lines(string(text)) {
		var lo, hi uintptr
		if n, _ := fmt.Sscanf(line, "%x-%x ", &lo, &hi); n == 2 {
			inside = lo <= at && at < hi
		} else if flags, ok := strings.CutPrefix(line, "VmFlags:"); ok && inside {
			return strings.Fields(flags)
		}
	}
	t.Fatalf("no mapping holds %#x", at)
	return nil
}

func pageFaults(t *testing.T) int64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return u.Minflt
}
