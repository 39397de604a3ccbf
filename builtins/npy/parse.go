package npy

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// parseHeader reads the text of a header: a Python dictionary with the keys
// descr, fortran_order and shape, each once, in any order.
func parseHeader(text string) (*Header, error) {
	s := &scanner{rest: text}
	h := new(Header)
	seen := map[string]bool{}
	s.want("{")
	for s.err == nil && !s.take("}") {
		key := s.str()
		if seen[key] {
			s.fail("key %q twice", key)
		}
		seen[key] = true
		s.want(":")
		h.set(s, key)
		if !s.take(",") {
			s.want("}")
			break
		}
	}
	s.skipSpace()
	if s.err == nil && s.rest != "" {
		s.fail("%q after the dictionary", s.next())
	}
	if s.err != nil {
		return nil, s.err
	}
	if len(seen) != 3 {
		return nil, errors.New("a header without all of the keys descr, fortran_order and shape")
	}
	return h, nil
}

// set reads the value of key.
func (h *Header) set(s *scanner, key string) {
	switch key {
	case "descr":
		if s.peek("[") {
			s.fail("an array of records")
			return
		}
		h.Descr = s.str()
	case "fortran_order":
		h.Fortran = s.boolean()
	case "shape":
		h.Shape = s.tuple()
	default:
		s.fail("unknown key %q", key)
	}
}

// A scanner reads Python literals off the front of rest, up to the first
// mistake.
type scanner struct {
	rest string
	err  error
}

func (s *scanner) fail(format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf("a header with "+format, args...)
	}
}

// next returns the next few characters, for a message.
func (s *scanner) next() string {
	if len(s.rest) > 20 {
		return s.rest[:20]
	}
	return s.rest
}

func (s *scanner) skipSpace() { s.rest = strings.TrimLeft(s.rest, " \t\r\n") }

// peek reports whether token comes next.
func (s *scanner) peek(token string) bool {
	s.skipSpace()
	return strings.HasPrefix(s.rest, token)
}

// take takes token if it comes next, and reports whether it did.
func (s *scanner) take(token string) bool {
	if s.err != nil || !s.peek(token) {
		return false
	}
	s.rest = s.rest[len(token):]
	return true
}

// want takes token.
func (s *scanner) want(token string) {
	if !s.take(token) {
		s.fail("%q where %q should be", s.next(), token)
	}
}

// str takes a string without escapes.
func (s *scanner) str() string {
	quote := "'"
	if s.peek(`"`) {
		quote = `"`
	}
	s.want(quote)
	end := strings.Index(s.rest, quote)
	if s.err != nil || end < 0 || strings.ContainsAny(s.rest[:end], "\\\n") {
		s.fail("%q where a string should be", s.next())
		return ""
	}
	text := s.rest[:end]
	s.rest = s.rest[end+1:]
	return text
}

func (s *scanner) boolean() bool {
	if s.take("True") {
		return true
	}
	if !s.take("False") {
		s.fail("%q where True or False should be", s.next())
	}
	return false
}

// tuple takes a tuple of sizes.
func (s *scanner) tuple() []int {
	sizes := []int{}
	s.want("(")
	for s.err == nil && !s.take(")") {
		if len(sizes) == maxDims {
			s.fail("more than %d dims", maxDims)
		}
		sizes = append(sizes, s.size())
		if !s.take(",") {
			if len(sizes) == 1 {
				s.fail("a number where a tuple should be")
			}
			s.want(")")
			break
		}
	}
	return sizes
}

// size takes an int that is not negative.
func (s *scanner) size() int {
	s.skipSpace()
	end := 0
	for end < len(s.rest) && s.rest[end] >= '0' && s.rest[end] <= '9' {
		end++
	}
	n, err := strconv.Atoi(s.rest[:end])
	if err != nil {
		s.fail("%q where a size should be", s.next())
		return 0
	}
	s.rest = s.rest[end:]
	return n
}
