package mesh

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// held writes what rank holds along dim as size@offset.
func held(l *Placed, rank, dim int) string {
	return fmt.Sprintf("%d@%d", l.LocalShape(rank)[dim], l.Offset(rank)[dim])
}

// The nested splits of OLMo-core's dtensor_utils on a 2x4 mesh, with offsets
// added always.
func TestNestedShards(t *testing.T) {
	m := mustMesh(t, 2, 4)
	for _, c := range []struct {
		n    int
		want string
	}{
		{2, "1@0 0@1 0@1 0@1 1@1 0@2 0@2 0@2"},
		{5, "1@0 1@1 1@2 0@3 1@3 1@4 0@5 0@5"},
		{7, "1@0 1@1 1@2 1@3 1@4 1@5 1@6 0@7"},
		{8, "1@0 1@1 1@2 1@3 1@4 1@5 1@6 1@7"},
		{10, "2@0 2@2 1@4 0@5 2@5 2@7 1@9 0@10"},
		{13, "2@0 2@2 2@4 1@6 2@7 2@9 2@11 0@13"},
	} {
		l := mustPlace(t, m, []int{c.n}, Shard(0), Shard(0))
		var got []string
		for r := range 8 {
			got = append(got, held(l, r, 0))
		}
		if got := strings.Join(got, " "); got != c.want {
			t.Errorf("%d elements: got %v, want %v", c.n, got, c.want)
		}
	}
}

func TestUnevenShards(t *testing.T) {
	for _, c := range []struct {
		n, parts int
		want     string
	}{
		{10, 8, "2@0 2@2 2@4 2@6 2@8 0@10 0@10 0@10"},
		{7, 4, "2@0 2@2 2@4 1@6"},
		{5, 4, "2@0 2@2 1@4 0@5"},
		{2, 8, "1@0 1@1 0@2 0@2 0@2 0@2 0@2 0@2"},
		{13, 4, "4@0 4@4 4@8 1@12"},
		{14, 4, "4@0 4@4 4@8 2@12"},
		{0, 2, "0@0 0@0"},
	} {
		l := mustPlace(t, mustMesh(t, c.parts), []int{3, c.n}, Shard(-1))
		var got []string
		for r := range c.parts {
			got = append(got, held(l, r, 1))
			if held(l, r, 0) != "3@0" {
				t.Errorf("rank %d of %v holds %v of dim 0", r, l, held(l, r, 0))
			}
		}
		if got := strings.Join(got, " "); got != c.want {
			t.Errorf("%d elements in %d parts: got %v, want %v", c.n, c.parts, got, c.want)
		}
	}
}

// PyTorch's layouts of a 24x24 tensor on a 2x4 mesh.
func TestShardsOfTwoDims(t *testing.T) {
	m := mustMesh(t, 2, 4)
	for _, c := range []struct {
		placements []Placement
		shape      []int
		offset     func(i, j int) []int
	}{
		{[]Placement{Shard(0), Replicate()}, []int{12, 24}, func(i, j int) []int { return []int{12 * i, 0} }},
		{[]Placement{Shard(1), Replicate()}, []int{24, 12}, func(i, j int) []int { return []int{0, 12 * i} }},
		{[]Placement{Replicate(), Shard(0)}, []int{6, 24}, func(i, j int) []int { return []int{6 * j, 0} }},
		{[]Placement{Partial(Sum), Shard(1)}, []int{24, 6}, func(i, j int) []int { return []int{0, 6 * j} }},
		{[]Placement{Shard(0), Shard(1)}, []int{12, 6}, func(i, j int) []int { return []int{12 * i, 6 * j} }},
		{[]Placement{Shard(0), Shard(0)}, []int{3, 24}, func(i, j int) []int { return []int{12*i + 3*j, 0} }},
	} {
		l := mustPlace(t, m, []int{24, 24}, c.placements...)
		for r := range 8 {
			if got, want := l.Offset(r), c.offset(r/4, r%4); !slices.Equal(got, want) || !slices.Equal(l.LocalShape(r), c.shape) {
				t.Errorf("%v: rank %d holds %v at %v, want %v at %v", l, r, l.LocalShape(r), got, c.shape, want)
			}
		}
	}
}

// Seven rows cut 4 and 3, then 2, 2, 0 and 1, 1, 1.
func TestOffsetsOnTwoByThree(t *testing.T) {
	m := mustMesh(t, 2, 3)
	nested := mustPlace(t, m, []int{7, 5}, Shard(0), Shard(0))
	crossed := mustPlace(t, m, []int{7, 5}, Shard(1), Shard(0))
	for r, want := range []string{"2@0", "2@2", "0@4", "1@4", "1@5", "1@6"} {
		if got := held(nested, r, 0); got != want {
			t.Errorf("rank %d holds %v, want %v", r, got, want)
		}
		if got, want := held(crossed, r, 0), []string{"3@0", "3@3", "1@6"}[r%3]; got != want {
			t.Errorf("rank %d holds rows %v, want %v", r, got, want)
		}
		if got, want := held(crossed, r, 1), []string{"3@0", "2@3"}[r/3]; got != want {
			t.Errorf("rank %d holds columns %v, want %v", r, got, want)
		}
	}
	if _, ok := nested.Box(6); ok || nested.LocalShape(6) != nil || nested.Offset(6) != nil || nested.Boxes(6) != nil {
		t.Error("a rank outside the mesh holds something")
	}
}

// ColossalAI's block of an 8x8 matrix on four ranks as a 2x2 grid, the first
// digit the most significant; and grids along a dim of a larger mesh.
func TestGrid(t *testing.T) {
	l, err := Grid(mustMesh(t, 4), 0, []int{8, 8}, []int{0, 1}, []int{2, 2})
	if err != nil {
		t.Fatal(err)
	}
	for r, want := range []string{"[0:4, 0:4]", "[0:4, 4:8]", "[4:8, 0:4]", "[4:8, 4:8]"} {
		if got := l.Boxes(r)[0].String(); got != want {
			t.Errorf("rank %d holds %v, want %v", r, got, want)
		}
	}
	l, err = Grid(mustMesh(t, 2, 4), 1, []int{5, 3}, []int{-1, 0}, []int{2, 2})
	if err != nil {
		t.Fatal(err)
	}
	for r := range 8 {
		if got, want := l.Boxes(r)[0].String(), []string{"[0:3, 0:2]", "[3:5, 0:2]", "[0:3, 2:3]", "[3:5, 2:3]"}[r%4]; got != want {
			t.Errorf("rank %d holds %v, want %v", r, got, want)
		}
	}
	if l, err = Grid(mustMesh(t, 1), 0, []int{5}, nil, nil); err != nil || List(l.Placements()) != "[R]" {
		t.Errorf("a grid of no dims is %v, %v", l, err)
	}
	for _, c := range []struct {
		dims, parts []int
		want        string
	}{
		{[]int{0}, []int{2, 2}, `for parameter "num_partitions": got a list of 2, want 1 (one for each of dims)`},
		{[]int{0, 1}, []int{2, 3}, `for parameter "num_partitions": got [2, 3], want a product of 4 (the number of ranks in the group)`},
		{[]int{0}, []int{0}, `for parameter "num_partitions": got 0, want a positive int (that divides the ranks of the group)`},
		{[]int{2}, []int{4}, `for parameter "placements": got Shard(2) at index 0, want a dim in -2..1 (shape (8, 8))`},
	} {
		if _, err := Grid(mustMesh(t, 4), 0, []int{8, 8}, c.dims, c.parts); err == nil || err.Error() != c.want {
			t.Errorf("Grid(%v, %v): got error %v, want %v", c.dims, c.parts, err, c.want)
		}
	}
}

// ColossalAI's S10 on dim 0: the second mesh dim cuts first.
func TestPermutedShards(t *testing.T) {
	l := mustPlace(t, mustMesh(t, 2, 2).Permute(1, 0), []int{12, 5}, Shard(0), Shard(0))
	for r, want := range []string{"3@0", "3@6", "3@3", "3@9"} {
		if got := held(l, r, 0); got != want {
			t.Errorf("rank %d holds %v, want %v", r, got, want)
		}
	}
}

func TestReplicas(t *testing.T) {
	m := mustMesh(t, 2, 2, 2)
	l := mustPlace(t, m, []int{4}, Replicate(), Shard(0), Partial(Sum))
	for rank, want := range map[int][]int{0: {0, 4}, 1: {1, 5}, 6: {2, 6}, 8: nil} {
		if got := Replicas(l, rank); !slices.Equal(got, want) {
			t.Errorf("Replicas(%v, %d) = %v, want %v", l, rank, got, want)
		}
	}
}

func TestPlaceRefuses(t *testing.T) {
	m, err := New([]int{2, 2}, nil, []string{"dp", "tp"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		shape      []int
		placements []Placement
		want       string
	}{
		{[]int{3}, []Placement{Shard(0)}, `for parameter "placements": got a list of 1, want 2 (one for each dim of the mesh (dp=2, tp=2))`},
		{[]int{3}, []Placement{Shard(0), Shard(1)}, `for parameter "placements": got Shard(1) at index 1, want a dim in -1..0 (shape (3,))`},
		{[]int{-1}, []Placement{Shard(0), Shard(0)}, `for parameter "shape": got -1 at index 0, want a non-negative int`},
		{[]int{math.MaxInt, 0, 2}, []Placement{Shard(0), Shard(0)}, `for parameter "shape": got (9223372036854775807, 0, 2), want fewer than 2**59 elements`},
	} {
		if _, err := Place(m, c.shape, c.placements); err == nil || err.Error() != c.want {
			t.Errorf("Place(%v, %v): got error %v, want %v", c.shape, c.placements, err, c.want)
		}
	}
}

// Ranks compare what shape they state in a call: () has one form.
func TestShapeOfNoDimsIsNotNil(t *testing.T) {
	if l := mustPlace(t, mustMesh(t, 2), nil, Partial(Sum)); l.Shape() == nil {
		t.Error("got nil, want a shape of no dims")
	}
}

// The parts of a layout tile the tensor, ranks of one part hold the same, and
// each term of a sum is whole.
func TestLayoutTiles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := drawLayout(t, drawShape(t), true)
		held := map[[2]int][]int{} // by part and term
		terms := map[int][]int{}   // the elements of each
		for _, r := range l.Ranks() {
			part, term := l.at(r)
			mine := elements(l, r)
			theirs, seen := held[[2]int{part, term}]
			if seen && !slices.Equal(mine, theirs) {
				t.Fatalf("%v: ranks of part %d hold %v and %v", l, part, mine, theirs)
			}
			if !seen {
				held[[2]int{part, term}] = mine
				terms[term] = append(terms[term], mine...)
			}
		}
		for term, got := range terms {
			slices.Sort(got)
			if want := inside(whole(l.Shape()), l.Shape()); !slices.Equal(got, want) {
				t.Fatalf("%v: term %d holds %v, want %v", l, term, got, want)
			}
		}
	})
}

// whole returns the box of a tensor of a shape.
func whole(shape []int) Box {
	b := newBox(len(shape))
	copy(b.Hi, shape)
	return b
}

// drawShape draws a shape of at most 3 dims.
func drawShape(t *rapid.T) []int {
	return rapid.SliceOfN(rapid.SampledFrom([]int{5, 3, 4, 2, 7, 1, 0}), 0, 3).Draw(t, "shape")
}

// drawLayout draws a layout of a tensor of a shape.
func drawLayout(t *rapid.T, shape []int, partial bool) Layout {
	if rapid.IntRange(0, 3).Draw(t, "flat") == 0 {
		return drawFlat(t, shape)
	}
	return drawPlaced(t, drawMesh(t), shape, partial)
}

func drawPlaced(t *rapid.T, m *Mesh, shape []int, partial bool) *Placed {
	choices := []Placement{Replicate()}
	for d := range shape {
		choices = append(choices, Shard(d))
	}
	if partial {
		choices = append(choices, Partial(Sum))
	}
	return mustPlace(t, m, shape, rapid.SliceOfN(rapid.SampledFrom(choices), m.NDim(), m.NDim()).Draw(t, "placements")...)
}

// drawFlat draws ranges that hold every element once, in any order.
func drawFlat(t *rapid.T, shape []int) *Flat {
	n := numel(shape)
	edges := append(rapid.SliceOfN(rapid.IntRange(0, n), 0, 6).Draw(t, "edges"), 0, n)
	slices.Sort(edges)
	ranks := rapid.Permutation([]int{0, 1, 2, 3, 4, 12}).Draw(t, "ranks")
	ranges := make([][]Range, len(ranks))
	var all []Range
	for i, hi := range edges[1:] {
		all = append(all, Range{edges[i], hi})
	}
	for _, r := range rapid.Permutation(all).Draw(t, "ranges") {
		i := rapid.IntRange(0, len(ranks)-1).Draw(t, "rank")
		ranges[i] = append(ranges[i], r)
	}
	f, err := NewFlat(shape, ranks, ranges)
	if err != nil {
		t.Fatalf("NewFlat(%v, %v, %v): %v", shape, ranks, ranges, err)
	}
	return f
}
