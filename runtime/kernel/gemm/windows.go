package gemm

import (
	"fmt"
	"slices"
)

// Windows are what a window sees of several channels in many places: a matrix of
// which nothing is stored but the channels. Its element [l, j] is the element
// l % len(Taps) of the window, in channel l / len(Taps), in place j; it lies at
//
//	Offset + l/len(Taps)*Step + Taps[l%len(Taps)] + Places[j]
//
// None of Step, Taps and Places is negative. Places that follow one another by 1
// are read together, the more the faster.
type Windows struct {
	Step, Channels int
	Taps, Places   []int

	// ByPlace says that the matrix is the transpose of that, with the elements of
	// the window in front of the channels: its element [j, i] is element
	// i / Channels of the window, in channel i % Channels, in place j.
	ByPlace bool
}

// size returns the rows and columns of the matrix.
func (w *Windows) size() (rows, cols int) {
	rows, cols = len(w.Taps)*w.Channels, len(w.Places)
	if w.ByPlace {
		return cols, rows
	}
	return rows, cols
}

// check panics unless the elements of w, which has rows by cols, are among n
// from offset on.
func (w *Windows) check(rows, cols, offset, n int) {
	r, c := w.size()
	if rows != r || cols != c {
		panic(fmt.Sprintf("gemm: windows of %d by %d in a matrix of %d by %d", r, c, rows, cols))
	}
	first := offset + slices.Min(w.Taps) + slices.Min(w.Places)
	last := offset + (w.Channels-1)*w.Step + slices.Max(w.Taps) + slices.Max(w.Places)
	if first < offset || w.Step < 0 || last >= n {
		panic(fmt.Sprintf("gemm: windows at %d to %d in %d elements", first, last, n))
	}
}

// run returns how many places from j on, of those before end, follow one another
// by 1.
func (w *Windows) run(j, end int) int {
	n := 1
	for j+n < end && w.Places[j+n] == w.Places[j]+n {
		n++
	}
	return n
}

// packWindows is packPanel of columns [j, j+n) and rows [l, l+inner) of s.b, which
// has windows: it stores them in to, rows width elements apart.
func (s *shape[T]) packWindows(ws *workspace[T], to []T, width, l, inner, j, n int) {
	w := s.b.Windows
	if w.ByPlace {
		s.packPlaces(ws, to, width, l, inner, j, n)
		return
	}
	taps := len(w.Taps)
	for at := 0; at < n; {
		run := w.run(j+at, j+n)
		for t, tap := range w.Taps {
			row := (t - l%taps + taps) % taps // the first that is of this tap
			if row >= inner {
				continue
			}
			from := s.b.Offset + (l+row)/taps*w.Step + tap + w.Places[j+at]
			s.copyRows(&to[row*width+at], taps*width, &s.b.Data[from], w.Step, run, ceil(inner-row, taps))
		}
		at += run
	}
}

// packPlaces is packWindows of rows that are places, a vector of columns at a time:
// those of one element of the window are turned from where they lie, others from
// copies.
func (s *shape[T]) packPlaces(ws *workspace[T], to []T, width, l, inner, j, n int) {
	w := s.b.Windows
	runs := w.runs(l, inner)
	for i := 0; i < n; i += s.lanes {
		cols := min(s.lanes, n-i)
		if tap := (j + i) / w.Channels; (j+i+cols-1)/w.Channels == tap && cols == s.lanes {
			first := s.b.Offset + w.column(j+i)
			for _, r := range runs {
				s.transpose(&to[r.at*width+i], width, &s.b.Data[first+r.place], w.Step, cols, r.n)
			}
			continue
		}
		rows := enough(&ws.wide, cols*inner)
		for c := range cols {
			from, row := s.b.Data[s.b.Offset+w.column(j+i+c):], rows[c*inner:][:inner]
			for _, r := range runs {
				copy(row[r.at:r.at+r.n], from[r.place:])
			}
		}
		s.transpose(&to[i], width, &rows[0], inner, cols, inner)
	}
}

// A run is places that follow one another by 1: n, from the at-th on.
type run struct{ at, place, n int }

// runs returns the runs of so many places from l on.
func (w *Windows) runs(l, places int) []run {
	all := make([]run, 0, 16)
	for at := 0; at < places; {
		r := run{at, w.Places[l+at], w.run(l+at, l+places)}
		all, at = append(all, r), at+r.n
	}
	return all
}

// column returns where column i is, of rows that are places.
func (w *Windows) column(i int) int { return w.Taps[i/w.Channels] + i%w.Channels*w.Step }
