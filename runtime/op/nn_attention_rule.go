package op

import (
	"slices"

	"tpsh/mesh"
	"tpsh/runtime/dtype"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

func init() {
	register(&Def{
		Name:    "causal_like",
		Surface: Internal,
		Doc:     "causal_like(scores) returns the bool tensor [l, s], of scores [..., l, s], that is true where the column is no greater than the row.",
		Params:  []Param{{Name: "scores", Kind: Tensor, Doc: "a tensor [..., l, s]"}},
		Infer: func(c *Call) error {
			s := c.In[0].Shape()
			if len(s) < 2 {
				return c.Bad("scores", Describe(c.In[0]), "a tensor of at least two dims", "")
			}
			return c.Result(dtype.Bool, slices.Clone(s[len(s)-2:]))
		},
		Run:   func(c *Call) error { fillCausal(c.Out[0], 0, 0); return nil },
		Shard: causalRule,
		Sited: anywhere,
		Local: func(b *Blocks) ([]*tensor.Tensor, error) {
			sees := b.empty(0)
			row, _ := b.OutSpan(0, 0)
			column, _ := b.OutSpan(0, 1)
			fillCausal(sees, row, column)
			return one(sees), nil
		},
		Cost: makes(1),
	})
}

// fillCausal sets x [m, n], which begins at the given row and column of a mask,
// to what causal_like says.
func fillCausal(x *tensor.Tensor, row, column int) {
	if x.Hollow() {
		return
	}
	sees, n := tensor.Data[bool](x), x.Shape()[1]
	for i := range sees {
		sees[i] = column+i%n <= row+i/n
	}
}

// causalRule: the mask is cut as the scores are; of their elements it takes
// nothing.
func causalRule(c *Call) []Row {
	rows := unread(c)
	lead := c.In[0].Ndim() - 2
	for d := range c.In[0].Ndim() {
		row := rowOf(c)
		row.In[0] = mesh.Shard(d)
		if d >= lead {
			row.Out[0] = mesh.Shard(d - lead)
		}
		rows = append(rows, row)
	}
	return rows
}

// attentionRule: dims in front may be cut, and queries, and the elements of
// values; the result is linear in value. Of weights that are dropped, see
// composeAttention.
func attentionRule(c *Call) []Row {
	if c.Args[attDropout].Float > 0 {
		return nil
	}
	out := c.Spec[0].Shape
	scores, _ := c.scoreShape()
	last := len(out) - 1
	var rows []Row
	for d := range last {
		row := rowOf(c)
		row.In[attQuery], row.Out[0] = alongBroadcast(c.In[attQuery].Shape(), out, d), mesh.Shard(d)
		if m := c.In[attMask]; m != nil {
			row.In[attMask] = alongBroadcast(m.Shape(), scores, d)
		}
		rows = append(rows, c.alongKeys(row, d)...)
	}
	row := rowOf(c)
	row.In[attValue], row.Out[0] = mesh.Shard(c.In[attValue].Ndim()-1), mesh.Shard(last)
	return append(append(rows, row), separately(c, attValue)...)
}

// alongKeys completes row, in which dim d of the result is cut but the last. Heads
// that several heads of query share are cut with them or not at all.
func (c *Call) alongKeys(row Row, d int) []Row {
	out := c.Spec[0].Shape
	if d == len(out)-2 {
		return []Row{row}
	}
	whole := Row{slices.Clone(row.In), row.Out}
	for i := attKey; i <= attValue; i++ {
		row.In[i] = alongBroadcast(c.In[i].Shape(), out, d)
	}
	if c.sharesHeads() && d == len(out)-3 {
		return []Row{row, whole}
	}
	return []Row{row}
}

// sharesHeads reports whether c counts heads in groups.
func (c *Call) sharesHeads() bool { return c.Args[attGroups].Int != 0 }

// headGroup returns how many heads of query share one of input i.
func (c *Call) headGroup(i int) int {
	q, x := c.In[attQuery].Shape(), c.In[i].Shape()
	return q[len(q)-3] / max(x[len(x)-3], 1)
}

// attentionAligned reports whether each rank holds the heads of key and value
// that its heads of query use.
func attentionAligned(c *Call, from, _ []*mesh.Placed) bool {
	if !c.sharesHeads() {
		return true
	}
	h := c.In[attQuery].Ndim() - 3
	for _, rank := range from[attQuery].Ranks() {
		lo, hi := spanOf(from[attQuery], rank, h)
		for i := attKey; i <= attValue; i++ {
			n := c.headGroup(i)
			klo, khi := spanOf(from[i], rank, c.In[i].Ndim()-3)
			if lo < hi && (lo < klo*n || hi > khi*n) {
				return false
			}
		}
	}
	return true
}

// localAttention tells blocks where in the whole their queries and heads are.
func localAttention(b *Blocks) ([]*tensor.Tensor, error) {
	in, args := slices.Clone(b.X), slices.Clone(b.Args)
	q := b.In[attQuery].Ndim()
	if b.sharesHeads() && b.Cut(attQuery, q-3) {
		args[attGroups] = Bool1(false)
		lo, hi := b.Span(attQuery, q-3)
		for i := attKey; i <= attValue; i++ {
			d, n := in[i].Ndim()-3, b.headGroup(i)
			klo, _ := b.Span(i, d)
			if lo == hi {
				in[i] = b.T.Narrow(in[i], d, 0, 0)
				continue
			}
			in[i] = b.T.Narrow(b.T.repeatHeads(in[i], n), d, lo-klo*n, hi-lo)
		}
	}
	if b.Args[attCausal].Int != 0 && b.Cut(attQuery, q-2) {
		args[attCausal], in[attMask] = Bool1(false), b.causalBlock(attQuery, attKey)
	}
	return b.T.A.Apply(b.Def, in, args)
}

// causalBlock returns the mask [l, s] that lets the rank's queries, rows of input
// q, see the keys, rows of input k, up to their places in the whole.
func (b *Blocks) causalBlock(q, k int) *tensor.Tensor {
	lo, hi := b.Span(q, b.In[q].Ndim()-2)
	keys := b.X[k].Shape()
	sees, err := tensor.New(b.Ctx.Alloc, dtype.Bool, shape.Shape{hi - lo, keys[len(keys)-2]})
	if err != nil {
		panic(&TapeError{b.memory(err)})
	}
	fillCausal(sees, lo, 0)
	return sees
}

// localAttentionGrad tells blocks where in the whole their queries are.
func localAttentionGrad(b *Blocks) ([]*tensor.Tensor, error) {
	in, args := slices.Clone(b.X), slices.Clone(b.Args)
	if args[attGradCausal].Int != 0 && b.Cut(attGradQuery, b.In[attGradQuery].Ndim()-2) {
		args[attGradCausal], in[attGradMask] = Bool1(false), b.causalBlock(attGradQuery, attGradKey)
	}
	return b.T.A.Apply(b.Def, in, args)
}

// composeAttention drops weights by a draw of which each rank makes its part.
func composeAttention(t *Tape, c *Call) []*tensor.Tensor {
	p := c.Args[attDropout].Float
	if p == 0 {
		return nil
	}
	scores, _ := c.scoreShape()
	settled := *c
	settled.In = make([]*tensor.Tensor, len(c.In))
	for i, x := range c.In {
		settled.In[i] = t.settled(x)
	}
	a := newAttention(t, &settled)
	w := t.Expand(a.weights(), scores)
	keep := t.Do("keep_like", one(w.Detach()), Float1(p))
	return one(t.Cast(t.MatMul(t.dropped(w, keep, p), a.v), promote(c.Ctx, c.In[:attMask]...)))
}
