// Package shape computes with the sizes and strides of tensors. It knows integers
// alone: neither elements nor layouts.
//
// A Shape has one size for each dim; that of a number is empty. Strides are how many
// elements lie between neighbours along each dim, row-major. Dim counts a negative
// dim from the end, as scripts do, and Broadcast is the rule of NumPy: shapes are
// aligned at their ends, and a size of 1 stretches. For example
//
//	s := shape.Shape{2, 3, 4}
//	s.Numel()                                            // 24
//	s.Strides()                                          // [12 4 1]
//	shape.Dim(-1, 3)                                     // 2, true
//	shape.Broadcast(shape.Shape{2, 1}, shape.Shape{3})   // (2, 3), true
package shape

import (
	"fmt"
	"math"
	"math/bits"
	"strings"
)

// A Shape lists the sizes of a tensor's dims, outermost first. The empty
// shape is that of a tensor of one element. Shapes are not modified once made.
type Shape []int

// Numel returns the number of elements.
func (s Shape) Numel() int {
	n := 1
	for _, d := range s {
		n *= d
	}
	return n
}

// Equal reports whether s and t have the same sizes.
func (s Shape) Equal(t Shape) bool {
	if len(s) != len(t) {
		return false
	}
	for i, d := range s {
		if d != t[i] {
			return false
		}
	}
	return true
}

// String returns s as a script writes it: (2, 3), (4,) or ().
func (s Shape) String() string {
	if len(s) == 1 {
		return fmt.Sprintf("(%d,)", s[0])
	}
	return "(" + s.Join() + ")"
}

// Join returns the sizes separated by commas: 2, 3.
func (s Shape) Join() string {
	var b strings.Builder
	for i, d := range s {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprint(&b, d)
	}
	return b.String()
}

// Strides returns the strides, in elements, of contiguous storage in
// row-major order.
func (s Shape) Strides() []int { return s.StridesIn(make([]int, len(s))) }

// StridesIn is Strides, stored in st, which has len(s) elements.
func (s Shape) StridesIn(st []int) []int {
	n := 1
	for i := len(s) - 1; i >= 0; i-- {
		st[i] = n
		n *= max(s[i], 1)
	}
	return st
}

// Check returns an error if a size is negative or the elements, size bytes
// each, cannot be counted in an int.
func (s Shape) Check(size int) error {
	n := size
	for _, d := range s {
		if uint(d) > 1<<16 || n > 1<<32 {
			return s.checkLarge(size)
		}
		n *= d
	}
	return nil
}

// checkLarge is Check of any sizes.
func (s Shape) checkLarge(size int) error {
	n := size
	empty := false
	for i, d := range s {
		if d < 0 {
			return fmt.Errorf("got %d at index %d, want a non-negative int", d, i)
		}
		if d == 0 {
			empty = true
			continue
		}
		hi, lo := bits.Mul64(uint64(n), uint64(d))
		if hi != 0 || lo > math.MaxInt {
			if empty || hasZero(s[i:]) {
				continue
			}
			return fmt.Errorf("got %v, want fewer than 2**63 bytes", s)
		}
		n = int(lo)
	}
	return nil
}

func hasZero(s Shape) bool {
	for _, d := range s {
		if d == 0 {
			return true
		}
	}
	return false
}

// Dim returns dim counted from the front, for a tensor of ndim dims, and
// whether it is in range -ndim..ndim-1.
func Dim(dim, ndim int) (int, bool) {
	if dim < -ndim || dim >= ndim {
		return 0, false
	}
	if dim < 0 {
		dim += ndim
	}
	return dim, true
}

// Broadcast returns the shape of an operation between a and b by NumPy's
// rule: dims are aligned at the last, and a size of 1 stretches. It reports
// false if they do not fit.
func Broadcast(a, b Shape) (Shape, bool) {
	if a.Equal(b) {
		return a, true
	}
	if len(a) < len(b) {
		a, b = b, a
	}
	off := len(a) - len(b)
	out, own := a, false // a itself as long as it is the result
	for i, d := range b {
		switch e := out[off+i]; {
		case d == e || d == 1:
		case e == 1:
			if !own {
				out, own = append(Shape(nil), a...), true
			}
			out[off+i] = d
		default:
			return nil, false
		}
	}
	return out, true
}
