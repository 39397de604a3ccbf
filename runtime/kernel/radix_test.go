package kernel

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tpsh/runtime/dtype"
)

// Rows of every dtype, long and short, are sorted and selected from as a stable sort by
// ascending does it, and give the elements themselves: the sign of a zero, and which NaN.
func TestSortedByDigits(t *testing.T) {
	t.Run("float32", func(t *testing.T) {
		testDigits(t, func(u uint64) float32 { return math.Float32frombits(uint32(u)) }, func(v float32) uint64 { return uint64(math.Float32bits(v)) })
	})
	t.Run("float64", func(t *testing.T) { testDigits(t, math.Float64frombits, math.Float64bits) })
	t.Run("int64", func(t *testing.T) {
		testDigits(t, func(u uint64) int64 { return int64(u) }, func(v int64) uint64 { return uint64(v) })
	})
	t.Run("int32", func(t *testing.T) {
		testDigits(t, func(u uint64) int32 { return int32(u) }, func(v int32) uint64 { return uint64(v) })
	})
	t.Run("uint8", func(t *testing.T) {
		testDigits(t, func(u uint64) uint8 { return uint8(u) }, func(v uint8) uint64 { return uint64(v) })
	})
}

func testDigits[T dtype.Number](t *testing.T, of func(uint64) T, bits func(T) uint64) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SampledFrom([]int{1, 5, radixFew, radixFew + 1, 300, 1000}).Draw(t, "n")
		state, mask := rapid.Uint64().Draw(t, "seed"), rapid.SampledFrom([]uint64{^uint64(0), 0xff, 3, 3 << 62, 1<<63 | 1<<31, 0xfff00000fff00003}).Draw(t, "mask")
		x := make([]T, n)
		for i := range x {
			state = state*6364136223846793005 + 1442695040888963407
			x[i] = of((state ^ state>>29) & mask)
		}
		for _, descending := range []bool{false, true} {
			order := make([]int64, n)
			for i := range order {
				order[i] = int64(i)
			}
			slices.SortStableFunc(order, func(i, j int64) int {
				if descending {
					i, j = j, i
				}
				return ascending(x[i], x[j])
			})
			k := rapid.IntRange(1, n).Draw(t, "k")
			values, indices := make([]T, k), make([]int64, k)
			SortTo(values, indices, x, descending)
			if !slices.Equal(indices, order[:k]) {
				t.Fatalf("the first %d of %v, descending %v: got %v, want %v", k, x, descending, indices, order[:k])
			}
			for i, at := range indices {
				if bits(values[i]) != bits(x[at]) {
					t.Fatalf("value %d is %v, want %v", i, values[i], x[at])
				}
			}
			if descending {
				continue
			}
			if v, at := Nth(x, k-1); at != order[k-1] || bits(v) != bits(x[at]) {
				t.Fatalf("Nth(%v, %d) = %v, %d, want %v, %d", x, k-1, v, at, x[order[k-1]], order[k-1])
			}
		}
	})
}

func BenchmarkSort(b *testing.B) {
	for _, n := range []int{32, 1024, 1 << 16} {
		x, y := make([]float32, n), make([]int64, n)
		for i := range x {
			y[i] = int64(uint32(i*2654435761) >> 12)
			x[i] = float32(y[i]) / (1 << 20)
		}
		values, whole, indices := make([]float32, n), make([]int64, n), make([]int64, n)
		for _, c := range []struct {
			name string
			f    func()
		}{
			{"Sort/f32", func() { SortTo(values, indices, x, false) }},
			{"Sort/i64", func() { SortTo(whole, indices, y, false) }},
			{"First/f32", func() { SortTo(values[:n/100+1], indices[:n/100+1], x, true) }},
			{"Nth/f32", func() { Nth(x, n/2) }},
		} {
			b.Run(fmt.Sprintf("%s/%d", c.name, n), func(b *testing.B) {
				for b.Loop() {
					c.f()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/element")
			})
		}
	}
}
