package tokenizer

import (
	"fmt"
	"unicode/utf8"
)

// A wordPiece is a model that takes the longest token that a word begins with,
// and goes on with what is left of it (Wu et al., "Google's neural machine
// translation system", 2016).
type wordPiece struct {
	vocab   vocab
	prefix  string // begins tokens that begin no word
	unknown string
	most    int // characters of a word
	longest int // bytes of a token
}

func (t *Tokenizer) setWordPiece(p part) error {
	s := struct {
		Vocab   vocab
		Unknown string `json:"unk_token"`
		Prefix  string `json:"continuing_subword_prefix"`
		Most    int    `json:"max_input_chars_per_word"`
	}{Unknown: "[UNK]", Prefix: "##", Most: 100}
	if err := p.read(&s); err != nil {
		return err
	}
	if err := t.setVocab(s.Vocab); err != nil {
		return p.errorf("%w", err)
	}
	m := &wordPiece{vocab: s.Vocab, prefix: s.Prefix, unknown: s.Unknown, most: s.Most}
	for token := range s.Vocab {
		m.longest = max(m.longest, len(token))
	}
	t.model = m
	return nil
}

func (m *wordPiece) tokens(ids []int, word string) ([]int, error) {
	n := len(ids)
	if utf8.RuneCountInString(word) > m.most {
		return m.unknownWord(ids, word)
	}
	buffer := append(make([]byte, 0, len(m.prefix)+len(word)), m.prefix...)
	buffer = append(buffer, word...)
	for from := 0; from < len(word); {
		part := buffer[len(m.prefix):]
		skip := 0 // bytes of the part that are not of the word
		if from > 0 {
			copy(buffer[from:], m.prefix)
			part, skip = buffer[from:], len(m.prefix)
		}
		id, size := m.longestIn(part, skip)
		if size == 0 {
			return m.unknownWord(ids[:n], word)
		}
		ids = append(ids, id)
		from += size
	}
	return ids, nil
}

// longestIn returns the longest token that s begins with, and how many bytes it
// has behind the first skip.
func (m *wordPiece) longestIn(s []byte, skip int) (id, size int) {
	end := min(len(s), m.longest)
	for end < len(s) && !utf8.RuneStart(s[end]) {
		end--
	}
	for end > skip {
		if id, ok := m.vocab[string(s[:end])]; ok {
			return id, end - skip
		}
		_, last := utf8.DecodeLastRune(s[skip:end])
		end -= last
	}
	return 0, 0
}

func (m *wordPiece) unknownWord(ids []int, word string) ([]int, error) {
	id, ok := m.vocab[m.unknown]
	if !ok {
		return nil, fmt.Errorf("got the word %q, which the vocabulary cannot spell, nor has it the unk_token %q", word, m.unknown)
	}
	return append(ids, id), nil
}

// A wordLevel is a model in which each word is one token.
type wordLevel struct {
	vocab   vocab
	unknown string
}

func (t *Tokenizer) setWordLevel(p part) error {
	s := struct {
		Vocab   vocab
		Unknown string `json:"unk_token"`
	}{Unknown: "<unk>"}
	if err := p.read(&s); err != nil {
		return err
	}
	if err := t.setVocab(s.Vocab); err != nil {
		return p.errorf("%w", err)
	}
	t.model = &wordLevel{s.Vocab, s.Unknown}
	return nil
}

func (m *wordLevel) tokens(ids []int, word string) ([]int, error) {
	id, ok := m.vocab[word]
	if !ok {
		if id, ok = m.vocab[m.unknown]; !ok {
			return nil, fmt.Errorf("got the word %q, which is not in the vocabulary, nor is the unk_token %q", word, m.unknown)
		}
	}
	return append(ids, id), nil
}
