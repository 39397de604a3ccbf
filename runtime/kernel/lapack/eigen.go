package lapack

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/lapack/gonum"

	"tpsh/internal/libm"
)

// The sizes of the QR algorithm with several shifts at once. More shifts make more products
// of their steps, and longer steps beside the diagonal, which are none.
const (
	fewForShifts = 75 // up to so many rows two shifts at a time take less
	manyShifts   = 24
	seenAtEnd    = 36 // how many of the last rows are looked through for eigenvalues
	exceptional  = 6  // after so many steps that have found none others are tried
)

// Eig stores the real and the imaginary parts of the eigenvalues of a [n, n] in wr and wi
// [n], and those of the eigenvectors as the columns of vr and vi [n, n]. A vector is of
// length 1, and its greatest element is real.
func Eig(wr, wi, vr, vi, a []float64, n int) bool {
	if n == 0 {
		return true
	}
	z := make([]float64, n*n)
	if !eigen(wr, wi, z, a, n) {
		return false
	}
	clear(vi)
	for j := 0; j < n; j++ {
		if wi[j] == 0 {
			realVector(vr, z, j, n)
			continue
		}
		complexVectors(vr, vi, z, j, n)
		j++
	}
	return true
}

// EigValues is Eig without the vectors.
func EigValues(wr, wi, a []float64, n int) bool { return n == 0 || eigen(wr, wi, nil, a, n) }

// realVector stores column j of z in that of v, with length 1.
func realVector(v, z []float64, j, n int) {
	s := 0.0
	for i := range n {
		s = libm.Hypot(s, z[i*n+j])
	}
	for i := range n {
		v[i*n+j] = z[i*n+j] / s
	}
}

// complexVectors stores the complex vector whose parts are columns j and j + 1 of z in
// columns j of vr and vi, and its conjugate in the next ones.
func complexVectors(vr, vi, z []float64, j, n int) {
	s, at, most := 0.0, 0, 0.0
	for i := range n {
		size := libm.Hypot(z[i*n+j], z[i*n+j+1])
		s = libm.Hypot(s, size)
		if size > most {
			at, most = i, size
		}
	}
	c, d := z[at*n+j]/most/s, z[at*n+j+1]/most/s
	for i := range n {
		x, y := z[i*n+j], z[i*n+j+1]
		re, im := float64(x*c)+float64(y*d), float64(y*c)-float64(x*d)
		if i == at {
			im = 0
		}
		vr[i*n+j], vr[i*n+j+1] = re, re
		vi[i*n+j], vi[i*n+j+1] = im, -im
	}
}

// eigen stores the parts of the eigenvalues of a [n, n] in wr and wi, and the vectors of
// LAPACK's trevc in z, unless that is nil.
func eigen(wr, wi, z, a []float64, n int) bool {
	if !finite(a) {
		return false
	}
	var impl gonum.Implementation
	h, by := scaled(a)
	balance, tau := make([]float64, n), make([]float64, max(n-1, 0))
	lo, hi := impl.Dgebal(lapack.PermuteScale, n, h, n, balance)
	withWork(func(work []float64, size int) { impl.Dgehrd(n, lo, hi, h, n, tau, work, size) })
	if z != nil {
		copy(z, h)
		withWork(func(work []float64, size int) { impl.Dorghr(n, lo, hi, z, n, tau, work, size) })
	}
	for i := 2; i < n; i++ {
		clear(h[i*n:][:i-1])
	}
	s := &schur{n: n, lo: lo, hi: hi, h: h, z: z, wr: wr, wi: wi}
	if !s.reduce() {
		return false
	}
	scale(wr, 1/by)
	scale(wi, 1/by)
	if z == nil {
		return true
	}
	withWork(func(work []float64, size int) {
		impl.Dtrevc3(lapack.EVRight, lapack.EVAllMulQ, nil, n, h, n, nil, 1, z, n, n, work, size)
	})
	impl.Dgebak(lapack.PermuteScale, lapack.EVRight, n, lo, hi, balance, n, z, n)
	return true
}

// A schur is a Hessenberg matrix h [n, n] that becomes quasi-triangular, rows and columns
// lo to hi of which are not yet; the columns of z [n, n], unless that is nil, turn along, and
// without it the rest of h is left as it comes. The eigenvalues go into wr and wi.
type schur struct {
	n, lo, hi    int
	h, z, wr, wi []float64

	window, beside, across, work []float64 // for deflate
	bulges, turns, rows, cols    []float64 // for sweep
}

// reduce finds the eigenvalues: Braman, Byers and Mathias, "The multishift QR algorithm",
// parts I and II, SIAM J. Matrix Anal. Appl. 23(4), 2002.
func (s *schur) reduce() bool {
	for i := range s.n {
		if i < s.lo || i > s.hi {
			s.wr[i], s.wi[i] = s.h[i*s.n+i], 0
		}
	}
	left, idle := 30*max(10, s.hi-s.lo+1), 0
	for last := s.hi; last >= s.lo; {
		first := last
		for first > s.lo && s.h[first*s.n+first-1] != 0 {
			first--
		}
		if last-first < fewForShifts {
			if !s.finish(first, last) {
				return false
			}
			last, idle = first-1, 0
			continue
		}
		if left--; left < 0 {
			return false
		}
		unsure, found := s.deflate(first, last)
		last -= found
		if idle++; found > 0 {
			idle = 0
		}
		if 100*found > 14*seenAtEnd || last-first < fewForShifts { // as good as a sweep
			continue
		}
		re, im := s.shifts(last, unsure)
		if idle > 0 && idle%exceptional == 0 {
			re, im = s.otherShifts(last)
		}
		s.sweep(first, last, re, im)
	}
	return true
}

// finish reduces rows and columns first to last by steps of two shifts.
func (s *schur) finish(first, last int) bool {
	return gonum.Implementation{}.Dlahqr(s.z != nil, s.z != nil, s.n, first, last, s.h, s.n, s.wr[:last+1], s.wi[:last+1], s.lo, s.hi, s.z, s.n) == 0
}

// deflate looks for eigenvalues among the last rows and columns from first to last. It
// returns how many there were, and how many others are nearly eigenvalues: those stand in
// front of the found ones in wr and wi.
func (s *schur) deflate(first, last int) (unsure, found int) {
	const w = seenAtEnd
	n := s.n
	if s.window == nil {
		s.window, s.beside, s.across, s.work = make([]float64, w*w), make([]float64, w*n), make([]float64, n*w), make([]float64, 64*w)
	}
	return gonum.Implementation{}.Dlaqr23(s.z != nil, s.z != nil, n, first, last, w, s.h, n, s.lo, s.hi, s.z, n, s.wr[:last+1], s.wi[:last+1],
		s.window, w, n, s.beside, n, n, s.across, w, s.work, len(s.work), 0)
}

// shifts returns pairs of the numbers that stand in wr and wi up to last, which are nearly
// eigenvalues: of the least of them, the real ones with each other.
func (s *schur) shifts(last, unsure int) (re, im []float64) {
	var pairs [][4]float64
	alone := -1
	for i := last - unsure + 1; i <= last; i++ {
		switch {
		case s.wi[i] != 0:
			pairs = append(pairs, [4]float64{s.wr[i], s.wr[i], s.wi[i], -s.wi[i]})
			i++ // its conjugate
		case alone < 0:
			alone = i
		default:
			pairs = append(pairs, [4]float64{s.wr[alone], s.wr[i], 0, 0})
			alone = -1
		}
	}
	slices.SortStableFunc(pairs, func(p, q [4]float64) int {
		return cmp.Compare(math.Abs(p[0])+math.Abs(p[1])+2*math.Abs(p[2]), math.Abs(q[0])+math.Abs(q[1])+2*math.Abs(q[2]))
	})
	for _, p := range pairs[:min(len(pairs), manyShifts/2)] {
		re, im = append(re, p[0], p[1]), append(im, p[2], p[3])
	}
	return re, im
}

// otherShifts returns pairs about the last diagonal elements, as far from them as the
// elements below the diagonal are large: where shifts have led nowhere.
func (s *schur) otherShifts(last int) (re, im []float64) {
	for i := last; len(re) < manyShifts; i -= 2 {
		size := math.Abs(s.h[i*s.n+i-1]) + math.Abs(s.h[(i-1)*s.n+i-2])
		center := s.h[i*s.n+i] + float64(0.75*size)
		re, im = append(re, center, center), append(im, 0.66*size, -0.66*size)
	}
	return re, im
}

// sweep has bulges of pairs of shifts go along rows and columns first to last.
func (s *schur) sweep(first, last int, re, im []float64) {
	const width = 2 * manyShifts
	n := s.n
	if s.bulges == nil {
		s.bulges, s.turns = make([]float64, manyShifts/2*3), make([]float64, width*width)
		s.rows, s.cols = make([]float64, n*width), make([]float64, width*n)
	}
	gonum.Implementation{}.Dlaqr5(s.z != nil, s.z != nil, 2, n, first, last, len(re), re, im, s.h, n, s.lo, s.hi, s.z, n,
		s.bulges, 3, s.turns, width, n, s.rows, width, n, s.cols, n)
}
