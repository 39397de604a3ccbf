package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

const streamSignature = "func(c *%s, ldc int, a *%[1]s, rowA, colA int, b *%[1]s, rowB, k, n int, fresh bool)"

// stream writes the function that adds to r rows of sums in memory, v vectors
// of columns after the other, so that few rows of b pass by side by side, each
// in the order in which it lies. It fetches nothing ahead: the processor knows
// the pattern, and does so better.
func (g *generator) stream(e elem, r, v int) {
	g.begin(fmt.Sprintf("%sStream%dx%d", e.name, r, v), fmt.Sprintf(streamSignature, e.typ),
		fmt.Sprintf("is the streamFunc of %d rows and %d vectors.", r, v))
	ldc, colA, k := g.address("ldc"), g.address("colA"), g.address("k")
	c, b, rowB, n := g.load("c"), g.load("b"), g.load("rowB"), g.load("n")
	a := g.rowsAt(g.load("a"), g.load("rowA"), r)
	row, left := g.GP64(), g.GP64()
	sum := g.vectors(r * v)
	g.Label("panel")
	g.startSums(sum, c, ldc, r, v)
	g.MOVQ(b, row)
	g.MOVQ(k, left)
	g.Label("inner")
	g.products(e, nil, sum, a, row, r, v)
	a.step(g, colA)
	g.ADDQ(rowB, row)
	g.DECQ(left)
	g.JNZ(operand.LabelRef("inner"))
	g.eachSum(c, ldc, r, v, func(i int, p operand.Mem) { g.VMOVUPS(sum[i], p) })
	// Back to the first column of a, and on to the next columns of b.
	g.MOVQ(k, left)
	g.IMULQ(colA, left)
	g.NEGQ(left)
	a.step(g, left)
	g.ADDQ(operand.I32(v*g.bytes), b)
	g.ADDQ(operand.I32(v*g.bytes), c)
	g.DECQ(n)
	g.JNZ(operand.LabelRef("panel"))
	g.end()
}

// startSums sets the sums to zero if fresh is set, and else to those at c.
func (g *generator) startSums(sum []reg.VecVirtual, c reg.GPVirtual, ldc operand.Mem, r, v int) {
	g.CMPB(g.address("fresh"), operand.U8(0))
	g.JEQ(operand.LabelRef("resume"))
	for _, s := range sum {
		g.zero(s)
	}
	g.JMP(operand.LabelRef("start"))
	g.Label("resume")
	g.eachSum(c, ldc, r, v, func(i int, p operand.Mem) { g.VMOVUPS(p, sum[i]) })
	g.Label("start")
}

// eachSum calls f with the place of each sum of r rows and v vectors at c.
func (g *generator) eachSum(c reg.GPVirtual, ldc operand.Mem, r, v int, f func(i int, p operand.Mem)) {
	row := g.GP64()
	g.MOVQ(c, row)
	for i := range r {
		for j := range v {
			f(i*v+j, at(row, j*g.bytes))
		}
		if i < r-1 {
			g.ADDQ(ldc, row)
		}
	}
}

// address returns where the parameter called name is.
func (g *generator) address(name string) operand.Mem {
	p, err := g.Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	return p.Addr
}
