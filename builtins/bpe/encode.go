package bpe

import (
	"fmt"
	"strings"
)

// Size returns the number of tokens, added ones included.
func (t *Tokenizer) Size() int { return len(t.tokens) }

// ID returns the number of a token; ok is false if there is none.
func (t *Tokenizer) ID(token string) (id int, ok bool) {
	id, ok = t.ids[token]
	return id, ok
}

// Token returns the token with a number, as the file writes it; ok is false if
// there is none.
func (t *Tokenizer) Token(id int) (token string, ok bool) {
	token, ok = t.tokens[id]
	return token, ok
}

// Encode returns the numbers of the tokens of text. With frame they stand
// between those that the file puts around a text, such as one that begins it.
// It is an error if a byte has no token.
func (t *Tokenizer) Encode(text string, frame bool) ([]int, error) {
	ids := []int{}
	if frame {
		ids = append(ids, t.before...)
	}
	for from := 0; ; {
		found, lo, hi, ok := t.added.next(text, from)
		if !ok {
			lo = len(text)
		}
		var err error
		if ids, err = t.appendText(ids, text[from:lo]); err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		ids = append(ids, found.ID)
		from = hi
	}
	if frame {
		ids = append(ids, t.after...)
	}
	return ids, nil
}

// appendText appends the tokens of a text without added tokens to ids.
func (t *Tokenizer) appendText(ids []int, text string) ([]int, error) {
	if text == "" {
		return ids, nil
	}
	words := []string{text}
	for _, step := range t.split.steps {
		words = step(words)
	}
	for _, word := range words {
		list, err := t.word(word)
		if err != nil {
			return nil, err
		}
		ids = append(ids, list...)
	}
	return ids, nil
}

// word returns the tokens of a word.
func (t *Tokenizer) word(word string) ([]int, error) {
	if t.ignoreMerges {
		var written strings.Builder
		for i := range len(word) {
			written.WriteRune(runeOf[word[i]])
		}
		if id, ok := t.ids[written.String()]; ok {
			return []int{id}, nil
		}
	}
	ids := make([]int, len(word))
	for i := range ids {
		ids[i] = t.symbols[word[i]]
		if ids[i] < 0 {
			ids[i] = t.unknown
		}
		if ids[i] < 0 {
			return nil, fmt.Errorf("got the byte 0x%02x, in %q, want bytes that have tokens (the vocabulary lacks %q)", word[i], word, runeOf[word[i]])
		}
	}
	return merge(t.merges, ids), nil
}

// Decode returns the text of tokens, with U+FFFD in the place of bytes that are
// no UTF-8. With skip it leaves out special ones. A number that no token has is
// an error.
func (t *Tokenizer) Decode(ids []int, skip bool) (string, error) {
	var out strings.Builder
	for i, id := range ids {
		token, ok := t.tokens[id]
		switch {
		case !ok:
			return "", fmt.Errorf("got %d at index %d, want the id of a token (there are %d)", id, i, t.Size())
		case skip && t.added.special[id]:
		case t.added.literal[id]:
			out.WriteString(token)
		default:
			out.WriteString(bytesOf(token))
		}
	}
	return valid(out.String()), nil
}
