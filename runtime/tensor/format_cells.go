package tensor

import (
	"math"
	"strconv"
	"strings"

	"tpsh/runtime/dtype"
)

// precision is how many digits after the point an element of a tensor shows.
const precision = 8

// cells prints the elements of a tensor, all in one width.
type cells interface {
	// text returns the element at a place in storage.
	text(at int) string
}

// newCells returns the cells for the elements of x at places.
func newCells(x *Tensor, places []int) cells {
	switch {
	case x.dt == dtype.Bool:
		return boolCells{x}
	case x.dt.IsComplex():
		return newComplexCells(x, places)
	case !x.dt.IsFloat():
		c := intCells{x: x}
		for _, at := range places {
			c.width = max(c.width, len(x.intText(at)))
		}
		return c
	}
	return newFloatCells(x, places)
}

type boolCells struct{ x *Tensor }

func (c boolCells) text(at int) string { return padLeft(boolText(Storage[bool](c.x)[at]), 5) }

type intCells struct {
	x     *Tensor
	width int
}

func (c intCells) text(at int) string { return padLeft(c.x.intText(at), c.width) }

func padLeft(s string, width int) string { return strings.Repeat(" ", max(width-len(s), 0)) + s }

// floatCells prints floats as NumPy's FloatingFormat does: the points aligned,
// and in exponent form if the numbers are large, small or far apart.
type floatCells struct {
	x                 *Tensor
	exponent          bool
	before, after     int // columns before and after the point
	digits, expDigits int // of the exponent form: after the point, and of the exponent
}

func newFloatCells(x *Tensor, places []int) floatCells {
	c := floatCells{x: x}
	var finite []float64
	special := 0 // the width of NaN and infinities
	for _, at := range places {
		v := x.floatAt(at)
		if text, ok := notFinite(v); ok {
			special = max(special, len(text))
		} else {
			finite = append(finite, v)
		}
	}
	c.exponent = needsExponent(finite, x.dt)
	for _, v := range finite {
		c.measure(v)
	}
	if c.exponent {
		c.after = c.digits + 2 + c.expDigits
	}
	c.before = max(c.before, special-c.after-1)
	return c
}

// notFinite returns the text of NaN and infinities, and whether v is one.
func notFinite(v float64) (string, bool) {
	switch {
	case v != v:
		return "nan", true
	case math.IsInf(v, 1):
		return "inf", true
	case math.IsInf(v, -1):
		return "-inf", true
	}
	return "", false
}

// needsExponent reports whether an absolute value other than 0 is at least
// 10^8 or below 10^-4, or the largest is more than 1000 times the smallest.
func needsExponent(finite []float64, dt dtype.DType) bool {
	lo, hi := math.Inf(1), 0.0
	for _, v := range finite {
		if v != 0 {
			lo, hi = min(lo, math.Abs(v)), max(hi, math.Abs(v))
		}
	}
	return hi > 0 && (hi >= 1e8 || lo < nearest(1e-4, dt) || hi/lo > 1000)
}

// measure widens the columns of c for v.
func (c *floatCells) measure(v float64) {
	if !c.exponent {
		whole, frac, _ := strings.Cut(positional(v, c.x.dt), ".")
		c.before, c.after = max(c.before, len(whole)), max(c.after, len(frac))
		return
	}
	mantissa, exp, _ := strings.Cut(scientific(v, c.x.dt), "e")
	whole, frac, _ := strings.Cut(mantissa, ".")
	c.before, c.digits = max(c.before, len(whole)), max(c.digits, len(frac))
	c.expDigits = max(c.expDigits, len(exp)-1)
}

func (c floatCells) text(at int) string {
	v := c.x.floatAt(at)
	if text, ok := notFinite(v); ok {
		return padLeft(text, c.before+1+c.after)
	}
	if !c.exponent {
		whole, frac, _ := strings.Cut(positional(v, c.x.dt), ".")
		return padLeft(whole, c.before) + "." + frac + strings.Repeat(" ", c.after-len(frac))
	}
	mantissa, exp, _ := strings.Cut(scientific(v, c.x.dt), "e")
	whole, frac, _ := strings.Cut(mantissa, ".")
	return padLeft(whole, c.before) + "." + frac + strings.Repeat("0", c.digits-len(frac)) +
		"e" + exp[:1] + strings.Repeat("0", c.expDigits-len(exp)+1) + exp[1:]
}

// positional returns v with a point and as few digits behind it as tell it from
// its neighbours, and no more than precision.
func positional(v float64, dt dtype.DType) string {
	s := strconv.FormatFloat(shortest(v, dt), 'f', -1, 64)
	if dot := strings.IndexByte(s, '.'); dot < 0 {
		s += "."
	} else if len(s)-dot-1 > precision {
		s = strings.TrimRight(strconv.FormatFloat(v, 'f', precision, 64), "0")
	}
	return s
}

// scientific is positional in exponent form.
func scientific(v float64, dt dtype.DType) string {
	mantissa, exp, _ := strings.Cut(strconv.FormatFloat(shortest(v, dt), 'e', -1, 64), "e")
	if dot := strings.IndexByte(mantissa, '.'); dot < 0 {
		mantissa += "."
	} else if len(mantissa)-dot-1 > precision {
		mantissa, exp, _ = strings.Cut(strconv.FormatFloat(v, 'e', precision, 64), "e")
		mantissa = strings.TrimRight(mantissa, "0")
	}
	return mantissa + "e" + exp
}

// shortest returns the number of the fewest decimal digits that is nearer to v
// than to any other number of dt.
func shortest(v float64, dt dtype.DType) float64 {
	if dt == dtype.Float64 || v == 0 {
		return v
	}
	for digits := 1; ; digits++ {
		s := strconv.FormatFloat(v, 'e', digits-1, 64)
		if f, err := strconv.ParseFloat(s, 64); err == nil && nearest(f, dt) == v {
			return f
		}
	}
}

// nearest returns v rounded to dt.
func nearest(v float64, dt dtype.DType) float64 {
	switch dt {
	case dtype.Float32:
		return float64(float32(v))
	case dtype.Float16:
		return float64(dtype.ToF16(float32(v)).Float32())
	case dtype.BFloat16:
		return float64(dtype.ToBF16(float32(v)).Float32())
	case dtype.Float8E4M3FN:
		return float64(dtype.ToF8E4M3(float32(v)).Float32())
	case dtype.Float8E5M2:
		return float64(dtype.ToF8E5M2(float32(v)).Float32())
	}
	return v
}
