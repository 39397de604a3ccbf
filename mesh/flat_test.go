package mesh

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// OLMo-core's default ranges, with the ends of empty ones kept within bounds.
func TestEvenRanges(t *testing.T) {
	for _, c := range []struct {
		n, parts int
		want     string
	}{
		{6, 2, "[[(0, 3)] [(3, 6)]]"},
		{7, 3, "[[(0, 3)] [(3, 6)] [(6, 7)]]"},
		{6, 4, "[[(0, 2)] [(2, 4)] [(4, 6)] [(6, 6)]]"},
		{5, 4, "[[(0, 2)] [(2, 4)] [(4, 5)] [(5, 5)]]"},
		{1, 3, "[[(0, 1)] [(1, 1)] [(1, 1)]]"},
		{0, 2, "[[(0, 0)] [(0, 0)]]"},
	} {
		if got := fmt.Sprint(EvenRanges(c.n, c.parts)); got != c.want {
			t.Errorf("EvenRanges(%d, %d) = %v, want %v", c.n, c.parts, got, c.want)
		}
	}
}

func TestFlat(t *testing.T) {
	f, err := NewFlat([]int{2, 4}, []int{5, 0, 2}, [][]Range{{{6, 8}, {0, 5}}, {}, {{5, 6}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		rank, numel int
		boxes       string
	}{
		{5, 7, "[[1:2, 2:4] [0:1, 0:4] [1:2, 0:1]]"},
		{0, 0, "[]"},
		{2, 1, "[[1:2, 1:2]]"},
		{1, 0, "[]"},
	} {
		if got := fmt.Sprint(f.Boxes(c.rank)); got != c.boxes || f.Numel(c.rank) != c.numel {
			t.Errorf("rank %d holds %d elements %v, want %d %v", c.rank, f.Numel(c.rank), got, c.numel, c.boxes)
		}
	}
}

func TestNewFlatRefuses(t *testing.T) {
	for _, c := range []struct {
		ranges [][]Range
		want   string
	}{
		{[][]Range{{{0, 4}}, {{4, 7}}}, "got ranges of 7 elements, want 8 (shape (2, 4))"},
		{[][]Range{{{0, 5}}, {{4, 7}}}, "got (0, 5) and (4, 7), want ranges without a common element"},
		{[][]Range{{{0, 4}}, {{4, 3}}}, "got (4, 3), want a start and an end in order within 0..8 (shape (2, 4))"},
		{[][]Range{{{0, 4}}, {{5, 9}}}, "got (5, 9), want a start and an end in order within 0..8 (shape (2, 4))"},
		{[][]Range{{{0, 8}}}, "got a list of 1, want 2 (one list for each rank of the group)"},
	} {
		want := `for parameter "unsharded_flattened_offsets": ` + c.want
		if _, err := NewFlat([]int{2, 4}, []int{0, 1}, c.ranges); err == nil || err.Error() != want {
			t.Errorf("NewFlat(%v): got error %v, want %v", c.ranges, err, want)
		}
	}
	if _, err := NewFlat([]int{2}, []int{3, 3}, [][]Range{{{0, 1}}, {{1, 2}}}); err == nil {
		t.Error("NewFlat takes a rank twice")
	}
}

// The boxes of a rank hold its ranges, in the order stored, and are few.
func TestFlatBoxes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFlat(t, drawShape(t))
		for _, r := range f.Ranks() {
			var want []int
			for _, x := range f.Ranges(r) {
				for e := x.Lo; e < x.Hi; e++ {
					want = append(want, e)
				}
			}
			if got := elements(f, r); !slices.Equal(got, want) {
				t.Fatalf("ranges %v of %v: the boxes %v hold %v", f.Ranges(r), f.Shape(), f.Boxes(r), got)
			}
			if most := max(2*len(f.Shape())-1, 1) * len(f.Ranges(r)); len(f.Boxes(r)) > most {
				t.Fatalf("ranges %v of %v: %d boxes, want at most %d", f.Ranges(r), f.Shape(), len(f.Boxes(r)), most)
			}
		}
	})
}
