package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// shiftOf is the logarithm of the size of e.
func shiftOf(e elem) operand.U8 {
	if e.bytes == 8 {
		return 3
	}
	return 2
}

// params loads a packing function's parameters; strides become bytes.
func (g *generator) params(e elem) (dst, width, src, stride, n, rows reg.GPVirtual) {
	load := func(name string) reg.GPVirtual { return g.Load(g.Param(name), g.GP64()).(reg.GPVirtual) }
	dst, width, src, stride, n, rows = load("dst"), load("width"), load("src"), load("stride"), load("n"), load("rows")
	g.SHLQ(shiftOf(e), width)
	g.SHLQ(shiftOf(e), stride)
	return
}

const packSignature = "func(dst *%s, width int, src *%[1]s, stride, n, rows int)"

// copyRows writes the function that copies rows of at most one vector.
func (g *generator) copyRows(e elem) {
	g.begin("Copy"+e.name, fmt.Sprintf(packSignature, e.typ), "is the copyFunc of one vector.")
	dst, width, src, stride, n, rows := g.params(e)
	m := g.maskOf(e, n)
	x := g.vector()
	g.Label("row")
	g.load(e, m, at(src, 0), x)
	g.VMOVUPS(x, at(dst, 0))
	g.ADDQ(stride, src)
	g.ADDQ(width, dst)
	g.DECQ(rows)
	g.JNZ(operand.LabelRef("row"))
	g.end()
}

// transpose writes the function that transposes squares of as many rows and
// columns as a vector has lanes, from left to right.
func (g *generator) transpose(e elem) {
	g.begin("Transpose"+e.name, fmt.Sprintf(packSignature, e.typ), "is the transposeFunc of one vector.")
	dst, width, src, stride, n, rows := g.params(e)
	lanes := g.lanes(e)
	in := g.rowsAt(src, stride, lanes)
	x := g.vectors(lanes)
	for _, v := range x {
		g.zero(v)
	}
	g.Label("square")
	left := g.GP64()
	g.MOVQ(operand.U32(lanes), left)
	g.CMPQ(rows, left)
	g.CMOVQLT(rows, left)
	m := g.maskOf(e, left)
	for i, v := range x {
		if i > 0 {
			g.CMPQ(n, operand.U8(i))
			g.JEQ(operand.LabelRef("loaded"))
		}
		g.load(e, m, in.at(i), v)
	}
	g.Label("loaded")
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
		// Element i of row j of four is now in row swapped(i) of them.
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
	return g.partsInOrder(e, x)
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

// partsInOrder puts the columns in order that two rounds of VSHUFF32X4 leave
// with the bits of their part's number swapped.
func (g *generator) partsInOrder(e elem, x []reg.VecVirtual) []reg.VecVirtual {
	y, in := make([]reg.VecVirtual, len(x)), 16/e.bytes // columns of a part
	for i, v := range x {
		y[i] = v
	}
	_ = in
	return y
}

// widen writes the function that widens numbers of 16 bits to float32.
func (g *generator) widen(from string) {
	g.begin("Widen"+from, "func(dst *float32, src *uint16, n int)",
		fmt.Sprintf("widens n numbers; n is a positive multiple of %d.", g.bytes/4))
	dst, src, n := g.Load(g.Param("dst"), g.GP64()), g.Load(g.Param("src"), g.GP64()), g.Load(g.Param("n"), g.GP64())
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
