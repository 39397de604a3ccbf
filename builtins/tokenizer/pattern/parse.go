package pattern

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A kind says what a node matches.
type kind int

const (
	kindEmpty  kind = iota
	kindSet         // one character of set
	kindCat         // its parts, one after the other
	kindAlt         // the first of its parts that lets the rest match
	kindRepeat      // its part, low to high times
	kindAtomic      // its part, without trying another way to match it
	kindLook        // nothing, where its part matches
	kindAssert      // nothing, at some places
)

// A greed says in which order numbers of repetitions are tried.
type greed int

const (
	greedy greed = iota
	lazy
	possessive
)

// Places that a kindAssert stands for.
const (
	lineStart = iota
	lineEnd
	textStart
	textEnd
	textEndOrNewline
	wordEdge
	noWordEdge
)

// unbounded is the upper bound of a repetition that has none.
const unbounded = -1

// A node is a part of a pattern.
type node struct {
	kind   kind
	set    ranges
	parts  []*node
	low    int
	high   int
	greed  greed
	place  int
	negate bool // of kindLook
	behind bool // of kindLook
}

// options are what (?imx) sets.
type options struct{ fold, dot, extended bool }

// A parser reads a pattern.
type parser struct {
	s     string
	i     int
	opt   options
	depth int
}

// maxDepth bounds how deep groups and classes nest.
const maxDepth = 100

func (p *parser) errorf(format string, args ...any) error {
	return fmt.Errorf("got %s at byte %d of the pattern", fmt.Sprintf(format, args...), p.i)
}

func (p *parser) more() bool              { return p.i < len(p.s) }
func (p *parser) sees(prefix string) bool { return strings.HasPrefix(p.s[p.i:], prefix) }

// take skips a prefix if it is there.
func (p *parser) take(prefix string) bool {
	if !p.sees(prefix) {
		return false
	}
	p.i += len(prefix)
	return true
}

// rune returns the next character, and skips it.
func (p *parser) rune() rune {
	c, size := utf8.DecodeRuneInString(p.s[p.i:])
	p.i += size
	return c
}

// enter counts the depth; what it returns has to be called at the end.
func (p *parser) enter() (leave func(), err error) {
	if p.depth++; p.depth > maxDepth {
		return nil, p.errorf("groups and classes more than %d deep", maxDepth)
	}
	return func() { p.depth-- }, nil
}

// parse returns the whole pattern.
func (p *parser) parse() (*node, error) {
	n, err := p.alternatives()
	if err == nil && p.more() {
		return nil, p.errorf("a ) without a (")
	}
	return n, err
}

// alternatives reads up to the end of a group or of the pattern. Options that
// are set in it end with it.
func (p *parser) alternatives() (*node, error) {
	leave, err := p.enter()
	if err != nil {
		return nil, err
	}
	defer leave()
	defer func(opt options) { p.opt = opt }(p.opt)
	alt := &node{kind: kindAlt}
	for {
		cat := &node{kind: kindCat}
		for p.more() && !p.sees("|") && !p.sees(")") {
			n, err := p.repeated()
			if err != nil {
				return nil, err
			}
			if n != nil {
				cat.parts = append(cat.parts, n)
			}
		}
		alt.parts = append(alt.parts, single(cat))
		if !p.take("|") {
			return single(alt), nil
		}
	}
}

// single returns the only part of n, if that is all it has.
func single(n *node) *node {
	if len(n.parts) == 1 {
		return n.parts[0]
	}
	return n
}

// repeated reads an atom and what repeats it; nil is nothing to match.
func (p *parser) repeated() (*node, error) {
	if p.opt.extended {
		for p.more() && strings.ContainsRune(" \t\r\n\f\v#", rune(p.s[p.i])) {
			if p.s[p.i] == '#' {
				p.i += strings.IndexByte(p.s[p.i:]+"\n", '\n')
			} else {
				p.i++
			}
		}
		if !p.more() || p.sees("|") || p.sees(")") {
			return nil, nil
		}
	}
	n, err := p.atom()
	for err == nil && p.more() {
		low, high, interval, ok := p.quantifier()
		if !ok {
			break
		}
		if n == nil {
			return nil, p.errorf("a repetition of nothing")
		}
		if high != unbounded && low > high {
			return nil, p.errorf("the repetition {%d,%d}", low, high)
		}
		n = &node{kind: kindRepeat, parts: []*node{n}, low: low, high: high}
		switch {
		case interval && low == high: // {n}? is another repetition
		case p.take("?"):
			n.greed = lazy
		case !interval && p.take("+"):
			n.greed = possessive
		}
	}
	return n, err
}

// maxRepeat bounds the numbers of a repetition.
const maxRepeat = 1000

// quantifier reads ?, *, + or an interval; ok is false if there is none.
func (p *parser) quantifier() (low, high int, interval, ok bool) {
	switch {
	case p.take("?"):
		return 0, 1, false, true
	case p.take("*"):
		return 0, unbounded, false, true
	case p.take("+"):
		return 1, unbounded, false, true
	case !p.sees("{"):
		return 0, 0, false, false
	}
	start := p.i
	p.i++
	low, hasLow := p.number()
	high, hasHigh := low, hasLow
	if p.take(",") {
		if high, hasHigh = p.number(); !hasHigh {
			high = unbounded
		}
	}
	if !p.take("}") || !hasLow && !hasHigh || low > maxRepeat || high > maxRepeat {
		p.i = start // the brace is a character
		return 0, 0, false, false
	}
	return low, high, true, true
}

func (p *parser) number() (n int, ok bool) {
	for p.more() && '0' <= p.s[p.i] && p.s[p.i] <= '9' {
		n, ok = min(10*n+int(p.s[p.i]-'0'), maxRepeat+1), true
		p.i++
	}
	return n, ok
}

// atom reads what can be repeated.
func (p *parser) atom() (*node, error) {
	switch c := p.rune(); c {
	case '(':
		return p.group()
	case '[':
		set, err := p.class()
		return &node{kind: kindSet, set: set}, err
	case '.':
		if p.opt.dot {
			return &node{kind: kindSet, set: ranges{0, unicode.MaxRune}}, nil
		}
		return &node{kind: kindSet, set: ranges{'\n', '\n'}.not()}, nil
	case '^':
		return &node{kind: kindAssert, place: lineStart}, nil
	case '$':
		return &node{kind: kindAssert, place: lineEnd}, nil
	case '*', '+', '?':
		p.i--
		return nil, p.errorf("a repetition of nothing")
	case '\\':
		return p.escape()
	default:
		return p.literal(c), nil
	}
}

// literal returns a node for one character.
func (p *parser) literal(c rune) *node {
	n := &node{kind: kindSet, set: ranges{c, c}}
	if p.opt.fold {
		n.set = n.set.folded()
	}
	return n
}

// places are escapes of places.
var places = map[byte]int{'b': wordEdge, 'B': noWordEdge, 'A': textStart, 'z': textEnd, 'Z': textEndOrNewline}

// escape reads what follows a backslash outside of classes.
func (p *parser) escape() (*node, error) {
	if !p.more() {
		return nil, p.errorf("a \\ at the end")
	}
	c := p.s[p.i]
	if place, ok := places[c]; ok {
		p.i++
		return &node{kind: kindAssert, place: place}, nil
	}
	if strings.IndexByte("123456789gkKRXGNOyY", c) >= 0 {
		return nil, p.errorf("\\%c, which is not known here,", c)
	}
	set, r, err := p.escaped()
	switch {
	case err != nil:
		return nil, err
	case set == nil:
		return p.literal(r), nil
	case c == 'w':
		set = wordAlone()
	case c == 'W':
		set = wordAlone().not()
	}
	return &node{kind: kindSet, set: set}, nil
}

// group reads what follows a parenthesis.
func (p *parser) group() (*node, error) {
	wrap := func(n *node) *node { return n }
	look := func(negate, behind bool) {
		wrap = func(n *node) *node {
			return &node{kind: kindLook, parts: []*node{n}, negate: negate, behind: behind}
		}
	}
	outer := p.opt
	defer func() { p.opt = outer }()
	switch {
	case !p.take("?"):
	case p.take(":"):
	case p.take("="):
		look(false, false)
	case p.take("!"):
		look(true, false)
	case p.take("<="):
		look(false, true)
	case p.take("<!"):
		look(true, true)
	case p.take(">"):
		wrap = func(n *node) *node { return &node{kind: kindAtomic, parts: []*node{n}} }
	case p.take("#"):
		end := strings.IndexByte(p.s[p.i:], ')')
		if end < 0 {
			return nil, p.errorf("a comment without an end")
		}
		p.i += end + 1
		return nil, nil
	case p.sees("<") || p.sees("'"):
		end := strings.IndexAny(p.s[p.i+1:], ">'")
		if end < 0 {
			return nil, p.errorf("a group's name without an end")
		}
		p.i += end + 2
	default:
		whole, err := p.options()
		if err != nil {
			return nil, err
		}
		if whole { // the options hold to the end of the group around
			n, err := p.alternatives()
			return n, err
		}
	}
	n, err := p.alternatives()
	if err != nil {
		return nil, err
	}
	if !p.take(")") {
		return nil, p.errorf("a ( without a )")
	}
	return wrap(n), nil
}

// options reads (?imx-imx: or (?imx-imx), whose whole is true.
func (p *parser) options() (whole bool, err error) {
	on := true
	for p.more() {
		switch c := p.s[p.i]; c {
		case '-':
			on = false
		case 'i':
			p.opt.fold = on
		case 'm':
			p.opt.dot = on
		case 'x':
			p.opt.extended = on
		case ':', ')':
			p.i++
			return c == ')', nil
		default:
			return false, p.errorf("the group (?%c, which is not known here,", c)
		}
		p.i++
	}
	return false, p.errorf("a ( without a )")
}
