package tokenizer

import "math/bits"

// A merged token is what becomes of a pair of tokens, and the pair's place in
// the list: pairs that come first are merged first.
type mergedToken struct{ rank, id int32 }

// mergeTable finds what becomes of pairs. It is a hash table with open
// addressing, of which at most half is full.
type mergeTable struct {
	keys   []uint64 // a pair, plus 1; 0 is free
	values []mergedToken
	shift  int
}

func newMergeTable(n int) *mergeTable {
	size := 1 << bits.Len(uint(2*n+1))
	return &mergeTable{make([]uint64, size), make([]mergedToken, size), 64 - bits.Len(uint(size-1))}
}

// slot returns the place of a key, or the free one where it belongs.
func (t *mergeTable) slot(key uint64) int {
	i := int(key * 0x9E3779B97F4A7C15 >> t.shift) // Fibonacci hashing (Knuth, TAOCP 3, 6.4)
	for t.keys[i] != 0 && t.keys[i] != key {
		i = (i + 1) & (len(t.keys) - 1)
	}
	return i
}

func pairKey(left, right int) uint64 { return uint64(left)<<32 + uint64(right) + 1 }

// add says what becomes of a pair; a later one of the same pair counts. There
// may be as many pairs as newMergeTable was told.
func (t *mergeTable) add(left, right int, m mergedToken) {
	i := t.slot(pairKey(left, right))
	t.keys[i], t.values[i] = pairKey(left, right), m
}

// find returns what becomes of a pair; ok is false if it cannot be merged.
func (t *mergeTable) find(left, right int) (m mergedToken, ok bool) {
	i := t.slot(pairKey(left, right))
	return t.values[i], t.keys[i] != 0
}

// A symbol is a token of a word that is being merged, in a list of them. Of two
// that are merged the left one becomes the merged token, and the right one is
// dead: its id is -1.
type symbol struct{ id, prev, next int32 }

// A candidate is a pair in a word that can be merged, as it was when it was
// found: the symbol at a place and the next one.
type candidate struct {
	mergedToken
	at, left, right int32
}

// before says which of two is merged first: the one of less rank, and of equal
// ones the leftmost.
func (c *candidate) before(d *candidate) bool {
	return c.rank < d.rank || c.rank == d.rank && c.at < d.at
}

// A merging is a word whose symbols are being merged; queue is a heap.
type merging struct {
	merges  *mergeTable
	symbols []symbol
	queue   []candidate
}

// merge returns what is left of ids, the tokens of a word, when no pair of
// neighbours is in merges. It takes O(n log n) steps for n tokens, and
// overwrites ids.
func merge(merges *mergeTable, ids []int) []int {
	if len(ids) < 2 {
		return ids
	}
	w := &merging{merges: merges, symbols: make([]symbol, len(ids)), queue: make([]candidate, 0, len(ids))}
	for i, id := range ids {
		w.symbols[i] = symbol{int32(id), int32(i - 1), int32(i + 1)}
	}
	for i := range ids {
		w.consider(int32(i))
	}
	for len(w.queue) > 0 {
		w.join(w.pop())
	}
	out := ids[:0]
	for _, s := range w.symbols {
		if s.id >= 0 {
			out = append(out, int(s.id))
		}
	}
	return out
}

// consider adds the pair of the symbol at place i and the next one to the queue
// if it can be merged.
func (w *merging) consider(i int32) {
	if i < 0 || int(w.symbols[i].next) == len(w.symbols) {
		return
	}
	left, right := w.symbols[i].id, w.symbols[w.symbols[i].next].id
	if m, ok := w.merges.find(int(left), int(right)); ok {
		w.push(candidate{m, i, left, right})
	}
}

// join merges c, unless one of its symbols has become another since it was
// found.
func (w *merging) join(c candidate) {
	left := &w.symbols[c.at]
	if left.id != c.left || int(left.next) == len(w.symbols) || w.symbols[left.next].id != c.right {
		return
	}
	right := &w.symbols[left.next]
	left.id, left.next, right.id = c.id, right.next, -1
	if int(right.next) < len(w.symbols) {
		w.symbols[right.next].prev = c.at
	}
	w.consider(left.prev)
	w.consider(c.at)
}

// push adds c to the heap.
func (w *merging) push(c candidate) {
	w.queue = append(w.queue, c)
	q := w.queue
	i := len(q) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if !c.before(&q[parent]) {
			break
		}
		q[i] = q[parent]
		i = parent
	}
	q[i] = c
}

// pop removes the first of the heap.
func (w *merging) pop() candidate {
	q := w.queue
	first, last := q[0], q[len(q)-1]
	q = q[:len(q)-1]
	w.queue = q
	i := 0
	for {
		child := 2*i + 1
		if child >= len(q) {
			break
		}
		if child+1 < len(q) && q[child+1].before(&q[child]) {
			child++
		}
		if !q[child].before(&last) {
			break
		}
		q[i] = q[child]
		i = child
	}
	if len(q) > 0 {
		q[i] = last
	}
	return first
}
