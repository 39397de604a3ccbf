package pickle

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"
)

func (r *reader) byte() (byte, error) {
	if r.i >= len(r.b) {
		return 0, ErrCut
	}
	r.i++
	return r.b[r.i-1], nil
}

// take returns the next n bytes.
func (r *reader) take(n uint64) ([]byte, error) {
	if n > uint64(len(r.b)-r.i) {
		return nil, ErrCut
	}
	b := r.b[r.i : r.i+int(n)]
	r.i += int(n)
	return b, nil
}

// uint calls f with an unsigned number of width bytes, lowest first.
func (r *reader) uint(width int, f func(uint64) error) error {
	b, err := r.take(uint64(width))
	if err != nil {
		return err
	}
	var all [8]byte
	copy(all[:], b)
	return f(binary.LittleEndian.Uint64(all[:]))
}

// counted calls f with as many bytes as the number before them says.
func (r *reader) counted(width int, f func([]byte) error) error {
	return r.uint(width, func(n uint64) error {
		b, err := r.take(n)
		if err != nil {
			return err
		}
		return f(b)
	})
}

// line calls f with the bytes up to the end of the line.
func (r *reader) line(f func(string) error) error {
	n := bytes.IndexByte(r.b[r.i:], '\n')
	if n < 0 {
		return ErrCut
	}
	s := string(r.b[r.i : r.i+n])
	r.i += n + 1
	return f(s)
}

func (r *reader) put(s string) error { return index(s, r.memoize) }
func (r *reader) get(s string) error { return index(s, r.recall) }

func index(s string, f func(uint64) error) error {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return fmt.Errorf("got %.40q, want the number of a value", s)
	}
	return f(n)
}

func (r *reader) intText(s string) error {
	switch s {
	case "00":
		return r.push(false)
	case "01":
		return r.push(true)
	}
	return r.longText(s)
}

func (r *reader) longText(s string) error {
	digits := strings.TrimSuffix(strings.TrimSpace(s), "L")
	n, ok := new(big.Int), len(digits) <= maxLong
	if ok {
		_, ok = n.SetString(digits, 10)
	}
	if !ok {
		return fmt.Errorf("got %.40q, want an int", s)
	}
	return r.pushBig(n)
}

func (r *reader) floatText(s string) error {
	x, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil && !math.IsInf(x, 0) {
		return fmt.Errorf("got %.40q, want a float", s)
	}
	return r.push(x)
}

func floatOp(r *reader) error {
	b, err := r.take(8)
	if err != nil {
		return err
	}
	return r.push(math.Float64frombits(binary.BigEndian.Uint64(b)))
}

func (r *reader) text(b []byte) error  { return r.push(string(b)) }
func (r *reader) bytes(b []byte) error { return r.push(bytes.Clone(b)) }

// quoted reads text as Python 2's repr writes it: in quotes, with escapes.
func (r *reader) quoted(s string) error {
	s = strings.TrimSpace(s)
	if len(s) < 2 || s[0] != s[len(s)-1] || s[0] != '\'' && s[0] != '"' {
		return fmt.Errorf("got %.40q, want text in quotes", s)
	}
	out, err := unescape(s[1:len(s)-1], simpleEscapes)
	if err != nil {
		return err
	}
	return r.push(out)
}

// escaped reads text in which only \u and \U are escapes.
func (r *reader) escaped(s string) error {
	out, err := unescape(s, "")
	if err != nil {
		return err
	}
	return r.push(out)
}

// simpleEscapes has the letters behind a backslash, each with its meaning.
const simpleEscapes = "n\nt\tr\ra\ab\bf\fv\v\\\\''\"\""

// unescape replaces the escapes in s: \u and \U where simple is empty, else
// \x and those of simple. Bytes over 127 are Latin-1, as in Python.
func unescape(s, simple string) (string, error) {
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			out.WriteRune(rune(s[i]))
			continue
		}
		c, n := s[i+1], 0
		switch {
		case simple == "" && c == 'u':
			n = 4
		case simple == "" && c == 'U':
			n = 8
		case simple != "" && c == 'x':
			n = 2
		}
		if n == 0 {
			i += plainEscape(&out, c, simple)
			continue
		}
		if i+2+n > len(s) {
			return "", fmt.Errorf("got %.40q, want %d hex digits behind \\%c", s[i:], n, c)
		}
		code, err := strconv.ParseUint(s[i+2:i+2+n], 16, 32)
		if err != nil || code > utf8.MaxRune {
			return "", fmt.Errorf("got %.40q, want %d hex digits behind \\%c", s[i:], n, c)
		}
		out.WriteRune(rune(code))
		i += 1 + n
	}
	return out.String(), nil
}

// plainEscape writes what a backslash and c stand for, and returns how many
// bytes behind the backslash that took. A backslash behind another begins no escape.
func plainEscape(out *strings.Builder, c byte, simple string) int {
	for k := 0; k+1 < len(simple); k += 2 {
		if simple[k] == c {
			out.WriteByte(simple[k+1])
			return 1
		}
	}
	out.WriteByte('\\')
	if c == '\\' {
		out.WriteByte(c)
		return 1
	}
	return 0
}
