package pickle

import (
	"errors"
	"fmt"
)

// own has the classes and functions whose results are plain values: how the
// protocols that have no instruction for such a value spell it.
var own = Allow{
	"builtins.set":            Func(func(args Tuple) (any, error) { return newSet(args, false) }),
	"builtins.frozenset":      Func(func(args Tuple) (any, error) { return newSet(args, true) }),
	"builtins.bytes":          Func(newBytes),
	"builtins.bytearray":      Func(newBytes),
	"_codecs.encode":          Func(encode),
	"collections.OrderedDict": Func(orderedDict),
}

// most returns args' only element, or nil if there is none.
func most(args Tuple) (any, error) {
	switch len(args) {
	case 0:
		return nil, nil
	case 1:
		return args[0], nil
	}
	return nil, fmt.Errorf("got %d arguments, want at most 1", len(args))
}

func newSet(args Tuple, frozen bool) (any, error) {
	v, err := most(args)
	if err != nil || v == nil {
		return &Set{Frozen: frozen}, err
	}
	items, ok := Items(v)
	if !ok {
		return nil, fmt.Errorf("a set of %s, want a list", Kind(v))
	}
	return &Set{items[:len(items):len(items)], frozen}, nil
}

func newBytes(args Tuple) (any, error) {
	if len(args) == 2 { // text and the name of a code
		return encode(args)
	}
	v, err := most(args)
	if err != nil || v == nil {
		return []byte{}, err
	}
	b, ok := v.([]byte)
	if !ok {
		return nil, fmt.Errorf("bytes of %s, want bytes", Kind(v))
	}
	return b, nil
}

// encode returns the bytes of text in Latin-1, in which protocols 0 to 2 write
// bytes.
func encode(args Tuple) (any, error) {
	if len(args) != 2 {
		return nil, fmt.Errorf("got %d arguments, want 2", len(args))
	}
	s, ok := args[0].(string)
	if code := args[1]; !ok || code != "latin1" && code != "latin-1" {
		return nil, errors.New("want text and \"latin1\"")
	}
	b := make([]byte, 0, len(s))
	for _, c := range s {
		if c > 0xff {
			return nil, fmt.Errorf("got %q, want letters of Latin-1", c)
		}
		b = append(b, byte(c))
	}
	return b, nil
}

func orderedDict(args Tuple) (any, error) {
	v, err := most(args)
	if err != nil || v == nil {
		return new(Dict), err
	}
	items, ok := Items(v)
	if !ok {
		return nil, fmt.Errorf("an OrderedDict of %s, want a list of pairs", Kind(v))
	}
	d := new(Dict)
	for _, it := range items {
		kv, ok := Items(it)
		if !ok || len(kv) != 2 {
			return nil, fmt.Errorf("an OrderedDict of a list with %s, want pairs", Kind(it))
		}
		d.Set(kv[0], kv[1])
	}
	return d, nil
}
