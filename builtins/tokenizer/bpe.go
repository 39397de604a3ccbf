package tokenizer

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// A bpe is a model of byte-pair encoding: of the characters of a word, or its
// bytes, pairs are merged in the order of a learned list, until no pair of the
// list is left (Sennrich, Haddow and Birch, "Neural machine translation of rare
// words with subword units", ACL 2016).
type bpe struct {
	vocab  vocab
	merges *mergeTable
	// prefix begins the symbols of a word but the first, suffix ends the last.
	prefix, suffix string
	unknown        int // for a character that has no token; -1 if there is none
	fuse           bool
	fallback       *[256]int // the tokens of bytes, for a character that has none; -1 where there is none
	ignoreMerges   bool      // a word that is a token is never cut
	// Of a byte-level tokenizer: the token of each byte, -1 if there is none, and
	// words that are tokens, as bytes.
	bytes *[256]int
	words map[string]int
}

// A bpeSpec is the model of a file.
type bpeSpec struct {
	Vocab        vocab
	Merges       mergeLines
	Unknown      string `json:"unk_token"`
	Fuse         bool   `json:"fuse_unk"`
	Prefix       string `json:"continuing_subword_prefix"`
	Suffix       string `json:"end_of_word_suffix"`
	ByteFallback bool   `json:"byte_fallback"`
	IgnoreMerges bool   `json:"ignore_merges"`
}

func (t *Tokenizer) setBPE(p part) error {
	var s bpeSpec
	if err := p.read(&s); err != nil {
		return err
	}
	if err := t.setVocab(s.Vocab); err != nil {
		return p.errorf("%w", err)
	}
	m := &bpe{
		vocab: s.Vocab, merges: newMergeTable(len(s.Merges)), prefix: s.Prefix, suffix: s.Suffix,
		unknown: -1, fuse: s.Fuse, ignoreMerges: s.IgnoreMerges,
	}
	t.model = m
	if id, ok := s.Vocab[s.Unknown]; ok {
		m.unknown = id
	}
	if s.ByteFallback {
		m.fallback = byteTokens(s.Vocab)
	}
	var both []byte
	for rank, line := range s.Merges {
		both = append(append(both[:0], line[0]...), strings.TrimPrefix(line[1], s.Prefix)...)
		left, hasLeft := s.Vocab[line[0]]
		right, hasRight := s.Vocab[line[1]]
		merged, hasMerged := s.Vocab[string(both)]
		missing := ""
		switch {
		case !hasLeft:
			missing = line[0]
		case !hasRight:
			missing = line[1]
		case !hasMerged:
			missing = string(both)
		}
		if !hasLeft || !hasRight || !hasMerged {
			return p.errorf("merge %d, %q and %q: %q is not in the vocabulary", rank, line[0], line[1], missing)
		}
		m.merges.add(left, right, mergedToken{int32(rank), int32(merged)})
	}
	return nil
}

// byteTokens returns the tokens <0x00> to <0xFF>, -1 for each that is missing.
func byteTokens(vocab vocab) *[256]int {
	var out [256]int
	for b := range out {
		out[b] = -1
		if id, ok := vocab[fmt.Sprintf("<0x%02X>", b)]; ok {
			out[b] = id
		}
	}
	return &out
}

// appendBytes appends the tokens of the bytes of s; ok is false if one has none.
func appendBytes(ids []int, of *[256]int, s string) (out []int, ok bool) {
	n := len(ids)
	for i := range len(s) {
		id := of[s[i]]
		if id < 0 {
			return ids[:n], false
		}
		ids = append(ids, id)
	}
	return ids, true
}

// fuseBytes lets the model see bytes where the last splitter would put
// characters in their place.
func (t *Tokenizer) fuseBytes() {
	m, ok := t.model.(*bpe)
	if !ok || !t.endsInBytes || m.prefix != "" || m.suffix != "" {
		return
	}
	t.splits = t.splits[:len(t.splits)-1]
	m.bytes, m.words = &[256]int{}, map[string]int{}
	for b, r := range runeOf {
		m.bytes[b] = -1
		if id, ok := m.vocab[string(r)]; ok {
			m.bytes[b] = id
		}
	}
	if m.ignoreMerges {
		for token, id := range m.vocab {
			if word, ok := bytesOf(token); ok {
				m.words[word] = id
			}
		}
	}
}

func (m *bpe) tokens(ids []int, word string) ([]int, error) {
	n := len(ids)
	var err error
	if m.bytes != nil {
		if m.ignoreMerges {
			if id, ok := m.words[word]; ok {
				return append(ids, id), nil
			}
		}
		ids, err = m.ofBytes(ids, word)
	} else {
		if m.ignoreMerges {
			if id, ok := m.vocab[word]; ok {
				return append(ids, id), nil
			}
		}
		ids, err = m.ofRunes(ids, word)
	}
	if err != nil {
		return nil, err
	}
	return ids[:n+len(merge(m.merges, ids[n:]))], nil
}

// ofBytes appends the tokens of the bytes of word.
func (m *bpe) ofBytes(ids []int, word string) ([]int, error) {
	unknown := false // the byte before had no token
	for i := range len(word) {
		id := m.bytes[word[i]]
		if id < 0 && m.unknown < 0 {
			return nil, fmt.Errorf("got the byte 0x%02x, in %q, want bytes that have tokens (the vocabulary lacks %q)", word[i], word, runeOf[word[i]])
		}
		if id >= 0 {
			ids = append(ids, id)
		} else if !m.fuse || !unknown {
			ids = append(ids, m.unknown)
		}
		unknown = id < 0
	}
	return ids, nil
}

// ofRunes appends the tokens of the characters of word.
func (m *bpe) ofRunes(ids []int, word string) ([]int, error) {
	unknown := false // characters before have no token, and theirs is yet to come
	for i := 0; i < len(word); {
		_, size := utf8.DecodeRuneInString(word[i:])
		symbol := word[i : i+size]
		if m.prefix != "" && i > 0 {
			symbol = m.prefix + symbol
		}
		if i += size; i == len(word) {
			symbol += m.suffix
		}
		if id, ok := m.vocab[symbol]; ok {
			if unknown {
				ids, unknown = append(ids, m.unknown), false
			}
			ids = append(ids, id)
			continue
		}
		if m.fallback != nil {
			var ok bool
			if ids, ok = appendBytes(ids, m.fallback, symbol); ok {
				continue
			}
		}
		if m.unknown < 0 {
			return nil, fmt.Errorf("got %q, in %q, want characters that have tokens (the vocabulary lacks %[1]q, and has no unk_token)", symbol, word)
		}
		if unknown && !m.fuse {
			ids = append(ids, m.unknown)
		}
		unknown = true
	}
	if unknown {
		ids = append(ids, m.unknown)
	}
	return ids, nil
}
