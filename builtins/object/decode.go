package object

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"

	"go.starlark.net/starlark"
)

// Decode returns the value that data is the encoding of. Bytes that Append
// does not make are an error.
func Decode(data []byte) (v starlark.Value, err error) { return DecodeWith(data, nil) }

// DecodeWith is Decode of what AppendHole may have appended: hole makes the values.
func DecodeWith(data []byte, hole func(kind string) starlark.Value) (v starlark.Value, err error) {
	d := &decoder{data: data, hole: hole}
	v, err = d.value(0)
	if err == nil && d.at < len(data) {
		err = fmt.Errorf("%d bytes after the value", len(data)-d.at)
	}
	if err != nil {
		return nil, fmt.Errorf("malformed object: byte %d: %w", d.at, err)
	}
	return v, nil
}

var (
	errCut      = errors.New("the data ends early, or a number is too long")
	errNotShort = errors.New("a number written longer than need be")
)

// A decoder reads values from data[at:].
type decoder struct {
	data []byte
	at   int
	hole func(kind string) starlark.Value // nil if there can be none
}

// take returns the next n bytes.
func (d *decoder) take(n int) ([]byte, error) {
	if n > len(d.data)-d.at {
		return nil, errCut
	}
	b := d.data[d.at : d.at+n]
	d.at += n
	return b, nil
}

// length reads a number of parts, each of which takes at least one byte.
func (d *decoder) length() (int, error) {
	n, k := binary.Uvarint(d.data[d.at:])
	if err := d.varint(k); err != nil {
		return 0, err
	}
	if n > uint64(len(d.data)-d.at) {
		return 0, errCut
	}
	return int(n), nil
}

// varint moves on past a varint of k bytes, as package binary counts them.
func (d *decoder) varint(k int) error {
	if k <= 0 {
		return errCut
	}
	d.at += k
	if k > 1 && d.data[d.at-1] == 0 {
		return errNotShort
	}
	return nil
}

func (d *decoder) text() (string, error) {
	n, err := d.length()
	if err != nil {
		return "", err
	}
	b, err := d.take(n)
	return string(b), err
}

// value reads a value inside depth others.
func (d *decoder) value(depth int) (starlark.Value, error) {
	tag, err := d.take(1)
	if err != nil {
		return nil, err
	}
	switch tag[0] {
	case 'N':
		return starlark.None, nil
	case 'T', 'F':
		return starlark.Bool(tag[0] == 'T'), nil
	case 'i':
		n, k := binary.Varint(d.data[d.at:])
		return starlark.MakeInt64(n), d.varint(k)
	case 'I':
		return d.bigInt()
	case 'd':
		b, err := d.take(8)
		if err != nil {
			return nil, err
		}
		return starlark.Float(math.Float64frombits(binary.LittleEndian.Uint64(b))), nil
	case 's':
		s, err := d.text()
		return starlark.String(s), err
	case 'l', 'u', 'm':
		if depth == maxDepth {
			return nil, errors.New("containers nested too deep")
		}
		return d.container(tag[0], depth+1)
	}
	if h, ok := holes[tag[0]]; ok && d.hole != nil {
		_, err := d.take(h.rest)
		return d.hole(h.kind), err
	}
	return nil, fmt.Errorf("unknown tag %q", tag)
}

// bigInt reads an int of more than 64 bits.
func (d *decoder) bigInt() (starlark.Value, error) {
	negative, err := d.take(1)
	if err != nil {
		return nil, err
	}
	magnitude, err := d.text()
	if err != nil {
		return nil, err
	}
	x := new(big.Int).SetBytes([]byte(magnitude))
	if negative[0] == 1 {
		x.Neg(x)
	}
	if x.IsInt64() || negative[0] > 1 || magnitude[0] == 0 {
		return nil, errNotShort
	}
	return starlark.MakeBigInt(x), nil
}

// container reads what follows the tag of a container, whose parts stand in
// depth others.
func (d *decoder) container(tag byte, depth int) (starlark.Value, error) {
	n, err := d.length()
	if err != nil {
		return nil, err
	}
	if tag == 'm' {
		return d.dict(n, depth)
	}
	list := make([]starlark.Value, 0, min(n, 64)) // n may be a lie
	for range n {
		v, err := d.value(depth)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	if tag == 'u' {
		return starlark.Tuple(list), nil
	}
	return starlark.NewList(list), nil
}

// dict reads the n entries of a dict.
func (d *decoder) dict(n, depth int) (starlark.Value, error) {
	dict := new(starlark.Dict)
	for range n {
		key, err := d.text()
		if err != nil {
			return nil, err
		}
		v, err := d.value(depth)
		if err != nil {
			return nil, err
		}
		if err := dict.SetKey(starlark.String(key), v); err != nil {
			return nil, err
		}
	}
	if dict.Len() != n {
		return nil, errors.New("a key twice")
	}
	return dict, nil
}
