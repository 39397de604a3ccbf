package ckpt

import (
	"cmp"
	"slices"

	"tpsh/mesh"
)

// Tiles reports whether boxes, which are not empty and lie within a tensor of a
// shape, hold every element of it once.
//
// It cuts the tensor along each dim where a box begins or ends; boxes of layouts
// are cut few times by the edges of others. Boxes that are cut very often are
// refused, so that nobody waits for an index made to take long.
func Tiles(shape []int, boxes []mesh.Box) bool {
	if slices.Contains(shape, 0) {
		return len(boxes) == 0
	}
	t := &tiling{shape: shape, budget: 1<<16 + 64*len(boxes)*(len(shape)+1)}
	return t.dim(0, boxes)
}

type tiling struct {
	shape  []int
	budget int // how many more boxes may be looked at
}

// dim reports whether boxes tile the dims from d on.
func (t *tiling) dim(d int, boxes []mesh.Box) bool {
	t.budget -= len(boxes)
	if t.budget < 0 {
		return false
	}
	if d == len(t.shape) {
		return len(boxes) == 1
	}
	boxes = slices.Clone(boxes)
	slices.SortStableFunc(boxes, func(a, b mesh.Box) int { return cmp.Compare(a.Lo[d], b.Lo[d]) })
	var active []mesh.Box
	at := 0
	for at < t.shape[d] {
		active = slices.DeleteFunc(active, func(b mesh.Box) bool { return b.Hi[d] <= at })
		for len(boxes) > 0 && boxes[0].Lo[d] <= at {
			active, boxes = append(active, boxes[0]), boxes[1:]
		}
		if !t.dim(d+1, active) {
			return false
		}
		at = t.next(d, active, boxes)
	}
	return true
}

// next returns where the first of active ends or the first of boxes begins.
func (t *tiling) next(d int, active, boxes []mesh.Box) int {
	at := t.shape[d]
	for _, b := range active {
		at = min(at, b.Hi[d])
	}
	if len(boxes) > 0 {
		at = min(at, boxes[0].Lo[d])
	}
	return at
}
