package main

import "fmt"

// Registers of pair tiles beside those of other tiles.
const (
	regLeft, regPairs = "R17", "R19" // steps and pairs of steps of a block
	regAdd, regRow    = "R20", "R21"
)

// pairTile writes the function that computes r rows of v vectors in the order of
// bfloat16.
func (w *neonWriter) pairTile(r, v int) {
	w.begin(fmt.Sprintf("BF16Tile%dx%d", r, v), fmt.Sprintf("is the tileFunc in the order of bfloat16 of %d rows and %d vectors.", r, v), tileParams(f32),
		fmt.Sprintf("The sum of the even steps of row i and vector j is in V(%d*i+j), that of the odd ones in V(%d+%[1]d*i+j). b is in V%[3]d to V%d, a in V%d and after.", v, r*v, vecB, vecB+3, vecA))
	w.loadTile(f32, r)
	w.load("b", regB)
	w.load("lanes", regLanes)
	w.load("ahead", regAhead)
	w.load("step", regStep)
	w.f("MOVBU add+%d(FP), %s", w.offset["add"], regAdd)
	w.prefetchSums(r, v)
	w.f("CMP $%d, %s", lanesOf(f32), regLanes)
	w.f("BNE part")
	if r > 1 {
		w.load("rowA", regP)
		w.f("CMP $1, %s", regP)
		w.f("BNE strided")
	}
	w.pairBlocks("packed", r, v, false, w.columnOfA(f32, r))
	if r > 1 {
		w.pairBlocks("strided", r, v, false, w.elementsOfA(f32, r, v))
	}
	w.pairBlocks("part", r, v, true, w.elementsOfA(f32, r, v))
}

// pairBlocks writes the loop over blocks, and returns.
func (w *neonWriter) pairBlocks(label string, r, v int, part bool, a aReader) {
	w.label(label)
	w.f("MOVD $%d, %s", pairSteps, regLeft)
	w.f("CMP %s, %s", regLeft, regK)
	w.f("CSEL LT, %s, %s, %[2]s", regK, regLeft)
	w.f("SUB %s, %s", regLeft, regK)
	w.zero(0, 2*r*v)
	w.f("LSR $1, %s, %s", regLeft, regPairs)
	w.f("CBZ %s, %sSingle", regPairs, label)
	w.label(label + "Pair")
	w.step(f32, 0, r, v, part, a)
	w.step(f32, r*v, r, v, part, a)
	w.f("SUBS $1, %s, %[1]s", regPairs)
	w.f("BNE %sPair", label)
	w.label(label + "Single")
	w.f("TBZ $0, %s, %sSum", regLeft, label)
	w.step(f32, 0, r, v, part, a)
	w.label(label + "Sum")
	for i := range r * v {
		w.add(f32, r*v+i, i)
	}
	w.f("CBZ %s, %sFirst", regAdd, label)
	w.eachRow(r, func(i int) {
		for j := range v {
			if part && j == v-1 {
				w.f("ADD $%d, %s, %s", j*neonISA.bytes, regRow, regP)
				w.loadPart(f32, vecB)
			} else {
				w.f("FMOVQ %d(%s), F%d", j*neonISA.bytes, regRow, vecB)
			}
			w.add(f32, vecB, i*v+j)
		}
	})
	w.f("B %sStore", label)
	w.label(label + "First")
	w.zero(vecB, 1)
	for i := range r * v {
		w.add(f32, vecB, i)
	}
	w.f("MOVD $1, %s", regAdd)
	w.label(label + "Store")
	w.eachRow(r, func(i int) {
		for j := range v {
			if part && j == v-1 {
				w.f("ADD $%d, %s, %s", j*neonISA.bytes, regRow, regP)
				w.storePart(f32, i*v+j)
			} else {
				w.f("FMOVQ F%d, %d(%s)", i*v+j, j*neonISA.bytes, regRow)
			}
		}
	})
	w.f("CBNZ %s, %s", regK, label)
	w.f("RET")
}

// eachRow calls f with regRow at each row of c.
func (w *neonWriter) eachRow(r int, f func(i int)) {
	w.f("MOVD %s, %s", regC, regRow)
	for i := range r {
		f(i)
		if i < r-1 {
			w.f("ADD %s, %s", regLdc, regRow)
		}
	}
}
