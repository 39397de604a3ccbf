package pickle

import (
	"errors"
	"fmt"
	"math/big"
)

// ops has what each instruction does (Lib/pickletools.py lists them).
var ops = [256]func(*reader) error{
	// The stack and the memo.
	'(':  func(r *reader) error { r.marks = append(r.marks, len(r.stack)); return nil },
	'0':  popOp,
	'1':  func(r *reader) error { _, err := r.sinceMark(); return err },
	'2':  dupOp,
	'p':  func(r *reader) error { return r.line(r.put) },
	'q':  func(r *reader) error { return r.uint(1, r.memoize) },
	'r':  func(r *reader) error { return r.uint(4, r.memoize) },
	0x94: func(r *reader) error { return r.memoize(r.memo.n) },
	'g':  func(r *reader) error { return r.line(r.get) },
	'h':  func(r *reader) error { return r.uint(1, r.recall) },
	'j':  func(r *reader) error { return r.uint(4, r.recall) },
	0x80: protoOp,
	0x95: func(r *reader) error { return r.uint(8, func(uint64) error { return nil }) },

	// Numbers.
	'N':  func(r *reader) error { return r.push(nil) },
	0x88: func(r *reader) error { return r.push(true) },
	0x89: func(r *reader) error { return r.push(false) },
	'I':  func(r *reader) error { return r.line(r.intText) },
	'L':  func(r *reader) error { return r.line(r.longText) },
	'F':  func(r *reader) error { return r.line(r.floatText) },
	'K':  func(r *reader) error { return r.uint(1, r.pushUint) },
	'M':  func(r *reader) error { return r.uint(2, r.pushUint) },
	'J':  func(r *reader) error { return r.uint(4, func(n uint64) error { return r.push(int64(int32(n))) }) },
	0x8a: func(r *reader) error { return r.counted(1, r.long) },
	0x8b: func(r *reader) error { return r.counted(4, r.long) },
	'G':  floatOp,

	// Text and bytes.
	'S':  func(r *reader) error { return r.line(r.quoted) },
	'V':  func(r *reader) error { return r.line(r.escaped) },
	'U':  func(r *reader) error { return r.counted(1, r.text) },
	'T':  func(r *reader) error { return r.counted(4, r.text) },
	0x8c: func(r *reader) error { return r.counted(1, r.text) },
	'X':  func(r *reader) error { return r.counted(4, r.text) },
	0x8d: func(r *reader) error { return r.counted(8, r.text) },
	'C':  func(r *reader) error { return r.counted(1, r.bytes) },
	'B':  func(r *reader) error { return r.counted(4, r.bytes) },
	0x8e: func(r *reader) error { return r.counted(8, r.bytes) },
	0x96: func(r *reader) error { return r.counted(8, r.bytes) },

	// Containers.
	')':  func(r *reader) error { return r.push(Tuple{}) },
	't':  func(r *reader) error { return r.gathered(func(t Tuple) (any, error) { return t, nil }) },
	0x85: func(r *reader) error { return r.tuple(1) },
	0x86: func(r *reader) error { return r.tuple(2) },
	0x87: func(r *reader) error { return r.tuple(3) },
	']':  func(r *reader) error { return r.push(new(List)) },
	'l':  func(r *reader) error { return r.gathered(func(t Tuple) (any, error) { return &List{t}, nil }) },
	'a':  func(r *reader) error { return r.extend(r.pops(1)) },
	'e':  func(r *reader) error { return r.extend(r.sinceMark()) },
	'}':  func(r *reader) error { return r.push(new(Dict)) },
	'd':  func(r *reader) error { return r.gathered(newDict) },
	's':  func(r *reader) error { return r.update(r.pops(2)) },
	'u':  func(r *reader) error { return r.update(r.sinceMark()) },
	0x8f: func(r *reader) error { return r.push(new(Set)) },
	0x90: func(r *reader) error { return r.extend(r.sinceMark()) },
	0x91: func(r *reader) error { return r.gathered(func(t Tuple) (any, error) { return &Set{t, true}, nil }) },

	// What only Options can make.
	'c':  globalOp,
	0x93: stackGlobalOp,
	'R':  callOp,
	0x81: callOp,
	0x92: callKwOp,
	'o':  objOp,
	'i':  instOp,
	'b':  buildOp,
	'P':  func(r *reader) error { return r.line(func(s string) error { return r.persistent(s) }) },
	'Q':  persistentOp,
	0x82: extensionOp,
	0x83: extensionOp,
	0x84: extensionOp,
	0x97: bufferOp,
	0x98: bufferOp,
}

// maxProtocol is the latest protocol that is read.
const maxProtocol = 5

func protoOp(r *reader) error {
	return r.uint(1, func(n uint64) error {
		if n > maxProtocol {
			return fmt.Errorf("protocol %d, want at most %d", n, maxProtocol)
		}
		return nil
	})
}

func popOp(r *reader) error {
	// Python lets it take a mark, too.
	if n := len(r.marks); n > 0 && r.marks[n-1] == len(r.stack) {
		r.marks = r.marks[:n-1]
		return nil
	}
	_, err := r.pop()
	return err
}

func dupOp(r *reader) error {
	v, err := r.top()
	if err != nil {
		return err
	}
	return r.push(v)
}

func (r *reader) memoize(i uint64) error {
	v, err := r.top()
	if err != nil {
		return err
	}
	r.memo.set(i, v)
	return nil
}

func (r *reader) recall(i uint64) error {
	v, ok := r.memo.get(i)
	if !ok {
		return fmt.Errorf("it recalls number %d, which it has not kept", i)
	}
	return r.push(v)
}

func (r *reader) tuple(n int) error {
	t, err := r.pops(n)
	if err != nil {
		return err
	}
	return r.push(t)
}

// gathered puts what f makes of the values since the last mark on the stack.
func (r *reader) gathered(f func(Tuple) (any, error)) error {
	t, err := r.sinceMark()
	if err != nil {
		return err
	}
	v, err := f(t)
	if err != nil {
		return err
	}
	return r.push(v)
}

func newDict(t Tuple) (any, error) {
	d := new(Dict)
	return d, setAll(d, t)
}

func setAll(d *Dict, t Tuple) error {
	if len(t)%2 != 0 {
		return errors.New("it sets a key without a value")
	}
	for i := 0; i < len(t); i += 2 {
		d.Set(t[i], t[i+1])
	}
	return nil
}

// extend appends values to the list, set or object under them.
func (r *reader) extend(t Tuple, err error) error {
	if err != nil {
		return err
	}
	v, err := r.top()
	if err != nil {
		return err
	}
	switch v := v.(type) {
	case *List:
		v.Items = append(v.Items, t...)
	case *Set:
		v.Items = append(v.Items, t...)
	case *Object:
		v.Items = append(v.Items, t...)
	default:
		return fmt.Errorf("it appends to %s", Kind(v))
	}
	return nil
}

// update sets keys of the dict or object under them.
func (r *reader) update(t Tuple, err error) error {
	if err != nil {
		return err
	}
	v, err := r.top()
	if err != nil {
		return err
	}
	switch v := v.(type) {
	case *Dict:
		return setAll(v, t)
	case *Object:
		if v.Pairs == nil {
			v.Pairs = new(Dict)
		}
		return setAll(v.Pairs, t)
	}
	return fmt.Errorf("it sets keys of %s", Kind(v))
}

func globalOp(r *reader) error {
	return r.line(func(module string) error {
		return r.line(func(name string) error { return r.global(module, name) })
	})
}

func stackGlobalOp(r *reader) error {
	t, err := r.pops(2)
	if err != nil {
		return err
	}
	module, ok1 := t[0].(string)
	name, ok2 := t[1].(string)
	if !ok1 || !ok2 {
		return fmt.Errorf("it names %s of %s, want text", Kind(t[1]), Kind(t[0]))
	}
	return r.global(module, name)
}

func callOp(r *reader) error {
	t, err := r.pops(2)
	if err != nil {
		return err
	}
	return r.call(t[0], t[1], nil)
}

func callKwOp(r *reader) error {
	t, err := r.pops(3)
	if err != nil {
		return err
	}
	kw, ok := t[2].(*Dict)
	if !ok {
		return fmt.Errorf("it calls with keywords in %s, want a dict", Kind(t[2]))
	}
	return r.call(t[0], t[1], kw)
}

func objOp(r *reader) error {
	t, err := r.sinceMark()
	if err != nil {
		return err
	}
	if len(t) == 0 {
		return errors.New("it makes an object of no class")
	}
	return r.call(t[0], t[1:], nil)
}

func instOp(r *reader) error {
	if err := globalOp(r); err != nil {
		return err
	}
	f := r.stack[len(r.stack)-1]
	r.stack = r.stack[:len(r.stack)-1]
	t, err := r.sinceMark()
	if err != nil {
		return err
	}
	return r.call(f, t, nil)
}

func buildOp(r *reader) error {
	state, err := r.pop()
	if err != nil {
		return err
	}
	v, err := r.top()
	if err != nil {
		return err
	}
	switch v := v.(type) {
	case Settable:
		return v.SetState(state)
	case *Object:
		v.State = state
		return nil
	case *Dict:
		v.State = state
		return nil
	}
	return fmt.Errorf("it sets the state of %s", Kind(v))
}

func persistentOp(r *reader) error {
	id, err := r.pop()
	if err != nil {
		return err
	}
	return r.persistent(id)
}

func extensionOp(*reader) error {
	return errors.New("it wants an object from the registry of a Python process, which is not known here")
}

func bufferOp(*reader) error {
	return errors.New("it wants a buffer from outside the file, and there is none")
}

// maxLong is the most bytes, or digits, of an int: far more than any number
// that is one, and few enough that reading it takes no time.
const maxLong = 4096

// long reads an int in two's complement, lowest byte first.
func (r *reader) long(b []byte) error {
	if len(b) > maxLong {
		return fmt.Errorf("an int of %d bytes, want at most %d", len(b), maxLong)
	}
	be := make([]byte, len(b))
	for i, x := range b {
		be[len(b)-1-i] = x
	}
	n := new(big.Int).SetBytes(be)
	if len(b) > 0 && b[len(b)-1] >= 0x80 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return r.pushBig(n)
}

func (r *reader) pushBig(n *big.Int) error {
	if n.IsInt64() {
		return r.push(n.Int64())
	}
	return r.push(n)
}

func (r *reader) pushUint(n uint64) error { return r.push(int64(n)) }
