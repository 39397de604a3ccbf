package tokenizer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A reader reads the large parts of a file, which package json would take
// seconds for: it has already seen that they are JSON.
type reader struct {
	data []byte
	i    int
	err  error
}

// next skips white space and returns the next byte, 0 at the end.
func (r *reader) next() byte {
	for r.i < len(r.data) {
		switch c := r.data[r.i]; c {
		case ' ', '\t', '\n', '\r':
			r.i++
		default:
			return c
		}
	}
	return 0
}

// take skips c if it comes next.
func (r *reader) take(c byte) bool {
	if r.err != nil || r.next() != c {
		return false
	}
	r.i++
	return true
}

func (r *reader) want(c byte, what string) {
	if !r.take(c) && r.err == nil {
		got := r.data[r.i:]
		r.err = fmt.Errorf("got %s, want %s", strings.ToValidUTF8(string(got[:min(len(got), 20)]), ""), what)
	}
}

// str reads a string.
func (r *reader) str() string {
	r.want('"', "a string")
	if r.err != nil {
		return ""
	}
	from := r.i
	for plain := true; r.i < len(r.data); r.i++ {
		switch c := r.data[r.i]; {
		case c == '"':
			r.i++
			if plain && utf8.Valid(r.data[from:r.i-1]) {
				return string(r.data[from : r.i-1])
			}
			var s string
			r.err = json.Unmarshal(r.data[from-1:r.i], &s)
			return s
		case c == '\\':
			plain = false
			r.i++
		}
	}
	r.want('"', "the end of a string")
	return ""
}

// number returns the text of a number.
func (r *reader) number() string {
	r.next()
	from := r.i
	for r.i < len(r.data) && bytes.IndexByte([]byte("+-.0123456789eE"), r.data[r.i]) >= 0 {
		r.i++
	}
	if from == r.i {
		r.want(0, "a number")
	}
	return string(r.data[from:r.i])
}

// list reads what stands between two brackets and commas.
func (r *reader) list(open, end byte, what string, item func()) {
	r.want(open, what)
	if r.take(end) {
		return
	}
	for r.err == nil {
		item()
		if !r.take(',') {
			r.want(end, "a comma or the end of "+what)
			return
		}
	}
}

// A vocab is the tokens of a model, and their numbers.
type vocab map[string]int

// UnmarshalJSON implements json.Unmarshaler.
func (v *vocab) UnmarshalJSON(data []byte) error {
	r := &reader{data: data}
	*v = make(vocab, bytes.Count(data, []byte(":")))
	r.list('{', '}', "an object", func() {
		token := r.str()
		r.want(':', "a colon")
		text := r.number()
		id, err := strconv.Atoi(text)
		if err != nil && r.err == nil {
			r.err = fmt.Errorf("token %q: got the id %s, want an int", token, text)
		}
		(*v)[token] = id
	})
	return r.err
}

// Merges are pairs of tokens, each written "a b" in older files and ["a", "b"]
// in newer ones.
type mergeLines [][2]string

// UnmarshalJSON implements json.Unmarshaler.
func (m *mergeLines) UnmarshalJSON(data []byte) error {
	r := &reader{data: data}
	r.list('[', ']', "a list", func() {
		r.next()
		from := r.i
		var list []string
		if r.next() == '"' {
			list = strings.Split(r.str(), " ")
		} else {
			list = make([]string, 0, 2)
			r.list('[', ']', "a merge", func() { list = append(list, r.str()) })
		}
		if len(list) != 2 && r.err == nil {
			r.err = fmt.Errorf("got the merge %s, want two tokens", r.data[from:r.i])
			return
		}
		if r.err == nil {
			*m = append(*m, [2]string{list[0], list[1]})
		}
	})
	return r.err
}

// scored are tokens and logarithms of their probabilities, ["token", -1.5].
type scored []struct {
	token string
	score float64
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *scored) UnmarshalJSON(data []byte) error {
	r := &reader{data: data}
	r.list('[', ']', "a list", func() {
		r.want('[', "a token and a number")
		token := r.str()
		r.want(',', "a token and a number")
		score, err := strconv.ParseFloat(r.number(), 64)
		if r.want(']', "a token and a number"); r.err != nil {
			return
		}
		if err != nil || math.IsNaN(score) {
			r.err = fmt.Errorf("token %q: got a score that is no number", token)
			return
		}
		*s = append(*s, struct {
			token string
			score float64
		}{token, score})
	})
	return r.err
}
