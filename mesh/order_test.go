package mesh

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// chunks cuts a list as torch.chunk does, with empty lists for the parts that are missing.
func chunks(list []int, parts int) [][]int {
	var out [][]int
	for i := range parts {
		lo, hi := Block(len(list), parts, i)
		out = append(out, list[lo:hi])
	}
	return out
}

// stridedLocal returns the indices along dim 0 that the rank at a position holds, by the words
// of PyTorch's docstring: mesh dims from left to right, and a StridedShard takes of factor
// pieces its chunk of each.
func stridedLocal(m *Mesh, placements []Placement, n, pos int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	for i, p := range placements {
		if dim, ok := p.Shard(); !ok || dim != 0 {
			continue
		}
		factor := max(p.factor, 1)
		var mine []int
		for _, piece := range chunks(list, factor) {
			mine = append(mine, chunks(piece, m.shape[i])[m.index(pos, i)]...)
		}
		list = mine
	}
	return list
}

// The table of PyTorch's docstring of _StridedShard: 8 rows on (dp=2, tp=2).
func TestStridedShard(t *testing.T) {
	l := mustPlace(t, mustMesh(t, 2, 2), []int{8, 8}, StridedShard(0, 2), Shard(0))
	for r, want := range []string{"2@0", "2@4", "2@2", "2@6"} {
		if got := held(l, r, 0); got != want {
			t.Errorf("rank %d holds %v, want %v", r, got, want)
		}
	}
}

// Where sizes divide, a rank holds what PyTorch's reading from left to right gives it; and it
// always holds what the dims of the mesh, permuted to the order of cutting, give it.
func TestOrderIsPyTorchs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawMesh(t)
		cuts := rapid.SliceOfN(rapid.SampledFrom([]Placement{Shard(0), Replicate(), Shard(1)}), m.NDim(), m.NDim()).Draw(t, "cuts")
		order := rapid.Permutation(allDims(m)).Draw(t, "order")
		placements := InOrder(m, cuts, order)
		n := m.Size() * rapid.IntRange(0, 3).Draw(t, "each")
		l := mustPlace(t, m, []int{n, n}, placements...)
		for pos, rank := range m.ranks {
			b, _ := l.Box(rank)
			var got []int
			for i := b.Lo[0]; i < b.Hi[0]; i++ {
				got = append(got, i)
			}
			if want := stridedLocal(m, placements, n, pos); !slices.Equal(got, want) {
				t.Fatalf("rank %d of %v holds rows %v, want %v", rank, l, got, want)
			}
		}
		uneven := []int{rapid.IntRange(0, 20).Draw(t, "rows"), rapid.IntRange(0, 20).Draw(t, "columns")}
		permuted := make([]Placement, m.NDim())
		for k, i := range order {
			permuted[k] = cuts[i]
		}
		l, plain := mustPlace(t, m, uneven, placements...), mustPlace(t, m.Permute(order...), uneven, permuted...)
		for _, rank := range m.ranks {
			got, _ := l.Box(rank)
			if want, _ := plain.Box(rank); got.String() != want.String() {
				t.Fatalf("rank %d of %v holds %v, want %v as in %v", rank, l, got, want, plain)
			}
		}
	})
}

// An order makes placements that say it, and no two of them are of one layout.
func TestInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawMesh(t)
		cuts := rapid.SliceOfN(rapid.SampledFrom([]Placement{Shard(0), Replicate(), Shard(1)}), m.NDim(), m.NDim()).Draw(t, "cuts")
		placements := InOrder(m, cuts, rapid.Permutation(allDims(m)).Draw(t, "order"))
		l := mustPlace(t, m, []int{5, 6}, placements...)
		order, ofMesh := l.Order()
		if again := InOrder(m, cuts, order); !slices.Equal(again, placements) {
			t.Fatalf("%v in the order %v is %v", List(placements), order, List(again))
		}
		if ofMesh != slices.Equal(placements, cuts) {
			t.Fatalf("%v is in the order of the mesh: %v", List(placements), ofMesh)
		}
	})
}

func TestStridedShardRefuses(t *testing.T) {
	for _, c := range []struct {
		mesh       []int
		placements string
		want       string
	}{
		{[]int{2, 4}, "_S(0,2) S(0)", `for parameter "placements": got _StridedShard(0, split_factor=2) at index 0 of [_S(0, 2), S(0)], want split_factor=1 or 4 (it is in how many parts later dims of the mesh (2, 4) cut dim 0 before this one does)`},
		{[]int{2, 4}, "_S(0,4) S(1)", `for parameter "placements": got _StridedShard(0, split_factor=4) at index 0 of [_S(0, 4), S(1)], want split_factor=1 (it is in how many parts later dims of the mesh (2, 4) cut dim 0 before this one does)`},
		{[]int{2, 4}, "S(0) _S(0,2)", `for parameter "placements": got _StridedShard(0, split_factor=2) at index 1 of [S(0), _S(0, 2)], want split_factor=1 (it is in how many parts later dims of the mesh (2, 4) cut dim 0 before this one does)`},
		{[]int{2, 4}, "_S(2,4) S(0)", `for parameter "placements": got _StridedShard(2, split_factor=4) at index 0, want a dim in -2..1 (shape (8, 8))`},
	} {
		if _, err := Place(mustMesh(t, c.mesh...), []int{8, 8}, placements(t, c.placements)); err == nil || err.Error() != c.want {
			t.Errorf("%s: got error %v, want %v", c.placements, err, c.want)
		}
	}
}
