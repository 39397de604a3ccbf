package op

import (
	"fmt"
	"math"

	"tpsh/internal/libm"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// Losses of F that compare more than one tensor with a target, and those of classes.
func init() {
	in := func(name, doc string) Param { return Param{Name: name, Kind: Tensor, Doc: doc} }
	for _, e := range []struct {
		name, returns, example string
		params                 []Param
		make                   func(m *maker) *tensor.Tensor
	}{
		{"margin_ranking_loss", "margin_ranking_loss(x1, x2, target, margin=0, reduction=\"mean\") returns max(0, margin - target * (x1 - x2)) of targets 1 and -1.", ">>> F.margin_ranking_loss(tensor([1.0]), tensor([3.0]), tensor([1.0]))\n2.0",
			[]Param{in("x1", "a tensor"), in("x2", "a tensor"), in("target", "1 where x1 is to be greater, else -1"), inFloat("margin", "a distance", 0)},
			func(m *maker) *tensor.Tensor {
				return m.hinge(m.AddNumber(m.Neg(m.Mul(m.x(2), m.Sub(m.floats(m.x(0)), m.x(1)))), m.float(0)))
			}},
		{"cosine_embedding_loss", "cosine_embedding_loss(x1, x2, target, margin=0, reduction=\"mean\") returns 1 - cos of the angle between vectors [.., k] where target is 1, and max(0, cos - margin) where it is -1.", ">>> F.cosine_embedding_loss(tensor([[1.0, 0.0]]), tensor([[0.0, 1.0]]), tensor([1]))\n1.0",
			[]Param{in("x1", "vectors"), in("x2", "vectors"), in("target", "1 where they are to be alike, else -1"), inFloat("margin", "a cosine", 0)}, (*maker).cosineLoss},
		{"triplet_margin_loss", "triplet_margin_loss(anchor, positive, negative, margin=1, p=2, eps=1e-6, swap=False, reduction=\"mean\") returns max(0, d(anchor, positive) - d(anchor, negative) + margin), where d is the p-norm of the difference, plus eps, along the last dim.\nWith swap the lesser of d(anchor, negative) and d(positive, negative) counts.", ">>> F.triplet_margin_loss(tensor([[0.0]]), tensor([[2.0]]), tensor([[1.0]]), eps=0.0)\n2.0",
			[]Param{in("anchor", "vectors"), in("positive", "vectors that are to be near"), in("negative", "vectors that are to be far"), inFloat("margin", "a distance", 1), inFloat("p", "which norm", 2), inFloat("eps", "what is added to the difference", 1e-6), {Name: "swap", Kind: Bool, Doc: "whether positive counts as an anchor, too", Default: Default(None)}}, (*maker).tripletLoss},
		{"gaussian_nll_loss", "gaussian_nll_loss(x, target, var, full=False, eps=1e-6, reduction=\"mean\") returns (log(var) + (x - target)² / var) / 2 of variances of at least eps; with full, log(2π) / 2 more.", ">>> F.gaussian_nll_loss(tensor([1.0]), tensor([3.0]), tensor([1.0]))\n2.0",
			[]Param{inX, inTarget, in("var", "variances, as x or with a last dim of 1 or none"), {Name: "full", Kind: Bool, Doc: "whether the constant is added", Default: Default(None)}, inFloat("eps", "the least variance", 1e-6)}, (*maker).gaussianLoss},
		{"multilabel_soft_margin_loss", "multilabel_soft_margin_loss(x, target, weight=None, reduction=\"mean\") returns the means over the last dim of the binary cross entropies of logits x [.., c], times weight [c].", ">>> F.multilabel_soft_margin_loss(tensor([[0.0, 0.0]]), tensor([[1.0, 0.0]]))\n0.6931472",
			[]Param{inX, inTarget, {Name: "weight", Kind: OptTensor, Doc: "a factor for each class", Default: Default(None)}}, (*maker).multiLabelSoft},
		{"multi_margin_loss", "multi_margin_loss(x, target, p=1, margin=1, weight=None, reduction=\"mean\") returns, of scores x [n, c] or [c], or one, and classes target, Σ max(0, margin - x[target] + x[i])^p / c over the other classes i, times weight[target].", ">>> F.multi_margin_loss(tensor([[0.0, 0.5]]), tensor([0]))\n0.75",
			[]Param{inX, in("target", "classes"), {Name: "weight", Kind: OptTensor, Doc: "a factor for each class", Default: Default(None)}, inInt("p", "1 or 2", 1), inFloat("margin", "a distance", 1)}, (*maker).multiMargin},
		{"multilabel_margin_loss", "multilabel_margin_loss(x, target, reduction=\"mean\") returns, of scores x [n, c] or [c], or one, and targets of that shape, of which those before the first -1 are classes, Σ max(0, 1 - x[j] + x[i]) / c over these classes j and the others i.", ">>> F.multilabel_margin_loss(tensor([[0.0, 0.5]]), tensor([[0, -1]]))\n0.75",
			[]Param{inX, in("target", "classes, then -1")}, (*maker).multiLabelMargin},
	} {
		params := append(e.params[:len(e.params):len(e.params)], reductionParam)
		last := -1
		for _, p := range params {
			if !p.IsTensor() {
				last++
			}
		}
		compositeOf(&Def{Name: e.name, Surface: Namespace, MakeDoc: func() string { return e.returns + "\n" + e.example }, Params: params},
			func(m *maker) []*tensor.Tensor { return m.reduced(last, e.make(m)) })
	}
}

// hinge returns max(0, x).
func (m *maker) hinge(x *tensor.Tensor) *tensor.Tensor { return m.do("clamp", x, Float1(0), None) }

func (m *maker) cosineLoss() *tensor.Tensor {
	x, y, target := m.floats(m.x(0)), m.floats(m.x(1)), m.x(2)
	sum := func(a, b *tensor.Tensor) *tensor.Tensor { return m.Sum(m.Mul(a, b), []int{-1}, false) }
	const eps = 1e-12
	length := m.Mul(m.AddNumber(sum(x, x), eps), m.AddNumber(sum(y, y), eps))
	cos := m.Div(sum(x, y), m.unary("sqrt", length))
	near := m.Sub(number(1), cos)
	far := m.hinge(m.AddNumber(cos, -m.float(0)))
	return m.Where(m.same(target, integer(1)), near, m.Where(m.same(target, integer(-1)), far, number(0)))
}

func (m *maker) tripletLoss() *tensor.Tensor {
	apart := func(a, b *tensor.Tensor) *tensor.Tensor {
		return m.do("norm", m.AddNumber(m.Sub(m.floats(a), b), m.float(2)), m.c.Args[1], IntsN(-1), None)
	}
	far := apart(m.x(0), m.x(2))
	if m.bool(3) {
		far = m.binary("minimum", far, apart(m.x(1), m.x(2)))
	}
	return m.hinge(m.AddNumber(m.Sub(apart(m.x(0), m.x(1)), far), m.float(0)))
}

func (m *maker) gaussianLoss() *tensor.Tensor {
	x, v := m.floats(m.x(0)), m.floats(m.x(2))
	if len(v.Shape()) == len(x.Shape())-1 {
		v = m.do("unsqueeze", v, Int1(-1))
	}
	eps := number(m.float(1))
	least := m.Where(m.less(v.Detach(), eps), m.Add(m.Sub(v.Detach(), v.Detach()), eps), v)
	d := m.Sub(x, m.x(1))
	loss := m.Scale(m.Add(m.unary("log", least), m.Div(m.Mul(d, d), least)), 0.5)
	if m.bool(0) {
		loss = m.AddNumber(loss, libm.Log(2*math.Pi)/2)
	}
	return loss
}

func (m *maker) multiLabelSoft() *tensor.Tensor {
	x, y := m.floats(m.x(0)), m.x(1)
	// -(y log σ(x) + (1-y) log σ(-x)) = softplus(x) - y x
	loss := m.Sub(m.unary("softplus", x), m.Mul(y, x))
	if w := m.x(2); w != nil {
		loss = m.Mul(loss, w)
	}
	return m.do("mean", loss, IntsN(-1), None)
}

// scores returns x as [n, c] and target as rows of that, or a class for each row. A number is
// a row of one class.
func (m *maker) scores(rows bool) (x, target *tensor.Tensor) {
	x, target = m.floats(m.x(0)), m.x(1)
	n := len(x.Shape())
	if n > 2 || n > 0 && x.Shape()[n-1] == 0 {
		m.refuse("x", Describe(x), "scores [n, c] or [c] of at least one class", "")
	}
	want := x.Shape()
	if !rows {
		want = want[:max(n-1, 0)]
	}
	if !target.Shape().Equal(want) && (rows || target.Numel() != want.Numel()) || !target.DType().IsInt() {
		m.refuse("target", Describe(target), "classes, integers of shape "+want.String(), "x is "+Describe(x))
	}
	if n < 2 {
		x = m.Reshape(x, shape.Shape{1, x.Numel()})
	}
	s := shape.Shape{x.Shape()[0]}
	if rows {
		s = x.Shape()
	}
	return x, m.Reshape(target, s)
}

func (m *maker) multiMargin() *tensor.Tensor {
	x, target := m.scores(false)
	if p := m.int(0); p != 1 && p != 2 {
		m.refuse("p", fmt.Sprint(p), "1 or 2", "")
	}
	c := x.Shape()[1]
	at := m.do("unsqueeze", target, Int1(1))
	own := m.Do("gather", []*tensor.Tensor{x, at}, Int1(1))
	loss := m.hinge(m.AddNumber(m.Sub(x, own), m.float(1)))
	if m.int(0) == 2 {
		loss = m.Mul(loss, loss)
	}
	if w := m.x(2); w != nil {
		loss = m.Mul(loss, m.do("unsqueeze", m.Do("index_select", []*tensor.Tensor{w, target}, Int1(0)), Int1(1)))
	}
	others := m.binary("ne", m.upTo(c), at)
	y := m.Scale(m.Sum(m.Where(others, loss, number(0)), []int{1}, false), 1/float64(c))
	if len(m.x(0).Shape()) < 2 {
		y = m.do("select", y, Int1(0), Int1(0))
	}
	return y
}

func (m *maker) multiLabelMargin() *tensor.Tensor {
	x, target := m.scores(true)
	n, c := x.Shape()[0], x.Shape()[1]
	ended := m.Cast(m.less(target, integer(0)), target.DType())
	valid := m.same(m.do("cumsum", ended, Int1(1)), integer(0)) // before the first -1
	at := m.do("clamp", target, Float1(0), None)
	own := m.Do("gather", []*tensor.Tensor{x, at}, Int1(1))
	// which classes are targets: [n, c], of pairs [n, j, i]
	hit := m.and(m.same(m.do("unsqueeze", target, Int1(2)), m.upTo(c)), m.do("unsqueeze", valid, Int1(2)))
	isTarget := m.do("any", hit, IntsN(1), None)
	pair := m.hinge(m.AddNumber(m.Sub(m.do("unsqueeze", x, Int1(1)), m.do("unsqueeze", own, Int1(2))), 1))
	counts := m.and(m.do("unsqueeze", valid, Int1(2)), m.do("unsqueeze", m.not(isTarget), Int1(1)))
	y := m.Scale(m.Sum(m.Where(counts, pair, number(0)), []int{1, 2}, false), 1/float64(c))
	if len(m.x(0).Shape()) < 2 && n == 1 {
		y = m.do("select", y, Int1(0), Int1(0))
	}
	return y
}
