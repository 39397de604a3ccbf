package op

import (
	"fmt"
	"math"

	"tpsh/mesh"
	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel"
	"tpsh/runtime/kernel/crew"
	"tpsh/runtime/tensor"
)

// A unaryOp is an elementwise operator of one tensor.
type unaryOp struct {
	name    string
	surface Surface
	symbol  string // before its operand
	returns string // what the operator returns, elementwise
	notes   string // more lines of documentation, each ending in a newline
	example string
	row     kernel.Unary

	// shard is the sharding rule; nil is Elementwise.
	shard Rule

	// float says that integers and bools become the default float dtype.
	float bool

	// grad returns dx for dy, given x and y = f(x). The half types come as
	// float32, so that the gradient is rounded once.
	grad func(t *Tape, x, y, dy *tensor.Tensor) *tensor.Tensor
	// reads says which of x and y that is.
	reads Reads
}

var unaryOps = []*unaryOp{
	{
		name: "neg", surface: Method | Operator, symbol: "-", returns: "-x", row: kernel.Neg,
		example: ">>> (-tensor([1, -2])).tolist()\n[-1, 2]",
		reads:   ReadsShapes,
		grad:    func(t *Tape, x, y, dy *tensor.Tensor) *tensor.Tensor { return t.Neg(dy) },
		shard:   negRule,
	},
	{
		name: "abs", returns: "the absolute value of x", row: kernel.Abs,
		reads:   ReadsInputs,
		notes:   "The gradient at 0 is 0.\n",
		example: ">>> tensor([-1.5, 2.0]).abs().tolist()\n[1.5, 2.0]",
		grad:    func(t *Tape, x, y, dy *tensor.Tensor) *tensor.Tensor { return t.Mul(dy, t.unary("sign", x)) },
	},
	{
		name: "sign", returns: "1 where x is positive, -1 where it is negative, else x", row: kernel.Sign,
		example: ">>> tensor([-1.5, 0.0, 2.0]).sign().tolist()\n[-1.0, 0.0, 1.0]",
		grad:    zeroGrad,
		shard:   Monotonic,
	},
	{
		name: "relu", surface: Method | Namespace, returns: "the greater of x and 0", row: kernel.Relu,
		reads:   ReadsResults,
		notes:   "The gradient at 0 is 0.\n",
		example: ">>> F.relu(tensor([-1.0, 2.0])).tolist()\n[0.0, 2.0]",
		grad: func(t *Tape, x, y, dy *tensor.Tensor) *tensor.Tensor {
			if !t.recording() {
				return t.binary("relu_grad", dy, y)
			}
			return t.Where(t.binary("le", y, tensor.Number(int64(0))), tensor.Number(0.0), dy)
		},
		shard: Monotonic,
	},
	{
		name: "rounded", surface: Internal, returns: "x rounded to integers, halves to the even one", row: kernel.Round,
		grad:  zeroGrad,
		shard: Monotonic,
	},
	{
		name: "floor", returns: "the greatest integers not above x", row: kernel.Floor,
		example: ">>> tensor([1.5, -1.5]).floor().tolist()\n[1.0, -2.0]",
		grad:    zeroGrad,
		shard:   Monotonic,
	},
	{
		name: "ceil", returns: "the least integers not below x", row: kernel.Ceil,
		example: ">>> tensor([1.5, -1.5]).ceil().tolist()\n[2.0, -1.0]",
		grad:    zeroGrad,
		shard:   Monotonic,
	},
	{
		name: "reciprocal", returns: "1 / x", row: kernel.Reciprocal, float: true,
		example: ">>> tensor([2.0, -4.0]).reciprocal().tolist()\n[0.5, -0.25]",
		reads:   ReadsResults,
		grad: func(t *Tape, x, y, dy *tensor.Tensor) *tensor.Tensor {
			return t.Neg(t.Mul(dy, t.Mul(y, y)))
		},
	},
	{
		name: "exp", returns: "e to the power x", row: kernel.Exp, float: true,
		example: ">>> tensor([0.0, 1.0]).exp().tolist()\n[1.0, 2.7182817459106445]",
		reads:   ReadsResults,
		grad:    func(t *Tape, x, y, dy *tensor.Tensor) *tensor.Tensor { return t.Mul(dy, y) },
		shard:   Monotonic,
	},
	{
		name: "log", returns: "the natural logarithm of x", row: kernel.Log, float: true,
		notes:   "It is -inf at 0 and NaN below.\n",
		example: ">>> tensor([1.0, 0.0]).log().tolist()\n[0.0, -inf]",
		reads:   ReadsInputs,
		grad:    func(t *Tape, x, y, dy *tensor.Tensor) *tensor.Tensor { return t.Div(dy, x) },
	},
	{
		name: "sqrt", returns: "the square root of x", row: kernel.Sqrt, float: true,
		notes:   "It is NaN below 0.\n",
		example: ">>> tensor([4.0, 9.0]).sqrt().tolist()\n[2.0, 3.0]",
		reads:   ReadsResults,
		grad: func(t *Tape, x, y, dy *tensor.Tensor) *tensor.Tensor {
			return t.Div(dy, t.Scale(y, 2))
		},
	},
	{
		name: "rsqrt", returns: "1 / the square root of x", row: kernel.Rsqrt, float: true,
		example: ">>> tensor([4.0, 16.0]).rsqrt().tolist()\n[0.5, 0.25]",
		reads:   ReadsResults,
		grad: func(t *Tape, x, y, dy *tensor.Tensor) *tensor.Tensor {
			return t.Scale(t.Mul(dy, t.Mul(y, t.Mul(y, y))), -0.5)
		},
	},
	{
		name: "sin", returns: "the sine of x, an angle in radians", row: kernel.Sin, float: true,
		example: ">>> tensor([0.0]).sin().tolist()\n[0.0]",
		reads:   ReadsInputs,
		grad:    func(t *Tape, x, y, dy *tensor.Tensor) *tensor.Tensor { return t.Mul(dy, t.unary("cos", x)) },
	},
	{
		name: "cos", returns: "the cosine of x, an angle in radians", row: kernel.Cos, float: true,
		example: ">>> tensor([0.0]).cos().tolist()\n[1.0]",
		reads:   ReadsInputs,
		grad: func(t *Tape, x, y, dy *tensor.Tensor) *tensor.Tensor {
			return t.Neg(t.Mul(dy, t.unary("sin", x)))
		},
	},
	{
		name: "tanh", returns: "the hyperbolic tangent of x", row: kernel.Tanh, float: true,
		example: ">>> tensor([0.0, 100.0]).tanh().tolist()\n[0.0, 1.0]",
		reads:   ReadsResults,
		grad: func(t *Tape, x, y, dy *tensor.Tensor) *tensor.Tensor {
			if !t.recording() {
				return t.binary("tanh_grad", dy, y)
			}
			return t.Mul(dy, t.Sub(tensor.Number(1.0), t.Mul(y, y)))
		},
		shard: Monotonic,
	},
	{
		name: "sigmoid", returns: "1 / (1 + e to the power -x)", row: kernel.Sigmoid, float: true,
		example: ">>> tensor([0.0]).sigmoid().tolist()\n[0.5]",
		reads:   ReadsResults,
		grad: func(t *Tape, x, y, dy *tensor.Tensor) *tensor.Tensor {
			if !t.recording() {
				return t.binary("sigmoid_grad", dy, y)
			}
			return t.Mul(dy, t.Mul(y, t.Sub(tensor.Number(1.0), y)))
		},
		shard: Monotonic,
	},
	{
		name: "erf", returns: "the error function of x", row: kernel.Erf, float: true,
		example: ">>> tensor([0.0]).erf().tolist()\n[0.0]",
		reads:   ReadsInputs,
		grad: func(t *Tape, x, y, dy *tensor.Tensor) *tensor.Tensor {
			slope := t.Scale(t.unary("exp", t.Neg(t.Mul(x, x))), 2/math.Sqrt(math.Pi))
			return t.Mul(dy, slope)
		},
		shard: Monotonic,
	},
}

func init() {
	for _, u := range unaryOps {
		register(u.def())
	}
}

// def returns the operator as the table holds it.
func (u *unaryOp) def() *Def {
	surface := u.surface
	if surface == 0 {
		surface = Method
	}
	return &Def{
		Name:    u.name,
		Surface: surface,
		Symbol:  u.symbol,
		MakeDoc: func() string {
			return fmt.Sprintf("%s(x) returns %s, elementwise.\n%s%s%s", u.name, u.returns, u.rule(), u.notes, u.example)
		},
		Params: []Param{{Name: "x", Kind: Tensor, Doc: u.takes()}},
		Infer:  u.infer,
		Run: func(c *Call) error {
			runUnary(c.Ctx.Workers, &u.row, c.Spec[0].DType, c.Out[0], c.In[0])
			return nil
		},
		Grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			return one(u.grad(t, t.wide(c.In[0]), t.wide(c.Out[0]), t.wide(dy[0])))
		},
		Reads:     u.reads,
		Shard:     u.sharding(),
		Pointwise: true,
	}
}

// sharding returns the sharding rule.
func (u *unaryOp) sharding() Rule {
	if u.shard == nil {
		return Elementwise
	}
	return u.shard
}

// negRule: of floats, minus the greatest is the least of the negated. Integers
// wrap around.
func negRule(c *Call) []Row {
	rows := Linear(c)
	if !c.Spec[0].DType.IsFloat() {
		return rows
	}
	for _, by := range [][2]mesh.ReduceOp{{mesh.Max, mesh.Min}, {mesh.Min, mesh.Max}} {
		row := rowOf(c)
		row.In[0], row.Out[0] = mesh.Partial(by[0]), mesh.Partial(by[1])
		rows = append(rows, row)
	}
	return rows
}

// rule documents the dtype of the result.
func (u *unaryOp) rule() string {
	if u.float {
		return "Integers and bools give the default float dtype.\n"
	}
	return "The result has the dtype of x.\n"
}

// takes documents x.
func (u *unaryOp) takes() string {
	if u.float || u.row.Bool != nil {
		return "a tensor"
	}
	return "a tensor of numbers"
}

func (u *unaryOp) infer(c *Call) error {
	x := c.In[0]
	dt := x.DType()
	if u.float && !dt.IsFloat() {
		dt = c.Ctx.Float
	}
	if !u.row.Has(dt.Compute()) {
		return c.Bad("x", Describe(x), u.takes(), "")
	}
	return c.Result(dt, x.Shape())
}

// runUnary runs row on x, broadcast to the shape of dst, in the type in which
// arithmetic on dt is done.
func runUnary(w *crew.Workers, row *kernel.Unary, dt dtype.DType, dst, x *tensor.Tensor) {
	switch dt.Compute() {
	case dtype.Float32:
		run1(w, dst, x, row.F32)
	case dtype.Float64:
		run1(w, dst, x, row.F64)
	case dtype.Int64:
		run1(w, dst, x, row.I64)
	case dtype.Int32:
		run1(w, dst, x, row.I32)
	case dtype.Uint8:
		run1(w, dst, x, row.U8)
	default:
		run1(w, dst, x, row.Bool)
	}
}

// zeroGrad is the gradient of a function that is constant almost everywhere.
func zeroGrad(t *Tape, x, y, dy *tensor.Tensor) *tensor.Tensor {
	return t.Do("zeros_like", one(dy), None)
}
