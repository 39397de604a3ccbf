package schedule

import "fmt"

// Whole returns the Block of all the bytes of b.
func Whole(b []byte) Block {
	return Block{Data: b, Rows: 1, Width: len(b), Pitch: len(b)}
}

// Len returns the number of bytes in b.
func (b Block) Len() int { return b.Rows * b.Width }

// Contiguous reports whether the bytes of b are one run.
func (b Block) Contiguous() bool { return b.Rows <= 1 || b.Width == b.Pitch }

// Run returns the longest run of bytes that starts at byte lo of b and ends at
// byte hi at the latest, as a slice of b's buffer without room to grow. Going
// through [lo, hi) takes one call for each run:
//
//	for at := lo; at < hi; {
//		run := b.Run(at, hi)
//		...
//		at += len(run)
//	}
//
// It panics unless 0 <= lo <= hi <= b.Len().
func (b Block) Run(lo, hi int) []byte {
	if b.Contiguous() {
		return b.Data[lo:hi:hi]
	}
	if lo == hi {
		return nil
	}
	row := lo / b.Width
	end := min(hi, (row+1)*b.Width)
	shift := row * (b.Pitch - b.Width)
	return b.Data[lo+shift : end+shift : end+shift]
}

// A Span is the bytes [Lo, Hi) of a Block.
type Span struct {
	Block  Block
	Lo, Hi int
}

// All returns the span of all the bytes of b.
func (b Block) All() Span { return Span{b, 0, b.Len()} }

// Len returns the number of bytes in s.
func (s Span) Len() int { return s.Hi - s.Lo }

// Run returns the longest run that starts at byte at of s; at is below s.Len().
func (s Span) Run(at int) []byte { return s.Block.Run(s.Lo+at, s.Hi) }

// Cut returns the bytes [lo, hi) of s.
func (s Span) Cut(lo, hi int) Span { return Span{s.Block, s.Lo + lo, s.Lo + hi} }

// AppendTo appends the bytes of s to buf and returns the result.
func (s Span) AppendTo(buf []byte) []byte {
	b := s.Block
	if s.Len() == 0 || b.Contiguous() {
		return append(buf, s.Block.Run(s.Lo, s.Hi)...)
	}
	lo := min(s.Hi, (s.Lo+b.Width-1)/b.Width*b.Width) // where whole rows begin
	hi := max(lo, s.Hi/b.Width*b.Width)               // and end
	buf = append(buf, b.Run(s.Lo, lo)...)
	for row := lo / b.Width; row < hi/b.Width; row++ {
		buf = append(buf, b.Data[row*b.Pitch:][:b.Width]...)
	}
	return append(buf, b.Run(hi, s.Hi)...)
}

// Copy copies src to dst, in one memmove for each stretch that is a run in
// both. The two may be divided into runs differently.
//
// Copy panics if dst and src differ in length.
func Copy(dst, src Block) { CopySpan(dst.All(), src.All()) }

// CopySpan copies src to dst as Copy does. It panics if they differ in length.
func CopySpan(dst, src Span) {
	if dst.Len() != src.Len() {
		panic(fmt.Sprintf("schedule: copy of %d bytes to %d", src.Len(), dst.Len()))
	}
	if dst.Block.Contiguous() && src.Block.Contiguous() {
		copy(dst.Block.Data[dst.Lo:dst.Hi], src.Block.Data[src.Lo:src.Hi])
		return
	}
	if d, s, ok := sameRows(dst, src); ok {
		copyRows(d, s)
		return
	}
	for at := 0; at < dst.Len(); {
		at += copy(dst.Run(at), src.Run(at))
	}
}

// sameRows returns dst and src, which are equally long, as blocks with rows of the
// same width; not ok if they are none.
func sameRows(dst, src Span) (d, s Block, ok bool) {
	d, ok = dst.rows()
	if !ok {
		return d, s, false
	}
	if s, ok = src.rows(); !ok {
		return d, s, false
	}
	d, s = alike(d, s)
	return d, s, d.Width == s.Width
}

// rows returns s as a Block; not ok if it has no bytes, or parts of rows.
func (s Span) rows() (b Block, ok bool) {
	b = s.Block
	switch {
	case s.Len() == 0:
		return b, false
	case b.Contiguous():
		return Whole(b.Data[s.Lo:s.Hi]), true
	case s.Lo%b.Width != 0 || s.Hi%b.Width != 0:
		return b, false
	}
	return Block{b.Data[s.Lo/b.Width*b.Pitch:], s.Len() / b.Width, b.Width, b.Pitch}, true
}

// copyRows copies src to dst, which has as many rows of the same width.
func copyRows(dst, src Block) {
	for row := range dst.Rows {
		copy(dst.Data[row*dst.Pitch:][:dst.Width], src.Data[row*src.Pitch:][:dst.Width])
	}
}

// alike returns a and b, which are equally long, and if one of them is
// contiguous gives it the rows of the other.
func alike(a, b Block) (Block, Block) {
	switch {
	case a.Contiguous() && b.Contiguous():
		return Whole(a.Data[:a.Len()]), Whole(b.Data[:b.Len()])
	case a.Contiguous():
		return Block{a.Data, b.Rows, b.Width, b.Width}, b
	case b.Contiguous():
		return a, Block{b.Data, a.Rows, a.Width, a.Width}
	}
	return a, b
}

const (
	// pieceBytes is the length of the pieces in which ReduceSpans works. The part of a piece that
	// a rank reads and writes stays in a near cache.
	pieceBytes = 16 << 10

	// narrowBytes is the length below which runs are not reduced one by one,
	// since the calls would take longer than the work.
	narrowBytes = 512
)

// ReduceSpans reduces srcs, in their order, to each of dsts. It works in
// pieces of at most pieceBytes bytes, each a multiple of align: a piece is
// reduced to dsts[0], and copied from there to the other dsts while it is in
// the cache. Pieces are read and written in place where they are a run, and
// packed first where runs are narrow.
//
// ReduceSpans panics if the spans differ in length, if a run of one of them is
// no multiple of align, or if dsts or srcs is empty.
func ReduceSpans(dsts, srcs []Span, reduce Reducer, align int) {
	total := dsts[0].Len()
	checkReduce(total, dsts, srcs, align)
	most := max(align, pieceBytes/align*align)
	lists := make([][]byte, 2*len(srcs)+1)
	runs, packed := lists[:len(srcs)], lists[len(srcs):]
	for at := 0; at < total; {
		n := min(most, shortestRun(at, dsts[0], srcs))
		if n < narrowBytes {
			n = min(most, total-at)
		}
		for i, s := range srcs {
			runs[i] = s.Packed(at, n, &packed[i])
		}
		piece := dsts[0].Packed(at, n, &packed[len(srcs)])
		reduce(piece, runs)
		for _, d := range dsts {
			if to := d.Run(at); &to[0] != &piece[0] {
				CopySpan(d.Cut(at, at+n), Whole(piece).All())
			}
		}
		at += n
	}
}

// shortestRun returns the length of the shortest run at byte at of the spans.
func shortestRun(at int, dst Span, srcs []Span) int {
	n := len(dst.Run(at))
	for _, s := range srcs {
		n = min(n, len(s.Run(at)))
	}
	return n
}

// Packed returns the n bytes at byte at of s: in place if they are a run, or
// else as a copy in *buf, which grows as needed.
func (s Span) Packed(at, n int, buf *[]byte) []byte {
	if run := s.Run(at); len(run) >= n {
		return run[:n]
	}
	*buf = s.Cut(at, at+n).AppendTo((*buf)[:0])
	return *buf
}

// checkReduce panics where ReduceSpans says it does.
func checkReduce(total int, dsts, srcs []Span, align int) {
	for _, spans := range [][]Span{dsts, srcs} {
		for _, s := range spans {
			if s.Len() != total {
				panic(fmt.Sprintf("schedule: reduction of %d bytes to %d", s.Len(), total))
			}
			if s.Lo%align != 0 || s.Hi%align != 0 || s.Block.Width%align != 0 {
				panic(fmt.Sprintf("schedule: reduction cuts an element of %d bytes", align))
			}
		}
	}
}

// SameMemory reports whether a and b, of which either may be empty but has room,
// begin with the same byte.
func SameMemory(a, b []byte) bool {
	return cap(a) > 0 && cap(b) > 0 && &a[:1][0] == &b[:1][0]
}
