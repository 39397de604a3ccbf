package pattern

import (
	"slices"
	"sort"
	"sync"
	"unicode"
	"unicode/utf8"
)

// ranges are characters, as pairs of a first and a last one: sorted, and no two
// pairs touch.
type ranges []rune

// normal returns the characters of pairs in any order.
func normal(pairs ...rune) ranges {
	at := make([]int, 0, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		at = append(at, i)
	}
	sort.Slice(at, func(a, b int) bool { return pairs[at[a]] < pairs[at[b]] })
	var out ranges
	for _, i := range at {
		lo, hi := pairs[i], pairs[i+1]
		if n := len(out); n > 0 && lo <= out[n-1]+1 {
			out[n-1] = max(out[n-1], hi)
			continue
		}
		out = append(out, lo, hi)
	}
	return out
}

func union(a, b ranges) ranges { return normal(slices.Concat(a, b)...) }

// not returns all other characters.
func (r ranges) not() ranges {
	var out ranges
	next := rune(0)
	for i := 0; i < len(r); i += 2 {
		if next < r[i] {
			out = append(out, next, r[i]-1)
		}
		next = r[i+1] + 1
	}
	if next <= unicode.MaxRune {
		out = append(out, next, unicode.MaxRune)
	}
	return out
}

func intersection(a, b ranges) ranges { return union(a.not(), b.not()).not() }

func (r ranges) has(c rune) bool {
	i := sort.Search(len(r)/2, func(i int) bool { return r[2*i+1] >= c })
	return 2*i < len(r) && r[2*i] <= c
}

// ofTables returns the characters of some tables.
func ofTables(tables ...*unicode.RangeTable) ranges {
	var pairs []rune
	add := func(lo, hi, stride rune) {
		if stride == 1 {
			pairs = append(pairs, lo, hi)
			return
		}
		for c := lo; c <= hi; c += stride {
			pairs = append(pairs, c, c)
		}
	}
	for _, t := range tables {
		for _, r := range t.R16 {
			add(rune(r.Lo), rune(r.Hi), rune(r.Stride))
		}
		for _, r := range t.R32 {
			add(rune(r.Lo), rune(r.Hi), rune(r.Stride))
		}
	}
	return normal(pairs...)
}

// cased returns all characters that have another case.
var cased = sync.OnceValue(func() []rune {
	var out []rune
	for _, c := range []*unicode.RangeTable{unicode.L, unicode.M, unicode.Nl, unicode.So} {
		for _, each := range [][]rune{ofTables(c)} {
			for i := 0; i < len(each); i += 2 {
				for r := each[i]; r <= each[i+1]; r++ {
					if unicode.SimpleFold(r) != r {
						out = append(out, r)
					}
				}
			}
		}
	}
	return out
})

// folded returns the characters of r and their other cases.
func (r ranges) folded() ranges {
	pairs := slices.Clone(r)
	for _, c := range cased() {
		if r.has(c) {
			for f := unicode.SimpleFold(c); f != c; f = unicode.SimpleFold(f) {
				pairs = append(pairs, f, f)
			}
		}
	}
	return normal(pairs...)
}

// pageSize is the number of characters in a page of a Set.
const pageSize = 256

type page [pageSize / 64]uint64

// A Set is a set of characters that answers at once, whatever its size.
type Set struct {
	low   page // the first page
	index []uint16
	pages []page
}

// newSet returns the set of the characters r.
func newSet(r ranges) *Set {
	s := &Set{index: make([]uint16, (unicode.MaxRune+1)/pageSize)}
	seen := map[page]uint16{}
	i := 0
	for n := range s.index {
		var p page
		lo, hi := rune(n*pageSize), rune(n*pageSize+pageSize-1)
		for i < len(r) && r[i+1] < lo {
			i += 2
		}
		for k := i; k < len(r) && r[k] <= hi; k += 2 {
			for c := max(lo, r[k]); c <= min(hi, r[k+1]); c++ {
				p[c%pageSize/64] |= 1 << (c % 64)
			}
		}
		at, ok := seen[p]
		if !ok {
			at = uint16(len(s.pages))
			seen[p] = at
			s.pages = append(s.pages, p)
		}
		s.index[n] = at
	}
	s.low = s.pages[s.index[0]]
	return s
}

// NewSet returns the set that a class of a pattern describes, such as [\p{L}_].
// It panics where Compile would return an error.
func NewSet(class string) *Set {
	p := parser{s: class}
	n, err := p.parse()
	if err != nil || n.kind != kindSet {
		panic("pattern: NewSet: " + class)
	}
	return newSet(n.set)
}

// Has reports whether c is in the set.
func (s *Set) Has(c rune) bool {
	if uint32(c) < pageSize {
		return s.low[c/64]>>(c%64)&1 != 0
	}
	if uint32(c) > unicode.MaxRune {
		return false
	}
	return s.pages[s.index[c/pageSize]][c%pageSize/64]>>(c%64)&1 != 0
}

// at returns the size of the character at s[i:] if it is in the set, else 0.
func (s *Set) at(text string, i int) int {
	if i >= len(text) {
		return 0
	}
	if c := text[i]; c < utf8.RuneSelf {
		return int(s.low[c/64] >> (c % 64) & 1)
	}
	c, size := utf8.DecodeRuneInString(text[i:])
	if s.Has(c) {
		return size
	}
	return 0
}
