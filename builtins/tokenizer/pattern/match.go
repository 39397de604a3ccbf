package pattern

import (
	"errors"
	"sync"
	"unicode/utf8"
)

// MaxSteps is how many steps the matches in a text may take, and StepsPerByte
// how many more for each of its bytes.
const (
	MaxSteps     = 10_000_000
	StepsPerByte = 1000
)

var errSteps = errors.New("the pattern finds no end: it takes more than 10,000,000 steps, and 1000 for each byte of the text")

// A choice is another way to go on: from place at, with instruction pc. Of a
// run it is one character shorter each time, down to low. A negative pc stands
// for a register, which gets its old value back.
type choice struct{ pc, at, low int }

// A machine matches a pattern at one place.
type machine struct {
	p       *Pattern
	s       string
	choices []choice
	reg     []int
	steps   int // that are left
}

var machines = sync.Pool{New: func() any { return new(machine) }}

// start returns a machine for the matches in s.
func start(s string) *machine {
	m := machines.Get().(*machine)
	m.s, m.steps = s, MaxSteps+StepsPerByte*len(s)
	return m
}

// Find returns the first match in s that begins at from or later.
func (p *Pattern) Find(s string, from int) (lo, hi int, ok bool, err error) {
	m := start(s)
	defer machines.Put(m)
	return m.find(p, s, from)
}

func (m *machine) find(p *Pattern, s string, from int) (lo, hi int, ok bool, err error) {
	m.p = p
	if len(m.reg) < p.registers {
		m.reg = make([]int, p.registers)
	}
	for i := from; i <= len(s); {
		if p.first == nil || i < len(s) && p.first[s[i]] {
			m.choices = m.choices[:0]
			if end, ok := m.run(0, i, -1); ok {
				return i, end, true, nil
			}
			if m.steps <= 0 {
				return 0, 0, false, errSteps
			}
		}
		i += m.sizeAt(i)
	}
	return 0, 0, false, nil
}

// sizeAt returns the size of the character at i, and 1 behind the last one.
func (m *machine) sizeAt(i int) int {
	if i >= len(m.s) || m.s[i] < utf8.RuneSelf {
		return 1
	}
	_, size := utf8.DecodeRuneInString(m.s[i:])
	return size
}

// Each calls f for each match in s, from the left: matches do not overlap, and
// an empty one does not touch the end of the one before.
func (p *Pattern) Each(s string, f func(lo, hi int)) error {
	m := start(s)
	defer machines.Put(m)
	for from, end := 0, -1; from <= len(s); {
		lo, hi, ok, err := m.find(p, s, from)
		if !ok {
			return err
		}
		if lo == hi && hi == end {
			from += m.sizeAt(from)
			continue
		}
		f(lo, hi)
		from, end = hi, hi
	}
	return nil
}

// push adds a choice.
func (m *machine) push(pc, at, low int) { m.choices = append(m.choices, choice{pc, at, low}) }

// run matches from instruction pc and place at on, and returns where the match
// ends: at the place until, if that is not negative.
func (m *machine) run(pc, at, until int) (end int, ok bool) {
	base := len(m.choices)
	for m.steps > 0 {
		m.steps--
		in := &m.p.prog[pc]
		pc++
		matches := true
		switch in.op {
		case opSet:
			n := in.set.at(m.s, at)
			at, matches = at+n, n > 0
		case opRun, opRunAll:
			at, matches = m.runOf(in, pc, at)
		case opSplit:
			m.push(in.y, at, at)
			pc = in.x
		case opJump:
			pc = in.x
		case opGuard:
			if at == len(m.s) || !in.first[m.s[at]] {
				pc = in.x
			}
		case opMark:
			m.push(^in.x, 0, m.reg[in.x])
			m.reg[in.x] = at
		case opProgress:
			matches = m.reg[in.x] != at
		case opAssert:
			matches = m.holds(in.x, at)
		case opEnd:
			if matches = until < 0 || at == until; matches {
				m.choices = m.choices[:base]
				return at, true
			}
		default:
			at, matches = m.inner(in, pc, at)
			pc = in.x
		}
		if !matches {
			if pc, at, matches = m.back(base); !matches {
				return 0, false
			}
		}
	}
	m.choices = m.choices[:base]
	return 0, false
}

// runOf matches a run of characters; pc is what follows.
func (m *machine) runOf(in *inst, pc, at int) (end int, ok bool) {
	n, low := 0, at
	for in.high < 0 || n < in.high {
		size := in.set.at(m.s, at)
		if size == 0 {
			break
		}
		at += size
		if n++; n <= in.low {
			low = at
		}
	}
	if n < in.low {
		return 0, false
	}
	m.steps -= n / 8
	if in.op == opRun && at > low {
		m.push(pc, at, low)
	}
	return at, true
}

// inner matches the part that begins at pc.
func (m *machine) inner(in *inst, pc, at int) (end int, ok bool) {
	switch in.op {
	case opAtomic:
		return m.run(pc, at, -1)
	case opLook, opLookNot:
		_, ok = m.run(pc, at, -1)
		return at, ok == (in.op == opLook)
	}
	start := at
	for n := 0; n <= in.high && !ok; n++ {
		if n >= in.low {
			_, ok = m.run(pc, start, at)
		}
		if start == 0 {
			break
		}
		_, size := utf8.DecodeLastRuneInString(m.s[:start])
		start -= size
	}
	return at, ok == (in.op == opBehind)
}

// back returns the last choice of those above base; ok is false if there is
// none.
func (m *machine) back(base int) (pc, at int, ok bool) {
	for len(m.choices) > base {
		c := &m.choices[len(m.choices)-1]
		if c.pc < 0 {
			m.reg[^c.pc] = c.low
			m.choices = m.choices[:len(m.choices)-1]
			continue
		}
		if c.at > c.low {
			_, size := utf8.DecodeLastRuneInString(m.s[c.low:c.at])
			c.at -= size
		}
		pc, at = c.pc, c.at
		if c.at <= c.low {
			m.choices = m.choices[:len(m.choices)-1]
		}
		return pc, at, true
	}
	return 0, 0, false
}

var wordSet = sync.OnceValue(func() *Set { return newSet(wordAlone()) })

// holds reports whether a place is of a kind.
func (m *machine) holds(place, at int) bool {
	switch place {
	case lineStart:
		return at == 0 || m.s[at-1] == '\n' && at < len(m.s)
	case lineEnd:
		return at == len(m.s) || m.s[at] == '\n'
	case textStart:
		return at == 0
	case textEnd:
		return at == len(m.s)
	case textEndOrNewline:
		return at == len(m.s) || at == len(m.s)-1 && m.s[at] == '\n'
	}
	before, _ := utf8.DecodeLastRuneInString(m.s[:at])
	edge := (at > 0 && wordSet().Has(before)) != (wordSet().at(m.s, at) > 0)
	return edge == (place == wordEdge)
}
