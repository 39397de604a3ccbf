package conv

import (
	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel/crew"
	"tpsh/runtime/kernel/gemm"
)

// A lattice is the elements of an image that are Stride apart, from begin on, so
// many in each dim. The same elements of windows, taps, meet all of them.
type lattice struct {
	begin, count [3]int
	taps         []int // numbers of elements of a window
	*view              // of the gradient of the result
}

// lattices returns those of s that a window meets, and whether there are others.
func (s *Shape) lattices() (met []*lattice, others bool) {
	var begins [3]int
	for d := range begins {
		begins[d] = min(s.Stride[d], s.In[d])
	}
	each(begins, func(begin [3]int) {
		l := &lattice{begin: begin}
		var of [3][]int // the taps along each dim
		for d, b := range begin {
			l.count[d] = max(0, ceil(s.In[d]-b, s.Stride[d]))
			for t := range s.Size[d] {
				if (b+s.Before[d]-t*s.Dilation[d])%s.Stride[d] == 0 {
					of[d] = append(of[d], t)
				}
			}
		}
		switch {
		case volume(l.count) == 0:
		case len(of[0])*len(of[1])*len(of[2]) == 0:
			others = true
		default:
			l.see(s, of)
			met = append(met, l)
		}
	})
	return met, others
}

// see sets the view of l: its first element meets, by a tap, the window that is at
// tapAt, and the others those that follow.
func (l *lattice) see(s *Shape, of [3][]int) {
	tapAt := func(d, t int) int { return (l.begin[d] + s.Before[d] - t*s.Dilation[d]) / s.Stride[d] }
	var first, last [3]int
	for d, taps := range of {
		first[d] = tapAt(d, taps[len(taps)-1])
		last[d] = tapAt(d, taps[0]) + l.count[d] - 1
	}
	l.view = &view{frame: newFrame(s.Out, first, last, 1)}
	base := l.first
	each([3]int{len(of[0]), len(of[1]), len(of[2])}, func(i [3]int) {
		var at [3]int
		number := 0
		for d := range i {
			t := of[d][i[d]]
			number = number*s.Size[d] + t
			at[d] = tapAt(d, t) - base[d]
		}
		l.taps = append(l.taps, number)
		l.view.taps = append(l.view.taps, l.at(at))
	})
}

// whole reports whether l is all of an image.
func (l *lattice) whole(s *Shape) bool { return l.count == s.In }

// DataRoom returns how many elements of room Data needs.
func (s *Shape) DataRoom() int {
	if s.empty() {
		return 0
	}
	met, _ := s.lattices()
	m := s.dataTogether()
	channels, outputs := s.own()
	most := 0
	for _, l := range met {
		n := l.room(m, outputs) + channels*outputs*len(l.taps)
		if s.direct(channels) {
			n += l.slideRoom(channels, outputs, len(l.taps))
		}
		if m > 1 || !l.whole(s) {
			n += m * channels * volume(l.count)
		}
		most = max(most, n)
	}
	return most * s.parts()
}

// dataTogether is together for the gradient of images.
func (s *Shape) dataTogether() int {
	var out [3]int
	for d := range out {
		out[d] = ceil(s.In[d], s.Stride[d])
	}
	channels, _ := s.own()
	return s.together(out, channels)
}

// Data stores in dx [n, c, ..] the gradient of the images, for the gradient dy
// [n, o, ..] of the result and weight [o, c / groups, ..]. It panics if one of them,
// or the room, is too short.
func Data[T dtype.Float](w *crew.Workers, s Shape, dx, dy, weight, room []T) {
	if s.empty() {
		clear(dx)
		return
	}
	met, others := s.lattices()
	if others {
		clear(dx)
	}
	for _, l := range met {
		l.places = l.grid(l.count, [3]int{1, 1, 1})
		_, outputs := s.own()
		settle[T](l.view, outputs)
		eachPart(w, &s, room, func(w *crew.Workers, lo, hi int, room []T) {
			for g := lo; g < hi; g++ {
				latticeData(w, &s, l, g, dx, dy, weight, room)
			}
		})
	}
}

// latticeData is Data of the elements of l in group g.
func latticeData[T dtype.Float](w *crew.Workers, s *Shape, l *lattice, g int, dx, dy, weight, room []T) {
	m := s.dataTogether()
	channels, outputs := s.own()
	inner, places := outputs*len(l.taps), volume(l.count)
	frames := room[:l.room(m, outputs)]
	turned := room[len(frames):][:channels*inner]
	sums := room[len(frames)+len(turned):]
	a := gemm.Operand[T]{Data: turned, Grid: gemm.Grid{Row: inner, Col: 1}}
	if s.taps() == 1 && !s.direct(channels) { // the weight lies as well the other way
		a = gemm.Operand[T]{Data: weight, Grid: gemm.Grid{Offset: g * outputs * channels, Row: 1, Col: channels}}
	} else {
		from := weight[g*outputs*channels*s.taps():]
		w.Split(channels, max(turnedTogether, leastMoved/inner), func(lo, hi int) {
			turnWeight(turned, from, outputs, channels, s.taps(), l.taps, lo, hi)
		})
	}
	for first := 0; first < s.Images; first += m {
		images := min(m, s.Images-first)
		data, offset, apart := seen(w, l.view, frames, dy, first, images, g*outputs, outputs, s.Outputs)
		to := dx[(first*s.Channels+g*channels)*s.pixels():]
		c, room, scattered := to, sums, images > 1 || !l.whole(s)
		if scattered {
			c, room = sums, sums[channels*images*places:]
		}
		c = c[:channels*images*places]
		if s.direct(channels) {
			slide(w, l.view, c, turned, 0, data, offset, channels, outputs, room)
		} else {
			gemm.Multiply(w, gemm.Product[T]{M: channels, N: images * places, K: inner, Count: 1, C: c,
				A: a, B: windows(l.view, data, offset, apart, images, outputs, false)})
		}
		if !scattered {
			continue
		}
		splitRows(w, channels, images*places, func(k int) {
			for i := range images {
				scatter(s, l, to[(i*s.Channels+k)*s.pixels():][:s.pixels()], c[(k*images+i)*places:][:places])
			}
		})
	}
}

// turnedTogether is how many channels are turned at a time, so that rows of both are in a near
// cache.
const turnedTogether = 16

// turnWeight stores some taps of channels [lo, hi) of src [outputs, channels, all] in dst
// [channels, outputs, taps].
func turnWeight[T dtype.Float](dst, src []T, outputs, channels, all int, taps []int, lo, hi int) {
	for begin := lo; begin < hi; begin += turnedTogether {
		end := min(begin+turnedTogether, hi)
		for o := range outputs {
			for c := begin; c < end; c++ {
				to, from := dst[(c*outputs+o)*len(taps):][:len(taps)], src[(o*channels+c)*all:][:all]
				if len(to) == all {
					copy(to, from)
					continue
				}
				for i, t := range taps {
					to[i] = from[t]
				}
			}
		}
	}
}

// scatter stores the elements of l in an image.
func scatter[T dtype.Float](s *Shape, l *lattice, image, elements []T) {
	if l.whole(s) {
		copy(image, elements)
		return
	}
	rows, width := l.count[1], l.count[2]
	for i := range l.count[0] {
		y, x := l.begin[0]+i*s.Stride[0], l.begin[1]
		to := image[(y*s.In[1]+x)*s.In[2]+l.begin[2]:]
		gemm.CopyToApart(to, s.Stride[1]*s.In[2], s.Stride[2], elements[i*rows*width:], width, width, rows)
	}
}
