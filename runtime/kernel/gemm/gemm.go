package gemm

import (
	"fmt"

	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel/crew"
	"tpsh/runtime/kernel/vec"
)

// A Grid says where the elements of a matrix lie in a slice: element [i, j] at
// Offset + i*Row + j*Col. Row and Col may be 0 or negative.
type Grid struct{ Offset, Row, Col int }

// An Operand is a matrix. Its elements are in Data or, for a product of
// float32, in F16 or BF16; the others are nil.
type Operand[T dtype.Float] struct {
	Data []T
	F16  []dtype.F16
	BF16 []dtype.BF16
	Grid
	// Windows, of a B alone, says where its elements lie in Data, in the place of
	// Row and Col.
	Windows *Windows
}

// A Product is Count matrix products c = a b of [M, K] by [K, N].
type Product[T dtype.Float] struct {
	M, N, K, Count int
	C              []T  // [Count, M, N], which does not overlap A or B; need not be set before
	Add            bool // to what C has: each block of a sum is added, the first one too
	// CRow is how far apart the rows of C are, which then may be part of a larger matrix, of
	// whose other columns nothing is changed; 0 if they follow one another. Else Add is set and
	// Count is 1, and C ends with its last element.
	CRow int
	A, B Operand[T]
	// At returns the offsets of the operands of product i, which stand in the
	// place of A.Offset and B.Offset. It may be nil if Count is 1.
	At func(i int) (a, b int)
}

// Multiply computes p, with the help of w if it is worth it. It panics if the
// length of C is wrong or an element of an operand lies outside its slice.
func Multiply[T dtype.Float](w *crew.Workers, p Product[T]) {
	c := w.Hire(1 + p.Count*p.M*p.N*p.K/worthHelp)
	defer c.Dismiss()
	p.compute(active[T](), c)
}

// active returns the kernels in use.
func active[T dtype.Float]() *kernels[T] {
	f32, f64 := kernelsOf(vec.Active())
	if ks, ok := any(f32).(*kernels[T]); ok {
		return ks
	}
	return any(f64).(*kernels[T])
}

// Below so many multiplications a second goroutine costs more than it does.
const worthHelp = 1 << 20

// compute computes p.
func (p *Product[T]) compute(ks *kernels[T], c crew.Crew) {
	if p.CRow > 0 {
		p.checkPart()
	} else if len(p.C) != p.Count*p.M*p.N {
		panic(fmt.Sprintf("gemm: %d elements for %d products of %d by %d", len(p.C), p.Count, p.M, p.N))
	}
	if p.K == 0 || len(p.C) == 0 {
		if !p.Add {
			clear(p.C)
		}
		return
	}
	if p.A.BF16 != nil && p.B.BF16 != nil {
		ks = ks.bf16
	}
	if p.Count < c.Size() || c.Size() == 1 {
		p.each(ks, c, 0, p.Count)
		return
	}
	// A few tasks for each goroutine even out what slows one of them.
	tasks := min(p.Count, 8*c.Size())
	kept := *p // p itself does not escape
	c.Do(tasks, func(t int) {
		lo, hi := cut(kept.Count, tasks, t)
		kept.each(ks, crew.Crew{}, lo, hi)
	})
}

// checkPart panics unless C is a part of a larger matrix as CRow has it.
func (p *Product[T]) checkPart() {
	if !p.Add || p.Count != 1 || p.CRow < p.N || p.M > 0 && p.N > 0 && len(p.C) != (p.M-1)*p.CRow+p.N {
		panic(fmt.Sprintf("gemm: %d elements for %d rows of %d that are %d apart", len(p.C), p.M, p.N, p.CRow))
	}
}

// each computes products [lo, hi). They differ in where their elements lie alone, so
// that one plan serves all.
func (p *Product[T]) each(ks *kernels[T], c crew.Crew, lo, hi int) {
	if ks.tiled != nil && !p.Add && p.M*p.N*p.K >= worthTiles {
		kept := *p // p itself does not escape
		for i := lo; i < hi; i++ {
			ks.tiled(&kept, i, c)
		}
		return
	}
	if library != nil && !p.Add {
		for i := lo; i < hi; i++ {
			var s shape[T]
			s.begin(ks, p, i)
			if !s.byLibrary(library) {
				s.plan(c.Size())
				s.run(c)
			}
		}
		return
	}
	var s shape[T]
	s.begin(ks, p, lo)
	s.plan(c.Size())
	for i := lo; i < hi; i++ {
		s.goTo(p, i)
		s.run(c)
	}
}

// begin makes s, which is new, product i, checked but without a plan.
func (s *shape[T]) begin(ks *kernels[T], p *Product[T], i int) {
	s.kernels, s.m, s.n, s.k, s.add, s.cRow = ks, p.M, p.N, p.K, p.Add, p.CRow
	s.a, s.b = p.A, p.B
	s.goTo(p, i)
}

// goTo has s compute product i of p, and panics if an element of an operand lies
// outside its slice.
func (s *shape[T]) goTo(p *Product[T], i int) {
	if s.c = p.C; p.CRow == 0 {
		s.c = p.C[i*p.M*p.N:][:p.M*p.N]
	}
	if p.At != nil {
		s.a.Offset, s.b.Offset = p.At(i)
		if s.turned {
			s.a.Offset, s.b.Offset = s.b.Offset, s.a.Offset
		}
	}
	s.a.check(s.m, s.k)
	if w := s.b.Windows; w != nil {
		w.check(s.k, s.n, s.b.Offset, len(s.b.Data))
	} else {
		s.b.check(s.k, s.n)
	}
}

// half reports whether the elements have 16 bits.
func (o *Operand[T]) half() bool { return o.F16 != nil || o.BF16 != nil }

// check panics unless o holds rows by cols elements.
func (o *Operand[T]) check(rows, cols int) {
	down, right := (rows-1)*o.Row, (cols-1)*o.Col
	first := o.Offset + min(down, 0) + min(right, 0)
	last := o.Offset + max(down, 0) + max(right, 0)
	if first < 0 || last >= len(o.Data)+len(o.F16)+len(o.BF16) {
		panic(fmt.Sprintf("gemm: a matrix of %d by %d at %+v in %d elements", rows, cols, o.Grid, len(o.Data)+len(o.F16)+len(o.BF16)))
	}
}

// from returns o without its first i rows and j columns.
func (o Operand[T]) from(i, j int) Operand[T] {
	o.Offset += i*o.Row + j*o.Col
	return o
}

// turned returns o transposed.
func (o Operand[T]) turned() Operand[T] {
	o.Row, o.Col = o.Col, o.Row
	return o
}
