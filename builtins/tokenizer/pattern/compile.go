package pattern

import (
	"fmt"
	"unicode/utf8"
)

// An op is what an instruction does. Where it fails, the last choice is taken
// back.
type op uint8

const (
	opSet      op = iota // one character of set
	opRun                // low to high characters of set: as many as possible first
	opRunAll             // the same, and never fewer
	opSplit              // goes to x; y is another choice
	opJump               // goes to x
	opGuard              // goes to x if the next byte is not in first
	opMark               // notes the place in register x
	opProgress           // fails if the place is that of register x
	opAssert             // fails unless the place is of the kind x
	opAtomic             // matches what follows up to an opEnd, and goes to x
	opLook               // the same, and the place stays as it was
	opLookNot            // fails if what follows up to an opEnd matches; else goes to x
	opBehind             // the same two for what ends here and began low to high characters before
	opBehindNot
	opEnd // a match, of the pattern or of a part
)

type inst struct {
	op        op
	set       *Set
	first     *[256]bool
	x, y      int
	low, high int
}

// A Pattern is a compiled regular expression. It does not change, so several
// goroutines may use it.
type Pattern struct {
	text      string
	prog      []inst
	registers int
	first     *[256]bool // bytes that a match may begin with; nil if it may be empty
}

// String returns the text of the pattern.
func (p *Pattern) String() string { return p.text }

// maxProgram bounds the instructions of a pattern.
const maxProgram = 20_000

// maxBehind bounds how many characters a look-behind may see.
const maxBehind = 255

// Compile returns the pattern that text describes.
func Compile(text string) (*Pattern, error) {
	if !utf8.ValidString(text) {
		return nil, fmt.Errorf("got a pattern that is no UTF-8")
	}
	parser := &parser{s: text}
	n, err := parser.parse()
	if err != nil {
		return nil, err
	}
	c := &compiler{p: &Pattern{text: text}, sets: map[string]*Set{}}
	if err := c.node(n); err != nil {
		return nil, err
	}
	c.emit(inst{op: opEnd})
	for i := range c.p.prog { // what ends after a run has no use for a shorter one
		if in := &c.p.prog[i]; in.op == opRun && c.ends(i+1) {
			in.op = opRunAll
		}
	}
	if first, empty := firstBytes(n); !empty {
		c.p.first = first
	}
	return c.p, nil
}

// Literal returns the pattern that matches s alone.
func Literal(s string) *Pattern {
	p := &Pattern{text: s}
	c := &compiler{p: p, sets: map[string]*Set{}}
	for i, r := range s {
		if i == 0 {
			p.first = &[256]bool{}
			p.first[s[0]] = true
		}
		c.emit(inst{op: opSet, set: c.newSet(ranges{r, r})})
	}
	c.emit(inst{op: opEnd})
	return p
}

type compiler struct {
	p    *Pattern
	sets map[string]*Set
}

func (c *compiler) emit(i inst) int {
	c.p.prog = append(c.p.prog, i)
	return len(c.p.prog) - 1
}

func (c *compiler) here() int { return len(c.p.prog) }

func (c *compiler) newSet(r ranges) *Set {
	key := string(r)
	if c.sets[key] == nil {
		c.sets[key] = newSet(r)
	}
	return c.sets[key]
}

// ends reports whether nothing is matched from i on.
func (c *compiler) ends(i int) bool {
	for c.p.prog[i].op == opJump && c.p.prog[i].x > i {
		i = c.p.prog[i].x
	}
	return c.p.prog[i].op == opEnd
}

// node appends the instructions for n.
func (c *compiler) node(n *node) error {
	if c.here() > maxProgram {
		return fmt.Errorf("got a pattern of more than %d instructions", maxProgram)
	}
	switch n.kind {
	case kindSet:
		c.emit(inst{op: opSet, set: c.newSet(n.set)})
	case kindCat:
		for _, each := range n.parts {
			if err := c.node(each); err != nil {
				return err
			}
		}
	case kindAlt:
		return c.alt(n)
	case kindRepeat:
		return c.repeat(n)
	case kindAssert:
		c.emit(inst{op: opAssert, x: n.place})
	case kindAtomic:
		return c.inner(inst{op: opAtomic}, n.parts[0])
	case kindLook:
		return c.look(n)
	}
	return nil
}

// inner appends an instruction and, up to an opEnd, those of n.
func (c *compiler) inner(i inst, n *node) error {
	at := c.emit(i)
	if err := c.node(n); err != nil {
		return err
	}
	c.emit(inst{op: opEnd})
	c.p.prog[at].x = c.here()
	return nil
}

func (c *compiler) look(n *node) error {
	i := inst{op: opLook}
	if n.negate {
		i.op = opLookNot
	}
	if n.behind {
		i.op += opBehind - opLook
		var ok bool
		if i.low, i.high, ok = width(n.parts[0]); !ok {
			return fmt.Errorf("got a look-behind of more than %d characters", maxBehind)
		}
	}
	return c.inner(i, n.parts[0])
}

func (c *compiler) alt(n *node) error {
	var ends []int
	for i, each := range n.parts {
		last := i == len(n.parts)-1
		guard, split := -1, -1
		if first, empty := firstBytes(each); !empty && !last {
			guard = c.emit(inst{op: opGuard, first: first})
		}
		if !last {
			split = c.emit(inst{op: opSplit, x: c.here() + 1})
		}
		if err := c.node(each); err != nil {
			return err
		}
		if !last {
			ends = append(ends, c.emit(inst{op: opJump}))
			c.p.prog[split].y = c.here()
		}
		if guard >= 0 {
			c.p.prog[guard].x = c.here()
		}
	}
	for _, i := range ends {
		c.p.prog[i].x = c.here()
	}
	return nil
}

func (c *compiler) repeat(n *node) error {
	part := n.parts[0]
	if n.greed == possessive {
		same := *n
		same.greed = greedy
		return c.inner(inst{op: opAtomic}, &same)
	}
	if part.kind == kindSet && n.greed == greedy {
		c.emit(inst{op: opRun, set: c.newSet(part.set), low: n.low, high: n.high})
		return nil
	}
	for range n.low {
		if err := c.node(part); err != nil {
			return err
		}
	}
	var splits []int
	choose := func() {
		splits = append(splits, c.emit(inst{op: opSplit}))
	}
	if n.high == unbounded {
		start := c.here()
		choose()
		register := c.p.registers
		c.p.registers++
		c.emit(inst{op: opMark, x: register})
		if err := c.node(part); err != nil {
			return err
		}
		c.emit(inst{op: opProgress, x: register})
		c.emit(inst{op: opJump, x: start})
	}
	for i := n.low; i < n.high; i++ {
		choose()
		if err := c.node(part); err != nil {
			return err
		}
	}
	for _, i := range splits {
		in := &c.p.prog[i]
		if in.x, in.y = i+1, c.here(); n.greed == lazy {
			in.x, in.y = in.y, in.x
		}
	}
	return nil
}

// width returns how many characters n matches; ok is false if there is no bound
// or a large one.
func width(n *node) (low, high int, ok bool) {
	switch n.kind {
	case kindSet:
		return 1, 1, true
	case kindCat, kindAlt:
		for i, each := range n.parts {
			lo, hi, ok := width(each)
			if !ok {
				return 0, 0, false
			}
			switch {
			case n.kind == kindCat:
				low, high = low+lo, high+hi
			case i == 0:
				low, high = lo, hi
			default:
				low, high = min(low, lo), max(high, hi)
			}
			if high > maxBehind {
				return 0, 0, false
			}
		}
	case kindRepeat:
		lo, hi, ok := width(n.parts[0])
		if !ok || n.high == unbounded || hi*n.high > maxBehind {
			return 0, 0, false
		}
		return lo * n.low, hi * n.high, true
	case kindAtomic:
		return width(n.parts[0])
	}
	return low, high, true
}

// firstBytes returns the bytes that what n matches may begin with, and whether
// it may be empty.
func firstBytes(n *node) (first *[256]bool, empty bool) {
	first = &[256]bool{}
	add := func(more *[256]bool) {
		for i, is := range more {
			first[i] = first[i] || is
		}
	}
	switch n.kind {
	case kindSet:
		for i := range utf8.RuneSelf {
			first[i] = n.set.has(rune(i))
		}
		if len(n.set) > 0 && n.set[len(n.set)-1] >= utf8.RuneSelf {
			for i := utf8.RuneSelf; i < 256; i++ {
				first[i] = true
			}
		}
		return first, false
	case kindCat:
		for _, each := range n.parts {
			more, empty := firstBytes(each)
			add(more)
			if !empty {
				return first, false
			}
		}
		return first, true
	case kindAlt:
		for _, each := range n.parts {
			more, also := firstBytes(each)
			add(more)
			empty = empty || also
		}
		return first, empty
	case kindRepeat, kindAtomic:
		first, empty = firstBytes(n.parts[0])
		return first, empty || n.kind == kindRepeat && n.low == 0
	}
	return first, true
}
