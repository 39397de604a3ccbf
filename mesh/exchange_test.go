package mesh

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// An exchange between any two layouts, placed or flat, on the same ranks or on
// others: every rank ends with what the target says, of a sum with its terms in
// order, and receives exactly what it lacks; what it lacks of a sum is counted
// once for each term.
func TestExchange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := drawShape(t)
		src, dst := drawLayout(t, shape, true), drawLayout(t, shape, false)
		x, err := NewExchange(src, dst, nil)
		if err != nil {
			t.Fatalf("%v to %v: %v", src, dst, err)
		}
		have, sum := symbols(src)
		got, received := exchanged(t, x, src, dst, have, Sum)
		for _, rank := range x.Ranks() {
			if !holds(got[rank], elements(dst, rank), sum) {
				t.Fatalf("%v to %v: rank %d holds %v, want %v of %q", src, dst, rank, got[rank], elements(dst, rank), sum)
			}
			checkReceived(t, src, dst, x, rank, received[rank])
		}
	})
}

// symbols returns what ranks store in l, and the sum of the terms.
func symbols(l Layout) (have map[int][]cell, sum string) {
	have = map[int][]cell{}
	var terms []string
	for _, rank := range l.Ranks() {
		term := ""
		if p, ok := l.(*Placed); ok {
			term = termsOf(p)[p.mesh.positions[rank]]
		}
		if !slices.Contains(terms, term) {
			terms = append(terms, term)
		}
		for _, e := range elements(l, rank) {
			have[rank] = append(have[rank], cell{e, term})
		}
	}
	return have, add(Sum, terms)
}

// checkReceived checks that rank receives what it lacks and no more.
func checkReceived(t fataler, src, dst Layout, x *Exchange, rank, received int) {
	t.Helper()
	terms := map[int]bool{}
	for _, r := range src.Ranks() {
		_, term := src.at(r)
		terms[term] = true
	}
	want, lacks, have := 0, 0, elements(src, rank)
	for _, e := range elements(dst, rank) {
		want += len(terms)
		if slices.Contains(have, e) {
			want--
		} else {
			lacks++
		}
	}
	if _, n := x.Traffic(rank); received != want || n != want {
		t.Fatalf("%v to %v: rank %d receives %d elements, the exchange says %d, want %d", src, dst, rank, received, n, want)
	}
	if n := Lacks(src, dst, rank); n != lacks {
		t.Fatalf("%v to %v: Lacks(%d) = %d, want %d", src, dst, rank, n, lacks)
	}
}

// Of the ranks that hold a part, none gives it to more than one rank more than
// another, and everyone gives a term the same rank for all of its part.
func TestExchangeIsBalanced(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := drawShape(t)
		src, dst := drawLayout(t, shape, true), drawLayout(t, shape, false)
		x, err := NewExchange(src, dst, nil)
		if err != nil {
			t.Fatal(err)
		}
		asked := map[[2]int]map[int]int{} // by part and term: how many ranks ask each holder
		for _, r := range src.Ranks() {
			if len(elements(src, r)) > 0 {
				part, term := src.at(r)
				if asked[[2]int{part, term}] == nil {
					asked[[2]int{part, term}] = map[int]int{}
				}
				asked[[2]int{part, term}][r] = 0
			}
		}
		for _, rank := range x.Ranks() {
			count(t, src, x, rank, asked)
		}
		for key, holders := range asked {
			least, most := len(x.Ranks()), 0
			for _, n := range holders {
				least, most = min(least, n), max(most, n)
			}
			if most > least+1 {
				t.Fatalf("%v to %v: the holders of %v are asked %v times", src, dst, key, holders)
			}
		}
	})
}

// count adds to asked whom rank asks.
func count(t fataler, src Layout, x *Exchange, rank int, asked map[[2]int]map[int]int) {
	t.Helper()
	seen := map[[2]int]int{}
	for _, p := range x.Pieces(rank) {
		for _, from := range p.From {
			part, term := src.at(from)
			key := [2]int{part, term}
			if other, ok := seen[key]; ok && other != from {
				t.Fatalf("rank %d asks both %d and %d for %v", rank, other, from, key)
			}
			if _, own := asked[key][rank]; own && from != rank {
				t.Fatalf("rank %d asks %d for what it holds", rank, from)
			}
			if _, ok := seen[key]; !ok && from != rank {
				asked[key][from]++
			}
			seen[key] = from
		}
	}
}

// Two replicas of each half send one message each: not one of them both.
func TestExchangeUsesReplicas(t *testing.T) {
	m := mustMesh(t, 2, 2)
	for _, src := range []*Placed{
		mustPlace(t, m, []int{4}, Replicate(), Shard(0)),
		mustPlace(t, m, []int{4}, Shard(0), Replicate()),
	} {
		x, err := NewExchange(src, mustPlace(t, m, []int{4}, Replicate(), Replicate()), nil)
		if err != nil {
			t.Fatal(err)
		}
		for rank := range 4 {
			if sent, received := x.Traffic(rank); sent != 2 || received != 2 {
				t.Errorf("%v: rank %d sends %d elements and receives %d, want 2 and 2", src, rank, sent, received)
			}
		}
	}
}

func TestExchangeRefuses(t *testing.T) {
	m := mustMesh(t, 2, 2)
	rows := mustPlace(t, m, []int{4, 4}, Replicate(), Shard(0))
	whole := mustPlace(t, m, []int{4, 4}, Replicate(), Replicate())
	for _, c := range []struct {
		src, dst Layout
		among    []int
		want     string
	}{
		{rows, whole, []int{0, 2}, "ranks [0 2] do not hold all that they need"},
		{whole, mustPlace(t, m, []int{4, 4}, Partial(Sum), Replicate()), nil, "ranks [0 1 2 3] would hold different terms of a sum"},
		{mustPlace(t, m, []int{4, 4}, Partial(Sum), Shard(0)), rows, []int{0, 1, 2}, "ranks [0 1 2] do not hold all that they need"},
		{whole, mustPlace(t, m, []int{16}, Replicate(), Replicate()), nil, `for parameter "shape": got (16,), want (4, 4) (an exchange keeps the shape)`},
	} {
		if _, err := NewExchange(c.src, c.dst, c.among); err == nil || err.Error() != c.want {
			t.Errorf("%v to %v among %v: got error %v, want %v", c.src, c.dst, c.among, err, c.want)
		}
	}
}
