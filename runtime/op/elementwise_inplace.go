package op

import (
	"fmt"
	"strings"

	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// The operators that write into x are named as PyTorch names them: the value
// they store is that of the operator without the underscore, converted to the
// dtype of x. What another operand shares with x is read before x changes.

func init() {
	registerInto("add_", "x + alpha * other", ">>> tensor([1.0, 2.0]).add_(1).tolist()\n[2.0, 3.0]",
		&binaryOp{row: kernel.Add, wants: "numbers or bools"}, Linear)
	registerInto("sub_", "x - alpha * other", ">>> tensor([1.0, 2.0]).sub_(1).tolist()\n[0.0, 1.0]",
		&binaryOp{row: kernel.Sub, wants: "numbers"}, Linear)
	registerInto("mul_", "x * other", ">>> tensor([1.0, 2.0]).mul_(2).tolist()\n[2.0, 4.0]",
		&binaryOp{row: kernel.Mul, wants: "numbers or bools"}, LinearIn(0, 1))
	registerInto("div_", "x / other", ">>> tensor([1.0, 2.0]).div_(2).tolist()\n[0.5, 1.0]",
		&binaryOp{row: kernel.Div, float: true, wants: "numbers"}, LinearIn(0))
	register(&Def{
		Name:    "clamp_",
		Surface: Method,
		Doc: "clamp_(x, min=None, max=None) keeps x between min and max and returns it; see clamp.\n" +
			">>> tensor([-2, 0, 5]).clamp_(min=-1, max=3).tolist()\n" +
			"[-1, 0, 3]",
		Params:  limits,
		InPlace: true,
		Base:    "clamp",
		Instead: "clamp_between_",
		Infer: func(c *Call) error {
			dt, err := clampDType(c)
			if err != nil {
				return err
			}
			return c.intoX(dt, c.In[0].Shape())
		},
		Run: func(c *Call) error {
			runClamp(c.Ctx.Workers, c.In[0], c.In[0], c.In[0].DType(), c.Args)
			return nil
		},
		Shard: Monotonic,
	})
	registerAssignment(&assignment{
		name: "zero",
		doc: "zero_(x) fills x with zeros and returns it.\n" +
			">>> tensor([1.0, 2.0]).zero_().tolist()\n" +
			"[0.0, 0.0]",
		value: func(c *Call) *tensor.Tensor { return tensor.Number(0.0) },
		shard: Copying,
		cost:  makes(0),
	})
	registerAssignment(&assignment{
		name: "fill",
		doc: "fill_(x, value) fills x with value, a number or a tensor of one element, and returns x.\n" +
			">>> tensor([1.0, 2.0]).fill_(5).tolist()\n" +
			"[5.0, 5.0]",
		params: []Param{{Name: "value", Kind: Operand, Doc: "a number or a tensor of one element"}},
		check:  func(c *Call) error { return c.oneElement("value", c.In[1]) },
		value:  func(c *Call) *tensor.Tensor { return scalar(c.In[1]) },
		shard:  Rule(Copying).withScalar(1),
		cost:   makes(0),
	})
	registerAssignment(&assignment{
		name: "copy",
		doc: "copy_(x, src) stores src in x, broadcast and converted as .to() does, and returns x.\n" +
			">>> zeros(2, 2).copy_(tensor([1.0, 2.0])).tolist()\n" +
			"[[1.0, 2.0], [1.0, 2.0]]",
		params: []Param{{Name: "src", Kind: Operand, Doc: "a tensor that broadcasts to x, or a number"}},
		check:  checkSource,
		value:  func(c *Call) *tensor.Tensor { return c.In[1] },
		shard:  Copying,
		cost:   copyCost,
	})
}

// registerInto registers the operator called name, which stores in x what b
// gives.
func registerInto(name, stores, example string, b *binaryOp, shard Rule) {
	call := name + "(x, other)"
	if strings.Contains(stores, "alpha") { // which signatures of scripts take
		call = name + "(x, other, alpha=1)"
	}
	register(&Def{
		Name:    name,
		Surface: Method,
		MakeDoc: func() string {
			return fmt.Sprintf("%s stores %s in x and returns it.\n"+
				"other is broadcast to x. The value must be of no wider kind than x: an integer\n"+
				"tensor takes no floats.\n%s", call, stores, example)
		},
		Params:  twoTensors,
		InPlace: true,
		Base:    name[:len(name)-1],
		Infer:   b.inferInto,
		Run:     b.runInto,
		Shard:   shard,
	})
}

func (b *binaryOp) inferInto(c *Call) error {
	dt, err := b.dtype(c)
	if err != nil {
		return err
	}
	s, err := c.broadcast2(c.In[0], c.In[1], "other")
	if err != nil {
		return err
	}
	return c.intoX(dt, s)
}

func (b *binaryOp) runInto(c *Call) error {
	dt, err := b.dtype(c)
	if err != nil {
		return err
	}
	y, err := c.apart(c.In[1])
	if err != nil {
		return err
	}
	return b.compute(c, c.In[0], c.In[0], y, dt)
}

// intoX checks that a value of dtype dt and shape s can be stored in x, which
// is the result of c.
func (c *Call) intoX(dt dtype.DType, s shape.Shape) error {
	x := c.In[0]
	if dtype.Promote(dt, x.DType()) != x.DType() && !dtype.SameKind(dt, x.DType()) {
		return c.Bad("x", Describe(x), fmt.Sprintf("a tensor that takes %v", dt), "the value is of a wider kind: convert one of the two")
	}
	if !s.Equal(x.Shape()) {
		return c.Bad("x", "shape "+x.Shape().String(), "shape "+s.String(), "what is stored is broadcast to x, not x to it")
	}
	return c.Result(x.DType(), x.Shape())
}

// apart returns y, or a copy of it if a change of x could show in it while it
// is read.
func (c *Call) apart(y *tensor.Tensor) (*tensor.Tensor, error) {
	x := c.In[0]
	if y.Buffer() != x.Buffer() || samePlaces(x, y) {
		return y, nil
	}
	y, err := copyOf(c.Ctx, y, y.DType())
	if err != nil {
		return nil, c.memory(err)
	}
	return y, nil
}

// samePlaces reports whether x and y, on one buffer, are the same elements in
// the same order.
func samePlaces(x, y *tensor.Tensor) bool {
	return x.Offset() == y.Offset() && x.Shape().Equal(y.Shape()) &&
		shape.Shape(x.Strides()).Equal(y.Strides())
}

// An assignment is an operator that stores a value in x, converted and broadcast.
type assignment struct {
	name   string // without the underscore
	doc    string
	params []Param // after x
	check  func(c *Call) error
	value  func(c *Call) *tensor.Tensor
	shard  Rule
	cost   func(c *Call) Cost
}

// registerAssignment registers a, and the internal operator of the same value for
// differentiation.
func registerAssignment(a *assignment) {
	params := append([]Param{{Name: "x", Kind: Tensor, Doc: "the tensor to change"}}, a.params...)
	register(&Def{
		Name:    a.name + "_",
		Surface: Method,
		Doc:     a.doc,
		Params:  params,
		InPlace: true,
		Base:    a.name,
		Infer:   a.infer,
		Run: func(c *Call) error {
			v, err := c.apart(a.value(c))
			if err != nil {
				return err
			}
			copyInto(c.In[0], v)
			return nil
		},
		Shard: a.shard,
	})
	register(&Def{
		Name:    a.name,
		Surface: Internal,
		Doc:     a.name + "(x, ...) returns what " + a.name + "_ stores in x.",
		Params:  params,
		Infer:   a.infer,
		Run: func(c *Call) error {
			copyInto(c.Out[0], a.value(c))
			return nil
		},
		Grad:  assignGrad,
		Shard: a.shard,
		Cost:  a.cost,
	})
}

func (a *assignment) infer(c *Call) error {
	x := c.In[0]
	if a.check != nil {
		if err := a.check(c); err != nil {
			return err
		}
		if err := c.checkNumber(c.InName(1), c.In[1], x.DType()); err != nil {
			return err
		}
	}
	return c.Result(x.DType(), x.Shape())
}

// checkSource refuses a source that does not broadcast to x.
func checkSource(c *Call) error {
	x, src := c.In[0].Shape(), c.In[1].Shape()
	if s, ok := shape.Broadcast(x, src); !ok || !s.Equal(x) {
		return c.Bad("src", "shape "+src.String(), fmt.Sprintf("one that broadcasts to %v", x), "")
	}
	return nil
}

// assignGrad gives dy to the value alone: x is overwritten.
func assignGrad(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
	grads := make([]*tensor.Tensor, len(c.In))
	if len(c.In) > 1 && c.In[1].RequiresGrad() {
		grads[1] = t.SumTo(dy[0], c.In[1].Shape())
	}
	return grads
}
