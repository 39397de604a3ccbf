package shm

import (
	"encoding/binary"
	"os"
	"strings"
	"syscall"
	"testing"
)

// A segment is the same memory for all who open it, and its parts do not
// overlap.
func TestSegment(t *testing.T) {
	for _, size := range []int{1, 2, 8, 9, 33} {
		first, err := CreateSegment(size)
		if err != nil {
			t.Fatal(err)
		}
		second := again(first)
		if second.Size() != size {
			t.Errorf("got a segment of %d ranks, want %d", second.Size(), size)
		}
		last := first.ring(size-1, 0)
		last.data[len(last.data)-1] = 7
		if other := second.ring(size-1, 0); other.data[len(other.data)-1] != 7 {
			t.Errorf("%d ranks: what one writes the other does not read", size)
		}
		l := first.StagingBuffer(size-1, StagingEach-1)
		l.data[len(l.data)-1] = 1
		if at := first.plan.size - 1; first.mem[at] != 1 {
			t.Errorf("%d ranks: the last staging buffer does not end where the segment does", size)
		}
		if l.words < first.plan.staging || len(first.mem) != first.plan.size {
			t.Errorf("%d ranks: the staging buffers are not where the plan has them", size)
		}
		first.Close()
		second.Close()
	}
}

// What is no segment of this version is refused.
func TestOpenSegmentRefuses(t *testing.T) {
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := OpenSegment(file); err == nil || !strings.Contains(err.Error(), "want memory of tpsh") {
		t.Errorf("a file: got %v, want an error", err)
	}
	for want, change := range map[string]func(b []byte){
		`want "tpsh shm"`:         func(b []byte) { b[0] = 'T' },
		"got version 7, want 3":   func(b []byte) { binary.LittleEndian.PutUint64(b[8:], 7) },
		"got 0 ranks, want":       func(b []byte) { binary.LittleEndian.PutUint64(b[16:], 0) },
		"got 9999999 ranks, want": func(b []byte) { binary.LittleEndian.PutUint64(b[16:], 9999999) },
		"bytes, want":             func(b []byte) { binary.LittleEndian.PutUint64(b[16:], 3) },
	} {
		s, err := CreateSegment(2)
		if err != nil {
			t.Fatal(err)
		}
		change(s.mem)
		if _, err := OpenSegment(s.File()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
		s.Close()
	}
	for _, size := range []int{0, -1, maxLocal + 1} {
		if _, err := CreateSegment(size); err == nil {
			t.Errorf("a segment of %d ranks: want an error", size)
		}
	}
}

// Both ends of a channel come to the same plan, whose pieces fit in the staging buffer
// and hold whole elements.
func TestPlanChannel(t *testing.T) {
	for _, size := range []int{2, 3, 8, 32} {
		for _, length := range []int{0, 1, 4096, 100000, 1 << 20, 1 << 30} {
			for _, align := range []int{1, 2, 8, 12, 16} {
				buffer := StagingBytes(size)
				p := PlanSlot(buffer, size-1, size, length, align)
				if p.depth < 2 || p.Piece%align != 0 || p.start+p.depth*p.Piece > buffer || p.Pieces*p.Piece < length {
					t.Errorf("planChannel(%d, %d, %d, %d, %d) = %+v", buffer, size-1, size, length, align, p)
				}
			}
		}
	}
}

// again opens a segment as another process does.
func again(s *Segment) *Segment {
	fd, err := syscall.Dup(int(s.File().Fd()))
	if err != nil {
		panic(err)
	}
	other, err := OpenSegment(os.NewFile(uintptr(fd), "memory"))
	if err != nil {
		panic(err)
	}
	return other
}
