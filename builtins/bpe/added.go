package bpe

import (
	"fmt"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"
)

// An addedToken is found in a text as it stands, before the text is cut.
type addedToken struct {
	ID         int
	Content    string
	SingleWord bool `json:"single_word"`
	LStrip     bool
	RStrip     bool
	Special    bool
}

// addedTokens finds the added tokens of a tokenizer in a text.
type addedTokens struct {
	byFirst map[byte][]addedToken // by their first bytes, the longest first
	special map[int]bool          // ids that decoding may leave out
	literal map[int]bool          // ids whose tokens stand for themselves
}

// setAdded takes over the added tokens.
func (t *Tokenizer) setAdded(list []addedToken) error {
	t.added = addedTokens{map[byte][]addedToken{}, map[int]bool{}, map[int]bool{}}
	for _, a := range list {
		if a.Content == "" {
			return fmt.Errorf("added_tokens: got an empty token with the id %d, want some text", a.ID)
		}
		if err := t.name(a.Content, a.ID); err != nil {
			return fmt.Errorf("added_tokens: %w", err)
		}
		t.added.byFirst[a.Content[0]] = append(t.added.byFirst[a.Content[0]], a)
		t.added.special[a.ID], t.added.literal[a.ID] = a.Special, true
	}
	for _, list := range t.added.byFirst {
		sort.SliceStable(list, func(i, j int) bool { return len(list[i].Content) > len(list[j].Content) })
	}
	return nil
}

// next returns the first added token in text[from:] and the part of the text
// that it takes up; ok is false if there is none. Of several at one place it is
// the longest.
func (a *addedTokens) next(text string, from int) (found addedToken, lo, hi int, ok bool) {
	for i := from; i < len(text); i++ {
		for _, each := range a.byFirst[text[i]] {
			end := i + len(each.Content)
			if !strings.HasPrefix(text[i:], each.Content) || each.SingleWord && !alone(text, i, end) {
				continue
			}
			if each.LStrip {
				i = from + len(strings.TrimRightFunc(text[from:i], unicode.IsSpace))
			}
			if each.RStrip {
				end = len(text) - len(strings.TrimLeftFunc(text[end:], unicode.IsSpace))
			}
			return each, i, end, true
		}
	}
	return addedToken{}, 0, 0, false
}

// alone reports whether text[lo:hi] is no part of a longer word.
func alone(text string, lo, hi int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:lo])
	after, _ := utf8.DecodeRuneInString(text[hi:])
	return (lo == 0 || !ofWord(before)) && (hi == len(text) || !ofWord(after))
}

// ofWord reports whether r is a character of words.
func ofWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r) }
