package op

import (
	"fmt"

	"tpsh/mesh"
	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel"
	"tpsh/runtime/kernel/crew"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// A binaryOp is an operator of two operands that are broadcast and promoted.
type binaryOp struct {
	row    kernel.Binary
	float  bool   // it computes in floats: integers become the default float
	wants  string // what it takes, for errors
	second string // the name of the second parameter; "" for other

	// refuses says which integers are no second operand of integers, and
	// refused what they are; nil refuses none.
	refuses func(v int64) bool
	refused string
}

var (
	floorDiv = &binaryOp{row: kernel.FloorDiv, wants: "numbers", refuses: isZero, refused: "a divisor of 0"}
	mod      = &binaryOp{row: kernel.Mod, wants: "numbers", refuses: isZero, refused: "a divisor of 0"}
	pow      = &binaryOp{row: kernel.Pow, wants: "numbers", refuses: isNegative, refused: "a negative power"}
)

func isZero(v int64) bool     { return v == 0 }
func isNegative(v int64) bool { return v < 0 }

func init() {
	register((&binaryOp{row: kernel.Add, wants: "numbers or bools"}).def(&Def{
		Name:    "add",
		Surface: Method | Operator,
		Symbol:  "+",
		Doc: "add(x, other, alpha=1) returns x + alpha * other, elementwise. Of bools it is or.\n" +
			"x and other are broadcast. Integers wrap around.\n" +
			">>> (tensor([1.0, 2.0]) + tensor([[10.0], [20.0]])).tolist()\n" +
			"[[11.0, 12.0], [21.0, 22.0]]",
		Reads: ReadsShapes,
		Grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			return t.broadcastGrads(c, func() *tensor.Tensor { return dy[0] }, func() *tensor.Tensor { return dy[0] })
		},
		Shard: Linear,
	}))
	register((&binaryOp{row: kernel.Sub, wants: "numbers"}).def(&Def{
		Name:    "sub",
		Aliases: []string{"subtract"},
		Surface: Method | Operator,
		Symbol:  "-",
		Doc: "sub(x, other, alpha=1) returns x - alpha * other, elementwise.\n" +
			"x and other are broadcast. Integers wrap around. Of bools it is an error; see ^.\n" +
			">>> (tensor([3.0, 5.0]) - 1).tolist()\n" +
			"[2.0, 4.0]",
		Reads: ReadsShapes,
		Grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			return t.broadcastGrads(c, func() *tensor.Tensor { return dy[0] }, func() *tensor.Tensor { return t.Neg(dy[0]) })
		},
		Shard: Linear,
	}))
	register((&binaryOp{row: kernel.Mul, wants: "numbers or bools"}).def(&Def{
		Name:    "mul",
		Aliases: []string{"multiply"},
		Surface: Method | Operator,
		Symbol:  "*",
		Doc: "mul(x, other) returns x * other, elementwise. Of bools it is and.\n" +
			"x and other are broadcast. Integers wrap around.\n" +
			">>> (tensor([1.0, 2.0]) * tensor([3.0, 4.0])).tolist()\n" +
			"[3.0, 8.0]",
		Reads:  ReadsFactors,
		Grad:   mulGrad,
		Shard:  LinearIn(0, 1),
		Spoils: spoilsProduct,
	}))
	register((&binaryOp{row: kernel.Div, float: true, wants: "numbers"}).def(&Def{
		Name:    "div",
		Aliases: []string{"divide", "true_divide"},
		Surface: Method | Operator,
		Symbol:  "/",
		Doc: "div(x, other, rounding_mode=None) returns x / other, elementwise.\n" +
			"With rounding_mode \"floor\" it is rounded down, as // has it, with \"trunc\" towards 0; ints then give ints.\n" +
			"x and other are broadcast. Of integers and bools it is of the default float dtype.\n" +
			"Division by zero gives an infinity or NaN.\n" +
			">>> (tensor([1, 2]) / 4).tolist()\n" +
			"[0.25, 0.5]",
		Grad:   divGrad,
		Shard:  LinearIn(0),
		Spoils: spoilsQuotient,
	}))
}

func init() {
	register(floorDiv.def(&Def{
		Name:    "floordiv",
		Surface: Operator,
		Symbol:  "//",
		Doc: "floordiv(x, other) returns x // other, elementwise: the quotient rounded down.\n" +
			"x and other are broadcast. An integer divided by zero is an error; a float gives an\n" +
			"infinity or NaN. The result is not differentiable.\n" +
			">>> (tensor([7, -7]) // 2).tolist()\n" +
			"[3, -4]",
		Shard: Elementwise,
	}))
	register(mod.def(&Def{
		Name:    "mod",
		Surface: Operator,
		Symbol:  "%",
		Doc: "mod(x, other) returns x % other, elementwise: 0, or of the sign of other.\n" +
			"x and other are broadcast. An integer modulo zero is an error, a float NaN.\n" +
			">>> (tensor([7, -7]) % 3).tolist()\n" +
			"[1, 2]",
		Grad:  modGrad,
		Shard: Elementwise,
	}))
	register(pow.def(&Def{
		Name:    "pow",
		Surface: Method,
		Doc: "pow(x, other) returns x to the power other, elementwise.\n" +
			"x and other are broadcast. Integers stay integers, wrap around, and take no\n" +
			"negative power. A float32 is within one unit in the last place.\n" +
			">>> tensor([1.0, 2.0, 3.0]).pow(2).tolist()\n" +
			"[1.0, 4.0, 9.0]",
		Run:    runPow,
		Params: called(twoTensors, "other", "exponent", "other", "y"),
		Grad:   powGrad,
		Shard:  Elementwise,
	}))
}

func init() {
	register((&binaryOp{row: kernel.Maximum, wants: "numbers or bools"}).def(&Def{
		Name:    "maximum",
		Surface: Method | Function,
		Doc: "maximum(x, other) returns the greater of x and other, elementwise.\n" +
			"x and other are broadcast. NaN with anything gives NaN. Where both are equal each\n" +
			"receives half the gradient.\n" +
			">>> maximum(tensor([1, 5]), tensor([3, 2])).tolist()\n" +
			"[3, 5]",
		Grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			return extremeGrad(t, c, dy[0], "gt", "lt")
		},
		Shard: Rule(Elementwise).with(mesh.Max),
	}))
	register((&binaryOp{row: kernel.Minimum, wants: "numbers or bools"}).def(&Def{
		Name:    "minimum",
		Surface: Method | Function,
		Doc: "minimum(x, other) returns the lesser of x and other, elementwise.\n" +
			"x and other are broadcast. NaN with anything gives NaN. Where both are equal each\n" +
			"receives half the gradient.\n" +
			">>> minimum(tensor([1, 5]), tensor([3, 2])).tolist()\n" +
			"[1, 2]",
		Grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			return extremeGrad(t, c, dy[0], "lt", "gt")
		},
		Shard: Rule(Elementwise).with(mesh.Min),
	}))
}

// def completes d, which has a name, a surface, a doc and a gradient, and may
// have a Run of its own.
func (b *binaryOp) def(d *Def) *Def {
	if d.Params == nil {
		d.Params = twoTensors
	}
	d.Infer = b.infer
	d.Pointwise = true
	if d.Run == nil {
		d.Run = b.run
	}
	return d
}

// param returns the name of the second parameter.
func (b *binaryOp) param() string {
	if b.second == "" {
		return "other"
	}
	return b.second
}

// dtype returns the dtype of b's result on the inputs of c, or an error if b
// lacks it.
func (b *binaryOp) dtype(c *Call) (dtype.DType, error) {
	x, y := c.In[0], c.In[1]
	dt := promote2(c.Ctx, x, y)
	if b.float && !dt.IsFloat() {
		dt = c.Ctx.Float
	}
	if !b.row.Has(dt.Compute()) {
		return 0, c.Bad(b.param(), fmt.Sprintf("%v with %v", y.DType(), x.DType()), b.wants, "")
	}
	if err := c.checkNumber("x", x, dt); err != nil {
		return 0, err
	}
	return dt, c.checkNumber(b.param(), y, dt)
}

func (b *binaryOp) infer(c *Call) error {
	x, y := c.In[0], c.In[1]
	if dt := x.DType(); dt == y.DType() && !x.Weak() && !y.Weak() && x.Shape().Equal(y.Shape()) && b.keeps(dt) {
		return c.Result(dt, x.Shape()) // nothing to promote, broadcast or check
	}
	dt, err := b.dtype(c)
	if err != nil {
		return err
	}
	s, err := c.broadcast2(x, y, b.param())
	if err != nil {
		return err
	}
	return c.Result(dt, s)
}

// keeps reports whether b's result on two tensors of dtype dt is of that, too.
func (b *binaryOp) keeps(dt dtype.DType) bool {
	return b.row.Has(dt.Compute()) && (dt.IsFloat() || !b.float)
}

func (b *binaryOp) run(c *Call) error {
	return b.compute(c, c.Out[0], c.In[0], c.In[1], c.Spec[0].DType)
}

// compute stores b of x and y in dst, computed in dtype dt.
func (b *binaryOp) compute(c *Call, dst, x, y *tensor.Tensor, dt dtype.DType) error {
	if b.refuses != nil && !dt.IsFloat() && anyInt(y, b.refuses) {
		return c.Bad(b.param(), b.refused, "none", fmt.Sprintf("%v has no such result: convert to a float dtype", dt))
	}
	runBinary(c.Ctx.Workers, &b.row, dt, dst, x, y)
	return nil
}

// runPow is pow.run, quick where the power is the number 2.
func runPow(c *Call) error {
	if dt, y := c.Spec[0].DType, c.In[1]; dt.IsFloat() && y.Weak() {
		switch numberOf(y) {
		case 1:
			copyInto(c.Out[0], c.In[0])
			return nil
		case 2:
			runUnary(c.Ctx.Workers, &kernel.Square, dt, c.Out[0], c.In[0])
			return nil
		}
	}
	return pow.run(c)
}

// runBinary runs row on x and y, broadcast to the shape of dst, in the type
// in which arithmetic on dt is done.
func runBinary(w *crew.Workers, row *kernel.Binary, dt dtype.DType, dst, x, y *tensor.Tensor) {
	switch dt.Compute() {
	case dtype.Float32:
		run2(w, dst, x, y, row.F32)
	case dtype.Float64:
		run2(w, dst, x, y, row.F64)
	case dtype.Int64:
		run2(w, dst, x, y, row.I64)
	case dtype.Int32:
		run2(w, dst, x, y, row.I32)
	case dtype.Uint8:
		run2(w, dst, x, y, row.U8)
	default:
		run2(w, dst, x, y, row.Bool)
	}
}

// anyInt reports whether bad is true of an element of x, a tensor of integers
// or bools.
func anyInt(x *tensor.Tensor, bad func(v int64) bool) bool {
	xs, n := newSource[int64](x, x.Shape()), x.Numel()
	for lo := 0; lo < n; lo += blockSize {
		for _, v := range xs.block(lo, min(lo+blockSize, n)) {
			if bad(v) {
				return true
			}
		}
	}
	return false
}

// numberOf returns the number of a script that x stands for.
func numberOf(x *tensor.Tensor) float64 {
	xs := newSource[float64](x, shape.Shape{})
	return xs.block(0, 1)[0]
}

// broadcastGrads returns the gradients of the two operands of c, which dx and
// dy compute, each summed to the shape of its operand and computed only where
// it is wanted.
func (t *Tape) broadcastGrads(c *Call, dx, dy func() *tensor.Tensor) []*tensor.Tensor {
	grads := make([]*tensor.Tensor, 2)
	for i, f := range []func() *tensor.Tensor{dx, dy} {
		if x := c.In[i]; x.RequiresGrad() {
			grads[i] = t.SumTo(f(), x.Shape())
		}
	}
	return grads
}

// operands returns the operands of c and its result, the half types as float32
// so that gradients are rounded once.
func (t *Tape) operands(c *Call) (x, y, z *tensor.Tensor) {
	return t.wide(c.In[0]), t.wide(c.In[1]), t.wide(c.Out[0])
}

// For z = x y, dx = dz y and dy = dz x.
func mulGrad(t *Tape, c *Call, dz []*tensor.Tensor) []*tensor.Tensor {
	x, y := c.In[0], c.In[1]
	return t.broadcastGrads(c,
		func() *tensor.Tensor { return t.Mul(dz[0], y) },
		func() *tensor.Tensor { return t.Mul(dz[0], x) })
}

// For z = x / y, dx = dz / y and dy = -dz z / y.
func divGrad(t *Tape, c *Call, dz []*tensor.Tensor) []*tensor.Tensor {
	_, y, z := t.operands(c)
	return t.broadcastGrads(c,
		func() *tensor.Tensor { return t.Div(dz[0], y) },
		func() *tensor.Tensor {
			if t.recording() || z.Buffer() == nil { // the quotient anew, as in PyTorch: hooks of z are for what a script makes of z, which may have changed it
				z = t.wide(t.Div(c.In[0], c.In[1]))
			}
			return t.Neg(t.Div(t.Mul(dz[0], z), y))
		})
}

// For z = x - ⌊x/y⌋ y, dx = dz and dy = -dz ⌊x/y⌋.
func modGrad(t *Tape, c *Call, dz []*tensor.Tensor) []*tensor.Tensor {
	x, y, _ := t.operands(c)
	return t.broadcastGrads(c,
		func() *tensor.Tensor { return dz[0] },
		func() *tensor.Tensor { return t.Neg(t.Mul(dz[0], t.binary("floordiv", x, y))) })
}

// For z = x^y, dx = dz y x^(y-1), 0 where y is 0, and dy = dz z log x, 0
// where x is 0 and y is not negative.
func powGrad(t *Tape, c *Call, dz []*tensor.Tensor) []*tensor.Tensor {
	x, y, z := t.operands(c)
	zero := tensor.Number(0.0)
	return t.broadcastGrads(c,
		func() *tensor.Tensor {
			dx := t.Mul(dz[0], t.Mul(y, t.binary("pow", x, t.lessOne(y))))
			if y.Weak() && numberOf(y) != 0 {
				return dx
			}
			return t.Where(t.isZero(y), zero, dx)
		},
		func() *tensor.Tensor {
			flat := t.And(t.isZero(x), t.binary("ge", y, zero))
			return t.Where(flat, zero, t.Mul(dz[0], t.Mul(z, t.unary("log", x))))
		})
}

// lessOne returns y - 1, for a number exactly as y is.
func (t *Tape) lessOne(y *tensor.Tensor) *tensor.Tensor {
	if y.Weak() {
		return tensor.Number(numberOf(y) - 1)
	}
	return t.AddNumber(y, -1)
}

// extremeGrad gives dz to the operand that won, half to each where they are
// equal. first is the comparison by which x wins, second that by which y does.
func extremeGrad(t *Tape, c *Call, dz *tensor.Tensor, first, second string) []*tensor.Tensor {
	x, y := c.In[0], c.In[1]
	share := func(wins string) *tensor.Tensor {
		half := t.Where(t.binary("eq", x, y), t.Scale(dz, 0.5), tensor.Number(0.0))
		return t.Where(t.binary(wins, x, y), dz, half)
	}
	return t.broadcastGrads(c,
		func() *tensor.Tensor { return share(first) },
		func() *tensor.Tensor { return share(second) })
}
