package operator

import (
	"math"

	"go.starlark.net/starlark"
)

// GrowthKey is the key of the thread local that holds a func(bytes func(heap int) int). It is called
// before a value grows of which it is not known how large it is: bytes returns how many it may take then, given
// those of the heap that are in use, and is asked anew when a collection has made these
// fewer. Where there is no room, the programs are ended.
const GrowthKey = "tpsh.growth"

// A paced is the many elements of a comprehension that keeps some of them, or makes a dict of them.
type paced struct {
	starlark.Iterable
	ask    func(bytes func(heap int) int)
	keyed  bool // a dict is made
	nested bool // there are more elements for each of these
}

// pace returns x, or its elements at such a pace that there is room for what is made of them.
func pace(_ string, t *starlark.Thread, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	ask, ok := t.Local(GrowthKey).(func(func(int) int))
	x, many := args[0].(starlark.Iterable)
	if !ok || !many || starlark.Len(x) < leastPaced {
		return args[0], nil
	}
	return &paced{x, ask, args[1] == starlark.True, args[2] == starlark.True}, nil
}

// leastPaced is how many elements are let through before it is first asked.
const leastPaced = few / elementSize

// Iterate returns the elements.
func (p *paced) Iterate() starlark.Iterator {
	it := &pacedIterator{Iterator: p.Iterable.Iterate(), paced: p, next: leastPaced}
	p.ask(func(heap int) int { it.begun = heap; return 0 })
	return it
}

// A pacedIterator asks for room each time that an eighth more of the elements have come.
type pacedIterator struct {
	starlark.Iterator
	*paced
	begun   int // bytes of the heap before the first element
	n, next uint
}

// Next gives the next element. When the programs were ended, the interpreter does not go on.
func (it *pacedIterator) Next(v *starlark.Value) bool {
	if it.n++; it.n == it.next {
		it.next += it.next / 8
		it.ask(it.bytes)
	}
	return it.Iterator.Next(v)
}

// bytes returns how many bytes the list or the dict may ask for until it is asked again: no more than
// if each element was kept, nor than if all that the heap has grown by was that value.
func (it *pacedIterator) bytes(heap int) int {
	grown := uint(max(0, heap-it.begun))
	switch {
	case it.keyed && it.nested:
		return int(2 * grown)
	case it.nested:
		return int(grown + grown/4)
	case it.keyed:
		return int(min(tableFor(it.next), 2*grown))
	}
	return int(min((it.next+it.next/4)*elementSize, grown+grown/4))
}

// tableFor returns the bytes of the table of n elements.
func tableFor(n uint) uint {
	b := uint(1)
	for isFull(n-1, b) && b < math.MaxUint32 {
		b *= 2
	}
	return b * bucketSize
}
