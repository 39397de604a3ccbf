package builtins

import (
	"fmt"
	"math"
	goruntime "runtime"

	"go.starlark.net/starlark"

	"tpsh/builtins/arg"
	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

func init() {
	Register(&Row{
		Name: "gradcheck",
		Doc: "gradcheck(fn, inputs, eps=1e-6, atol=1e-5) returns True if the gradients of fn(*inputs) agree with central differences, and fails with the worst element if not.\n" +
			"inputs is a tensor or a list of tensors; the floats among them are checked, in\n" +
			"float64. What fn returns, a tensor or a tuple of them, is made one number by adding\n" +
			"its elements with fixed weights, different for each. A gradient may be off by atol,\n" +
			"or by atol times its size where that is more than 1. fn draws the same random\n" +
			"numbers every time.\n" +
			">>> gradcheck(lambda x: (x * x).sum(), randn(3))\nTrue",
		Fn: gradCheck,
	})
}

// A GradError says which gradient differs from the differences.
type GradError struct {
	Input     int   // of inputs
	Index     []int // of the element
	Got, Want float64
}

func (e *GradError) Error() string {
	return fmt.Sprintf("gradcheck: got a gradient of %v for input %d at index %v, want %v (central differences)",
		starlark.Float(e.Got), e.Input, shape.Shape(e.Index), starlark.Float(e.Want))
}

// Kind returns "assertion".
func (e *GradError) Kind() string { return "assertion" }

// Function returns "gradcheck".
func (e *GradError) Function() string { return "gradcheck" }

// A checker compares the gradients of fn with differences.
type checker struct {
	e     *Env
	fn    starlark.Callable
	in    []*tensor.Tensor // leaves; floats are float64 and require grad
	seed  uint64
	draws uint64
}

func gradCheck(e *Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		fn        arg.Callable
		inputs    Tensors
		eps, atol = arg.Float(1e-6), arg.Float(1e-5)
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "fn", &fn, "inputs", &inputs, "eps?", &eps, "atol?", &atol); err != nil {
		return nil, err
	}
	if !(eps > 0) {
		return nil, &op.ArgError{Func: b.Name(), Param: "eps", Got: arg.Show(starlark.Float(eps)), Want: "a positive number"}
	}
	c := &checker{e: e, fn: fn.Fn}
	c.seed, c.draws = e.Runtime.RNG()
	for _, x := range inputs {
		if err := PlainOnly(b.Name(), "inputs", x); err != nil {
			return nil, err
		}
		leaf, err := c.leaf(x)
		if err != nil {
			return nil, err
		}
		c.in = append(c.in, leaf)
	}
	return starlark.True, c.check(float64(eps), float64(atol))
}

// leaf returns a copy of x in float64 that requires grad; of an x that is no
// float, x itself.
func (c *checker) leaf(x *tensor.Tensor) (*tensor.Tensor, error) {
	if !x.DType().IsFloat() {
		return x, nil
	}
	y, err := op.FromFloats(c.e.Runtime.Ops(), dtype.Float64, x.Shape(), elementsOf(x))
	if err != nil {
		return nil, err
	}
	return y, RequireGrad("gradcheck", y)
}

// value returns the weighted sum of what fn gives, with record as a tensor
// that can be differentiated.
func (c *checker) value(record bool) (*tensor.Tensor, error) {
	defer c.e.Runtime.Tape.SetEnabled(record)()
	c.e.Runtime.SetRNG(c.seed, c.draws)
	args := make([]starlark.Value, len(c.in))
	for i, x := range c.in {
		args[i] = c.e.Wrap(x)
	}
	v, err := c.e.Call(c.fn, args...)
	if err != nil {
		return nil, err
	}
	out, _, err := ResultsOf("gradcheck", v)
	if err != nil {
		return nil, err
	}
	var sum *tensor.Tensor
	for i, y := range out {
		part, err := c.weigh(i, y)
		if err != nil {
			return nil, err
		}
		if sum != nil {
			if part, err = c.e.Runtime.Do("add", []*tensor.Tensor{sum, part}); err != nil {
				return nil, err
			}
		}
		sum = part
	}
	if sum == nil {
		return nil, &op.ArgError{Func: "gradcheck", Got: "no result of fn", Want: "a tensor or a tuple of tensors"}
	}
	return sum, nil
}

// weigh returns the sum of the elements of y, the i-th result, each times a
// weight between 1/2 and 3/2.
func (c *checker) weigh(i int, y *tensor.Tensor) (*tensor.Tensor, error) {
	weights := make([]float64, y.Numel())
	for k := range weights {
		_, frac := math.Modf(float64(float64(k+7*i+1) * math.Phi))
		weights[k] = 0.5 + frac
	}
	w, err := op.FromFloats(c.e.Runtime.Ops(), dtype.Float64, y.Shape(), weights)
	if err != nil {
		return nil, err
	}
	if y, err = c.e.Runtime.Do("mul", []*tensor.Tensor{y, w}); err != nil {
		return nil, err
	}
	return c.e.Runtime.Do("sum", []*tensor.Tensor{y}, op.None, op.Bool1(false))
}

// check compares every element of every gradient.
func (c *checker) check(eps, atol float64) error {
	y, err := c.value(true)
	if err != nil {
		return err
	}
	var worst *GradError
	off := atol
	for i, x := range c.in {
		if !x.RequiresGrad() {
			continue
		}
		got, err := c.gradient(y, x)
		if err != nil {
			return err
		}
		for k := range got {
			want, err := c.difference(x, k, eps)
			if err != nil {
				return err
			}
			err1 := math.Abs(got[k]-want) / max(1, math.Abs(want))
			if err1 > off || math.IsNaN(err1) && !math.IsNaN(off) {
				off = err1
				worst = &GradError{Input: i, Index: unravel(k, x.Shape()), Got: got[k], Want: want}
			}
		}
	}
	if worst != nil {
		return worst
	}
	return nil
}

// gradient returns the gradient of y with respect to x: zeros if y does not
// depend on it.
func (c *checker) gradient(y, x *tensor.Tensor) ([]float64, error) {
	zeros := make([]float64, x.Numel())
	if !y.RequiresGrad() {
		return zeros, nil
	}
	g, err := c.e.Runtime.Tape.Grad([]*tensor.Tensor{y}, []*tensor.Tensor{x}, false)
	if err != nil {
		return nil, err
	}
	if g[0] == nil {
		return zeros, nil
	}
	return elementsOf(g[0]), nil
}

// elementsOf returns the elements of x, of which a plan has none: there every gradient
// agrees with its differences, and fn runs as often as elsewhere.
func elementsOf(x *tensor.Tensor) []float64 {
	if x.Hollow() {
		return make([]float64, x.Numel())
	}
	return op.Float64s(x)
}

// difference returns the central difference of the value in element k of x.
func (c *checker) difference(x *tensor.Tensor, k int, eps float64) (float64, error) {
	was := 0.0
	if !x.Hollow() {
		was = tensor.Data[float64](x)[k]
	}
	set := func(v float64) error {
		if x.Hollow() {
			return nil
		}
		defer goruntime.KeepAlive(x)
		err := x.Buffer().Own() // fn may have sent it
		if err == nil {
			tensor.Data[float64](x)[k] = v
		}
		return err
	}
	defer set(was)
	var side [2]float64
	for i, step := range []float64{eps, -eps} {
		if err := set(was + step); err != nil {
			return 0, err
		}
		y, err := c.value(false)
		if err != nil {
			return 0, err
		}
		if y, err = c.e.Whole("gradcheck", y); err != nil {
			return 0, err
		}
		side[i] = elementsOf(y)[0]
	}
	return (side[0] - side[1]) / (2 * eps), nil
}

// unravel returns the index of element k, in row-major order, of a tensor of
// shape s.
func unravel(k int, s shape.Shape) []int {
	index := make([]int, len(s))
	for d := len(s) - 1; d >= 0; d-- {
		index[d] = k % s[d]
		k /= s[d]
	}
	return index
}
