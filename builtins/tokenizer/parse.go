package tokenizer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// A file is what a tokenizer.json holds, as far as it is used.
type file struct {
	Added         []addedToken    `json:"added_tokens"`
	Normalizer    json.RawMessage `json:"normalizer"`
	PreTokenizer  json.RawMessage `json:"pre_tokenizer"`
	PostProcessor json.RawMessage `json:"post_processor"`
	Decoder       json.RawMessage `json:"decoder"`
	Model         json.RawMessage `json:"model"`
}

// maxNesting bounds how deep a Sequence may lie in others.
const maxNesting = 8

// Parse returns the tokenizer that data, a tokenizer.json file, describes. It
// is an error if it has parts that are not known here.
func Parse(data []byte) (*Tokenizer, error) {
	var f file
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, err
	}
	return f.tokenizer()
}

// tokenizer returns the tokenizer of a file.
func (f *file) tokenizer() (*Tokenizer, error) {
	t := &Tokenizer{addedIDs: map[string]int{}}
	if !given(f.Model) {
		return nil, errors.New("model: got nothing, want a BPE, WordPiece, Unigram or WordLevel")
	}
	for _, part := range []struct {
		name string
		raw  json.RawMessage
		add  func(part) error
	}{
		{"normalizer", f.Normalizer, t.addNormalizer},
		{"pre_tokenizer", f.PreTokenizer, t.addSplit},
		{"decoder", f.Decoder, t.addDecoder},
		{"model", f.Model, t.setModel},
	} {
		if err := each(part.raw, part.name, part.add); err != nil {
			return nil, err
		}
	}
	if err := t.setAdded(f.Added); err != nil {
		return nil, err
	}
	if err := each(f.PostProcessor, "post_processor", t.addFrame); err != nil {
		return nil, err
	}
	t.fuseBytes()
	t.pool.New = func() any { return &scratch{} }
	return t, nil
}

// given reports whether a part of a file is there.
func given(raw json.RawMessage) bool { return len(raw) > 0 && !bytes.Equal(raw, []byte("null")) }

// A part is an object of a file with a type, and its place in the file.
type part struct {
	place string
	kind  string
	raw   json.RawMessage
}

// sequences has the parts of a Sequence, under the name of its place.
type sequences struct {
	Normalizers, Pretokenizers, Processors, Decoders []json.RawMessage
}

// each calls add for a part of a file that may be left out or, where that is a
// Sequence, for the parts of it.
func each(raw json.RawMessage, place string, add func(part) error) error {
	if !given(raw) {
		return nil
	}
	return eachIn(raw, place, add, 0)
}

func eachIn(raw json.RawMessage, place string, add func(part) error, depth int) error {
	var head struct{ Type string }
	if err := json.Unmarshal(raw, &head); err != nil {
		return fmt.Errorf("%s: %w", place, err)
	}
	if head.Type != "Sequence" {
		return add(part{place, head.Type, raw})
	}
	if depth == maxNesting {
		return fmt.Errorf("%s: got Sequences %d deep, want at most %d", place, depth+1, maxNesting)
	}
	var all sequences
	if err := json.Unmarshal(raw, &all); err != nil {
		return fmt.Errorf("%s: %w", place, err)
	}
	for _, list := range []struct {
		name  string
		parts []json.RawMessage
	}{
		{"normalizers", all.Normalizers}, {"pretokenizers", all.Pretokenizers},
		{"processors", all.Processors}, {"decoders", all.Decoders},
	} {
		for i, each := range list.parts {
			if err := eachIn(each, fmt.Sprintf("%s.%s[%d]", place, list.name, i), add, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// read fills spec with the fields of a part.
func (p part) read(spec any) error {
	if err := json.Unmarshal(p.raw, spec); err != nil {
		return p.errorf("%w", err)
	}
	return nil
}

// errorf returns an error that begins with the place of a part and its type.
func (p part) errorf(format string, args ...any) error {
	return fmt.Errorf("%s: %w", p.name(), fmt.Errorf(format, args...))
}

func (p part) name() string {
	if p.kind == "" {
		return p.place
	}
	return p.place + ": " + p.kind
}

// unknown returns the error for a part of a type that is not known.
func (p part) unknown(known ...string) error {
	got := "no type"
	if p.kind != "" {
		got = fmt.Sprintf("the type %q", p.kind)
	}
	last := len(known) - 1
	return fmt.Errorf("%s: got %s, want %s or %s", p.place, got, strings.Join(known[:last], ", "), known[last])
}

// keysOf returns the keys of a table, sorted.
func keysOf[V any](table map[string]V) []string {
	keys := make([]string, 0, len(table))
	for k := range table {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// char returns the one character of s, the field of a part.
func (p part) char(field, s string) (rune, error) {
	r, size := utf8.DecodeRuneInString(s)
	if size == 0 || size != len(s) {
		return 0, p.errorf("%s: got %q, want one character", field, s)
	}
	return r, nil
}
