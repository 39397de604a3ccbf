package tensor

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

// Buffers that share memory see what they were given, and their own changes, and
// the memory is back when the last has dropped it or left it.
func TestSharedIsCopiedOnWrite(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := NewAllocator(0)
		a.Large, a.Poison, a.Guard = 1, true, true
		defer a.Close()
		n := rapid.IntRange(1, 5000).Draw(t, "bytes")
		s, err := a.Share(n, rapid.IntRange(1, 4).Draw(t, "buffers"))
		if err != nil {
			t.Fatal(err)
		}
		all := make([]*Buffer, s.region.sharers.Load())
		want := make([]byte, len(all))
		for i := range all {
			all[i] = s.Buffer()
		}
		clear(all[0].data)
		all[0].Seal()
		for range rapid.IntRange(0, 12).Draw(t, "steps") {
			i := rapid.IntRange(0, len(all)-1).Draw(t, "buffer")
			if b := all[i]; rapid.Bool().Draw(t, "drop") {
				b.Drop(nil)
			} else if !b.Dropped() {
				if err := b.Own(); err != nil {
					t.Fatal(err)
				}
				want[i]++
				for j := range b.data {
					b.data[j] = want[i]
				}
			}
			for i, b := range all {
				if !b.Dropped() && !bytes.Equal(b.data, bytes.Repeat(want[i:i+1], n)) {
					t.Fatalf("buffer %d holds %v, want %d bytes of %d", i, b.data, n, want[i])
				}
			}
		}
		memory := map[*region]bool{}
		for _, b := range all {
			if !b.Dropped() {
				memory[b.region] = true
			}
		}
		if used, _ := a.InUse(); used != len(memory)*sizeClass(n) {
			t.Fatalf("%d bytes in use, want %d regions of %d", used, len(memory), sizeClass(n))
		}
	})
}

// A buffer for whose own memory there is no room goes on sharing.
func TestOwnWithoutMemory(t *testing.T) {
	a := NewAllocator(largeSize)
	s, err := a.Share(largeSize, 2)
	if err != nil {
		t.Fatal(err)
	}
	one, two := s.Buffer(), s.Buffer()
	one.data[7] = 7
	if err := one.Own(); err == nil {
		t.Error("Own went through, want an error: there is no room")
	}
	if one.data[7] != 7 {
		t.Errorf("byte 7 is %d, want 7", one.data[7])
	}
	two.Drop(nil)
	if err := one.Own(); err != nil {
		t.Errorf("Own of what nobody shares any more: got %v", err)
	}
}
