package source

import (
	"errors"
	"math/big"
	"strconv"
	"strings"

	"go.starlark.net/syntax"
)

// number takes a number.
func (s *scanner) number() Token {
	if s.peek(0) == '0' && strings.ContainsRune("xXoObB", s.peek(1)) {
		s.takeN(2)
		for isDigit(s.peek(0)) || isLetter(s.peek(0)) {
			s.take()
		}
		return syntax.INT
	}
	kind := syntax.INT
	s.digits()
	if s.peek(0) == '.' {
		s.take()
		s.digits()
		kind = syntax.FLOAT
	}
	if c := s.peek(0); c == 'e' || c == 'E' {
		s.take()
		if c := s.peek(0); c == '+' || c == '-' {
			s.take()
		}
		s.digits()
		kind = syntax.FLOAT
	}
	return kind
}

// digits takes digits, with underscores between them.
func (s *scanner) digits() {
	for isDigit(s.peek(0)) || s.peek(0) == '_' && isDigit(s.peek(1)) {
		s.take()
	}
}

// numberValue returns the value of a number: int64, *big.Int or float64.
func numberValue(t token) any {
	text := strings.ReplaceAll(t.raw, "_", "")
	if t.kind == syntax.FLOAT {
		f, err := strconv.ParseFloat(text, 64)
		if errors.Is(err, strconv.ErrSyntax) {
			fail(t.pos, "%s is no number", t.raw)
		}
		if err != nil {
			fail(t.pos, "%s is no number that a float can hold", t.raw)
		}
		return f
	}
	if len(text) > 1 && text[0] == '0' && isDigit(rune(text[1])) {
		if strings.Trim(text, "0") == "" {
			return int64(0)
		}
		fail(t.pos, "a number does not begin with 0: write %s, or 0o%s for octal", strings.TrimLeft(text, "0"), strings.TrimLeft(text, "0"))
	}
	if n, err := strconv.ParseInt(text, 0, 64); err == nil {
		return n
	}
	n, ok := new(big.Int).SetString(text, 0)
	if !ok {
		fail(t.pos, "%s is no number", t.raw)
	}
	return n
}

// stringPrefix returns how many letters stand before the quote of a string, or
// -1 if there is none.
func (s *scanner) stringPrefix() int {
	for n := range 3 {
		switch c := s.peek(n); {
		case c == '"' || c == '\'':
			return n
		case c < 0 || !strings.ContainsRune("rRbBfFuU", c):
			return -1
		}
	}
	return -1
}

// stringPrefixes may stand before a quote.
var stringPrefixes = map[string]bool{"": true, "r": true, "b": true, "f": true, "u": true, "rb": true, "br": true, "rf": true, "fr": true}

// A quoting says how a string is written.
type quoting struct {
	quote  byte
	triple bool
	raw    bool
	bytes  bool
	format bool
}

// quotingOf returns how the string is written that raw begins.
func quotingOf(raw string) (q quoting, opening int) {
	for raw[opening] != '"' && raw[opening] != '\'' {
		switch raw[opening] {
		case 'r', 'R':
			q.raw = true
		case 'b', 'B':
			q.bytes = true
		case 'f', 'F':
			q.format = true
		}
		opening++
	}
	q.quote = raw[opening]
	q.triple = strings.HasPrefix(raw[opening:], strings.Repeat(string(q.quote), 3))
	if q.triple {
		return q, opening + 3
	}
	return q, opening + 1
}

// closing returns the quotes with which the string ends.
func (q quoting) closing() string {
	if q.triple {
		return strings.Repeat(string(q.quote), 3)
	}
	return string(q.quote)
}

// str takes a string with a prefix of n letters. Of an f-string it takes the
// opening.
func (s *scanner) str(n int) Token {
	start := s.pos()
	q, opening := quotingOf(s.src[s.off:])
	if prefix := s.src[s.off : s.off+n]; !stringPrefixes[strings.ToLower(prefix)] {
		fail(start, `%s means nothing before a text: write r"...", b"..." or f"..."`, prefix)
	}
	s.takeN(opening)
	if q.format {
		return FSTRING
	}
	for !strings.HasPrefix(s.src[s.off:], q.closing()) {
		s.char(q, start)
	}
	s.takeN(len(q.closing()))
	if q.bytes {
		return syntax.BYTES
	}
	return syntax.STRING
}

// char takes a character or an escape inside of a string that begins at start.
func (s *scanner) char(q quoting, start syntax.Position) {
	c := s.take()
	if c == '\\' {
		c = s.take()
		if c == '\n' {
			return
		}
	}
	switch {
	case c < 0 && q.triple:
		failEnd(start, "the text that begins here never ends: close it with %s", q.closing())
	case c < 0:
		fail(start, "the text that begins here never ends: close it with %s", q.closing())
	case c == '\n' && !q.triple:
		fail(start, `the text ends with its line: close it with %s, or write %s around text of several lines`, q.closing(), strings.Repeat(string(q.quote), 3))
	}
}

// unquote returns the text of a string that is written so.
func unquote(t token) string {
	q, opening := quotingOf(t.raw)
	body := t.raw[opening : len(t.raw)-len(q.closing())]
	if !strings.ContainsAny(body, "\\\r") {
		return body
	}
	return unescape(t, q, body)
}

// unescape returns the text that stands between the quotes of a string. It has
// Starlark's parser read it, which knows the escapes.
func unescape(t token, q quoting, body string) string {
	quoted := q.closing() + body + q.closing()
	if q.bytes {
		quoted = "b" + quoted
	}
	if q.raw {
		quoted = "r" + quoted
	}
	x, err := new(syntax.FileOptions).ParseExpr("", quoted, 0)
	if err != nil {
		_, message, _ := strings.Cut(err.Error(), ": ")
		failEscape(t, message)
	}
	return x.(*syntax.Literal).Value.(string)
}

// failEscape fails at a wrong escape, of which Starlark's parser says
// message.
func failEscape(t token, message string) {
	if _, escape, ok := strings.Cut(message, "invalid escape sequence "); ok && len(escape) == 2 {
		fail(t.pos, `the text holds %s, which is no escape: write \%s for a backslash, or r"..." around the text`, escape, escape)
	}
	fail(t.pos, "the text holds an escape that is none: %s", strings.TrimPrefix(message, "invalid escape sequence "))
}

// oneLine returns raw with every end of a line written as \n, as Starlark's
// literals have it.
func oneLine(raw string) string {
	if !strings.Contains(raw, "\r") {
		return raw
	}
	return strings.ReplaceAll(strings.ReplaceAll(raw, "\r\n", "\n"), "\r", "\n")
}
