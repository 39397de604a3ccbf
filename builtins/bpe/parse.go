package bpe

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// A Tokenizer turns text into the numbers of tokens, and back. It does not
// change, so several goroutines may use it.
type Tokenizer struct {
	ids     map[string]int // of all tokens
	tokens  map[int]string // the inverse
	merges  map[pair]mergedToken
	added   addedTokens
	split   pretokenizer
	symbols [256]int // the token of each byte; -1 if there is none
	unknown int      // for a byte that has none; -1 if there is none
	// ignoreMerges says that a word that is a token is never cut.
	ignoreMerges bool
	// before and after are the tokens that a text is put between.
	before, after []int
}

// A file is what a tokenizer.json holds, as far as it is used.
type file struct {
	Added         []addedToken    `json:"added_tokens"`
	Normalizer    json.RawMessage `json:"normalizer"`
	PreTokenizer  json.RawMessage `json:"pre_tokenizer"`
	PostProcessor json.RawMessage `json:"post_processor"`
	Model         *model
}

// A model is the vocabulary and the merges of a file.
type model struct {
	Type         string
	Vocab        map[string]int
	Merges       []mergeLine
	Unknown      *string  `json:"unk_token"`
	Dropout      *float64 `json:"dropout"`
	Prefix       *string  `json:"continuing_subword_prefix"`
	Suffix       *string  `json:"end_of_word_suffix"`
	ByteFallback bool     `json:"byte_fallback"`
	IgnoreMerges bool     `json:"ignore_merges"`
}

// A mergeLine is two tokens, written "a b" in older files and ["a", "b"] in
// newer ones.
type mergeLine [2]string

// UnmarshalJSON implements json.Unmarshaler.
func (m *mergeLine) UnmarshalJSON(data []byte) error {
	var list []string
	if len(data) > 0 && data[0] == '"' {
		var s string
		if err := json.Unmarshal(data, &s); err != nil {
			return err
		}
		list = strings.Split(s, " ")
	} else if err := json.Unmarshal(data, &list); err != nil {
		return err
	}
	if len(list) != 2 {
		return fmt.Errorf("got the merge %s, want two tokens", data)
	}
	*m = mergeLine(list)
	return nil
}

// maxID bounds the numbers of tokens.
const maxID = 1<<31 - 1

// Parse returns the tokenizer that data, a tokenizer.json file, describes. It
// is an error if the tokenizer is not byte-level BPE or has parts that are not
// known here: what it would give then is not what its model was trained on.
func Parse(data []byte) (*Tokenizer, error) {
	var f file
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, err
	}
	if f.Model == nil {
		return nil, errors.New("model: got nothing, want that of a BPE")
	}
	if err := f.Model.check(); err != nil {
		return nil, err
	}
	if given(f.Normalizer) {
		return nil, fmt.Errorf("normalizer: got %q, want none (byte-level tokens keep every byte)", typeOf(f.Normalizer))
	}
	t := &Tokenizer{ids: map[string]int{}, tokens: map[int]string{}, unknown: -1, ignoreMerges: f.Model.IgnoreMerges}
	for token, id := range f.Model.Vocab {
		if err := t.name(token, id); err != nil {
			return nil, err
		}
	}
	if err := t.setModel(f.Model); err != nil {
		return nil, err
	}
	if err := t.setAdded(f.Added); err != nil {
		return nil, err
	}
	if given(f.PreTokenizer) {
		if err := t.split.add(f.PreTokenizer, 0); err != nil {
			return nil, err
		}
	}
	if !t.split.byteLevel {
		return nil, errors.New("pre_tokenizer: got no ByteLevel in it, want one (only byte-level tokenizers are read)")
	}
	if given(f.PostProcessor) {
		return t, t.setFrame(f.PostProcessor, 0)
	}
	return t, nil
}

// given reports whether a part of a file is there.
func given(raw json.RawMessage) bool { return len(raw) > 0 && !bytes.Equal(raw, []byte("null")) }

// typeOf returns the type that a part of a file names.
func typeOf(raw json.RawMessage) string {
	var part struct{ Type string }
	if json.Unmarshal(raw, &part) != nil || part.Type == "" {
		return "a part without a type"
	}
	return part.Type
}

// check returns an error if the model is none that Encode can follow.
func (m *model) check() error {
	set := func(s *string) bool { return s != nil && *s != "" }
	switch {
	case m.Type != "BPE" && m.Type != "":
		return fmt.Errorf("model: got the type %q, want BPE", m.Type)
	case m.Dropout != nil && *m.Dropout != 0:
		return fmt.Errorf("model: got a dropout of %g, want none", *m.Dropout)
	case set(m.Prefix):
		return fmt.Errorf("model: got the continuing_subword_prefix %q, want none", *m.Prefix)
	case set(m.Suffix):
		return fmt.Errorf("model: got the end_of_word_suffix %q, want none", *m.Suffix)
	case m.ByteFallback:
		return errors.New("model: got byte_fallback, want none (only byte-level tokenizers are read)")
	}
	return nil
}

// name gives a token its number.
func (t *Tokenizer) name(token string, id int) error {
	if id < 0 || id > maxID {
		return fmt.Errorf("token %q: got the id %d, want 0 to %d", token, id, maxID)
	}
	if old, ok := t.tokens[id]; ok && old != token {
		a, b := min(old, token), max(old, token)
		return fmt.Errorf("got the id %d for %q and %q, want one token for each", id, a, b)
	}
	if old, ok := t.ids[token]; ok && old != id {
		return fmt.Errorf("token %q: got the ids %d and %d, want one", token, old, id)
	}
	t.ids[token], t.tokens[id] = id, token
	return nil
}

// setModel takes over the merges and the tokens of single bytes.
func (t *Tokenizer) setModel(m *model) error {
	for b, r := range runeOf {
		t.symbols[b] = -1
		if id, ok := t.ids[string(r)]; ok {
			t.symbols[b] = id
		}
	}
	if m.Unknown != nil {
		id, ok := t.ids[*m.Unknown]
		if !ok {
			return fmt.Errorf("model: got the unk_token %q, want a token of the vocabulary", *m.Unknown)
		}
		t.unknown = id
	}
	t.merges = make(map[pair]mergedToken, len(m.Merges))
	for rank, line := range m.Merges {
		var ids [3]int
		for i, token := range []string{line[0], line[1], line[0] + line[1]} {
			id, ok := t.ids[token]
			if !ok {
				return fmt.Errorf("merge %d, %q and %q: %q is not in the vocabulary", rank, line[0], line[1], token)
			}
			ids[i] = id
		}
		t.merges[pair{ids[0], ids[1]}] = mergedToken{rank, ids[2]} // of equal lines the last one counts
	}
	return nil
}

// A frameSpec is a post-processor as a file describes it.
type frameSpec struct {
	Type       string
	Processors []json.RawMessage
	Single     []map[string]struct{ ID string }
	Special    map[string]struct{ IDs []int } `json:"special_tokens"`
}

// setFrame takes over the tokens that a text is put between, from a
// post-processor depth Sequences deep.
func (t *Tokenizer) setFrame(raw json.RawMessage, depth int) error {
	var s frameSpec
	if err := json.Unmarshal(raw, &s); err != nil {
		return fmt.Errorf("post_processor: %w", err)
	}
	switch s.Type {
	case "ByteLevel": // changes where tokens are said to be, and no token
		return nil
	case "Sequence":
		if depth == maxNesting {
			return fmt.Errorf("post_processor: got Sequences %d deep, want at most %d", depth+1, maxNesting)
		}
		for _, each := range s.Processors {
			if err := t.setFrame(each, depth+1); err != nil {
				return err
			}
		}
		return nil
	case "TemplateProcessing":
		return t.setTemplate(&s)
	}
	return fmt.Errorf("post_processor: got %q, want ByteLevel, TemplateProcessing or a Sequence of them", s.Type)
}

func (t *Tokenizer) setTemplate(s *frameSpec) error {
	var before, after []int
	texts := 0
	for _, part := range s.Single {
		if _, ok := part["Sequence"]; ok {
			texts++
			continue
		}
		special, ok := s.Special[part["SpecialToken"].ID]
		if !ok {
			return fmt.Errorf("post_processor: got the special token %q in single, want one of special_tokens", part["SpecialToken"].ID)
		}
		for _, id := range special.IDs {
			if _, ok := t.tokens[id]; !ok {
				return fmt.Errorf("post_processor: got the id %d for %q, want that of a token", id, part["SpecialToken"].ID)
			}
		}
		if texts == 0 {
			before = append(before, special.IDs...)
		} else {
			after = append(after, special.IDs...)
		}
	}
	if texts != 1 {
		return fmt.Errorf("post_processor: got a template with the text in it %d times, want once", texts)
	}
	t.before, t.after = append(before, t.before...), append(t.after, after...)
	return nil
}
