package allowance

import (
	"bytes"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"testing"
)

func TestMeminfo(t *testing.T) {
	const text = "MemTotal:       24000000 kB\nMemFree:         1000 kB\nMemAvailable:   2000 kB\n"
	if got := meminfo(text, "MemAvailable:"); got != 2000<<10 {
		t.Errorf("got %d, want %d", got, 2000<<10)
	}
	if got := meminfo("MemAvailable:", "MemAvailable:"); got != 0 {
		t.Errorf("without a number: got %d, want 0", got)
	}
}

func TestPrivate(t *testing.T) {
	for statm, want := range map[string]int{"3000 1200 200 7 0 900 0\n": 1000, "3000 200 1200": 0, "3000 200": 0, "": 0} {
		if got := private(statm); got != want {
			t.Errorf("%q: got %d pages, want %d", statm, got, want)
		}
	}
	if got := resident(); got < 100<<10 {
		t.Errorf("this process: got %d bytes, want at least 100 KiB", got)
	}
}

// Files of the system are read as package os reads them.
func TestReadSystem(t *testing.T) {
	long := filepath.Join(t.TempDir(), "long")
	if err := os.WriteFile(long, bytes.Repeat([]byte("0123456789\n"), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{long, "/proc/self/cgroup", "/proc/self/mountinfo", "/dev/null", "/proc", long + "er"} {
		got, err := fs.ReadFile(systemFS{os.DirFS("/")}, file[1:])
		want, wantErr := os.ReadFile(file)
		if !bytes.Equal(got, want) || (err == nil) != (wantErr == nil) || errors.Is(err, fs.ErrNotExist) != errors.Is(wantErr, fs.ErrNotExist) {
			t.Errorf("%s: got %d bytes and %v, want %d and %v", file, len(got), err, len(want), wantErr)
		}
	}
}

// What is mapped and not written yet is no longer left, though the system has it yet.
func TestLeft(t *testing.T) {
	const n = 1 << 40
	before := Left()
	Take(n)
	after := Left()
	Take(-n)
	if before-after < n/2 {
		t.Errorf("got %d bytes left, and %d with %d mapped", before, after, n)
	}
	for _, c := range []struct{ mapped, resident, want int }{{3, 2, 1}, {2, 3, 0}, {3, 0, 0}} {
		if got := unwritten(c.mapped, c.resident); got != c.want {
			t.Errorf("%d bytes mapped, %d resident: got %d, want %d", c.mapped, c.resident, got, c.want)
		}
	}
}

// Of a small machine more is kept free than the twentieth of a large one.
func TestReserve(t *testing.T) {
	defer Believe(nil)
	for total, want := range map[int]int{64 << 20: 8 << 20, 128 << 20: 16 << 20, 256 << 20: 16 << 20, 10 << 30: 512 << 20} {
		Believe(&Known{Memory: Limit{N: total}})
		if got := Reserve(); got != want {
			t.Errorf("of %d bytes: got %d, want %d", total, got, want)
		}
	}
	if Believe(&Known{}); Left() != math.MaxInt {
		t.Errorf("of an unknown machine: got %d bytes left, want no end", Left())
	}
}
