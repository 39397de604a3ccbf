package object

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"

	"go.starlark.net/starlark"
)

// maxDepth bounds how deep containers may stand in one another.
const maxDepth = 1000

// An Error says which part of a value has no encoding.
type Error struct {
	Value starlark.Value // the part
	Path  string         // how a script gets at it: `["a"][0]`, or "" for the whole
	Why   string         // what is wrong, if it is not the type: "contains itself"
}

func (e *Error) Error() string {
	text := "a " + e.Value.Type()
	if e.Why != "" {
		text += " that " + e.Why
	}
	if e.Path != "" {
		text += " at " + e.Path
	}
	return text
}

// Append appends the encoding of v to dst. The error is an *Error, or that of
// other.
//
// If other is not nil, it appends what has no encoding, with a first byte of
// its own. Decode does not know that.
func Append(dst []byte, v starlark.Value, other func(dst []byte, v starlark.Value) ([]byte, error)) ([]byte, error) {
	e := &encoder{dst: dst, other: other}
	err := e.value(v)
	return e.dst, err
}

// An encoder appends a value to dst, from the outside in.
type encoder struct {
	dst   []byte
	other func([]byte, starlark.Value) ([]byte, error)
	open  []starlark.Value // the containers that value is inside of
	path  []string         // and where in each
}

func (e *encoder) fail(v starlark.Value, why string) error {
	path := ""
	for _, p := range e.path {
		path += p
	}
	return &Error{v, path, why}
}

func (e *encoder) tag(b byte)   { e.dst = append(e.dst, b) }
func (e *encoder) length(n int) { e.dst = binary.AppendUvarint(e.dst, uint64(n)) }

func (e *encoder) value(v starlark.Value) error {
	switch v := v.(type) {
	case starlark.NoneType:
		e.tag('N')
	case starlark.Bool:
		if v {
			e.tag('T')
		} else {
			e.tag('F')
		}
	case starlark.Int:
		e.integer(v)
	case starlark.Float:
		e.tag('d')
		e.dst = binary.LittleEndian.AppendUint64(e.dst, math.Float64bits(float64(v)))
	case starlark.String:
		e.tag('s')
		e.text(string(v))
	case *starlark.List:
		return e.container('l', v, v.Len(), func() error { return e.elements(v) })
	case starlark.Tuple:
		return e.container('u', v, v.Len(), func() error { return e.elements(v) })
	case *starlark.Dict:
		return e.container('m', v, v.Len(), func() error { return e.entries(v) })
	default:
		if e.other == nil {
			return e.fail(v, "")
		}
		dst, err := e.other(e.dst, v)
		var none *Error
		if errors.As(err, &none) && none.Path == "" {
			return e.fail(v, none.Why)
		}
		if err != nil {
			return err
		}
		e.dst = dst
	}
	return nil
}

func (e *encoder) text(s string) {
	e.length(len(s))
	e.dst = append(e.dst, s...)
}

func (e *encoder) integer(v starlark.Int) {
	if i, ok := v.Int64(); ok {
		e.tag('i')
		e.dst = binary.AppendVarint(e.dst, i)
		return
	}
	e.tag('I')
	negative := byte(0)
	if v.Sign() < 0 {
		negative = 1
	}
	e.tag(negative)
	e.text(string(v.BigInt().Bytes()))
}

// container appends a container of n parts, which parts appends.
func (e *encoder) container(tag byte, v starlark.Value, n int, parts func() error) error {
	for _, outer := range e.open {
		if _, tuple := v.(starlark.Tuple); !tuple && outer == v {
			return e.fail(v, "contains itself")
		}
	}
	if len(e.open) == maxDepth {
		e.path = nil
		return e.fail(v, fmt.Sprintf("stands in %d others", maxDepth))
	}
	e.tag(tag)
	e.length(n)
	e.open, e.path = append(e.open, v), append(e.path, "")
	if err := parts(); err != nil {
		return err
	}
	e.open, e.path = e.open[:len(e.open)-1], e.path[:len(e.path)-1]
	return nil
}

// elements appends those of a list or tuple.
func (e *encoder) elements(v starlark.Indexable) error {
	for i := range v.Len() {
		e.path[len(e.path)-1] = "[" + strconv.Itoa(i) + "]"
		if err := e.value(v.Index(i)); err != nil {
			return err
		}
	}
	return nil
}

// entries appends those of a dict.
func (e *encoder) entries(v *starlark.Dict) error {
	for key, value := range v.Entries() {
		e.path[len(e.path)-1] = "[" + key.String() + "]"
		k, ok := key.(starlark.String)
		if !ok {
			e.path = e.path[:len(e.path)-1]
			return e.fail(v, fmt.Sprintf("has the key %s", key))
		}
		e.text(string(k))
		if err := e.value(value); err != nil {
			return err
		}
	}
	return nil
}
