package rundiff

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"tpsh/mesh"
)

// forms makes the checks that compare the whole with the whole: elements that are all there,
// in another order. n is the number of blocks that ranks hold.
func (q *probe) forms(w, c *array, l *layout, n int) {
	var ranks []int
	if l != nil {
		ranks = q.which()
	}
	q.transposed(w, c, ranks)
	if len(w.data) != len(c.data) {
		return
	}
	if slices.Equal(w.shape, c.shape) {
		q.permutedAlong(w, c, ranks)
		if len(w.shape) > 1 && w.shape[len(w.shape)-1]*2 < len(w.data) {
			// Without what every row has: a bias that was added in the right order.
			q.permutedAlong(w.plus(-1, columnMeans(w)), c.plus(-1, columnMeans(c)), ranks)
		}
		q.transposedRegion(w, c, ranks)
		q.swappedBlocks(w, c, ranks, n)
	}
	q.joinedAlong(w, c, n)
}

// transposed finds two dims that change places, with or without the shape that tells it.
func (q *probe) transposed(w, c *array, ranks []int) {
	for a := range w.shape {
		for b := a + 1; b < len(w.shape); b++ {
			if w.shape[a] == 1 || w.shape[b] == 1 {
				continue
			}
			t := w.permuted(changed(len(w.shape), a, b))
			if len(t.data) != len(c.data) {
				continue
			}
			says := fmt.Sprintf("dims %d and %d have changed places", a, b)
			if !slices.Equal(t.shape, c.shape) {
				if !slices.Equal(w.shape, c.shape) {
					continue
				}
				t, says = &array{c.shape, t.data}, says+", though not in its shape"
			}
			q.formed(finding{kind: Transposed, ranks: ranks, rest: apart([]*array{c}, []*array{t}), says: says}, formBefore(w, c))
		}
	}
}

// formBefore returns how far c is from w as it is; 1 if they have other shapes.
func formBefore(w, c *array) float64 {
	if !slices.Equal(w.shape, c.shape) {
		return 1
	}
	return apart([]*array{c}, []*array{w})
}

// transposedRegion finds a block, of the last two dims, in which rows and columns have changed
// places.
func (q *probe) transposedRegion(w, c *array, ranks []int) {
	k := len(w.shape)
	if k < 2 {
		return
	}
	for _, limit := range []float64{max(q.near/4, 1e-6), 0.35} {
		if box, ok := region(w, c, limit*w.rms()); ok {
			q.transposedBlock(w, c, box, ranks)
		}
	}
}

// transposedBlock is transposedRegion for one block.
func (q *probe) transposedBlock(w, c *array, box mesh.Box, ranks []int) {
	k := len(w.shape)
	s := box.Shape()
	a, b := k-2, k-1
	if s[a] != s[b] || s[a] < 2 {
		// Some rows or columns on the edge of the block may agree by chance, or it is one of
		// several blocks along a dim.
		return
	}
	want := &array{w.shape, slices.Clone(w.data)}
	want.put(box, w.slice(box).permuted(changed(k, a, b)))
	if slices.Equal(box.Shape(), w.shape) {
		return
	}
	q.formed(finding{kind: Transposed, ranks: ranks, rest: apart([]*array{c}, []*array{want}), says: fmt.Sprintf("in the block %v rows and columns have changed places", box)}, formBefore(w, c))
}

// region returns the smallest box that holds all that differs by more than a limit.
func region(w, c *array, limit float64) (mesh.Box, bool) {
	box := mesh.Box{Lo: slices.Clone(w.shape), Hi: make([]int, len(w.shape))}
	at := make([]int, len(w.shape))
	any := false
	for i, v := range w.data {
		if math.Abs(v-c.data[i]) > limit {
			any = true
			for d, n := range at {
				box.Lo[d], box.Hi[d] = min(box.Lo[d], n), max(box.Hi[d], n+1)
			}
		}
		for d := len(at) - 1; d >= 0; d-- {
			if at[d]++; at[d] < w.shape[d] {
				break
			}
			at[d] = 0
		}
	}
	return box, any
}

// permutedAlong finds the slices along one dim in another order.
func (q *probe) permutedAlong(w, c *array, ranks []int) {
	for d, n := range w.shape {
		if n < 2 || n > 1<<16 || len(w.data)/n < 2 {
			continue
		}
		order, ok := matchSlices(w, c, d, max(q.near, form))
		if !ok {
			continue
		}
		rest := 0.0
		x, y := slicesOf(w, d), slicesOf(c, d)
		for i, j := range order {
			rest += sliceApart(y[i], x[j]) / float64(n)
		}
		block := blockOf(order)
		says := fmt.Sprintf("its indices along dim %d are in another order", d)
		if block > 1 {
			says = fmt.Sprintf("its blocks of %d along dim %d are in another order", block, d)
		}
		q.formed(finding{kind: Permuted, ranks: ranks, rest: rest, says: says}, formBefore(w, c))
		return
	}
}

// matchSlices finds for each slice of c along dim d the slice of w that it is: order[i] is that
// of the i-th. It fails unless each is used once, and some are elsewhere.
func matchSlices(w, c *array, d int, near float64) ([]int, bool) {
	n := w.shape[d]
	x, y := slicesOf(w, d), slicesOf(c, d)
	// Two numbers of each slice, by which candidates are found.
	prints := func(list [][]float64) []float64 {
		out := make([]float64, len(list))
		for i, s := range list {
			for k, v := range s {
				out[i] += v * math.Sin(1+1.7*float64(k))
			}
		}
		return out
	}
	px, py := prints(x), prints(y)
	byPrint := identity(n)
	slices.SortFunc(byPrint, func(a, b int) int { return cmp.Compare(px[a], px[b]) })
	used, order, moved := make([]bool, n), make([]int, n), false
	for i := range y {
		at, _ := slices.BinarySearchFunc(byPrint, py[i], func(k int, v float64) int { return cmp.Compare(px[k], v) })
		best, rest := -1, near
		lo, hi := max(0, at-6), min(n, at+6)
		if n <= 512 {
			lo, hi = 0, n // trained elements have other prints
		}
		for k := lo; k < hi; k++ {
			if j := byPrint[k]; !used[j] {
				if e := sliceApart(y[i], x[j]); e < rest || j == i && e <= rest {
					best, rest = j, e
				}
			}
		}
		if !used[i] && sliceApart(y[i], x[i]) <= near/4 {
			best = i
		}
		if best < 0 {
			return nil, false
		}
		used[best], order[i] = true, best
		moved = moved || best != i
	}
	return order, moved
}

// slicesOf returns the elements of each slice along a dim.
func slicesOf(a *array, d int) [][]float64 {
	n, inner := a.shape[d], 1
	for _, s := range a.shape[d+1:] {
		inner *= s
	}
	out := make([][]float64, n)
	for at := 0; at < len(a.data); at += n * inner {
		for i := range out {
			out[i] = append(out[i], a.data[at+i*inner:at+(i+1)*inner]...)
		}
	}
	return out
}

func sliceApart(a, b []float64) float64 {
	e, s := 0.0, 0.0
	for i, v := range b {
		e += (a[i] - v) * (a[i] - v)
		s += v * v
	}
	if s == 0 {
		if e == 0 {
			return 0
		}
		return math.Inf(1)
	}
	return math.Sqrt(e / s)
}
