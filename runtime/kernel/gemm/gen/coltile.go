package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// colTile writes the function that computes r rows of one vector of sums
// from a b that lies by columns: it is transposed in registers.
func (g *generator) colTile(e elem, r int) {
	g.begin(fmt.Sprintf("%sColTile%d", e.name, r), fmt.Sprintf(tileSignature, e.typ),
		fmt.Sprintf("is the tileFunc of %d rows and 1 vector of a b that lies by columns.", r))
	a, b := g.rowsAt(g.load("a"), g.loadBytes(e, "rowA"), r), g.rowsAt(g.load("b"), g.loadBytes(e, "rowB"), g.lanes(e))
	colA, k := g.loadBytes(e, "colA"), g.load("k")
	sum, x := g.vectors(r), g.vectors(g.lanes(e))
	for _, v := range sum {
		g.zero(v)
	}
	g.Label("square")
	lanes, err := g.Param("lanes").Resolve() // a comparison's operand; registers are short
	if err != nil {
		panic(err)
	}
	g.loadSquare(e, b, lanes.Addr, k, x)
	for _, column := range g.turn(e, x) {
		for i, s := range sum {
			if g.wide() {
				g.fmaBroadcast(e, a.at(i), column, s)
			} else {
				v := g.vector()
				g.broadcast(e, a.at(i), v)
				g.fma(e, v, column, s)
			}
		}
		a.step(g, colA)
		g.DECQ(k)
		g.JZ(operand.LabelRef("done"))
	}
	b.step(g, operand.I32(g.bytes))
	g.JMP(operand.LabelRef("square"))
	g.Label("done")
	m := g.maskOf(e, g.load("lanes"))
	g.storeSums(e, &m, "", sum, g.load("c"), g.loadBytes(e, "ldc"), r, 1)
	g.end()
}

// fmaBroadcast adds the element at p times y to sum.
func (g *generator) fmaBroadcast(e elem, p operand.Mem, y, sum reg.VecVirtual) {
	if e.bytes == 4 {
		g.VFMADD231PS_BCST(p, y, sum)
	} else {
		g.VFMADD231PD_BCST(p, y, sum)
	}
}
