package mesh

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// Blocks of an axis tile it: they start at 0, touch, and end at n; all but
// the last that is not empty have ceil(n/parts) elements.
func TestBlockTiles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, parts := rapid.IntRange(0, 100).Draw(t, "n"), rapid.IntRange(1, 16).Draw(t, "parts")
		size, next := (n+parts-1)/parts, 0
		for i := range parts {
			lo, hi := Block(n, parts, i)
			if lo != next || hi < lo {
				t.Fatalf("Block(%d, %d, %d) = [%d, %d), want it to start at %d", n, parts, i, lo, hi, next)
			}
			if hi-lo > size || hi-lo < size && hi != n {
				t.Fatalf("Block(%d, %d, %d) = [%d, %d), want %d elements or to end at %d", n, parts, i, lo, hi, size, n)
			}
			next = hi
		}
		if next != n {
			t.Fatalf("the blocks of %d in %d parts end at %d", n, parts, next)
		}
	})
}

func TestBlock(t *testing.T) {
	for _, c := range []struct{ n, parts, i, lo, hi int }{
		{9, 4, 0, 0, 3},
		{9, 4, 2, 6, 9},
		{9, 4, 3, 9, 9},
		{10, 4, 3, 9, 10},
		{2, 8, 1, 1, 2},
		{2, 8, 7, 2, 2},
		{0, 3, 2, 0, 0},
		{math.MaxInt, 2, 1, math.MaxInt/2 + 1, math.MaxInt},
		{1, math.MaxInt, math.MaxInt - 1, 1, 1},
	} {
		if lo, hi := Block(c.n, c.parts, c.i); lo != c.lo || hi != c.hi {
			t.Errorf("Block(%d, %d, %d) = [%d, %d), want [%d, %d)", c.n, c.parts, c.i, lo, hi, c.lo, c.hi)
		}
	}
}

func TestBlockPanics(t *testing.T) {
	for _, c := range []struct{ n, parts, i int }{{-1, 2, 0}, {4, 0, 0}, {4, 2, 2}, {4, 2, -1}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("Block(%d, %d, %d) did not panic", c.n, c.parts, c.i)
				}
			}()
			Block(c.n, c.parts, c.i)
		}()
	}
}
