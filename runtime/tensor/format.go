package tensor

import (
	"fmt"
	goruntime "runtime"
	"strconv"
	"strings"

	"tpsh/runtime/dtype"
)

const (
	lineWidth  = 75   // columns of a line, unless FormatTo says otherwise
	leastWidth = 20   // columns, of a line that is to be narrow
	threshold  = 1000 // a tensor of more elements is summarised
	edgeItems  = 3    // to so many at either end of a dim
)

// Format returns x as NumPy prints an array: numbers aligned, with at most 8
// digits after the point, and only the ends of a large tensor's dims. Behind it
// stand the shape where that cannot be seen, as of a large or an empty tensor,
// and the dtype unless it is float32, int64, bool or complex64, which can. A tensor of
// shape () is printed as a number, with all its digits.
func Format(x *Tensor) string { return FormatTo(x, lineWidth) }

// FormatTo is Format in lines of width columns, but at least leastWidth, if the
// elements are not wider. A width of 0 is Format's own.
func FormatTo(x *Tensor, width int) string {
	if width == 0 {
		width = lineWidth
	}
	if x.buf == nil {
		return fmt.Sprintf("%v[%s] without storage", x.dt, x.shape.Join())
	}
	f := formatter{x: x, summary: x.Numel() > threshold}
	s := ""
	switch {
	case x.Ndim() == 0:
		s = f.scalar()
	case x.Numel() == 0:
		s = "[]"
	default:
		f.cells = newCells(x, f.shown())
		s = f.dim(0, x.offset, " ", max(width, leastWidth))
	}
	goruntime.KeepAlive(x)
	return s + f.suffix()
}

// A formatter prints a tensor.
type formatter struct {
	x       *Tensor
	summary bool
	cells   cells
}

// suffix returns the shape and the dtype where they are not evident.
func (f *formatter) suffix() string {
	x, s := f.x, ""
	empty := x.Numel() == 0
	if f.summary || empty && x.Ndim() > 1 {
		s = " shape=" + x.shape.String()
	}
	if x.dt != dtype.Float32 && (empty || x.dt != dtype.Int64 && x.dt != dtype.Bool && x.dt != dtype.Complex64) {
		s += " dtype=" + x.dt.String()
	}
	return s
}

// edges returns how many items of a dim of n are printed at its start, and
// how many at its end. With none at the start, all are.
func (f *formatter) edges(n int) (leading, trailing int) {
	if f.summary && n > 2*edgeItems {
		return edgeItems, edgeItems
	}
	return 0, n
}

// shown returns the places in storage of the elements that are printed.
func (f *formatter) shown() []int {
	places := []int{f.x.offset}
	for d, n := range f.x.shape {
		leading, trailing := f.edges(n)
		var next []int
		for _, at := range places {
			for i := range leading {
				next = append(next, at+i*f.x.strides[d])
			}
			for i := n - trailing; i < n; i++ {
				next = append(next, at+i*f.x.strides[d])
			}
		}
		places = next
	}
	return places
}

// dim prints dims d and up of the part of x that begins at place at. Lines
// after the first begin with indent; the last leaves room for the brackets
// that follow.
func (f *formatter) dim(d, at int, indent string, width int) string {
	if d == f.x.Ndim() {
		return f.cells.text(at)
	}
	n, stride := f.x.shape[d], f.x.strides[d]
	leading, trailing := f.edges(n)
	var items []string
	for i := range leading {
		items = append(items, f.dim(d+1, at+i*stride, indent+" ", width-1))
	}
	if leading > 0 {
		items = append(items, "...")
	}
	for i := n - trailing; i < n; i++ {
		items = append(items, f.dim(d+1, at+i*stride, indent+" ", width-1))
	}
	if left := f.x.Ndim() - d - 1; left > 0 {
		return "[" + strings.Join(items, strings.Repeat("\n", left)+indent) + "]"
	}
	return "[" + wrap(items, indent, width-1) + "]"
}

// wrap joins items by spaces to lines of up to width columns, of which those
// after the first begin with indent. An item too long for a line stands alone.
func wrap(items []string, indent string, width int) string {
	var lines []string
	line := indent + items[0]
	for _, item := range items[1:] {
		if len(line)+1+len(item) > width {
			lines = append(lines, strings.TrimRight(line, " "))
			line = indent + item
		} else {
			line += " " + item
		}
	}
	lines = append(lines, line)
	return strings.Join(lines, "\n")[len(indent):] // where the bracket stands
}

// scalar prints the only element of x.
func (f *formatter) scalar() string {
	x := f.x
	switch {
	case x.dt == dtype.Bool:
		return boolText(Storage[bool](x)[x.offset])
	case x.dt.IsComplex():
		return ComplexText(x.complexAt(x.offset))
	case !x.dt.IsFloat():
		return x.intText(x.offset)
	}
	v := x.floatAt(x.offset)
	if text, ok := notFinite(v); ok {
		return text
	}
	short := shortest(v, x.dt)
	if abs := max(v, -v); abs != 0 && (abs < 1e-4 || abs >= 1e16) {
		return strconv.FormatFloat(short, 'e', -1, 64)
	}
	s := strconv.FormatFloat(short, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

func boolText(v bool) string {
	if v {
		return "True"
	}
	return "False"
}

// intText returns the integer at place at of x's storage as a script writes it.
func (x *Tensor) intText(at int) string {
	if x.dt == dtype.Uint64 {
		return strconv.FormatUint(Storage[uint64](x)[at], 10)
	}
	return strconv.FormatInt(x.intAt(at), 10)
}

// intAt returns the integer at place at of x's storage; of Uint64 its bits.
func (x *Tensor) intAt(at int) int64 {
	switch x.dt {
	case dtype.Int64:
		return Storage[int64](x)[at]
	case dtype.Int32:
		return int64(Storage[int32](x)[at])
	case dtype.Int16:
		return int64(Storage[int16](x)[at])
	case dtype.Int8:
		return int64(Storage[int8](x)[at])
	case dtype.Uint16:
		return int64(Storage[uint16](x)[at])
	case dtype.Uint32:
		return int64(Storage[uint32](x)[at])
	case dtype.Uint64:
		return int64(Storage[uint64](x)[at])
	}
	return int64(Storage[uint8](x)[at])
}

// floatAt returns the float at place at of x's storage.
func (x *Tensor) floatAt(at int) float64 {
	switch x.dt {
	case dtype.Float32:
		return float64(Storage[float32](x)[at])
	case dtype.Float64:
		return Storage[float64](x)[at]
	case dtype.Float16:
		return float64(Storage[dtype.F16](x)[at].Float32())
	case dtype.Float8E4M3FN:
		return float64(Storage[dtype.F8E4M3](x)[at].Float32())
	case dtype.Float8E5M2:
		return float64(Storage[dtype.F8E5M2](x)[at].Float32())
	}
	return float64(Storage[dtype.BF16](x)[at].Float32())
}
