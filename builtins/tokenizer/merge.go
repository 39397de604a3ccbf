package tokenizer

import "container/heap"

// A pair is two tokens that may stand side by side.
type pair struct{ left, right int }

// A merged token is what becomes of a pair, and the pair's place in the list:
// pairs that come first are merged first.
type mergedToken struct{ rank, id int }

// A symbol is a token of a word that is being merged, in a list of them. Of two
// that are merged the left one becomes the merged token, and the right one is
// dead: its id is -1.
type symbol struct{ id, prev, next int }

// A candidate is a pair in a word that can be merged, as it was when it was
// found.
type candidate struct {
	pair
	mergedToken
	at, with int // the places of the two symbols
}

// candidates is a heap: the least rank first, and of equal ones the leftmost.
type candidates []candidate

func (c candidates) Len() int      { return len(c) }
func (c candidates) Swap(i, j int) { c[i], c[j] = c[j], c[i] }
func (c *candidates) Push(x any)   { *c = append(*c, x.(candidate)) }
func (c candidates) Less(i, j int) bool {
	if c[i].rank != c[j].rank {
		return c[i].rank < c[j].rank
	}
	return c[i].at < c[j].at
}

func (c *candidates) Pop() any {
	last := len(*c) - 1
	x := (*c)[last]
	*c = (*c)[:last]
	return x
}

// A word is tokens that are being merged.
type word struct {
	merges  map[pair]mergedToken
	symbols []symbol
	queue   candidates
}

// merge returns what is left of ids, the tokens of a word, when no pair of
// neighbours is in merges. It takes O(n log n) steps for n tokens.
func merge(merges map[pair]mergedToken, ids []int) []int {
	w := &word{merges: merges, symbols: make([]symbol, len(ids))}
	for i, id := range ids {
		w.symbols[i] = symbol{id, i - 1, i + 1}
	}
	for i := range ids {
		w.consider(i)
	}
	for len(w.queue) > 0 {
		w.join(heap.Pop(&w.queue).(candidate))
	}
	out := ids[:0]
	for _, s := range w.symbols {
		if s.id >= 0 {
			out = append(out, s.id)
		}
	}
	return out
}

// consider adds the pair of the symbol at place i and the next one to the queue
// if it can be merged.
func (w *word) consider(i int) {
	if i < 0 || w.symbols[i].next == len(w.symbols) {
		return
	}
	next := w.symbols[i].next
	p := pair{w.symbols[i].id, w.symbols[next].id}
	if m, ok := w.merges[p]; ok {
		heap.Push(&w.queue, candidate{p, m, i, next})
	}
}

// join merges c, unless one of its symbols has become another since it was
// found.
func (w *word) join(c candidate) {
	left, right := &w.symbols[c.at], &w.symbols[c.with]
	if left.id != c.left || right.id != c.right || left.next != c.with {
		return
	}
	left.id, left.next, right.id = c.id, right.next, -1
	if right.next < len(w.symbols) {
		w.symbols[right.next].prev = c.at
	}
	w.consider(left.prev)
	w.consider(c.at)
}
