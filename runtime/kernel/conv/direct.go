package conv

import (
	"slices"

	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel/crew"
	"tpsh/runtime/kernel/gemm"
	"tpsh/runtime/kernel/vec"
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
// the other, or all taps at once. Where there are kernels for one channel, they keep its
// sums in registers. Sums are as many as slideRoom says.
func slide[T dtype.Float](w *crew.Workers, v *view, dst, weight []T, at int, data []T, offset, rows, channels int, sums []T) {
	if channels == 1 && slideAlone(v, dst, weight, at, data[offset:], rows, sums) {
		return
	}
	n := v.extent()
	if atOnce(rows, channels) && v.inTurn() != 0 {
		slideAtOnce(w, v, sums[:rows*n], weight, at, data, offset, rows, channels, sums[rows*n:])
		leave(v, dst, sums, rows, 0, n, 0)
		return
	}
	together := max(slideBytes/4/channels, 1<<10)
	for lo, next := 0, 0; lo < n; lo += together {
		hi := min(lo+together, n)
		part := sums[:rows*(hi-lo)]
		slidePart(w, v, part, weight, at, data, offset+lo, rows, channels)
		next = leave(v, dst, part, rows, lo, hi, next)
	}
}

// leave stores in dst [rows, places] what sums [rows, hi-lo], elements lo to hi of a frame, have at
// places from the next one on, and returns the place that is next after them.
func leave[T dtype.Float](v *view, dst, sums []T, rows, lo, hi, next int) int {
	places, inRow := len(v.places), v.inRow()
	for next < places && v.places[next] < hi {
		p := v.places[next]
		run := min(inRow-next%inRow, hi-p)
		for r := range rows {
			copy(dst[r*places+next:][:run], sums[r*(hi-lo)+p-lo:])
		}
		next += run
	}
	return next
}

// atOnce reports whether taps of so many rows and channels are multiplied at once: if the channels
// are one block of a sum, but more than it takes to write products down and to add them.
func atOnce(rows, channels int) bool {
	return rows <= fewest && channels >= 16 && channels <= gemm.Block
}

// inTurn returns 1 if each tap is behind the one before, -1 if it is in front of it, else 0.
func (v *view) inTurn() int {
	switch {
	case slices.IsSorted(v.taps):
		return 1
	case slices.IsSortedFunc(v.taps, func(a, b int) int { return b - a }):
		return -1
	}
	return 0
}

// slideRoom returns how many sums slide needs of so many rows, channels and taps in f.
func (f *frame) slideRoom(rows, channels, taps int) int {
	n := rows * volume(f.size)
	if atOnce(rows, channels) {
		n += rows * taps * (channels + productsOf(rows*taps))
	}
	return n
}

// productsOf returns how many elements of a frame are multiplied at once by so many rows.
func productsOf(rows int) int { return max(slideBytes/4/rows, 1<<10) }

// slideAtOnce stores in sums what slide makes along the frame: a part of it is multiplied by all
// taps, as one product of many rows, and these are then added where they belong. Parts go by in the
// order in which sums meet taps. Room is for the weight, turned, and for products.
func slideAtOnce[T dtype.Float](w *crew.Workers, v *view, sums, weight []T, at int, data []T, offset, rows, channels int, room []T) {
	n, taps, turn := len(sums)/rows, len(v.taps), v.inTurn()
	turned, products := room[:rows*taps*channels], room[rows*taps*channels:]
	for t := range taps {
		for i := range rows * channels {
			turned[t*rows*channels+i] = weight[at+i*taps+t]
		}
	}
	first, end := slices.Min(v.taps), slices.Max(v.taps)+n
	together := productsOf(rows * taps)
	parts := ceil(end-first, together)
	for i := range parts {
		if turn < 0 {
			i = parts - 1 - i
		}
		lo := first + i*together
		hi := min(lo+together, end)
		c := products[:rows*taps*(hi-lo)]
		gemm.Multiply(w, gemm.Product[T]{M: rows * taps, N: hi - lo, K: channels, Count: 1, C: c,
			A: gemm.Operand[T]{Data: turned, Grid: gemm.Grid{Row: channels, Col: 1}},
			B: gemm.Operand[T]{Data: data, Grid: gemm.Grid{Offset: offset + lo, Row: v.step(), Col: 1}}})
		for t, tap := range v.taps {
			from, to := max(lo-tap, 0), min(hi-tap, n)
			for r := range rows {
				if from < to {
					sum, x := sums[r*n+from:r*n+to], c[(t*rows+r)*(hi-lo)+from+tap-lo:]
					addTap(sum, x[:to-from], t == 0)
				}
			}
		}
	}
}

// addTap adds x to sum, or stores it there if it is the first.
func addTap[T dtype.Float](sum, x []T, first bool) {
	if first {
		copy(sum, x)
		return
	}
	switch sum := any(sum).(type) {
	case []float32:
		vec.Add(sum, sum, any(x).([]float32))
	case []float64:
		vec.Add64(sum, sum, any(x).([]float64))
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
