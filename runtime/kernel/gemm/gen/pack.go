package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

const packSignature = "func(dst *%s, width int, src *%[1]s, stride, n, rows int)"

// copyRows writes the function that copies rows. In AVX2 the last vector of a row that
// has whole ones ends where the row does and overlaps the one before: on AMD's processors a
// store by a mask takes as long as a dozen others.
func (g *generator) copyRows(e elem) {
	g.begin(e.name+"Copy", fmt.Sprintf(packSignature, e.typ), "is the copyRows of kernels.")
	dst, src, n, rows := g.load("dst"), g.load("src"), g.load("n"), g.load("rows")
	width, stride := g.loadBytes(e, "width"), g.loadBytes(e, "stride")
	last, whole := g.GP64(), g.GP64() // lanes of the last vector, bytes before it
	g.MOVQ(n, whole)
	g.DECQ(whole)
	g.ANDQ(operand.I8(-g.lanes(e)), whole)
	g.MOVQ(n, last)
	g.SUBQ(whole, last)
	m := g.maskOf(e, last)
	g.SHLQ(shiftOf(e), whole)
	x, i := g.vector(), g.GP64()
	part := func(p reg.Register) operand.Mem { return operand.Mem{Base: p, Index: i, Scale: 1} }
	if !g.wide() {
		g.CMPQ(n, operand.I8(g.lanes(e)))
		g.JGE(operand.LabelRef("wide"))
	}
	g.Label("row")
	g.XORQ(i, i)
	g.JMP(operand.LabelRef("enough"))
	g.Label("vector")
	g.VMOVUPS(part(src), x)
	g.VMOVUPS(x, part(dst))
	g.ADDQ(operand.I8(g.bytes), i)
	g.Label("enough")
	g.CMPQ(i, whole)
	g.JLT(operand.LabelRef("vector"))
	g.loadMasked(e, m, part(src), x)
	g.storeMasked(e, m, x, part(dst))
	g.ADDQ(stride, src)
	g.ADDQ(width, dst)
	g.DECQ(rows)
	g.JNZ(operand.LabelRef("row"))
	if !g.wide() {
		g.VZEROUPPER()
		g.RET()
		g.Label("wide")
		g.SHLQ(shiftOf(e), n)
		g.SUBQ(operand.I8(g.bytes), n)
		g.Label("wideRow")
		g.XORQ(i, i)
		g.JMP(operand.LabelRef("wideEnough"))
		g.Label("wideVector")
		g.VMOVUPS(part(src), x)
		g.VMOVUPS(x, part(dst))
		g.ADDQ(operand.I8(g.bytes), i)
		g.Label("wideEnough")
		g.CMPQ(i, whole)
		g.JLT(operand.LabelRef("wideVector"))
		g.VMOVUPS(operand.Mem{Base: src, Index: n, Scale: 1}, x)
		g.VMOVUPS(x, operand.Mem{Base: dst, Index: n, Scale: 1})
		g.ADDQ(stride, src)
		g.ADDQ(width, dst)
		g.DECQ(rows)
		g.JNZ(operand.LabelRef("wideRow"))
	}
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
