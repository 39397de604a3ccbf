package op

import (
	"tpsh/mesh"
	"tpsh/runtime/kernel"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// normalizeRule: rows may be cut from each other.
func normalizeRule(c *Call) []Row {
	var rows []Row
	for d := range c.In[0].Ndim() - len(c.rowShape()) {
		row := rowOf(c)
		row.In[0], row.Out[0] = mesh.Shard(d), mesh.Shard(d)
		rows = append(rows, row)
	}
	return rows
}

// composeNormalize normalises rows that are cut by sums over all ranks.
func composeNormalize(t *Tape, c *Call) []*tensor.Tensor {
	how, _ := c.normal()
	dims := lastDims(c.In[0].Shape(), len(c.rowShape()))
	if !cutIn(c.In[0], dims) {
		return nil
	}
	n := t.newNormalizer(t.wide(t.settled(c.In[0])), listed(dims), how)
	y := n.normal()
	for i, w := range c.In[1:] {
		switch {
		case w == nil:
		case i == 0:
			y = t.Mul(y, t.wide(w))
		default:
			y = t.Add(y, t.wide(w))
		}
	}
	return one(t.Cast(y, promote(c.Ctx, c.In...)))
}

// lastDims returns the last k dims of a tensor of shape s.
func lastDims(s shape.Shape, k int) []bool {
	in := make([]bool, len(s))
	for d := len(s) - k; d < len(s); d++ {
		in[d] = true
	}
	return in
}

// A normalizer normalises rows along some dims.
type normalizer struct {
	t      *Tape
	dims   []int
	n      float64        // elements in a row
	x      *tensor.Tensor // less its mean, if that is taken off
	scale  *tensor.Tensor // what x is multiplied by
	mean   *tensor.Tensor // nil if it is not taken off
	square *tensor.Tensor // the mean square of x
}

func (t *Tape) newNormalizer(x *tensor.Tensor, dims []int, how kernel.Normal) *normalizer {
	n := &normalizer{t: t, dims: dims, n: 1, x: x}
	for _, d := range dims {
		n.n *= float64(x.Shape()[d])
	}
	var square *tensor.Tensor
	if how.Center {
		if n.mean, square = t.wholeMoments(x, dims); n.mean == nil {
			n.mean = n.meanOf(x)
		}
		n.x = t.Sub(x, n.mean)
	}
	n.square = t.Mul(n.x, n.x)
	if square != nil {
		n.square = t.Do("known_mean", []*tensor.Tensor{n.square, square}, IntsN(dims...))
	} else {
		n.square = n.meanOf(n.square)
	}
	n.scale = t.unary("rsqrt", t.AddNumber(n.square, how.Eps))
	return n
}

// meanOf returns the means of x along the rows, which stay with size 1.
func (n *normalizer) meanOf(x *tensor.Tensor) *tensor.Tensor {
	return n.t.shared(n.t.Div(n.t.Sum(x, n.dims, true), tensor.Number(n.n)))
}

// normal returns the rows normalised.
func (n *normalizer) normal() *tensor.Tensor { return n.t.Mul(n.x, n.scale) }

// normalizeGradRule: rows may be cut from each other, and the gradient is linear
// in g.
func normalizeGradRule(c *Call) []Row {
	s, n := c.In[1].Shape(), c.Args[0].Int
	var rows []Row
	for d := range s {
		if n == 0 || shape.Shape(s[d+1:]).Numel()%n != 0 {
			continue
		}
		row := rowOf(c)
		row.In[0], row.In[1], row.Out[0] = mesh.Shard(d), mesh.Shard(d), mesh.Shard(d)
		rows = append(rows, row)
	}
	return append(rows, separately(c, 0)...)
}

// composeNormalizeGrad computes s (g - mean g - h mean(g h)) for h = x s, x less
// its mean, where rows are cut; without the mean g if none is taken off x.
func composeNormalizeGrad(t *Tape, c *Call) []*tensor.Tensor {
	s := c.In[1].Shape()
	dims := rowDims(s, c.Args[0].Int)
	if dims == nil || !cutIn(c.In[0], dims) && !cutIn(c.In[1], dims) {
		return nil
	}
	g, how := t.wide(t.settled(c.In[0])), kernel.Normal{Center: c.Args[1].Int != 0, Eps: c.Args[2].Float}
	n := t.newNormalizer(t.wide(t.settled(c.In[1])), listed(dims), how)
	h := n.normal()
	gh := t.Mul(g, h)
	if !how.Center {
		return one(t.Cast(t.Mul(n.scale, t.Sub(g, t.Mul(h, n.meanOf(gh)))), promote(c.Ctx, c.In...)))
	}
	sums := []*tensor.Tensor{t.Sum(gh, n.dims, true), t.Sum(g, n.dims, true)}
	means := t.shared(t.Scale(t.Do("stack", sums, Int1(0)), 1/n.n))
	dx := t.Sub(t.Sub(g, t.Mul(h, t.Select(means, 0, 0))), t.Select(means, 0, 1))
	return one(t.Cast(t.Mul(n.scale, dx), promote(c.Ctx, c.In...)))
}

// rowDims returns the last dims of shape s that hold n elements; nil if no dims
// do.
func rowDims(s shape.Shape, n int) []bool {
	for k := range len(s) + 1 {
		if shape.Shape(s[len(s)-k:]).Numel() == n {
			return lastDims(s, k)
		}
	}
	return nil
}

// batchNormRule: channels may be cut from each other. With the running mean and
// variance other dims may, too. In training these two are changed, which only
// where all is replicated the operator itself does.
func batchNormRule(c *Call) []Row {
	training := c.Args[0].Int != 0
	if training && (c.In[bnMean] != nil || c.In[bnVar] != nil) {
		return nil
	}
	var rows []Row
	for d := range c.In[bnX].Shape() {
		if training && d != 1 {
			continue
		}
		row := rowOf(c)
		row.In[bnX], row.Out[0] = mesh.Shard(d), mesh.Shard(d)
		for i := bnMean; i <= bnBias && d == 1; i++ {
			row.In[i] = mesh.Shard(0)
		}
		rows = append(rows, row)
	}
	return rows
}

// composeBatchNorm normalises by channel in training, and moves the running mean
// and variance towards the batch's.
func composeBatchNorm(t *Tape, c *Call) []*tensor.Tensor {
	if c.Args[0].Int == 0 {
		return nil
	}
	if c.In[bnX].Numel() == 0 {
		return one(t.Cast(t.unary("clone", c.In[bnX]), c.Spec[0].DType))
	}
	x := t.wide(t.settled(c.In[bnX]))
	s := x.Shape()
	dims := lastDims(s, len(s))
	dims[1] = false
	n := t.newNormalizer(x, listed(dims), kernel.Normal{Center: true, Eps: c.Args[2].Float})
	t.moveRunning(c, bnMean, n.mean)
	t.moveRunning(c, bnVar, t.Scale(n.square, n.n/(n.n-1)))
	y := n.normal()
	if w := c.In[bnWeight]; w != nil {
		y = t.Mul(y, t.classColumn(w, s))
	}
	if b := c.In[bnBias]; b != nil {
		y = t.Add(y, t.classColumn(b, s))
	}
	return one(t.Cast(y, promote(c.Ctx, c.In[bnX], c.In[bnWeight], c.In[bnBias])))
}

// moveRunning moves input i of c, if there is one, by a share of Args[1] towards
// batch [1, c, 1, ...]. It takes no part in differentiation.
func (t *Tape) moveRunning(c *Call, i int, batch *tensor.Tensor) {
	if c.In[i] == nil {
		return
	}
	running, momentum := c.In[i].Detach(), c.Args[1].Float
	batch = t.Cast(t.Reshape(batch.Detach(), running.Shape()), running.DType())
	t.Do("combine_", []*tensor.Tensor{running, batch}, Float1(1-momentum), Float1(momentum))
}
