package kernel

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// AddRows is the adjoint of TakeRows: the products with rows taken are those
// with what was added.
func TestRowsAdjoint(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows, n := rapid.IntRange(1, 5).Draw(t, "rows"), rapid.IntRange(0, 4).Draw(t, "n")
		ids := rapid.SliceOfN(rapid.Int64Range(0, int64(rows)-1), 0, 6).Draw(t, "ids")
		table, g := wide(floats32(t, "table", rows*n, 8)), wide(floats32(t, "g", len(ids)*n, 8))
		taken, added := make([]float64, len(g)), make([]float64, len(table))
		TakeRows(taken, table, ids, n)
		AddRows(added, g, ids, n)
		left, right := 0.0, 0.0
		for i := range g {
			left += taken[i] * g[i]
		}
		for i := range table {
			right += table[i] * added[i]
		}
		near(t, "product", []float64{left}, []float64{right}, 1e-12, 100)
		for i, id := range ids {
			if !slices.Equal(taken[i*n:(i+1)*n], table[int(id)*n:(int(id)+1)*n]) {
				t.Fatalf("row %d is %v, want row %d of %v", i, taken[i*n:(i+1)*n], id, table)
			}
		}
	})
}

func TestBags(t *testing.T) {
	table := []float32{1, 9, 2, 8, 3, 7} // rows of 2
	ids, bag, scale := []int64{2, 0, 1, 0}, []int64{0, 0, 2, 2}, []float32{1, 2, 0, 1}
	sums := make([]float32, 6)
	SumBags(sums, table, scale, ids, bag, 2)
	if want := []float32{5, 25, 0, 0, 1, 9}; !slices.Equal(sums, want) {
		t.Errorf("SumBags: got %v, want %v", sums, want)
	}
	tops, winner := make([]float32, 6), []int64{-1, -1, -1, -1, -1, -1}
	MaxBags(tops, winner, table, scale, ids, bag, 2)
	if want := []float32{3, 9, 0, 0, 1, 9}; !slices.Equal(tops, want) {
		t.Errorf("MaxBags: got %v, want %v", tops, want)
	}
	if want := []int64{2, 0, -1, -1, 0, 0}; !slices.Equal(winner, want) {
		t.Errorf("MaxBags: winners %v, want %v", winner, want)
	}
}
