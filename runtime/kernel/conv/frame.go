package conv

import (
	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel/crew"
	"tpsh/runtime/kernel/gemm"
)

// A frame is a part of an image, or an image with zeros around, as windows are read
// from it: in each channel, elements first to first+size of the image. Along the
// last dim, elements that are apart apart lie side by side.
type frame struct {
	image       [3]int // sizes
	first, size [3]int
	apart       int
	inPlace     bool      // the image itself is such
	unseen      [3][]bool // elements, of the last dim among apart, that no window sees; or nil
}

// newFrame returns the frame of an image that has elements first to last.
func newFrame(image, first, last [3]int, apart int) frame {
	f := frame{image: image, first: first, apart: apart, inPlace: apart == 1}
	for d := range first {
		f.size[d] = last[d] + 1 - first[d]
		f.inPlace = f.inPlace && first[d] == 0 && last[d] < image[d]
	}
	if f.inPlace {
		f.size = image
	}
	f.size[2] = ceil(f.size[2], apart) * apart
	return f
}

// step returns the number of elements from a channel to the next. In a copy it is
// an odd number of lines of a cache, lest channels fall into the same sets of one.
func (f *frame) step() int {
	n := volume(f.size)
	if f.inPlace {
		return n
	}
	const line = 16
	return (ceil(n, line) | 1) * line
}

// at returns where element i of the frame is in a channel. It is a sum over dims,
// and over two indices along one of which either is a multiple of apart.
func (f *frame) at(i [3]int) int {
	return (i[0]*f.size[1]+i[1])*f.size[2] + i[2]%f.apart*(f.size[2]/f.apart) + i[2]/f.apart
}

// grid returns where so many elements of the frame are that are by apart, from its
// first on.
func (f *frame) grid(count, by [3]int) []int {
	all := make([]int, 0, volume(count))
	for i := range count[0] {
		for j := range count[1] {
			row := f.at([3]int{i * by[0], j * by[1], 0})
			if by[2] == f.apart { // side by side
				for k := range count[2] {
					all = append(all, row+k)
				}
				continue
			}
			for k := range count[2] {
				all = append(all, row+f.at([3]int{0, 0, k * by[2]}))
			}
		}
	}
	return all
}

// room returns the room for frames of images, none if they are in place.
func (f *frame) room(images, channels int) int {
	if f.inPlace {
		return 0
	}
	return images * channels * f.step()
}

// skips reports whether element i along dim d need not be filled.
func (f *frame) skips(d, i int) bool { return f.unseen[d] != nil && f.unseen[d][i] }

// A stretch is rows of a channel of a frame, equally far apart, and those of the image that they
// are filled from, as far apart; from is -1 of rows that lie beside the image.
type stretch struct{ to, from, rows, apart int }

// goesOn reports whether row to, filled from row from, is the next one of s, and makes it that.
func (s *stretch) goesOn(to, from int) bool {
	apart := to - s.to - (s.rows-1)*s.apart
	beside := s.from < 0 && from < 0
	if s.rows > 1 && apart != s.apart || !beside && (s.from < 0 || from-s.from != to-s.to) {
		return false
	}
	s.rows, s.apart = s.rows+1, apart
	return true
}

// stretches returns the rows of f that are filled.
func (f *frame) stretches() []stretch {
	all := []stretch{} // not nil, which is of a view that was not asked
	for i := range f.size[0] {
		for j := range f.size[1] {
			if f.skips(0, i) || f.skips(1, j) {
				continue
			}
			to, from := i*f.size[1]+j, -1
			if y, x := f.first[0]+i, f.first[1]+j; y >= 0 && y < f.image[0] && x >= 0 && x < f.image[1] {
				from = y*f.image[1] + x
			}
			if last := len(all) - 1; last < 0 || !all[last].goesOn(to, from) {
				all = append(all, stretch{to: to, from: from, rows: 1})
			}
		}
	}
	return all
}

// fill copies the channels of an image, of which src holds that many, into dst, but
// for what no window sees.
func fill[T dtype.Float](w *crew.Workers, v *view, dst, src []T, channels int) {
	step, pixels, all := v.step(), volume(v.image), v.inStretches()
	splitRows(w, channels, step, func(c int) {
		to, from := dst[c*step:][:volume(v.size)], src[c*pixels:][:pixels]
		for _, s := range all {
			fillStretch(&v.frame, s, to, from)
		}
	})
}

// fillStretch fills the rows of s from those of an image.
func fillStretch[T dtype.Float](f *frame, s stretch, to, from []T) {
	width := f.size[2]
	to = to[s.to*width:][:((s.rows-1)*s.apart+1)*width]
	if s.from < 0 {
		clearRows(to, s.rows, s.apart*width, width)
		return
	}
	each := width / f.apart
	for part := range f.apart {
		if f.skips(2, part) {
			continue
		}
		p, head, n := f.first[2]+part, 0, 0 // a row of the image is read at p and on
		if p < 0 {
			head = min(ceil(-p, f.apart), each)
		}
		if p += head * f.apart; p < f.image[2] {
			n = min(ceil(f.image[2]-p, f.apart), each-head)
		}
		row := to[part*each:]
		clearRows(row, s.rows, s.apart*width, head)
		if n > 0 {
			gemm.CopyFromApart(row[head:], s.apart*width, from[s.from*f.image[2]+p:], s.apart*f.image[2], f.apart, n, s.rows)
		}
		clearRows(row[head+n:], s.rows, s.apart*width, each-head-n)
	}
}

// clearRows sets the first n elements of rows to 0, which are apart apart.
func clearRows[T dtype.Float](to []T, rows, apart, n int) {
	switch n {
	case 0:
		return
	case apart: // one piece
		rows, n = 1, rows*n
	}
	for i := range rows {
		row := to[i*apart:]
		if n == 1 { // often, and a call takes longer
			row[0] = 0
			continue
		}
		clear(row[:n])
	}
}

// A view is the windows of some images: places that windows are at, in a frame, and
// the elements of a window.
type view struct {
	frame
	taps, places []int     // see gemm.Windows
	row          int       // what inRow returns, once it was asked for
	rows         []stretch // what inStretches returns, likewise
	kernel       any       // what sliderOf returns, likewise
}

// inStretches returns the stretches of the frame of v.
func (v *view) inStretches() []stretch {
	if v.rows == nil && !v.inPlace {
		v.rows = v.stretches()
	}
	return v.rows
}

// seen returns the data in which v sees some channels of images, from the first
// ones on, of x, which has all; where they begin and how far apart those of images
// are. If need be it fills frames.
func seen[T dtype.Float](w *crew.Workers, v *view, frames, x []T, first, images, channel, channels, all int) (data []T, offset, apart int) {
	pixels := volume(v.image)
	if v.inPlace {
		return x, (first*all + channel) * pixels, all * pixels
	}
	size := channels * v.step()
	for i := range images {
		fill(w, v, frames[i*size:], x[((first+i)*all+channel)*pixels:], channels)
	}
	return frames, 0, size
}

// windows returns what v sees of channels of images, in data as seen returns it.
func windows[T dtype.Float](v *view, data []T, offset, apart, images, channels int, byPlace bool) gemm.Operand[T] {
	step := v.step()
	if images == 1 && len(v.taps) == 1 && v.extent() == len(v.places) {
		g := gemm.Grid{Offset: offset + v.taps[0], Row: step, Col: 1}
		if byPlace {
			g.Row, g.Col = 1, step
		}
		return gemm.Operand[T]{Data: data, Grid: g}
	}
	places := v.places
	if images > 1 {
		places = make([]int, 0, images*len(v.places))
		for i := range images {
			for _, p := range v.places {
				places = append(places, i*apart+p)
			}
		}
	}
	w := &gemm.Windows{Step: step, Channels: channels, Taps: v.taps, Places: places, ByPlace: byPlace}
	return gemm.Operand[T]{Data: data, Grid: gemm.Grid{Offset: offset}, Windows: w}
}
