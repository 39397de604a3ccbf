package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// tile writes the function that computes r rows of v vectors of sums. The sums
// stay in registers while the inner dim is walked once.
func (g *generator) tile(e elem, r, v int) {
	g.begin(fmt.Sprintf("Tile%s%dx%d", e.name, r, v),
		fmt.Sprintf("func(c *%s, ldc int, a *%s, rowA, colA int, b *%s, rowB, k, lanes int, add bool)", e.typ, e.typ, e.typ),
		fmt.Sprintf("is the tileFunc of %d rows and %d vectors.", r, v))
	shift := operand.U8(2)
	if e.bytes == 8 {
		shift = 3
	}
	load := func(name string) reg.GPVirtual { return g.Load(g.Param(name), g.GP64()).(reg.GPVirtual) }
	bytes := func(name string) reg.GPVirtual {
		x := load(name)
		g.SHLQ(shift, x)
		return x
	}
	a, b, k := g.rowsAt(load("a"), bytes("rowA"), r), load("b"), load("k")
	colA, rowB := bytes("colA"), bytes("rowB")
	lanes := load("lanes")
	m := g.maskOf(e, lanes)

	sum := g.vectors(r * v)
	for _, s := range sum {
		g.zero(s)
	}
	g.Label("inner")
	g.products(e, m, sum, a, b, r, v)
	a.step(g, colA)
	g.ADDQ(rowB, b)
	g.DECQ(k)
	g.JNZ(operand.LabelRef("inner"))
	g.storeSums(e, m, sum, load("c"), bytes("ldc"), r, v)
	g.end()
}

// products adds to each sum the product of an element of a and one of b.
func (g *generator) products(e elem, m mask, sum []reg.VecVirtual, a rows, b reg.GPVirtual, r, v int) {
	loadB := func(j int) reg.VecVirtual {
		x := g.vector()
		if j == v-1 {
			g.load(e, m, at(b, j*g.bytes), x)
		} else {
			g.VMOVUPS(at(b, j*g.bytes), x)
		}
		return x
	}
	loadA := func(i int) reg.VecVirtual {
		x := g.vector()
		g.broadcast(e, a.at(i), x)
		return x
	}
	// The shorter side is held in registers, the longer one passes by.
	if v <= r {
		held := make([]reg.VecVirtual, v)
		for j := range held {
			held[j] = loadB(j)
		}
		for i := range r {
			x := loadA(i)
			for j := range v {
				g.fma(e, x, held[j], sum[i*v+j])
			}
		}
		return
	}
	held := make([]reg.VecVirtual, r)
	for i := range held {
		held[i] = loadA(i)
	}
	for j := range v {
		x := loadB(j)
		for i := range r {
			g.fma(e, held[i], x, sum[i*v+j])
		}
	}
}

// storeSums stores the sums in c, or if add is set adds them to it.
func (g *generator) storeSums(e elem, m mask, sum []reg.VecVirtual, c, ldc reg.GPVirtual, r, v int) {
	add := g.Load(g.Param("add"), g.GP8())
	g.TESTB(add, add)
	g.JZ(operand.LabelRef("store"))
	p := g.GP64()
	g.MOVQ(c, p)
	for i := range r {
		for j := range v - 1 {
			g.add(e, at(p, j*g.bytes), sum[i*v+j])
		}
		x := g.vector()
		g.load(e, m, at(p, (v-1)*g.bytes), x)
		g.add(e, x, sum[i*v+v-1])
		if i < r-1 {
			g.ADDQ(ldc, p)
		}
	}
	g.Label("store")
	for i := range r {
		for j := range v - 1 {
			g.VMOVUPS(sum[i*v+j], at(c, j*g.bytes))
		}
		g.store(e, m, sum[i*v+v-1], at(c, (v-1)*g.bytes))
		if i < r-1 {
			g.ADDQ(ldc, c)
		}
	}
}

// rows are addresses a stride apart: every fourth has a register.
type rows struct {
	fourth         []reg.GPVirtual
	stride, thrice reg.GPVirtual
}

// rowsAt returns the addresses p, p+stride, and so on of n rows.
func (g *generator) rowsAt(p, stride reg.GPVirtual, n int) rows {
	r := rows{fourth: []reg.GPVirtual{p}, stride: stride, thrice: g.GP64()}
	g.LEAQ(operand.Mem{Base: stride, Index: stride, Scale: 2}, r.thrice)
	for i := 4; i < n; i += 4 {
		next := g.GP64()
		g.LEAQ(operand.Mem{Base: p, Index: stride, Scale: 4}, next)
		r.fourth = append(r.fourth, next)
		p = next
	}
	return r
}

// at returns the operand at the address of row i.
func (r rows) at(i int) operand.Mem {
	p := operand.Mem{Base: r.fourth[i/4]}
	switch i % 4 {
	case 1:
		p.Index, p.Scale = r.stride, 1
	case 2:
		p.Index, p.Scale = r.stride, 2
	case 3:
		p.Index, p.Scale = r.thrice, 1
	}
	return p
}

// step moves the rows by some bytes.
func (r rows) step(g *generator, bytes operand.Op) {
	for _, p := range r.fourth {
		g.ADDQ(bytes, p)
	}
}
