package tensor

import (
	"cmp"
	"slices"

	"tpsh/internal/allowance"
)

const (
	// hugePage is the size of the large pages of memory that processors have.
	hugePage = 2 << 20
	// slabSize is a multiple of hugePage.
	slabSize = 32 << 20
)

// A slab is address space that regions are cut from, so that those of less than a
// huge page, and the ends of larger ones, lie on huge pages too. Every cut is made
// where it lies lowest, and so much of a slab that is not used never takes memory.
type slab struct {
	bytes []byte
	gaps  []gap                     // what is not handed out, ascending, none touching another
	there [slabSize / hugePage]bool // the huge pages that have memory
}

// A gap is the bytes from lo to before hi of a slab.
type gap struct{ lo, hi int }

// A piece is the memory of a region.
type piece struct {
	bytes []byte
	slab  *slab // where it was cut from; nil if it was mapped by itself
	lo    int   // its first byte in slab
}

// slabs are all slabs of an allocator.
type slabs struct {
	list  []*slab
	spare int // bytes in gaps that have memory
}

// cut returns a piece of size bytes. Unless fresh is true it is one that has
// memory already. It returns the zero piece if there is none.
func (l *slabs) cut(size int, fresh bool) piece {
	for _, s := range l.list {
		if i := s.find(size, fresh); i >= 0 {
			return l.take(s, i, size)
		}
	}
	if !fresh {
		return piece{}
	}
	bytes, err := mapRegion(slabSize)
	if err != nil {
		return piece{}
	}
	s := &slab{bytes: bytes, gaps: []gap{{0, slabSize}}}
	l.list = append(l.list, s)
	return l.take(s, 0, size)
}

// has reports whether a piece of size bytes has memory already.
func (l *slabs) has(size int) bool {
	return slices.ContainsFunc(l.list, func(s *slab) bool { return s.find(size, false) >= 0 })
}

// find returns the index of the first gap from which size bytes can be cut, which
// have memory unless fresh is true; -1 if there is none.
func (s *slab) find(size int, fresh bool) int {
	return slices.IndexFunc(s.gaps, func(g gap) bool {
		return g.hi-g.lo >= size && (fresh || !slices.Contains(s.there[g.lo/hugePage:pages(g.lo+size)], false))
	})
}

// pages returns how many huge pages n bytes take.
func pages(n int) int { return (n + hugePage - 1) / hugePage }

// take cuts size bytes from the beginning of gap i of s.
func (l *slabs) take(s *slab, i, size int) piece {
	lo := s.gaps[i].lo
	hi := lo + size
	if s.gaps[i].lo = hi; hi == s.gaps[i].hi {
		s.gaps = slices.Delete(s.gaps, i, i+1)
	}
	for p := lo / hugePage; p < pages(hi); p++ {
		if !s.there[p] {
			s.there[p] = true
			l.spare += hugePage
			allowance.Take(hugePage)
		}
	}
	l.spare -= size
	return piece{s.bytes[lo:hi:hi], s, lo}
}

// put takes back a piece that was cut.
func (l *slabs) put(m piece) {
	s, g := m.slab, gap{m.lo, m.lo + len(m.bytes)}
	i, _ := slices.BinarySearchFunc(s.gaps, g, func(a, b gap) int { return cmp.Compare(a.lo, b.lo) })
	first, last := i, i // the gaps that g becomes one with
	if i > 0 && s.gaps[i-1].hi == g.lo {
		first--
		g.lo = s.gaps[first].lo
	}
	if i < len(s.gaps) && s.gaps[i].lo == g.hi {
		g.hi = s.gaps[i].hi
		last++
	}
	s.gaps = slices.Replace(s.gaps, first, last, g)
	l.spare += len(m.bytes)
}

// idle returns the huge pages that have memory, though nothing of them is handed
// out, in the order in which they are cut from.
func (l *slabs) idle() []piece {
	var list []piece
	for _, s := range l.list {
		for _, g := range s.gaps {
			for p := pages(g.lo); p < g.hi/hugePage; p++ {
				if lo := p * hugePage; s.there[p] {
					list = append(list, piece{s.bytes[lo : lo+hugePage], s, lo})
				}
			}
		}
	}
	return list
}

// drop gives the memory of an idle page back to the operating system.
func (l *slabs) drop(page piece) {
	discard(page.bytes)
	page.slab.there[page.lo/hugePage] = false
	l.spare -= hugePage
	allowance.Take(-hugePage)
}

// unmap gives back the address space of slabs that have no memory.
func (l *slabs) unmap() {
	l.list = slices.DeleteFunc(l.list, func(s *slab) bool {
		empty := !slices.Contains(s.there[:], true)
		if empty {
			unmapRegion(s.bytes)
		}
		return empty
	})
}
