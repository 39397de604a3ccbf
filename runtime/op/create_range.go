package op

import (
	"fmt"
	"math"

	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

func init() {
	dt := Param{Name: "dtype", Kind: OptDType, Doc: "the dtype; None for the default", Default: Default(None)}
	register(&Def{
		Name:    "arange",
		Surface: Function,
		Creates: true,
		Doc: "arange(start, stop=None, step=1, dtype=None) returns the numbers start, start + step, ... before stop.\n" +
			"arange(n) counts from 0. There are ceil((stop - start) / step) of them. Without a\n" +
			"dtype it is int64 if the arguments are ints, else the default float.\n" +
			">>> arange(2, 8, 3).tolist()\n" +
			"[2, 5]",
		Params: []Param{
			{Name: "start", Kind: OptOperand, Doc: "the first number, None for 0; if it is the only one, stop", Default: Default(None)},
			{Name: "stop", Also: []string{"end"}, Kind: OptOperand, Doc: "the number to stop before", Default: Default(None)},
			{Name: "step", Kind: OptOperand, Doc: "the distance of the numbers, not 0; None for 1", Default: Default(None)},
			dt,
		},
		Counts: true,
		Ints:   arangeInts,
		Infer:  inferArange,
		Run:    runArange,
		Cost:   makes(2),
	})
	register(&Def{
		Name:    "linspace",
		Surface: Function,
		Creates: true,
		Doc: "linspace(start, end, steps, dtype=None) returns numbers evenly spaced from start to end, both included.\n" +
			">>> linspace(0, 1, 5).tolist()\n" +
			"[0.0, 0.25, 0.5, 0.75, 1.0]",
		Params: []Param{
			{Name: "start", Kind: Float, Doc: "the first number"},
			{Name: "end", Kind: Float, Doc: "the last number"},
			{Name: "steps", Kind: Int, Doc: "how many"},
			dt,
		},
		Infer: inferLinspace,
		Run:   runLinspace,
		Cost:  makes(2),
	})
}

// A progression is the numbers first + i*step for i in range n: as ints if
// the arguments of arange are, and as floats.
type progression struct {
	n             int
	ints          bool
	firstI, stepI int64
	firstF, stepF float64
}

// arangeOf returns the numbers that arange asks for.
func arangeOf(c *Call) (progression, error) {
	start, stop, step := c.In[0], c.In[1], c.In[2]
	if stop == nil {
		start, stop = nil, start
	}
	if stop == nil {
		return progression{}, c.Bad("stop", "nothing", "a number", "")
	}
	if start == nil {
		start = tensor.Number(int64(0))
	}
	if step == nil {
		step = tensor.Number(int64(1))
	}
	names := map[*tensor.Tensor]string{start: "start", stop: "stop", step: "step"}
	p := progression{ints: true}
	for _, x := range []*tensor.Tensor{start, stop, step} {
		if x.Numel() != 1 {
			return p, c.Bad(names[x], Describe(x), "a number", "")
		}
		p.ints = p.ints && !x.DType().IsFloat()
	}
	if p.ints {
		return p.countInts(c, Int64At(start, 0), Int64At(stop, 0), Int64At(step, 0))
	}
	return p.countFloats(c, Float64At(start, 0), Float64At(stop, 0), Float64At(step, 0))
}

// countInts returns p of the numbers from start on, step apart, before stop.
func (p progression) countInts(c *Call, start, stop, step int64) (progression, error) {
	p.firstI, p.stepI = start, step
	p.firstF, p.stepF = float64(start), float64(step)
	switch {
	case step == 0:
		return p, c.Bad("step", "0", "a number other than 0", "")
	case step > 0 && stop > start:
		p.n = count(uint64(stop)-uint64(start), uint64(step))
	case step < 0 && stop < start:
		p.n = count(uint64(start)-uint64(stop), -uint64(step))
	}
	return p, nil
}

// count returns ceil(distance / step), at most the greatest int.
func count(distance, step uint64) int {
	return int(min((distance-1)/step, math.MaxInt-1)) + 1
}

// countFloats is countInts of floats.
func (p progression) countFloats(c *Call, start, stop, step float64) (progression, error) {
	p.firstF, p.stepF = start, step
	n := math.Ceil((stop - start) / step)
	switch {
	case step == 0:
		return p, c.Bad("step", "0.0", "a number other than 0", "")
	case math.IsNaN(n) || n >= 1<<62:
		return p, c.Bad("stop", fmt.Sprint(stop), "a finite number of numbers", fmt.Sprintf("from %v by %v", start, step))
	}
	p.n = int(max(n, 0))
	return p, nil
}

// arangeInts is Ints of arange.
func arangeInts(in []*tensor.Tensor) (first, step int64, ok bool) {
	p, err := arangeOf(&Call{In: in})
	return p.firstI, p.stepI, err == nil && p.ints
}

func inferArange(c *Call) error {
	p, err := arangeOf(c)
	if err != nil {
		return err
	}
	dt := c.Ctx.Float
	if p.ints {
		dt = dtype.Int64
	}
	return c.Result(c.dtypeArg(0, dt), shape.Shape{p.n})
}

func runArange(c *Call) error {
	p, err := arangeOf(c)
	if err != nil {
		return err
	}
	if p.ints {
		return c.fill(dtype.Int64, func(x *tensor.Tensor) {
			kernel.Progress(tensor.Data[int64](x), p.firstI, p.stepI)
		})
	}
	return c.fill(dtype.Float64, func(x *tensor.Tensor) {
		kernel.Progress(tensor.Data[float64](x), p.firstF, p.stepF)
	})
}

// fill stores in Out[0] what f leaves in a tensor of dt: in Out[0] itself if
// it is of that dtype.
func (c *Call) fill(dt dtype.DType, f func(x *tensor.Tensor)) error {
	y := c.Out[0]
	if y.DType() == dt {
		f(y)
		return nil
	}
	x, err := tensor.New(c.Ctx.Alloc, dt, y.Shape())
	if err != nil {
		return c.memory(err)
	}
	f(x)
	copyInto(y, x)
	return nil
}

func inferLinspace(c *Call) error {
	n, dt := c.Args[2].Int, c.dtypeArg(3, c.Ctx.Float)
	if n < 0 {
		return c.Bad("steps", fmt.Sprint(n), "a non-negative int", "")
	}
	return c.Result(dt, shape.Shape{n})
}

func runLinspace(c *Call) error {
	return c.fill(dtype.Float64, func(x *tensor.Tensor) {
		kernel.Interpolate(tensor.Data[float64](x), c.Args[0].Float, c.Args[1].Float)
	})
}
