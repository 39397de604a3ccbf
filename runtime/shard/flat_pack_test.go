package shard

import (
	"testing"

	"pgregory.net/rapid"

	"tpsh/mesh"
	"tpsh/runtime/dtype"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// drawFlat draws a layout of a tensor on ranks 0 to ranks-1: ranges of any sizes, of
// any ranks, in any order.
func drawFlat(t *rapid.T, ranks int) *mesh.Flat {
	s := rapid.SliceOfN(rapid.IntRange(0, 4), 0, 3).Draw(t, "shape")
	n := shape.Shape(s).Numel()
	var cuts []mesh.Range
	for lo := 0; lo < n; {
		hi := rapid.IntRange(lo, n).Draw(t, "hi")
		cuts = append(cuts, mesh.Range{Lo: lo, Hi: hi})
		lo = hi
	}
	ranges := make([][]mesh.Range, ranks)
	for _, r := range rapid.Permutation(cuts).Draw(t, "order") {
		k := rapid.IntRange(0, ranks-1).Draw(t, "rank")
		ranges[k] = append(ranges[k], r)
	}
	return flatOf(s, ranges)
}

// number returns a contiguous tensor of shape s with the numbers from first on.
func number(t *rapid.T, a *tensor.Allocator, s shape.Shape, first int) *tensor.Tensor {
	x, err := tensor.New(a, dtype.Int64, s)
	if err != nil {
		t.Fatal(err)
	}
	for i := range tensor.Data[int64](x) {
		tensor.Data[int64](x)[i] = int64(first + i)
	}
	return x
}

// TestFlatPack packs tensors and joins them again: each is what it was, starts at a
// cache line, and what a rank stores is its ranges.
func TestFlatPack(t *testing.T) {
	a := tensor.NewAllocator(0)
	rapid.Check(t, func(t *rapid.T) {
		ranks := rapid.IntRange(1, 5).Draw(t, "ranks")
		var flats []*mesh.Flat
		var whole []*tensor.Tensor
		for i := range rapid.IntRange(1, 4).Draw(t, "tensors") {
			f := drawFlat(t, ranks)
			flats, whole = append(flats, f), append(whole, number(t, a, f.Shape(), 1000*i+1))
		}
		p := NewFlatPack(dtype.Int64, flats)
		packed := number(t, a, shape.Shape{p.Packed()}, -1000)
		p.Pack(packed, whole)
		at := 0
		for k := range ranks {
			for i, f := range flats {
				if got, want := p.Stored(k)[i], f.Numel(k); got != want {
					t.Fatalf("rank %d stores %d elements of tensor %d, want %d", k, got, i, want)
				}
				for _, r := range f.Ranges(k) {
					for e := r.Lo; e < r.Hi; e++ {
						if got, want := tensor.Data[int64](packed)[at], int64(1000*i+1+e); got != want {
							t.Fatalf("packed element %d is %d, want %d", at, got, want)
						}
						at++
					}
				}
			}
		}
		joined := number(t, a, shape.Shape{p.Joined()}, -1000)
		p.Join(joined, packed)
		for i, x := range p.Views(joined) {
			if x.Offset()*8%lineBytes != 0 {
				t.Fatalf("tensor %d starts at element %d", i, x.Offset())
			}
			for e, got := range tensor.Data[int64](x) {
				if want := int64(1000*i + 1 + e); got != want {
					t.Fatalf("element %d of tensor %d is %d, want %d", e, i, got, want)
				}
			}
		}
	})
}

// TestFlatRows checks that blocks of rows tile a tensor, as Shard(0) cuts it.
func TestFlatRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := shape.Shape(rapid.SliceOfN(rapid.IntRange(0, 5), 1, 3).Draw(t, "shape"))
		parts := rapid.IntRange(1, 6).Draw(t, "parts")
		f := FlatRows(s, parts)
		for k := range parts {
			lo, hi := mesh.Block(s[0], parts, k)
			if got, want := f.Numel(k), (hi-lo)*s[1:].Numel(); got != want {
				t.Fatalf("rank %d of %d stores %d elements of %v, want %d", k, parts, got, s, want)
			}
		}
	})
}
