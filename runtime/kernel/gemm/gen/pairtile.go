package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// pairSteps is the number of steps of the inner dim that bfloat16 sums at a time: PairBlock
// of package gemm.
const pairSteps = 32

// f32 are the elements of pair tiles: bfloat16 widened.
var f32 = elems[0]

// pairTile writes the function that computes r rows of v vectors in the order of
// bfloat16: each sum has two registers while a block goes by, one for its even steps and
// one for its odd ones.
func (g *generator) pairTile(r, v int) {
	g.begin(fmt.Sprintf("BF16Tile%dx%d", r, v), fmt.Sprintf(tileSignature, f32.typ),
		fmt.Sprintf("is the tileFunc in the order of bfloat16 of %d rows and %d vectors.", r, v))
	g.prefetchSums(g.load("c"), g.loadBytes(f32, "ldc"), r, v)
	a, b, k := g.rowsAt(g.load("a"), g.loadBytes(f32, "rowA"), r), g.load("b"), g.load("k")
	t := pairLoop{a: a, b: b, k: k, colA: g.loadBytes(f32, "colA"), rowB: g.loadBytes(f32, "rowB"), ahead: g.load("ahead"),
		add: g.Load(g.Param("add"), g.GP8()), even: g.vectors(r * v), odd: g.vectors(r * v), r: r, v: v}
	lanes := g.load("lanes")
	if !g.wide() {
		// Loads by a mask of AVX2 are slow: a loop without them.
		g.CMPQ(lanes, operand.U8(g.lanes(f32)))
		g.JNE(operand.LabelRef("part"))
		g.pairBlocks("whole", nil, t)
		g.end()
		g.Label("part")
	}
	m := g.maskOf(f32, lanes)
	g.pairBlocks("block", &m, t)
	g.end()
}

// A pairLoop is what the loop of a pair tile works on.
type pairLoop struct {
	a                       rows
	b, k, colA, rowB, ahead reg.GPVirtual
	add                     reg.Register
	even, odd               []reg.VecVirtual
	r, v                    int
}

// pairBlocks writes the loop over blocks.
func (g *generator) pairBlocks(label string, m *mask, t pairLoop) {
	step := func(sum []reg.VecVirtual) {
		g.products(f32, m, sum, t.a, t.b, t.r, t.v)
		g.prefetch(t.ahead, t.v)
		g.ADDQ(g.address("step"), t.ahead)
		t.a.step(g, t.colA)
		g.ADDQ(t.rowB, t.b)
	}
	left, pairs := g.GP64(), g.GP64()
	g.Label(label)
	g.MOVQ(operand.U32(pairSteps), left)
	g.CMPQ(t.k, left)
	g.CMOVQLT(t.k, left)
	g.SUBQ(left, t.k)
	for i := range t.even {
		g.zero(t.even[i])
		g.zero(t.odd[i])
	}
	g.MOVQ(left, pairs)
	g.SHRQ(operand.U8(1), pairs)
	g.JZ(operand.LabelRef(label + "Single"))
	g.Label(label + "Pair")
	step(t.even)
	step(t.odd)
	g.DECQ(pairs)
	g.JNZ(operand.LabelRef(label + "Pair"))
	g.Label(label + "Single")
	g.TESTB(operand.U8(1), left.As8())
	g.JZ(operand.LabelRef(label + "Sum"))
	step(t.even)
	g.Label(label + "Sum")
	for i := range t.even {
		g.add(f32, t.odd[i], t.even[i])
	}
	g.addPairs(label, m, t)
	g.TESTQ(t.k, t.k)
	g.JNZ(operand.LabelRef(label))
}

// addPairs adds the sums of a block to c, or to zeros if it is the first one and add is
// not set.
func (g *generator) addPairs(label string, m *mask, t pairLoop) {
	c, ldc := g.load("c"), g.loadBytes(f32, "ldc")
	each := func(f func(i int, last bool, p operand.Mem)) {
		row := g.GP64()
		g.MOVQ(c, row)
		for i := range t.r {
			for j := range t.v {
				f(i*t.v+j, j == t.v-1, at(row, j*g.bytes))
			}
			if i < t.r-1 {
				g.ADDQ(ldc, row)
			}
		}
	}
	g.TESTB(t.add, t.add)
	g.JZ(operand.LabelRef(label + "First"))
	each(func(i int, last bool, p operand.Mem) {
		x := g.vector()
		g.loadLast(f32, m, last, p, x)
		g.add(f32, x, t.even[i])
	})
	g.JMP(operand.LabelRef(label + "Store"))
	g.Label(label + "First")
	none := g.vector()
	g.zero(none)
	for _, s := range t.even {
		g.add(f32, none, s)
	}
	g.MOVB(operand.U8(1), t.add)
	g.Label(label + "Store")
	each(func(i int, last bool, p operand.Mem) {
		if last && m != nil {
			g.storeMasked(f32, *m, t.even[i], p)
		} else {
			g.VMOVUPS(t.even[i], p)
		}
	})
}
