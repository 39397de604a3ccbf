package op

import (
	"math"

	"tpsh/internal/libm"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// A lossComposite is a loss of F: of x, a target and perhaps more, elementwise,
// with a reduction as its last argument.
type lossComposite struct {
	name    string
	returns string
	example string
	params  []Param // between target and reduction
	make    func(m *maker, x, y *tensor.Tensor) *tensor.Tensor
}

var lossComposites = []lossComposite{
	{"l1_loss", "l1_loss(x, target, reduction=\"mean\") returns |x - target|.", ">>> F.l1_loss(tensor([1.0]), tensor([3.0]))\n2.0", nil,
		func(m *maker, x, y *tensor.Tensor) *tensor.Tensor { return m.unary("abs", m.Sub(x, y)) }},
	{"smooth_l1_loss", "smooth_l1_loss(x, target, beta=1, reduction=\"mean\") returns (x - target)² / (2 * beta) where |x - target| is below beta, else |x - target| - beta / 2.", ">>> F.smooth_l1_loss(tensor([1.0]), tensor([3.0]))\n1.5", []Param{inFloat("beta", "where it becomes straight", 1)},
		func(m *maker, x, y *tensor.Tensor) *tensor.Tensor {
			if m.float(0) == 0 {
				return m.unary("abs", m.Sub(x, y))
			}
			return m.Scale(m.huber(x, y, m.float(0)), 1/m.float(0))
		}},
	{"huber_loss", "huber_loss(x, target, delta=1, reduction=\"mean\") returns (x - target)² / 2 where |x - target| is below delta, else delta * (|x - target| - delta / 2).", ">>> F.huber_loss(tensor([1.0]), tensor([3.0]))\n1.5", []Param{inFloat("delta", "where it becomes straight", 1)},
		func(m *maker, x, y *tensor.Tensor) *tensor.Tensor { return m.huber(x, y, m.float(0)) }},
	{"binary_cross_entropy", "binary_cross_entropy(x, target, weight=None, reduction=\"mean\") returns -weight * (target * log(x) + (1 - target) * log(1 - x)) of probabilities x. Logarithms are -100 at least.", ">>> F.binary_cross_entropy(tensor([0.5]), tensor([1.0]))\n0.6931472", []Param{{Name: "weight", Kind: OptTensor, Doc: "a float tensor that broadcasts to the shape of x, or None", Default: Default(None)}},
		func(m *maker, x, y *tensor.Tensor) *tensor.Tensor {
			log := func(p *tensor.Tensor) *tensor.Tensor {
				return m.binary("maximum", m.unary("log", p), number(-100))
			}
			loss := m.Neg(m.Add(m.Mul(y, log(x)), m.Mul(m.Sub(number(1), y), log(m.Sub(number(1), x)))))
			if w := m.x(2); w != nil {
				loss = m.Mul(w, loss)
			}
			return loss
		}},
	{"kl_div", "kl_div(x, target, log_target=False, reduction=\"mean\") returns target * (log(target) - x) of log probabilities x, where target is one of probabilities, or of logarithms.\nreduction \"batchmean\" is the sum divided by the size of dim 0.", ">>> F.kl_div(tensor([[-1.0]]), tensor([[-1.0]]), log_target=True)\n0.0", []Param{{Name: "log_target", Kind: Bool, Doc: "whether target is of logarithms", Default: Default(None)}},
		func(m *maker, x, y *tensor.Tensor) *tensor.Tensor {
			if m.bool(0) {
				return m.Mul(m.unary("exp", y), m.Sub(y, x))
			}
			positive := m.greater(y, integer(0))
			safe := m.Where(positive, y, number(1))
			return m.Sub(m.Where(positive, m.Mul(safe, m.unary("log", safe)), number(0)), m.Mul(y, x))
		}},
	{"poisson_nll_loss", "poisson_nll_loss(x, target, log_input=True, full=False, eps=1e-8, reduction=\"mean\") returns exp(x) - target * x, or of rates x that are no logarithms x - target * log(x + eps).\nWith full Stirling's approximation of log(target!) is added where target is above 1.", ">>> F.poisson_nll_loss(tensor([0.0]), tensor([1.0]))\n1.0", []Param{{Name: "log_input", Kind: Bool, Doc: "whether x is of logarithms", Default: Default(Bool1(true))}, {Name: "full", Kind: Bool, Doc: "whether what hangs on target alone is added", Default: Default(None)}, inFloat("eps", "what is added to x", 1e-8)},
		func(m *maker, x, y *tensor.Tensor) *tensor.Tensor {
			var loss *tensor.Tensor
			if m.bool(0) {
				loss = m.Sub(m.unary("exp", x), m.Mul(y, x))
			} else {
				loss = m.Sub(x, m.Mul(y, m.unary("log", m.AddNumber(x, m.float(2)))))
			}
			if m.bool(1) {
				loss = m.Add(loss, m.stirling(y))
			}
			return loss
		}},
	{"soft_margin_loss", "soft_margin_loss(x, target, reduction=\"mean\") returns log(1 + exp(-target * x)) of targets 1 and -1.", ">>> F.soft_margin_loss(tensor([0.0]), tensor([1.0]))\n0.6931472", nil,
		func(m *maker, x, y *tensor.Tensor) *tensor.Tensor {
			return m.unary("softplus", m.Neg(m.Mul(x, y)))
		}},
	{"hinge_embedding_loss", "hinge_embedding_loss(x, target, margin=1, reduction=\"mean\") returns x where target is 1, and max(0, margin - x) where it is -1; where it is another number both are added up.", ">>> F.hinge_embedding_loss(tensor([0.25, 0.25]), tensor([1.0, -1.0]))\n0.5", []Param{inFloat("margin", "a distance", 1)},
		func(m *maker, x, y *tensor.Tensor) *tensor.Tensor {
			near := m.Where(m.same(y, integer(-1)), number(0), x)
			return m.Add(near, m.Where(m.same(y, integer(1)), number(0), m.unary("relu", m.Sub(number(m.float(0)), x))))
		}},
}

func init() {
	for _, e := range lossComposites {
		reduction := reductionParam
		if e.name == "kl_div" {
			reduction.Choices = append(reduction.Choices[:3:3], "batchmean")
		}
		params := append(append([]Param{inX, inTarget}, e.params...), reduction)
		losses := pointwise(e.name, params, func(m *maker) *tensor.Tensor { return e.make(m, m.floats(m.x(0)), m.x(1)) })
		compositeOf(&Def{Name: e.name, Surface: Namespace, MakeDoc: func() string { return e.returns + "\n" + e.example }, Params: params},
			func(m *maker) []*tensor.Tensor {
				loss, how := m.apply(losses, m.c.In, m.c.Args...), len(m.c.Args)-1
				if m.c.Args[how].Str == "batchmean" {
					return one(m.Scale(m.do("sum", loss, None, None), 1/float64(sizeAt(m.x(0), 0))))
				}
				return m.reduced(how, loss)
			})
	}
	compositeOf(&Def{Name: "cosine_similarity", Surface: Namespace, Params: append(called(twoAlone, "x", "x1", "other", "x2"), inDim("dim", 1), inFloat("eps", "the least norm", 1e-8)),
		Doc: "cosine_similarity(x, other, dim=1, eps=1e-8) returns the cosines of the angles between vectors along dim.\n>>> F.cosine_similarity(tensor([[1.0, 0.0]]), tensor([[1.0, 0.0]])).tolist()\n[1.0]"},
		func(m *maker) []*tensor.Tensor {
			x, y := m.floats(m.x(0)), m.floats(m.x(1))
			if s, ok := shape.Broadcast(x.Shape(), y.Shape()); ok { // the vectors are those of both, made as long as each other
				x, y = m.Expand(x, s), m.Expand(y, s)
			}
			d := m.dim(0, x)
			unit := func(t *tensor.Tensor) *tensor.Tensor {
				n := m.do("norm", t, Float1(2), IntsN(d), Bool1(true))
				return m.Div(t, m.binary("maximum", n, number(m.float(1))))
			}
			return one(m.Sum(m.Mul(unit(x), unit(y)), []int{d}, false))
		})
	compositeOf(&Def{Name: "pairwise_distance", Surface: Namespace, Params: append(called(twoAlone, "x", "x1", "other", "x2"), inFloat("p", "which norm", 2), inFloat("eps", "what is added to the difference", 1e-6), keepdimParam),
		Doc: "pairwise_distance(x, other, p=2, eps=1e-6, keepdim=False) returns the p-norms of x - other along the last dim.\n>>> F.pairwise_distance(tensor([[3.0, 4.0]]), tensor([[0.0, 0.0]]), eps=0.0).tolist()\n[5.0]"},
		func(m *maker) []*tensor.Tensor {
			return one(m.do("norm", m.AddNumber(m.Sub(m.x(0), m.x(1)), m.float(1)), m.c.Args[0], IntsN(-1), m.c.Args[2]))
		})
}

// stirling returns an approximation of log(y!), y log y - y + log(2πy) / 2, where y
// is above 1, and 0 elsewhere.
func (m *maker) stirling(y *tensor.Tensor) *tensor.Tensor {
	y = m.floats(y)
	large := m.greater(y, integer(1))
	safe := m.Where(large, y, number(1))
	log := m.unary("log", safe)
	sum := m.Add(m.Sub(m.Mul(safe, log), safe), m.AddNumber(m.Scale(log, 0.5), 0.5*libm.Log(2*math.Pi)))
	return m.Where(large, sum, number(0))
}

// huber returns d²/2 where |d| is below delta, else delta * (|d| - delta/2), of
// the difference d.
func (m *maker) huber(x, y *tensor.Tensor, delta float64) *tensor.Tensor {
	d := m.Sub(x, y)
	far := m.unary("abs", d)
	return m.Where(m.less(far, number(delta)), m.Scale(m.Mul(d, d), 0.5), m.Scale(m.AddNumber(far, -delta/2), delta))
}
