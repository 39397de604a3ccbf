package pickle

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"
)

// A PersistentID stands for a value that the reader of a pickle is to supply.
type PersistentID struct{ ID any }

// Append appends a pickle of v, of protocol 2, which every Python 3 reads. v is
// made of what Read returns: None, numbers, text, bytes, lists, tuples and dicts; of
// a Class, which stands for the class or function of that name; of an *Object,
// made by a call with its Args, or without a call if these are nil, and then given
// its State; and of a PersistentID. Values that are shared are written each time.
func Append(b []byte, v any) ([]byte, error) {
	w := &writer{b: append(b, 0x80, 2)}
	w.value(v, 0)
	return append(w.b, '.'), w.err
}

// maxDepth bounds how deep values are nested: a value that holds itself cannot be
// written.
const maxDepth = 1000

// A writer writes a pickle, up to the first value that has none.
type writer struct {
	b   []byte
	err error
}

func (w *writer) value(v any, depth int) {
	if depth > maxDepth {
		w.err = errors.New("values are nested too deep to be pickled")
	}
	if w.err != nil {
		return
	}
	switch v := v.(type) {
	case nil:
		w.op('N')
	case bool:
		w.op(map[bool]byte{true: 0x88, false: 0x89}[v])
	case int:
		w.int(int64(v))
	case int64:
		w.int(v)
	case *big.Int:
		w.big(v)
	case float64:
		w.b = binary.BigEndian.AppendUint64(append(w.b, 'G'), math.Float64bits(v))
	case string:
		w.b = append(binary.LittleEndian.AppendUint32(append(w.b, 'X'), uint32(len(v))), v...)
	case Class:
		w.class(v)
	case PersistentID:
		w.value(v.ID, depth+1)
		w.op('Q')
	default:
		w.composite(v, depth)
	}
}

func (w *writer) op(c byte) { w.b = append(w.b, c) }

func (w *writer) int(n int64) {
	if int64(int32(n)) != n {
		w.big(big.NewInt(n))
		return
	}
	w.b = binary.LittleEndian.AppendUint32(append(w.b, 'J'), uint32(n))
}

// big writes an int in two's complement, lowest byte first.
func (w *writer) big(n *big.Int) {
	size := n.BitLen()/8 + 1
	m := n
	if n.Sign() < 0 {
		m = new(big.Int).Add(n, new(big.Int).Lsh(big.NewInt(1), uint(8*size)))
	}
	if size > 255 {
		w.err = errors.New("an int of more than 255 bytes")
		return
	}
	be := m.FillBytes(make([]byte, size))
	w.b = append(w.b, 0x8a, byte(size))
	for i := size - 1; i >= 0; i-- {
		w.b = append(w.b, be[i])
	}
}

// class names a class or function.
func (w *writer) class(c Class) {
	i := strings.LastIndexByte(string(c), '.')
	if i < 1 || strings.Contains(string(c), "\n") {
		w.err = fmt.Errorf("%.60q is no name of a class", string(c))
		return
	}
	w.b = append(append(w.b, 'c'), c[:i]...)
	w.b = append(append(append(w.b, '\n'), c[i+1:]...), '\n')
}

func (w *writer) composite(v any, depth int) {
	switch v := v.(type) {
	case []byte: // protocol 2 has none: Python, too, writes a call
		text := make([]rune, len(v))
		for i, c := range v {
			text[i] = rune(c)
		}
		w.value(&Object{Class: "_codecs.encode", Args: Tuple{string(text), "latin1"}}, depth+1)
	case Tuple:
		w.op('(')
		for _, item := range v {
			w.value(item, depth+1)
		}
		w.op('t')
	case *List:
		w.b = append(w.b, ']', '(')
		for _, item := range v.Items {
			w.value(item, depth+1)
		}
		w.op('e')
	case *Dict:
		w.b = append(w.b, '}', '(')
		for key, item := range v.All() {
			w.value(key, depth+1)
			w.value(item, depth+1)
		}
		w.op('u')
	case *Object:
		w.object(v, depth)
	default:
		w.err = fmt.Errorf("a %T cannot be pickled", v)
	}
}

// object makes an object and gives it its state.
func (w *writer) object(o *Object, depth int) {
	w.class(Class(o.Class))
	if o.Args == nil {
		w.b = append(w.b, ')', 0x81)
	} else {
		w.value(o.Args, depth+1)
		w.op('R')
	}
	if o.State != nil {
		w.value(o.State, depth+1)
		w.op('b')
	}
}
