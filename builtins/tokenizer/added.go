package tokenizer

import (
	"fmt"
	"sort"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"tpsh/builtins/tokenizer/pattern"
)

// An addedToken is found in a text before the text is cut into words.
type addedToken struct {
	ID         int
	Content    string
	SingleWord bool `json:"single_word"`
	LStrip     bool
	RStrip     bool
	Normalized bool // it is found in the normalized text, and is normalized itself
	Special    bool
}

// addedTokens finds the added tokens of a tokenizer in a text.
type addedTokens struct {
	asWritten, normalized finder
	special               map[int]bool // ids that decoding may leave out
}

// A finder finds tokens by their first bytes; of those with one first byte the
// longest come first.
type finder struct {
	byFirst [256][]addedToken
	any     bool
}

// setAdded takes over the added tokens.
func (t *Tokenizer) setAdded(list []addedToken) error {
	t.added.special = map[int]bool{}
	for i, a := range list {
		if a.Content == "" {
			return fmt.Errorf("added_tokens[%d]: got an empty token with the id %d, want some text", i, a.ID)
		}
		if err := t.name(a.Content, a.ID); err != nil {
			return fmt.Errorf("added_tokens[%d]: %w", i, err)
		}
		t.addedIDs[a.Content] = a.ID
		if a.Special {
			t.added.special[a.ID] = true
		}
		if !a.Normalized {
			t.added.asWritten.add(a)
			continue
		}
		p, err := t.normalized(piece{text: a.Content})
		if err != nil {
			return fmt.Errorf("added_tokens[%d]: %w", i, err)
		}
		a.Content = p.text
		t.added.normalized.add(a)
	}
	t.added.asWritten.sort()
	t.added.normalized.sort()
	return nil
}

// sort puts the longest tokens first.
func (f *finder) sort() {
	for _, list := range f.byFirst {
		sort.SliceStable(list, func(i, j int) bool { return len(list[i].Content) > len(list[j].Content) })
	}
}

func (f *finder) add(a addedToken) {
	if a.Content != "" { // what normalizes to nothing is found nowhere
		f.byFirst[a.Content[0]] = append(f.byFirst[a.Content[0]], a)
		f.any = true
	}
}

// each calls yield for each token in text and for each part between two, whose
// id is -1. Of several tokens at one place it is the longest.
func (f *finder) each(text string, yield func(lo, hi, id int)) {
	end := 0 // of the last token, and of the space that it takes up
	for i := 0; f.any && i < len(text); {
		found := f.at(text, i)
		if found == nil {
			i++
			continue
		}
		lo, hi := i, i+len(found.Content)
		i = hi
		if found.SingleWord && !alone(text, lo, hi) {
			continue
		}
		if found.LStrip && lo > end {
			lo = end + len(strings.TrimRightFunc(text[end:lo], unicode.IsSpace))
		}
		if found.RStrip {
			hi = len(text) - len(strings.TrimLeftFunc(text[hi:], unicode.IsSpace))
		}
		if end < lo {
			yield(end, lo, -1)
		}
		yield(lo, hi, found.ID)
		end, i = hi, max(i, hi)
	}
	if end < len(text) {
		yield(end, len(text), -1)
	}
}

// at returns the longest token that begins at text[i:], or nil.
func (f *finder) at(text string, i int) *addedToken {
	list := f.byFirst[text[i]]
	for k := range list {
		if strings.HasPrefix(text[i:], list[k].Content) {
			return &list[k]
		}
	}
	return nil
}

// alone reports whether text[lo:hi] is no part of a longer word.
func alone(text string, lo, hi int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:lo])
	after, _ := utf8.DecodeRuneInString(text[hi:])
	return (lo == 0 || !wordChars().Has(before)) && (hi == len(text) || !wordChars().Has(after))
}

// wordChars is \w as Unicode's recommendations for regular expressions have it
// (UTS #18, annex C).
var wordChars = sync.OnceValue(func() *pattern.Set {
	return pattern.NewSet(`[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]`)
})
