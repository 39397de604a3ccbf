package kernel

import (
	"math"
	"math/rand/v2"
	"testing"

	"tpsh/runtime/dtype"
)

// Distances are those of the definition, of rows longer than a block and of numbers of rows that
// no four fill, and of rows that are near as exact as of others.
func TestDistances(t *testing.T) {
	testDistances[float32](t, 1e-6)
	testDistances[float64](t, 1e-14)
}

func testDistances[T dtype.Float](t *testing.T, within float64) {
	r := rand.New(rand.NewPCG(1, 9))
	for _, size := range [][3]int{{1, 1, 1}, {3, 5, 7}, {7, 4, 33}, {2, 6, 2500}, {70, 3, 900}, {2, 2, 0}, {0, 3, 2}, {3, 0, 2}} {
		m, n, k := size[0], size[1], size[2]
		x, y := make([]T, m*k), make([]T, n*k)
		for i := range x {
			x[i] = T(1000 + r.NormFloat64()/16)
		}
		for i := range y {
			y[i] = T(1000 + r.NormFloat64()/16)
		}
		for _, abs := range []bool{false, true} {
			got := make([]T, m*n)
			DistancesTo(got, x, y, m, n, k, abs)
			for at := range got {
				squares, sum := 0.0, 0.0
				for l := range k {
					d := float64(x[at/n*k+l]) - float64(y[at%n*k+l])
					squares, sum = squares+d*d, sum+math.Abs(d)
				}
				want := math.Sqrt(squares)
				if abs {
					want = sum
				}
				if math.Abs(float64(got[at])-want) > within*want {
					t.Fatalf("%v, abs %v: distance %d is %v, want %v", size, abs, at, got[at], want)
				}
			}
		}
	}
}
