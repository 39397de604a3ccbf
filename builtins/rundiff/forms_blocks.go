package rundiff

import (
	"fmt"
	"slices"

	"tpsh/mesh"
)

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
			t := (&array{split, w.data}).permuted(changed(len(split), a, a+1))
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
				if !slices.Equal(t.shape, c.shape) {
					if !slices.Equal(w.shape, c.shape) {
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
		lo, hi := cutRange(mesh.Shard(a), 0, w.shape[a], n, i, false)
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
			if used[k] || !slices.Equal(x[k].shape, q.c[i].shape) {
				continue
			}
			e := 0.0
			if len(x[k].data) > 0 {
				e = apart(q.c[i:i+1], x[k:k+1])
			}
			if e <= q.near && (at < 0 || k == i) {
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
	q.transposedCut()
	q.unevenOrder()
	q.ranksNotThere()
	q.found = append(q.found, finding{kind: WrongDim, weak: true, rest: q.near, says: fmt.Sprintf("the ranks have blocks %s of %v, which no cut of it gives", shapes(q.c), q.w.shape)})
}

// transposedCut finds blocks that are parts of the whole with two dims changed: weights as
// another layer keeps them.
func (q *probe) transposedCut() {
	for a := range q.w.shape {
		for b := a + 1; b < len(q.w.shape); b++ {
			t := q.w.permuted(changed(len(q.w.shape), a, b))
			for _, l := range q.d.likely(q.p, t.shape, blockShapes(q.c), q.ranks) {
				joined := &array{t.shape, make([]float64, len(t.data))}
				for i, c := range inOrderOf(l, q.ranks, q.c) {
					joined.put(l.box(t.shape, i), c)
				}
				q.formed(finding{kind: Transposed, rest: apart([]*array{joined}, []*array{t}), says: fmt.Sprintf("dims %d and %d have changed places in the ranks' blocks", a, b)}, 1)
			}
		}
	}
}

// ranksNotThere finds blocks to be those of a cut between more ranks: files of some are not
// there.
func (q *probe) ranksNotThere() {
	for d, size := range q.w.shape {
		block := 0
		for _, c := range q.c {
			if len(c.shape) == len(q.w.shape) {
				block = max(block, c.shape[d])
			}
		}
		if block == 0 {
			continue
		}
		n := (size + block - 1) / block
		if n <= slices.Max(q.ranks) {
			continue
		}
		l := &layout{[]int{n}, identity(n), []mesh.Placement{mesh.Shard(d)}, false}
		x := make([]*array, len(q.ranks))
		for i, r := range q.ranks {
			x[i] = q.w.slice(l.box(q.w.shape, r))
		}
		gone := slices.DeleteFunc(identity(n), func(r int) bool { return slices.Contains(q.ranks, r) })
		q.add(finding{kind: MissingPart, ranks: gone, rest: apart(q.c, x), says: fmt.Sprintf("the ranks have their blocks of a cut of dim %d between %d, and ranks %v are not there", d, n, gone)})
	}
}

// identity returns 0 to n-1.
func identity(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// changed returns the order of n dims in which two have changed places.
func changed(n, a, b int) []int {
	order := identity(n)
	order[a], order[b] = b, a
	return order
}

// unevenOrder finds blocks of an uneven cut that other ranks should have: their shapes are
// not those of their places.
func (q *probe) unevenOrder() {
	for d := range q.w.shape {
		for _, even := range []bool{false, true} {
			l := &layout{[]int{len(q.ranks)}, q.ranks, []mesh.Placement{mesh.Shard(d)}, even}
			x := make([]*array, len(q.ranks))
			for i := range x {
				x[i] = q.w.slice(l.box(q.w.shape, i))
			}
			q.otherRanks(x, l)
		}
	}
}
