package mesh

import (
	"testing"

	"pgregory.net/rapid"
)

// The blocks of a window are those of the tensor, cut and counted from where the
// window begins: an exchange takes them to any layout of the window's shape, each
// rank receiving what it lacks.
func TestWindow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, err := New([]int{rapid.IntRange(1, 3).Draw(t, "rows"), rapid.IntRange(1, 3).Draw(t, "cols")}, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		shape := []int{rapid.IntRange(0, 7).Draw(t, "m"), rapid.IntRange(0, 7).Draw(t, "n")}
		placement := rapid.SampledFrom(valuePlacements())
		pair := func(name string) []Placement {
			return []Placement{placement.Draw(t, name+"0"), placement.Draw(t, name+"1")}
		}
		l, err := Place(m, shape, pair("of"))
		if err != nil {
			t.Fatal(err)
		}
		box := newBox(2)
		for d, n := range shape {
			box.Lo[d] = rapid.IntRange(0, n).Draw(t, "lo")
			box.Hi[d] = rapid.IntRange(box.Lo[d], n).Draw(t, "hi")
		}
		w := NewWindow(l, box)
		dst, err := Place(m, w.Shape(), pair("to"))
		if err != nil {
			t.Fatal(err)
		}
		x, err := NewExchange(w, dst, nil)
		if err != nil {
			t.Fatalf("from %v to %v: %v", w, dst, err)
		}
		for _, r := range m.Ranks() {
			if _, got := x.Traffic(r); got != Lacks(w, dst, r) {
				t.Fatalf("rank %d receives %d elements, want the %d that it lacks", r, got, Lacks(w, dst, r))
			}
		}
	})
}
