package tensor

import (
	"math"
	"strconv"
	"strings"
)

// ComplexText returns z as Python shows a complex number: (1+2j), or 2j without a
// real part.
func ComplexText(z complex128) string {
	im := numberText(imag(z)) + "j"
	if real(z) == 0 && !math.Signbit(real(z)) {
		return im
	}
	if !strings.HasPrefix(im, "-") {
		im = "+" + im
	}
	return "(" + numberText(real(z)) + im + ")"
}

// numberText returns v with as few digits as tell it from its neighbours.
func numberText(v float64) string {
	if text, ok := notFinite(v); ok {
		return text
	}
	if abs := math.Abs(v); abs != 0 && (abs < 1e-4 || abs >= 1e16) {
		return strconv.FormatFloat(v, 'e', -1, 64)
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// asParts returns the elements of a complex tensor as their parts: the element at a
// place has them at twice that, and behind it.
func (x *Tensor) asParts() *Tensor {
	return &Tensor{shape: x.shape, strides: x.strides, dt: x.dt.Real(), buf: x.buf}
}

// complexAt returns the element at place at of x's storage, as far as its digits
// tell it from its neighbours.
func (x *Tensor) complexAt(at int) complex128 {
	p := x.asParts()
	return complex(shortest(p.floatAt(2*at), p.dt), shortest(p.floatAt(2*at+1), p.dt))
}

// complexCells prints complex numbers as NumPy does: the real parts like floats, the
// imaginary ones with their sign and j behind.
type complexCells struct {
	re, im floatCells
	width  int // of imaginary parts
}

func newComplexCells(x *Tensor, places []int) complexCells {
	p := x.asParts()
	re, im := make([]int, len(places)), make([]int, len(places))
	for i, at := range places {
		re[i], im[i] = 2*at, 2*at+1
	}
	c := complexCells{re: newFloatCells(p, re), im: newFloatCells(p, im)}
	for _, at := range places {
		c.width = max(c.width, len(c.imaginary(at)))
	}
	return c
}

// imaginary returns the imaginary part of the element at a place: "+2.5j".
func (c complexCells) imaginary(at int) string {
	s := strings.TrimSpace(c.im.text(2*at + 1))
	if !strings.HasPrefix(s, "-") {
		s = "+" + s
	}
	return s + "j"
}

func (c complexCells) text(at int) string {
	im := c.imaginary(at)
	return c.re.text(2*at) + im + strings.Repeat(" ", c.width-len(im))
}
