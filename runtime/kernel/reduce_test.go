package kernel

import (
	"math"
	"reflect"
	"slices"
	"sort"
	"testing"

	"pgregory.net/rapid"
)

// A column is reduced in the order of a row of its elements, however its table
// is cut into calls of Add.
func TestColumnsAsRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.SampledFrom([]int{1, 2, 7, 8, 9, 100, Block, Block + 1, 3*Block + 5, 7 * Block}).Draw(t, "k")
		w := rapid.IntRange(1, 5).Draw(t, "w")
		r := rapid.SampledFrom([]*Reduction[float32]{&Sum.F32, &Prod.F32, &Max.F32, &Min.F32}).Draw(t, "reduction")
		table := make([]float32, k*w)
		for i := range table {
			table[i] = 1 + float32(math.Sin(float64(i)))/16
		}
		c := NewColumns(r, 8)
		for range 2 { // the second time shows that nothing is left of the first
			c.Start(w)
			for at := 0; at < k; {
				n := min(rapid.IntRange(1, 300).Draw(t, "rows"), k-at)
				c.Add(table[at*w : (at+n)*w])
				at += n
			}
			got := make([]float32, w)
			c.Result(got)
			if want := columnsOf(r, table, k, w); !slices.Equal(got, want) {
				t.Fatalf("columns of [%d, %d] = %v, want %v", k, w, got, want)
			}
		}
	})
}

// Rows are reduced together as each is alone, of one block or of several.
func TestRows(t *testing.T) {
	for _, r := range []*Reduction[float32]{&Sum.F32, &Prod.F32, &Max.F32} {
		for _, k := range []int{1, few, few + 1, lanes, 100, Block - 1, Block, Block + 1, 7*Block + 5, 32 * Block, 75*Block + 100} {
			x := make([]float32, 9*k)
			for i := range x {
				x[i] = 1 + float32(math.Sin(float64(i)))/16
			}
			for n := range 10 {
				got, want := make([]float32, n), make([]float32, n)
				r.Rows(got, x, k)
				for i := range want {
					want[i] = rowOf(r, x[i*k:(i+1)*k])
				}
				if !slices.Equal(got, want) {
					t.Errorf("%d rows of %d: got %v, want %v", n, k, got, want)
				}
			}
		}
	}
}

// columnsOf reduces each column of table [k, w] as a row.
func columnsOf(r *Reduction[float32], table []float32, k, w int) []float32 {
	out := make([]float32, w)
	for j := range out {
		row := make([]float32, k)
		Gather(row, table[j:], w)
		out[j] = rowOf(r, row)
	}
	return out
}

// rowOf reduces a row: the first 2^p blocks with the rest.
func rowOf(r *Reduction[float32], x []float32) float32 {
	if len(x) <= Block {
		return r.Block(x)
	}
	half := Block
	for 2*half < len(x) {
		half *= 2
	}
	out := []float32{0}
	r.Into(out, []float32{rowOf(r, x[:half])}, []float32{rowOf(r, x[half:])})
	return out[0]
}

// Few elements are summed as in lanes, with the zeros of these.
func TestSumFew(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.SliceOfN(rapid.Float64(), 0, few).Draw(t, "x")
		for i := range x {
			if rapid.Bool().Draw(t, "zero") {
				x[i] = math.Copysign(0, -1)
			}
		}
		var lane [lanes]float64
		for l, v := range x {
			lane[l] += v
		}
		if got, want := sum64(x), addLanes(&lane); math.Float64bits(got) != math.Float64bits(want) && got == got {
			t.Fatalf("sum of %v = %v, want %v", x, got, want)
		}
	})
}

// A sum of numbers is the sum of what is no NaN.
func TestSumNumbers(t *testing.T) {
	for n := range 100 {
		x, zeroed := make([]float32, n), make([]float32, n)
		wide, zeroed64 := make([]float64, n), make([]float64, n)
		for i := range x {
			v := 1 / float32(i+1)
			x[i], zeroed[i], wide[i], zeroed64[i] = v, v, float64(v), float64(v)
			if i%3 == 1 {
				x[i], zeroed[i], wide[i], zeroed64[i] = float32(math.NaN()), 0, math.NaN(), 0
			}
		}
		if got, want := SumNumbers(x), sum32(zeroed); got != want {
			t.Errorf("sum of the numbers of %d float32 = %v, want %v", n, got, want)
		}
		if got, want := SumNumbers(wide), sum64(zeroed64); got != want {
			t.Errorf("sum of the numbers of %d float64 = %v, want %v", n, got, want)
		}
	}
}

// A sum in lanes is close to the exact sum, and exact where no rounding occurs.
func TestSumBlock(t *testing.T) {
	for n := range 40 {
		x, small, whole := make([]float64, n), make([]float32, n), make([]int64, n)
		want := 0.0
		for i := range x {
			x[i], small[i], whole[i] = float64(i*i-50), float32(i*i-50), int64(i*i-50)
			want += x[i]
		}
		if got := sum32(small); float64(got) != want {
			t.Errorf("sum of %d float32 = %v, want %v", n, got, want)
		}
		if got := sumInts(whole); float64(got) != want {
			t.Errorf("sum of %d int64 = %v, want %v", n, got, want)
		}
		bits := int64(0)
		for _, v := range whole {
			bits ^= v
		}
		if got := xorBlock(whole); got != bits {
			t.Errorf("exclusive or of %d int64 = %#x, want %#x", n, got, bits)
		}
		if got := sum64(x); got != want {
			t.Errorf("sum of %d = %v, want %v", n, got, want)
		}
	}
}

func TestExtremeBlocks(t *testing.T) {
	for n := 1; n < 40; n++ {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32((i*7 + 3) % n)
		}
		if got, want := max32(x), slices.Max(x); got != want || maxBlock(x) != want {
			t.Errorf("max of %v = %v, want %v", x, got, want)
		}
		if got, want := min32(x), slices.Min(x); got != want || minBlock(x) != want {
			t.Errorf("min of %v = %v, want %v", x, got, want)
		}
		x[n/2] = float32(math.NaN())
		if got := max32(x); got == got || maxBlock(x) == maxBlock(x) || min32(x) == min32(x) {
			t.Errorf("max of %v = %v, want NaN", x, got)
		}
		if got := ArgMax(x); got != n/2 {
			t.Errorf("ArgMax of %v = %d, want %d", x, got, n/2)
		}
		if got := ArgMin(x); got != n/2 {
			t.Errorf("ArgMin of %v = %d, want %d", x, got, n/2)
		}
	}
}

// SortTo is a stable sort, whole or of the first elements.
func TestSort(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.SliceOfN(rapid.SampledFrom([]float64{0, 1, 2, 3, -1, inf, -inf, nan}), 0, 200).Draw(t, "x")
		k := rapid.IntRange(0, len(x)).Draw(t, "k")
		descending := rapid.Bool().Draw(t, "descending")
		order := make([]int, len(x))
		for i := range order {
			order[i] = i
		}
		sort.SliceStable(order, func(i, j int) bool {
			a, b := x[order[i]], x[order[j]]
			if descending {
				a, b = b, a
			}
			return a < b || a == a && b != b
		})
		values, indices := make([]float64, k), make([]int64, k)
		SortTo(values, indices, x, descending)
		want := make([]int64, k)
		for i := range want {
			want[i] = int64(order[i])
		}
		if !reflect.DeepEqual(indices, want) {
			t.Fatalf("the first %d of %v: indices %v, want %v", k, x, indices, want)
		}
		for i, at := range indices {
			if v := x[at]; values[i] != v && v == v {
				t.Fatalf("value %d is %v, want %v", i, values[i], v)
			}
		}
	})
}

func TestByteSum(t *testing.T) {
	for n := range 3000 {
		x, want := make([]uint8, n), 0
		for i := range x {
			x[i] = uint8(255 - i*n%7)
			want += int(x[i])
		}
		if got := ByteSum(x); got != want {
			t.Fatalf("%d bytes: got %d, want %d", n, got, want)
		}
	}
}
