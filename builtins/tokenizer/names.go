package tokenizer

import "fmt"

// maxID bounds the numbers of tokens.
const maxID = 1<<31 - 1

// A tokenNames has the tokens of numbers: most in a list, those far behind it in
// a map.
type tokenNames struct {
	list  []string
	there []bool
	far   map[int]string
	n     int
}

// newNames returns what has room for the numbers below n.
func newNames(n int) tokenNames {
	return tokenNames{list: make([]string, n), there: make([]bool, n), far: map[int]string{}}
}

// get returns the token of a number; ok is false if there is none.
func (n *tokenNames) get(id int) (token string, ok bool) {
	if uint(id) < uint(len(n.list)) {
		return n.list[id], n.there[id]
	}
	token, ok = n.far[id]
	return token, ok
}

// put gives a number a token.
func (n *tokenNames) put(id int, token string) {
	if _, ok := n.get(id); !ok {
		n.n++
	}
	if uint(id) < uint(len(n.list)) {
		n.list[id], n.there[id] = token, true
		return
	}
	n.far[id] = token
}

// name gives a token its number, which has to be in range and no other's.
func (t *Tokenizer) name(token string, id int) error {
	if id < 0 || id > maxID {
		return fmt.Errorf("token %q: got the id %d, want 0 to %d", token, id, maxID)
	}
	if old, ok := t.names.get(id); ok && old != token {
		a, b := min(old, token), max(old, token)
		return fmt.Errorf("got the id %d for %q and %q, want one token for each", id, a, b)
	}
	if old, ok := t.ID(token); ok && old != id {
		return fmt.Errorf("token %q: got the ids %d and %d, want one", token, old, id)
	}
	t.names.put(id, token)
	return nil
}

// roomForAdded is how many numbers behind those of a vocabulary are expected.
const roomForAdded = 1024

// setVocab takes over the tokens of a model.
func (t *Tokenizer) setVocab(v vocab) error {
	t.ids, t.names = v, newNames(len(v)+roomForAdded)
	for token, id := range v {
		if err := t.name(token, id); err != nil {
			return err
		}
	}
	return nil
}
