package kernel

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Rows of indices take, put and add what the loops of their documentation do, up to the
// first index that is out of range.
func TestAlong(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string, lo, hi int) int { return rapid.IntRange(lo, hi).Draw(t, name) }
		a := Along{draw("n", 0, 6), draw("step", 0, 3), draw("stride", 0, 5)}
		index := make([]int64, draw("len", 0, 8))
		for i := range index {
			index[i] = int64(draw("index", -a.N-draw("beyond", 0, 1), max(a.N-1, 0)))
		}
		far := make([]int32, max(0, len(index)-1)*a.Step+max(0, a.N-1)*a.Stride+1)
		for i := range far {
			far[i] = int32(i + 1)
		}
		near := make([]int32, len(index))
		for i := range near {
			near[i] = int32(100 * (i + 1))
		}
		taken, put, added, places := slices.Clone(near), slices.Clone(far), slices.Clone(far), make([]int, len(near))
		first := draw("first", 0, 9)
		wantTaken, wantPut, wantAdded, wantPlaces, want := slices.Clone(near), slices.Clone(far), slices.Clone(far), make([]int, len(near)), -1
		for i, j := range index {
			if j < 0 {
				j += int64(a.N)
			}
			if j < 0 || j >= int64(a.N) {
				want = i
				break
			}
			at := i*a.Step + int(j)*a.Stride
			wantTaken[i], wantPut[at], wantPlaces[i] = far[at], near[i], first+at
			wantAdded[at] += near[i]
		}
		for _, got := range []int{TakeAlong(taken, far, index, a), PutAlong(put, near, index, a), AddAlong(added, near, index, a), PlacesAlong(places, index, first, a)} {
			if got != want {
				t.Fatalf("of %v with %+v index %d is called out of range, want %d", index, a, got, want)
			}
		}
		if !slices.Equal(taken, wantTaken) || !slices.Equal(put, wantPut) || !slices.Equal(added, wantAdded) || !slices.Equal(places, wantPlaces) {
			t.Fatalf("of %v with %+v: took %v, want %v; put %v, want %v; added %v, want %v; places %v, want %v", index, a, taken, wantTaken, put, wantPut, added, wantAdded, places, wantPlaces)
		}
	})
}

func BenchmarkAlong(b *testing.B) {
	const n = 1024
	src, dst, index := make([]float32, n), make([]float32, n), make([]int64, n)
	for i := range index {
		index[i] = int64(i * 7919 % n)
	}
	a := Along{N: n, Stride: 1}
	for _, c := range []struct {
		name string
		f    func()
	}{
		{"Take", func() { TakeAlong(dst, src, index, a) }},
		{"Put", func() { PutAlong(dst, src, index, a) }},
		{"Add", func() { AddAlong(dst, src, index, a) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(4 * n)
			for b.Loop() {
				c.f()
			}
		})
	}
}
