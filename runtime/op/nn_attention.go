package op

import (
	"fmt"
	"math"

	"tpsh/runtime/dtype"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

func init() {
	register(&Def{
		Name:    "scaled_dot_product_attention",
		Surface: Namespace,
		Doc: "scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False, softcap=None) returns softmax(query keyᵀ scale) value, the softmax over keys.\n" +
			"query [..., l, e], key [..., s, e] and value [..., s, v] give [..., l, v]; the dims in\n" +
			"front broadcast. attn_mask broadcasts to [..., l, s]: bools say which keys a query\n" +
			"sees, floats are added to the scores. is_causal lets query i see the keys 0 to i. A\n" +
			"query that sees none gives zeros. The scale is 1 / √e unless given. With enable_gqa\n" +
			"the heads, dim -3, of query may be a multiple of those of key and value. With softcap,\n" +
			"which PyTorch has not, a score x is softcap tanh(x / softcap) before the mask.\n" +
			">>> F.scaled_dot_product_attention(zeros(1, 2), zeros(2, 2), tensor([[1.0], [3.0]]))\n" +
			"[[2.]]",
		Params: []Param{
			{Name: "query", Kind: Tensor, Doc: "a float tensor [..., l, e]"},
			{Name: "key", Kind: Tensor, Doc: "a float tensor [..., s, e]"},
			{Name: "value", Kind: Tensor, Doc: "a float tensor [..., s, v]"},
			{Name: "attn_mask", Kind: OptTensor, Doc: "a bool or float tensor that broadcasts to [..., l, s], or None", Default: Default(None)},
			{Name: "dropout_p", Kind: Float, Doc: "the probability of dropping a weight", Default: Default(Float1(0))},
			{Name: "is_causal", Kind: Bool, Doc: "whether a query sees only keys up to its own place", Default: Default(Bool1(false))},
			{Name: "scale", Kind: OptFloat, Doc: "the factor of the scores; 1 / √e if None", Default: Default(None)},
			{Name: "enable_gqa", Kind: Bool, Doc: "whether heads of query share those of key and value", Default: Default(Bool1(false))},
			{Name: "softcap", Kind: OptFloat, Doc: "what scores stay below, above 0; None for no limit", Default: Default(None)},
		},
		Infer:  inferAttention,
		Run:    runAttention,
		Hollow: hollowAttention,
		Grad:   attentionGrad,
		Shard:  attentionRule,
		Local:  localAttention,
		Sited: func(c *Call, row *Row) bool { // queries that are cut have places, weights that are dropped, and heads that share keys
			d, _ := row.Out[0].Shard()
			_, keys := row.In[attKey].Shard()
			_, values := row.In[attValue].Shard()
			return c.Args[attDropout].Float > 0 || d == c.In[attQuery].Ndim()-2 || c.Args[attGroups].Int != 0 && !(keys && values)
		},
		Aligned: attentionAligned,
		Compose: composeAttention,
		Cost:    attentionCost,
	})
}

// The inputs and arguments of scaled_dot_product_attention.
const (
	attQuery = iota
	attKey
	attValue
	attMask

	attDropout = iota - 4
	attCausal
	attScale
	attGroups
	attCap
)

func inferAttention(c *Call) error {
	for i, x := range c.In[:attMask] {
		if !x.DType().IsFloat() || x.Ndim() < 2 {
			return c.Bad(c.InName(i), Describe(x), "a float tensor of at least two dims", "")
		}
	}
	if err := c.checkProbability("dropout_p", c.Args[attDropout].Float); err != nil {
		return err
	}
	if limit := c.Args[attCap]; limit.Set && !(limit.Float > 0 && limit.Float <= math.MaxFloat32) {
		return c.Bad("softcap", fmt.Sprint(limit.Float), "a number above 0", "")
	}
	scores, err := c.scoreShape()
	if err != nil {
		return err
	}
	if err := c.checkAttentionMask(scores); err != nil {
		return err
	}
	vs := c.In[attValue].Shape()
	out := append(shape.Shape{}, scores...)
	out[len(out)-1] = vs[len(vs)-1]
	return c.Result(promote(c.Ctx, c.In[:attMask]...), out)
}

// scoreShape returns the shape [..., l, s] of the products of queries and keys.
func (c *Call) scoreShape() (shape.Shape, error) {
	q, k, v := c.In[attQuery], c.In[attKey], c.In[attValue]
	qs, ks, vs := q.Shape(), k.Shape(), v.Shape()
	lq, lk, lv := len(qs)-2, len(ks)-2, len(vs)-2
	if ks[lk+1] != qs[lq+1] {
		return nil, c.Bad("key", Describe(k), fmt.Sprintf("%v[..., s, %d]", k.DType(), qs[lq+1]), "query is "+Describe(q))
	}
	if vs[lv] != ks[lk] {
		return nil, c.Bad("value", Describe(v), fmt.Sprintf("%v[..., %d, v]", v.DType(), ks[lk]), "key is "+Describe(k))
	}
	kb, vb := ks[:lk], vs[:lv]
	if c.Args[attGroups].Int != 0 {
		for i, x := range c.In[attKey:attMask] {
			if err := c.checkHeads(i+attKey, x); err != nil {
				return nil, err
			}
		}
		kb, vb = withHeads(kb, qs[lq-1]), withHeads(vb, qs[lq-1])
	}
	batch, ok := shape.Broadcast(qs[:lq], kb)
	if !ok {
		return nil, c.Bad("key", Describe(k), "dims in front that broadcast with those of query", "query is "+Describe(q))
	}
	if batch, ok = shape.Broadcast(batch, vb); !ok {
		return nil, c.Bad("value", Describe(v), "dims in front that broadcast with those of query and key", "query is "+Describe(q))
	}
	return append(append(shape.Shape{}, batch...), qs[lq], ks[lk]), nil
}

// checkHeads returns an error unless the heads of query are a multiple of
// those of x, input i.
func (c *Call) checkHeads(i int, x *tensor.Tensor) error {
	q := c.In[attQuery]
	if q.Ndim() < 3 || x.Ndim() < 3 {
		return c.Bad("enable_gqa", "True with query "+Describe(q)+" and "+c.InName(i)+" "+Describe(x), "at least three dims", "heads are dim -3")
	}
	heads, of := q.Shape()[q.Ndim()-3], x.Shape()[x.Ndim()-3]
	if of == 0 || heads%of != 0 {
		return c.Bad(c.InName(i), Describe(x), fmt.Sprintf("a number of heads that divides %d", heads), "query is "+Describe(q))
	}
	return nil
}

// withHeads returns batch, whose last dim is heads, with n of them.
func withHeads(batch shape.Shape, n int) shape.Shape {
	return append(append(shape.Shape{}, batch[:len(batch)-1]...), n)
}

func (c *Call) checkAttentionMask(scores shape.Shape) error {
	m := c.In[attMask]
	if m == nil {
		return nil
	}
	if c.Args[attCausal].Int != 0 {
		return c.Bad("attn_mask", Describe(m), "None", "is_causal is a mask")
	}
	if m.DType() != dtype.Bool && !m.DType().IsFloat() {
		return c.Bad("attn_mask", Describe(m), "a bool or float tensor", "")
	}
	if s, ok := shape.Broadcast(m.Shape(), scores); !ok || !s.Equal(scores) {
		return c.Bad("attn_mask", Describe(m), "a tensor that broadcasts to shape "+scores.String(), "a row of keys for each query")
	}
	return nil
}

// An attention is the steps of scaled_dot_product_attention, applied with t.
type attention struct {
	t       *Tape
	c       *Call
	q, k, v *tensor.Tensor // in the dtype of the computation, with equal heads but for groupedAttention
	scale   float64
	groups  []int // how many heads of query share one of key and of value
}

func newAttention(t *Tape, c *Call) *attention { return attentionIn(t, c, t.wide) }

// attentionIn is newAttention with query, key and value as they are after to.
func attentionIn(t *Tape, c *Call, to func(x *tensor.Tensor) *tensor.Tensor) *attention {
	a := groupedAttention(t, c, to)
	a.repeatHeads()
	return a
}

// repeatHeads has key and value as many heads as query has.
func (a *attention) repeatHeads() {
	a.k, a.v = a.t.repeatHeads(a.k, a.groups[0]), a.t.repeatHeads(a.v, a.groups[1])
}

// groupedAttention is attentionIn with the heads that key and value have.
func groupedAttention(t *Tape, c *Call, to func(x *tensor.Tensor) *tensor.Tensor) *attention {
	q := to(c.In[attQuery])
	a := &attention{t: t, c: c, q: q, groups: []int{1, 1}}
	a.scale = 1 / math.Sqrt(float64(q.Shape()[q.Ndim()-1]))
	if c.Args[attScale].Set {
		a.scale = c.Args[attScale].Float
	}
	a.k, a.v = to(c.In[attKey]), to(c.In[attValue])
	if c.Args[attGroups].Int != 0 {
		for i, x := range []*tensor.Tensor{a.k, a.v} {
			a.groups[i] = q.Shape()[q.Ndim()-3] / x.Shape()[x.Ndim()-3]
		}
	}
	return a
}

// repeatHeads returns x [..., h, s, e] with each head n times: [..., h*n, s, e].
func (t *Tape) repeatHeads(x *tensor.Tensor, n int) *tensor.Tensor {
	if n == 1 {
		return x
	}
	d := x.Ndim() - 2
	s := append(shape.Shape{}, x.Shape()...)
	wide := append(append(append(shape.Shape{}, s[:d]...), n), s[d:]...)
	s[d-1] *= n
	return t.Reshape(t.Expand(t.column(x, d), wide), s)
}

// sumHeads returns the sums over each n heads of x [..., h*n, s, e]: the
// gradient of repeatHeads of y [..., h, s, e].
func (t *Tape) sumHeads(x, y *tensor.Tensor, n int) *tensor.Tensor {
	if n == 1 {
		return x
	}
	d, s := x.Ndim()-2, x.Shape()
	split := append(append(append(shape.Shape{}, s[:d-1]...), y.Shape()[y.Ndim()-3], n), s[d:]...)
	return t.Sum(t.Reshape(x, split), []int{d}, false)
}

// weights returns the softmax of the scores, zeros where a query does not see
// a key.
func (a *attention) weights() *tensor.Tensor {
	t := a.t
	scores := a.scores()
	if limit := a.c.Args[attCap]; limit.Set {
		scores = t.Scale(a.tanh(scores), limit.Float)
	}
	sees := a.c.In[attMask]
	if a.c.Args[attCausal].Int != 0 {
		sees = t.Do("causal_like", one(scores.Detach()))
	}
	switch {
	case sees == nil:
		return a.softmax(scores)
	case sees.DType() != dtype.Bool:
		return a.softmax(t.Add(scores, t.wide(sees)))
	}
	// A finite number keeps the softmax of a query that sees nothing finite,
	// and so its gradient.
	scores = t.Where(sees, scores, tensor.Number(-math.MaxFloat32))
	return t.Where(sees, a.softmax(scores), tensor.Number(0.0))
}

// scores returns the products of queries and keys, scaled.
func (a *attention) scores() *tensor.Tensor {
	return a.t.Scale(a.t.MatMul(a.q, a.t.Transpose(a.k, -2, -1)), a.scale)
}

// tanh returns the tangent of scores as parts of softcap.
func (a *attention) tanh(scores *tensor.Tensor) *tensor.Tensor {
	return a.t.Do("tanh", one(a.t.Scale(scores, 1/a.c.Args[attCap].Float)))
}

func (a *attention) softmax(x *tensor.Tensor) *tensor.Tensor {
	return a.t.Do("softmax", []*tensor.Tensor{x}, Int1(-1), None)
}

// dropped returns weights or their gradient with those dropped that were.
func (a *attention) dropped(x *tensor.Tensor) *tensor.Tensor {
	if len(a.c.Saved) == 0 {
		return x
	}
	return a.t.dropped(x, a.c.Saved[0], a.c.Args[attDropout].Float)
}

// runDroppedAttention leaves in c.Saved which weights it kept.
func runDroppedAttention(c *Call) error {
	scores, err := c.scoreShape()
	if err != nil {
		return err
	}
	keep, err := c.keepMask(scores, c.Args[attDropout].Float)
	if err != nil {
		return err
	}
	c.Saved = []*tensor.Tensor{keep}
	return c.compose(func(t *Tape) *tensor.Tensor {
		a := newAttention(t, c)
		return t.MatMul(a.dropped(a.weights()), a.v)
	})
}

// hollowAttention leaves room for what runDroppedAttention keeps.
func hollowAttention(c *Call) error {
	if c.Args[attDropout].Float == 0 {
		return nil
	}
	scores, err := c.scoreShape()
	if err != nil {
		return err
	}
	return c.hollowKeep(scores)
}

// attentionGrad computes the weights p again. With d for dropping and y =
// d(p) v they have the gradient dp = d(dy vᵀ), the scores p (dp - Σ dp p), and before
// softcap that times 1 - tanh².
func attentionGrad(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
	if (&attention{t: t, c: c}).tiled() { // which widens as it goes
		return attentionIn(t, c, func(x *tensor.Tensor) *tensor.Tensor { return x }).tiledGrad(dy[0])
	}
	a, g := newAttention(t, c), t.wide(dy[0])
	p := a.weights()
	dp := t.Mul(a.dropped(t.MatMul(g, t.Transpose(a.v, -2, -1))), p)
	ds := t.Sub(dp, t.Mul(p, t.Sum(dp, []int{-1}, true)))
	dx := make([]*tensor.Tensor, 4)
	if m := c.In[attMask]; m != nil && m.RequiresGrad() {
		dx[attMask] = t.SumTo(ds, m.Shape())
	}
	if c.Args[attCap].Set {
		y := a.tanh(a.scores())
		ds = t.Sub(ds, t.Mul(ds, t.Mul(y, y)))
	}
	if c.In[attQuery].RequiresGrad() {
		dx[attQuery] = t.SumTo(t.Scale(t.MatMul(ds, a.k), a.scale), c.In[attQuery].Shape())
	}
	if c.In[attKey].RequiresGrad() {
		dk := t.Scale(t.MatMul(t.Transpose(ds, -2, -1), a.q), a.scale)
		dx[attKey] = t.SumTo(t.sumHeads(t.SumTo(dk, a.k.Shape()), c.In[attKey], a.groups[0]), c.In[attKey].Shape())
	}
	if c.In[attValue].RequiresGrad() {
		dv := t.MatMul(t.Transpose(a.dropped(p), -2, -1), g)
		dx[attValue] = t.SumTo(t.sumHeads(t.SumTo(dv, a.v.Shape()), c.In[attValue], a.groups[1]), c.In[attValue].Shape())
	}
	return dx
}
