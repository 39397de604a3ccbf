package tensor

import (
	"os"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Pieces never overlap, whatever has been cut, put back and dropped before: what is
// written to one stays. Gaps are what is between them, and what lies free with
// memory is counted.
func TestSlabs(t *testing.T) {
	page := os.Getpagesize()
	rapid.Check(t, func(t *rapid.T) {
		var l slabs
		type held struct {
			piece
			mark byte
		}
		var all []held
		for mark := range byte(rapid.IntRange(1, 60).Draw(t, "steps")) {
			if len(all) > 0 && rapid.Bool().Draw(t, "put") {
				i := rapid.IntRange(0, len(all)-1).Draw(t, "which")
				l.put(all[i].piece)
				all = slices.Delete(all, i, i+1)
			}
			if idle := l.idle(); len(idle) > 0 && rapid.Bool().Draw(t, "drop") {
				l.drop(idle[rapid.IntRange(0, len(idle)-1).Draw(t, "page")])
				l.unmap()
			}
			size := page * rapid.IntRange(1, 2000).Draw(t, "pages")
			had := l.has(size)
			m := l.cut(size, false)
			if had != (m.bytes != nil) {
				t.Fatalf("has(%d) = %v, but cut returned %d bytes", size, had, len(m.bytes))
			}
			if !had {
				m = l.cut(size, true)
			}
			m.bytes[0], m.bytes[size-1] = mark, mark
			all = append(all, held{m, mark})
			l.check(t)
		}
		for _, h := range all {
			if first, last := h.bytes[0], h.bytes[len(h.bytes)-1]; first != h.mark || last != h.mark {
				t.Fatalf("a piece begins with %d and ends with %d, want %d", first, last, h.mark)
			}
			l.put(h.piece)
		}
		l.check(t)
		for _, p := range l.idle() {
			l.drop(p)
		}
		if l.unmap(); len(l.list) > 0 || l.spare != 0 {
			t.Fatalf("all put back and dropped: %d slabs are left, and %d bytes", len(l.list), l.spare)
		}
	})
}

// check checks what is to be true of slabs at any time.
func (l *slabs) check(t *rapid.T) {
	spare := 0
	for _, s := range l.list {
		end := -1
		for _, g := range s.gaps {
			if g.lo <= end || g.lo >= g.hi || g.hi > slabSize {
				t.Fatalf("gaps are %v, want ascending ones apart", s.gaps)
			}
			end = g.hi
		}
		for p, there := range s.there {
			free := 0
			for _, g := range s.gaps {
				free += max(0, min(g.hi, (p+1)*hugePage)-max(g.lo, p*hugePage))
			}
			if there {
				spare += free
			} else if free < hugePage {
				t.Fatalf("%d bytes of a page without memory are handed out", hugePage-free)
			}
		}
	}
	if spare != l.spare {
		t.Fatalf("%d bytes with memory lie free, counted as %d", spare, l.spare)
	}
}

// What comes back is what is cut next, so that a program stays on the pages it has.
func TestSlabsReuse(t *testing.T) {
	var l slabs
	const size = 1280 << 10
	for range 100 {
		var all []piece
		for range 6 {
			all = append(all, l.cut(size, true))
		}
		for _, m := range all {
			l.put(m)
		}
	}
	if got := len(l.idle()); len(l.list) != 1 || got != pages(6*size) {
		t.Errorf("six pieces of %d bytes at a time lay on %d huge pages of %d slabs, want %d of 1", size, got, len(l.list), pages(6*size))
	}
}

// An allocator keeps the huge pages of slabs as it keeps regions, and gives back
// those of which nothing is in use.
func TestTrimSlabs(t *testing.T) {
	a := NewAllocator(0)
	defer a.Close()
	var all []piece
	for range 40 {
		all = append(all, a.slabs.cut(1<<20, true))
	}
	for i, m := range all {
		if i != 5 {
			a.slabs.put(m)
		}
	}
	for _, c := range []struct{ keep, want int }{{39 << 20, 39 << 20}, {20<<20 - 1, 19 << 20}, {0, 1 << 20}} {
		if a.trim(c.keep); a.slabs.spare != c.want {
			t.Errorf("trimmed to %d bytes: %d are left, want %d", c.keep, a.slabs.spare, c.want)
		}
	}
	a.slabs.put(all[5])
	if a.trim(0); a.slabs.spare != 0 || len(a.slabs.list) != 0 {
		t.Errorf("trimmed to nothing: %d bytes of %d slabs are left", a.slabs.spare, len(a.slabs.list))
	}
}
