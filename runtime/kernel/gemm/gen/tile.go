package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

const tileSignature = "func(c *%s, ldc int, a *%[1]s, rowA, colA int, b *%[1]s, rowB, k, lanes int, add bool, ahead uintptr, step int)"

// tile writes the function that computes r rows of v vectors of sums. The sums
// stay in registers while the inner dim is walked once.
func (g *generator) tile(e elem, r, v int) {
	g.begin(fmt.Sprintf("%sTile%dx%d", e.name, r, v), fmt.Sprintf(tileSignature, e.typ),
		fmt.Sprintf("is the tileFunc of %d rows and %d vectors.", r, v))
	g.prefetchSums(g.load("c"), g.loadBytes(e, "ldc"), r, v)
	sum, inner := g.sums(e, r, v)
	lanes := g.load("lanes")
	if !g.wide() {
		// Loads by a mask of AVX2 are slow: a loop without them.
		g.CMPQ(lanes, operand.U8(g.lanes(e)))
		g.JNE(operand.LabelRef("part"))
		inner("whole", nil)
		g.storeSums(e, nil, "Whole", sum, g.load("c"), g.loadBytes(e, "ldc"), r, v)
		g.end()
		g.Label("part")
	}
	m := g.maskOf(e, lanes)
	inner("inner", &m)
	g.storeSums(e, &m, "", sum, g.load("c"), g.loadBytes(e, "ldc"), r, v)
	g.end()
}

// pastTile writes the function that is tile of whole vectors, but for where the sums go: past the
// caches.
func (g *generator) pastTile(e elem, r, v int) {
	g.begin(fmt.Sprintf("%sPastTile%d", e.name, r), fmt.Sprintf(tileSignature, e.typ),
		fmt.Sprintf("is that of pastTiles of %d rows.", r))
	sum, inner := g.sums(e, r, v)
	inner("whole", nil)
	c, ldc := g.load("c"), g.loadBytes(e, "ldc")
	for i := range r {
		for j := range v {
			g.VMOVNTPS(sum[i*v+j], at(c, j*g.bytes))
		}
		if i < r-1 {
			g.ADDQ(ldc, c)
		}
	}
	g.end()
}

// sums returns the sums of a tile, which are 0, and what writes the loop that adds to them.
func (g *generator) sums(e elem, r, v int) (sum []reg.VecVirtual, inner func(label string, m *mask)) {
	a, b, k := g.rowsAt(g.load("a"), g.loadBytes(e, "rowA"), r), g.load("b"), g.load("k")
	colA, rowB := g.loadBytes(e, "colA"), g.loadBytes(e, "rowB")
	ahead, step := g.load("ahead"), g.load("step")
	sum = g.vectors(r * v)
	for _, s := range sum {
		g.zero(s)
	}
	return sum, func(label string, m *mask) {
		g.Label(label)
		g.products(e, m, sum, a, b, r, v)
		g.prefetch(ahead, v)
		g.ADDQ(step, ahead)
		a.step(g, colA)
		g.ADDQ(rowB, b)
		g.DECQ(k)
		g.JNZ(operand.LabelRef(label))
	}
}

// prefetchSums fetches what is to be stored to or added to.
func (g *generator) prefetchSums(c, ldc reg.GPVirtual, r, v int) {
	for i := range r {
		for j := 0; j < v*g.bytes; j += 64 {
			g.PREFETCHT0(at(c, j))
		}
		if i < r-1 {
			g.ADDQ(ldc, c)
		}
	}
}

// prefetch fetches as many bytes as a row of b of v vectors has, to the
// second-level cache: other things are used before them.
func (g *generator) prefetch(p reg.GPVirtual, v int) {
	for j := 0; j < v*g.bytes; j += 64 {
		g.PREFETCHT1(at(p, j))
	}
}

// products adds to each sum the product of an element of a and one of b.
func (g *generator) products(e elem, m *mask, sum []reg.VecVirtual, a rows, b reg.GPVirtual, r, v int) {
	loadB := func(j int) reg.VecVirtual {
		x := g.vector()
		g.loadLast(e, m, j == v-1, at(b, j*g.bytes), x)
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

// loadLast loads a vector, by the mask if it is the last one and there is one.
func (g *generator) loadLast(e elem, m *mask, last bool, p operand.Mem, x reg.VecVirtual) {
	if last && m != nil {
		g.loadMasked(e, *m, p, x)
	} else {
		g.VMOVUPS(p, x)
	}
}

// storeSums stores the sums in c, or if add is set adds them to it.
func (g *generator) storeSums(e elem, m *mask, suffix string, sum []reg.VecVirtual, c, ldc reg.GPVirtual, r, v int) {
	add := g.Load(g.Param("add"), g.GP8())
	g.TESTB(add, add)
	g.JZ(operand.LabelRef("store" + suffix))
	p := g.GP64()
	g.MOVQ(c, p)
	for i := range r {
		for j := range v {
			x := g.vector()
			g.loadLast(e, m, j == v-1, at(p, j*g.bytes), x)
			g.add(e, x, sum[i*v+j])
		}
		if i < r-1 {
			g.ADDQ(ldc, p)
		}
	}
	g.Label("store" + suffix)
	for i := range r {
		for j := range v {
			if to := at(c, j*g.bytes); j == v-1 && m != nil {
				g.storeMasked(e, *m, sum[i*v+j], to)
			} else {
				g.VMOVUPS(sum[i*v+j], to)
			}
		}
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
