package op

import (
	"errors"
	"fmt"

	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel/crew"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// A Ctx is what operators of one rank need besides their arguments.
type Ctx struct {
	Alloc *tensor.Allocator
	// Float is the dtype of floats without one.
	Float dtype.DType
	// Draw returns the key of the next random draw; see package rng.
	Draw func() (seed, draw uint64)
	// Ran, if set, is called with every call that has been applied.
	Ran func(c *Call)
	// Placed, if set, is called where a distributed tensor is made of a block, taken for
	// its block or redistributed: what takes time, be there nothing to be moved.
	Placed func()
	// Timed, if set, is told of every call that was run on elements.
	Timed Timer
	// Workers are the cores that a call may use besides the rank's: of matrix products,
	// convolutions, and what is done in parts.
	Workers *crew.Workers
}

// Observed reports whether somebody may keep the calls that are applied: who is told
// of them, or a plan.
func (c *Ctx) Observed() bool { return c.Ran != nil || c.Timed != nil || c.Hollow() }

// A Timer is told how long calls run.
type Timer interface {
	// Now returns a time, in nanoseconds: of it, differences count.
	Now() int64
	// Ran says that a call has just ended, which began at a time that Now returned.
	Ran(c *Call, begin int64)
}

// A Call is one application of an operator.
type Call struct {
	Def  *Def
	Ctx  *Ctx
	In   []*tensor.Tensor // the tensor arguments; nil where an OptTensor is None
	Args []Arg            // the other arguments
	Spec []Spec           // set by Infer
	Out  []*tensor.Tensor // the results

	// Saved is what Run leaves for Grad besides In and Out.
	Saved []*tensor.Tensor

	// Into, if set, is where the result is to lie if it is one; IntoPlaced if ranks hold it
	// together. Whoever makes the result may do otherwise.
	Into       *tensor.Header
	IntoPlaced *tensor.PlacedHeader

	in2   [2]*tensor.Tensor
	spec1 [1]Spec
	out1  [1]*tensor.Tensor
}

// Operands sets c.In to x and, unless that is nil, y.
func (c *Call) Operands(x, y *tensor.Tensor) {
	c.in2 = [2]*tensor.Tensor{x, y}
	if c.In = c.in2[:]; y == nil {
		c.In = c.in2[:1]
	}
}

// Forget makes c, which nobody has any more, a call of which nothing is known, to be used again.
// It is quicker than to make c zero, since while the collector marks each pointer that is
// overwritten counts: those to c itself stay.
func (c *Call) Forget() {
	c.In, c.Args, c.Spec, c.Out, c.Saved = nil, nil, nil, nil, nil
	c.Into, c.IntoPlaced = nil, nil
	c.in2 = [2]*tensor.Tensor{}
	c.out1[0] = nil
	c.spec1[0].Shape = nil
}

// ByValue reports whether the shapes of the results depend on elements.
func (c *Call) ByValue() bool { return c.Def.ByValue != nil && c.Def.ByValue(c) }

// An ArgError says that an argument does not fit.
type ArgError struct {
	Func  string // the operator or builtin
	Param string // the parameter; "" if the arguments do not fit together
	Got   string // as a script writes it
	Want  string
	Rule  string // why, or ""

	// Element, if set, says which element of Param it is about: Got is its value.
	Element *Element
}

// An Element is an element of a tensor that an error is about.
type Element struct {
	At       []int       // its index
	Of       shape.Shape // of the tensor
	Position bool        // it is counted in row-major order in the text of the error
}

// String says where the element is: "at index (1, 2)" or "at position 6".
func (e *Element) String() string {
	if !e.Position {
		return "at index " + shape.Shape(e.At).String()
	}
	at := 0
	for d, i := range e.At {
		at = at*e.Of[d] + i
	}
	return fmt.Sprintf("at position %d", at)
}

func (e *ArgError) Error() string {
	s := e.Func + ": "
	if e.Param != "" {
		s += fmt.Sprintf("for parameter %q: ", e.Param)
	}
	s += "got " + e.Got
	if e.Element != nil {
		s += " " + e.Element.String()
	}
	if e.Want != "" {
		s += ", want " + e.Want
	}
	if e.Rule != "" {
		s += " (" + e.Rule + ")"
	}
	return s
}

// Rename gives err, if it is an *ArgError or wraps one, the function fn, and
// returns it: a script wrote fn, and not the operator that fails.
func Rename(fn string, err error) error {
	var bad *ArgError
	if errors.As(err, &bad) {
		bad.Func = fn
	}
	return err
}

// Kind returns "argument".
func (e *ArgError) Kind() string { return "argument" }

// Function returns the name of the operator or builtin.
func (e *ArgError) Function() string { return e.Func }

// Bad returns an *ArgError about the parameter called param.
func (c *Call) Bad(param, got, want, rule string) error {
	return &ArgError{Func: c.Def.Name, Param: param, Got: got, Want: want, Rule: rule}
}

// checkFloat returns an error if x is no float tensor.
func (c *Call) checkFloat(param string, x *tensor.Tensor) error {
	if !x.DType().IsFloat() {
		return c.Bad(param, Describe(x), "a float tensor", "")
	}
	return nil
}

// checkInts returns an error if x is no integer tensor.
func (c *Call) checkInts(param string, x *tensor.Tensor) error {
	if !x.DType().IsInt() {
		return c.Bad(param, Describe(x), "an integer tensor", "")
	}
	return nil
}

// badElement returns an *ArgError about element i, in row-major order, of x, the
// parameter called param, whose value is v.
func (c *Call) badElement(param string, x *tensor.Tensor, i int, v int64, want, rule string) *ArgError {
	return &ArgError{Func: c.Def.Name, Param: param, Got: fmt.Sprint(v), Want: want, Rule: rule, Element: &Element{At: unravelled(i, x.Shape()), Of: x.Shape()}}
}

// Result sets c.Spec to one result.
func (c *Call) Result(dt dtype.DType, s shape.Shape) error {
	c.spec1[0] = Spec{dt, s}
	c.Spec = c.spec1[:]
	return nil
}

// Results sets c.Spec to several results.
func (c *Call) Results(specs ...Spec) error {
	c.Spec = specs
	return nil
}

// Dim returns the dim that Args[i] names, counted from the front, of a tensor
// of shape s.
func (c *Call) Dim(i int, s shape.Shape) (int, error) {
	return c.dim(c.argName(i), c.Args[i].Int, len(s), s)
}

// axis is Dim for an operator that works along one dim, and takes a tensor of
// shape () for a row of one element, as PyTorch does.
func (c *Call) axis(i int, s shape.Shape) (int, error) {
	return c.dim(c.argName(i), c.Args[i].Int, max(len(s), 1), s)
}

// dim returns the one of ndim dims that dim names, counted from the front.
func (c *Call) dim(param string, dim, ndim int, s shape.Shape) (int, error) {
	if d, ok := shape.Dim(dim, ndim); ok {
		return d, nil
	}
	if ndim == 0 {
		return 0, c.Bad(param, fmt.Sprint(dim), "no dim", "shape ()")
	}
	return 0, c.Bad(param, fmt.Sprint(dim), fmt.Sprintf("%d..%d", -ndim, ndim-1), fmt.Sprintf("shape %v", s))
}

// Dims returns the dims that Args[i] (a Dims) names, counted from the front
// and each once, of a tensor of shape s: all of them if it is None.
func (c *Call) Dims(i int, s shape.Shape) ([]bool, error) { return c.dims(i, len(s), s) }

// dims is Dims of a tensor that counts as one of ndim dims.
func (c *Call) dims(i, ndim int, s shape.Shape) ([]bool, error) {
	in := make([]bool, ndim)
	if !c.Args[i].Set {
		for d := range in {
			in[d] = true
		}
		return in, nil
	}
	for _, dim := range c.Args[i].Ints {
		d, err := c.dim(c.argName(i), dim, ndim, s)
		if err != nil {
			return nil, err
		}
		if in[d] {
			return nil, c.Bad(c.argName(i), listText(c.Args[i].Ints), "each dim once", fmt.Sprintf("shape %v", s))
		}
		in[d] = true
	}
	return in, nil
}

// listText returns ints as a script writes a list of them.
func listText(ints []int) string { return "[" + shape.Shape(ints).Join() + "]" }

// argName returns the name of the i-th parameter that is no tensor.
func (c *Call) argName(i int) string { return c.argParam(i).Name }

// argParam returns the i-th parameter that is no tensor.
func (c *Call) argParam(i int) *Param {
	for j := range c.Def.Params {
		if p := &c.Def.Params[j]; !p.IsTensor() {
			if i == 0 {
				return p
			}
			i--
		}
	}
	panic("op: " + c.Def.Name + " has no such argument")
}

// InName returns the name of the parameter that In[i] is given for.
func (c *Call) InName(i int) string {
	p := c.Def.InParam(i)
	if p == nil {
		panic("op: " + c.Def.Name + " has no such input")
	}
	return p.Name
}

// Describe returns x as errors show it: float32[2, 3].
func Describe(x *tensor.Tensor) string {
	if x == nil {
		return "None"
	}
	return fmt.Sprintf("%v[%s]", x.DType(), x.Shape().Join())
}
