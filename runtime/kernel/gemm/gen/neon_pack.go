package main

import "fmt"

// packParams are the parameters of copyRows and transpose.
func packParams(e elem) []string {
	return []string{"dst *" + e.typ, "width int", "src *" + e.typ, "stride int", "n int", "rows int"}
}

// colTile writes the function that computes r rows of one vector of sums from a
// b that lies by columns: it is turned in registers.
func (w *neonWriter) colTile(e elem, r int) {
	w.begin(fmt.Sprintf("%sColTile%d", e.name, r), fmt.Sprintf("is the tileFunc of %d rows and 1 vector of a b that lies by columns.", r), tileParams(e),
		fmt.Sprintf("The sum of row i is in V(i), its element of a in V(%d+i). Columns of b are in V16 and after, turned", vecA),
		"in V20 and after.")
	w.loadTile(e, r)
	w.load("b", columns[0])
	w.load("lanes", regLanes)
	w.zero(0, r)
	w.turned(e, regRowB, regLanes, regK, func(x int) {
		for i := range r {
			w.f("%s (%s)(%s), F%d", scalarMove(e), rowsOfA[i], regOff, vecA+i)
			w.fma(e, x, lane{vecA + i, 0}, i)
		}
		w.f("ADD %s, %s", regColA, regOff)
	})
	w.f("CMP $%d, %s", lanesOf(e), regLanes)
	w.f("BNE part")
	w.storeSums(e, "store", r, 1, false)
	w.label("part")
	w.storeSums(e, "storePart", r, 1, true)
}

// transpose writes the transpose of kernels.
func (w *neonWriter) transpose(e elem) {
	w.begin(e.name+"Transpose", "is the transpose of kernels.", packParams(e), "Rows of src are in V16 and after, turned in V20 and after.")
	const dst, width, stride, n, rows = "R0", "R1", "R11", "R13", "R12"
	w.load("dst", dst)
	w.loadBytes(e, "width", width)
	w.load("src", columns[0])
	w.loadBytes(e, "stride", stride)
	w.load("n", n)
	w.load("rows", rows)
	w.turned(e, stride, n, rows, func(x int) {
		w.f("VST1 [V%d.%s], (%s)", x, arrangement(e), dst)
		w.f("ADD %s, %s", width, dst)
	})
	w.f("RET")
}

// turned emits what gives f, one after the other, vectors of the elements that
// stand at the same place of n rows, of left elements each: the first begins
// where columns[0] says, the others stride bytes apart. Of a vector, lanes that have
// no row are 0. Where n is the number of lanes, squares are turned as long as there are
// whole ones; else elements are gathered. It counts left down to 0.
func (w *neonWriter) turned(e elem, stride, n, left string, f func(x int)) {
	lanes := lanesOf(e)
	for i := 1; i < lanes; i++ {
		w.f("ADD %s, %s, %s", stride, columns[i-1], columns[i])
	}
	w.f("CMP $%d, %s", lanes, n)
	w.f("BNE gather")
	w.label("square")
	w.f("CMP $%d, %s", lanes, left)
	w.f("BLT rest")
	for i := range lanes {
		w.f("FMOVQ.P 16(%s), F%d", columns[i], 16+i)
	}
	for _, x := range w.turn(e) {
		f(x)
	}
	w.f("SUB $%d, %s", lanes, left)
	w.f("B square")
	w.label("rest")
	w.f("CBZ %s, turned", left)
	w.label("gather")
	w.zero(16, 1)
	for i := range lanes {
		if i > 0 {
			w.f("CMP $%d, %s", i, n)
			w.f("BEQ gathered")
		}
		w.f("VLD1.P %d(%s), V16.%c[%d]", e.bytes, columns[i], arrangement(e)[0], i)
	}
	w.label("gathered")
	f(16)
	w.f("SUBS $1, %s, %[1]s", left)
	w.f("BNE gather")
	w.label("turned")
}

// turn returns the columns of the square whose rows are in V16 and after.
func (w *neonWriter) turn(e elem) []int {
	if e.bytes == 8 {
		w.f("VTRN1 V17.D2, V16.D2, V20.D2")
		w.f("VTRN2 V17.D2, V16.D2, V21.D2")
		return []int{20, 21}
	}
	// Pairs of rows, then pairs of pairs.
	for i := 0; i < 4; i += 2 {
		w.f("VTRN1 V%d.S4, V%d.S4, V%d.S4", 17+i, 16+i, 20+i)
		w.f("VTRN2 V%d.S4, V%d.S4, V%d.S4", 17+i, 16+i, 21+i)
	}
	for i := range 2 {
		w.f("VTRN1 V%d.D2, V%d.D2, V%d.D2", 22+i, 20+i, 16+i)
		w.f("VTRN2 V%d.D2, V%d.D2, V%d.D2", 22+i, 20+i, 18+i)
	}
	return []int{16, 17, 18, 19}
}

// copyRows writes the copyRows of kernels.
func (w *neonWriter) copyRows(e elem) {
	w.begin(e.name+"Copy", "is the copyRows of kernels.", packParams(e), "Elements go through V0 to V3.")
	const dst, width, src, stride, n, rows, to, left = "R0", "R1", "R2", "R3", "R4", "R5", "R6", regLanes
	w.load("dst", dst)
	w.loadBytes(e, "width", width)
	w.load("src", src)
	w.loadBytes(e, "stride", stride)
	w.load("n", n)
	w.load("rows", rows)
	w.label("row")
	w.f("MOVD %s, %s", dst, to)
	w.f("MOVD %s, %s", src, regP)
	w.f("MOVD %s, %s", n, left)
	for _, v := range []int{4, 1} {
		again, fewer := w.fresh("vectors"), w.fresh("fewer")
		w.label(again)
		w.f("CMP $%d, %s", v*lanesOf(e), left)
		w.f("BLT %s", fewer)
		w.f("VLD1.P %d(%s), %s", 16*v, regP, list(e, 0, v))
		w.f("VST1.P %s, %d(%s)", list(e, 0, v), 16*v, to)
		w.f("SUB $%d, %s", v*lanesOf(e), left)
		w.f("B %s", again)
		w.label(fewer)
	}
	w.f("CBZ %s, next", left)
	w.loadPart(e, 0)
	w.f("MOVD %s, %s", to, regP)
	w.storePart(e, 0)
	w.label("next")
	w.f("ADD %s, %s", stride, src)
	w.f("ADD %s, %s", width, dst)
	w.f("SUBS $1, %s, %[1]s", rows)
	w.f("BNE row")
	w.f("RET")
}

// widen writes the function that widens numbers of 16 bits to float32.
func (w *neonWriter) widen(from string) {
	w.begin("Widen"+from, fmt.Sprintf("widens n numbers; n is a positive multiple of %d.", neonISA.widened), []string{"dst *float32", "src *uint16", "n int"},
		"Numbers are in V0, widened in V1 and V2.")
	w.load("dst", "R0")
	w.load("src", "R1")
	w.load("n", "R2")
	w.label("next")
	w.f("FMOVQ.P 16(R1), F0")
	if from == "F16" {
		w.word(0x0e217801, "FCVTL V1.4S, V0.4H")
		w.word(0x4e217802, "FCVTL2 V2.4S, V0.8H")
	} else {
		w.word(0x2e613801, "SHLL V1.4S, V0.4H, #16")
		w.word(0x6e613802, "SHLL2 V2.4S, V0.8H, #16")
	}
	w.f("VST1.P [V1.S4, V2.S4], 32(R0)")
	w.f("SUBS $%d, R2, R2", neonISA.widened)
	w.f("BNE next")
	w.f("RET")
}
