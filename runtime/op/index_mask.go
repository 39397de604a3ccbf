package op

import (
	"fmt"
	goruntime "runtime"

	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

func init() {
	register(&Def{
		Name:    "masked_fill",
		Surface: Method,
		Doc: "masked_fill(x, mask, value) returns a copy of x with value where mask is true; x and mask are broadcast.\n" +
			">>> tensor([1, 2, 3]).masked_fill(tensor([True, False, True]), 0).tolist()\n" +
			"[0, 2, 0]",
		Params: []Param{
			{Name: "x", Kind: Tensor, Doc: "a tensor"},
			{Name: "mask", Kind: Tensor, Doc: "a bool tensor that broadcasts with x"},
			{Name: "value", Also: []string{"v"}, Kind: Operand, Doc: "a number or a tensor of one element, of no wider kind than x"},
		},
		Infer: inferMaskedFill,
		Run: func(c *Call) error {
			runWhere(c.Ctx.Workers, c.Out[0], c.In[1], scalar(c.In[2]), c.In[0])
			return nil
		},
		Reads: ReadsRest,
		Grad:  maskedFillGrad,
		Shard: maskedFillRule,
	})
	register(&Def{
		Name:    "masked_select",
		Surface: Method,
		Doc: "masked_select(x, mask, size=None) returns the elements of x where mask is true, in row-major order, as a tensor of one dim.\n" +
			"x and mask are broadcast. size says how many there are; it is an error if there are others. A plan has to know.\n" +
			">>> tensor([1, 2, 3]).masked_select(tensor([True, False, True])).tolist()\n" +
			"[1, 3]",
		Params: []Param{
			{Name: "x", Kind: Tensor, Doc: "a tensor"},
			{Name: "mask", Kind: Tensor, Doc: "a bool tensor that broadcasts with x"},
			sizeParam,
		},
		Infer:  inferMaskedSelect,
		Run:    runMaskedSelect,
		Hollow: hollowMaskedSelect,
		Grad:   maskedSelectGrad,

		ByValue: func(c *Call) bool { return !c.Args[0].Set },
		Cost:    moves,
	})
	register(&Def{
		Name:    "nonzero",
		Surface: Method | Function,
		Doc: "nonzero(x, size=None, as_tuple=False) returns the indices of the elements of x that are not zero: an int64 tensor [n, ndim].\n" +
			"size says how many there are; it is an error if there are others. A plan has to know.\n" +
			"With as_tuple=True it returns a tuple of the indices along each dim.\n" +
			">>> tensor([[0, 5], [7, 0]]).nonzero().tolist()\n" +
			"[[0, 1], [1, 0]]",
		Params: []Param{{Name: "x", Kind: Tensor, Doc: "a tensor"}, sizeParam},
		Infer: func(c *Call) error {
			if c.Args[0].Set {
				return c.Result(dtype.Int64, shape.Shape{c.Args[0].Int, c.In[0].Ndim()})
			}
			c.sized("size")
			n, err := c.countTrues("x", c.In[0])
			if err != nil {
				return err
			}
			return c.Result(dtype.Int64, shape.Shape{n, c.In[0].Ndim()})
		},
		Run:     runNonzero,
		ByValue: func(c *Call) bool { return !c.Args[0].Set },
		Cost:    moves,
	})
}

// sizeParam says how many elements a mask selects.
var sizeParam = Param{Name: "size", Kind: OptInt, Doc: "how many there are", Default: Default(None)}

// checkSize returns an error unless there are as many as the argument size says, if
// that is given.
func (c *Call) checkSize(n int) error {
	if size := c.Args[0]; size.Set && size.Int != n {
		return c.Bad("size", fmt.Sprint(size.Int), fmt.Sprint(n), "as many there are")
	}
	return nil
}

// sized says which parameter takes what depends on elements, where there are none.
func (c *Call) sized(param string) {
	if c.Ctx.Hollow() {
		panic(&UnknownError{Got: Describe(c.In[0]), Size: param})
	}
}

// truths returns for each element of x, in row-major order, whether it is true or not zero:
// bytes 0 and 1, which may be those of x. The caller keeps x reachable.
func (c *Call) truths(param string, x *tensor.Tensor) ([]uint8, error) {
	if x.Buffer() == nil {
		return nil, c.Bad(param, Describe(x)+" without elements", "a tensor with elements", "the shape of the result depends on them")
	}
	mustHaveElements(x)
	if own, ok := direct[uint8](x); ok && x.DType() == dtype.Bool {
		return own, nil
	}
	b, err := castTo(c.Ctx, x, dtype.Bool)
	if err != nil {
		return nil, c.memory(err)
	}
	return elements(b, load[uint8]), nil
}

// countTrues returns how many elements of x are true or not zero.
func (c *Call) countTrues(param string, x *tensor.Tensor) (int, error) {
	truths, err := c.truths(param, x)
	n := kernel.ByteSum(truths)
	goruntime.KeepAlive(x)
	return n, err
}

// trues returns the places, in row-major order, of the elements of x that are
// true or not zero.
func (c *Call) trues(param string, x *tensor.Tensor) ([]int, error) {
	truths, err := c.truths(param, x)
	if err != nil {
		return nil, err
	}
	list := make([]int, kernel.ByteSum(truths))
	kernel.TruePlaces(list, truths)
	goruntime.KeepAlive(x)
	return list, nil
}

// checkMask returns an error if x is no bool tensor.
func (c *Call) checkMask(param string, x *tensor.Tensor) error {
	if x.DType() != dtype.Bool {
		return c.Bad(param, Describe(x), "a bool tensor", "compare with .eq(), .ne(), .lt(), .le(), .gt() or .ge()")
	}
	return nil
}

// inferMasked checks the mask In[1] and returns the shape of In[0] and the
// mask broadcast.
func inferMasked(c *Call) (shape.Shape, error) {
	x, mask := c.In[0], c.In[1]
	if err := c.checkMask("mask", mask); err != nil {
		return nil, err
	}
	s, ok := shape.Broadcast(x.Shape(), mask.Shape())
	if !ok {
		return nil, c.Bad("mask", Describe(mask), fmt.Sprintf("a shape that broadcasts with %v", x.Shape()), "")
	}
	return s, nil
}

func inferMaskedFill(c *Call) error {
	x, v := c.In[0], c.In[2]
	s, err := inferMasked(c)
	if err != nil {
		return err
	}
	if v.Numel() != 1 {
		return c.Bad("value", Describe(v), "a number, or a tensor of one element", "")
	}
	if dtype.Promote(v.DType(), x.DType()) != x.DType() && !dtype.SameKind(v.DType(), x.DType()) {
		return c.Bad("value", "a number of "+v.DType().String(), "one of "+x.DType().String(), "x is "+Describe(x))
	}
	if err := c.checkNumber("value", v, x.DType()); err != nil {
		return err
	}
	return c.Result(x.DType(), s)
}

// maskedFillRule is whereRule of the value and x.
func maskedFillRule(c *Call) []Row {
	rows := Rule(Elementwise).withScalar(2)(c)
	return append(rows, togetherIn(c, []int{0, 2}, anyPartial...)...)
}

// For y = masked_fill(x, value), dx is dy with zeros where the mask is true,
// and dvalue the sum of dy there.
func maskedFillGrad(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
	x, mask, v := c.In[0], c.In[1], c.In[2]
	zero := tensor.Number(0.0)
	grads := make([]*tensor.Tensor, 3)
	if x.RequiresGrad() {
		grads[0] = t.SumTo(t.Where(mask, zero, dy[0]), x.Shape())
	}
	if v.RequiresGrad() {
		grads[2] = t.SumTo(t.Where(mask, dy[0], zero), shape.Shape{})
		grads[2] = t.Reshape(grads[2], v.Shape())
	}
	return grads
}

// expanded returns x broadcast to s, which it fits, as a view.
func expanded(x *tensor.Tensor, s shape.Shape) *tensor.Tensor {
	at := stridedOf(x).broadcast(x.Shape(), s)
	return x.View(s, at.strides, at.offset)
}

func inferMaskedSelect(c *Call) error {
	if c.Args[0].Set {
		if _, err := inferMasked(c); err != nil {
			return err
		}
		return c.Result(c.In[0].DType(), shape.Shape{c.Args[0].Int})
	}
	c.sized("size")
	s, err := inferMasked(c)
	if err != nil {
		return err
	}
	n, err := c.countTrues("mask", expanded(c.In[1], s))
	if err != nil {
		return err
	}
	return c.Result(c.In[0].DType(), shape.Shape{n})
}

// hollowMaskedSelect leaves room for what runMaskedSelect keeps.
func hollowMaskedSelect(c *Call) error {
	if !c.In[0].RequiresGrad() {
		return nil
	}
	at, err := c.room(dtype.Int64, c.Spec[0].Shape)
	c.Saved = append(c.Saved, at)
	return err
}

func runMaskedSelect(c *Call) error {
	s, err := inferMasked(c)
	if err != nil {
		return err
	}
	mask, x := expanded(c.In[1], s), expanded(c.In[0], s)
	if c.In[0].RequiresGrad() || !x.Contiguous() {
		return c.selectPlaces(x, mask)
	}
	truths, err := c.truths("mask", mask)
	if err == nil {
		err = c.checkSize(kernel.ByteSum(truths))
	}
	if err != nil {
		return err
	}
	y := c.Out[0]
	eachSized(x, func() { compress[uint8](y, x, truths) }, func() { compress[uint16](y, x, truths) },
		func() { compress[uint32](y, x, truths) }, func() { compress[uint64](y, x, truths) }, func() { compress[complex128](y, x, truths) })
	goruntime.KeepAlive(mask)
	return nil
}

func compress[T any](y, x *tensor.Tensor, truths []uint8) {
	kernel.Compress(tensor.SizedStorage[T](y)[y.Offset():][:y.Numel()], tensor.SizedStorage[T](x)[x.Offset():], truths)
}

// selectPlaces is runMaskedSelect by places, which it keeps for the gradient.
func (c *Call) selectPlaces(x, mask *tensor.Tensor) error {
	list, err := c.trues("mask", mask)
	if err == nil {
		err = c.checkSize(len(list))
	}
	if err != nil {
		return err
	}
	if c.In[0].RequiresGrad() {
		if err := c.savePlaces(list); err != nil {
			return err
		}
	}
	p := selection{rows: 1, size: x.Numel(), width: 1, at: list}
	return p.take(c, c.Out[0], x)
}

// savePlaces keeps list for the gradient.
func (c *Call) savePlaces(list []int) error {
	at, err := tensor.New(c.Ctx.Alloc, dtype.Int64, shape.Shape{len(list)})
	if err != nil {
		return c.memory(err)
	}
	for i, j := range list {
		tensor.Data[int64](at)[i] = int64(j)
	}
	c.Saved = append(c.Saved, at)
	return nil
}

// places returns the places, in row-major order, at which mask is true: those
// that Run has saved, if it has.
func (c *Call) places(t *Tape, mask *tensor.Tensor) *tensor.Tensor {
	if len(c.Saved) > 0 {
		return c.Saved[0]
	}
	list := t.Do("nonzero", one(t.flat(mask)), None)
	return t.flat(list)
}

// maskedSelectGrad puts dy where the elements came from.
func maskedSelectGrad(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
	s, _ := shape.Broadcast(c.In[0].Shape(), c.In[1].Shape())
	g := t.indexSpread(dy[0], 0, s.Numel(), c.places(t, t.Expand(c.In[1], s)), nil)
	return []*tensor.Tensor{t.SumTo(t.Reshape(g, s), c.In[0].Shape()), nil}
}

func runNonzero(c *Call) error {
	x := c.In[0]
	truths, err := c.truths("x", x)
	if err == nil {
		err = c.checkSize(kernel.ByteSum(truths))
	}
	if err != nil {
		return err
	}
	if out := tensor.Data[int64](c.Out[0]); len(out) > 0 {
		kernel.TrueIndices(out, truths, x.Shape())
	}
	goruntime.KeepAlive(x)
	return nil
}
