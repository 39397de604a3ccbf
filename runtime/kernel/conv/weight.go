package conv

import (
	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel/crew"
	"tpsh/runtime/kernel/gemm"
)

// WeightRoom returns how many elements of room Weight needs.
func (s *Shape) WeightRoom() int {
	if s.empty() {
		return 0
	}
	f, m := s.forwardFrame(), together(s.Images, s.places())
	if s.alone() {
		return (f.room(1, 1) + s.turnedRoom(&f)) * s.parts()
	}
	channels, outputs := s.own()
	n := f.room(m, channels) + outputs*channels*s.taps()
	if m > 1 {
		n += m * outputs * s.places()
	}
	return n
}

// Weight stores in dw [o, c / groups, ..] the gradient of the weight, for x
// [n, c, ..] and the gradient dy [n, o, ..] of the result. It panics if one of them,
// or the room, is too short.
func Weight[T dtype.Float](w *crew.Workers, s Shape, dw, x, dy, room []T) {
	if s.empty() {
		clear(dw)
		return
	}
	if s.alone() {
		weightAlone(w, &s, dw, x, dy, room)
		return
	}
	v, m := s.forwardView(), together(s.Images, s.places())
	channels, outputs := s.own()
	inner, places := channels*s.taps(), s.places()
	frames := room[:v.room(m, channels)]
	room = room[len(frames):]
	sums, rows := room[:outputs*inner], room[outputs*inner:]
	alike := channels == 1 || s.taps() == 1 // whichever of the two comes first
	inOrder := alike || m*places <= outputs
	for g := range s.Groups {
		to := dw[g*outputs*inner:][:outputs*inner]
		if inOrder {
			sums = to
		}
		for first := 0; first < s.Images; first += m {
			images := min(m, s.Images-first)
			at := (first*s.Outputs + g*outputs) * places
			a := gemm.Operand[T]{Data: dy, Grid: gemm.Grid{Offset: at, Row: places, Col: 1}}
			if images > 1 {
				splitRows(w, outputs, images*places, func(o int) {
					for i := range images {
						copy(rows[(o*images+i)*places:][:places], dy[at+(i*s.Outputs+o)*places:])
					}
				})
				a = gemm.Operand[T]{Data: rows, Grid: gemm.Grid{Row: images * places, Col: 1}}
			}
			data, offset, apart := seen(w, v, frames, x, first, images, g*channels, channels, s.Channels)
			b := windows(v, data, offset, apart, images, channels, true)
			if inOrder && !alike {
				b.Windows = inChannels(b.Windows)
			}
			gemm.Multiply(w, gemm.Product[T]{M: outputs, N: inner, K: images * places, Count: 1, C: sums, Add: first > 0, A: a, B: b})
		}
		if !inOrder {
			splitRows(w, outputs, inner, func(o int) {
				turnTaps(to[o*inner:][:inner], sums[o*inner:], channels, s.taps())
			})
		}
	}
}

// inChannels returns the windows w, of which the elements are channel by channel: as those of
// one channel that has all. To pack these takes longer, so it is for results of more rows than
// there are places, which would take as long to turn.
func inChannels(w *gemm.Windows) *gemm.Windows {
	all := make([]int, 0, w.Channels*len(w.Taps))
	for c := range w.Channels {
		for _, tap := range w.Taps {
			all = append(all, c*w.Step+tap)
		}
	}
	return &gemm.Windows{Channels: 1, Taps: all, Places: w.Places, ByPlace: w.ByPlace}
}

// turnTaps stores src [taps, channels] in dst [channels, taps].
func turnTaps[T dtype.Float](dst, src []T, channels, taps int) {
	for t := range taps {
		p := t
		for _, x := range src[t*channels:][:channels] {
			dst[p] = x
			p += taps
		}
	}
}
