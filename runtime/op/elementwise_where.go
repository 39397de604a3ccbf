package op

import (
	"fmt"
	"math"

	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel"
	"tpsh/runtime/kernel/crew"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

func init() {
	register(&Def{
		Name:    "where",
		Surface: Function,
		Doc: "where(cond, a, b) returns a where cond is true and b elsewhere.\n" +
			"cond is a bool tensor, as .eq(), .gt() and the like give it; a and b are tensors or\n" +
			"numbers. All are broadcast.\n" +
			">>> where(tensor([True, False]), tensor([1, 2]), 0).tolist()\n" +
			"[1, 0]",
		Params: []Param{
			{Name: "cond", Also: []string{"condition"}, Kind: Tensor, Doc: "a bool tensor"},
			{Name: "a", Also: []string{"input", "self"}, Kind: Operand, Doc: "a tensor or a number"},
			{Name: "b", Also: []string{"other"}, Kind: Operand, Doc: "a tensor or a number"},
		},
		Infer: inferWhere,
		Run: func(c *Call) error {
			runWhere(c.Ctx.Workers, c.Out[0], c.In[0], c.In[1], c.In[2])
			return nil
		},
		Reads:     ReadsFirst,
		Grad:      whereGrad,
		Shard:     whereRule,
		Pointwise: true,
	})
	register(&Def{
		Name:    "clamp",
		Aliases: []string{"clip"},
		Surface: Method,
		Instead: "clamp_between",
		Doc: "clamp(x, min=None, max=None) returns x, kept between min and max, elementwise.\n" +
			"At least one of the two is given; where min exceeds max the result is max. NaN\n" +
			"stays. Integers become floats if a limit is no whole number. One of the two may be\n" +
			"a tensor, or both, which are broadcast with x and have gradients where they are the result.\n" +
			">>> tensor([-2, 0, 5]).clamp(min=-1, max=3).tolist()\n" +
			"[-1, 0, 3]",
		Params: limits,
		Infer: func(c *Call) error {
			dt, err := clampDType(c)
			if err != nil {
				return err
			}
			return c.Result(dt, c.In[0].Shape())
		},
		Run: func(c *Call) error {
			runClamp(c.Ctx.Workers, c.Out[0], c.In[0], c.Spec[0].DType, c.Args)
			return nil
		},
		Reads:     ReadsInputs,
		Grad:      clampGrad,
		Shard:     Monotonic,
		Cost:      clampCost,
		Pointwise: true,
	})
}

func inferWhere(c *Call) error {
	cond, a, b := c.In[0], c.In[1], c.In[2]
	if cond.DType() != dtype.Bool {
		return c.Bad("cond", Describe(cond), "a bool tensor", "compare with .eq(), .ne(), .lt(), .le(), .gt() or .ge()")
	}
	s, err := c.broadcast2(a, b, "b")
	if err != nil {
		return err
	}
	whole, ok := shape.Broadcast(cond.Shape(), s)
	if !ok {
		return c.Bad("cond", "shape "+cond.Shape().String(), fmt.Sprintf("one that broadcasts with %v", s), "sizes are equal or 1, aligned at the last dim")
	}
	dt := promote2(c.Ctx, a, b)
	if err := c.checkNumber("a", a, dt); err != nil {
		return err
	}
	if err := c.checkNumber("b", b, dt); err != nil {
		return err
	}
	return c.Result(dt, whole)
}

// runWhere stores x where cond is true and y elsewhere, all broadcast to the
// shape of dst.
func runWhere(w *crew.Workers, dst, cond, x, y *tensor.Tensor) {
	switch dst.DType().Compute() {
	case dtype.Float32:
		run3(w, dst, cond, x, y, kernel.SelectTo[float32])
	case dtype.Float64:
		run3(w, dst, cond, x, y, kernel.SelectTo[float64])
	case dtype.Int64:
		run3(w, dst, cond, x, y, kernel.SelectTo[int64])
	case dtype.Int32:
		run3(w, dst, cond, x, y, kernel.SelectTo[int32])
	default:
		run3(w, dst, cond, x, y, kernel.SelectTo[uint8])
	}
}

// whereRule: given cond, a sum of choices is the choice of sums, and so is
// anything else that works element by element.
func whereRule(c *Call) []Row {
	return append(Elementwise(c), togetherIn(c, []int{1, 2}, anyPartial...)...)
}

func whereGrad(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
	cond, zero := c.In[0], tensor.Number(0.0)
	grads := make([]*tensor.Tensor, 3)
	if a := c.In[1]; a.RequiresGrad() {
		grads[1] = t.SumTo(t.Where(cond, dy[0], zero), a.Shape())
	}
	if b := c.In[2]; b.RequiresGrad() {
		grads[2] = t.SumTo(t.Where(cond, zero, dy[0]), b.Shape())
	}
	return grads
}

// limits are the parameters of clamp.
var limits = []Param{
	{Name: "x", Kind: Tensor, Doc: "a tensor of numbers"},
	{Name: "min", Kind: OptFloat, Doc: "the least value, or None", Default: Default(None), Free: true},
	{Name: "max", Kind: OptFloat, Doc: "the greatest value, or None", Default: Default(None), Free: true},
}

// clampDType returns the dtype of x clamped.
func clampDType(c *Call) (dtype.DType, error) {
	x := c.In[0]
	if x.DType() == dtype.Bool {
		return 0, c.Bad("x", Describe(x), "a tensor of numbers", "")
	}
	lo, hi := c.Args[0], c.Args[1]
	if !lo.Set && !hi.Set {
		return 0, c.Bad("min", "None for min and max", "at least one of them", "")
	}
	if wholeLimit(lo) && wholeLimit(hi) || x.DType().IsFloat() {
		return x.DType(), nil
	}
	return c.Ctx.Float, nil
}

// wholeLimit reports whether a limit is absent, infinite or a whole number.
func wholeLimit(a Arg) bool {
	return !a.Set || a.Float == math.Trunc(a.Float)
}

// runClamp stores x in dst, clamped in dtype dt to the limits args.
func runClamp(w *crew.Workers, dst, x *tensor.Tensor, dt dtype.DType, args []Arg) {
	lo, hi := math.Inf(-1), math.Inf(1)
	if args[0].Set {
		lo = args[0].Float
	}
	if args[1].Set {
		hi = args[1].Float
	}
	switch dt.Compute() {
	case dtype.Float32:
		run1(w, dst, x, clampBlocks[float32](lo, hi))
	case dtype.Float64:
		run1(w, dst, x, clampBlocks[float64](lo, hi))
	case dtype.Int64:
		run1(w, dst, x, clampBlocks[int64](lo, hi))
	case dtype.Int32:
		run1(w, dst, x, clampBlocks[int32](lo, hi))
	default:
		run1(w, dst, x, clampBlocks[uint8](lo, hi))
	}
}

func clampBlocks[T dtype.Number](lo, hi float64) func(dst, x []T) {
	l, h := kernel.Convert[T](lo), kernel.Convert[T](hi)
	return func(dst, x []T) { kernel.ClampTo(dst, x, l, h) }
}

// clampGrad gives dy to the elements within the limits.
func clampGrad(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
	x, zero := c.In[0], tensor.Number(0.0)
	dx := dy[0]
	if lo := c.Args[0]; lo.Set {
		dx = t.Where(t.binary("ge", x, tensor.Number(lo.Float)), dx, zero)
	}
	if hi := c.Args[1]; hi.Set {
		dx = t.Where(t.binary("le", x, tensor.Number(hi.Float)), dx, zero)
	}
	return []*tensor.Tensor{dx}
}
