package gemm

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel/vec"
)

// someNumbers returns n numbers of few bits and some of which sums are rounded.
func someNumbers[T dtype.Float](t *rapid.T, n int) []T {
	x, first := make([]T, n), rapid.IntRange(0, 1000).Draw(t, "first")
	for i := range x {
		x[i] = T(math.Sin(float64(first + 7*i)))
	}
	return x
}

// eachSlide calls f with the sets of instructions that have kernels for one channel.
func eachSlide[T dtype.Float](f func(set vec.Set)) {
	defer vec.Use(vec.Best())
	for _, set := range vec.Sets() {
		if vec.Use(set); RowLanes[T]() > 0 {
			f(set)
		}
	}
}

// A Slide is its documentation, to the bit, and touches nothing else.
func testSlide[T dtype.Float](t *rapid.T) {
	parts := rapid.SliceOfN(rapid.IntRange(1, 4), 1, 4).Draw(t, "parts")
	taps := make([]int, 0, 16)
	for _, n := range parts {
		for range n {
			taps = append(taps, rapid.IntRange(0, 20).Draw(t, "tap"))
		}
	}
	rows, more := rapid.IntRange(1, 4).Draw(t, "rows"), rapid.IntRange(0, 90).Draw(t, "more")
	eachSlide[T](func(set vec.Set) {
		s := NewSlide[T](taps, parts)
		n := s.Lanes() + more
		ldc, rowX := n+rapid.IntRange(0, 2).Draw(t, "ldc"), rapid.IntRange(0, n).Draw(t, "rowX")
		x, w := someNumbers[T](t, (rows-1)*rowX+n+slices.Max(taps)), someNumbers[T](t, len(taps))
		c := make([]T, (rows-1)*ldc+n)
		s.To(c, ldc, x, rowX, w, n, rows)
		for i, got := range c {
			want := T(0)
			if row, j := i/ldc, i%ldc; j < n {
				at, first := row*rowX+j, 0
				for part, count := range parts {
					sum := T(0)
					for tap := first; tap < first+count; tap++ {
						sum = fmaOf(x[at+taps[tap]], w[tap], sum)
					}
					if first += count; part == 0 {
						want = sum
					} else {
						want = sum + want
					}
				}
			}
			if got != want {
				t.Fatalf("%v: %d rows of %d windows, element %d is %v, want %v", set, rows, n, i, got, want)
			}
		}
	})
}

// RowSums of what Turn has turned are sums along rows, one product after the other.
func testRowSums[T dtype.Float](t *rapid.T) {
	n, rows := rapid.IntRange(1, 30).Draw(t, "n"), rapid.IntRange(1, 40).Draw(t, "rows")
	taps := rapid.SliceOfN(rapid.IntRange(0, 5), 1, 20).Draw(t, "columns")
	stride := n + 5
	eachSlide[T](func(set vec.Set) {
		lanes := RowLanes[T]()
		width := ceil(rows, lanes) * lanes
		x, y := someNumbers[T](t, rows*stride), someNumbers[T](t, rows*n)
		turnedX, turnedY := make([]T, stride*width), make([]T, n*width)
		Turn(turnedX, width, x, stride, rows, stride)
		Turn(turnedY, width, y, n, rows, n)
		columns := make([]int, len(taps))
		for i, tap := range taps {
			columns[i] = tap * width
		}
		sums := make([]T, len(taps)*lanes)
		for first := 0; first < rows; first += lanes {
			RowSums(sums, turnedX[first:], width, turnedY[first:], width, columns, n)
			for i, tap := range taps {
				for lane := range min(lanes, rows-first) {
					want := T(0)
					for j := range n {
						want += T(x[(first+lane)*stride+tap+j] * y[(first+lane)*n+j])
					}
					if got := sums[i*lanes+lane]; got != want {
						t.Fatalf("%v: row %d, tap %d: %v, want %v", set, first+lane, tap, got, want)
					}
				}
			}
		}
	})
}

func TestSlide(t *testing.T) {
	t.Run("float32", rapid.MakeCheck(testSlide[float32]))
	t.Run("float64", rapid.MakeCheck(testSlide[float64]))
}

func TestRowSums(t *testing.T) {
	t.Run("float32", rapid.MakeCheck(testRowSums[float32]))
	t.Run("float64", rapid.MakeCheck(testRowSums[float64]))
}

// What a kernel of one channel would take outside of its slices is refused.
func TestSlideChecks(t *testing.T) {
	eachSlide[float32](func(set vec.Set) {
		lanes := RowLanes[float32]()
		x, y := make([]float32, 2*lanes), make([]float32, 2*lanes)
		s := NewSlide[float32]([]int{0, 3}, []int{2})
		for name, f := range map[string]func(){
			"too few windows":     func() { s.To(y, lanes, x, lanes, x, lanes-1, 1) },
			"a result too short":  func() { s.To(y[:lanes], lanes, x, 1, x, lanes, 2) },
			"an image too short":  func() { s.To(y, lanes, x[:lanes+2], lanes, x, lanes, 1) },
			"a weight too short":  func() { s.To(y, lanes, x, lanes, x[:1], lanes, 1) },
			"rows too short":      func() { RowSums(y, x, lanes, x, lanes, []int{1}, 2) },
			"sums too short":      func() { RowSums(y[:lanes], x, lanes, x, lanes, []int{0, 0}, 2) },
			"a turn of too much":  func() { Turn(y, lanes, x, lanes, 2, lanes+1) },
			"a turn too narrow":   func() { Turn(y, lanes-1, x, 1, 1, 1) },
			"a negative distance": func() { RowSums(y, x, lanes, x, lanes, []int{-1}, 1) },
		} {
			if !panics(f) {
				t.Errorf("%v: %s is taken", set, name)
			}
		}
	})
}

func panics(f func()) (did bool) {
	defer func() { did = recover() != nil }()
	f()
	return false
}
