package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// slideWidths are how many vectors of results the functions of slide keep in registers.
var slideWidths = []int{1, 2, 4}

// mostSums is how many elements of a window rowSums takes at most: those of 3 by 3.
const mostSums = 9

const (
	slideSignature   = "func(c *%s, ldc int, x *%[1]s, rowX int, w *%[1]s, taps *int, count, n, rows int)"
	rowSumsSignature = "func(sums, x *%s, rowX int, y *%[1]s, rowY int, taps *int, n int)"
)

// slide writes the function that sums what windows of one channel see, v vectors of
// places at a time: the last ones end with the row, and overlap those before.
func (g *generator) slide(e elem, v int) {
	g.begin(fmt.Sprintf("%sSlide%d", e.name, v), fmt.Sprintf(slideSignature, e.typ), fmt.Sprintf("is the slideFunc of %d vectors.", v))
	ldc, rowX, w, taps := g.address("ldc"), g.address("rowX"), g.address("w"), g.address("taps")
	c, x, last, rows := g.load("c"), g.load("x"), g.loadBytes(e, "n"), g.load("rows")
	end := g.load("count")
	g.SHLQ(operand.U8(3), end)
	g.ADDQ(taps, end)
	g.SUBQ(operand.I32(v*g.bytes), last)
	i, from, weight, tap, off := g.GP64(), g.GP64(), g.GP64(), g.GP64(), g.GP64()
	none := g.minusZero(e)
	element, total, sum := g.vector(), g.vectors(v), g.vectors(v)
	g.Label("row")
	g.XORQ(i, i)
	g.Label("part")
	g.LEAQ(operand.Mem{Base: x, Index: i, Scale: 1}, from)
	g.MOVQ(w, weight)
	g.MOVQ(taps, tap)
	for _, t := range total {
		g.VMOVAPS(none, t)
	}
	g.Label("step")
	for _, s := range sum {
		g.zero(s)
	}
	g.Label("tap")
	g.MOVQ(at(tap, 0), off)
	g.ADDQ(operand.I8(8), tap)
	g.broadcast(e, at(weight, 0), element)
	g.ADDQ(operand.I8(e.bytes), weight)
	g.SHRQ(operand.U8(1), off) // the flag stays until the jump
	for j, s := range sum {
		g.fma(e, operand.Mem{Base: from, Index: off, Scale: 1, Disp: j * g.bytes}, element, s)
	}
	g.JCC(operand.LabelRef("tap"))
	for j, t := range total {
		g.add(e, sum[j], t)
	}
	g.CMPQ(tap, end)
	g.JLT(operand.LabelRef("step"))
	for j, t := range total {
		g.VMOVUPS(t, operand.Mem{Base: c, Index: i, Scale: 1, Disp: j * g.bytes})
	}
	g.CMPQ(i, last)
	g.JEQ(operand.LabelRef("done"))
	g.ADDQ(operand.I32(v*g.bytes), i)
	g.CMPQ(i, last)
	g.CMOVQGT(last, i)
	g.JMP(operand.LabelRef("part"))
	g.Label("done")
	g.ADDQ(ldc, c)
	g.ADDQ(rowX, x)
	g.DECQ(rows)
	g.JNZ(operand.LabelRef("row"))
	g.end()
}

// minusZero returns a vector of -0, which added to a number is that number.
func (g *generator) minusZero(e elem) reg.VecVirtual {
	v, sign, low := g.vector(), g.GP64(), g.XMM()
	bits := uint64(1) << 63
	if e.bytes == 4 {
		bits |= 1 << 31
	}
	g.MOVQ(operand.U64(bits), sign)
	g.VMOVQ(sign, low)
	g.VPBROADCASTQ(low, v)
	return v
}

// rowSums writes the function that sums the products of a vector of rows, a column
// after the other, for so many elements of a window.
func (g *generator) rowSums(e elem, count int) {
	g.begin(fmt.Sprintf("%sRowSums%d", e.name, count), fmt.Sprintf(rowSumsSignature, e.typ), fmt.Sprintf("is the rowSumsFunc of %d elements.", count))
	rowX, rowY := g.load("rowX"), g.load("rowY")
	x, y, taps, n := g.load("x"), g.load("y"), g.load("taps"), g.load("n")
	sum, off := g.vectors(count), g.GP64()
	for _, s := range sum {
		g.zero(s)
	}
	column, product := g.vector(), g.vector()
	g.Label("column")
	g.VMOVUPS(at(y, 0), column)
	for i, s := range sum {
		g.MOVQ(at(taps, 8*i), off)
		seen := operand.Mem{Base: x, Index: off, Scale: 1}
		if e.bytes == 4 {
			g.VMULPS(seen, column, product)
		} else {
			g.VMULPD(seen, column, product)
		}
		g.add(e, product, s)
	}
	g.ADDQ(rowX, x)
	g.ADDQ(rowY, y)
	g.DECQ(n)
	g.JNZ(operand.LabelRef("column"))
	to := g.load("sums")
	for i, s := range sum {
		g.VMOVUPS(s, at(to, i*g.bytes))
	}
	g.end()
}
