package conv

import (
	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel/crew"
	"tpsh/runtime/kernel/gemm"
)

// Up to fewRows of a group, or fewest in all, products are computed tap by tap: to pack
// what windows see would take longer than to multiply it.
const fewRows, fewest = 8, 3

// direct reports whether products of so many rows are computed tap by tap.
func (s *Shape) direct(rows int) bool { return rows <= fewest || s.Groups > 1 && rows <= fewRows }

// extent returns the number of elements from the first place to the last.
func (v *view) extent() int { return v.places[len(v.places)-1] + 1 }

// A step is a part of the taps that are one product: their first and number, and how
// far apart what they see of one channel is.
type step struct{ tap, taps, apart int }

// steps returns the taps of one channel in groups that are equally far apart, in order.
func (v *view) steps() []step {
	var all []step
	for t := 0; t < len(v.taps); {
		s := step{tap: t, taps: 1}
		for t+s.taps < len(v.taps) {
			apart := v.taps[t+s.taps] - v.taps[t+s.taps-1]
			if apart < 0 || s.taps > 1 && apart != s.apart {
				break
			}
			s.apart = apart
			s.taps++
		}
		all, t = append(all, s), t+s.taps
	}
	return all
}

// slideBytes is how much of a frame is multiplied by all taps before what follows: it
// stays in a second-level cache.
const slideBytes = 256 << 10

// slide stores in dst [rows, places] the products of weight, [rows, channels, taps]
// from at on, and what windows of v see of channels in data from offset on. It
// multiplies along the frame, the elements between places included, into sums, and
// leaves these out: a step of taps of one channel, or one tap of all channels, after
// the other. Where there are kernels for one channel, they keep its sums in registers.
func slide[T dtype.Float](w *crew.Workers, v *view, dst, weight []T, at int, data []T, offset, rows, channels int, sums []T) {
	if channels == 1 && slideAlone(v, dst, weight, at, data[offset:], rows, sums) {
		return
	}
	n, places, inRow := v.extent(), len(v.places), v.inRow()
	together := max(slideBytes/4/channels, 1<<10)
	for lo, next := 0, 0; lo < n; lo += together {
		hi := min(lo+together, n)
		part := sums[:rows*(hi-lo)]
		slidePart(w, v, part, weight, at, data, offset+lo, rows, channels)
		for next < places && v.places[next] < hi {
			p := v.places[next]
			run := min(inRow-next%inRow, hi-p)
			for r := range rows {
				copy(dst[r*places+next:][:run], part[r*(hi-lo)+p-lo:])
			}
			next += run
		}
	}
}

// slidePart is slide of as many elements of the frame as sums has rows of.
func slidePart[T dtype.Float](w *crew.Workers, v *view, sums, weight []T, at int, data []T, offset, rows, channels int) {
	taps := len(v.taps)
	p := gemm.Product[T]{M: rows, N: len(sums) / rows, Count: 1, C: sums,
		A: gemm.Operand[T]{Data: weight, Grid: gemm.Grid{Row: channels * taps, Col: taps}},
		B: gemm.Operand[T]{Data: data, Grid: gemm.Grid{Row: v.step(), Col: 1}}}
	if channels == 1 {
		p.A.Col = 1
		for _, s := range v.steps() {
			p.K, p.B.Row = s.taps, s.apart
			p.A.Offset, p.B.Offset = at+s.tap, offset+v.taps[s.tap]
			gemm.Multiply(w, p)
			p.Add = true
		}
		return
	}
	p.K = channels
	for t, tap := range v.taps {
		p.A.Offset, p.B.Offset = at+t, offset+tap
		gemm.Multiply(w, p)
		p.Add = true
	}
}

// inRow returns how many places always follow one another by 1.
func (v *view) inRow() int {
	if v.row == 0 {
		v.row = v.countRow()
	}
	return v.row
}

func (v *view) countRow() int {
	n := 1
	for n < len(v.places) && v.places[n] == v.places[0]+n {
		n++
	}
	if len(v.places)%n != 0 {
		return 1
	}
	return n
}
