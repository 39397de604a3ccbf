package pattern

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// class reads what follows a bracket, up to the one that closes it.
func (p *parser) class() (ranges, error) {
	leave, err := p.enter()
	if err != nil {
		return nil, err
	}
	defer leave()
	negate := p.take("^")
	var all *ranges // what stands before the last &&
	set := ranges{}
	for first := true; ; first = false {
		if !p.more() {
			return nil, p.errorf("a [ without a ]")
		}
		if p.sees("]") && !(first && strings.Contains(p.s[p.i+1:], "]")) {
			p.i++
			break
		}
		if p.take("&&") {
			both := meet(all, set)
			all, set = &both, ranges{}
			continue
		}
		item, err := p.item()
		if err != nil {
			return nil, err
		}
		set = union(set, item)
	}
	set = meet(all, set)
	if p.opt.fold {
		set = set.folded()
	}
	if negate {
		set = set.not()
	}
	return set, nil
}

// meet returns what is in both, or in set if there is no other.
func meet(other *ranges, set ranges) ranges {
	if other == nil {
		return set
	}
	return intersection(*other, set)
}

// item reads a character of a class, a range, an escape or a class in it.
func (p *parser) item() (ranges, error) {
	if p.sees("[:") {
		if name, _, closed := strings.Cut(p.s[p.i+2:], ":]"); closed {
			if set, ok := posix(strings.TrimPrefix(name, "^")); ok {
				p.i += len("[:") + len(name) + len(":]")
				if strings.HasPrefix(name, "^") {
					set = set.not()
				}
				return set, nil
			}
		}
	}
	if p.take("[") {
		return p.class()
	}
	set, lo, err := p.character()
	if err != nil || set != nil {
		return set, err
	}
	if !p.sees("-") || strings.HasPrefix(p.s[p.i:], "-]") || strings.HasPrefix(p.s[p.i:], "-[") || strings.HasPrefix(p.s[p.i:], "-&&") {
		return ranges{lo, lo}, nil
	}
	start := p.i
	p.i++
	if !p.more() {
		return nil, p.errorf("a [ without a ]")
	}
	set, hi, err := p.character()
	if err != nil {
		return nil, err
	}
	if set != nil { // [a-\d] has a hyphen
		return union(set, normal(lo, lo, '-', '-')), nil
	}
	if hi < lo {
		p.i = start
		return nil, p.errorf("the range %q-%q", lo, hi)
	}
	return ranges{lo, hi}, nil
}

// character reads a character of a class, or an escape that stands for several.
func (p *parser) character() (ranges, rune, error) {
	if !p.take(`\`) {
		return nil, p.rune(), nil
	}
	if p.take("b") {
		return nil, '\b', nil
	}
	return p.escaped()
}

// controls are escapes of single characters.
var controls = map[byte]rune{'t': '\t', 'n': '\n', 'r': '\r', 'f': '\f', 'v': '\v', 'a': '\a', 'e': 0x1b}

// escaped reads what follows a backslash: a set, or if that is nil a character.
func (p *parser) escaped() (ranges, rune, error) {
	if !p.more() {
		return nil, 0, p.errorf("a \\ at the end")
	}
	c := p.s[p.i]
	if c >= utf8.RuneSelf {
		return nil, p.rune(), nil
	}
	p.i++
	if set, ok := escapes[c|0x20]; ok && ('a' <= c|0x20 && c|0x20 <= 'z') {
		if unicode.IsUpper(rune(c)) {
			return set().not(), 0, nil
		}
		return set(), 0, nil
	}
	if r, ok := controls[c]; ok {
		return nil, r, nil
	}
	switch c {
	case 'p', 'P':
		set, err := p.named(c == 'P')
		return set, 0, err
	case 'x':
		if p.take("{") {
			r, n := p.digits(16, 8)
			if n == 0 || r > unicode.MaxRune || !p.take("}") {
				return nil, 0, p.errorf("a bad \\x{}")
			}
			return nil, r, nil
		}
		r, n := p.digits(16, 2)
		if n == 0 || r >= utf8.RuneSelf {
			return nil, 0, p.errorf("a \\x that is no ASCII character")
		}
		return nil, r, nil
	case 'u':
		r, n := p.digits(16, 4)
		if n != 4 {
			return nil, 0, p.errorf("a \\u without four digits")
		}
		return nil, r, nil
	case '0':
		r, _ := p.digits(8, 2)
		return nil, r, nil
	}
	return nil, rune(c), nil
}

// digits reads up to most digits of a number.
func (p *parser) digits(base rune, most int) (r rune, n int) {
	for ; n < most && p.more(); n++ {
		d := rune(strings.IndexByte("0123456789abcdef", p.s[p.i]|0x20))
		if '0' <= p.s[p.i] && p.s[p.i] <= '9' {
			d = rune(p.s[p.i] - '0')
		}
		if d < 0 || d >= base {
			break
		}
		r = min(r*base+d, unicode.MaxRune+1)
		p.i++
	}
	return r, n
}

// named reads what follows \p.
func (p *parser) named(negate bool) (ranges, error) {
	end := strings.IndexByte(p.s[p.i:], '}')
	if !p.sees("{") || end < 0 {
		return nil, p.errorf("a \\p without a name in braces")
	}
	name := p.s[p.i+1 : p.i+end]
	set, err := property(name)
	if err != nil {
		return nil, err
	}
	p.i += end + 1
	if negate {
		set = set.not()
	}
	return set, nil
}
