package op

import (
	"fmt"
	"math"
	"slices"

	"tpsh/internal/libm"
	"tpsh/runtime/dtype"
	"tpsh/runtime/tensor"
)

// A small composite of one or two tensors: its arguments, and how it is made.
type elementwiseComposite struct {
	name    string
	returns string
	example string
	params  []Param
	make    func(m *maker) *tensor.Tensor
}

var (
	xAlone = []Param{inX}
	xOther = []Param{inX, inOther}
)

var elementwiseComposites = []elementwiseComposite{
	{"square", "square(x) returns x * x, elementwise; of bools in int64.", ">>> tensor([3.0]).square().tolist()\n[9.0]", xAlone,
		func(m *maker) *tensor.Tensor {
			x := m.x(0)
			if x.DType() == dtype.Bool {
				x = m.Cast(x, dtype.Int64)
			}
			return m.Mul(x, x)
		}},
	{"frac", "frac(x) returns x less its part before the point, elementwise.", ">>> tensor([-1.5]).frac().tolist()\n[-0.5]", xAlone,
		func(m *maker) *tensor.Tensor { return m.Sub(m.x(0), m.unary("trunc", m.x(0))) }},
	{"deg2rad", "deg2rad(x) returns angles of degrees in radians.", ">>> tensor([180.0]).deg2rad().tolist()\n[3.1415927410125732]", xAlone,
		func(m *maker) *tensor.Tensor { return m.Scale(m.floats(m.x(0)), math.Pi/180) }},
	{"rad2deg", "rad2deg(x) returns angles of radians in degrees.", ">>> tensor([0.0]).rad2deg().tolist()\n[0.0]", xAlone,
		func(m *maker) *tensor.Tensor { return m.Scale(m.floats(m.x(0)), 180/math.Pi) }},
	{"isinf", "isinf(x) returns whether elements are infinite.", ">>> tensor([1.0, -float(\"inf\")]).isinf().tolist()\n[False, True]", xAlone,
		func(m *maker) *tensor.Tensor { return m.same(m.unary("abs", m.floats(m.x(0))), number(math.Inf(1))) }},
	{"isposinf", "isposinf(x) returns whether elements are +inf.", ">>> tensor([1.0, float(\"inf\")]).isposinf().tolist()\n[False, True]", xAlone,
		func(m *maker) *tensor.Tensor { return m.same(m.floats(m.x(0)), number(math.Inf(1))) }},
	{"isneginf", "isneginf(x) returns whether elements are -inf.", ">>> tensor([1.0, -float(\"inf\")]).isneginf().tolist()\n[False, True]", xAlone,
		func(m *maker) *tensor.Tensor { return m.same(m.floats(m.x(0)), number(math.Inf(-1))) }},
	{"signbit", "signbit(x) returns whether elements have a minus; a zero may, too.", ">>> tensor([-1.0, 0.0, -0.0]).signbit().tolist()\n[True, False, True]", xAlone,
		func(m *maker) *tensor.Tensor {
			return m.less(m.binary("copysign", number(1), m.x(0)), integer(0))
		}},
	{"sinc", "sinc(x) returns sin(πx) / (πx), and 1 at 0, elementwise.", ">>> tensor([0.0]).sinc().tolist()\n[1.0]", xAlone, makeSinc},
	{"positive", "positive(x) returns x.", ">>> tensor([-1.0]).positive().tolist()\n[-1.0]", xAlone,
		func(m *maker) *tensor.Tensor { return m.x(0) }},
	{"logit", "logit(x, eps=None) returns log(x / (1 - x)), of x kept eps away from 0 and 1, elementwise: of eps above 1/2 away from 0 first.", ">>> tensor([0.5]).logit().tolist()\n[0.0]",
		[]Param{inX, {Name: "eps", Kind: OptFloat, Doc: "how far x is kept from 0 and 1", Default: Default(None)}},
		func(m *maker) *tensor.Tensor {
			x := m.floats(m.x(0))
			if eps := m.c.Args[0]; eps.Set {
				lo, hi := number(eps.Float), number(1-eps.Float)
				x = m.Where(m.less(x, lo), lo, m.Where(m.greater(x, hi), hi, x))
			}
			return m.unary("log", m.Div(x, m.Sub(number(1), x)))
		}},
	{"nan_to_num", "nan_to_num(x, nan=0.0, posinf=None, neginf=None) returns x with other numbers for NaN and the infinities.\nWithout posinf and neginf these are the greatest and the least of the dtype.",
		">>> tensor([1.0, float(\"nan\")]).nan_to_num().tolist()\n[1.0, 0.0]",
		[]Param{inX, inFloat("nan", "what stands for NaN", 0), {Name: "posinf", Kind: OptFloat, Doc: "what stands for +inf", Default: Default(None)}, {Name: "neginf", Kind: OptFloat, Doc: "what stands for -inf", Default: Default(None)}},
		makeNanToNum},
	{"rsub", "rsub(x, other, alpha=1) returns other - alpha * x, elementwise.", ">>> tensor([1.0]).rsub(3).tolist()\n[2.0]",
		[]Param{inX, inOther, inFloat("alpha", "a factor of x", 1)},
		func(m *maker) *tensor.Tensor { return m.Sub(m.x(1), m.scaled(m.x(0), m.float(0))) }},
	{"floor_divide", "floor_divide(x, other) returns x // other, elementwise.", ">>> tensor([7]).floor_divide(2).tolist()\n[3]", xOther,
		func(m *maker) *tensor.Tensor { return m.binary("floordiv", m.x(0), m.x(1)) }},
	{"remainder", "remainder(x, other) returns x % other, elementwise.", ">>> tensor([-7]).remainder(3).tolist()\n[2]", xOther,
		func(m *maker) *tensor.Tensor { return m.binary("mod", m.x(0), m.x(1)) }},
	{"bitwise_and", "bitwise_and(x, other) returns x & other, elementwise.", ">>> tensor([6]).bitwise_and(3).tolist()\n[2]", xOther,
		func(m *maker) *tensor.Tensor { return m.and(m.x(0), m.x(1)) }},
	{"bitwise_or", "bitwise_or(x, other) returns x | other, elementwise.", ">>> tensor([6]).bitwise_or(3).tolist()\n[7]", xOther,
		func(m *maker) *tensor.Tensor { return m.or(m.x(0), m.x(1)) }},
	{"bitwise_xor", "bitwise_xor(x, other) returns x ^ other, elementwise.", ">>> tensor([6]).bitwise_xor(3).tolist()\n[5]", xOther,
		func(m *maker) *tensor.Tensor { return m.binary("xor", m.x(0), m.x(1)) }},
	{"bitwise_not", "bitwise_not(x) returns ~x, elementwise.", ">>> tensor([6]).bitwise_not().tolist()\n[-7]", xAlone,
		func(m *maker) *tensor.Tensor { return m.not(m.x(0)) }},
	{"logical_and", "logical_and(x, other) returns whether both are nonzero, elementwise.", ">>> tensor([2, 0]).logical_and(tensor([1, 1])).tolist()\n[True, False]", xOther,
		func(m *maker) *tensor.Tensor { return m.and(m.truth(m.x(0)), m.truth(m.x(1))) }},
	{"logical_or", "logical_or(x, other) returns whether one is nonzero, elementwise.", ">>> tensor([2, 0]).logical_or(tensor([0, 0])).tolist()\n[True, False]", xOther,
		func(m *maker) *tensor.Tensor { return m.or(m.truth(m.x(0)), m.truth(m.x(1))) }},
	{"logical_xor", "logical_xor(x, other) returns whether one alone is nonzero, elementwise.", ">>> tensor([2, 0]).logical_xor(tensor([1, 1])).tolist()\n[False, True]", xOther,
		func(m *maker) *tensor.Tensor { return m.binary("xor", m.truth(m.x(0)), m.truth(m.x(1))) }},
	{"logical_not", "logical_not(x) returns whether elements are 0.", ">>> tensor([2, 0]).logical_not().tolist()\n[False, True]", xAlone,
		func(m *maker) *tensor.Tensor { return m.same(m.x(0), integer(0)) }},
	{"fmax", "fmax(x, other) returns the greater of x and other, elementwise; a NaN counts as missing.", ">>> fmax(tensor([float(\"nan\"), 1.0]), tensor([2.0, 3.0])).tolist()\n[2.0, 3.0]", xOther,
		func(m *maker) *tensor.Tensor { return m.present("maximum") }},
	{"fmin", "fmin(x, other) returns the lesser of x and other, elementwise; a NaN counts as missing.", ">>> fmin(tensor([float(\"nan\"), 1.0]), tensor([2.0, 3.0])).tolist()\n[2.0, 1.0]", xOther,
		func(m *maker) *tensor.Tensor { return m.present("minimum") }},
	{"heaviside", "heaviside(x, values) returns 0 where x is negative, 1 where it is positive, and values where it is 0.", ">>> heaviside(tensor([-1.0, 0.0, 1.0]), tensor(0.5)).tolist()\n[0.0, 0.5, 1.0]",
		[]Param{inX, {Name: "values", Kind: Operand, Doc: "a tensor or a number"}},
		func(m *maker) *tensor.Tensor {
			x := m.x(0)
			step := m.Cast(m.greater(x, integer(0)), x.DType())
			return m.Where(m.same(x, integer(0)), m.x(1), m.Where(m.unary("isnan", x), x, step))
		}},
	{"xlogy", "xlogy(x, other) returns x * log(other), and 0 where x is 0 unless other is NaN, elementwise.", ">>> xlogy(tensor([0.0]), tensor([0.0])).tolist()\n[0.0]", xOther,
		func(m *maker) *tensor.Tensor {
			x, y := m.kept(0, 1), m.kept(1, 0)
			zero := m.and(m.same(x, integer(0)), m.not(m.unary("isnan", y)))
			safe := m.Where(zero, number(1), y)
			return m.Mul(x, m.unary("log", safe))
		}},
	{"logaddexp", "logaddexp(x, other) returns log(exp(x) + exp(other)), elementwise, without overflow.", ">>> logaddexp(tensor([1000.0]), tensor([-1000.0])).tolist()\n[1000.0]", xOther,
		func(m *maker) *tensor.Tensor { return m.logAdd("exp", "log1p", 1) }},
	{"logaddexp2", "logaddexp2(x, other) returns log2(2^x + 2^other), elementwise, without overflow.", ">>> logaddexp2(tensor([3.0]), tensor([3.0])).tolist()\n[4.0]", xOther,
		func(m *maker) *tensor.Tensor { return m.logAdd("exp2", "log1p", 1/math.Ln2) }},
	{"ldexp", "ldexp(x, other) returns x times 2 to the power other, elementwise.", ">>> tensor([1.5]).ldexp(tensor([2])).tolist()\n[6.0]", xOther,
		func(m *maker) *tensor.Tensor { return m.Mul(m.kept(0, 1), m.unary("exp2", m.kept(1, 0))) }},
	{"float_power", "float_power(x, other) returns x to the power other in float64, elementwise.", ">>> tensor([2]).float_power(3).tolist()\n[8.0]", called(xOther, "other", "exponent"),
		func(m *maker) *tensor.Tensor {
			return m.binary("pow", m.Cast(m.x(0), dtype.Float64), m.Cast(m.x(1), dtype.Float64))
		}},
	{"clamp_min", "clamp_min(x, min) returns the greater of x and min, elementwise.", ">>> tensor([-1.0, 2.0]).clamp_min(0).tolist()\n[0.0, 2.0]",
		[]Param{inX, {Name: "min", Kind: Operand, Doc: "a tensor or a number"}},
		func(m *maker) *tensor.Tensor { return m.binary("maximum", m.x(0), m.x(1)) }},
	{"clamp_max", "clamp_max(x, max) returns the lesser of x and max, elementwise.", ">>> tensor([-1.0, 2.0]).clamp_max(0).tolist()\n[-1.0, 0.0]",
		[]Param{inX, {Name: "max", Kind: Operand, Doc: "a tensor or a number"}},
		func(m *maker) *tensor.Tensor { return m.binary("minimum", m.x(0), m.x(1)) }},
	{"addcmul", "addcmul(x, tensor1, tensor2, value=1) returns x + value * tensor1 * tensor2, elementwise.", ">>> addcmul(tensor([1.0]), tensor([2.0]), tensor([3.0]), value=10).tolist()\n[61.0]", threeTensors,
		func(m *maker) *tensor.Tensor { return m.Add(m.x(0), m.scaled(m.Mul(m.x(1), m.x(2)), m.float(0))) }},
	{"addcdiv", "addcdiv(x, tensor1, tensor2, value=1) returns x + value * tensor1 / tensor2, elementwise.", ">>> addcdiv(tensor([1.0]), tensor([6.0]), tensor([3.0]), value=10).tolist()\n[21.0]", threeTensors,
		func(m *maker) *tensor.Tensor { return m.Add(m.x(0), m.scaled(m.Div(m.x(1), m.x(2)), m.float(0))) }},
	{"lerp", "lerp(x, end, weight) returns x + weight * (end - x), elementwise.", ">>> tensor([1.0]).lerp(tensor([3.0]), 0.5).tolist()\n[2.0]",
		[]Param{inX, {Name: "end", Kind: Tensor, Doc: "a tensor"}, {Name: "weight", Kind: Operand, Doc: "a tensor or a number"}},
		func(m *maker) *tensor.Tensor { return m.Add(m.x(0), m.Mul(m.x(2), m.Sub(m.x(1), m.x(0)))) }},
	{"isclose", "isclose(x, other, rtol=1e-5, atol=1e-8, equal_nan=False) returns whether |x - other| <= atol + rtol * |other|, elementwise.", ">>> tensor([1.0, 2.0]).isclose(tensor([1.0, 2.1])).tolist()\n[True, False]",
		[]Param{inX, inOther, inFloat("rtol", "a relative tolerance", 1e-5), inFloat("atol", "an absolute tolerance", 1e-8), {Name: "equal_nan", Kind: Bool, Doc: "whether NaN equals NaN", Default: Default(None)}},
		makeIsClose},
}

var threeTensors = []Param{inX, {Name: "tensor1", Kind: Tensor, Doc: "a tensor"}, {Name: "tensor2", Kind: Tensor, Doc: "a tensor"}, inFloat("value", "a factor", 1)}

func init() {
	for _, e := range elementwiseComposites {
		compositeOf(&Def{Name: e.name, Surface: bothSides, MakeDoc: func() string { return e.returns + "\n" + e.example }, Params: e.params, Pointwise: !keeping[e.name]},
			func(m *maker) []*tensor.Tensor { return one(e.make(m)) })
	}
}

var limitTensors = []Param{inX, {Name: "min", Kind: OptOperand, Doc: "the least values: a tensor, a number or None", Default: Default(None)}, {Name: "max", Kind: OptOperand, Doc: "the greatest values", Default: Default(None)}}

func init() {
	compositeOf(&Def{Name: "clamp_between", Surface: Internal, Params: limitTensors,
		Doc: "clamp_between(x, min=None, max=None) returns x, kept between min and max, of which one is a tensor, elementwise. Scripts write clamp(x, min, max)."},
		func(m *maker) []*tensor.Tensor {
			x := m.x(0)
			if x.DType() == dtype.Bool {
				m.refuse("x", Describe(x), "a tensor of numbers", "")
			}
			limited := func(x, end *tensor.Tensor, beyond func(x, y *tensor.Tensor) *tensor.Tensor) *tensor.Tensor {
				if end == nil {
					return x
				}
				return m.Where(m.or(beyond(x, end), m.unary("isnan", end)), end, x)
			}
			return one(limited(limited(x, m.x(1), m.less), m.x(2), m.greater))
		})
	compositeOf(&Def{Name: "frexp", Surface: Method | Function, Params: xAlone,
		Doc: "frexp(x) returns (mantissa, exponent): x is mantissa times 2 to the power exponent, an int32, elementwise; a mantissa is from 1/2 to 1, or 0, in absolute value.\n>>> frexp(tensor(6.0))\n(0.75, 3 dtype=int32)"},
		func(m *maker) []*tensor.Tensor {
			x := m.x(0)
			m.check(m.c.checkFloat("x", x))
			return []*tensor.Tensor{m.unary("fraction", x), m.Cast(m.unary("exponent", x.Detach()), dtype.Int32)}
		})
	compositeOf(&Def{Name: "renorm", Surface: Method | Function,
		Params: []Param{inX, {Name: "p", Kind: Float, Doc: "which norm"}, inDimGive, {Name: "maxnorm", Kind: Float, Doc: "the greatest norm"}},
		Doc:    "renorm(x, p, dim, maxnorm) returns x with its parts along dim scaled so that no p-norm of one is above maxnorm.\n>>> renorm(tensor([[3.0, 4.0], [0.0, 1.0]]), 2, 0, 2.5).tolist()\n[[1.5, 2.0], [0.0, 1.0]]"},
		func(m *maker) []*tensor.Tensor {
			x, most := m.floats(m.x(0)), m.float(2)
			if !(m.float(0) > 0) || !(most >= 0) {
				m.refuse("p", fmt.Sprintf("%v with maxnorm %v", m.float(0), most), "a positive norm, and a maxnorm of 0 or more", "")
			}
			if len(x.Shape()) < 2 {
				m.refuse("x", Describe(x), "a tensor of at least two dims", "")
			}
			d := m.dim(1, x)
			dims := slices.DeleteFunc(firstInts(len(x.Shape())), func(i int) bool { return i == d })
			norms := m.do("norm", x, m.c.Args[0], IntsN(dims...), Bool1(true))
			above := m.greater(norms, number(most))
			factor := m.Where(above, m.Scale(m.unary("reciprocal", m.AddNumber(m.Where(above, norms, number(1)), 1e-7)), most), number(1))
			return one(m.Mul(x, factor))
		})
}

// scaled returns k times x, where integers stay integers if k is one.
func (m *maker) scaled(x *tensor.Tensor, k float64) *tensor.Tensor {
	switch {
	case k == 1:
		return x
	case k == math.Trunc(k) && math.Abs(k) < 1<<53:
		return m.Mul(x, integer(int(k)))
	}
	return m.Scale(x, k)
}

// present returns the operator called name of both tensors, or of two of which one
// is NaN the other.
func (m *maker) present(name string) *tensor.Tensor {
	x, y := m.x(0), m.x(1)
	return m.Where(m.unary("isnan", x), y, m.Where(m.unary("isnan", y), x, m.binary(name, x, y)))
}

// logAdd returns max + k * log(1 + exp(-|x - y|)), and where both are the same
// infinity that.
func (m *maker) logAdd(exp, log string, k float64) *tensor.Tensor {
	x, y := m.floats(m.x(0)), m.x(1)
	most := m.binary("maximum", x, y)
	far := m.Neg(m.unary("abs", m.Sub(x, y)))
	alike := m.and(m.same(x, y), m.unary("isinf", x))
	far = m.Where(alike, number(math.Inf(-1)), far)
	return m.Add(most, m.scaled(m.unary(log, m.unary(exp, far)), k))
}

func makeSinc(m *maker) *tensor.Tensor {
	x := m.Scale(m.floats(m.x(0)), math.Pi)
	zero := m.same(x, integer(0))
	safe := m.Where(zero, number(1), x)
	return m.Where(zero, number(1), m.Div(m.unary("sin", safe), safe))
}

func makeNanToNum(m *maker) *tensor.Tensor {
	x := m.x(0)
	if !x.DType().IsFloat() {
		return x
	}
	none, most, least := finiteLimits(m.c)
	y := m.Where(m.unary("isnan", x), number(none), x)
	y = m.Where(m.same(x, number(math.Inf(1))), number(most), y)
	return m.Where(m.same(x, number(math.Inf(-1))), number(least), y)
}

// finiteLimits returns what stands for NaN, for infinity and for minus infinity.
func finiteLimits(c *Call) (none, most, least float64) {
	most = largest(c.In[0].DType())
	least = -most
	if a := c.Args[1]; a.Set {
		most = a.Float
	}
	if a := c.Args[2]; a.Set {
		least = a.Float
	}
	return c.Args[0].Float, most, least
}

// largest returns the greatest finite number of a float dtype.
func largest(dt dtype.DType) float64 {
	switch dt {
	case dtype.Float64:
		return math.MaxFloat64
	case dtype.Float16:
		return 65504
	case dtype.BFloat16:
		return math.Float64frombits(0x47efe00000000000)
	}
	return math.MaxFloat32
}

func makeIsClose(m *maker) *tensor.Tensor {
	x, y := m.floats(m.x(0)), m.floats(m.x(1))
	near := m.binary("le", m.unary("abs", m.Sub(x, y)), m.AddNumber(m.Scale(m.unary("abs", y), m.float(0)), m.float(1)))
	near = m.or(m.same(x, y), m.and(near, m.unary("isfinite", y)))
	if m.bool(2) {
		near = m.or(near, m.and(m.unary("isnan", x), m.unary("isnan", y)))
	}
	return near
}

// roundedTo returns the first tensor rounded to a number of digits, as PyTorch does: times
// the power of ten or, of a negative number, divided by it.
func (m *maker) roundedTo() *tensor.Tensor {
	x, digits := m.x(0), m.int(0)
	if digits == 0 {
		return m.unary("rounded", x)
	}
	m.check(m.c.checkFloat("x", x))
	power := number(libm.Pow(10, math.Abs(float64(digits))))
	if digits > 0 {
		return m.Div(m.unary("rounded", m.Mul(x, power)), power)
	}
	return m.Mul(m.unary("rounded", m.Div(x, power)), power)
}
