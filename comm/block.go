package comm

import "fmt"

// Whole returns the Block of all the bytes of b.
func Whole(b []byte) Block {
	return Block{Data: b, Rows: 1, Width: len(b), Pitch: len(b)}
}

// Len returns the number of bytes in b.
func (b Block) Len() int { return b.Rows * b.Width }

// contiguous reports whether the bytes of b are one run.
func (b Block) contiguous() bool { return b.Rows <= 1 || b.Width == b.Pitch }

// run returns the longest run of bytes that starts at byte lo of b and ends at
// byte hi at the latest, as a slice of b's buffer without room to grow. Going
// through [lo, hi) takes one call for each run:
//
//	for at := lo; at < hi; {
//		run := b.run(at, hi)
//		...
//		at += len(run)
//	}
//
// It panics unless 0 <= lo <= hi <= b.Len().
func (b Block) run(lo, hi int) []byte {
	if b.contiguous() {
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

// A span is the bytes [lo, hi) of a Block.
type span struct {
	block  Block
	lo, hi int
}

// all returns the span of all the bytes of b.
func (b Block) all() span { return span{b, 0, b.Len()} }

// len returns the number of bytes in s.
func (s span) len() int { return s.hi - s.lo }

// run returns the longest run that starts at byte at of s; at is below s.len().
func (s span) run(at int) []byte { return s.block.run(s.lo+at, s.hi) }

// cut returns the bytes [lo, hi) of s.
func (s span) cut(lo, hi int) span { return span{s.block, s.lo + lo, s.lo + hi} }

// appendTo appends the bytes of s to buf and returns the result.
func (s span) appendTo(buf []byte) []byte {
	b := s.block
	if s.len() == 0 || b.contiguous() {
		return append(buf, s.block.run(s.lo, s.hi)...)
	}
	lo := min(s.hi, (s.lo+b.Width-1)/b.Width*b.Width) // where whole rows begin
	hi := max(lo, s.hi/b.Width*b.Width)               // and end
	buf = append(buf, b.run(s.lo, lo)...)
	for row := lo / b.Width; row < hi/b.Width; row++ {
		buf = append(buf, b.Data[row*b.Pitch:][:b.Width]...)
	}
	return append(buf, b.run(hi, s.hi)...)
}

// Copy copies src to dst, in one memmove for each stretch that is a run in
// both. The two may be divided into runs differently.
//
// Copy panics if dst and src differ in length.
func Copy(dst, src Block) { copySpan(dst.all(), src.all()) }

// copySpan copies src to dst as Copy does. It panics if they differ in length.
func copySpan(dst, src span) {
	if dst.len() != src.len() {
		panic(fmt.Sprintf("comm: copy of %d bytes to %d", src.len(), dst.len()))
	}
	if dst.block.contiguous() && src.block.contiguous() {
		copy(dst.block.Data[dst.lo:dst.hi], src.block.Data[src.lo:src.hi])
		return
	}
	if d, s, ok := sameRows(dst, src); ok {
		copyRows(d, s)
		return
	}
	for at := 0; at < dst.len(); {
		at += copy(dst.run(at), src.run(at))
	}
}

// sameRows returns dst and src, which are equally long, as blocks with rows of the
// same width; not ok if they are none.
func sameRows(dst, src span) (d, s Block, ok bool) {
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
func (s span) rows() (b Block, ok bool) {
	b = s.block
	switch {
	case s.len() == 0:
		return b, false
	case b.contiguous():
		return Whole(b.Data[s.lo:s.hi]), true
	case s.lo%b.Width != 0 || s.hi%b.Width != 0:
		return b, false
	}
	return Block{b.Data[s.lo/b.Width*b.Pitch:], s.len() / b.Width, b.Width, b.Pitch}, true
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
	case a.contiguous() && b.contiguous():
		return Whole(a.Data[:a.Len()]), Whole(b.Data[:b.Len()])
	case a.contiguous():
		return Block{a.Data, b.Rows, b.Width, b.Width}, b
	case b.contiguous():
		return a, Block{b.Data, a.Rows, a.Width, a.Width}
	}
	return a, b
}

const (
	// pieceBytes is the length of the pieces in which reduceSpans works. What
	// a rank reads and writes of a piece stays in a near cache.
	pieceBytes = 16 << 10

	// narrowBytes is the length below which runs are not reduced one by one,
	// since the calls would take longer than the work.
	narrowBytes = 512
)

// reduceSpans reduces srcs, in their order, to each of dsts. It works in
// pieces of at most pieceBytes bytes, each a multiple of align: a piece is
// reduced to dsts[0], and copied from there to the other dsts while it is in
// the cache. Pieces are read and written in place where they are a run, and
// packed first where runs are narrow.
//
// reduceSpans panics if the spans differ in length, if a run of one of them is
// no multiple of align, or if dsts or srcs is empty.
func reduceSpans(dsts, srcs []span, reduce Reducer, align int) {
	total := dsts[0].len()
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
			runs[i] = s.packed(at, n, &packed[i])
		}
		piece := dsts[0].packed(at, n, &packed[len(srcs)])
		reduce(piece, runs)
		for _, d := range dsts {
			if to := d.run(at); &to[0] != &piece[0] {
				copySpan(d.cut(at, at+n), Whole(piece).all())
			}
		}
		at += n
	}
}

// shortestRun returns the length of the shortest run at byte at of the spans.
func shortestRun(at int, dst span, srcs []span) int {
	n := len(dst.run(at))
	for _, s := range srcs {
		n = min(n, len(s.run(at)))
	}
	return n
}

// packed returns the n bytes at byte at of s: in place if they are a run, or
// else as a copy in *buf, which grows as needed.
func (s span) packed(at, n int, buf *[]byte) []byte {
	if run := s.run(at); len(run) >= n {
		return run[:n]
	}
	*buf = s.cut(at, at+n).appendTo((*buf)[:0])
	return *buf
}

// checkReduce panics where reduceSpans says it does.
func checkReduce(total int, dsts, srcs []span, align int) {
	for _, spans := range [][]span{dsts, srcs} {
		for _, s := range spans {
			if s.len() != total {
				panic(fmt.Sprintf("comm: reduction of %d bytes to %d", s.len(), total))
			}
			if s.lo%align != 0 || s.hi%align != 0 || s.block.Width%align != 0 {
				panic(fmt.Sprintf("comm: reduction cuts an element of %d bytes", align))
			}
		}
	}
}
