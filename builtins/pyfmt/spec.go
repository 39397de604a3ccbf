// Package pyfmt formats numbers and strings as Python's function format does,
// in the mini-language of format specifications:
//
//	[[fill]align][sign][#][0][width][grouping][.precision][type]
//
// See "Format Specification Mini-Language" in the documentation of Python's
// module string. It follows CPython 3.11 in the C locale, but for the option z.
//
// A Spec is a specification that was parsed. For example
//
//	s, err := pyfmt.Parse(">8.3f")
//	pyfmt.Float(3.14159, s)  // "   3.142"
package pyfmt

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// A Spec is a format specification taken apart.
type Spec struct {
	fill      rune // 0 if none is given
	align     byte // '<', '>', '=', '^', or 0
	sign      byte // '+', '-', ' ', or 0
	alternate bool // '#'
	zero      bool // '0' before the width
	width     int
	grouping  byte // ',', '_', or 0
	precision int  // -1 if none is given
	verb      byte // the type, or 0
}

// maxSize bounds the width and the precision: more is a slip of the pen.
const maxSize = 100_000

// Parse takes a format specification apart.
func Parse(text string) (*Spec, error) {
	s := &Spec{precision: -1}
	p := &parser{rest: text}
	s.fill, s.align = p.alignment()
	s.sign = p.oneOf("+- ")
	s.alternate = p.oneOf("#") != 0
	s.zero = p.oneOf("0") != 0
	s.width, _ = p.number()
	s.grouping = p.oneOf(",_")
	if p.oneOf(".") != 0 {
		n, ok := p.number()
		if !ok {
			return nil, errors.New("a dot without a precision")
		}
		s.precision = n
	}
	s.verb = p.oneOf("bcdeEfFgGnosxX%")
	if p.rest != "" {
		return nil, fmt.Errorf("%q where a type or the end should be", p.rest)
	}
	if s.width > maxSize || s.precision > maxSize {
		return nil, fmt.Errorf("a width or precision over %d", maxSize)
	}
	return s, nil
}

// A parser takes parts off the front of rest.
type parser struct{ rest string }

// alignment takes an alignment with the fill before it, if it has one.
func (p *parser) alignment() (fill rune, align byte) {
	fill, n := utf8.DecodeRuneInString(p.rest)
	if n > 0 && len(p.rest) > n && strings.IndexByte("<>=^", p.rest[n]) >= 0 {
		align = p.rest[n]
		p.rest = p.rest[n+1:]
		return fill, align
	}
	return 0, p.oneOf("<>=^")
}

// oneOf takes the next byte if it is in set, and else returns 0.
func (p *parser) oneOf(set string) byte {
	if p.rest == "" || strings.IndexByte(set, p.rest[0]) < 0 {
		return 0
	}
	b := p.rest[0]
	p.rest = p.rest[1:]
	return b
}

// number takes digits, and reports whether there are any. A number over
// maxSize is returned as some other number over it.
func (p *parser) number() (n int, ok bool) {
	for p.rest != "" && p.rest[0] >= '0' && p.rest[0] <= '9' {
		n = min(10*n+int(p.rest[0]-'0'), maxSize+1)
		p.rest = p.rest[1:]
		ok = true
	}
	return n, ok
}

// check returns an error if a value called kind has no such type as verbs.
func (s *Spec) check(kind, verbs string) error {
	if s.verb != 0 && strings.IndexByte(verbs, s.verb) < 0 {
		return fmt.Errorf("the type %q, which %s does not have", s.verb, kind)
	}
	if s.grouping != 0 && strings.IndexByte("cns", s.verb) >= 0 && s.verb != 0 {
		return fmt.Errorf("the grouping %q with the type %q", s.grouping, s.verb)
	}
	return nil
}

// pad fills text up to the width, aligned as the specification says or else
// by standard.
func (s *Spec) pad(text string, standard byte) string {
	missing := s.width - utf8.RuneCountInString(text)
	if missing <= 0 {
		return text
	}
	fill := s.fill
	if fill == 0 {
		fill = ' '
		if s.zero {
			fill = '0'
		}
	}
	align := s.align
	if align == 0 {
		align = standard
	}
	left := 0
	switch align {
	case '>':
		left = missing
	case '^':
		left = missing / 2
	}
	return strings.Repeat(string(fill), left) + text + strings.Repeat(string(fill), missing-left)
}
