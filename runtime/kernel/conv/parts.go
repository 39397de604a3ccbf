package conv

import (
	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel/crew"
)

// mostParts is how many parts of the groups have room of their own; worthHelp is how many products
// are worth a second goroutine.
const mostParts, worthHelp = 16, 1 << 20

// parts returns in how many parts groups may be computed side by side.
func (s *Shape) parts() int { return min(s.Groups, mostParts) }

// eachPart calls f for parts of the groups, [lo, hi), with room that no other part uses meanwhile:
// side by side, and then without help, if there are many groups.
func eachPart[T dtype.Float](w *crew.Workers, s *Shape, room []T, f func(w *crew.Workers, lo, hi int, room []T)) {
	channels, _ := s.own()
	c := w.Hire(min(s.parts()/2, 1+s.Images*s.Outputs*s.places()*channels*s.taps()/worthHelp))
	defer c.Dismiss()
	if c.Size() == 1 {
		f(w, 0, s.Groups, room)
		return
	}
	parts := s.parts()
	own := len(room) / parts
	c.Do(parts, func(i int) {
		f(nil, i*s.Groups/parts, (i+1)*s.Groups/parts, room[i*own:][:own])
	})
}

// leastMoved is how many elements to copy are worth a second goroutine.
const leastMoved = 64 << 10

// splitRows calls f for each of some rows of so many elements, side by side if that is worth it.
func splitRows(w *crew.Workers, rows, elements int, f func(row int)) {
	w.Split(rows, ceil(leastMoved, max(elements, 1)), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			f(i)
		}
	})
}
