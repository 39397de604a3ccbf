package op

import (
	"math"
	goruntime "runtime"

	"tpsh/mesh"
	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// This file runs attention head by head in tiles of scores (see
// kernel.Attention), so that its memory is linear in the numbers of queries and
// keys: forward unless weights are dropped, and backward where the gradient is
// not itself recorded and goes to no mask.

func init() {
	register(&Def{
		Name:    "attention_grad",
		Surface: Internal,
		Doc: "attention_grad(g, query, key, value, y, attn_mask, is_causal, scale, softcap) returns the gradients of query, key and value, given that of y = scaled_dot_product_attention(query, key, value, ...).\n" +
			"They have the dims in front of y, whether or not those of query, key and value are\n" +
			"broadcast to them.",
		Params: []Param{
			{Name: "g", Kind: Tensor, Doc: "a gradient [..., l, v]"},
			{Name: "query", Kind: Tensor, Doc: "a float tensor [..., l, e]"},
			{Name: "key", Kind: Tensor, Doc: "a float tensor [..., s, e]"},
			{Name: "value", Kind: Tensor, Doc: "a float tensor [..., s, v]"},
			{Name: "y", Kind: Tensor, Doc: "a float tensor [..., l, v]"},
			{Name: "attn_mask", Kind: OptTensor, Doc: "a bool or float tensor that broadcasts to [..., l, s], or None"},
			{Name: "is_causal", Kind: Bool, Doc: "whether a query sees only keys up to its own place"},
			{Name: "scale", Kind: Float, Doc: "the factor of the scores"},
			{Name: "softcap", Kind: Float, Doc: "what scores stay below, or 0"},
		},
		Infer: inferAttentionGrad,
		Run:   runAttentionGrad,
		Shard: attentionGradRule,
		Local: localAttentionGrad,
		Cost:  attentionGradCost,
	})
}

// leastScores is how many multiply-adds heads have for which another core is called.
const leastScores = 1 << 20

// heads are the heads of an attention, whose dims in front broadcast to batch.
type heads[T interface {
	tensor.Element
	dtype.Float
}] struct {
	batch         shape.Shape
	q, k, v, mask *tensor.Tensor // mask is expanded, or nil
	base          kernel.Attention[T]
	least         int // heads that a core of its own is worth it for
}

// newHeads returns the heads of query, key and value in dtype dt, which is T.
// mask may be nil.
func newHeads[T interface {
	tensor.Element
	dtype.Float
}](c *Call, dt dtype.DType, in [3]*tensor.Tensor, mask *tensor.Tensor, batch shape.Shape) (*heads[T], error) {
	for i, x := range in {
		var err error
		if in[i], err = castTo(c.Ctx, x, dt); err != nil {
			return nil, c.memory(err)
		}
	}
	h := &heads[T]{batch: batch, q: in[0], k: in[1], v: in[2]}
	qs, ks, vs := h.q.Shape(), h.k.Shape(), h.v.Shape()
	h.base = kernel.Attention[T]{
		Q: tensor.Storage[T](h.q), K: tensor.Storage[T](h.k), V: tensor.Storage[T](h.v),
		L: qs[len(qs)-2], Size: qs[len(qs)-1], S: ks[len(ks)-2], Width: vs[len(vs)-1],
	}
	h.least = 1 + leastScores/max(h.base.L*h.base.S*(h.base.Size+h.base.Width), 1)
	if mask != nil {
		if mask.DType() != dtype.Bool {
			var err error
			if mask, err = castTo(c.Ctx, mask, dt); err != nil {
				return nil, c.memory(err)
			}
		}
		h.mask = expanded(mask, append(append(shape.Shape{}, batch...), h.base.L, h.base.S))
	}
	return h, nil
}

// head returns head i.
func (h *heads[T]) head(i int) *kernel.Attention[T] {
	a, place := h.base, product{batch: h.batch}
	a.GridQ, a.GridK, a.GridV = place.matrix(h.q, i), place.matrix(h.k, i), place.matrix(h.v, i)
	switch {
	case h.mask == nil:
	case h.mask.DType() == dtype.Bool:
		a.Mask = hiding[T](tensor.Storage[uint8](h.mask), place.matrix(h.mask, i))
	default:
		a.Mask = adding(tensor.Storage[T](h.mask), place.matrix(h.mask, i))
	}
	return &a
}

// hiding returns a mask that hides the keys for which sees is 0.
func hiding[T dtype.Float](sees []uint8, g kernel.Grid) func(dst []T, i, key int) {
	hidden := T(math.Inf(-1))
	return func(dst []T, i, key int) {
		at := g.Offset + i*g.Row + key*g.Col
		for j := range dst {
			if sees[at] == 0 {
				dst[j] = hidden
			}
			at += g.Col
		}
	}
}

// adding returns a mask that adds numbers to the scores.
func adding[T dtype.Float](bias []T, g kernel.Grid) func(dst []T, i, key int) {
	return func(dst []T, i, key int) {
		at := g.Offset + i*g.Row + key*g.Col
		for j := range dst {
			dst[j] += bias[at]
			at += g.Col
		}
	}
}

// keepAlive keeps the tensors of h until it is called.
func (h *heads[T]) keepAlive() {
	goruntime.KeepAlive(h.q)
	goruntime.KeepAlive(h.k)
	goruntime.KeepAlive(h.v)
	goruntime.KeepAlive(h.mask)
}

// runAttention computes in tiles, but the scores of a whole if weights are
// dropped.
func runAttention(c *Call) (err error) {
	if c.Args[attDropout].Float > 0 {
		return runDroppedAttention(c)
	}
	defer Recover(&err)
	t := Unrecorded(c.Ctx)
	a := groupedAttention(t, c, t.wide)
	if a.groups[0] != a.groups[1] {
		a.repeatHeads()
		a.groups = []int{1, 1}
	}
	if c.Out[0].DType() == dtype.Float64 {
		return attend[float64](a)
	}
	return attend[float32](a)
}

// group has each n heads of query share one of key and one of value: the heads are a dim
// more, along which those of key and value are broadcast.
func (h *heads[T]) group(n int) {
	h.q, h.k, h.v = splitHeads(h.q, n), splitHeads(h.k, 1), splitHeads(h.v, 1)
	if h.mask != nil {
		h.mask = splitHeads(h.mask, n)
	}
	last := len(h.batch) - 1
	h.batch = append(append(shape.Shape{}, h.batch[:last]...), h.batch[last]/n, n)
}

// splitHeads returns a view of x [..., h, l, e] as [..., h/n, n, l, e].
func splitHeads(x *tensor.Tensor, n int) *tensor.Tensor {
	s, strides := x.Shape(), x.Strides()
	d := len(s) - 3
	split := append(append(append(shape.Shape{}, s[:d]...), s[d]/n, n), s[d+1:]...)
	steps := append(append(append([]int{}, strides[:d]...), strides[d]*n, strides[d]), strides[d+1:]...)
	return x.View(split, steps, x.Offset())
}

func attend[T interface {
	tensor.Element
	dtype.Float
}](a *attention) error {
	c := a.c
	s, dt := c.Out[0].Shape(), c.Out[0].DType().Compute()
	h, err := newHeads[T](c, dt, [3]*tensor.Tensor{a.q, a.k, a.v}, c.In[attMask], s[:len(s)-2])
	if err != nil {
		return err
	}
	if n := a.groups[0]; n > 1 {
		h.group(n)
	}
	h.base.Scale, h.base.Cap, h.base.Causal = T(a.scale), T(c.Args[attCap].Float), c.Args[attCausal].Int != 0
	out, err := c.newOutput(c.Out[0], dt)
	if err != nil {
		return err
	}
	y, n := tensor.Data[T](out.room), h.base.L*h.base.Width
	c.Ctx.Workers.Split(h.batch.Numel(), h.least, func(lo, hi int) {
		var room kernel.AttentionRoom[T]
		for i := lo; i < hi; i++ {
			h.head(i).Forward(y[i*n:(i+1)*n], &room)
		}
	})
	out.done()
	h.keepAlive()
	return nil
}

// The inputs and arguments of attention_grad.
const (
	attGradG = iota
	attGradQuery
	attGradKey
	attGradValue
	attGradY
	attGradMask

	attGradCausal = iota - 6
	attGradScale
	attGradCap
)

func inferAttentionGrad(c *Call) error {
	for i, x := range c.In[:attGradMask] {
		if !x.DType().IsFloat() || x.Ndim() < 2 {
			return c.Bad(c.InName(i), Describe(x), "a float tensor of at least two dims", "")
		}
	}
	y := c.In[attGradY].Shape()
	if !c.In[attGradG].Shape().Equal(y) {
		return c.Bad("g", Describe(c.In[attGradG]), "shape "+y.String(), "that of y")
	}
	dt := promote(c.Ctx, c.In[:attGradMask]...)
	specs := make([]Spec, 0, 3)
	for _, x := range c.In[attGradQuery:attGradY] {
		s := append(append(shape.Shape{}, y[:len(y)-2]...), x.Shape()[x.Ndim()-2:]...)
		if b, ok := shape.Broadcast(x.Shape(), s); !ok || !b.Equal(s) {
			return c.Bad("y", Describe(c.In[attGradY]), "the dims in front of the inputs, broadcast", "an input is "+Describe(x))
		}
		specs = append(specs, Spec{dt, s})
	}
	return c.Results(specs...)
}

// attentionGradRule: dims in front may be cut, and queries: the gradients of keys
// and values are then summands. All are linear in g.
func attentionGradRule(c *Call) []Row {
	y := c.In[attGradY].Shape()
	last := len(y) - 2
	scores := append(append(shape.Shape{}, y[:last+1]...), c.In[attGradKey].Shape()[c.In[attGradKey].Ndim()-2])
	var rows []Row
	for d := range last + 1 {
		row := rowOf(c)
		row.In[attGradG], row.In[attGradY] = mesh.Shard(d), mesh.Shard(d)
		if m := c.In[attGradMask]; m != nil {
			row.In[attGradMask] = alongBroadcast(m.Shape(), scores, d)
		}
		for i := attGradQuery; i <= attGradValue; i++ {
			if d == last && i != attGradQuery {
				row.Out[i-attGradQuery] = summands
				continue
			}
			row.In[i], row.Out[i-attGradQuery] = alongBroadcast(c.In[i].Shape(), c.Spec[i-attGradQuery].Shape, d), mesh.Shard(d)
		}
		rows = append(rows, row)
	}
	return append(rows, separately(c, attGradG)...)
}

func runAttentionGrad(c *Call) error {
	if c.Out[0].DType() == dtype.Float64 {
		return attendBack[float64](c)
	}
	return attendBack[float32](c)
}

func attendBack[T interface {
	tensor.Element
	dtype.Float
}](c *Call) error {
	s, dt := c.In[attGradY].Shape(), c.Out[0].DType().Compute()
	in := [3]*tensor.Tensor(c.In[attGradQuery:attGradY])
	h, err := newHeads[T](c, dt, in, c.In[attGradMask], s[:len(s)-2])
	if err != nil {
		return err
	}
	h.base.Scale, h.base.Cap, h.base.Causal = T(c.Args[attGradScale].Float), T(c.Args[attGradCap].Float), c.Args[attGradCausal].Int != 0
	g, err := c.inOrder(c.In[attGradG], dt)
	if err != nil {
		return err
	}
	y, err := c.inOrder(c.In[attGradY], dt)
	if err != nil {
		return err
	}
	var out [3]output
	for i := range out {
		if out[i], err = c.newOutput(c.Out[i], dt); err != nil {
			return err
		}
	}
	c.Ctx.Workers.Split(h.batch.Numel(), h.least, func(lo, hi int) {
		var room kernel.AttentionRoom[T]
		for i := lo; i < hi; i++ {
			h.head(i).Backward(headOf[T](out[0].room, i), headOf[T](out[1].room, i), headOf[T](out[2].room, i), headOf[T](g, i), headOf[T](y, i), &room)
		}
	})
	for i := range out {
		out[i].done()
	}
	h.keepAlive()
	goruntime.KeepAlive(g)
	goruntime.KeepAlive(y)
	return nil
}

// headOf returns matrix i of x, which is contiguous.
func headOf[T tensor.Element](x *tensor.Tensor, i int) []T {
	s := x.Shape()
	n := s[len(s)-2] * s[len(s)-1]
	return tensor.Data[T](x)[i*n : (i+1)*n]
}

// recording reports whether t records what it applies.
func (t *Tape) recording() bool {
	r, ok := t.A.(interface{ Enabled() bool })
	return ok && r.Enabled()
}

// tiled reports whether the gradient of c may be computed in tiles.
func (a *attention) tiled() bool {
	if a.t.recording() || a.c.Args[attDropout].Float > 0 {
		return false
	}
	m := a.c.In[attMask]
	return m == nil || !m.RequiresGrad()
}

// tiledGrad returns the gradients of query, key and value, given that of the
// result.
func (a *attention) tiledGrad(dy *tensor.Tensor) []*tensor.Tensor {
	t, c := a.t, a.c
	in := []*tensor.Tensor{dy, a.q, a.k, a.v, c.Out[0], c.In[attMask]}
	out, err := t.A.Apply(must("attention_grad"), in, []Arg{c.Args[attCausal], Float1(a.scale), Float1(c.Args[attCap].Float)})
	if err != nil {
		panic(&TapeError{err})
	}
	dx := make([]*tensor.Tensor, 4)
	dx[attQuery] = t.SumTo(out[0], c.In[attQuery].Shape())
	for i, x := range []*tensor.Tensor{a.k, a.v} {
		d := t.sumHeads(t.SumTo(out[i+1], x.Shape()), c.In[attKey+i], a.groups[i])
		dx[attKey+i] = t.SumTo(d, c.In[attKey+i].Shape())
	}
	return dx
}
