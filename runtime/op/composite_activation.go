package op

import (
	"fmt"

	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// An activationComposite is a function of F of one tensor.
type activationComposite struct {
	name    string
	returns string
	example string
	params  []Param
	make    func(m *maker, x *tensor.Tensor) *tensor.Tensor
}

var activationComposites = []activationComposite{
	{"leaky_relu", "leaky_relu(x, negative_slope=0.01) returns x where it is positive, else negative_slope * x.", ">>> F.leaky_relu(tensor([-1.0, 2.0]), 0.5).tolist()\n[-0.5, 2.0]", []Param{inX, inFloat("negative_slope", "the slope below 0", 0.01)},
		func(m *maker, x *tensor.Tensor) *tensor.Tensor {
			return m.Where(m.greater(x, integer(0)), x, m.Scale(x, m.float(0)))
		}},
	{"elu", "elu(x, alpha=1) returns x where it is positive, else alpha * (exp(x) - 1).", ">>> F.elu(tensor([0.0, 2.0])).tolist()\n[0.0, 2.0]", []Param{inX, inFloat("alpha", "a factor below 0", 1)},
		func(m *maker, x *tensor.Tensor) *tensor.Tensor { return m.elu(x, m.float(0), 1, 1) }},
	{"selu", "selu(x) returns x where it is positive, else 1.67326 * (exp(x) - 1), times 1.0507.", ">>> F.selu(tensor([0.0])).tolist()\n[0.0]", xAlone,
		func(m *maker, x *tensor.Tensor) *tensor.Tensor {
			return m.elu(x, seluAlpha, 1, seluScale)
		}},
	{"celu", "celu(x, alpha=1) returns x where it is positive, else alpha * (exp(x / alpha) - 1).", ">>> F.celu(tensor([0.0])).tolist()\n[0.0]", []Param{inX, inFloat("alpha", "a factor below 0, and of the distance", 1)},
		func(m *maker, x *tensor.Tensor) *tensor.Tensor { return m.elu(x, m.float(0), m.float(0), 1) }},
	{"relu6", "relu6(x) returns x kept from 0 to 6.", ">>> F.relu6(tensor([-1.0, 9.0])).tolist()\n[0.0, 6.0]", xAlone,
		func(m *maker, x *tensor.Tensor) *tensor.Tensor { return m.kept2(x, 0, 6) }},
	{"hardtanh", "hardtanh(x, min_val=-1, max_val=1) returns x kept from min_val to max_val.", ">>> F.hardtanh(tensor([-3.0, 0.5])).tolist()\n[-1.0, 0.5]", []Param{inX, inFloat("min_val", "the least", -1), inFloat("max_val", "the greatest", 1)},
		func(m *maker, x *tensor.Tensor) *tensor.Tensor { return m.kept2(x, m.float(0), m.float(1)) }},
	{"hardsigmoid", "hardsigmoid(x) returns (x + 3) / 6, kept from 0 to 1.", ">>> F.hardsigmoid(tensor([0.0])).tolist()\n[0.5]", xAlone,
		func(m *maker, x *tensor.Tensor) *tensor.Tensor {
			return m.Scale(m.kept2(m.AddNumber(x, 3), 0, 6), 1.0/6)
		}},
	{"hardswish", "hardswish(x) returns x times hardsigmoid(x).", ">>> F.hardswish(tensor([3.0])).tolist()\n[3.0]", xAlone,
		func(m *maker, x *tensor.Tensor) *tensor.Tensor {
			return m.Scale(m.Mul(x, m.kept2(m.AddNumber(x, 3), 0, 6)), 1.0/6)
		}},
	{"softplus", "softplus(x, beta=1, threshold=20) returns log(1 + exp(beta * x)) / beta, and x where beta * x is above threshold.", ">>> F.softplus(tensor([0.0, 100.0])).tolist()\n[0.6931471824645996, 100.0]",
		[]Param{inX, inFloat("beta", "how steep", 1), inFloat("threshold", "where it becomes x", 20)},
		func(m *maker, x *tensor.Tensor) *tensor.Tensor {
			far := m.Scale(x, m.float(0))
			beyond := m.greater(far, number(m.float(1)))
			return m.Where(beyond, x, m.Scale(m.unary("softplus", far), 1/m.float(0)))
		}},
	{"softsign", "softsign(x) returns x / (1 + |x|).", ">>> F.softsign(tensor([1.0])).tolist()\n[0.5]", xAlone,
		func(m *maker, x *tensor.Tensor) *tensor.Tensor { return m.Div(x, m.AddNumber(m.unary("abs", x), 1)) }},
	{"tanhshrink", "tanhshrink(x) returns x - tanh(x).", ">>> F.tanhshrink(tensor([0.0])).tolist()\n[0.0]", xAlone,
		func(m *maker, x *tensor.Tensor) *tensor.Tensor { return m.Sub(x, m.unary("tanh", x)) }},
	{"hardshrink", "hardshrink(x, lambd=0.5) returns x, but 0 where |x| is at most lambd.", ">>> F.hardshrink(tensor([0.2, 2.0])).tolist()\n[0.0, 2.0]", []Param{inX, inFloat("lambd", "a limit", 0.5)},
		func(m *maker, x *tensor.Tensor) *tensor.Tensor {
			return m.Where(m.binary("le", m.unary("abs", x), number(m.float(0))), number(0), x)
		}},
	{"softshrink", "softshrink(x, lambd=0.5) returns x nearer to 0 by lambd, and 0 where |x| is at most that.", ">>> F.softshrink(tensor([0.2, 2.0])).tolist()\n[0.0, 1.5]", []Param{inX, inFloat("lambd", "a limit", 0.5)},
		func(m *maker, x *tensor.Tensor) *tensor.Tensor {
			l := m.float(0)
			up := m.Where(m.greater(x, number(l)), m.AddNumber(x, -l), m.Scale(x, 0))
			return m.Where(m.less(x, number(-l)), m.AddNumber(x, l), up)
		}},
	{"threshold", "threshold(x, threshold, value) returns x where it is above threshold, else value.", ">>> F.threshold(tensor([0.5, 2.0]), 1.0, -1.0).tolist()\n[-1.0, 2.0]",
		[]Param{inX, {Name: "threshold", Kind: Float, Doc: "a limit"}, {Name: "value", Kind: Float, Doc: "what stands for the rest"}},
		func(m *maker, x *tensor.Tensor) *tensor.Tensor {
			return m.Where(m.greater(x, number(m.float(0))), x, number(m.float(1)))
		}},
	{"mish", "mish(x) returns x * tanh(softplus(x)).", ">>> F.mish(tensor([0.0])).tolist()\n[0.0]", xAlone,
		func(m *maker, x *tensor.Tensor) *tensor.Tensor {
			return m.Mul(x, m.unary("tanh", m.unary("softplus", x)))
		}},
	{"logsigmoid", "logsigmoid(x) returns log(sigmoid(x)), without overflow.", ">>> F.logsigmoid(tensor([0.0])).tolist()\n[-0.6931471824645996]", xAlone,
		func(m *maker, x *tensor.Tensor) *tensor.Tensor { return m.Neg(m.unary("softplus", m.Neg(x))) }},
	{"softmin", "softmin(x, dim, dtype=None) returns softmax(-x, dim, dtype).", ">>> F.softmin(tensor([0.0, 0.0]), 0).tolist()\n[0.5, 0.5]", []Param{inX, {Name: "dim", Kind: Dim, Doc: "a dim"}, {Name: "dtype", Kind: OptDType, Doc: "what the elements are converted to first, or None", Default: Default(None)}},
		func(m *maker, x *tensor.Tensor) *tensor.Tensor { return m.do("softmax", m.Neg(x), m.c.Args...) }},
	{"glu", "glu(x, dim=-1) returns the first half of x along dim times the sigmoid of the second.", ">>> F.glu(tensor([2.0, 0.0])).tolist()\n[1.0]", []Param{inX, inDim("dim", -1)}, makeGLU},
	{"prelu", "prelu(x, weight) returns x where it is positive, else weight * x; weight has one element, or one for each of dim 1.", ">>> F.prelu(tensor([-2.0]), tensor([0.5])).tolist()\n[-1.0]", []Param{inX, {Name: "weight", Kind: Tensor, Doc: "a tensor [1] or [channels]"}},
		func(m *maker, x *tensor.Tensor) *tensor.Tensor {
			w := m.x(1)
			if w.Numel() != 1 {
				w = m.perChannel(x, w, "weight")
			}
			return m.Where(m.greater(x, integer(0)), x, m.Mul(x, w))
		}},
	{"normalize", "normalize(x, p=2, dim=1, eps=1e-12) returns x divided by its p-norm along dim, or by eps where that is greater.", ">>> F.normalize(tensor([[3.0, 4.0]])).tolist()\n[[0.6000000238418579, 0.800000011920929]]",
		[]Param{inX, inFloat("p", "which norm", 2), inDim("dim", 1), inFloat("eps", "the least divisor", 1e-12)},
		func(m *maker, x *tensor.Tensor) *tensor.Tensor {
			n := m.do("norm", x, m.c.Args[0], IntsN(m.dim(1, x)), Bool1(true))
			return m.Div(x, m.binary("maximum", n, number(m.float(2))))
		}},
	{"tanh", "tanh(x) returns the hyperbolic tangent of x.", ">>> F.tanh(tensor([0.0])).tolist()\n[0.0]", xAlone,
		func(m *maker, x *tensor.Tensor) *tensor.Tensor { return m.unary("tanh", x) }},
	{"sigmoid", "sigmoid(x) returns 1 / (1 + exp(-x)).", ">>> F.sigmoid(tensor([0.0])).tolist()\n[0.5]", xAlone,
		func(m *maker, x *tensor.Tensor) *tensor.Tensor { return m.unary("sigmoid", x) }},
	{"pixel_shuffle", "pixel_shuffle(x, upscale_factor) returns images [.., c * r * r, h, w] as [.., c, h * r, w * r].", ">>> F.pixel_shuffle(zeros(1, 4, 2, 2), 2).shape\n(1, 1, 4, 4)", []Param{inX, {Name: "upscale_factor", Kind: Int, Doc: "r"}}, makePixelShuffle},
	{"pixel_unshuffle", "pixel_unshuffle(x, downscale_factor) returns images [.., c, h * r, w * r] as [.., c * r * r, h, w].", ">>> F.pixel_unshuffle(zeros(1, 1, 4, 4), 2).shape\n(1, 4, 2, 2)", []Param{inX, {Name: "downscale_factor", Kind: Int, Doc: "r"}}, makePixelUnshuffle},
	{"channel_shuffle", "channel_shuffle(x, groups) returns x [n, c, ..] with its channels taken from each group in turn.", ">>> F.channel_shuffle(arange(4).reshape(1, 4), 2).tolist()\n[[0, 2, 1, 3]]", []Param{inX, {Name: "groups", Kind: Int, Doc: "how many groups"}},
		func(m *maker, x *tensor.Tensor) *tensor.Tensor {
			s, g := x.Shape(), m.int(0)
			if len(s) < 2 || g < 1 || s[1]%g != 0 {
				m.refuse("groups", fmt.Sprint(g), "a divisor of the number of channels", Describe(x))
			}
			y := m.Reshape(x, append(shape.Shape{s[0], g, s[1] / g}, s[2:]...))
			return m.Reshape(m.Transpose(y, 1, 2), s)
		}},
	{"group_norm", "group_norm(x, num_groups, weight=None, bias=None, eps=1e-5) returns x [n, c, ..] with mean 0 and variance 1 over each sample's groups of channels,\ntimes weight plus bias, one for each channel.", ">>> F.group_norm(tensor([[1.0, 3.0]]), 1, eps=0.0).tolist()\n[[-1.0, 1.0]]",
		[]Param{inX, {Name: "num_groups", Kind: Int, Doc: "how many groups"}, optWeight, optBias, inFloat("eps", "what is added to the variance", 1e-5)},
		func(m *maker, x *tensor.Tensor) *tensor.Tensor {
			return m.groupNorm(x, m.int(0), m.float(1), m.x(1), m.x(2))
		}},
	{"instance_norm", "instance_norm(x, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1, eps=1e-5) returns x [n, c, ..] with mean 0 and variance 1 over each sample's channels, times weight plus bias.\n" +
		"The running mean and variance, unless None, are changed in place: to (1 - momentum) of themselves and\n" +
		"momentum of the means over samples of these moments, the variance with one less in its divisor. Without\n" +
		"use_input_stats they are what channels are normalised by, as F.batch_norm does.", ">>> F.instance_norm(tensor([[[1.0, 3.0]]]), eps=0.0).tolist()\n[[[-1.0, 1.0]]]",
		[]Param{inX, optMean, optVar, optWeight, optBias, {Name: "use_input_stats", Kind: Bool, Doc: "whether to use each sample's own mean and variance", Default: Default(Bool1(true))},
			inFloat("momentum", "how much of the samples goes into the running mean and variance", 0.1), inFloat("eps", "what is added to the variance", 1e-5)},
		(*maker).instanceNorm},
	{"local_response_norm", "local_response_norm(x, size, alpha=1e-4, beta=0.75, k=1.0) returns x [n, c, ..] over (k + alpha mean)^beta, where mean is that of the squares of size channels around each.", ">>> F.local_response_norm(ones(1, 1, 1), 1, alpha=0.0).tolist()\n[[[1.0]]]",
		[]Param{inX, {Name: "size", Kind: Int, Doc: "how many channels"}, inFloat("alpha", "a factor", 1e-4), inFloat("beta", "a power", 0.75), inFloat("k", "a summand", 1)},
		(*maker).responseNorm},
}

var (
	optMean   = Param{Name: "running_mean", Kind: OptTensor, Doc: "a float tensor [c], or None", Default: Default(None)}
	optVar    = Param{Name: "running_var", Kind: OptTensor, Doc: "a float tensor [c], or None", Default: Default(None)}
	optWeight = Param{Name: "weight", Kind: OptTensor, Doc: "a factor for each channel", Default: Default(None)}
	optBias   = Param{Name: "bias", Kind: OptTensor, Doc: "a summand for each channel", Default: Default(None)}
)

// mixing are those of activationComposites whose elements are made of others than the one at
// their place.
var mixing = nameSet("channel_shuffle", "glu", "group_norm", "instance_norm", "local_response_norm", "normalize", "pixel_shuffle", "pixel_unshuffle", "softmin")

func init() {
	for _, e := range activationComposites {
		compositeOf(&Def{Name: e.name, Surface: Namespace, MakeDoc: func() string { return e.returns + "\n" + e.example }, Params: e.params, Pointwise: !mixing[e.name] && !keeping[e.name]},
			func(m *maker) []*tensor.Tensor {
				x := m.floats(m.x(0))
				if e.name == "channel_shuffle" || e.name == "pixel_shuffle" || e.name == "pixel_unshuffle" {
					x = m.x(0)
				}
				return one(e.make(m, x))
			})
	}
}

// The constants of selu.
const (
	seluAlpha = 1.6732632423543772848170429916717
	seluScale = 1.0507009873554804934193349852946
)

// elu returns k * x where x is positive, else k * alpha * (exp(x / scale) - 1).
func (m *maker) elu(x *tensor.Tensor, alpha, scale, k float64) *tensor.Tensor {
	up := m.greater(x, integer(0))
	low := m.Where(up, number(0), x) // so that what is large has no infinite gradient
	y := m.Where(up, x, m.Scale(m.unary("expm1", m.Scale(low, 1/scale)), alpha))
	return m.scaled(y, k)
}

// kept2 returns x kept from lo to hi.
func (m *maker) kept2(x *tensor.Tensor, lo, hi float64) *tensor.Tensor {
	return m.do("clamp", x, Float1(lo), Float1(hi))
}

func makeGLU(m *maker, x *tensor.Tensor) *tensor.Tensor {
	d := m.dim(0, x)
	n := sizeAt(x, d)
	if len(x.Shape()) == 0 || n%2 != 0 {
		m.refuse("x", Describe(x), fmt.Sprintf("an even size of dim %d", d), "")
	}
	a := m.do("narrow", x, Int1(d), Int1(0), Int1(n/2))
	return m.Mul(a, m.unary("sigmoid", m.do("narrow", x, Int1(d), Int1(n/2), Int1(n/2))))
}

// perChannel returns w, one number for each of dim 1 of x, as it is broadcast.
func (m *maker) perChannel(x, w *tensor.Tensor, param string) *tensor.Tensor {
	s := x.Shape()
	if len(s) < 2 || len(w.Shape()) != 1 || w.Shape()[0] != s[1] {
		m.refuse(param, Describe(w), "a tensor of as many elements as x has channels", Describe(x))
	}
	return m.Reshape(w, append(shape.Shape{s[1]}, make1s(len(s)-2)...))
}

func makePixelShuffle(m *maker, x *tensor.Tensor) *tensor.Tensor {
	s, r := x.Shape(), m.int(0)
	n := len(s)
	if n < 3 || r < 1 || r > 1<<20 || s[n-3]%(r*r) != 0 {
		m.refuse("upscale_factor", fmt.Sprint(r), "a number whose square divides the number of channels", Describe(x))
	}
	lead, c, h, w := s[:n-3].Numel(), s[n-3]/(r*r), s[n-2], s[n-1]
	y := m.do("permute", m.Reshape(x, shape.Shape{lead, c, r, r, h, w}), IntsN(0, 1, 4, 2, 5, 3))
	return m.Reshape(y, append(append(shape.Shape{}, s[:n-3]...), c, h*r, w*r))
}

func makePixelUnshuffle(m *maker, x *tensor.Tensor) *tensor.Tensor {
	s, r := x.Shape(), m.int(0)
	n := len(s)
	if n < 3 || r < 1 || r > 1<<20 || s[n-2]%r != 0 || s[n-1]%r != 0 {
		m.refuse("downscale_factor", fmt.Sprint(r), "a divisor of height and width", Describe(x))
	}
	lead, c, h, w := s[:n-3].Numel(), s[n-3], s[n-2]/r, s[n-1]/r
	y := m.do("permute", m.Reshape(x, shape.Shape{lead, c, h, r, w, r}), IntsN(0, 1, 3, 5, 2, 4))
	return m.Reshape(y, append(append(shape.Shape{}, s[:n-3]...), c*r*r, h, w))
}

// groupNorm normalizes x over groups of channels, times w plus b, either of which may be nil.
func (m *maker) groupNorm(x *tensor.Tensor, groups int, eps float64, w, b *tensor.Tensor) *tensor.Tensor {
	s := x.Shape()
	if len(s) < 2 || groups < 1 || s[1]%groups != 0 {
		m.refuse("num_groups", fmt.Sprint(groups), "a divisor of the number of channels", Describe(x))
	}
	per := 1
	if rest := s[0] * groups; rest > 0 {
		per = s.Numel() / rest
	}
	y := m.Reshape(x, shape.Shape{s[0], groups, per})
	y = m.Reshape(m.Do("layer_norm", []*tensor.Tensor{y, nil, nil}, Arg{Ints: []int{per}, Set: true}, Float1(eps)), s)
	if w != nil {
		y = m.Mul(y, m.perChannel(x, w, "weight"))
	}
	if b != nil {
		y = m.Add(y, m.perChannel(x, b, "bias"))
	}
	return y
}

// instanceNorm normalizes the channels of each sample of x, and moves the running mean and
// variance towards theirs; or normalizes by these.
func (m *maker) instanceNorm(x *tensor.Tensor) *tensor.Tensor {
	if !m.bool(0) {
		return m.Do("batch_norm", append(one(x), m.c.In[1:]...), Bool1(false), m.c.Args[1], m.c.Args[2])
	}
	s := x.Shape()
	if len(s) < 3 {
		m.refuse("x", Describe(x), "a tensor of at least three dims", "")
	}
	for _, i := range []int{bnMean, bnVar} {
		running := m.x(i)
		if running == nil {
			continue
		}
		if !running.DType().IsFloat() || !running.Shape().Equal(shape.Shape{s[1]}) {
			m.refuse(m.c.InName(i), Describe(running), fmt.Sprintf("a float tensor of shape (%d,)", s[1]), "one element for each channel of x")
		}
		if x.Placed() && !running.Placed() {
			m.refuse(m.c.InName(i), Describe(running), "a distributed tensor", "x is one")
		}
		m.check(m.c.checkWritable(i))
	}
	move := func(i int, moment string, more ...Arg) {
		if m.x(i) != nil {
			each := m.do(moment, x.Detach(), append([]Arg{IntsN(firstInts(len(s))[2:]...), Bool1(false)}, more...)...)
			m.moveRunning(m.c, i, m.do("mean", each, IntsN(0), Bool1(false)))
		}
	}
	move(bnMean, "mean")
	move(bnVar, "var", Float1(1))
	return m.groupNorm(x, s[1], m.float(2), m.x(3), m.x(4))
}

// responseNorm is Krizhevsky, Sutskever and Hinton, "ImageNet classification with
// deep convolutional neural networks", 2012.
func (m *maker) responseNorm(x *tensor.Tensor) *tensor.Tensor {
	s, size := x.Shape(), m.int(0)
	if len(s) < 3 {
		m.refuse("x", Describe(x), "a tensor [n, c, ..] of at least three dims", "")
	}
	if size < 1 || size > 1<<12 {
		m.refuse("size", fmt.Sprint(size), "an int from 1 to 4096", "")
	}
	around := append(make([]int, 2*(len(s)-2)), size/2, (size-1)/2)
	squares := m.do("pad", m.Mul(x, x), IntsN(around...), Str1("constant"), Float1(0))
	var sum *tensor.Tensor
	for i := range size {
		sum = m.sum(sum, m.do("narrow", squares, Int1(1), Int1(i), Int1(s[1])))
	}
	scale := m.AddNumber(m.Scale(sum, m.float(1)/float64(size)), m.float(3))
	return m.Div(x, m.binary("pow", scale, number(m.float(2))))
}
