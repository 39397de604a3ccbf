package schedule

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// decimalFold is the Fold of decimal, which keeps two bytes for one.
func decimalFold(align int) *Fold {
	add := func(acc []byte, srcs [][]byte, put func(i int, sum uint16)) {
		for i := range srcs[0] {
			sum := uint16(0)
			if acc != nil {
				sum = uint16(acc[2*i]) | uint16(acc[2*i+1])<<8
			}
			for _, src := range srcs {
				sum = sum*7 + uint16(src[i])
			}
			put(i, sum)
		}
	}
	return &Fold{
		Bytes: 2 * align,
		Add: func(dst, acc []byte, srcs [][]byte) {
			add(acc, srcs, func(i int, sum uint16) { dst[2*i], dst[2*i+1] = byte(sum), byte(sum>>8) })
		},
		End: func(dst, acc []byte, srcs [][]byte, _ int) {
			add(acc, srcs, func(i int, sum uint16) { dst[i] = byte(sum) })
		},
	}
}

// What is folded in stretches is what is reduced at once, wherever runs end, and no gap is
// touched.
func TestFoldSpans(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		align := rapid.SampledFrom([]int{1, 2, 4}).Draw(t, "align")
		length := align * rapid.OneOf(rapid.IntRange(0, 30), rapid.SampledFrom([]int{8192, 12289, 20000})).Draw(t, "elements")
		srcs := make([]Span, rapid.IntRange(1, 6).Draw(t, "srcs"))
		for i := range srcs {
			srcs[i] = drawBlock(t, length, align, fmt.Sprintf("src %d", i)).All()
		}
		got := drawBlock(t, length, align, "dst")
		want := got
		want.Data = slices.Clone(got.Data)
		ReduceSpans([]Span{want.All()}, srcs, decimal, align)
		var acc []byte
		for rest, n := srcs, len(srcs); len(rest) > 0; {
			links := rapid.IntRange(1, len(rest)).Draw(t, "links")
			var last *Span
			if links == len(rest) {
				last = &Span{got, 0, length}
			}
			acc = FoldSpans(last, acc, rest[:links], decimalFold(align), align, n)
			rest = rest[links:]
		}
		if !bytes.Equal(got.Data, want.Data) {
			t.Fatalf("got %v, want %v", got.Data, want.Data)
		}
	})
}

func TestFoldPanicsOnLengths(t *testing.T) {
	four := Whole(make([]byte, 4)).All()
	if !panics(func() { FoldSpans(nil, make([]byte, 7), []Span{four}, decimalFold(1), 1, 2) }) {
		t.Error("a fold onto 7 bytes, where 8 stand for 4, does not panic")
	}
}
