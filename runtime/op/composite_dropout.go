package op

import (
	"fmt"
	"math"
	"strings"

	"tpsh/runtime/tensor"
)

var (
	inTraining = Param{Name: "training", Kind: Bool, Doc: "whether to drop at all", Default: Default(Bool1(true))}
	inP        = inFloat("p", "the probability, 0 to 1", 0.5)
)

// Dropout of whole channels, and dropout that keeps mean and variance.
func init() {
	for n := 1; n <= 3; n++ {
		compositeOf(&Def{Name: fmt.Sprintf("dropout%dd", n), Surface: Namespace, Params: []Param{inX, inP, inTraining},
			MakeDoc: func() string {
				sizes := strings.Repeat(", 4", n)
				return fmt.Sprintf("dropout%dd(x, p=0.5, training=True) returns x [n, c, ..] with each channel zeroed with probability p, and the others divided by 1 - p.\n"+
					"It is one random draw. Without the dim n it takes [c, ..], too.\n>>> F.dropout%dd(ones(1, 2%s), training=False).shape\n(1, 2%s)", n, n, sizes, sizes)
			}},
			func(m *maker) []*tensor.Tensor {
				x := m.floats(m.x(0))
				if k := len(x.Shape()); k != n+2 && k != n+1 {
					m.refuse("x", Describe(x), fmt.Sprintf("a tensor of %d dims, or of %d without the first", n+2, n+1), "")
				}
				return one(m.Mul(x, m.do("dropout", m.channels(x, n), m.c.Args...)))
			})
	}
	unless := Param{Name: "training", Kind: Bool, Doc: inTraining.Doc, Default: Default(Bool1(false))}
	compositeOf(&Def{Name: "alpha_dropout", Surface: Namespace, Params: []Param{inX, inP, unless},
		Doc: "alpha_dropout(x, p=0.5, training=False) returns x with each element set to what selu goes to with probability p, and all scaled and shifted so that mean and variance stay.\nIt is one random draw.\n>>> F.alpha_dropout(ones(2)).tolist()\n[1.0, 1.0]"},
		func(m *maker) []*tensor.Tensor { return one(m.alphaDropout(m.floats(m.x(0)))) })
	compositeOf(&Def{Name: "feature_alpha_dropout", Surface: Namespace, Params: []Param{inX, inP, unless},
		Doc: "feature_alpha_dropout(x, p=0.5, training=False) returns alpha_dropout of whole channels of x [n, c, ..], which may have less dims if nothing is drawn.\n>>> F.feature_alpha_dropout(ones(1, 2, 2)).shape\n(1, 2, 2)"},
		func(m *maker) []*tensor.Tensor {
			x := m.floats(m.x(0))
			if !m.bool(1) || m.float(0) == 0 || x.Numel() == 0 {
				return one(m.alphaDropout(x)) // nothing is drawn
			}
			if len(x.Shape()) < 2 {
				m.refuse("x", Describe(x), "a tensor [n, c, ..]", "")
			}
			return one(m.alphaDropout(m.channels(x, len(x.Shape())-2)))
		})
	compositeOf(&Def{Name: "rrelu", Surface: Namespace, Params: []Param{inX, inFloat("lower", "the least slope", 1.0/8), inFloat("upper", "the greatest slope", 1.0/3), {Name: "training", Kind: Bool, Doc: "whether slopes are drawn", Default: Default(None)}},
		Doc: "rrelu(x, lower=1/8, upper=1/3, training=False) returns x where it is not negative, else x times a slope uniform from lower to upper, or without training their mean.\n>>> F.rrelu(tensor([-24.0, 2.0])).tolist()\n[-5.5, 2.0]"},
		func(m *maker) []*tensor.Tensor {
			x, lo, hi := m.floats(m.x(0)), m.float(0), m.float(1)
			slope := number((lo + hi) / 2)
			if m.bool(2) {
				slope = m.AddNumber(m.Scale(m.do("rand_like", x, None), hi-lo), lo)
			}
			return one(m.Where(m.binary("ge", x, integer(0)), x, m.Mul(x, slope)))
		})
	compositeOf(&Def{Name: "gumbel_softmax", Surface: Namespace, Params: []Param{called([]Param{inX}, "x", "logits")[0], inFloat("tau", "a temperature", 1), {Name: "hard", Kind: Bool, Doc: "whether the greatest becomes 1", Default: Default(None)}, inDim("dim", -1)},
		Doc: "gumbel_softmax(x, tau=1, hard=False, dim=-1) returns softmax((x + g) / tau) along dim, where g is of Gumbel's distribution; with hard 1 at its greatest and 0 elsewhere, with the gradient of the softmax.\nIt is one random draw. Jang, Gu and Poole, \"Categorical reparameterization with Gumbel-softmax\", ICLR 2017.\n>>> F.gumbel_softmax(zeros(3)).sum().round()\n1.0"},
		func(m *maker) []*tensor.Tensor { return one(m.gumbel()) })
}

// channels returns ones of the shape of x with the last n dims of size 1.
func (m *maker) channels(x *tensor.Tensor, n int) *tensor.Tensor {
	for d := len(x.Shape()) - n; d < len(x.Shape()); d++ {
		if sizeAt(x, d) == 0 {
			return m.do("ones_like", x, None)
		}
		x = m.do("narrow", x, Int1(d), Int1(0), Int1(1))
	}
	return m.do("ones_like", x, None)
}

// alphaDropout drops from the first tensor with one draw in the shape of like. Klambauer
// et al., "Self-normalizing neural networks", NeurIPS 2017.
func (m *maker) alphaDropout(like *tensor.Tensor) *tensor.Tensor {
	const alpha = 1.7580993408473766
	x, p := m.floats(m.x(0)), m.float(0)
	if !(p >= 0 && p <= 1) {
		m.refuse("p", fmt.Sprint(p), "a number from 0 to 1", "")
	}
	if !m.bool(1) || p == 0 {
		return m.do("clone", x)
	}
	if p == 1 {
		return m.Scale(x, 0)
	}
	keep := m.Cast(m.binary("ge", m.uniformDraw(like), number(p)), x.DType())
	a := 1 / math.Sqrt((float64(alpha*alpha*p)+1)*(1-p))
	shift := m.AddNumber(m.Scale(keep, alpha*a), alpha*a*(p-1))
	return m.Add(m.Mul(x, m.Scale(keep, a)), shift)
}

func (m *maker) gumbel() *tensor.Tensor {
	x := m.floats(m.x(0))
	d := m.dim(2, x)
	g := m.Neg(m.unary("log", m.exponentialDraw(x)))
	soft := m.do("softmax", m.Scale(m.Add(x, g), 1/m.float(0)), Int1(d), None)
	if !m.bool(1) {
		return soft
	}
	at := m.do("argmax", soft, Int1(d), Bool1(true))
	if len(x.Shape()) == 0 {
		return soft
	}
	n := x.Shape()[d]
	places := m.Reshape(m.upTo(n), replaced(make1s(len(x.Shape())), d, n))
	hard := m.Cast(m.same(places, at), x.DType())
	return m.Add(m.Sub(hard, soft.Detach()), soft)
}
