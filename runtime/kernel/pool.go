package kernel

import "tpsh/runtime/dtype"

// Windows says which elements of a channel of three dims each window over it sees: element
// t of window p of a dim stands at p Stride + t Dilation - Before, and those outside of [0, In)
// are not there. Out is how many windows there are. A dim that a caller lacks has In, Size, Out,
// Stride and Dilation 1.
type Windows struct {
	In, Size, Out, Stride, Before, Dilation [3]int

	runs []windowRun
}

// A windowRun is n windows, from the at-th on in row-major order, which see as much as each
// other and lie Stride apart along the last dim: the first sees the elements from plus seen, those
// within bounds. seen is nil if there are too many to keep.
type windowRun struct {
	at, n, from int
	bounds      windowBounds
	seen        []int
}

// windowBounds are which elements of a window are there, lo to hi along each dim.
type windowBounds struct{ lo, hi [3]int }

// mostOffsets is how many places of elements that windows see are kept, about. Windows at the border of
// images differ in as many ways as they have elements, and have as many each.
const mostOffsets = 1 << 20

// within returns which elements lo to hi of window p of dim d are there.
func (w *Windows) within(d, p int) (lo, hi int) {
	first, step := p*w.Stride[d]-w.Before[d], w.Dilation[d]
	if first < 0 {
		lo = (step - 1 - first) / step
	}
	if room := w.In[d] - first; room > 0 {
		hi = min((room+step-1)/step, w.Size[d])
	}
	return lo, hi
}

// See reports whether each window sees an element.
func (w *Windows) See() bool {
	for d := range 3 {
		for p := range w.Out[d] {
			if lo, hi := w.within(d, p); lo >= hi {
				return false
			}
		}
	}
	return true
}

// Plan finds the windows, once, before kernels are given them.
func (w *Windows) Plan() {
	seen, kept := map[windowBounds][]int{}, 0
	w.runs = nil
	for p0 := range w.Out[0] {
		for p1 := range w.Out[1] {
			var b windowBounds
			b.lo[0], b.hi[0] = w.within(0, p0)
			b.lo[1], b.hi[1] = w.within(1, p1)
			row := (p0*w.Stride[0]-w.Before[0])*w.In[1] + p1*w.Stride[1] - w.Before[1]
			var last windowBounds
			for p2 := range w.Out[2] {
				b.lo[2], b.hi[2] = w.within(2, p2)
				if p2 > 0 && b == last {
					w.runs[len(w.runs)-1].n++
					continue
				}
				offsets, ok := seen[b]
				if !ok && kept < mostOffsets {
					offsets = w.offsets(nil, b)
					seen[b], kept = offsets, kept+len(offsets)
				}
				last = b
				w.runs = append(w.runs, windowRun{(p0*w.Out[1]+p1)*w.Out[2] + p2, 1, row*w.In[2] + p2*w.Stride[2] - w.Before[2], b, offsets})
			}
		}
	}
}

// offsets appends to list where the elements of a window within b stand, from the first of all, in
// row-major order.
func (w *Windows) offsets(list []int, b windowBounds) []int {
	for i := b.lo[0]; i < b.hi[0]; i++ {
		for j := b.lo[1]; j < b.hi[1]; j++ {
			for k := b.lo[2]; k < b.hi[2]; k++ {
				list = append(list, (i*w.Dilation[0]*w.In[1]+j*w.Dilation[1])*w.In[2]+k*w.Dilation[2])
			}
		}
	}
	return list
}

// seenBy returns what each window of r sees, in room if it is not kept.
func (w *Windows) seenBy(r *windowRun, room *[]int) []int {
	if r.seen != nil {
		return r.seen
	}
	*room = w.offsets((*room)[:0], r.bounds)
	return *room
}

// channel returns how many elements a channel of x has, and one of windows.
func (w *Windows) channel() (in, out int) {
	return w.In[0] * w.In[1] * w.In[2], w.Out[0] * w.Out[1] * w.Out[2]
}

// WindowMaxTo puts the greatest element that each window sees, of each of some channels, into dst and
// into at where in its channel it stands: the first of equal ones, and of NaNs, which are
// greater than all else. It panics if a window sees nothing.
func WindowMaxTo[T dtype.Float](dst []T, at []int64, x []T, w *Windows) {
	in, out := w.channel()
	var room []int
	for len(dst) > 0 {
		for i := range w.runs {
			r := &w.runs[i]
			windowMax(dst[r.at:r.at+r.n], at[r.at:r.at+r.n], x[:in], r.from, w.Stride[2], w.seenBy(r, &room))
		}
		dst, at, x = dst[out:], at[out:], x[in:]
	}
}

// windowMax is WindowMaxTo of a run. It has no branch but where NaN wins: which element is greater
// nothing foretells.
func windowMax[T dtype.Float](dst []T, at []int64, x []T, from, stride int, seen []int) {
	at = at[:len(dst)]
	for i := range dst {
		best := from + seen[0]
		most := x[best]
		for _, s := range seen[1:] {
			j := from + s
			greater := 0
			if x[j] > most {
				greater = 1
			}
			best += (j - best) & -greater
			most = max(most, x[j])
		}
		if most != most {
			best = firstNaN(x, from, seen)
		}
		dst[i], at[i] = x[best], int64(best)
		from += stride
	}
}

// firstNaN returns where the first NaN stands that a window sees.
func firstNaN[T dtype.Float](x []T, from int, seen []int) int {
	for _, s := range seen {
		if v := x[from+s]; v != v {
			return from + s
		}
	}
	panic("kernel: a window without a NaN")
}

// WindowSumTo puts the sum of what each window sees, times scale, into dst: elements are added in
// row-major order. Of nothing it is 0.
func WindowSumTo[T dtype.Float](dst, x []T, scale T, w *Windows) {
	in, out := w.channel()
	var room []int
	for len(dst) > 0 {
		for i := range w.runs {
			r := &w.runs[i]
			from, seen := r.from, w.seenBy(r, &room)
			for j := range dst[r.at : r.at+r.n] {
				sum := T(0)
				if len(seen) > 0 {
					sum = x[from+seen[0]]
					for _, s := range seen[1:] {
						sum += x[from+s]
					}
				}
				dst[r.at+j] = sum * scale
				from += w.Stride[2]
			}
		}
		dst, x = dst[out:], x[in:]
	}
}

// WindowSpreadTo puts into dst, for each element, the sum of those of y whose windows see it, each times
// scale, in the order of y.
func WindowSpreadTo[T dtype.Float](dst, y []T, scale T, w *Windows) {
	in, out := w.channel()
	var room []int
	for len(dst) > 0 {
		clear(dst[:in])
		for i := range w.runs {
			r := &w.runs[i]
			from, seen := r.from, w.seenBy(r, &room)
			for _, v := range y[r.at : r.at+r.n] {
				v = T(v * scale)
				for _, s := range seen {
					dst[from+s] += v
				}
				from += w.Stride[2]
			}
		}
		dst, y = dst[in:], y[out:]
	}
}
