package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

const packSignature = "func(dst *%s, width int, src *%[1]s, stride, n, rows int)"

// copyRows writes the function that copies rows. In AVX2 the last vector of a row that
// has whole ones ends where the row does and overlaps the one before: on AMD's processors a
// store by a mask takes as long as a dozen others. Rows of up to two vectors are two that overlap, and
// those of up to one are two halves.
func (g *generator) copyRows(e elem) {
	g.begin(e.name+"Copy", fmt.Sprintf(packSignature, e.typ), "is the copyRows of kernels.")
	dst, src, n, rows := g.load("dst"), g.load("src"), g.load("n"), g.load("rows")
	width, stride := g.loadBytes(e, "width"), g.loadBytes(e, "stride")
	next := func(label string) {
		g.ADDQ(stride, src)
		g.ADDQ(width, dst)
		g.DECQ(rows)
		g.JNZ(operand.LabelRef(label))
		g.end()
	}
	part := func(p, i reg.Register) operand.Mem { return operand.Mem{Base: p, Index: i, Scale: 1} }
	if !g.wide() {
		g.CMPQ(n, operand.I8(g.lanes(e)/2))
		g.JLT(operand.LabelRef("few"))
		g.SHLQ(shiftOf(e), n)
		g.CMPQ(n, operand.I8(g.bytes))
		g.JLT(operand.LabelRef("halves"))
		g.SUBQ(operand.I8(g.bytes), n) // where the last vector begins
		x, y, i := g.vector(), g.vector(), g.GP64()
		g.CMPQ(n, operand.I8(g.bytes))
		g.JLE(operand.LabelRef("pair"))
		g.Label("long")
		g.XORQ(i, i)
		g.Label("longVector")
		g.VMOVUPS(part(src, i), x)
		g.VMOVUPS(x, part(dst, i))
		g.ADDQ(operand.I8(g.bytes), i)
		g.CMPQ(i, n)
		g.JLT(operand.LabelRef("longVector"))
		g.VMOVUPS(part(src, n), x)
		g.VMOVUPS(x, part(dst, n))
		next("long")
		two := func(label string, x, y reg.Register) {
			g.Label(label)
			g.VMOVUPS(at(src, 0), x)
			g.VMOVUPS(part(src, n), y)
			g.VMOVUPS(x, at(dst, 0))
			g.VMOVUPS(y, part(dst, n))
			next(label)
		}
		two("pair", x, y)
		g.Label("halves")
		g.SUBQ(operand.I8(g.bytes/2), n)
		two("half", x.AsX(), y.AsX())
		g.Label("few")
	}
	last, whole := g.GP64(), g.GP64() // lanes of the last vector, bytes before it
	g.MOVQ(n, whole)
	g.DECQ(whole)
	g.ANDQ(operand.I8(-g.lanes(e)), whole)
	g.MOVQ(n, last)
	g.SUBQ(whole, last)
	m := g.maskOf(e, last)
	g.SHLQ(shiftOf(e), whole)
	x, i := g.vector(), g.GP64()
	g.Label("row")
	g.XORQ(i, i)
	g.JMP(operand.LabelRef("enough"))
	g.Label("vector")
	g.VMOVUPS(part(src, i), x)
	g.VMOVUPS(x, part(dst, i))
	g.ADDQ(operand.I8(g.bytes), i)
	g.Label("enough")
	g.CMPQ(i, whole)
	g.JLT(operand.LabelRef("vector"))
	g.loadMasked(e, m, part(src, i), x)
	g.storeMasked(e, m, x, part(dst, i))
	next("row")
}

// fromSeconds writes the function that copies every second element of rows, in AVX2: of two
// vectors the halves of each 128 bits, which are then put in order. The last vector of a row
// overlaps the one before, and of what it is made of the second half begins an element
// early, so that nothing behind the last element is read.
func (g *generator) fromSeconds(e elem) {
	g.begin(e.name+"FromSeconds", fmt.Sprintf(packSignature, e.typ), "is the fromSeconds of kernels.")
	dst, src, n, rows := g.load("dst"), g.load("src"), g.load("n"), g.load("rows")
	width, stride := g.loadBytes(e, "width"), g.loadBytes(e, "stride")
	whole, last := g.GP64(), g.GP64() // bytes before the last vector, and where it begins
	g.MOVQ(n, whole)
	g.DECQ(whole)
	g.ANDQ(operand.I8(-g.lanes(e)), whole)
	g.SHLQ(shiftOf(e), whole)
	g.MOVQ(n, last)
	g.SUBQ(operand.I8(g.lanes(e)), last)
	g.SHLQ(shiftOf(e), last)
	i := g.GP64()
	copyVector := func(at reg.GPVirtual, early int) {
		x, y := g.vector(), g.vector()
		g.VMOVUPS(operand.Mem{Base: src, Index: at, Scale: 2}, x)
		g.VMOVUPS(operand.Mem{Base: src, Index: at, Scale: 2, Disp: g.bytes - early*e.bytes}, y)
		switch {
		case e.bytes == 4:
			g.VSHUFPS(operand.U8(0x88+early*0x50), y, x, x)
		default:
			g.VSHUFPD(operand.U8(early*0xa), y, x, x)
		}
		g.VPERMQ(operand.U8(0xd8), x, x)
		g.VMOVUPS(x, operand.Mem{Base: dst, Index: at, Scale: 1})
	}
	g.Label("row")
	g.XORQ(i, i)
	g.JMP(operand.LabelRef("enough"))
	g.Label("vector")
	copyVector(i, 0)
	g.ADDQ(operand.I8(g.bytes), i)
	g.Label("enough")
	g.CMPQ(i, whole)
	g.JLT(operand.LabelRef("vector"))
	copyVector(last, 1)
	g.ADDQ(stride, src)
	g.ADDQ(width, dst)
	g.DECQ(rows)
	g.JNZ(operand.LabelRef("row"))
	g.end()
}

// toSeconds writes the function that stores rows to every second element, in AVX2: vectors in which
// what is between them is as it was. The last ones of a row, up to half a vector, are stored one by
// one, so that nothing behind the last element is touched.
func (g *generator) toSeconds(e elem) {
	g.begin(e.name+"ToSeconds", fmt.Sprintf(packSignature, e.typ), "is the toSeconds of kernels.")
	dst, src, n, rows := g.load("dst"), g.load("src"), g.load("n"), g.load("rows")
	width, stride := g.loadBytes(e, "width"), g.loadBytes(e, "stride")
	x, i, whole := g.vector(), g.GP64(), g.GP64() // bytes before the last elements
	half := g.lanes(e) / 2
	g.MOVQ(n, whole)
	g.DECQ(whole)
	g.ANDQ(operand.I8(-half), whole)
	g.SHLQ(shiftOf(e), whole)
	g.SHLQ(shiftOf(e), n)
	from := operand.Mem{Base: src, Index: i, Scale: 1}
	to := operand.Mem{Base: dst, Index: i, Scale: 2}
	g.Label("row")
	g.XORQ(i, i)
	g.JMP(operand.LabelRef("enough"))
	g.Label("vector")
	if e.bytes == 4 {
		g.VPMOVZXDQ(from, x)
		g.VPBLENDD(operand.U8(0xaa), to, x, x)
	} else {
		g.VMOVUPS(from, x.AsX())
		g.VPERMPD(operand.U8(0x50), x, x)
		g.VBLENDPD(operand.U8(0xa), to, x, x)
	}
	g.VMOVUPS(x, to)
	g.ADDQ(operand.I8(g.bytes/2), i)
	g.Label("enough")
	g.CMPQ(i, whole)
	g.JLT(operand.LabelRef("vector"))
	one := g.GP64()
	g.Label("one")
	if e.bytes == 4 {
		g.MOVL(from, one.As32())
		g.MOVL(one.As32(), to)
	} else {
		g.MOVQ(from, one)
		g.MOVQ(one, to)
	}
	g.ADDQ(operand.I8(e.bytes), i)
	g.CMPQ(i, n)
	g.JLT(operand.LabelRef("one"))
	g.ADDQ(stride, src)
	g.ADDQ(width, dst)
	g.DECQ(rows)
	g.JNZ(operand.LabelRef("row"))
	g.end()
}

// prefetchBytes is how far ahead loadSquare has the caches fetch each row.
const prefetchBytes = 256

// transpose writes the function that transposes squares of as many rows and
// columns as a vector has lanes, from left to right.
func (g *generator) transpose(e elem) {
	g.begin(e.name+"Transpose", fmt.Sprintf(packSignature, e.typ), "is the transpose of kernels.")
	dst, src, n, rows := g.load("dst"), g.load("src"), g.load("n"), g.load("rows")
	width, stride := g.loadBytes(e, "width"), g.loadBytes(e, "stride")
	lanes := g.lanes(e)
	in := g.rowsAt(src, stride, lanes)
	x := g.vectors(lanes)
	if !g.wide() && e.bytes == 4 {
		for _, rowsIn := range manyRows {
			g.CMPQ(n, operand.U8(rowsIn))
			g.JEQ(operand.LabelRef(fmt.Sprint("rows", rowsIn)))
		}
		g.JMP(operand.LabelRef("square"))
		for _, rowsIn := range manyRows {
			g.Label(fmt.Sprint("rows", rowsIn))
			g.wholeSquares(in, rowsIn, dst, width, rows)
		}
	}
	g.Label("square")
	g.loadSquare(e, in, n, rows, x)
	for _, v := range g.turn(e, x) {
		g.VMOVUPS(v, at(dst, 0))
		g.ADDQ(width, dst)
		g.DECQ(rows)
		g.JZ(operand.LabelRef("done"))
	}
	in.step(g, operand.I32(g.bytes))
	g.JMP(operand.LabelRef("square"))
	g.Label("done")
	g.end()
}

// manyRows are the numbers of rows whose squares are transposed by wholeSquares: those of a panel of b
// and of the highest tiles.
var manyRows = []int{8, 6, 5}

// wholeSquares transposes the first n of eight rows, of eight columns of float32 at a time, as long as
// there are as many, and goes on with what is left. A vector is loaded from two rows, of each a half:
// what puts halves together then is a load and no step among registers.
func (g *generator) wholeSquares(in rows, n int, dst, width, left reg.GPVirtual) {
	next := fmt.Sprint("whole", n)
	g.Label(next)
	g.CMPQ(left, operand.U8(8))
	g.JLT(operand.LabelRef(fmt.Sprint("rest", n)))
	for half := range 2 {
		x := g.vectors(4)
		for i, v := range x {
			first, second := in.at(i), in.at(i+4)
			first.Disp, second.Disp = 16*half, 16*half
			g.VMOVUPS(first, v.AsX())
			if i+4 < n {
				g.VINSERTF128(operand.U8(1), second, v, v)
			}
		}
		for _, unpack := range []func(...operand.Op){g.VUNPCKLPS, g.VUNPCKHPS} { // two columns, and the next two
			low, high, even, odd := g.vector(), g.vector(), g.vector(), g.vector()
			unpack(x[1], x[0], low)
			unpack(x[3], x[2], high)
			g.VUNPCKLPD(high, low, even)
			g.VUNPCKHPD(high, low, odd)
			for _, column := range []reg.VecVirtual{even, odd} {
				g.VMOVUPS(column, at(dst, 0))
				g.ADDQ(width, dst)
			}
		}
	}
	for i := range n {
		ahead := in.at(i)
		ahead.Disp = prefetchBytes
		g.PREFETCHT0(ahead)
	}
	in.step(g, operand.I32(g.bytes))
	g.SUBQ(operand.U8(8), left)
	g.JMP(operand.LabelRef(next))
	g.Label(fmt.Sprint("rest", n))
	g.TESTQ(left, left)
	g.JZ(operand.LabelRef("done"))
	g.JMP(operand.LabelRef("square"))
}

// loadSquare loads the first n of some rows, and of each as many elements as
// there are: all that a vector holds, or left.
func (g *generator) loadSquare(e elem, in rows, n operand.Op, left reg.GPVirtual, x []reg.VecVirtual) {
	lanes := g.GP64()
	g.MOVQ(operand.U32(len(x)), lanes)
	g.CMPQ(left, lanes)
	g.CMOVQLT(left, lanes)
	m := g.maskOf(e, lanes)
	for _, v := range x {
		g.zero(v)
	}
	for i, v := range x {
		if i > 0 {
			g.CMPQ(n, operand.U8(i))
			g.JEQ(operand.LabelRef("loaded"))
		}
		g.loadMasked(e, m, in.at(i), v)
		ahead := in.at(i)
		ahead.Disp += prefetchBytes
		g.PREFETCHT0(ahead)
	}
	g.Label("loaded")
}

// turn returns the columns of the square whose rows are x.
func (g *generator) turn(e elem, x []reg.VecVirtual) []reg.VecVirtual {
	// Within each 128 bits: pairs, then (of float32) pairs of pairs.
	x = g.pairs(x, 1, func(a, b, lo, hi reg.VecVirtual) {
		if e.bytes == 4 {
			g.VUNPCKLPS(b, a, lo)
			g.VUNPCKHPS(b, a, hi)
		} else {
			g.VUNPCKLPD(b, a, lo)
			g.VUNPCKHPD(b, a, hi)
		}
	})
	step := 2
	if e.bytes == 4 {
		x = g.pairs(x, 2, func(a, b, lo, hi reg.VecVirtual) {
			g.VUNPCKLPD(b, a, lo)
			g.VUNPCKHPD(b, a, hi)
		})
		// Columns 1 and 2 of each four have come out exchanged.
		for i := 0; i < len(x); i += 4 {
			x[i+1], x[i+2] = x[i+2], x[i+1]
		}
		step = 4
	}
	// Then whole parts of 128 bits.
	if !g.wide() {
		return g.pairs(x, step, func(a, b, lo, hi reg.VecVirtual) {
			g.VPERM2F128(operand.U8(0x20), b, a, lo)
			g.VPERM2F128(operand.U8(0x31), b, a, hi)
		})
	}
	for range 2 {
		x = g.pairs(x, step, func(a, b, lo, hi reg.VecVirtual) {
			g.VSHUFF32X4(operand.U8(0x88), b, a, lo)
			g.VSHUFF32X4(operand.U8(0xdd), b, a, hi)
		})
		step *= 2
	}
	return x
}

// pairs combines rows that are step apart: the low results take the place of
// the first of each pair, the high ones that of the second.
func (g *generator) pairs(x []reg.VecVirtual, step int, f func(a, b, lo, hi reg.VecVirtual)) []reg.VecVirtual {
	y := make([]reg.VecVirtual, len(x))
	for i := range x {
		if i&step == 0 {
			y[i], y[i+step] = g.vector(), g.vector()
			f(x[i], x[i+step], y[i], y[i+step])
		}
	}
	return y
}

// widen writes the function that widens numbers of 16 bits to float32.
func (g *generator) widen(from string) {
	g.begin("Widen"+from, "func(dst *float32, src *uint16, n int)",
		fmt.Sprintf("widens n numbers; n is a positive multiple of %d.", g.bytes/4))
	dst, src, n := g.load("dst"), g.load("src"), g.load("n")
	x := g.vector()
	g.Label("next")
	if from == "F16" {
		g.VCVTPH2PS(at(src, 0), x)
	} else {
		g.VPMOVZXWD(at(src, 0), x)
		g.VPSLLD(operand.U8(16), x, x)
	}
	g.VMOVUPS(x, at(dst, 0))
	g.ADDQ(operand.I32(g.bytes/2), src)
	g.ADDQ(operand.I32(g.bytes), dst)
	g.SUBQ(operand.I32(g.bytes/4), n)
	g.JNZ(operand.LabelRef("next"))
	g.end()
}
