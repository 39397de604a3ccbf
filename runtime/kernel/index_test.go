package kernel

import (
	"slices"
	"testing"
)

func TestTakeAndPut(t *testing.T) {
	for _, width := range []int{0, 1, 2, 4, 8, 12} {
		src := make([]byte, 5*width)
		for i := range src {
			src[i] = byte(i + 1)
		}
		at := []int{3, 0, 3, 4}
		var want []byte
		for _, j := range at {
			want = append(want, src[j*width:(j+1)*width]...)
		}
		got := make([]byte, len(at)*width)
		Take(got, src, at, width)
		if !slices.Equal(got, want) {
			t.Errorf("Take of width %d: got %v, want %v", width, got, want)
		}
		back, expect := make([]byte, 5*width), make([]byte, 5*width)
		for i := range at[1:] { // the first of two equal indices is overwritten
			copy(expect[at[i+1]*width:(at[i+1]+1)*width], got[(i+1)*width:(i+2)*width])
		}
		Put(back, got, at, width)
		if !slices.Equal(back, expect) {
			t.Errorf("Put of width %d: got %v, want %v", width, back, expect)
		}
	}
}

func TestAccumulate(t *testing.T) {
	dst := []int32{1, 2, 3, 4, 5, 6}
	Accumulate(dst, []int32{10, 20, 30, 40, 50, 60}, []int{2, 0, 2}, 2)
	if want := []int32{31, 42, 3, 4, 65, 86}; !slices.Equal(dst, want) {
		t.Errorf("got %v, want %v", dst, want)
	}
}

func TestProgress(t *testing.T) {
	ints, floats := make([]int64, 4), make([]float32, 3)
	Progress(ints, 5, -2)
	if want := []int64{5, 3, 1, -1}; !slices.Equal(ints, want) {
		t.Errorf("got %v, want %v", ints, want)
	}
	Progress(floats, 0, 0.25)
	if want := []float32{0, 0.25, 0.5}; !slices.Equal(floats, want) {
		t.Errorf("got %v, want %v", floats, want)
	}
	Progress[int64](nil, 1, 1)
}

// The ends are exact, and the numbers are those of the mirrored call.
func TestInterpolate(t *testing.T) {
	for n := range 20 {
		up, down := make([]float64, n), make([]float64, n)
		Interpolate(up, 0.1, 0.7)
		Interpolate(down, 0.7, 0.1)
		if n > 0 && up[0] != 0.1 || n > 1 && up[n-1] != 0.7 {
			t.Errorf("%d numbers from 0.1 to 0.7: got %v", n, up)
		}
		for i := range n / 2 {
			if n > 1 && up[i] != down[n-1-i] {
				t.Errorf("%d numbers: element %d is %v forwards and %v backwards", n, i, up[i], down[n-1-i])
			}
		}
	}
}

func TestCount(t *testing.T) {
	got := []int64{0, 5, 0}
	Count(got, []int64{2, 0, 2})
	if want := []int64{1, 5, 2}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestWeigh(t *testing.T) {
	x, y := []int64{1, 2}, []int64{10, 20}
	for _, c := range []struct {
		beta, alpha int64
		want        []int64
	}{{1, 1, []int64{11, 22}}, {2, -1, []int64{-8, -16}}, {0, 3, []int64{30, 60}}} {
		got := make([]int64, 2)
		Weigh(got, c.beta, x, c.alpha, y)
		if !slices.Equal(got, c.want) {
			t.Errorf("Weigh(%d, %v, %d, %v) = %v, want %v", c.beta, x, c.alpha, y, got, c.want)
		}
	}
}
