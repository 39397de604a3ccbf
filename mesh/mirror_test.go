package mesh

import (
	"testing"

	"pgregory.net/rapid"
)

// Of a tensor and of its mirror image ranks exchange what they lack, whatever the
// sizes of the blocks; the mirror image of a mirror image is the tensor.
func TestMirrored(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, err := New([]int{rapid.IntRange(1, 3).Draw(t, "rows"), rapid.IntRange(1, 3).Draw(t, "cols")}, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		shape := []int{rapid.IntRange(0, 7).Draw(t, "m"), rapid.IntRange(0, 7).Draw(t, "n")}
		placement := rapid.SampledFrom(valuePlacements())
		l, err := Place(m, shape, []Placement{placement.Draw(t, "0"), placement.Draw(t, "1")})
		if err != nil {
			t.Fatal(err)
		}
		dims := []bool{rapid.Bool().Draw(t, "flip0"), rapid.Bool().Draw(t, "flip1")}
		r := NewMirrored(l, dims)
		x, err := NewExchange(l, r, nil)
		if err != nil {
			t.Fatalf("from %v to %v: %v", l, r, err)
		}
		for _, rank := range m.Ranks() {
			if _, got := x.Traffic(rank); got != Lacks(l, r, rank) {
				t.Fatalf("rank %d receives %d elements, want the %d that it lacks", rank, got, Lacks(l, r, rank))
			}
			box, _ := l.Box(rank)
			image := r.Boxes(rank)[0]
			for d, n := range shape {
				lo, hi := image.Lo[d], image.Hi[d]
				if dims[d] {
					lo, hi = n-hi, n-lo
				}
				if lo != box.Lo[d] || hi != box.Hi[d] {
					t.Fatalf("rank %d: dim %d of the image of %v's image is [%d, %d), want [%d, %d)", rank, d, l, lo, hi, box.Lo[d], box.Hi[d])
				}
			}
		}
	})
}
