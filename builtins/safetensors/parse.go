package safetensors

import (
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// metadataKey is the key of the header under which no tensor stands.
const metadataKey = "__metadata__"

// parseHeader reads the text of a header. It returns its tensors in the order
// of the text, and its metadata, nil if there are none.
func parseHeader(text []byte) ([]*Tensor, map[string]string, error) {
	if !utf8.Valid(text) {
		return nil, nil, &FormatError{Problem: "a header that is not UTF-8"}
	}
	var (
		s        = &scanner{text: text}
		tensors  []*Tensor
		seen     = map[string]bool{}
		metadata map[string]string
	)
	if len(text) == 0 || text[0] != '{' {
		s.want("{")
	}
	s.object(func(key string) {
		if seen[key] {
			s.fail("key %.60q twice", key)
		}
		seen[key] = true
		if key == metadataKey {
			metadata = s.strings()
		} else {
			tensors = append(tensors, s.tensor(key))
		}
	})
	s.skipSpace()
	if s.err == nil && s.at < len(text) {
		s.fail("%q after the object", s.next())
	}
	if s.err != nil {
		return nil, nil, s.err
	}
	return tensors, metadata, nil
}

// A scanner reads JSON from text, up to the first mistake.
type scanner struct {
	text []byte
	at   int
	err  error
}

func (s *scanner) fail(format string, args ...any) {
	if s.err == nil {
		s.err = &FormatError{Problem: fmt.Sprintf("byte %d of the header: ", s.at) + fmt.Sprintf(format, args...)}
	}
}

// next returns the next few bytes, for a message.
func (s *scanner) next() string { return string(s.text[s.at:min(len(s.text), s.at+20)]) }

func (s *scanner) skipSpace() {
	for s.at < len(s.text) {
		switch s.text[s.at] {
		case ' ', '\t', '\r', '\n':
			s.at++
		default:
			return
		}
	}
}

// take takes the byte c, behind spaces, and reports whether it came next.
func (s *scanner) take(c byte) bool {
	s.skipSpace()
	if s.err != nil || s.at == len(s.text) || s.text[s.at] != c {
		return false
	}
	s.at++
	return true
}

// want fails for what should come next does not.
func (s *scanner) want(what string) { s.fail("got %q, want %s", s.next(), what) }

// object takes an object. entry takes the value of each key.
func (s *scanner) object(entry func(key string)) {
	if !s.take('{') {
		s.want("{")
	}
	if s.take('}') {
		return
	}
	for s.err == nil {
		key := s.str()
		if !s.take(':') {
			s.want(":")
		}
		if s.err == nil {
			entry(key)
		}
		if s.take('}') {
			return
		}
		if !s.take(',') {
			s.want(", or }")
		}
	}
}

// tensor takes what the header says of the tensor called name.
func (s *scanner) tensor(name string) *Tensor {
	t := &Tensor{Name: name}
	seen := 0 // a bit for each key
	s.object(func(key string) {
		bit := 0
		switch key {
		case "dtype":
			bit = 1
			t.DType = s.dtype(name)
		case "shape":
			bit = 2
			s.array(func() { t.Shape = append(t.Shape, int(s.number(strconv.IntSize))) })
		case "data_offsets":
			bit = 4
			t.Begin, t.End = s.pair()
		default:
			s.fail("unknown key %.60q of tensor %.60q", key, name)
		}
		if seen&bit != 0 {
			s.fail("key %q of tensor %.60q twice", key, name)
		}
		seen |= bit
	})
	if seen != 7 {
		s.fail("tensor %.60q without all of the keys dtype, shape and data_offsets", name)
	}
	return t
}

// dtype takes an element type that the format knows.
func (s *scanner) dtype(tensor string) DType {
	d := DType(s.str())
	if d.Size() == 0 {
		s.fail("tensor %.60q has elements of unknown type %.60q", tensor, string(d))
	}
	return d
}

// strings takes an object of strings.
func (s *scanner) strings() map[string]string {
	m := map[string]string{}
	s.object(func(key string) {
		if _, ok := m[key]; ok {
			s.fail("key %.60q of %s twice", key, metadataKey)
		}
		m[key] = s.str()
	})
	return m
}

// array takes an array. item takes each of its elements.
func (s *scanner) array(item func()) {
	if !s.take('[') {
		s.want("[")
	}
	if s.take(']') {
		return
	}
	for s.err == nil {
		item()
		if s.take(']') {
			return
		}
		if !s.take(',') {
			s.want(", or ]")
		}
	}
}

// pair takes an array of two numbers.
func (s *scanner) pair() (a, b int64) {
	if !s.take('[') {
		s.want("[")
	}
	a = s.number(64)
	if !s.take(',') {
		s.want(",")
	}
	b = s.number(64)
	if !s.take(']') {
		s.want("]")
	}
	return a, b
}

// number takes an integer that is not negative and fits in bits with a sign.
func (s *scanner) number(bits int) int64 {
	s.skipSpace()
	end := s.at
	for end < len(s.text) && s.text[end] >= '0' && s.text[end] <= '9' {
		end++
	}
	digits := s.text[s.at:end]
	if len(digits) > 1 && digits[0] == '0' || len(digits) > 20 {
		s.want("a number")
		return 0
	}
	n, err := strconv.ParseInt(string(digits), 10, bits)
	if err != nil {
		s.want("a number")
		return 0
	}
	s.at = end
	return n
}

// str takes a string.
func (s *scanner) str() string {
	if !s.take('"') {
		s.want("a string")
		return ""
	}
	start, plain := s.at, true
	for ; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; {
		case c == '"':
			s.at++
			if plain {
				return string(s.text[start : s.at-1])
			}
			return s.unquote(s.text[start-1 : s.at])
		case c == '\\':
			plain = false
			s.at++ // what it escapes ends no string
		case c < ' ':
			s.fail("a string with the byte 0x%02x", c)
			return ""
		}
	}
	s.at = min(s.at, len(s.text))
	s.fail("the header ends inside a string")
	return ""
}

// unquote returns what a string in quotes, with escapes, means.
func (s *scanner) unquote(quoted []byte) string {
	var text string
	if err := json.Unmarshal(quoted, &text); err != nil {
		s.fail("a string with an escape that JSON does not know: %.60q", quoted)
	}
	return text
}
