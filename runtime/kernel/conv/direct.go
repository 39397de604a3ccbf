package conv

import (
	"tpsh/runtime/dtype"
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
// the other.
func slide[T dtype.Float](w *gemm.Workers, v *view, dst, weight []T, at int, data []T, offset, rows, channels int, sums []T) {
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
func slidePart[T dtype.Float](w *gemm.Workers, v *view, sums, weight []T, at int, data []T, offset, rows, channels int) {
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
	n := 1
	for n < len(v.places) && v.places[n] == v.places[0]+n {
		n++
	}
	if len(v.places)%n != 0 {
		return 1
	}
	return n
}

// alone reports whether groups have one channel and one result.
func (s *Shape) alone() bool {
	channels, outputs := s.own()
	return s.Groups > 1 && channels == 1 && outputs == 1
}

// weightAlone is Weight of groups of one channel and one result: a product would have
// one row, and for the few taps as many sums as a vector has. The products of
// a row of places are added up in order, rounded each, and then the rows.
func weightAlone[T dtype.Float](s *Shape, dw, x, dy, room []T) {
	v := s.forwardView()
	clear(dw)
	n, places := v.inRow(), s.places()
	frames := room[:v.room(1, 1)]
	for i := range s.Images {
		for g := range s.Groups {
			data, offset, _ := seen(v, frames, x, i, 1, g, 1, s.Channels)
			to := dw[g*len(v.taps):][:len(v.taps)]
			rows := dy[(i*s.Groups+g)*places:][:places]
			for t := 0; t < len(to); t += 4 {
				for p := 0; p < places; p += n {
					addRows(to[t:min(t+4, len(to))], rows[p:p+n], data[offset+v.places[p]:], v.taps[t:])
				}
			}
		}
	}
}

// addRows adds to each of up to four sums the products of dy and the elements of x
// that a tap sees of as many places.
func addRows[T dtype.Float](sums, dy, x []T, taps []int) {
	n := len(dy)
	if len(sums) < 4 {
		for i := range sums {
			var s T
			for j, v := range x[taps[i]:][:n] {
				s += T(v * dy[j])
			}
			sums[i] += s
		}
		return
	}
	var s0, s1, s2, s3 T
	x0, x1, x2, x3 := x[taps[0]:][:n], x[taps[1]:][:n], x[taps[2]:][:n], x[taps[3]:][:n]
	for j, v := range dy {
		s0 += T(x0[j] * v)
		s1 += T(x1[j] * v)
		s2 += T(x2[j] * v)
		s3 += T(x3[j] * v)
	}
	sums[0] += s0
	sums[1] += s1
	sums[2] += s2
	sums[3] += s3
}
