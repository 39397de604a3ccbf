package main

import "fmt"

// tileParams are the parameters of a tileFunc.
func tileParams(e elem) []string {
	t := " *" + e.typ
	return []string{"c" + t, "ldc int", "a" + t, "rowA int", "colA int", "b" + t, "rowB int", "k int", "lanes int", "add bool", "ahead uintptr", "step int"}
}

// tile writes the function that computes r rows of v vectors of sums. The sums
// stay in registers while the inner dim is walked once.
func (w *neonWriter) tile(e elem, r, v int) {
	w.begin(fmt.Sprintf("%sTile%dx%d", e.name, r, v), fmt.Sprintf("is the tileFunc of %d rows and %d vectors.", r, v), tileParams(e),
		fmt.Sprintf("The sum of row i and vector j is in V(%d*i+j). b is in V%d to V%d, a in V%d and after.", v, vecB, vecB+3, vecA))
	w.loadTile(e, r)
	w.load("b", regB)
	w.load("lanes", regLanes)
	w.load("ahead", regAhead)
	w.load("step", regStep)
	w.prefetchSums(r, v)
	w.zero(0, r*v)
	w.f("CMP $%d, %s", lanesOf(e), regLanes)
	w.f("BNE part")
	if r > 1 {
		w.load("rowA", regP)
		w.f("CMP $1, %s", regP)
		w.f("BNE strided")
	}
	w.inner(e, "packed", r, v, false, w.columnOfA(e, r))
	if r > 1 {
		w.f("B done")
		w.inner(e, "strided", r, v, false, w.elementsOfA(e, r, v))
		w.label("done")
	}
	w.storeSums(e, "store", r, v, false)
	w.inner(e, "part", r, v, true, w.elementsOfA(e, r, v))
	w.storeSums(e, "storePart", r, v, true)
}

// loadTile loads what tiles of r rows have in common.
func (w *neonWriter) loadTile(e elem, r int) {
	w.load("c", regC)
	w.loadBytes(e, "ldc", regLdc)
	w.load("a", rowsOfA[0])
	w.loadBytes(e, "rowA", regP)
	for i := 1; i < r; i++ {
		w.f("ADD %s, %s, %s", regP, rowsOfA[i-1], rowsOfA[i])
	}
	w.f("MOVD $0, %s", regOff)
	w.loadBytes(e, "colA", regColA)
	w.loadBytes(e, "rowB", regRowB)
	w.load("k", regK)
}

// prefetchSums fetches what is to be stored to or added to.
func (w *neonWriter) prefetchSums(r, v int) {
	w.f("MOVD %s, %s", regC, regP)
	for i := range r {
		for j := 0; j < v*neonISA.bytes; j += 64 {
			w.f("PRFM %d(%s), PLDL1KEEP", j, regP)
		}
		if i < r-1 {
			w.f("ADD %s, %s", regLdc, regP)
		}
	}
}

// An aReader emits the loads of the elements of a that a step needs: all of
// them if called for row -1, else at most that of the row. It returns where an
// element is.
type aReader func(row int) lane

// columnOfA reads elements that lie one after the other: as few whole vectors
// as hold them, and a part of one.
func (w *neonWriter) columnOfA(e elem, r int) aReader {
	return func(row int) lane {
		if row >= 0 {
			return laneOfColumn(e, r, row)
		}
		a := rowsOfA[0]
		for i := 0; i < r; {
			v, n := laneOfColumn(e, r, i).vec, min(lanesOf(e), r-i)
			if n == 3 {
				n = 2
			}
			w.f("%s %d(%s), F%d", map[int]string{4: "FMOVS", 8: "FMOVD", 16: "FMOVQ"}[n*e.bytes], i*e.bytes, a, v)
			i += n
		}
		w.f("ADD %s, %s", regColA, a)
		return lane{}
	}
}

// laneOfColumn returns where columnOfA puts the element of a row: vectors are
// filled one after the other, and three elements left are two and one.
func laneOfColumn(e elem, r, row int) lane {
	lanes := lanesOf(e)
	at := lane{vecA + row/lanes, row % lanes}
	if lanes == 4 && at.index == 2 && row == r-1 {
		at = lane{at.vec + 1, 0}
	}
	return at
}

// elementsOfA reads elements one by one, each when its row is due, if a is not
// to be kept for several parts of b.
func (w *neonWriter) elementsOfA(e elem, r, v int) aReader {
	load := func(row int) {
		w.f("%s (%s)(%s), F%d", scalarMove(e), rowsOfA[row], regOff, vecA+row%4)
	}
	return func(row int) lane {
		switch {
		case row < 0 && v > 4:
			for i := range r {
				load(i)
			}
		case row >= 0 && v <= 4:
			load(row)
		}
		if row == r-1 && v <= 4 || row < 0 && v > 4 {
			w.f("ADD %s, %s", regColA, regOff)
		}
		return lane{vecA + row%4, 0}
	}
}

// inner writes the loop over the inner dim. With part set only some lanes of
// the last vector of b are there.
func (w *neonWriter) inner(e elem, label string, r, v int, part bool, a aReader) {
	w.label(label)
	w.step(e, 0, r, v, part, a)
	w.f("SUBS $1, %s, %[1]s", regK)
	w.f("BNE %s", label)
}

// step writes one step of the inner dim, whose sums are in the vectors from sum on.
func (w *neonWriter) step(e elem, sum, r, v int, part bool, a aReader) {
	a(-1)
	for first := 0; first < v; first += 4 {
		n := min(4, v-first)
		w.loadB(e, first, n, first+n == v, part)
		for i := range r {
			x := a(i)
			for j := range n {
				w.fma(e, vecB+j, x, sum+i*v+first+j)
			}
		}
	}
	for j := 0; j < v*neonISA.bytes; j += 64 {
		w.f("PRFM %d(%s), PLDL2KEEP", j, regAhead)
	}
	w.f("ADD %s, %s", regStep, regAhead)
}

// loadB loads n vectors of a row of b from the given one on. With the last ones
// b moves on to the next row.
func (w *neonWriter) loadB(e elem, first, n int, last, part bool) {
	p := regB
	if first > 0 {
		p = regP
		w.f("ADD $%d, %s, %s", first*neonISA.bytes, regB, p)
	}
	switch {
	case last && part:
		if n > 1 {
			w.f("VLD1 (%s), %s", p, list(e, vecB, n-1))
		}
		w.f("ADD $%d, %s, %s", (first+n-1)*neonISA.bytes, regB, regP)
		w.loadPart(e, vecB+n-1)
		w.f("ADD %s, %s", regRowB, regB)
	case last && first == 0:
		w.f("VLD1.P (%s)(%s), %s", p, regRowB, list(e, vecB, n))
	case last:
		w.f("VLD1 (%s), %s", p, list(e, vecB, n))
		w.f("ADD %s, %s", regRowB, regB)
	default:
		w.f("VLD1 (%s), %s", p, list(e, vecB, n))
	}
}

// storeSums stores the sums in c, or if add is set adds them to it, and returns.
func (w *neonWriter) storeSums(e elem, label string, r, v int, part bool) {
	w.f("MOVBU add+%d(FP), %s", w.offset["add"], regK)
	w.f("CBZ %s, %s", regK, label)
	w.f("MOVD %s, %s", regC, regB)
	for i := range r {
		for j := range v {
			if part && j == v-1 {
				w.f("ADD $%d, %s, %s", j*neonISA.bytes, regB, regP)
				w.loadPart(e, vecB)
			} else {
				w.f("FMOVQ %d(%s), F%d", j*neonISA.bytes, regB, vecB)
			}
			w.add(e, vecB, i*v+j)
		}
		if i < r-1 {
			w.f("ADD %s, %s", regLdc, regB)
		}
	}
	w.label(label)
	for i := range r {
		for j := range v {
			if part && j == v-1 {
				w.f("ADD $%d, %s, %s", j*neonISA.bytes, regC, regP)
				w.storePart(e, i*v+j)
			} else {
				w.f("FMOVQ F%d, %d(%s)", i*v+j, j*neonISA.bytes, regC)
			}
		}
		if i < r-1 {
			w.f("ADD %s, %s", regLdc, regC)
		}
	}
	w.f("RET")
}

// stream writes the streamFunc of one row, in panels of eight vectors.
func (w *neonWriter) stream(e elem) {
	const v = 8
	t := " *" + e.typ
	w.begin(fmt.Sprintf("%sStream1x%d", e.name, v), fmt.Sprintf("is the streamFunc of 1 row and panels of %d vectors.", v),
		[]string{"c" + t, "ldc int", "a" + t, "rowA int", "colA int", "b" + t, "rowB int", "k int", "n int", "fresh bool"},
		fmt.Sprintf("The sums are in V0 to V7, b in V16 to V23, an element of a in V%d.", vecA))
	const fresh, panels, row = "R1", "R13", "R16"
	w.load("c", regC)
	w.load("colA", regColA)
	w.load("b", regB)
	w.load("rowB", regRowB)
	w.f("SUB $64, %s", regRowB)
	w.load("n", panels)
	w.f("MOVBU fresh+%d(FP), %s", w.offset["fresh"], fresh)
	w.label("panel")
	w.f("CBZ %s, resume", fresh)
	w.zero(0, v)
	w.f("B start")
	w.label("resume")
	w.f("ADD $64, %s, %s", regC, row)
	w.f("VLD1 (%s), %s", regC, list(e, 0, 4))
	w.f("VLD1 (%s), %s", row, list(e, 4, 4))
	w.label("start")
	w.load("a", rowsOfA[0])
	w.load("k", regK)
	w.f("MOVD %s, %s", regB, row)
	w.label("inner")
	w.f("%s (%s), F%d", scalarMove(e), rowsOfA[0], vecA)
	w.f("ADD %s, %s", regColA, rowsOfA[0])
	w.f("VLD1.P 64(%s), %s", row, list(e, 16, 4))
	w.f("VLD1.P (%s)(%s), %s", row, regRowB, list(e, 20, 4))
	for j := range v {
		w.fma(e, 16+j, lane{vecA, 0}, j)
	}
	w.f("SUBS $1, %s, %[1]s", regK)
	w.f("BNE inner")
	w.f("VST1.P %s, 64(%s)", list(e, 0, 4), regC)
	w.f("VST1.P %s, 64(%s)", list(e, 4, 4), regC)
	w.f("ADD $%d, %s", v*neonISA.bytes, regB)
	w.f("SUBS $1, %s, %[1]s", panels)
	w.f("BNE panel")
	w.f("RET")
}
