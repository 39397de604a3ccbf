package pickle

import (
	"errors"
	"fmt"
	"math/big"
)

// ErrCut says that bytes end in the middle of a pickle.
var ErrCut = errors.New("it ends in the middle of a pickle")

// Read reads the pickle that b begins with, and returns its value and the
// bytes behind it.
func Read(b []byte, o *Options) (v any, rest []byte, err error) {
	if o == nil {
		o = new(Options)
	}
	r := &reader{b: b, o: o}
	for {
		at := r.i
		op, err := r.byte()
		if err != nil {
			return nil, nil, err
		}
		if op == '.' {
			v, err := r.pop()
			if err != nil {
				return nil, nil, atByte(at, err)
			}
			return v, b[r.i:], nil
		}
		if err := r.step(op); err != nil {
			return nil, nil, atByte(at, err)
		}
	}
}

// atByte adds to err the place in the file.
func atByte(at int, err error) error {
	if errors.Is(err, ErrCut) {
		return err
	}
	return fmt.Errorf("at byte %d: %w", at, err)
}

// A reader is the machine that a pickle is a program for.
type reader struct {
	b      []byte
	i      int // of the next byte
	o      *Options
	stack  []any
	marks  []int // heights of the stack at which marks are set
	memo   memo
	made   int // values
	copied int // bytes, and items of dicts, that calls have made
}

// step carries out one instruction.
func (r *reader) step(op byte) error {
	if f := ops[op]; f != nil {
		return f(r)
	}
	return fmt.Errorf("instruction %#02x is none of a pickle", op)
}

func (r *reader) push(v any) error {
	if r.made++; r.o.MaxValues > 0 && r.made > r.o.MaxValues {
		return fmt.Errorf("it makes over %d values, which is more than are read", r.o.MaxValues)
	}
	r.stack = append(r.stack, v)
	return nil
}

// floor is the height under which the values belong to what stands before the
// last mark.
func (r *reader) floor() int {
	if n := len(r.marks); n > 0 {
		return r.marks[n-1]
	}
	return 0
}

func (r *reader) pop() (any, error) {
	v, err := r.top()
	if err == nil {
		r.stack = r.stack[:len(r.stack)-1]
	}
	return v, err
}

// top returns the last value without taking it.
func (r *reader) top() (any, error) {
	if len(r.stack) <= r.floor() {
		return nil, errors.New("it takes a value where there is none")
	}
	return r.stack[len(r.stack)-1], nil
}

// pops takes the last n values.
func (r *reader) pops(n int) (Tuple, error) {
	at := len(r.stack) - n
	if at < r.floor() {
		return nil, errors.New("it takes a value where there is none")
	}
	t := append(Tuple{}, r.stack[at:]...)
	r.stack = r.stack[:at]
	return t, nil
}

// sinceMark takes the last mark and the values behind it.
func (r *reader) sinceMark() (Tuple, error) {
	n := len(r.marks)
	if n == 0 {
		return nil, errors.New("it takes the values since a mark, and there is none")
	}
	at := r.marks[n-1]
	t := append(Tuple{}, r.stack[at:]...)
	r.stack, r.marks = r.stack[:at], r.marks[:n-1]
	return t, nil
}

// mostCopied is how many times as long as the file may be what its calls make of its text and lists:
// each of these may be given to many calls, and a copy be made by each.
const mostCopied = 4

// call puts f(args, kwargs) on the stack.
func (r *reader) call(f any, args any, kwargs *Dict) error {
	c, ok := f.(Callable)
	if !ok {
		return fmt.Errorf("it calls %s, which is no class or function", Kind(f))
	}
	t, ok := args.(Tuple)
	if !ok {
		return fmt.Errorf("it calls with %s, want a tuple", Kind(args))
	}
	v, err := c.Call(t, kwargs)
	if err != nil {
		return err
	}
	switch v := v.(type) {
	case []byte:
		r.copied += len(v)
	case *Dict:
		r.copied += v.Len()
	}
	if r.copied > mostCopied*len(r.b) {
		return errors.New("its calls make copies of what it holds again and again, which is more than is read")
	}
	return r.push(v)
}

// global puts what stands for a name on the stack.
func (r *reader) global(module, name string) error {
	if m, ok := renamed[module]; ok {
		module = m
	}
	if f, ok := own[module+"."+name]; ok {
		return r.push(f)
	}
	if r.o.Global == nil {
		return &RefusedError{module, name}
	}
	v, err := r.o.Global(module, name)
	if err != nil {
		return err
	}
	return r.push(v)
}

// renamed has the modules of Python 2 that pickles of protocols 0 to 2 name.
var renamed = map[string]string{"__builtin__": "builtins", "copy_reg": "copyreg"}

func (r *reader) persistent(id any) error {
	if r.o.Persistent == nil {
		return fmt.Errorf("it leaves an object to its reader (its id is %s), and none is known here", Kind(id))
	}
	v, err := r.o.Persistent(id)
	if err != nil {
		return err
	}
	return r.push(v)
}

// Show returns a number or a text as a message shows it, and says of any other value what it is: one
// may hold far more than its file, as what is in it may stand in many places.
func Show(v any) string {
	switch v := v.(type) {
	case bool, int64, float64:
		return fmt.Sprint(v)
	case string:
		return fmt.Sprintf("%.40q", v)
	}
	return Kind(v)
}

// Kind says what v is in Python's words.
func Kind(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		return "a bool"
	case string:
		return "a str"
	case []byte:
		return "bytes"
	case float64:
		return "a float"
	case *List:
		return "a list"
	case Tuple:
		return "a tuple"
	case *Dict:
		return "a dict"
	case *Set:
		return "a set"
	case int64, *big.Int:
		return "an int"
	case *Object:
		return fmt.Sprintf("an object of the class %.60q", v.Class)
	}
	return fmt.Sprintf("%T", v)
}
