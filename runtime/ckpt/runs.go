package ckpt

import "tpsh/mesh"

// Whole returns the box of all elements of a tensor of a shape.
func Whole(shape []int) mesh.Box { return mesh.Box{Lo: make([]int, len(shape)), Hi: shape} }

// width returns the size of dim d of b.
func width(b mesh.Box, d int) int { return b.Hi[d] - b.Lo[d] }

// Walk calls f for the elements of c, which a and b hold, in row-major order: for
// every run of n elements that lie together in both, with its places among the
// elements of a and of b. It returns the first error of f.
func Walk(a, b, c mesh.Box, f func(atA, atB, n int) error) error {
	w := &walker{a: a, b: b, c: c, f: f, n: 1, end: len(c.Lo)}
	for w.end > 0 {
		w.end--
		d := w.end
		w.n *= width(c, d)
		if width(a, d) != width(c, d) || width(b, d) != width(c, d) {
			break
		}
	}
	if w.n == 0 {
		return nil
	}
	return w.dim(0, 0, 0)
}

// A walker is a call of Walk. The dims from end on make a run of n elements.
type walker struct {
	a, b, c mesh.Box
	f       func(atA, atB, n int) error
	end, n  int
}

// dim walks dim d and those inside it. at is the place, in the dims outside it,
// of what is walked.
func (w *walker) dim(d, atA, atB int) error {
	if d == len(w.c.Lo) {
		return w.f(atA, atB, w.n)
	}
	atA, atB = atA*width(w.a, d)-w.a.Lo[d], atB*width(w.b, d)-w.b.Lo[d]
	hi := w.c.Hi[d]
	if d >= w.end {
		hi = min(hi, w.c.Lo[d]+1) // the run holds the others
	}
	for i := w.c.Lo[d]; i < hi; i++ {
		if err := w.dim(d+1, atA+i, atB+i); err != nil {
			return err
		}
	}
	return nil
}

// Slabs calls f for parts of box of at most most elements, which are 1 or more.
// Each part is a range of the elements in row-major order, and they come in that
// order. It returns the first error of f.
func Slabs(box mesh.Box, most int, f func(mesh.Box) error) error {
	n := box.Numel()
	if n == 0 {
		return nil
	}
	if n <= most {
		return f(box)
	}
	d := 0
	for width(box, d) == 1 {
		d++
	}
	inner := n / width(box, d)
	rows := max(1, most/inner)
	for lo := box.Lo[d]; lo < box.Hi[d]; lo += rows {
		part := mesh.Box{Lo: append([]int(nil), box.Lo...), Hi: append([]int(nil), box.Hi...)}
		part.Lo[d], part.Hi[d] = lo, min(lo+rows, box.Hi[d])
		if err := Slabs(part, most, f); err != nil {
			return err
		}
	}
	return nil
}

// Place returns the place of the first element of box in a tensor of a shape.
func Place(shape []int, box mesh.Box) int {
	at := 0
	for d, n := range shape {
		at = at*n + box.Lo[d]
	}
	return at
}
