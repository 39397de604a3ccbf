package kernel

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// What a mask selects is what a plain loop finds.
func TestMask(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.IntRange(1, 9), 1, 3).Draw(t, "sizes")
		total := 1
		for _, n := range sizes {
			total *= n
		}
		often := rapid.IntRange(0, 9).Draw(t, "often")
		mask, src := make([]uint8, total), make([]uint16, total)
		var places []int
		var indices []int64
		var kept []uint16
		for i := range mask {
			mask[i], src[i] = bit(rapid.IntRange(0, 9).Draw(t, "mask") < often), uint16(i*7+1)
			if mask[i] == 0 {
				continue
			}
			places, kept = append(places, i), append(kept, src[i])
			at := make([]int64, len(sizes))
			for d, rest := len(sizes)-1, i; d >= 0; d-- {
				at[d], rest = int64(rest%sizes[d]), rest/sizes[d]
			}
			indices = append(indices, at...)
		}
		if n := ByteSum(mask); n != len(places) {
			t.Fatalf("ByteSum(%v) = %d, want %d", mask, n, len(places))
		}
		gotPlaces, gotIndices, got := make([]int, len(places)), make([]int64, len(indices)), make([]uint16, len(kept))
		TruePlaces(gotPlaces, mask)
		TrueIndices(gotIndices, mask, sizes)
		Compress(got, src, mask)
		if !slices.Equal(gotPlaces, places) || !slices.Equal(gotIndices, indices) || !slices.Equal(got, kept) {
			t.Fatalf("of %v %v: places %v, want %v; indices %v, want %v; elements %v, want %v", sizes, mask, gotPlaces, places, gotIndices, indices, got, kept)
		}
	})
}

// A mask of more bytes than a byte of a word can count.
func TestByteSumOfOnes(t *testing.T) {
	for _, n := range []int{8 * 255, 8*256 + 3, 5000, 70000} {
		if got := ByteSum(slices.Repeat([]uint8{1}, n)); got != n {
			t.Errorf("ByteSum of %d ones = %d", n, got)
		}
	}
}

func BenchmarkMask(b *testing.B) {
	const n = 1 << 16
	mask, src, dst := make([]uint8, n), make([]float32, n), make([]float32, n/2)
	for i := range mask {
		mask[i] = uint8(i * 7919 >> 3 & 1)
	}
	places, indices := make([]int, ByteSum(mask)), make([]int64, 2*ByteSum(mask))
	for _, c := range []struct {
		name string
		f    func()
	}{
		{"ByteSum", func() { ByteSum(mask) }},
		{"TruePlaces", func() { TruePlaces(places, mask) }},
		{"TrueIndices", func() { TrueIndices(indices, mask, []int{256, 256}) }},
		{"Compress", func() { Compress(dst, src, mask) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(n)
			for b.Loop() {
				c.f()
			}
		})
	}
}
