package operator

import (
	"fmt"
	"math/bits"
	"reflect"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// RoomKey is the key of the thread local that holds a func(bytes int) error. It is
// asked before one operation makes a value of so many bytes, or more than an int can
// tell (-1), and returns an error if there is no room for it.
const RoomKey = "tpsh.room"

// room asks whether there is room for a value of n elements of size bytes each.
func room(t *starlark.Thread, n, size uint) error {
	ask, ok := t.Local(RoomKey).(func(int) error)
	over, bytes := bits.Mul(n, size)
	switch {
	case !ok:
		return nil
	case over != 0 || bytes > 1<<62:
		return ask(-1)
	}
	return ask(int(bytes))
}

// elementSize is the bytes that a value takes in a list or a tuple.
const elementSize = 16

// times is x * y, where one may be a text, a list or a tuple.
func times(_ string, t *starlark.Thread, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	x, y := args[0], args[1]
	if _, ok := x.(starlark.Int); ok {
		x, y = y, x
	}
	if n, ok := y.(starlark.Int); ok && n.Sign() > 0 {
		if count, small := n.Uint64(); small && sizeOfElement(x) > 0 {
			if err := room(t, elementsOf(x)*sizeOfElement(x), uint(count)); err != nil {
				return nil, err
			}
		}
	}
	return starlark.Binary(syntax.STAR, args[0], args[1])
}

// sizeOfElement returns how many bytes an element of x takes; 0 if x has none that
// x * n repeats.
func sizeOfElement(x starlark.Value) uint {
	switch x.(type) {
	case starlark.String, starlark.Bytes:
		return 1
	case *starlark.List, starlark.Tuple:
		return elementSize
	}
	return 0
}

// replaceMethod is x.replace(...). Of other values than texts it calls the method.
func replaceMethod(fn string, t *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if s, ok := args[0].(starlark.String); ok && len(args) >= 3 {
		old, ok1 := args[1].(starlark.String)
		new, ok2 := args[2].(starlark.String)
		if ok1 && ok2 && len(new) > len(old) && len(s)*(len(new)+1) > few {
			n := strings.Count(string(s), string(old))
			if err := room(t, uint(n), uint(len(new)-len(old))); err != nil {
				return nil, err
			}
		}
	}
	return method(fn, t, args, kwargs)
}

// addOne calls its first argument, a method that adds one element, with the others: of a list, a dict or
// a set when there is room for the element.
func addOne(_ string, t *starlark.Thread, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	b, ok := args[0].(*starlark.Builtin)
	if !ok {
		return starlark.Call(t, args[0], args[1:], nil)
	}
	if err := roomForOne(t, b.Receiver()); err != nil {
		return nil, err
	}
	return b.CallInternal(t, args[1:], nil)
}

// roomForOne asks whether x may move to where there is room for one element more, if it is full.
func roomForOne(t *starlark.Thread, x starlark.Value) error {
	if l, ok := x.(*starlark.List); ok {
		// It then has room for a quarter more, as a long slice of Go's.
		if n := uint(l.Len()); n >= few/elementSize && n >= uint(innards(l).Cap()) {
			return room(t, n+n/4, elementSize)
		}
		return nil
	}
	if n := Moves(x, 1); n > 0 {
		return room(t, n, 1)
	}
	return nil
}

// Moves returns how many bytes x asks for if it is a dict or a set that is so full that it moves, to
// twice as many buckets, when there are so many elements more; else 0, as for one that
// is small.
func Moves(x starlark.Value, more int) uint {
	switch x.(type) {
	case *starlark.Dict, *starlark.Set:
	default:
		return 0
	}
	n := elementsOf(x) + uint(more) - 1
	if n < few/bucketSize {
		return 0
	}
	if b := uint(innards(x).Field(bucketsField).Len()); isFull(n, b) {
		return 2 * b * bucketSize
	}
	return 0
}

// innards returns the field of a list that has its elements, or of a dict or a set that is its table. How
// many these can hold until they move, their methods do not tell.
func innards(x starlark.Value) reflect.Value { return reflect.ValueOf(x).Elem().Field(0) }

// bucketsField is the field of a table that has its buckets.
const bucketsField = 0

// bucketSize is the bytes of a bucket of a table.
const bucketSize = 456

// isFull reports whether a table of n elements in b buckets moves when there is one more.
func isFull(n, b uint) bool { return 2*n >= 13*b }

// roomForTable asks whether there is room for a table of n elements, beside the b buckets that it has
// already: if it does not fit there it moves, each time to twice as many, and is in two places meanwhile.
func roomForTable(t *starlark.Thread, n, b uint) error {
	if n < few/bucketSize {
		return nil
	}
	now := max(b, 1)
	for b = now; n > 0 && isFull(n-1, b) && b < 1<<40; {
		b *= 2
	}
	switch b {
	case now:
		return nil
	case 2 * now:
		return room(t, b, bucketSize)
	}
	return room(t, b+b/2, bucketSize)
}

// few is how many bytes nobody asks for.
const few = 1 << 20

// pieceSize is the bytes that a text takes in a list besides its own.
const pieceSize = 2 * elementSize

// Room asks whether there is room for a value of n elements, which is a dict or a set
// if keyed.
func Room(t *starlark.Thread, n int, keyed bool) error {
	if keyed {
		return roomForTable(t, uint(max(n, 0)), 0)
	}
	return room(t, uint(max(n, 0)), elementSize)
}

// elementsOf returns how many elements x has, 0 if that is not known.
func elementsOf(x starlark.Value) uint { return uint(max(starlark.Len(x), 0)) }

// grow returns y of arguments x and y, when there is room for x + y, or for x with the
// elements of y in it.
func grow(_ string, t *starlark.Thread, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	switch x := args[0].(type) {
	case *starlark.Dict, *starlark.Set:
		return args[1], roomForTable(t, elementsOf(x)+elementsOf(args[1]), uint(innards(x).Field(bucketsField).Len()))
	}
	// Other values are not asked for their length: a tensor that is one number has none.
	if size := sizeOfElement(args[0]); size > 0 && sizeOfElement(args[1]) > 0 {
		return args[1], room(t, elementsOf(args[0])+elementsOf(args[1]), size)
	}
	return args[1], nil
}

// extend returns y of arguments x and y, when there is room for the elements of y in x: in a list there
// may be already.
func extend(fn string, t *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	x, ok := args[0].(*starlark.List)
	if !ok {
		return grow(fn, t, args, kwargs)
	}
	if n := elementsOf(x) + elementsOf(args[1]); n > uint(innards(x).Cap()) {
		return args[1], room(t, n, elementSize)
	}
	return args[1], nil
}

// union returns y of arguments x and y, when there is room for x | y, which is a table of its own.
func union(_ string, t *starlark.Thread, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	switch args[0].(type) {
	case *starlark.Dict, *starlark.Set:
		return args[1], roomForTable(t, elementsOf(args[0])+elementsOf(args[1]), 0)
	}
	return args[1], nil
}

// listed returns x, for the elements of which a list gets one each, when there is room for that
// and for four fifths of it, from which it moves at last.
func listed(_ string, t *starlark.Thread, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	if n := elementsOf(args[0]); n >= few/elementSize {
		return args[0], room(t, n+n/5*4, elementSize)
	}
	return args[0], nil
}

// joinedTexts returns y of arguments x and y, when there is room for x.join(y).
func joinedTexts(_ string, t *starlark.Thread, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	x, ok := args[0].(starlark.String)
	switch args[1].(type) {
	case *starlark.List, starlark.Tuple:
	default:
		ok = false
	}
	if !ok {
		return args[1], nil
	}
	n := starlark.Len(args[1]) * len(x)
	for v := range starlark.Elements(args[1].(starlark.Iterable)) {
		if s, ok := v.(starlark.String); ok {
			n += len(s)
		}
	}
	return args[1], room(t, uint(n), 1)
}

// splitText returns y of arguments x and y, when there is room for x.split(y).
func splitText(_ string, t *starlark.Thread, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	x, ok := args[0].(starlark.String)
	y, by := args[1].(starlark.String)
	if !ok || !by || len(x) < few/pieceSize || y == "" {
		return args[1], nil
	}
	return args[1], room(t, uint(strings.Count(string(x), string(y))), pieceSize)
}

// texts returns the texts that its arguments are, in one.
func texts(_ string, t *starlark.Thread, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	n := 0
	for _, x := range args {
		n += starlark.Len(x)
	}
	if err := room(t, uint(n), 1); err != nil {
		return nil, err
	}
	var b strings.Builder
	b.Grow(n)
	for _, x := range args {
		b.WriteString(string(x.(starlark.String)))
	}
	return starlark.String(b.String()), nil
}

// A builder puts a text together.
type builder struct {
	strings.Builder
	thread *starlark.Thread
}

// add adds text when there is room for it.
func (b *builder) add(text string) error {
	if n := b.Len() + len(text); n > few {
		if err := room(b.thread, uint(n), 1); err != nil {
			return err
		}
	}
	b.WriteString(text)
	return nil
}

// method calls the method fn of the first argument with the others.
func method(fn string, t *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if h, ok := args[0].(starlark.HasAttrs); ok {
		m, err := h.Attr(fn)
		if err != nil {
			return nil, err
		}
		if m != nil {
			return starlark.Call(t, m, args[1:], kwargs)
		}
	}
	return nil, fmt.Errorf("%s has no .%s field or method", args[0].Type(), fn)
}
