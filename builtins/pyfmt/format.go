package pyfmt

import (
	"errors"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"
)

// String formats a string.
func String(text string, s *Spec) (string, error) {
	if err := s.check("a string", "s"); err != nil {
		return "", err
	}
	switch {
	case s.grouping != 0:
		return "", errors.New("a grouping, which a string does not have")
	case s.sign != 0:
		return "", errors.New("a sign, which a string does not have")
	case s.alternate:
		return "", errors.New(`"#", which a string does not have`)
	case s.align == '=':
		return "", errors.New(`the alignment "=", which a string does not have`)
	}
	if n := s.precision; n >= 0 && utf8.RuneCountInString(text) > n {
		text = string([]rune(text)[:n])
	}
	return s.pad(text, '<'), nil
}

// Int formats an integer.
func Int(x *big.Int, s *Spec) (string, error) {
	if err := s.check("an int", "bcdeEfFgGnoxX%"); err != nil {
		return "", err
	}
	if s.verb != 0 && strings.IndexByte("eEfFgG%", s.verb) >= 0 {
		f, _ := new(big.Float).SetInt(x).Float64()
		if math.IsInf(f, 0) {
			return "", errors.New("a type of floats, and the int is too large for one")
		}
		return Float(f, s)
	}
	if s.precision >= 0 {
		return "", errors.New("a precision, which an int does not have")
	}
	if s.verb == 'c' {
		return s.character(x)
	}
	base, prefix, group := 10, "", 3
	switch s.verb {
	case 'b':
		base, prefix, group = 2, "0b", 4
	case 'o':
		base, prefix, group = 8, "0o", 4
	case 'x', 'X':
		base, prefix, group = 16, "0"+string(s.verb), 4
	}
	if group == 4 && s.grouping == ',' {
		return "", errors.New("the grouping ',' with a type that is not decimal")
	}
	if !s.alternate {
		prefix = ""
	}
	digits := new(big.Int).Abs(x).Text(base)
	if s.verb == 'X' {
		digits = strings.ToUpper(digits)
	}
	n := number{negative: x.Sign() < 0, prefix: prefix, whole: digits, group: group}
	return n.format(s), nil
}

// character formats the character that x is the code of.
func (s *Spec) character(x *big.Int) (string, error) {
	if s.sign != 0 || s.alternate {
		return "", errors.New(`a sign or "#" with the type 'c'`)
	}
	if !x.IsInt64() || x.Int64() < 0 || x.Int64() > utf8.MaxRune || !utf8.ValidRune(rune(x.Int64())) {
		return "", errors.New("the type 'c', and the int is no character")
	}
	n := number{whole: string(rune(x.Int64()))}
	return n.format(s), nil
}

// Float formats a floating-point number.
func Float(x float64, s *Spec) (string, error) {
	if err := s.check("a float", "eEfFgGn%"); err != nil {
		return "", err
	}
	n := number{negative: math.Signbit(x) && !math.IsNaN(x), group: 3}
	x = math.Abs(x)
	if s.verb == '%' {
		x *= 100
		n.rest = "%"
	}
	if math.IsNaN(x) || math.IsInf(x, 0) {
		n.whole, n.group = "inf", 0
		if math.IsNaN(x) {
			n.whole = "nan"
		}
	} else {
		n.whole, n.rest = cutWhole(s.digits(x) + n.rest)
	}
	if s.verb == 'E' || s.verb == 'F' || s.verb == 'G' {
		n.whole, n.rest = strings.ToUpper(n.whole), strings.ToUpper(n.rest)
	}
	return n.format(s), nil
}

// cutWhole cuts text after its first digits.
func cutWhole(text string) (whole, rest string) {
	i := 0
	for i < len(text) && text[i] >= '0' && text[i] <= '9' {
		i++
	}
	return text[:i], text[i:]
}

// digits returns the text of x, which is finite and not negative.
func (s *Spec) digits(x float64) string {
	precision := s.precision
	if precision < 0 {
		precision = 6
	}
	switch s.verb {
	case 'e', 'E':
		return s.point(strconv.FormatFloat(x, 'e', precision, 64))
	case 'f', 'F', '%':
		return s.point(strconv.FormatFloat(x, 'f', precision, 64))
	case 0:
		if s.precision < 0 {
			return s.general(x, -1, 16, true)
		}
		return s.general(x, max(precision, 1), max(precision, 1)-1, true)
	}
	return s.general(x, max(precision, 1), max(precision, 1), false)
}

// point adds a decimal point to text, if it has none and "#" asks for one.
func (s *Spec) point(text string) string {
	if !s.alternate || strings.Contains(text, ".") {
		return text
	}
	whole, rest := cutWhole(text)
	return whole + "." + rest
}

// general writes x with so many significant digits (-1: as many as it takes
// to tell x from its neighbours), with an exponent if that is below -4 or at
// least limit. Zeros at the end are dropped unless "#" keeps them; with
// fraction, one digit after the point stays.
func (s *Spec) general(x float64, precision, limit int, fraction bool) string {
	if precision > 0 {
		precision-- // of digits after the first
	}
	mantissa, exp, _ := strings.Cut(strconv.FormatFloat(x, 'e', precision, 64), "e")
	digits := strings.Replace(mantissa, ".", "", 1)
	if !s.alternate {
		digits = strings.TrimRight(digits[1:], "0")
		digits = mantissa[:1] + digits
	}
	exponent, err := strconv.Atoi(exp)
	if err != nil {
		panic("pyfmt: no exponent in a number written with one")
	}
	if exponent < -4 || exponent >= limit {
		return s.point(withPoint(digits, 1) + "e" + exp)
	}
	text := withPoint(digits, exponent+1)
	if fraction && !strings.Contains(text, ".") {
		return text + ".0"
	}
	return s.point(text)
}

// withPoint puts a decimal point after so many of the digits, with zeros where
// there are none; none after the last.
func withPoint(digits string, after int) string {
	switch {
	case after <= 0:
		return "0." + strings.Repeat("0", -after) + digits
	case after >= len(digits):
		return digits + strings.Repeat("0", after-len(digits))
	}
	return digits[:after] + "." + digits[after:]
}

// A number is the text of one in parts: sign, prefix, whole, rest.
type number struct {
	negative bool
	prefix   string // "0x"
	whole    string // the digits before the point
	rest     string // what comes after them
	group    int    // how many digits are a group; 0 if they are no digits
}

// format puts the parts together.
func (n *number) format(s *Spec) string {
	sign := ""
	switch {
	case n.negative:
		sign = "-"
	case s.sign == '+' || s.sign == ' ':
		sign = string(s.sign)
	}
	head := sign + n.prefix
	inner := s.width - len(head) - utf8.RuneCountInString(n.rest)
	// Zeros before the number are digits of it, and grouped with the others.
	zeros := s.align == '=' && (s.fill == '0' || s.fill == 0 && s.zero) || s.align == 0 && s.zero
	whole := n.whole
	if zeros {
		whole = n.extend(inner, s.grouping)
	}
	if s.grouping != 0 && n.group > 0 {
		whole = group(whole, n.group, s.grouping)
	}
	if s.align == '=' && !zeros {
		t := Spec{fill: s.fill, width: inner}
		return head + t.pad(whole, '>') + n.rest
	}
	return s.pad(head+whole+n.rest, '>')
}

// extend returns the digits with zeros before them, so many that they are at
// least width wide when grouped.
func (n *number) extend(width int, grouping byte) string {
	if grouping != 0 && n.group > 0 {
		// k digits are k + (k-1)/group wide; this is the least k that fits.
		width = width*n.group/(n.group+1) + 1
	}
	if missing := width - utf8.RuneCountInString(n.whole); missing > 0 {
		return strings.Repeat("0", missing) + n.whole
	}
	return n.whole
}

// group puts a separator between groups of so many digits, counted from the
// end.
func group(digits string, size int, separator byte) string {
	var b strings.Builder
	for i := range len(digits) {
		if i > 0 && (len(digits)-i)%size == 0 {
			b.WriteByte(separator)
		}
		b.WriteByte(digits[i])
	}
	return b.String()
}
