package tokenizer

import (
	"errors"
	"fmt"
	"math"
	"unicode/utf8"
)

// A unigram is a model that takes those tokens of a word whose probabilities
// have the greatest product (Kudo, "Subword regularization", ACL 2018).
type unigram struct {
	vocab    vocab
	scores   []float64 // logarithms
	trie     *trie
	unknown  int // for characters that have no token; -1 if there is none
	penalty  float64
	fallback *[256]int // the tokens of bytes, for characters that have none
}

// unknownPenalty is how much worse than the worst token an unknown character is.
const unknownPenalty = 10

func (t *Tokenizer) setUnigram(p part) error {
	var s struct {
		Vocab        scored
		Unknown      *int `json:"unk_id"`
		ByteFallback bool `json:"byte_fallback"`
	}
	if err := p.read(&s); err != nil {
		return err
	}
	m, err := t.newUnigram(s.Vocab, s.Unknown, s.ByteFallback)
	if err != nil {
		return p.errorf("%w", err)
	}
	t.model = m
	return nil
}

func (t *Tokenizer) newUnigram(pieces scored, unknown *int, fallback bool) (*unigram, error) {
	m := &unigram{vocab: make(vocab, len(pieces)), unknown: -1, trie: newTrie()}
	t.ids, t.names = m.vocab, newNames(len(pieces)+roomForAdded)
	worst := math.Inf(1)
	for id, s := range pieces {
		m.vocab[s.token] = id // of equal tokens the last one counts
		t.names.put(id, s.token)
		m.scores = append(m.scores, s.score)
		worst = min(worst, s.score)
	}
	for token, id := range m.vocab {
		if token != "" {
			m.trie.add(token, id)
		}
	}
	m.penalty = worst - unknownPenalty
	if unknown != nil {
		if *unknown < 0 || *unknown >= len(pieces) {
			return nil, fmt.Errorf("unk_id: got %d, want the id of one of %d tokens", *unknown, len(pieces))
		}
		m.unknown = *unknown
	}
	if fallback {
		m.fallback = byteTokens(m.vocab)
	}
	return m, nil
}

// A best is the best way to cut a word up to some place: its last token begins
// at from.
type best struct {
	id, from int
	score    float64
}

func (m *unigram) tokens(ids []int, word string) ([]int, error) {
	ends := make([]best, len(word)+1)
	for i := range ends {
		ends[i].from = -1
	}
	for i := 0; i < len(word); {
		_, size := utf8.DecodeRuneInString(word[i:])
		here, whole := ends[i].score, false
		offer := func(end, id int, score float64) {
			if e := &ends[end]; e.from < 0 || score > e.score {
				*e = best{id, i, score}
			}
		}
		m.trie.each(word[i:], func(n, id int) {
			offer(i+n, id, m.scores[id]+here)
			whole = whole || n == size
		})
		if !whole {
			if m.unknown < 0 {
				return nil, errors.New("got a character that has no token, and no unk_id: " + fmt.Sprintf("%q", word[i:i+size]))
			}
			offer(i+size, m.unknown, m.penalty+here)
		}
		i += size
	}
	return m.collect(ids, word, ends), nil
}

// collect appends the tokens of the best way to cut a word. Unknown characters
// that touch are one.
func (m *unigram) collect(ids []int, word string, ends []best) []int {
	var cuts []int // places where tokens begin, from the right
	for end := len(word); end > 0; {
		from := ends[end].from
		if ends[end].id == m.unknown {
			for from > 0 && ends[from].id == m.unknown {
				from = ends[from].from
			}
		}
		cuts = append(cuts, from)
		end = from
	}
	for i := len(cuts) - 1; i >= 0; i-- {
		end := len(word)
		if i > 0 {
			end = cuts[i-1]
		}
		part := word[cuts[i]:end]
		if id, ok := m.vocab[part]; ok {
			ids = append(ids, id)
			continue
		}
		if m.fallback != nil {
			var ok bool
			if ids, ok = appendBytes(ids, m.fallback, part); ok {
				continue
			}
		}
		ids = append(ids, m.unknown)
	}
	return ids
}

// A trie finds the tokens that a text begins with.
type trie struct {
	next map[edge]int
	ids  []int // of nodes, -1 if no token ends there
	root [256]int
}

// An edge leads from a node by a byte.
type edge struct {
	node int
	b    byte
}

func newTrie() *trie { return &trie{next: map[edge]int{}, ids: []int{-1}} }

func (t *trie) add(token string, id int) {
	at := 0
	for i := range len(token) {
		e := edge{at, token[i]}
		next, ok := t.next[e]
		if !ok {
			next = len(t.ids)
			t.ids = append(t.ids, -1)
			t.next[e] = next
			if at == 0 {
				t.root[token[i]] = next
			}
		}
		at = next
	}
	t.ids[at] = id
}

// each calls f for each token that s begins with, the shortest first.
func (t *trie) each(s string, f func(size, id int)) {
	if s == "" {
		return
	}
	at := t.root[s[0]]
	for i := 1; at > 0; i++ {
		if t.ids[at] >= 0 {
			f(i, t.ids[at])
		}
		if i == len(s) {
			return
		}
		at = t.next[edge{at, s[i]}]
	}
}
