package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"tpsh/runtime/dtype"
)

// tables are the sizes of tables of which scans are tested: how many, of how many rows, of how
// many elements.
var tables = [][3]int{{1, 1, 1}, {1, 7, 1}, {4, 5, 1}, {11, 33, 1}, {1, 4, 3}, {3, 5, 17}, {2, 3, 2500}, {3, 0, 2}}

// numbersOf returns n numbers of which some are equal and some NaN.
func numbersOf[T dtype.Float](r *rand.Rand, n int) []T {
	x := make([]T, n)
	for i := range x {
		if x[i] = T(r.IntN(40))/8 - 2; r.IntN(50) == 0 {
			x[i] = T(math.NaN())
		}
	}
	return x
}

func testScan[T dtype.Float](t *testing.T, s *Scan[T], by func(a, b T) T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, size := range tables {
		n, inner := size[1], size[2]
		x := numbersOf[T](r, size[0]*n*inner)
		for _, reverse := range []bool{false, true} {
			got, want := make([]T, len(x)), make([]T, len(x))
			s.To(got, x, n, inner, reverse)
			for i := range len(x) {
				if reverse {
					i = len(x) - 1 - i
				}
				row, before := i/inner%n, i-inner
				last := s.First
				if reverse {
					row, before = n-1-row, i+inner
				}
				if row > 0 {
					last = want[before]
				}
				want[i] = by(last, x[i])
			}
			compareNumbers(t, fmt.Sprintf("%T of %v, reverse %v", s, size, reverse), got, want)
		}
	}
}

// compareNumbers tells of the first element in which got differs from want.
func compareNumbers[T dtype.Float](t *testing.T, what string, got, want []T) {
	t.Helper()
	for i, v := range want {
		if got[i] != v && (got[i] == got[i] || v == v) {
			t.Fatalf("%s: element %d is %v, want %v", what, i, got[i], v)
		}
	}
}

func TestScans(t *testing.T) {
	testScan(t, &CumSum.F32, func(a, b float32) float32 { return a + b })
	testScan(t, &CumSum.F64, func(a, b float64) float64 { return a + b })
	testScan(t, &CumProd.F32, func(a, b float32) float32 { return a * b })
	testScan(t, &CumProd.F64, func(a, b float64) float64 { return a * b })
	dst := make([]int64, 4)
	CumSum.I64.To(dst, []int64{1, 2, 3, 4}, 4, 1, true)
	if want := []int64{10, 9, 7, 4}; !slices.Equal(dst, want) {
		t.Errorf("the sums of integers from the last are %v, want %v", dst, want)
	}
	CumProd.I64.To(dst, []int64{1, 2, 3, 4}, 2, 2, false)
	if want := []int64{1, 2, 3, 8}; !slices.Equal(dst, want) {
		t.Errorf("the products of columns of integers are %v, want %v", dst, want)
	}
}

func TestCumExtreme(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, size := range tables {
		n, inner := size[1], size[2]
		x := numbersOf[float32](r, size[0]*n*inner)
		for _, least := range []bool{false, true} {
			values, at := make([]float32, len(x)), make([]int64, len(x))
			CumExtremeTo(values, at, x, n, inner, least)
			want, where := slices.Clone(x), make([]int64, len(x))
			for i, v := range x {
				row := i / inner % n
				if row == 0 {
					continue
				}
				last := want[i-inner]
				if where[i] = int64(row); v == v && (last != last || v != last && v < last != least) {
					want[i], where[i] = last, where[i-inner]
				}
			}
			compareNumbers(t, fmt.Sprintf("the extremes of %v, least %v", size, least), values, want)
			if !slices.Equal(at, where) {
				t.Fatalf("the places of extremes of %v, least %v: %v, want %v", size, least, at, where)
			}
		}
	}
}

func TestRecur(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, size := range tables {
		n, inner := size[1], size[2]
		x, a := numbersOf[float64](r, size[0]*n*inner), numbersOf[float64](r, size[0]*n*inner)
		got, want := make([]float64, len(x)), make([]float64, len(x))
		RecurTo(got, x, a, n, inner, false)
		for i, v := range x {
			if want[i] = v; i/inner%n > 0 {
				want[i] += float64(a[i] * want[i-inner])
			}
		}
		compareNumbers(t, fmt.Sprintf("the recurrence of %v", size), got, want)

		// In reverse it is that of the numbers read backwards, read backwards.
		slices.Reverse(x)
		slices.Reverse(a)
		slices.Reverse(want)
		RecurTo(got, x, a, n, inner, true)
		compareNumbers(t, fmt.Sprintf("the recurrence of %v in reverse", size), got, want)
	}
}

func TestSearch(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for n := range 40 {
		sorted := numbersOf[float32](r, n)
		slices.SortFunc(sorted, ascending[float32])
		values := append(numbersOf[float32](r, 2*n), float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN()))
		for _, right := range []bool{false, true} {
			dst := make([]int64, len(values))
			SearchTo(dst, sorted, values, right)
			for i, v := range values {
				want := int64(0)
				for _, x := range sorted {
					if x < v || right && x == v || v != v {
						want++
					}
				}
				if dst[i] != want {
					t.Fatalf("%v is behind %d of %v, right %v, want %d", v, dst[i], sorted, right, want)
				}
			}
		}
	}
}
