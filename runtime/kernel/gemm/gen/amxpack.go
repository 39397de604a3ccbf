package main

import (
	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// amxISA are the instructions that pack tiles of AMX.
var amxISA = isa{name: "amx", doc: "AMX", bytes: 64}

const (
	amxPackSignature  = "func(dst *float32, src *uint16, stride, n, k int, least *[32]uint16)"
	amxPairsSignature = "func(dst *float32, next int, src *uint16, stride, n, k int, least *[32]uint16)"
)

// writeAMXPack writes the functions that pack tiles.
func writeAMXPack(dir string) error {
	g := &generator{Context: build.NewContext(), isa: amxISA}
	g.ConstraintExpr("amd64")
	g.amxLines()
	g.amxLinesTurned()
	g.amxPairs()
	g.amxPairsTurned()
	return g.save(dir, "amxpack")
}

// A leastScan keeps the least size of numbers of 16 bits that pass by.
type leastScan struct{ acc, ones, t reg.VecVirtual }

// scan starts one with what least has.
func (g *generator) scan() leastScan {
	s := leastScan{g.vector(), g.vector(), g.vector()}
	g.VMOVDQU64(at(g.load("least"), 0), s.acc)
	g.VPTERNLOGD(operand.U8(0xff), s.ones, s.ones, s.ones)
	return s
}

// see takes note of the numbers in x: of each twice its size less one, by which zeros are
// the greatest.
func (g *generator) see(s leastScan, x reg.VecVirtual) {
	g.VPADDW(x, x, s.t)
	g.VPADDW(s.ones, s.t, s.t)
	g.VPMINUW(s.t, s.acc, s.acc)
}

// endScan stores what was seen.
func (g *generator) endScan(s leastScan) { g.VMOVDQU64(s.acc, at(g.load("least"), 0)) }

// wordMask sets k to the first n lanes of 16 bits, of 32 at most; n may be more, and is kept.
func (g *generator) wordMask(n reg.GPVirtual, most int) reg.OpmaskVirtual {
	count, ones, k := g.GP64(), g.GP64(), g.K()
	g.MOVQ(operand.U32(most), count)
	g.CMPQ(n, count)
	g.CMOVQLT(n, count)
	g.MOVQ(operand.I32(-1), ones)
	g.BZHIQ(count, ones, ones)
	g.KMOVD(ones.As32(), k)
	return k
}

// amxLines writes what copies lines along the inner dim into tiles of a.
func (g *generator) amxLines() {
	g.begin("Lines", amxPackSignature, "stores n lines of k numbers, stride bytes apart, in tiles of a.")
	g.Pragma("noescape")
	dst, src, stride, n, k := g.load("dst"), g.load("src"), g.load("stride"), g.load("n"), g.load("k")
	s := g.scan()
	x, p, to, i := g.vector(), g.GP64(), g.GP64(), g.GP64()
	g.Label("tile")
	m := g.wordMask(k, 32)
	g.MOVQ(src, p)
	g.MOVQ(dst, to)
	g.MOVQ(n, i)
	g.Label("line")
	g.VMOVDQU16_Z(at(p, 0), m, x)
	g.VMOVDQU64(x, at(to, 0))
	g.see(s, x)
	g.ADDQ(stride, p)
	g.ADDQ(operand.U8(64), to)
	g.DECQ(i)
	g.JNZ(operand.LabelRef("line"))
	g.ADDQ(operand.U8(64), src)
	g.ADDQ(operand.U32(amxStep), dst)
	g.SUBQ(operand.U8(32), k)
	g.JG(operand.LabelRef("tile"))
	g.endScan(s)
	g.end()
}

// amxLinesTurned writes what turns lines along the inner dim into tiles of b.
func (g *generator) amxLinesTurned() {
	g.begin("LinesTurned", amxPackSignature, "stores n lines of k numbers, stride bytes apart, in tiles of b.")
	g.Pragma("noescape")
	dst, n, k := g.load("dst"), g.load("n"), g.load("k")
	in := g.rowsAt(g.load("src"), g.load("stride"), 16)
	s := g.scan()
	x := g.vectors(16)
	g.Label("tile")
	m := g.wordMask(k, 32)
	for _, v := range x {
		g.zero(v)
	}
	for i, v := range x {
		if i > 0 {
			g.CMPQ(n, operand.U8(i))
			g.JEQ(operand.LabelRef("loaded"))
		}
		g.VMOVDQU16_Z(in.at(i), m, v)
		g.see(s, v)
	}
	g.Label("loaded")
	g.storeTile(dst, g.turn(f32, x))
	in.step(g, operand.I32(64))
	g.ADDQ(operand.U32(amxStep), dst)
	g.SUBQ(operand.U8(32), k)
	g.JG(operand.LabelRef("tile"))
	g.endScan(s)
	g.end()
}

// storeTile stores the rows of a tile.
func (g *generator) storeTile(dst reg.GPVirtual, x []reg.VecVirtual) {
	for i, v := range x {
		g.VMOVDQU64(v, at(dst, 64*i))
	}
}

// amxPairs writes what joins every two lines across the inner dim into rows of tiles of b.
func (g *generator) amxPairs() {
	table := g.interleave()
	g.begin("Pairs", amxPairsSignature, "stores k lines of n numbers, stride bytes apart, k at most 32, in tiles of b: those of 32 columns next bytes behind those before.")
	g.Pragma("noescape")
	dst, next, src, stride, k := g.load("dst"), g.load("next"), g.load("src"), g.load("stride"), g.load("k")
	s := g.scan()
	x, y, lo, low, high := g.vector(), g.vector(), g.vector(), g.vector(), g.vector()
	g.VMOVDQU64(table.Offset(0), low)
	g.VMOVDQU64(table.Offset(64), high)
	rest := g.GP64()
	g.MOVQ(operand.U32(16), rest)
	// along joins two lines, one and none, or none, all along their columns.
	along := func(label string, lines int) {
		p, to, n := g.GP64(), g.GP64(), g.GP64()
		g.MOVQ(src, p)
		g.MOVQ(dst, to)
		g.MOVQ(g.address("n"), n)
		if lines < 2 {
			g.zero(y)
		}
		if lines < 1 {
			g.zero(lo)
			g.zero(x)
		}
		g.Label(label)
		if lines > 0 {
			m := g.wordMask(n, 32)
			g.VMOVDQU16_Z(at(p, 0), m, x)
			g.see(s, x)
			if lines > 1 {
				g.VMOVDQU16_Z(operand.Mem{Base: p, Index: stride, Scale: 1}, m, y)
				g.see(s, y)
			}
			g.VMOVDQA64(x, lo)
			g.VPERMT2W(y, low, lo)
			g.VPERMT2W(y, high, x)
		}
		g.VMOVDQU64(lo, at(to, 0))
		g.VMOVDQU64(x, at(to, amxStep/2))
		g.ADDQ(operand.U8(64), p)
		g.ADDQ(next, to)
		g.SUBQ(operand.U8(32), n)
		g.JG(operand.LabelRef(label))
		g.LEAQ(operand.Mem{Base: src, Index: stride, Scale: 2}, src)
		g.ADDQ(operand.U8(64), dst)
		g.DECQ(rest)
	}
	g.CMPQ(k, operand.U8(1))
	g.JLE(operand.LabelRef("odd"))
	g.Label("two")
	along("both", 2)
	g.SUBQ(operand.U8(2), k)
	g.CMPQ(k, operand.U8(1))
	g.JG(operand.LabelRef("two"))
	g.Label("odd")
	g.JNE(operand.LabelRef("fill"))
	along("one", 1)
	g.Label("fill")
	g.TESTQ(rest, rest)
	g.JZ(operand.LabelRef("done"))
	along("none", 0)
	g.JMP(operand.LabelRef("fill"))
	g.Label("done")
	g.endScan(s)
	g.end()
}

// interleave writes the table by which two vectors of 16 bits become pairs.
func (g *generator) interleave() operand.Mem {
	table := g.StaticGlobal("amxInterleave")
	g.DataAttributes(attr.RODATA | attr.NOPTR)
	for i := range 64 {
		g.AddDatum(2*i, operand.U16(i/2+i%2*32))
	}
	return table
}

// amxPairsTurned writes what joins every two lines across the inner dim, and turns them into
// tiles of a.
func (g *generator) amxPairsTurned() {
	g.begin("PairsTurned", amxPackSignature, "stores k lines of n numbers, stride bytes apart, n at most 16, in tiles of a.")
	g.Pragma("noescape")
	dst, p, stride, n, k := g.load("dst"), g.load("src"), g.load("stride"), g.load("n"), g.load("k")
	s := g.scan()
	m := g.wordMask(n, 16)
	x, y := g.vectors(16), g.vector()
	g.Label("tile")
	for _, v := range x {
		g.zero(v)
	}
	for i, v := range x {
		g.CMPQ(k, operand.U8(2*i))
		g.JLE(operand.LabelRef("loaded"))
		g.VPMOVZXWD_Z(at(p, 0), m, v)
		g.ADDQ(stride, p)
		g.CMPQ(k, operand.U8(2*i+1))
		g.JE(operand.LabelRef("seen" + string(rune('A'+i))))
		g.VPMOVZXWD_Z(at(p, 0), m, y)
		g.ADDQ(stride, p)
		g.VPSLLD(operand.U8(16), y, y)
		g.VPORD(y, v, v)
		g.Label("seen" + string(rune('A'+i)))
		g.see(s, v)
	}
	g.Label("loaded")
	g.storeTile(dst, g.turn(f32, x))
	g.ADDQ(operand.U32(amxStep), dst)
	g.SUBQ(operand.U8(32), k)
	g.JG(operand.LabelRef("tile"))
	g.endScan(s)
	g.end()
}
