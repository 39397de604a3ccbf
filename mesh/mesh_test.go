package mesh

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestNewRefuses(t *testing.T) {
	for _, c := range []struct {
		shape, ranks []int
		names        []string
		want         string
	}{
		{nil, nil, nil, `for parameter "mesh": got no dims, want at least one`},
		{[]int{2, 0}, nil, nil, `for parameter "mesh": got size 0 of dim 1, want a positive int (a mesh holds at least one rank)`},
		{[]int{2, 2}, []int{0, 1, 2}, nil, `for parameter "mesh": got 3 ranks, want 4 (shape (2, 2))`},
		{[]int{math.MaxInt, math.MaxInt}, nil, nil, `for parameter "mesh": got shape (9223372036854775807, 9223372036854775807), want at most 1048576 ranks`},
		{[]int{2, 2}, []int{0, 1, 0, 2}, nil, `for parameter "mesh": got rank 0 at (0, 0) and (1, 0), want every rank at most once`},
		{[]int{2}, []int{0, -1}, nil, `for parameter "mesh": got rank -1 at (1,), want non-negative ranks`},
		{[]int{2}, nil, []string{"dp", "tp"}, `for parameter "mesh_dim_names": got a list of 2, want 1 (one for each dim of the mesh)`},
		{[]int{2, 2}, nil, []string{"dp", "dp"}, `for parameter "mesh_dim_names": got "dp" twice, want different names`},
		{[]int{1}, nil, []string{""}, `for parameter "mesh_dim_names": got "" at index 0, want a name`},
	} {
		if _, err := New(c.shape, c.ranks, c.names); err == nil || err.Error() != c.want {
			t.Errorf("New(%v, %v, %v): got error %v, want %v", c.shape, c.ranks, c.names, err, c.want)
		}
	}
	m := mustMesh(t, 2, 2)
	for _, c := range []struct {
		alpha, beta []float64
		want        string
	}{
		{[]float64{1}, nil, `for parameter "mesh_alpha": got a list of 1, want 2 (one for each dim of the mesh)`},
		{nil, []float64{1, math.NaN()}, `for parameter "mesh_beta": got NaN at index 1, want a finite number that is not negative`},
		{[]float64{-1, 1}, nil, `for parameter "mesh_alpha": got -1 at index 0, want a finite number that is not negative`},
	} {
		if _, err := m.WithCosts(c.alpha, c.beta); err == nil || err.Error() != c.want {
			t.Errorf("WithCosts(%v, %v): got error %v, want %v", c.alpha, c.beta, err, c.want)
		}
	}
}

func TestMesh(t *testing.T) {
	m, err := New([]int{2, 3}, []int{5, 3, 1, 4, 2, 0}, []string{"dp", "tp"})
	if err != nil {
		t.Fatal(err)
	}
	m, err = m.WithCosts([]float64{1, 2}, []float64{3, 4})
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string, got, want any) {
		t.Helper()
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s = %v, want %v", what, got, want)
		}
	}
	check("Coordinate(4)", m.Coordinate(4), []int{1, 0})
	check("Coordinate(6)", m.Coordinate(6), []int(nil))
	pos, ok := m.Position(4)
	check("Position(4)", []any{pos, ok}, []any{3, true})
	check("Line(2, 0)", m.Line(2, 0), []int{3, 2})
	check("Line(2, 1)", m.Line(2, 1), []int{4, 2, 0})
	check("Line(2, 0, 1)", m.Line(2, 0, 1), m.Ranks())
	check("Line(2)", m.Line(2), []int{2})
	check("Line(6, 0)", m.Line(6, 0), []int(nil))
	check("Lines(0)", m.Lines(0), [][]int{{5, 4}, {3, 2}, {1, 0}})
	check("Lines(1)", m.Lines(1), [][]int{{5, 3, 1}, {4, 2, 0}})
	sub := m.Sub(3, 1)
	check("Sub(3, 1)", sub.String(), `DeviceMesh([5, 3, 1], mesh_dim_names=("tp",))`)
	check("costs of Sub(3, 1)", []float64{sub.alpha[0], sub.beta[0]}, []float64{2, 4})
	check("Sub(6, 1)", m.Sub(6, 1), (*Mesh)(nil))
	flat := m.Flatten()
	check("Flatten()", flat.String(), `DeviceMesh([5, 3, 1, 4, 2, 0], mesh_dim_names=("dp_tp",))`)
	check("costs of Flatten()", []float64{flat.alpha[0], flat.beta[0]}, []float64{2, 4})
	cube := mustMesh(t, 2, 2, 2).withCosts([]float64{1, 3, 2}, []float64{6, 4, 5})
	joined := cube.Join([]int{1, 2}, []string{"a", "bc"})
	check("Join(1, 2)", joined.String(), `DeviceMesh([[0, 1, 2, 3], [4, 5, 6, 7]], mesh_dim_names=("a", "bc"))`)
	check("costs of Join(1, 2)", [][]float64{joined.alpha, joined.beta}, [][]float64{{1, 3}, {6, 5}})
	check("Permute(1, 0)", m.Permute(1, 0).String(), `DeviceMesh([[5, 4], [3, 2], [1, 0]], mesh_dim_names=("tp", "dp"))`)
	split := mustMesh(t, 2, 4).Split(1, []int{2, 2})
	check("Split(1, 2x2)", split.String(), "DeviceMesh([[[0, 1], [2, 3]], [[4, 5], [6, 7]]])")
	check("names of Split(1, 3x1)", m.Split(1, []int{3, 1}).Names(), []string{"dp", "tp_0", "tp_1"})
	check("costs of Split(1, 3x1)", m.Split(1, []int{3, 1}).alpha, []float64{1, 2, 2})
	check("Short()", m.Short(), "(dp=2, tp=3)")
	dim, ok := m.Dim("tp")
	check(`Dim("tp")`, []any{dim, ok}, []any{1, true})
	if _, ok := m.Dim("pp"); ok {
		t.Error(`Dim("pp") is there`)
	}
}

// Two meshes are equal if all that tells them apart is.
func TestMeshEqual(t *testing.T) {
	named := func(names ...string) *Mesh {
		m, err := New([]int{2, 2}, nil, names)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	costs := func(m *Mesh, alpha, beta []float64) *Mesh {
		n, err := m.WithCosts(alpha, beta)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	all := []*Mesh{
		mustMesh(t, 2, 2), mustMesh(t, 4), mustMesh(t, 2, 2).Permute(1, 0), mustMesh(t, 1, 4), mustMesh(t, 4, 1),
		named("a", "b"), named("b", "a"), named("ab", "c"), named("a", "bc"),
		costs(mustMesh(t, 2, 2), []float64{1, 1}, nil), costs(mustMesh(t, 2, 2), nil, []float64{1, 1}), costs(mustMesh(t, 2, 2), []float64{1, 2}, nil),
	}
	for i, m := range all {
		for j, n := range all {
			if m.Equal(n) != (i == j) {
				t.Errorf("%v.Equal(%v) = %v", m, n, i != j)
			}
		}
	}
	if !named("a", "b").Equal(named("a", "b")) {
		t.Error("equal meshes differ")
	}
}

// The lines along dims divide the mesh, each is that of all its ranks, and
// within it only the indices along dims differ, counting up.
func TestLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawMesh(t)
		var dims []int
		for d := range m.NDim() {
			if rapid.Bool().Draw(t, "in") {
				dims = append(dims, d)
			}
		}
		var seen []int
		for _, line := range m.Lines(dims...) {
			seen = append(seen, line...)
			for i, rank := range line {
				if !slices.Equal(m.Line(rank, dims...), line) {
					t.Fatalf("%v: Line(%d, %v) = %v, want %v", m, rank, dims, m.Line(rank, dims...), line)
				}
				c := m.Coordinate(rank)
				at := 0
				for _, d := range dims {
					at = at*m.Shape()[d] + c[d]
				}
				if at != i {
					t.Fatalf("%v: rank %d is number %d along %v, want %d", m, rank, i, dims, at)
				}
			}
		}
		slices.Sort(seen)
		if want := slices.Sorted(slices.Values(m.Ranks())); !slices.Equal(seen, want) {
			t.Fatalf("%v: the lines along %v hold %v", m, dims, seen)
		}
	})
}

// drawMesh draws a mesh of at most 3 dims and 12 ranks, in any order.
func drawMesh(t *rapid.T) *Mesh {
	shape := rapid.SampledFrom([][]int{{2, 3}, {2, 2}, {4}, {2, 2, 2}, {4, 2}, {3}, {3, 2, 2}, {7}, {2, 1, 3}, {2}, {1, 3}, {1}}).Draw(t, "mesh")
	ranks := rapid.Permutation([]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}).Draw(t, "ranks")
	m, err := New(shape, ranks[:numel(shape)], nil)
	if err != nil {
		t.Fatal(err)
	}
	return m
}
