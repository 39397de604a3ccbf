package op

import (
	"fmt"
	"slices"
	"strings"

	"tpsh/runtime/dtype"
	"tpsh/runtime/tensor"
)

// storing are operators that have a form which stores its result in x: by name, the
// start of an example and what it shows. Scatters write into a few elements, but a
// copy of all is what they cost here.
var storing = []struct{ name, example, shows string }{
	{"masked_fill", "tensor([1.0, 2.0]).masked_fill_(tensor([True, False]), 5)", "[5.0, 2.0]"},
	{"masked_scatter", "zeros(2).masked_scatter_(tensor([False, True]), tensor([5.0]))", "[0.0, 5.0]"},
	{"scatter", "zeros(2).scatter_(0, tensor([1]), 5)", "[0.0, 5.0]"},
	{"scatter_add", "zeros(2).scatter_add_(0, tensor([1]), tensor([5.0]))", "[0.0, 5.0]"},
	{"scatter_reduce", "ones(2).scatter_reduce_(0, tensor([1]), tensor([5.0]), reduce=\"prod\")", "[1.0, 5.0]"},
	{"index_add", "zeros(2).index_add_(0, tensor([1]), tensor([5.0]))", "[0.0, 5.0]"},
	{"index_copy", "zeros(2).index_copy_(0, tensor([1]), tensor([5.0]))", "[0.0, 5.0]"},
	{"index_fill", "zeros(2).index_fill_(0, tensor([1]), 5)", "[0.0, 5.0]"},
	{"index_reduce", "ones(2).index_reduce_(0, tensor([1]), tensor([5.0]), reduce=\"prod\")", "[1.0, 5.0]"},
	{"put", "zeros(2).put_(tensor([1]), 5)", "[0.0, 5.0]"},
	{"abs", "tensor([-1.0]).abs_()", "[1.0]"},
	{"neg", "tensor([-1.0]).neg_()", "[1.0]"},
	{"exp", "zeros(1).exp_()", "[1.0]"},
	{"log", "ones(1).log_()", "[0.0]"},
	{"sqrt", "tensor([4.0]).sqrt_()", "[2.0]"},
	{"rsqrt", "tensor([4.0]).rsqrt_()", "[0.5]"},
	{"reciprocal", "tensor([4.0]).reciprocal_()", "[0.25]"},
	{"square", "tensor([4.0]).square_()", "[16.0]"},
	{"sin", "zeros(1).sin_()", "[0.0]"},
	{"cos", "zeros(1).cos_()", "[1.0]"},
	{"tanh", "zeros(1).tanh_()", "[0.0]"},
	{"sigmoid", "zeros(1).sigmoid_()", "[0.5]"},
	{"relu", "tensor([-1.0, 2.0]).relu_()", "[0.0, 2.0]"},
	{"floor", "tensor([1.5]).floor_()", "[1.0]"},
	{"ceil", "tensor([1.5]).ceil_()", "[2.0]"},
	{"round", "tensor([1.75]).round_()", "[2.0]"},
	{"trunc", "tensor([-1.5]).trunc_()", "[-1.0]"},
	{"sign", "tensor([-1.5]).sign_()", "[-1.0]"},
	{"erf", "zeros(1).erf_()", "[0.0]"},
	{"erfinv", "zeros(1).erfinv_()", "[0.0]"},
	{"pow", "tensor([3.0]).pow_(2)", "[9.0]"},
	{"fmod", "tensor([5.0]).fmod_(3)", "[2.0]"},
	{"remainder", "tensor([5.0]).remainder_(3)", "[2.0]"},
	{"lerp", "zeros(1).lerp_(ones(1), 0.5)", "[0.5]"},
	{"addcmul", "zeros(1).addcmul_(ones(1), ones(1), value=2)", "[2.0]"},
	{"addcdiv", "zeros(1).addcdiv_(ones(1), ones(1), value=2)", "[2.0]"},
	{"clamp_min", "zeros(1).clamp_min_(2)", "[2.0]"},
	{"clamp_max", "zeros(1).clamp_max_(-2)", "[-2.0]"},
	{"nan_to_num", "tensor([float(\"nan\")]).nan_to_num_()", "[0.0]"},
	{"tril", "ones(1, 2).tril_()", "[[1.0, 0.0]]"},
	{"triu", "ones(2, 1).triu_()", "[[1.0], [0.0]]"},
	{"cumsum", "ones(2).cumsum_(0)", "[1.0, 2.0]"},
	{"logical_not", "zeros(1).logical_not_()", "[1.0]"},
	{"acos", "ones(1).acos_()", "[0.0]"},
	{"asin", "zeros(1).asin_()", "[0.0]"},
	{"atan", "zeros(1).atan_()", "[0.0]"},
	{"sinh", "zeros(1).sinh_()", "[0.0]"},
	{"cosh", "zeros(1).cosh_()", "[1.0]"},
	{"tan", "zeros(1).tan_()", "[0.0]"},
	{"asinh", "zeros(1).asinh_()", "[0.0]"},
	{"acosh", "ones(1).acosh_()", "[0.0]"},
	{"atanh", "zeros(1).atanh_()", "[0.0]"},
	{"expm1", "zeros(1).expm1_()", "[0.0]"},
	{"exp2", "zeros(1).exp2_()", "[1.0]"},
	{"log1p", "zeros(1).log1p_()", "[0.0]"},
	{"log2", "ones(1).log2_()", "[0.0]"},
	{"log10", "ones(1).log10_()", "[0.0]"},
	{"erfc", "zeros(1).erfc_()", "[1.0]"},
	{"lgamma", "ones(1).lgamma_()", "[0.0]"},
	{"deg2rad", "zeros(1).deg2rad_()", "[0.0]"},
	{"rad2deg", "zeros(1).rad2deg_()", "[0.0]"},
	{"sinc", "zeros(1).sinc_()", "[1.0]"},
	{"frac", "tensor([1.5]).frac_()", "[0.5]"},
	{"logit", "tensor([0.5]).logit_()", "[0.0]"},
	{"sgn", "tensor([-2.0]).sgn_()", "[-1.0]"},
	{"bitwise_not", "tensor([6]).bitwise_not_()", "[-7]"},
	{"eq", "ones(1).eq_(1)", "[1.0]"},
	{"ne", "ones(1).ne_(1)", "[0.0]"},
	{"lt", "ones(1).lt_(1)", "[0.0]"},
	{"le", "ones(1).le_(1)", "[1.0]"},
	{"gt", "ones(1).gt_(1)", "[0.0]"},
	{"ge", "ones(1).ge_(1)", "[1.0]"},
	{"atan2", "zeros(1).atan2_(1)", "[0.0]"},
	{"copysign", "ones(1).copysign_(-1)", "[-1.0]"},
	{"floor_divide", "tensor([7.0]).floor_divide_(2)", "[3.0]"},
	{"float_power", "tensor([3.0]).float_power_(2)", "[9.0]"},
	{"xlogy", "zeros(1).xlogy_(1)", "[0.0]"},
	{"ldexp", "ones(1).ldexp_(tensor([2]))", "[4.0]"},
	{"hypot", "tensor([3.0]).hypot_(tensor([4.0]))", "[5.0]"},
	{"bitwise_and", "tensor([6]).bitwise_and_(3)", "[2]"},
	{"bitwise_or", "tensor([6]).bitwise_or_(3)", "[7]"},
	{"bitwise_xor", "tensor([6]).bitwise_xor_(3)", "[5]"},
	{"logical_and", "ones(1).logical_and_(tensor([0]))", "[0.0]"},
	{"logical_or", "ones(1).logical_or_(tensor([0]))", "[1.0]"},
	{"logical_xor", "ones(1).logical_xor_(tensor([0]))", "[1.0]"},
	{"cumprod", "tensor([2.0, 3.0]).cumprod_(0)", "[2.0, 6.0]"},
	{"bitwise_left_shift", "tensor([6]).bitwise_left_shift_(2)", "[24]"},
	{"bitwise_right_shift", "tensor([6]).bitwise_right_shift_(2)", "[1]"},
	{"gcd", "tensor([8]).gcd_(tensor([12]))", "[4]"},
	{"lcm", "tensor([8]).lcm_(tensor([12]))", "[24]"},
	{"nextafter", "ones(1).nextafter_(ones(1))", "[1.0]"},
	{"i0", "zeros(1).i0_()", "[1.0]"},
	{"digamma", "tensor([2.0]).digamma_().round_()", "[0.0]"},
	{"addmm", "zeros(1, 1).addmm_(ones(1, 2), ones(2, 1))", "[[2.0]]"},
	{"addmv", "zeros(1).addmv_(ones(1, 2), ones(2))", "[2.0]"},
	{"addr", "zeros(1, 1).addr_(ones(1), ones(1))", "[[1.0]]"},
	{"baddbmm", "zeros(1, 1, 1).baddbmm_(ones(1, 1, 2), ones(1, 2, 1))", "[[[2.0]]]"},
	{"addbmm", "zeros(1, 1).addbmm_(ones(2, 1, 2), ones(2, 2, 1))", "[[4.0]]"},
	{"heaviside", "zeros(1).heaviside_(tensor(0.5))", "[0.5]"},
}

// The files of a package are initialised in the order of their names: this one
// comes after those of the operators whose results are stored.
func init() {
	for _, s := range storing {
		d := methodOf(s.name)
		compositeOf(&Def{Name: s.name + "_", Surface: Method, Params: d.Params,
			MakeDoc: func() string {
				return fmt.Sprintf("%s_(%s stores what %s returns in x and returns x.\nA value of a wider kind than x's is refused.\n>>> %s.tolist()\n%s", s.name, paramsOf(d), s.name, s.example, s.shows)
			}},
			func(m *maker) []*tensor.Tensor { return one(m.stored(d)) })
	}
}

// paramsOf returns the parameters of d as its documentation has them, with the bracket that ends them.
func paramsOf(d *Def) string {
	call, _, _ := strings.Cut(d.Text(), " returns ")
	_, inner, _ := strings.Cut(call, "(")
	return inner
}

func init() {
	compositeOf(&Def{Name: "clamp_between_", Surface: Internal, Params: limitTensors,
		Doc: "clamp_between_(x, min=None, max=None) stores what clamp_between(x, min, max) returns in x and returns x. Scripts write clamp_(x, min, max)."},
		func(m *maker) []*tensor.Tensor { return one(m.stored(must("clamp_between"))) })
	compositeOf(&Def{Name: "fill_diagonal_", Surface: Method,
		Doc: "fill_diagonal_(x, fill_value, wrap=False) stores a number in the elements of x all of whose indices are equal, and returns x.\n" +
			"x has two dims, or more of one size. With wrap the diagonal of a matrix of more rows than\ncolumns begins anew below, a row left out.\n" +
			">>> zeros(2, 3).fill_diagonal_(5).tolist()\n[[5.0, 0.0, 0.0], [0.0, 5.0, 0.0]]",
		Params: []Param{inX, {Name: "fill_value", Kind: Operand, Doc: "a number"}, {Name: "wrap", Kind: Bool, Doc: "whether the diagonal begins anew", Default: Default(None)}}},
		func(m *maker) []*tensor.Tensor {
			return one(m.all("masked_fill_", []*tensor.Tensor{m.x(0), m.onMainDiagonal(m.x(0), m.bool(0)), m.x(1)})[0])
		})
}

// onMainDiagonal returns where all indices of x are equal; with wrap as fill_diagonal_
// has it.
func (m *maker) onMainDiagonal(x *tensor.Tensor, wrap bool) *tensor.Tensor {
	s := x.Shape()
	if len(s) < 2 || len(s) > 2 && slices.ContainsFunc(s, func(n int) bool { return n != s[0] }) {
		m.refuse("x", Describe(x), "a matrix, or a tensor of more dims, all of one size", "")
	}
	step := 0
	for _, stride := range s.Strides() {
		step += stride
	}
	n := s.Numel()
	at := m.upTo(n)
	found := m.same(m.do2("remainder", at, integer(max(step, 1))), integer(0))
	if cols := s[1]; len(s) == 2 && !wrap && cols*cols < n {
		found = m.and(found, m.less(at, integer(cols*cols)))
	}
	return m.Reshape(found, s)
}

// methodOf returns the operator that is the method called name.
func methodOf(name string) *Def {
	for _, d := range []*Def{composites[name], table[name]} {
		if d != nil && d.Surface&Method != 0 {
			return d
		}
	}
	panic("op: no method " + name)
}

// stored stores the result of d in x, which it returns. A gradient may need what x has
// been: d then works on a copy of it.
func (m *maker) stored(d *Def) *tensor.Tensor {
	x, in := m.x(0), slices.Clone(m.c.In)
	if slices.ContainsFunc(in, func(t *tensor.Tensor) bool { return t != nil && t.RequiresGrad() }) {
		in[0] = m.do("clone", x)
		for i, y := range in[1:] {
			if y == x || y != nil && !x.Placed() && !y.Placed() && y.Buffer() == x.Buffer() {
				in[i+1] = in[0]
				if y != x {
					in[i+1] = m.do("clone", y)
				}
			}
		}
	}
	out, err := m.A.Apply(d, in, m.c.Args)
	m.check(err)
	y := out[0]
	if dt := y.DType(); dtype.Promote(dt, x.DType()) != x.DType() && !dtype.SameKind(dt, x.DType()) {
		m.refuse("x", Describe(x), fmt.Sprintf("a tensor that takes %v", dt), "the value is of a wider kind: convert one of the two")
	}
	if !y.Shape().Equal(x.Shape()) {
		m.refuse("x", Describe(x), "shape "+y.Shape().String(), "what is stored is as large as x")
	}
	return m.do2("copy_", x, y)
}
