package kernel

import (
	"math"
	"slices"

	"tpsh/internal/libm"
	"tpsh/runtime/kernel/vec"
)

// A FourierRows transforms rows of float32 numbers, of a power of two, many side by side: in its
// room an element of all rows lies together, its real parts before the imaginary ones, so that
// each step of a transform is one of vectors, whose lanes are rows, or hold nothing. A row's bits
// do not hang on how many there are. It is not for use by several goroutines at a time.
type FourierRows struct {
	n     int       // complex numbers that are transformed
	turns []float32 // the parts of exp(-πi j/n), [2n]; those of n numbers are every second
	at    []int32   // [n], where a transform in place leaves what belongs to each frequency
	room  []float32
	made  []float32 // what is copied out
}

// SideBySide is how many rows are transformed together at most, and roomOfRows how many parts
// their elements have, unless those of as many as a vector has lanes are more: they stay in the
// second-level cache.
const (
	SideBySide = tile
	roomOfRows = 1 << 16
)

// longestRows is how many complex numbers a row has at most: of longer ones there are few, whose
// lanes would hold nothing.
const longestRows = 1 << 14

// rowsFouriers are those that were released.
var rowsFouriers fourierShelf[*FourierRows]

// NewFourierRows returns a FourierRows of rows of n complex numbers, or of 2n real ones; nil if n
// is no power of two, or more than longestRows.
func NewFourierRows(n int) *FourierRows {
	if n < 1 || n&(n-1) != 0 || n > longestRows {
		return nil
	}
	if f := rowsFouriers.take(n); f != nil {
		return f
	}
	f := &FourierRows{n: n, turns: make([]float32, 4*n), at: make([]int32, n)}
	for j := range 2 * n {
		sin, cos := libm.Sincos(math.Pi * float64(j) / float64(n))
		f.turns[2*j], f.turns[2*j+1] = float32(cos), float32(-sin)
	}
	for k := range n { // the digits of k to base 4, the least first, say in which part it lies
		at, size := 0, n
		for left := k; size > 1; {
			base := min(size, 4)
			size /= base
			at, left = at+left%base*size, left/base
		}
		f.at[k] = int32(at)
	}
	return f
}

func (f *FourierRows) length() int { return f.n }

// Release gives f back, for a later NewFourierRows, without its room.
func (f *FourierRows) Release() {
	f.room, f.made = nil, nil
	rowsFouriers.put(f)
}

// Transform stores in dst the transforms of the rows of x, of n complex numbers each as pairs
// of parts, times scale: for each what a Fourier's Transform is. dst may be x. It panics if the
// lengths differ, or are not those of rows.
func (f *FourierRows) Transform(dst, x []float32, inverse bool, scale float64) {
	check2(len(dst), len(x))
	width := 2 * f.n
	f.each(len(x)/width, width, func(row, rows, m int) {
		Copy(f.room, Grid{0, m, 1}, x[row*width:], Grid{0, 1, width}, width, rows)
		f.inPlace(m, inverse)
		for k, at := range f.at {
			scaleTo(f.made[2*k*m:][:2*m], f.room[2*int(at)*m:][:2*m], scale)
		}
		Copy(dst[row*width:], Grid{0, width, 1}, f.made, Grid{0, 1, m}, rows, width)
	})
}

// TransformReal stores in dst the transforms of rows of x of 2n real numbers, times scale: of
// each the n + 1 numbers from frequency 0 on, as pairs of parts, or, if whole, all 2n. It panics if
// the lengths do not fit.
//
// Pairs of neighbours are transformed as complex numbers, and what that gives is taken apart; see
// Cooley, Lewis and Welch, "The fast Fourier transform algorithm: programming considerations
// in the calculation of sine, cosine and Laplace transforms", J. Sound Vib. 12(3), 1970.
func (f *FourierRows) TransformReal(dst, x []float32, scale float64, whole bool) {
	width, n := 2*f.n, f.n
	wide := 2 * (n + 1)
	if whole {
		wide = 2 * width
	}
	rows := len(x) / width
	check2(len(dst), rows*wide)
	f.each(rows, wide, func(row, rows, m int) {
		Copy(f.room, Grid{0, m, 1}, x[row*width:], Grid{0, 1, width}, width, rows)
		f.inPlace(m, false)
		f.takeApart(m)
		scaleTo(f.made[:2*(n+1)*m], f.made[:2*(n+1)*m], scale)
		if whole {
			for k := 1; k < n; k++ {
				re, im := parts(f.made, k, m)
				toRe, toIm := parts(f.made, 2*n-k, m)
				copy(toRe, re)
				vec.Neg(toIm, im)
			}
		}
		Copy(dst[row*wide:], Grid{0, wide, 1}, f.made, Grid{0, 1, m}, rows, wide)
	})
}

// each calls do with the first of some rows, with how many they are and how many lanes they take,
// until all have been; there is room for as many of width parts.
func (f *FourierRows) each(rows, width int, do func(row, rows, lanes int)) {
	together := min(max(roomOfRows/width, lanes), SideBySide, rows)
	m := (together + lanes - 1) &^ (lanes - 1)
	f.room, f.made = slices.Grow(f.room[:0], 2*f.n*m)[:2*f.n*m], slices.Grow(f.made[:0], width*m)[:width*m]
	for row := 0; row < rows; row += together {
		do(row, min(together, rows-row), m)
	}
}

// parts returns the real and the imaginary parts of element i of m lanes.
func parts(x []float32, i, m int) (re, im []float32) {
	x = x[2*i*m:][:2*m]
	return x[:m:m], x[m:]
}

// inPlace transforms m lanes of f.room, and leaves what belongs to frequency k at f.at[k]. The
// inverse is the transform of numbers whose parts are exchanged, with the parts exchanged.
func (f *FourierRows) inPlace(m int, inverse bool) {
	re, im := 0, m // where the parts of an element lie in it
	if inverse {
		re, im = im, re
	}
	n, size := f.n, f.n // the size of what is left of a transform
	for ; size >= 4; size /= 4 {
		quarter, step := size/4, 2*(n/size)
		for p := range quarter {
			ur, ui := f.turn(p * step)
			vr, vi := f.turn(2 * p * step)
			wr, wi := f.turn(3 * p * step)
			for at := p; at < n; at += size {
				a, b := f.room[2*at*m:][:2*m], f.room[2*(at+quarter)*m:][:2*m]
				c, d := f.room[2*(at+2*quarter)*m:][:2*m], f.room[2*(at+3*quarter)*m:][:2*m]
				vec.FourierFours(a[re:][:m], a[im:][:m], b[re:][:m], b[im:][:m], c[re:][:m], c[im:][:m], d[re:][:m], d[im:][:m], ur, ui, vr, vi, wr, wi)
			}
		}
	}
	if size == 2 {
		for at := 0; at < len(f.room); at += 4 * m {
			vec.FourierTwos(f.room[at:][:2*m], f.room[at+2*m:][:2*m])
		}
	}
}

// turn returns the parts of exp(-πi j/n).
func (f *FourierRows) turn(j int) (re, im float32) { return f.turns[2*j], f.turns[2*j+1] }

// takeApart stores in f.made the transforms, from frequency 0 to n, of m lanes of real numbers,
// of whose pairs f.room has the transforms.
func (f *FourierRows) takeApart(m int) {
	n := f.n
	re, im := parts(f.room, 0, m)
	firstRe, firstIm := parts(f.made, 0, m)
	lastRe, lastIm := parts(f.made, n, m)
	vec.Add(firstRe, re, im)
	vec.Sub(lastRe, re, im)
	clear(firstIm)
	clear(lastIm)
	for k := 1; k <= n-k; k++ {
		zr, zi := parts(f.room, int(f.at[k]), m)
		xr, xi := parts(f.made, k, m)
		if k == n-k {
			copy(xr, zr)
			vec.Neg(xi, zi)
			break
		}
		vr, vi := parts(f.room, int(f.at[n-k]), m)
		yr, yi := parts(f.made, n-k, m)
		ur, ui := f.turn(k)
		vec.FourierEnds(xr, xi, yr, yi, zr, zi, vr, vi, ur, ui)
	}
}

// scaleTo stores x times scale in dst, which may be x.
func scaleTo(dst, x []float32, scale float64) {
	switch {
	case scale != 1:
		vec.Scale(dst, x, float32(scale))
	case &dst[0] != &x[0]:
		copy(dst, x)
	}
}
