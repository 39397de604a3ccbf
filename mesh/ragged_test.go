package mesh

import (
	"testing"

	"pgregory.net/rapid"
)

// Blocks by units cover a dim, each its share, and every redistribution from and to them is
// planned and moves what the boxes say.
func TestRagged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, err := New([]int{rapid.IntRange(1, 4).Draw(t, "ranks"), 2}, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		draw := func(label string) []Placement {
			units := rapid.SliceOfN(rapid.IntRange(0, 3), m.shape[0], m.shape[0]).Draw(t, label)
			p, err := RaggedShard([]int{0}, append(units[1:], 1))
			if err != nil {
				t.Fatal(err)
			}
			return []Placement{p, rapid.SampledFrom([]Placement{Replicate(), Shard(1), Shard(0)}).Draw(t, label+"'s second")}
		}
		from, to := draw("from"), draw("to")
		shape := []int{from[0].Rows() * to[0].Rows() * rapid.IntRange(0, 2).Draw(t, "rows"), 3}
		src, err := Place(m, shape, from)
		if err != nil {
			t.Fatal(err)
		}
		dst, err := Place(m, shape, to)
		if err != nil {
			t.Fatal(err)
		}
		_, units, _ := from[0].Units()
		at, sum := 0, 0
		for _, n := range units {
			sum += n
		}
		for i, n := range units {
			lo, hi := from[0].Cut(shape[0], len(units), i)
			if lo != at || (hi-lo)*sum != n*shape[0] {
				t.Fatalf("block %d of %v is [%d, %d) of %d", i, from[0], lo, hi, shape[0])
			}
			at = hi
		}
		checkPlan(t, src, dst, 4)
	})
}

// Units that do not fit are refused in words.
func TestRaggedErrors(t *testing.T) {
	m, err := New([]int{2}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	p, _ := RaggedShard([]int{0, 1}, []int{1, 2})
	for _, c := range []struct {
		shape []int
		want  string
	}{
		{[]int{3}, `for parameter "placements": got RaggedShard(dims=(0, 1), local_units=(1, 2)) at index 0, want at most 1 dims (shape (3,))`},
		{[]int{4, 3}, `for parameter "placements": got RaggedShard(dims=(0, 1), local_units=(1, 2)) at index 0, want blocks of whole rows (the units need a multiple of 3 rows of dim 0, of which (4, 3) leaves 4)`},
		{[]int{6, 3}, ""},
	} {
		_, err := Place(m, c.shape, []Placement{p})
		if got := ""; err != nil {
			if got = err.Error(); got != c.want {
				t.Errorf("%v: got %q, want %q", c.shape, got, c.want)
			}
		} else if c.want != "" {
			t.Errorf("%v: got no error, want %q", c.shape, c.want)
		}
	}
}
