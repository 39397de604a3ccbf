package arg

import (
	"fmt"
	"math"
	"strings"

	"go.starlark.net/starlark"

	"tpsh/internal/spell"
	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
)

// A Settler is a value that stands for others: of the ranks that a rank runs for.
type Settler interface {
	// Settle returns that of the rank, and tells apart those that have another.
	Settle() starlark.Value
}

// settled returns v, or what it stands for.
func settled(v starlark.Value) starlark.Value {
	if s, ok := v.(Settler); ok {
		return s.Settle()
	}
	return v
}

// Int is an argument that is an int.
type Int int

// Unpack implements starlark.Unpacker.
func (p *Int) Unpack(v starlark.Value) error {
	n, err := ToInt(v)
	*p = Int(n)
	return err
}

// ToInt returns v, an int, as a Go int. A bool is no int.
func ToInt(v starlark.Value) (int, error) {
	v = settled(v)
	i, ok := v.(starlark.Int)
	if !ok {
		return 0, Bad(v, "an int", "")
	}
	n, ok := i.Int64()
	if !ok {
		return 0, Bad(v, "an int of 64 bits", "")
	}
	return int(n), nil
}

// Float is an argument that is a float or an int.
type Float float64

// Unpack implements starlark.Unpacker.
func (p *Float) Unpack(v starlark.Value) error {
	v = settled(v)
	f, ok := starlark.AsFloat(v)
	if v.Type() == "unknown" { // of a plan: which number it is makes no difference
		f, ok = 1, true
	}
	if !ok {
		return Bad(v, "a number", "")
	}
	if i, isInt := v.(starlark.Int); isInt && math.IsInf(f, 0) {
		return Bad(i, "a number that a float can hold", "")
	}
	*p = Float(f)
	return nil
}

// Bool is an argument that is True or False.
type Bool bool

// Unpack implements starlark.Unpacker.
func (p *Bool) Unpack(v starlark.Value) error {
	v = settled(v)
	b, ok := v.(starlark.Bool)
	if !ok {
		return Bad(v, "True or False", "")
	}
	*p = Bool(b)
	return nil
}

// String is an argument that is a string.
type String string

// Unpack implements starlark.Unpacker.
func (p *String) Unpack(v starlark.Value) error {
	v = settled(v)
	s, ok := starlark.AsString(v)
	if !ok {
		return Bad(v, "a string", "")
	}
	*p = String(s)
	return nil
}

// ToInts returns v, an int or a list or tuple of ints, as a slice.
func ToInts(v starlark.Value) ([]int, error) {
	v = settled(v)
	switch v := v.(type) {
	case starlark.Int:
		n, err := ToInt(v)
		return []int{n}, err
	case *starlark.List:
		return ints(v)
	case starlark.Tuple:
		return ints(v)
	}
	return nil, Bad(v, "an int or a list of ints", "")
}

// ints returns the elements of v, all of them ints.
func ints(v starlark.Indexable) ([]int, error) {
	list := make([]int, v.Len())
	for i := range list {
		n, err := ToInt(v.Index(i))
		if err != nil {
			return nil, BadItem(v.Index(i), i, "an int")
		}
		list[i] = n
	}
	return list, nil
}

// Shape is an argument that is a shape: an int, or a list or tuple of ints,
// none negative.
type Shape shape.Shape

// Unpack implements starlark.Unpacker.
func (p *Shape) Unpack(v starlark.Value) error {
	list, err := ToInts(v)
	if err != nil {
		return err
	}
	for i, n := range list {
		if n < 0 {
			return badSize(v, n, i)
		}
	}
	*p = list
	return nil
}

// badSize is the error of a size n at index i of v that is negative.
func badSize(v starlark.Value, n, i int) error {
	if _, single := v.(starlark.Int); single {
		return Bad(v, "a non-negative int", "")
	}
	return BadItem(starlark.MakeInt(n), i, "a non-negative int")
}

// DType is an argument that is a dtype: its value or its name.
type DType struct{ D dtype.DType }

// A HasDType is a value that stands for a dtype.
type HasDType interface {
	starlark.Value
	DType() dtype.DType
}

// Unpack implements starlark.Unpacker.
func (p *DType) Unpack(v starlark.Value) error {
	switch v := v.(type) {
	case HasDType:
		p.D = v.DType()
		return nil
	case starlark.String:
		d, err := dtype.Parse(string(v))
		if err == nil {
			p.D = d
			return nil
		}
		return Bad(v, "a dtype", didYouMean(string(v)))
	}
	return Bad(v, `a dtype or its name`, `float32 or "float32"`)
}

// didYouMean is the rule of an error about a dtype spelt name.
func didYouMean(name string) string {
	switch device, _, _ := strings.Cut(name, ":"); device {
	case "cuda", "cpu", "mps", "xpu", "tpu", "gpu":
		return fmt.Sprintf("there is one device: leave .to(%q) out", name)
	}
	var names []string
	for _, d := range dtype.All {
		names = append(names, d.String())
	}
	return Nearest(name, names)
}

// Nearest returns the rule of an error about a misspelt name, such as
// `did you mean "tp"?`, or "" if none of names is near.
func Nearest(name string, names []string) string {
	if n := spell.Nearest(name, names); n != "" {
		return fmt.Sprintf("did you mean %q?", n)
	}
	return ""
}

// Callable is an argument that is a function. It is not itself callable: the
// interpreter keeps the place in a function only if it is called as it is.
type Callable struct{ Fn starlark.Callable }

// Unpack implements starlark.Unpacker.
func (p *Callable) Unpack(v starlark.Value) error {
	c, ok := v.(starlark.Callable)
	if !ok {
		return Bad(v, "a function", "")
	}
	p.Fn = c
	return nil
}

// List is an argument that is a list or a tuple.
type List []starlark.Value

// Unpack implements starlark.Unpacker.
func (p *List) Unpack(v starlark.Value) error {
	var seq starlark.Indexable
	switch v := v.(type) {
	case *starlark.List:
		seq = v
	case starlark.Tuple:
		seq = v
	default:
		return Bad(v, "a list or tuple", "")
	}
	*p = make(List, seq.Len())
	for i := range *p {
		(*p)[i] = seq.Index(i)
	}
	return nil
}

// Strings is a list or tuple of strings.
type Strings []string

// Unpack implements starlark.Unpacker.
func (p *Strings) Unpack(v starlark.Value) error {
	var list List
	if list.Unpack(v) != nil {
		return Bad(v, "a list of strings", "")
	}
	*p = make(Strings, len(list))
	for i, item := range list {
		s, ok := starlark.AsString(item)
		if !ok {
			return BadItem(item, i, "a string")
		}
		(*p)[i] = s
	}
	return nil
}

// Opt is an argument of another kind or None. Set tells which.
type Opt[T any, P interface {
	*T
	starlark.Unpacker
}] struct {
	V   T
	Set bool
}

// Unpack implements starlark.Unpacker.
func (p *Opt[T, P]) Unpack(v starlark.Value) error {
	p.Set = v != starlark.None
	if !p.Set {
		return nil
	}
	return P(&p.V).Unpack(v)
}

// Arguments that may be None.
type (
	OptInt      = Opt[Int, *Int]
	OptFloat    = Opt[Float, *Float]
	OptString   = Opt[String, *String]
	OptDType    = Opt[DType, *DType]
	OptCallable = Opt[Callable, *Callable]
)

// Dim returns the dim that the parameter called name of fn names, counted from
// the front, of a tensor of shape s.
func Dim(fn, name string, dim int, s shape.Shape) (int, error) {
	if d, ok := shape.Dim(dim, len(s)); ok {
		return d, nil
	}
	bad := &op.ArgError{Func: fn, Param: name, Got: fmt.Sprint(dim), Want: "no dim", Rule: "shape ()"}
	if len(s) > 0 {
		bad.Want, bad.Rule = fmt.Sprintf("%d..%d", -len(s), len(s)-1), fmt.Sprintf("shape %v", s)
	}
	return 0, bad
}
