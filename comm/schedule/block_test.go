package schedule

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// byteAt returns byte i of b, by the definition of a Block.
func byteAt(b Block, i int) *byte { return &b.Data[i/b.Width*b.Pitch+i%b.Width] }

// flat returns the bytes of s, one by one.
func flat(s Span) []byte {
	var list []byte
	for i := s.Lo; i < s.Hi; i++ {
		list = append(list, *byteAt(s.Block, i))
	}
	return list
}

// drawBlock draws a Block of length bytes whose runs are multiples of unit, in
// a buffer filled with something, of which no byte can be spared.
func drawBlock(t *rapid.T, length, unit int, name string) Block {
	var widths []int
	for w := unit; w <= length; w += unit {
		if length%w == 0 {
			widths = append(widths, w)
		}
	}
	if len(widths) == 0 {
		return drawEmpty(t, name)
	}
	b := Block{Width: rapid.SampledFrom(widths).Draw(t, name+" width")}
	b.Rows = length / b.Width
	b.Pitch = b.Width + rapid.SampledFrom([]int{0, 0, 1, unit, 3 * unit}).Draw(t, name+" gap")
	b.Data = make([]byte, (b.Rows-1)*b.Pitch+b.Width)
	seed := rapid.Byte().Draw(t, name+" seed")
	for i := range b.Data {
		seed = seed*5 + 17
		b.Data[i] = seed
	}
	return b
}

func drawEmpty(t *rapid.T, name string) Block {
	return rapid.SampledFrom([]Block{
		{}, Whole(nil), {Rows: 0, Width: 4, Pitch: 8}, {Rows: 3, Width: 0, Pitch: 8}, {Data: []byte{1, 2}, Rows: 2, Width: 0, Pitch: 2},
	}).Draw(t, name)
}

func drawSpan(t *rapid.T, b Block) Span {
	lo := rapid.IntRange(0, b.Len()).Draw(t, "lo")
	return Span{b, lo, rapid.IntRange(lo, b.Len()).Draw(t, "hi")}
}

// Runs, one after another, are the bytes of the span, and no shorter than the
// block allows.
func TestRuns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSpan(t, drawBlock(t, rapid.IntRange(0, 60).Draw(t, "length"), 1, "block"))
		want := flat(s)
		if got := s.AppendTo([]byte("x")); string(got) != "x"+string(want) {
			t.Fatalf("got %q, want x%q", got, want)
		}
		for at := 0; at < s.Len(); {
			run := s.Run(at)
			if cap(run) != len(run) {
				t.Fatalf("run at %d has room for %d bytes more", at, cap(run)-len(run))
			}
			at += len(run)
			if at < s.Len() && &run[:1][0] != byteAt(s.Block, s.Lo+at-len(run)) {
				t.Fatalf("run before %d starts elsewhere", at)
			}
			if at < s.Len() && (s.Block.Contiguous() || (s.Lo+at)%s.Block.Width != 0) {
				t.Fatalf("run ends at %d, where no row does", at)
			}
		}
	})
}

func TestRunsOfEmptyBlocks(t *testing.T) {
	for _, b := range []Block{{}, Whole(nil), {Rows: 3, Width: 0, Pitch: 8}, {Rows: 0, Width: 8, Pitch: 8}} {
		if got := b.All().AppendTo(nil); len(got) != 0 {
			t.Errorf("%+v: got %q, want nothing", b, got)
		}
	}
}

func TestCut(t *testing.T) {
	b := Block{Data: []byte("ab.cd.ef"), Rows: 3, Width: 2, Pitch: 3}
	if got := string(b.All().Cut(1, 6).Cut(1, 4).AppendTo(nil)); got != "cde" {
		t.Errorf("got %q, want %q", got, "cde")
	}
}

// Copy does what copying byte by byte does, and touches no gap.
func TestCopy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		length := rapid.IntRange(0, 60).Draw(t, "length")
		dst, src := drawBlock(t, length, 1, "dst"), drawBlock(t, length, 1, "src")
		want := dst
		want.Data = slices.Clone(dst.Data)
		for i := range length {
			*byteAt(want, i) = *byteAt(src, i)
		}
		Copy(dst, src)
		if !bytes.Equal(dst.Data, want.Data) {
			t.Fatalf("got %v, want %v", dst.Data, want.Data)
		}
	})
}

func TestCopyPanicsOnLengths(t *testing.T) {
	for _, c := range [][2]Block{
		{Whole(make([]byte, 3)), Whole(make([]byte, 4))},
		{Whole(make([]byte, 4)), Whole(nil)},
		{Whole(nil), {Data: make([]byte, 8), Rows: 2, Width: 2, Pitch: 4}},
	} {
		if !panics(func() { Copy(c[0], c[1]) }) {
			t.Errorf("Copy of %d bytes to %d does not panic", c[1].Len(), c[0].Len())
		}
	}
}

func panics(f func()) (p bool) {
	defer func() { p = recover() != nil }()
	f()
	return false
}

// decimal reduces so that the order and the number of srcs show: each byte of
// dst is what the bytes of srcs are as digits of a number to the base 7.
func decimal(dst []byte, srcs [][]byte) {
	for i := range dst {
		dst[i] = 0
		for _, src := range srcs {
			dst[i] = dst[i]*7 + src[i]
		}
	}
}

// A reduction does what reducing byte by byte does, to every dst, and touches
// no gap.
func TestReduceSpans(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		align := rapid.SampledFrom([]int{1, 2, 4}).Draw(t, "align")
		elements := rapid.OneOf(rapid.IntRange(0, 30), rapid.SampledFrom([]int{8192, 12289, 16384, 20000})).Draw(t, "elements")
		dsts, wants := make([]Span, rapid.IntRange(1, 3).Draw(t, "dsts")), []Block{}
		srcs := make([]Span, rapid.IntRange(1, 4).Draw(t, "srcs"))
		for i := range srcs {
			srcs[i] = drawBlock(t, elements*align, align, fmt.Sprintf("src %d", i)).All()
		}
		for i := range dsts {
			dst := drawBlock(t, elements*align, align, fmt.Sprintf("dst %d", i))
			dsts[i] = dst.All()
			dst.Data = slices.Clone(dst.Data)
			wants = append(wants, dst)
		}
		for i := range elements * align {
			column := make([][]byte, len(srcs))
			for s := range srcs {
				column[s] = []byte{*byteAt(srcs[s].Block, i)}
			}
			for _, want := range wants {
				sum := []byte{0}
				decimal(sum, column)
				*byteAt(want, i) = sum[0]
			}
		}
		ReduceSpans(dsts, srcs, checkPieces(t, align), align)
		for i, want := range wants {
			if !bytes.Equal(dsts[i].Block.Data, want.Data) {
				t.Fatalf("dst %d: got %v, want %v", i, dsts[i].Block.Data, want.Data)
			}
		}
	})
}

// checkPieces is decimal, after checks of what a Reducer may rely on.
func checkPieces(t *rapid.T, align int) Reducer {
	return func(dst []byte, srcs [][]byte) {
		if len(dst) == 0 || len(dst) > pieceBytes || len(dst)%align != 0 {
			t.Fatalf("a piece of %d bytes, want a multiple of %d up to %d", len(dst), align, pieceBytes)
		}
		for _, src := range srcs {
			if len(src) != len(dst) {
				t.Fatalf("pieces of %d and %d bytes", len(dst), len(src))
			}
		}
		decimal(dst, srcs)
	}
}

// The part of a block that a chunk is can be reduced on its own.
func TestReduceChunk(t *testing.T) {
	dst := Whole(make([]byte, 6))
	a := Block{Data: []byte{1, 2, 0, 3, 4, 0, 5, 6}, Rows: 3, Width: 2, Pitch: 3}
	ReduceSpans([]Span{dst.All().Cut(2, 6)}, []Span{a.All().Cut(2, 6), Whole([]byte{1, 1, 1, 1}).All()}, decimal, 2)
	if want := []byte{0, 0, 22, 29, 36, 43}; !bytes.Equal(dst.Data, want) {
		t.Errorf("got %v, want %v", dst.Data, want)
	}
}

func TestReducePanics(t *testing.T) {
	four, five := Whole(make([]byte, 4)).All(), Whole(make([]byte, 5)).All()
	for name, f := range map[string]func(){
		"lengths of dsts": func() { ReduceSpans([]Span{four, five}, []Span{four}, decimal, 1) },
		"lengths of srcs": func() { ReduceSpans([]Span{four}, []Span{four, five}, decimal, 1) },
		"alignment":       func() { ReduceSpans([]Span{four.Cut(1, 3)}, []Span{four.Cut(0, 2)}, decimal, 2) },
		"width":           func() { ReduceSpans([]Span{five}, []Span{five}, decimal, 2) },
	} {
		if !panics(f) {
			t.Errorf("%s: no panic", name)
		}
	}
}

// sumWords is a Reducer of the kind that the package is used with.
func sumWords(dst []byte, srcs [][]byte) {
	copy(dst, srcs[0])
	for _, src := range srcs[1:] {
		for i := range dst {
			dst[i] += src[i]
		}
	}
}

func BenchmarkCopy(b *testing.B) {
	const length = 1 << 20
	for _, width := range []int{4, 64, 1024, length} {
		b.Run(fmt.Sprintf("width=%d", width), func(b *testing.B) {
			dst := Block{Data: make([]byte, 2*length), Rows: length / width, Width: width, Pitch: 2 * width}
			src := Whole(make([]byte, length))
			b.SetBytes(length)
			for b.Loop() {
				Copy(dst, src)
			}
		})
	}
}

func BenchmarkReduceSpans(b *testing.B) {
	for _, c := range []struct{ length, width int }{{8, 8}, {1 << 20, 4}, {1 << 20, 1024}, {1 << 20, 1 << 20}} {
		b.Run(fmt.Sprintf("length=%d/width=%d", c.length, c.width), func(b *testing.B) {
			src := Block{Data: make([]byte, 2*c.length), Rows: c.length / c.width, Width: c.width, Pitch: 2 * c.width}.All()
			dst := Whole(make([]byte, c.length)).All()
			b.SetBytes(int64(c.length))
			for b.Loop() {
				ReduceSpans([]Span{dst}, []Span{src, src}, sumWords, 4)
			}
		})
	}
}
