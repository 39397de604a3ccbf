package conv

import (
	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel/crew"
	"tpsh/runtime/kernel/gemm"
)

// forwardFrame returns the part of an image that the windows of s see.
func (s *Shape) forwardFrame() frame {
	var first, last [3]int
	for d := range first {
		first[d] = -s.Before[d]
		last[d] = first[d] + (s.Out[d]-1)*s.Stride[d] + (s.Size[d]-1)*s.Dilation[d]
	}
	return newFrame(s.In, first, last, s.Stride[2])
}

// unseen returns which of n elements along dim d of a frame no window sees, nil if
// windows lie side by side; along the last dim, of those that are less than a stride
// from the first.
func (s *Shape) unseen(d, n int) []bool {
	stride := s.Stride[d]
	if stride == 1 {
		return nil
	}
	all := make([]bool, n)
	for i := range all {
		all[i] = true
	}
	for t := range s.Size[d] {
		first := t * s.Dilation[d]
		if d == 2 {
			all[first%stride] = false
			continue
		}
		for p := range s.Out[d] {
			all[p*stride+first] = false
		}
	}
	return all
}

// forwardView returns what the windows of s see of its images.
func (s *Shape) forwardView() *view {
	v := &view{frame: s.forwardFrame()}
	for d := range v.unseen {
		v.unseen[d] = s.unseen(d, v.size[d])
	}
	v.taps = v.grid(s.Size, s.Dilation)
	v.places = v.grid(s.Out, s.Stride)
	return v
}

// ForwardRoom returns how many elements of room Forward needs.
func (s *Shape) ForwardRoom() int {
	if s.empty() {
		return 0
	}
	channels, outputs := s.own()
	f, m := s.forwardFrame(), s.together(s.Out, outputs)
	n := f.room(m, channels)
	switch {
	case s.direct(outputs):
		n += f.slideRoom(outputs, channels, s.taps())
	case m > 1:
		n += m * outputs * s.places()
	}
	return n * s.parts()
}

// Forward stores in y [n, o, ..] the convolution of x [n, c, ..] with weight
// [o, c / groups, ..]. It panics if one of them, or the room, is too short.
func Forward[T dtype.Float](w *crew.Workers, s Shape, y, x, weight, room []T) {
	if s.empty() {
		clear(y)
		return
	}
	channels, outputs := s.own()
	v, m := s.forwardView(), s.together(s.Out, outputs)
	settle[T](v, channels)
	eachPart(w, &s, room, func(w *crew.Workers, lo, hi int, room []T) {
		frames := room[:v.room(m, channels)]
		sums := room[len(frames):]
		for first := 0; first < s.Images; first += m {
			for g := lo; g < hi; g++ {
				forwardGroup(w, &s, v, g, first, min(m, s.Images-first), y, x, weight, frames, sums)
			}
		}
	})
}

// forwardGroup is Forward of group g of some images, from the first on.
func forwardGroup[T dtype.Float](w *crew.Workers, s *Shape, v *view, g, first, images int, y, x, weight, frames, sums []T) {
	channels, outputs := s.own()
	inner, places := channels*s.taps(), s.places()
	data, offset, apart := seen(w, v, frames, x, first, images, g*channels, channels, s.Channels)
	at := (first*s.Outputs + g*outputs) * places
	if s.direct(outputs) {
		slide(w, v, y[at:], weight, g*outputs*inner, data, offset, outputs, channels, sums)
		return
	}
	p := gemm.Product[T]{M: outputs, N: images * places, K: inner, Count: 1,
		A: gemm.Operand[T]{Data: weight, Grid: gemm.Grid{Offset: g * outputs * inner, Row: inner, Col: 1}},
		B: windows(v, data, offset, apart, images, channels, false)}
	if images == 1 {
		p.C = y[at:][:outputs*places]
		gemm.Multiply(w, p)
		return
	}
	p.C = sums[:outputs*images*places]
	gemm.Multiply(w, p)
	splitRows(w, outputs, images*places, func(o int) {
		for i := range images {
			copy(y[at+(i*s.Outputs+o)*places:][:places], p.C[(o*images+i)*places:])
		}
	})
}
