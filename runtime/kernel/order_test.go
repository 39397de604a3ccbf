package kernel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"tpsh/runtime/dtype"
)

// Numbers of order, and packed ones, sort as elements do, and packed ones give them back
// with the sign of zeros and with NaN.
func TestOrder(t *testing.T) {
	inf := math.Inf(1)
	testOrder(t, []float32{1, -1, 0, float32(math.Copysign(0, -1)), float32(inf), float32(-inf), float32(math.NaN()), math.SmallestNonzeroFloat32, -math.MaxFloat32, 1, 0})
	testOrder(t, []float64{1, -1, 0, math.Copysign(0, -1), inf, -inf, math.NaN(), math.SmallestNonzeroFloat64, -math.MaxFloat64, 1})
	testOrder(t, []int32{0, -1, 1, math.MinInt32, math.MaxInt32, 7, 7})
	testOrder(t, []int64{0, -1, 1, math.MinInt64, math.MaxInt64, 7, 7})
	testOrder(t, []uint8{0, 255, 1, 128, 127, 1})
}

func testOrder[T dtype.Number](t *testing.T, x []T) {
	t.Helper()
	for _, descending := range []bool{false, true} {
		values, indices := make([]T, len(x)), make([]int64, len(x))
		SortTo(values, indices, x, descending)
		numbers := make([]int64, len(x))
		OrderTo(numbers, x)
		if bits := OrderBits[T](); bits < 64 {
			packed := make([]int64, len(x))
			PackOrderTo(packed, x, 5, descending)
			slices.Sort(packed)
			gotValues, gotPlaces := make([]T, len(x)), make([]int64, len(x))
			UnpackOrderTo(gotValues, gotPlaces, packed, descending)
			for i, v := range gotValues {
				same := v == values[i] && math.Signbit(float64(v)) == math.Signbit(float64(values[i])) || v != v && values[i] != values[i]
				if !same || gotPlaces[i] != 5+indices[i] {
					t.Errorf("%v, descending %v: got number %d to be %v from %d, want %v from %d", x, descending, i, v, gotPlaces[i], values[i], 5+indices[i])
				}
			}
			if slices.Max(packed) >= 0 || slices.Max(numbers)>>bits != 0 {
				t.Errorf("%v: got packed numbers up to %d and numbers up to %d, want negative ones and at most %d bits", x, slices.Max(packed), slices.Max(numbers), bits)
			}
		}
		for i := 1; i < len(x); i++ {
			a, b := uint64(numbers[indices[i-1]]), uint64(numbers[indices[i]])
			equal := ascending(values[i-1], values[i]) == 0
			if (a == b) != equal || !equal && (a < b) == descending {
				t.Errorf("%v, descending %v: got numbers %d and %d of %v and %v", x, descending, a, b, values[i-1], values[i])
			}
		}
	}
}

// Counting digit by digit finds the element that a sort puts in a place.
func TestDigitCounts(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	x := make([]float64, 1000)
	for i := range x {
		x[i] = math.Round(rng.NormFloat64() * 100)
	}
	keys := make([]int64, len(x))
	OrderTo(keys, x)
	sorted := slices.Clone(x)
	slices.Sort(sorted)
	for _, at := range []int{0, 1, 499, 998, 999} {
		prefix, left := int64(0), int64(at)
		for shift := 56; shift >= 0; shift -= 8 {
			counts := make([]int64, 256)
			DigitCountsTo(counts, keys, prefix, shift)
			digit := 0
			for ; left >= counts[digit]; digit++ {
				left -= counts[digit]
			}
			prefix = prefix<<8 | int64(digit)
		}
		if want := orderOf(sorted[at]); prefix != want {
			t.Errorf("number %d: got %d, want %d, of %v", at, prefix, want, sorted[at])
		}
	}
}
