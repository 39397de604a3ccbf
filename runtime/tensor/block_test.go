package tensor

import (
	goruntime "runtime"
	"testing"
	"unsafe"

	"pgregory.net/rapid"
)

// Classes ascend with their sizes, blocks have room, and at most a fifth of one is
// wasted.
func TestBlockClass(t *testing.T) {
	lastClass, lastSize := blockClass(leastBlock)
	for n := leastBlock; n <= 4*largeSize; n++ {
		class, size := blockClass(n)
		if size < n || size%8 != 0 || 5*(size-n) > size {
			t.Fatalf("blockClass(%d) has size %d, want a multiple of 8 from %d on of which a fifth is wasted at most", n, size, n)
		}
		if class != lastClass && (class != lastClass+1 || size <= lastSize) || class == lastClass && size != lastSize {
			t.Fatalf("blockClass(%d) = %d, %d after %d, %d", n, class, size, lastClass, lastSize)
		}
		lastClass, lastSize = class, size
	}
}

// New blocks of all classes begin where a number of 8 bytes may, and are as long as
// they are said to be: to write all of one spoils no other.
func TestBlocksAligned(t *testing.T) {
	var all [][]uint64
	for n := leastBlock; n < largeSize; {
		_, size := blockClass(n)
		p := rawBlock(size)
		if uintptr(unsafe.Pointer(p))%8 != 0 {
			t.Errorf("a block of %d bytes is at %p, want a multiple of 8", size, p)
		}
		b := unsafe.Slice(p, size/8)
		for i := range b {
			b[i] = uint64(size)
		}
		all, n = append(all, b), size+1
	}
	goruntime.GC()
	for _, b := range all {
		for i, v := range b {
			if v != uint64(8*len(b)) {
				t.Fatalf("word %d of a block of %d bytes is %d, want what was written", i, 8*len(b), v)
			}
		}
	}
}

// Blocks in use never overlap, whatever has been dropped before: what is written
// to one stays.
func TestBlocksApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := NewAllocator(0)
		a.Poison = true
		type held struct {
			b    *Buffer
			mark byte
		}
		var all []held
		for mark := range byte(60) {
			if len(all) > 0 && rapid.Bool().Draw(t, "drop") {
				i := rapid.IntRange(0, len(all)-1).Draw(t, "which")
				all[i].b.Discard()
				all = append(all[:i], all[i+1:]...)
			}
			b, err := a.Alloc(rapid.SampledFrom([]int{1000, 1024, 1025, 1280, 1281, 5000}).Draw(t, "bytes"))
			if err != nil {
				t.Fatal(err)
			}
			for i := range b.data {
				b.data[i] = mark
			}
			all = append(all, held{b, mark})
		}
		for _, h := range all {
			for i, v := range h.b.data {
				if v != h.mark {
					t.Fatalf("byte %d of a block of %d is %#x, want %#x", i, h.b.Len(), v, h.mark)
				}
			}
		}
	})
}

// Room is what was asked for, in elements.
func TestRoom(t *testing.T) {
	a := NewAllocator(0)
	for _, n := range []int{0, 1, 255, 256, 5000, 100_000} {
		room, b, err := Room[float64](a, n)
		if err != nil || len(room) != n || b.Len() != 8*n {
			t.Errorf("Room(%d): got %d elements in %d bytes, %v", n, len(room), b.Len(), err)
		}
		b.Discard()
	}
}
