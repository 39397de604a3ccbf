package shape

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestString(t *testing.T) {
	for _, c := range []struct {
		s    Shape
		want string
	}{{Shape{}, "()"}, {Shape{4}, "(4,)"}, {Shape{2, 0, 3}, "(2, 0, 3)"}} {
		if got := c.s.String(); got != c.want {
			t.Errorf("%#v.String() = %q, want %q", []int(c.s), got, c.want)
		}
	}
}

func TestBroadcast(t *testing.T) {
	for _, c := range []struct {
		a, b, want Shape
		ok         bool
	}{
		{Shape{2, 1, 3}, Shape{4, 1}, Shape{2, 4, 3}, true},
		{Shape{}, Shape{5}, Shape{5}, true},
		{Shape{0}, Shape{1}, Shape{0}, true},
		{Shape{0, 3}, Shape{1, 3}, Shape{0, 3}, true},
		{Shape{3}, Shape{2}, nil, false},
		{Shape{0}, Shape{2}, nil, false},
	} {
		for _, ab := range [][2]Shape{{c.a, c.b}, {c.b, c.a}} {
			got, ok := Broadcast(ab[0], ab[1])
			if ok != c.ok || ok && !got.Equal(c.want) {
				t.Errorf("Broadcast(%v, %v) = %v, %v, want %v, %v", ab[0], ab[1], got, ok, c.want, c.ok)
			}
		}
	}
}

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		s  Shape
		ok bool
	}{
		{Shape{}, true},
		{Shape{3, 0}, true},
		{Shape{2, -1}, false},
		{Shape{math.MaxInt, 2}, false},
		{Shape{math.MaxInt, 0, math.MaxInt}, true},
		{Shape{1 << 31, 1 << 31}, false},
	} {
		if err := c.s.Check(4); (err == nil) != c.ok {
			t.Errorf("%v.Check(4) = %v, want ok = %v", c.s, err, c.ok)
		}
	}
}

func TestDim(t *testing.T) {
	for _, c := range []struct {
		dim, ndim, want int
		ok              bool
	}{{-1, 2, 1, true}, {0, 2, 0, true}, {2, 2, 0, false}, {-3, 2, 0, false}, {0, 0, 0, false}} {
		if got, ok := Dim(c.dim, c.ndim); got != c.want || ok != c.ok {
			t.Errorf("Dim(%d, %d) = %d, %v, want %d, %v", c.dim, c.ndim, got, ok, c.want, c.ok)
		}
	}
}

// Strides number the elements 0, 1, 2, ... in row-major order.
func TestStrides(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Shape(rapid.SliceOfN(rapid.IntRange(1, 4), 0, 4).Draw(t, "shape"))
		st := s.Strides()
		index := make([]int, len(s))
		for want := range s.Numel() {
			got := 0
			for d, i := range index {
				got += i * st[d]
			}
			if got != want {
				t.Fatalf("element %v of %v lies at %d, want %d", index, s, got, want)
			}
			for d := len(s) - 1; d >= 0; d-- {
				if index[d]++; index[d] < s[d] {
					break
				}
				index[d] = 0
			}
		}
	})
}
