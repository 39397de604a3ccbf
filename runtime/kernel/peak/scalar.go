package peak

import "math"

// sink takes what scalar has computed, which the compiler would leave out
// otherwise.
//
//go:noinline
func sink(*[chains]float64) {}

// scalar does n rounds with Go's own multiply-add, which is of float64.
func scalar(n int) (operations int) {
	var sums [chains]float64
	x := 1 + float64(n&1)
	for range n {
		for i := range sums {
			sums[i] = math.FMA(x, 0.5, sums[i])
		}
	}
	sink(&sums)
	return 2 * chains * n
}
