package tokenizer

import (
	"fmt"
	"strings"
	"sync"
)

// A Tokenizer turns text into the numbers of tokens, and back. It does not
// change, so several goroutines may use it.
type Tokenizer struct {
	ids         vocab          // of the model's tokens
	addedIDs    map[string]int // of added tokens
	names       tokenNames     // of both
	added       addedTokens
	normalizers []normalizer
	splits      []splitter
	endsInBytes bool // the last one is splitBytes
	model       model
	decoders    []decoder
	// before and after are the tokens that a text is put between.
	before, after []int
	templated     bool      // a template has put them there
	pool          sync.Pool // of *scratch
}

// A model makes tokens of words.
type model interface {
	// tokens appends the numbers of the tokens of a word, which is not empty, to
	// ids.
	tokens(ids []int, word string) ([]int, error)
}

// Size returns the number of tokens, added ones included.
func (t *Tokenizer) Size() int { return t.names.n }

// ID returns the number of a token; ok is false if there is none.
func (t *Tokenizer) ID(token string) (id int, ok bool) {
	if id, ok = t.addedIDs[token]; !ok {
		id, ok = t.ids[token]
	}
	return id, ok
}

// Token returns the token with a number, as the file writes it; ok is false if
// there is none.
func (t *Tokenizer) Token(id int) (token string, ok bool) {
	return t.names.get(id)
}

// A scratch is what an encoder uses again: lists of pieces, and the tokens of
// words that it has seen.
type scratch struct {
	pieces, next []piece
	words        map[string][]int
}

// Bounds of the words that are remembered: of their number and of their length.
const (
	maxWords   = 10_000
	maxWordLen = 256
)

// A piece is a part of a text that is cut into words.
type piece struct {
	text string
	// first says that it begins where the whole text does.
	first bool
}

// Encode returns the numbers of the tokens of text. With frame they stand
// between those that the file puts around a text, such as one that begins it.
// It is an error if a part of the text has no token, nor the file one for what
// is not known.
func (t *Tokenizer) Encode(text string, frame bool) ([]int, error) {
	s := t.pool.Get().(*scratch)
	defer t.pool.Put(s)
	ids := make([]int, 0, len(text)/4+len(t.before)+len(t.after))
	if frame {
		ids = append(ids, t.before...)
	}
	var err error
	t.added.asWritten.each(text, func(lo, hi, id int) {
		switch {
		case err != nil:
		case id >= 0:
			ids = append(ids, id)
		default:
			ids, err = t.appendText(s, ids, piece{text[lo:hi], lo == 0})
		}
	})
	if err != nil {
		return nil, err
	}
	if frame {
		ids = append(ids, t.after...)
	}
	return ids, nil
}

// appendText appends the tokens of a text without added tokens, but for those
// that are found once it is normalized.
func (t *Tokenizer) appendText(s *scratch, ids []int, p piece) ([]int, error) {
	p, err := t.normalized(p)
	if err != nil {
		return nil, err
	}
	t.added.normalized.each(p.text, func(lo, hi, id int) {
		switch {
		case err != nil:
		case id >= 0:
			ids = append(ids, id)
		default:
			ids, err = t.appendWords(s, ids, piece{p.text[lo:hi], p.first && lo == 0})
		}
	})
	return ids, err
}

// appendWords appends the tokens of a text without added tokens.
func (t *Tokenizer) appendWords(s *scratch, ids []int, p piece) ([]int, error) {
	s.pieces = append(s.pieces[:0], p)
	for _, split := range t.splits {
		s.next = s.next[:0]
		for _, p := range s.pieces {
			var err error
			if s.next, err = split(s.next, p); err != nil {
				return nil, err
			}
		}
		s.pieces, s.next = s.next, s.pieces
	}
	for i := range s.pieces {
		var err error
		if ids, err = t.appendWord(s, ids, s.pieces[i].text); err != nil {
			return nil, err
		}
	}
	clear(s.pieces) // the text is not kept
	clear(s.next)
	return ids, nil
}

// appendWord appends the tokens of a word.
func (t *Tokenizer) appendWord(s *scratch, ids []int, word string) ([]int, error) {
	if word == "" {
		return ids, nil
	}
	if known, ok := s.words[word]; ok {
		return append(ids, known...), nil
	}
	n := len(ids)
	ids, err := t.model.tokens(ids, word)
	if err != nil || len(word) > maxWordLen {
		return ids, err
	}
	if s.words == nil || len(s.words) == maxWords {
		s.words = map[string][]int{}
	}
	s.words[strings.Clone(word)] = append([]int(nil), ids[n:]...)
	return ids, nil
}

// Decode returns the text of tokens, with U+FFFD in the place of bytes that are
// no UTF-8. With skip it leaves out special ones. A number that no token has is
// an error.
func (t *Tokenizer) Decode(ids []int, skip bool) (string, error) {
	list := make([]string, 0, len(ids))
	for i, id := range ids {
		token, ok := t.names.get(id)
		if !ok {
			return "", fmt.Errorf("got %d at index %d, want the id of a token (there are %d)", id, i, t.Size())
		}
		if !skip || !t.added.special[id] {
			list = append(list, token)
		}
	}
	if len(t.decoders) == 0 {
		return valid(strings.Join(list, " ")), nil
	}
	for _, d := range t.decoders {
		var err error
		if list, err = d(list); err != nil {
			return "", err
		}
	}
	return valid(strings.Join(list, "")), nil
}
