package main

import (
	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// wide reports whether the vectors are those of AVX-512.
func (g *generator) wide() bool { return g.bytes == 64 }

// vector returns a fresh vector register.
func (g *generator) vector() reg.VecVirtual {
	if g.wide() {
		return g.ZMM()
	}
	return g.YMM()
}

// vectors returns n of them.
func (g *generator) vectors(n int) []reg.VecVirtual {
	v := make([]reg.VecVirtual, n)
	for i := range v {
		v[i] = g.vector()
	}
	return v
}

// A mask says which lanes of a vector exist: a mask register in AVX-512,
// else a vector of zeros and ones.
type mask struct {
	k reg.Register
	y reg.VecVirtual
}

// masks writes the table that maskOf of AVX2 reads.
func (g *generator) masks() {
	if g.wide() {
		return
	}
	g.maskTable = g.StaticGlobal(g.isa.name + "Masks")
	g.DataAttributes(attr.RODATA | attr.NOPTR)
	for i := range 8 {
		g.AddDatum(8*i, operand.U64(^uint64(0)*uint64(1-i/4)))
	}
}

// maskOf returns the mask of the first n lanes; n is at most the number of
// lanes and is destroyed.
func (g *generator) maskOf(e elem, n reg.GPVirtual) mask {
	if g.wide() {
		ones, k := g.GP64(), g.K()
		g.MOVQ(operand.I32(-1), ones)
		g.BZHIQ(n, ones, ones)
		g.KMOVW(ones.As32(), k)
		return mask{k: k}
	}
	y, table := g.YMM(), g.GP64()
	g.LEAQ(g.maskTable.Offset(32), table)
	g.IMUL3Q(operand.I8(-e.bytes), n, n)
	g.VMOVUPS(operand.Mem{Base: table, Index: n, Scale: 1}, y)
	return mask{y: y}
}

// loadMasked loads the lanes of m from p, and zeros for the others.
func (g *generator) loadMasked(e elem, m mask, p operand.Mem, v reg.VecVirtual) {
	switch {
	case g.wide() && e.bytes == 4:
		g.VMOVUPS_Z(p, m.k, v)
	case g.wide():
		g.VMOVUPD_Z(p, m.k, v)
	case e.bytes == 4:
		g.VMASKMOVPS(p, m.y, v)
	default:
		g.VMASKMOVPD(p, m.y, v)
	}
}

// storeMasked stores the lanes of m at p.
func (g *generator) storeMasked(e elem, m mask, v reg.VecVirtual, p operand.Mem) {
	switch {
	case g.wide() && e.bytes == 4:
		g.VMOVUPS(v, m.k, p)
	case g.wide():
		g.VMOVUPD(v, m.k, p)
	case e.bytes == 4:
		g.VMASKMOVPS(v, m.y, p)
	default:
		g.VMASKMOVPD(v, m.y, p)
	}
}

// zero sets v to zeros.
func (g *generator) zero(v reg.VecVirtual) { g.VXORPS(v, v, v) }

// broadcast sets every lane of v to the element at p.
func (g *generator) broadcast(e elem, p operand.Mem, v reg.VecVirtual) {
	if e.bytes == 4 {
		g.VBROADCASTSS(p, v)
	} else {
		g.VBROADCASTSD(p, v)
	}
}

// fma adds x y to sum.
func (g *generator) fma(e elem, x operand.Op, y, sum reg.VecVirtual) {
	if e.bytes == 4 {
		g.VFMADD231PS(x, y, sum)
	} else {
		g.VFMADD231PD(x, y, sum)
	}
}

// add adds x to sum.
func (g *generator) add(e elem, x operand.Op, sum reg.VecVirtual) {
	if e.bytes == 4 {
		g.VADDPS(x, sum, sum)
	} else {
		g.VADDPD(x, sum, sum)
	}
}

// at returns the operand at p plus some bytes.
func at(p reg.Register, bytes int) operand.Mem { return operand.Mem{Base: p, Disp: bytes} }
