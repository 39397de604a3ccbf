package rundiff

import (
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
	if sameShape(w.shape, c.shape) {
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
			order := make([]int, len(w.shape))
			for i := range order {
				order[i] = i
			}
			order[a], order[b] = b, a
			t := w.permuted(order)
			if len(t.data) != len(c.data) {
				continue
			}
			says := fmt.Sprintf("dims %d and %d have changed places", a, b)
			if !sameShape(t.shape, c.shape) {
				if !sameShape(w.shape, c.shape) {
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
	if !sameShape(w.shape, c.shape) {
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
	order := make([]int, k)
	for i := range order {
		order[i] = i
	}
	order[a], order[b] = b, a
	want := &array{w.shape, slices.Clone(w.data)}
	want.put(box, w.slice(box).permuted(order))
	if sameShape(box.Shape(), w.shape) {
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
	byPrint := make([]int, n)
	for i := range byPrint {
		byPrint[i] = i
	}
	slices.SortFunc(byPrint, func(a, b int) int {
		switch {
		case px[a] < px[b]:
			return -1
		case px[a] > px[b]:
			return 1
		}
		return 0
	})
	used, order, moved := make([]bool, n), make([]int, n), false
	for i := range y {
		at, _ := slices.BinarySearchFunc(byPrint, py[i], func(k int, v float64) int {
			switch {
			case px[k] < v:
				return -1
			case px[k] > v:
				return 1
			}
			return 0
		})
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

// blockOf returns the size of the blocks that a permutation moves as one.
func blockOf(order []int) int {
	n := len(order)
	for size := n / 2; size > 1; size-- {
		if n%size != 0 {
			continue
		}
		ok := true
		for i, j := range order {
			ok = ok && j%size == i%size && order[i-i%size] == j-j%size
		}
		if ok {
			return size
		}
	}
	return 1
}

// swappedBlocks finds the blocks of ranks, or of a grid of n along two dims, in another order.
func (q *probe) swappedBlocks(w, c *array, ranks []int, n int) {
	if n < 2 || len(w.shape) < 2 {
		return
	}
	for a := range w.shape {
		for b := range w.shape {
			if a == b || w.shape[a]%n != 0 || w.shape[b] < 2 {
				continue
			}
			// Index i of dim a as (i / m, i mod m), in the order of the latter.
			shape := slices.Clone(w.shape)
			m := shape[a] / n
			split := append(append(slices.Clone(shape[:a]), n, m), shape[a+1:]...)
			order := make([]int, len(split))
			for i := range order {
				order[i] = i
			}
			order[a], order[a+1] = a+1, a
			t := (&array{split, w.data}).permuted(order)
			q.formed(finding{kind: Permuted, ranks: ranks, rest: apart([]*array{c}, []*array{{c.shape, t.data}}), says: fmt.Sprintf("dim %d is interleaved by %d", a, n)}, formBefore(w, c))
			break
		}
	}
}

// joinedAlong finds what was cut along one dim and joined along another.
func (q *probe) joinedAlong(w, c *array, n int) {
	sizes := []int{n, q.d.cand.ranks, q.d.ref.ranks}
	for m := range q.sizes(nil) {
		sizes = append(sizes, m)
	}
	for i, n := range sizes {
		if n < 2 || slices.Index(sizes, n) < i {
			continue
		}
		for a := range w.shape {
			for b := range w.shape {
				if a == b || w.shape[a]%n != 0 {
					continue
				}
				t := cutAndJoin(w, a, b, n)
				if len(t.shape) != len(c.shape) || len(t.data) != len(c.data) {
					continue
				}
				if !sameShape(t.shape, c.shape) {
					if !sameShape(w.shape, c.shape) {
						continue
					}
					t = &array{c.shape, t.data}
				}
				q.formed(finding{kind: WrongDim, rest: apart([]*array{c}, []*array{t}), says: fmt.Sprintf("%d blocks that were cut along dim %d are joined along dim %d", n, a, b)}, formBefore(w, c))
			}
		}
	}
}

// cutAndJoin returns w cut in n along dim a, the pieces joined along dim b.
func cutAndJoin(w *array, a, b, n int) *array {
	shape := slices.Clone(w.shape)
	shape[a] /= n
	shape[b] *= n
	out := &array{shape, make([]float64, len(w.data))}
	for i := range n {
		from := mesh.Box{Lo: make([]int, len(w.shape)), Hi: slices.Clone(w.shape)}
		lo, hi := cutRange(0, w.shape[a], n, i, false)
		from.Lo[a], from.Hi[a] = lo, hi
		to := mesh.Box{Lo: make([]int, len(shape)), Hi: slices.Clone(shape)}
		to.Lo[b], to.Hi[b] = i*w.shape[b], (i+1)*w.shape[b]
		out.put(to, w.slice(from))
	}
	return out
}

// wholeBlocks makes the checks of order on each rank's own block, and looks for blocks that
// another cut would give.
func (q *probe) wholeBlocks(x []*array, l *layout) {
	if len(x) < 2 || l == nil {
		return
	}
	q.otherRanks(x, l)
	q.cutOtherwise(x, l)
	var kinds []string
	var says string
	var where []int
	rest := 0.0
	for i := range x {
		if e := apart(q.c[i:i+1], x[i:i+1]); e <= q.near/4 {
			rest = max(rest, e)
			continue
		}
		inner := &probe{d: q.d, p: q.p, near: q.near}
		inner.transposed(x[i], q.c[i], nil)
		inner.permutedAlong(x[i], q.c[i], nil)
		if len(inner.found) == 0 {
			return
		}
		f := inner.best()
		kinds, says, where, rest = append(kinds, f.kind), f.says, append(where, i), max(rest, f.rest)
	}
	if len(kinds) == 0 || slices.ContainsFunc(kinds, func(k string) bool { return k != kinds[0] }) {
		return
	}
	q.add(finding{kind: kinds[0], ranks: q.partOfRanks(where, l), rest: rest, says: "in the ranks' blocks: " + says})
}

// otherRanks finds each rank to have the block of another.
func (q *probe) otherRanks(x []*array, l *layout) {
	if cut(l) < 0 {
		return
	}
	used, moved, rest := make([]bool, len(x)), []int(nil), 0.0
	for i := range x {
		at := -1
		for k := range x {
			if used[k] || !sameShape(x[k].shape, q.c[i].shape) {
				continue
			}
			if e := apart(q.c[i:i+1], x[k:k+1]); e <= q.near && (at < 0 || k == i) {
				at = k
				rest = max(rest, e)
			}
		}
		if at < 0 {
			return
		}
		used[at] = true
		if at != i {
			moved = append(moved, i)
		}
	}
	if len(moved) > 0 {
		q.add(finding{kind: Permuted, ranks: q.ranksAt(moved, l), rest: rest, says: "ranks have each other's blocks"})
	}
}

// cutOtherwise finds the blocks to be those of a cut along another dim.
func (q *probe) cutOtherwise(x []*array, l *layout) {
	for _, o := range q.ls {
		if o == l || o.String() == l.String() {
			continue
		}
		y, alike := make([]*array, len(x)), true
		for i := range y {
			y[i] = q.w.slice(o.box(q.w.shape, i))
			alike = alike && o.box(q.w.shape, i).String() == l.box(q.w.shape, i).String()
		}
		if alike {
			continue
		}
		c := inOrderOf(o, q.ranks, inRankOrder(l, q.c, q.ranks))
		q.add(finding{kind: WrongDim, rest: apart(c, y), says: fmt.Sprintf("the ranks have %v of it, want %v", o, l)})
	}
}

// inRankOrder undoes inOrderOf.
func inRankOrder(l *layout, c []*array, ranks []int) []*array {
	out := make([]*array, len(c))
	for i, r := range l.ranks {
		if k := slices.Index(ranks, r); k >= 0 {
			out[k] = c[i]
		}
	}
	return out
}

// otherCut finds blocks whose shapes are those of no layout that is expected: parts along some
// other dim, or parts that are missing.
func (q *probe) otherCut() {
	q.found = append(q.found, finding{kind: WrongDim, weak: true, rest: q.near, says: fmt.Sprintf("the ranks have blocks %s of %v, which no cut of it gives", shapes(q.c), q.w.shape)})
}
