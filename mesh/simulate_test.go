package mesh

import (
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The simulator carries plans out on symbols.

// A cell is what a rank stores of one element: the indices along the mesh dims
// that are Partial of the term that it is, or the terms that were added, in their
// order: "10", or "sum(00 01)". It is "" for a value.
type cell struct {
	element int
	term    string
}

// content is what each rank of a mesh stores, by position.
type content [][]cell

// distributed returns what ranks store of a tensor that is laid out as l.
func distributed(l *Placed) content {
	c, terms := make(content, l.mesh.Size()), termsOf(l)
	for pos, rank := range l.mesh.ranks {
		for _, e := range elements(l, rank) {
			c[pos] = append(c[pos], cell{e, terms[pos]})
		}
	}
	return c
}

// termsOf names the term that each position holds.
func termsOf(l *Placed) []string {
	terms := make([]string, l.mesh.Size())
	for pos := range terms {
		for i, p := range l.placements {
			if p.kind == partial {
				terms[pos] += strconv.Itoa(l.mesh.index(pos, i))
			}
		}
	}
	return terms
}

// reduced returns the term that each position holds when the dims that are
// Partial in src and not in dst have been reduced: by runs, innermost first, and
// in the order of ranks.
func reduced(src, dst *Placed) []string {
	terms := termsOf(src)
	runs(src, dst, func(run []int, op ReduceOp) {
		next := make([]string, len(terms))
		for pos := range terms {
			var line []string
			for _, p := range src.mesh.line(pos, run) {
				line = append(line, terms[p])
			}
			next[pos] = add(op, line)
		}
		terms = next
	})
	return terms
}

// runs calls f with the runs of dims to reduce between src and dst, innermost
// first.
func runs(src, dst *Placed, f func(run []int, op ReduceOp)) {
	var run []int
	var last Placement
	for i, p := range slices.Backward(src.placements) {
		if p.kind != partial || p == dst.placements[i] {
			continue
		}
		if run != nil && p != last {
			f(run, last.op)
			run = nil
		}
		run, last = append([]int{i}, run...), p
	}
	if run != nil {
		f(run, last.op)
	}
}

func add(op ReduceOp, terms []string) string {
	if len(terms) == 1 {
		return terms[0]
	}
	return op.String() + "(" + strings.Join(terms, " ") + ")"
}

// elements lists what rank stores in l, as row-major indices, in the order
// stored.
func elements(l Layout, rank int) []int {
	boxes := l.Boxes(rank)
	if len(boxes) == 1 {
		return inside(boxes[0], l.Shape())
	}
	var out []int
	for _, b := range boxes {
		out = append(out, inside(b, l.Shape())...)
	}
	return out
}

// inside lists the elements of b, as row-major indices of a tensor of shape, in
// row-major order.
func inside(b Box, shape []int) []int {
	out := []int{0}
	for d, n := range shape {
		next := make([]int, 0, len(out)*max(b.Hi[d]-b.Lo[d], 0))
		for _, e := range out {
			for i := b.Lo[d]; i < b.Hi[d]; i++ {
				next = append(next, e*n+i)
			}
		}
		out = next
	}
	return out
}

// exchanged returns what the ranks of x store after it, if in src they store
// have, and the elements that each receives.
func exchanged(t fataler, x *Exchange, src, dst Layout, have map[int][]cell, op ReduceOp) (out map[int][]cell, received map[int]int) {
	t.Helper()
	out, received = map[int][]cell{}, map[int]int{}
	mail := map[[2]int][]cell{} // by sender and receiver
	for _, rank := range x.ranks {
		for _, s := range x.Sends(rank) {
			pair := [2]int{rank, s.To}
			mail[pair] = append(mail[pair], stored(src, rank, s.SrcBox, s.Box, have[rank])...)
		}
	}
	take := func(p Piece, from, rank int) []cell {
		if from == rank {
			return stored(src, rank, p.SrcBox, p.Box, have[rank])
		}
		pair, n := [2]int{from, rank}, p.Box.Numel()
		if len(mail[pair]) < n {
			t.Fatalf("rank %d awaits %d elements from %d, which sends %v", rank, n, from, mail[pair])
		}
		cells := mail[pair][:n]
		mail[pair] = mail[pair][n:]
		received[rank] += n
		return cells
	}
	for _, rank := range x.ranks {
		got, there := make([]cell, numel(dst.Shape())), make([]bool, numel(dst.Shape())) // by element
		for _, p := range x.Pieces(rank) {
			terms := make([][]cell, len(p.From))
			for k, from := range p.From {
				terms[k] = take(p, from, rank)
			}
			for i, e := range inside(p.Box, dst.Shape()) {
				if there[e] {
					t.Fatalf("rank %d gets element %d twice", rank, e)
				}
				got[e], there[e] = sum(terms, i, op), true
			}
		}
		for _, e := range elements(dst, rank) {
			if !there[e] {
				t.Fatalf("rank %d does not get element %d", rank, e)
			}
			out[rank] = append(out[rank], got[e])
		}
	}
	for pair, rest := range mail {
		if len(rest) > 0 {
			t.Fatalf("rank %d awaits nothing of %v from %d", pair[1], rest, pair[0])
		}
	}
	return out, received
}

// sum adds the i-th cells of terms.
func sum(terms [][]cell, i int, op ReduceOp) cell {
	if len(terms) == 1 {
		return terms[0][i]
	}
	texts := make([]string, len(terms))
	for k := range terms {
		texts[k] = terms[k][i].term
	}
	return cell{terms[0][i].element, add(op, texts)}
}

// stored returns the cells of inner out of those that rank stores in src, in
// whose box number k they are.
func stored(src Layout, rank, k int, inner Box, cells []cell) []cell {
	boxes := src.Boxes(rank)
	cells = cells[total(boxes[:k]):]
	all, wanted, at := inside(boxes[k], src.Shape()), inside(inner, src.Shape()), 0
	out := make([]cell, len(wanted))
	for i, e := range wanted { // both in row-major order
		for all[at] != e {
			at++
		}
		out[i] = cells[at]
	}
	return out
}

// fataler is what *testing.T and *rapid.T have in common.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// checkPlan carries the plan from src to dst out and checks the result, the
// bytes, and that nobody receives too much, unless it takes less time. It returns
// the plan.
func checkPlan(t fataler, src, dst *Placed, itemSize int) *Plan {
	t.Helper()
	plan, err := NewPlan(src, dst, itemSize)
	if err != nil {
		t.Fatalf("%v to %v: %v", src, List(dst.placements), err)
	}
	c, at, received := distributed(src), src, make([]int, src.mesh.Size())
	for i := range plan.Steps {
		step := &plan.Steps[i]
		if step.Src != at {
			t.Fatalf("%v to %v: step %d begins at %v", src, List(dst.placements), i, step.Src)
		}
		if at = step.Dst; step.Op == MakePartial {
			break
		}
		c = checkStep(t, step, c, received, itemSize)
	}
	if !at.Equal(dst) {
		t.Fatalf("%v to %v: the plan ends at %v", src, List(dst.placements), at)
	}
	terms := reduced(src, dst)
	for pos, rank := range src.mesh.ranks {
		if !holds(c[pos], elements(dst, rank), terms[pos]) {
			t.Fatalf("%v to %v: rank %d holds %v, want elements %v of %q\n%v", src, List(dst.placements), rank, c[pos], elements(dst, rank), terms[pos], plan.Steps)
		}
		if bound := mostReceived(src, dst, rank, itemSize); received[pos] > bound && !quickest(plan, src, dst, itemSize) || received[pos] < bound && !src.IsPartial() {
			t.Fatalf("%v to %v: rank %d receives %d bytes, want %d\n%v", src, List(dst.placements), rank, received[pos], bound, plan.Steps)
		}
	}
	if got := slices.Max(received); got != plan.Bytes {
		t.Fatalf("%v to %v: a rank receives %d bytes, and the plan says %d", src, List(dst.placements), got, plan.Bytes)
	}
	return plan
}

// quickest reports whether a plan takes less time than all that move only what ranks
// lack.
func quickest(plan *Plan, src, dst *Placed, itemSize int) bool {
	s := newSearch(src, valueTarget(src, dst, src.with), itemSize, src.with)
	return plan.Seconds < s.run(false, func(*path) {}).seconds
}

// holds reports whether cells are the given elements, each of one term.
func holds(cells []cell, elements []int, term string) bool {
	return slices.EqualFunc(cells, elements, func(c cell, e int) bool { return c == cell{e, term} })
}

// checkStep carries step out on c, checks its figures and adds to received.
func checkStep(t fataler, step *Step, c content, received []int, itemSize int) content {
	t.Helper()
	m := step.Src.mesh
	out, most := make(content, m.Size()), 0
	op, _ := step.Reduces()
	for _, line := range m.Lines(step.Dims...) {
		have := map[int][]cell{}
		for _, rank := range line {
			have[rank] = c[m.positions[rank]]
		}
		x := step.Exchange(line[0])
		got, moved := exchanged(t, x, step.Src, step.Dst, have, op)
		for _, rank := range line {
			pos := m.positions[rank]
			n := checkTraffic(t, step, x, rank, moved[rank], itemSize)
			out[pos], received[pos], most = got[rank], received[pos]+n, max(most, n)
		}
	}
	if most != step.Bytes {
		t.Fatalf("%v: a rank receives %d bytes, and the step says %d", step, most, step.Bytes)
	}
	return out
}

// checkTraffic checks what step and x say of a rank that receives so many
// elements, and returns the bytes that it receives.
func checkTraffic(t fataler, step *Step, x *Exchange, rank, elements, itemSize int) int {
	t.Helper()
	sent, received := step.Traffic(rank, itemSize)
	if _, n := x.Traffic(rank); n != elements {
		t.Fatalf("%v: rank %d receives %d elements, and the exchange says %d", step, rank, elements, n)
	}
	switch {
	case !step.Communicates():
		if elements > 0 || sent > 0 || received > 0 {
			t.Fatalf("%v: rank %d receives %d elements", step, rank, elements)
		}
	case step.Op == AllReduce:
		if sent != received || received > elements*itemSize {
			t.Fatalf("%v: rank %d sends %d and receives %d bytes", step, rank, sent, received)
		}
	case received != elements*itemSize:
		t.Fatalf("%v: rank %d receives %d elements, and the step says %d bytes", step, rank, elements, received)
	}
	return received
}

// mostReceived returns the bytes that rank may receive on the way from src to
// dst: what it lacks, counted one by one, and an all-reduce of what it holds for
// each run of dims to reduce. Without one it is what it must receive.
func mostReceived(src, dst *Placed, rank, itemSize int) int {
	have, bytes := elements(src, rank), 0
	for _, e := range elements(dst, rank) {
		if !slices.Contains(have, e) {
			bytes += itemSize
		}
	}
	runs(src, dst, func(run []int, _ ReduceOp) {
		line := src.mesh.Line(rank, run...)
		bytes += AllReduceBytes(len(have)*itemSize, itemSize, len(line), slices.Index(line, rank))
	})
	return bytes
}

// tuples lists every tuple of n of choices.
func tuples(n int, choices []Placement) [][]Placement {
	out := [][]Placement{nil}
	for range n {
		var next [][]Placement
		for _, t := range out {
			for _, p := range choices {
				next = append(next, append(slices.Clip(t), p))
			}
		}
		out = next
	}
	return out
}

func mustMesh(t fataler, shape ...int) *Mesh {
	t.Helper()
	m, err := New(shape, nil, nil)
	if err != nil {
		t.Fatalf("New(%v): %v", shape, err)
	}
	return m
}

func mustPlace(t fataler, m *Mesh, shape []int, placements ...Placement) *Placed {
	t.Helper()
	l, err := Place(m, shape, placements)
	if err != nil {
		t.Fatalf("Place(%v, %v): %v", shape, placements, err)
	}
	return l
}

// Every pair of placements, on every mesh, at sizes of 1 to 17: the plan leaves
// what distributing anew would, sums are added in the order of ranks, the bytes
// are as predicted, and no rank receives more than it lacks, unless it takes less time.
func TestPlanEveryPair(t *testing.T) {
	values := valuePlacements()
	sources := append(slices.Clone(values), Partial(Sum))
	for _, shape := range [][]int{{2}, {3}, {4}, {2, 2}, {2, 3}, {2, 2, 2}} {
		t.Run(Tuple(shape), func(t *testing.T) {
			t.Parallel()
			m, cases := mustMesh(t, shape...), 0
			for i, from := range tuples(len(shape), sources) {
				for j, to := range tuples(len(shape), values) {
					for _, size := range sizes(len(shape), i+j) {
						checkPlan(t, mustPlace(t, m, size, from...), mustPlace(t, m, size, to...), 4)
						cases++
					}
				}
			}
			t.Logf("%d plans", cases)
		})
	}
}

// sizes returns shapes with dims of 1 to 17: on a line of ranks a third of all, on two dims one
// with each first size, and on three a few of these. Which, differs from one k to the next.
func sizes(meshDims, k int) [][]int {
	var out [][]int
	for n := 1; n <= 17; n++ {
		for other := 1; other <= 17; other++ {
			if every := []int{3, 17, 85}[meshDims-1]; (n*5+other+k)%every == 0 {
				out = append(out, []int{n, other})
			}
		}
	}
	return out
}
