package conv

import (
	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel/crew"
	"tpsh/runtime/kernel/gemm"
)

// slideAlone is slide of one channel, by kernels for it, in rows of places or, of short
// ones, along the frame. It reports false, and has done nothing, if there are none, or
// what it would do is too short for them.
func slideAlone[T dtype.Float](v *view, dst, weight []T, at int, data []T, rows int, sums []T) bool {
	places, inRow, extent := len(v.places), v.inRow(), v.extent()
	k := sliderOf[T](v)
	if k == nil || extent < k.Lanes() {
		return false
	}
	for r := range rows {
		to, w := dst[r*places:][:places], weight[at+r*len(v.taps):][:len(v.taps)]
		if inRow < 2*k.Lanes() {
			k.To(sums, 0, data, 0, w, extent, 1)
			for next := 0; next < places; next += inRow {
				copy(to[next:next+inRow], sums[v.places[next]:])
			}
			continue
		}
		for next := 0; next < places; {
			count, apart := v.alike(next)
			k.To(to[next:], inRow, data[v.places[next]:], apart, w, inRow, count)
			next += count * inRow
		}
	}
	return true
}

// alike returns how many rows of places, from the one at next on, are equally far apart,
// and how far.
func (v *view) alike(next int) (count, apart int) {
	n, count := v.inRow(), 1
	for p := next + n; p < len(v.places); p += n {
		step := v.places[p] - v.places[p-n]
		if step < 0 || count > 1 && step != apart {
			break
		}
		count, apart = count+1, step
	}
	return count, apart
}

// settle finds what v remembers of windows of so many channels: later several goroutines ask.
func settle[T dtype.Float](v *view, channels int) {
	v.inRow()
	v.inStretches()
	if channels == 1 {
		sliderOf[T](v)
	}
}

// sliderOf returns the kernel for the windows of v in one channel, or nil if there is none.
func sliderOf[T dtype.Float](v *view) *gemm.Slide[T] {
	if v.kernel == nil {
		var parts []int
		for _, s := range v.steps() {
			parts = append(parts, s.taps)
		}
		v.kernel = gemm.NewSlide[T](v.taps, parts)
	}
	return v.kernel.(*gemm.Slide[T])
}

// alone reports whether groups have one channel and one result.
func (s *Shape) alone() bool {
	channels, outputs := s.own()
	return s.Groups > 1 && channels == 1 && outputs == 1
}

// weightAlone is Weight of groups of one channel and one result: a product would have
// one row, and for the few taps as many sums as a vector has. The products of
// a row of places are added up in order, rounded each, and then the rows.
func weightAlone[T dtype.Float](w *crew.Workers, s *Shape, dw, x, dy, room []T) {
	v := s.forwardView()
	clear(dw)
	settle[T](v, 0)
	eachPart(w, s, room, func(_ *crew.Workers, lo, hi int, room []T) {
		weightOf(s, v, lo, hi, dw, x, dy, room)
	})
}

// weightOf is weightAlone of groups [lo, hi), to what dw has.
func weightOf[T dtype.Float](s *Shape, v *view, lo, hi int, dw, x, dy, room []T) {
	n, places := v.inRow(), s.places()
	frames := room[:v.room(1, 1)]
	var turn *turned[T]
	if s.turns() && n == s.Out[2] && gemm.RowLanes[T]() > 0 {
		turn = newTurned(s, v, room[len(frames):])
	}
	for i := range s.Images {
		for g := lo; g < hi; g++ {
			data, offset, _ := seen(nil, v, frames, x, i, 1, g, 1, s.Channels)
			to := dw[g*len(v.taps):][:len(v.taps)]
			rows := dy[(i*s.Groups+g)*places:][:places]
			if turn != nil {
				turn.add(to, data[offset:], rows)
				continue
			}
			for t := 0; t < len(to); t += 4 {
				for p := 0; p < places; p += n {
					addRows(to[t:min(t+4, len(to))], rows[p:p+n], data[offset+v.places[p]:], v.taps[t:])
				}
			}
		}
	}
}

// wide is how many elements a row of what is turned has a multiple of: whole vectors.
const wide = 16

// turns reports whether weightAlone may turn its images, so that several rows of places are
// summed at a time.
func (s *Shape) turns() bool { return s.Out[0] == 1 && s.Size[0] == 1 && s.Out[1] >= 4 }

// A turned is room for a channel of an image and for its gradient, turned: rows that
// are a stride apart lie side by side, and the windows' rows of the image in as many parts
// as there are strides.
type turned[T dtype.Float] struct {
	s           *Shape
	f           *frame
	taps        []int // in x
	rowX, rowY  int   // elements from a column to the next
	part        int   // elements from a part of x to the next
	x, dy, sums []T
}

// turnedSizes returns rowX, rowY and part of a turned.
func (s *Shape) turnedSizes(f *frame) (rowX, rowY, part int) {
	rowY = ceil(s.Out[1], wide) * wide
	rowX = max(ceil(f.size[1], s.Stride[1]), rowY+(s.Size[1]-1)*s.Dilation[1]/s.Stride[1])
	rowX = ceil(rowX, wide) * wide
	return rowX, rowY, rowX * f.size[2]
}

// turnedRoom returns how many elements newTurned needs.
func (s *Shape) turnedRoom(f *frame) int {
	if !s.turns() {
		return 0
	}
	_, rowY, part := s.turnedSizes(f)
	return part*s.Stride[1] + rowY*s.Out[2] + wide*s.taps()
}

// newTurned returns the room for what v sees.
func newTurned[T dtype.Float](s *Shape, v *view, room []T) *turned[T] {
	t := &turned[T]{s: s, f: &v.frame}
	t.rowX, t.rowY, t.part = s.turnedSizes(t.f)
	room = room[:s.turnedRoom(t.f)]
	clear(room) // behind rows nothing is stored that counts, but the time of sums goes by it
	t.x, room = room[:t.part*s.Stride[1]], room[t.part*s.Stride[1]:]
	t.dy, t.sums = room[:t.rowY*s.Out[2]], room[t.rowY*s.Out[2]:]
	for i := range s.Size[1] {
		y := i * s.Dilation[1]
		for j := range s.Size[2] {
			column := v.at([3]int{0, 0, j * s.Dilation[2]})
			t.taps = append(t.taps, y%s.Stride[1]*t.part+column*t.rowX+y/s.Stride[1])
		}
	}
	return t
}

// add adds to dw the products of an image in its frame and its gradient.
func (t *turned[T]) add(dw, image, dy []T) {
	out, stride, cols := t.s.Out, t.s.Stride[1], t.f.size[2]
	for p := range min(stride, t.f.size[1]) {
		gemm.Turn(t.x[p*t.part:], t.rowX, image[p*cols:], stride*cols, ceil(t.f.size[1]-p, stride), cols)
	}
	gemm.Turn(t.dy, t.rowY, dy, out[2], out[1], out[2])
	lanes := gemm.RowLanes[T]()
	for first := 0; first < out[1]; first += lanes {
		gemm.RowSums(t.sums, t.x[first:], t.rowX, t.dy[first:], t.rowY, t.taps, out[2])
		for i := range dw {
			for _, sum := range t.sums[i*lanes:][:min(lanes, out[1]-first)] {
				dw[i] += sum
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
