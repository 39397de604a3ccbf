package operator

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.starlark.net/starlark"

	"tpsh/internal/units"
)

// A printer is one text % values.
type printer struct {
	rest   string
	values starlark.Tuple // of %s in turn
	keys   starlark.Mapping
	used   int
	named  bool // a field has named its value
}

// printf returns text with its fields filled in from args: a tuple of values,
// one value, or a dict of named ones.
func printf(t *starlark.Thread, text string, args starlark.Value) (string, error) {
	p := &printer{rest: text}
	if tuple, ok := args.(starlark.Tuple); ok {
		p.values = tuple
	} else {
		p.values = starlark.Tuple{args}
		if d, ok := args.(*starlark.Dict); ok {
			p.keys = d
		}
	}
	b := builder{thread: t}
	for {
		i := strings.IndexByte(p.rest, '%')
		if i < 0 {
			b.WriteString(p.rest)
			break
		}
		b.WriteString(p.rest[:i])
		p.rest = p.rest[i+1:]
		out, err := p.field()
		if err == nil {
			err = b.add(out)
		}
		if err != nil {
			return "", err
		}
	}
	if _, tuple := args.(starlark.Tuple); p.used < len(p.values) && !p.named && (tuple || p.keys == nil) {
		return "", errorf("%", "got %s for %s of the text, want one for each", units.Count(len(p.values), "value"), units.Count(p.used, "field"))
	}
	return b.String(), nil
}

// A directive is the text between the % and the letter of a field.
type directive struct {
	flags            string
	width, precision int // -1 if none is given
	verb             byte
}

// field takes a field and returns its text.
func (p *printer) field() (string, error) {
	key, named, err := p.key()
	if err != nil {
		return "", err
	}
	d := directive{width: -1, precision: -1}
	n := len(p.rest) - len(strings.TrimLeft(p.rest, "-+ #0"))
	d.flags, p.rest = p.rest[:n], p.rest[n:]
	if d.width, err = p.size(); err != nil {
		return "", err
	}
	if strings.HasPrefix(p.rest, ".") {
		p.rest = p.rest[1:]
		if d.precision, err = p.size(); err != nil {
			return "", err
		}
		d.precision = max(d.precision, 0)
	}
	p.rest = strings.TrimLeft(p.rest, "hlL")
	if p.rest == "" {
		return "", errorf("%", "got a text that ends inside of a field, want %%%% for the character")
	}
	d.verb, p.rest = p.rest[0], p.rest[1:]
	if d.verb == '%' {
		return "%", nil
	}
	v, err := p.value(key, named)
	if err != nil {
		return "", err
	}
	return d.format(v)
}

// key takes the (name) of a field.
func (p *printer) key() (name string, named bool, err error) {
	if !strings.HasPrefix(p.rest, "(") {
		return "", false, nil
	}
	name, rest, ok := strings.Cut(p.rest[1:], ")")
	if !ok {
		return "", false, errorf("%", "got a %%( without its ), want %%(name)s")
	}
	p.rest, p.named = rest, true
	return name, true, nil
}

// maxWidth bounds widths and precisions: more is a slip of the pen.
const maxWidth = 100_000

// size takes a number, or a * that stands for the next value; -1 for neither.
func (p *printer) size() (int, error) {
	if strings.HasPrefix(p.rest, "*") {
		p.rest = p.rest[1:]
		v, err := p.value("", false)
		if err != nil {
			return 0, err
		}
		n, err := starlark.AsInt32(v)
		if err != nil || n < 0 || n > maxWidth {
			return 0, errorf("%", "got %s for a * of the text, want an int that is not negative", describe(v))
		}
		return n, nil
	}
	digits := p.rest[:len(p.rest)-len(strings.TrimLeft(p.rest, "0123456789"))]
	if digits == "" {
		return -1, nil
	}
	p.rest = p.rest[len(digits):]
	n, err := strconv.Atoi(digits)
	if err != nil || n > maxWidth {
		return 0, errorf("%", "got the width %s, want at most %d", digits, maxWidth)
	}
	return n, nil
}

// value returns the next value, or the one of a name.
func (p *printer) value(key string, named bool) (starlark.Value, error) {
	if named {
		if p.keys == nil {
			return nil, errorf("%", "got no dict, want one for %%(%s)", key)
		}
		v, found, err := p.keys.Get(starlark.String(key))
		if err == nil && !found {
			err = errorf("%", "got a dict without %q, which the text names", key)
		}
		return v, err
	}
	if p.used >= len(p.values) {
		return nil, errorf("%", "got %s, want more (one for each field of the text)", units.Count(len(p.values), "value"))
	}
	p.used++
	return p.values[p.used-1], nil
}

// format returns v as the field writes it.
func (d directive) format(v starlark.Value) (string, error) {
	switch d.verb {
	case 's':
		return d.text(str(v)), nil
	case 'r', 'a':
		return d.text(repr(v, d.verb == 'a')), nil
	case 'c':
		return d.character(v)
	case 'd', 'i', 'u', 'x', 'X', 'o':
		return d.integer(v)
	case 'e', 'E', 'f', 'F', 'g', 'G':
		return FormatValue("%", floatOf(v), d.spec(d.verb))
	}
	return "", errorf("%", "got %%%c, want %%s, %%r, %%d, %%x, %%o, %%e, %%f, %%g, %%c or %%%%", d.verb)
}

// floatOf returns an int as a float, and other values as they are.
func floatOf(v starlark.Value) starlark.Value {
	if f, ok := number(v); ok {
		return starlark.Float(f)
	}
	if b, ok := v.(starlark.Bool); ok {
		return starlark.Float(float64(map[bool]int{true: 1}[bool(b)]))
	}
	return v
}

// text pads a text.
func (d directive) text(s string) string {
	if n := d.precision; n >= 0 && utf8.RuneCountInString(s) > n {
		s = string([]rune(s)[:n])
	}
	return d.pad(s)
}

func (d directive) pad(s string) string {
	space := strings.Repeat(" ", max(0, d.width-utf8.RuneCountInString(s)))
	if strings.Contains(d.flags, "-") {
		return s + space
	}
	return space + s
}

func (d directive) character(v starlark.Value) (string, error) {
	if s, ok := starlark.AsString(v); ok && utf8.RuneCountInString(s) == 1 {
		return d.pad(s), nil
	}
	n, err := starlark.AsInt32(v)
	if err != nil || n < 0 || !utf8.ValidRune(rune(n)) {
		return "", errorf("%", "got %s for %%c, want a character or its number", describe(v))
	}
	return d.pad(string(rune(n))), nil
}

// integer returns v as an integer, of a float its integral part.
func (d directive) integer(v starlark.Value) (string, error) {
	decimal := d.verb == 'd' || d.verb == 'i' || d.verb == 'u'
	verb := d.verb
	if decimal {
		verb = 'd'
	}
	if f, ok := v.(starlark.Float); ok && decimal && !math.IsNaN(float64(f)) && !math.IsInf(float64(f), 0) {
		n, _ := big.NewFloat(math.Trunc(float64(f))).Int(nil)
		v = starlark.MakeBigInt(n)
	}
	if b, ok := v.(starlark.Bool); ok {
		v = starlark.MakeInt(map[bool]int{true: 1}[bool(b)])
	}
	switch v := v.(type) {
	case starlark.Int:
		if d.precision >= 0 {
			return d.digits(v, verb)
		}
	case HasFormat:
	default:
		return "", errorf("%", "got %s for %%%c, want a number (%%s writes anything)", describe(v), d.verb)
	}
	d.precision = -1
	return FormatValue("%", v, d.spec(verb))
}

// digits returns an int with at least as many digits as the precision says.
func (d directive) digits(v starlark.Int, verb byte) (string, error) {
	width := d.precision
	if v.Sign() < 0 || strings.ContainsAny(d.flags, "+ ") {
		width++
	}
	sign := directive{flags: "0" + d.flags, width: width, precision: -1}
	text, err := FormatValue("%", v, sign.spec(verb))
	return d.pad(text), err
}

// spec returns the field in the format mini-language, for a number.
func (d directive) spec(verb byte) string {
	s := ""
	left := strings.Contains(d.flags, "-")
	if left {
		s += "<"
	} else if !strings.Contains(d.flags, "0") {
		s += ">"
	}
	for _, sign := range []string{"+", " "} {
		if strings.Contains(d.flags, sign) {
			s += sign
			break
		}
	}
	if strings.Contains(d.flags, "#") {
		s += "#"
	}
	if strings.Contains(d.flags, "0") && !left {
		s += "0"
	}
	if d.width >= 0 {
		s += strconv.Itoa(d.width)
	}
	if d.precision >= 0 {
		s += "." + strconv.Itoa(d.precision)
	}
	return s + string(verb)
}
