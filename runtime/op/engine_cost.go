package op

import (
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// A Cost is what a call takes of a machine, by its shapes, dtypes and arguments
// alone: what elements hold changes nothing.
//
// Arithmetic is counted as a plain loop does it. A multiply-add is two
// operations; an addition, a comparison, a choice, an exponential, a sine, a
// random draw is one each, of floats, integers and bools alike. A reduction
// starts from its neutral element. What is done once for a call counts, what is
// done to find an element (indices, addresses) does not, nor does conversion.
//
// Memory is counted as if all that a call needs passed once between it and the
// arithmetic: each input, and each result, but for inputs of which a part is
// needed (the rows of an embedding that are named) and those whose elements do
// not count (zeros_like). A number of a script is no memory. A view takes
// nothing, and reshape and contiguous nothing where they are views. What Before
// does is another operator's.
//
// For example, linear of float32 [64, 512], weight [1024, 512] and no bias is
// one product of m 64, n 1024 and k 512: 2·64·1024·512 operations; it reads
// 4·(64·512 + 1024·512) bytes and writes 4·64·1024.
type Cost struct {
	FLOPs    int64     // operations on numbers
	Read     int64     // bytes of inputs
	Written  int64     // bytes of results, and of inputs that are changed
	Products []Product // the matrix products among the operations
	Inner    int64     // bytes of matrices that a kernel in parts never has whole, as attention its scores
}

// Bytes returns how many bytes pass between memory and the arithmetic.
func (k Cost) Bytes() int64 { return k.Read + k.Written }

// A Product is Batch matrix products [M, K] by [K, N]. Attention under is_causal
// has them whole, though its FLOPs count the pairs that a query sees.
type Product struct{ Batch, M, N, K int }

// FLOPs returns the operations of p.
func (p Product) FLOPs() int64 {
	return 2 * int64(p.Batch) * int64(p.M) * int64(p.N) * int64(p.K)
}

// Smallest returns the smallest of M, N and K, on which depends how much of a
// machine's speed a product reaches.
func (p Product) Smallest() int { return min(p.M, p.N, p.K) }

// CostOf infers the results of d on in and args, which may have no storage, and
// returns what the call would cost.
func CostOf(ctx *Ctx, d *Def, in []*tensor.Tensor, args []Arg) (Cost, error) {
	c := &Call{Def: d, Ctx: ctx, In: in, Args: args}
	if err := c.infer(); err != nil {
		return Cost{}, err
	}
	return c.Cost(), nil
}

// Cost returns what c costs, which Infer has checked. An entry that says nothing
// costs what its family does: a view nothing, an operator in place the
// arithmetic of its base, and all others one operation for each element of the
// largest tensor, which is the result of an elementwise operator and the input
// of a reduction.
func (c *Call) Cost() Cost {
	d := c.Def
	if d.Cost == nil && d.InPlace {
		if base := table[d.Base]; base != nil {
			d = base
		}
	}
	switch {
	case d.Cost != nil:
		return d.Cost(c)
	case d.View:
		return Cost{}
	}
	return c.costs(c.largest())
}

// largest returns how many elements the largest of the inputs and results has.
func (c *Call) largest() int {
	n := 0
	for _, x := range c.In {
		if x != nil {
			n = max(n, x.Numel())
		}
	}
	for _, s := range c.Spec {
		n = max(n, s.Shape.Numel())
	}
	return n
}

// costs returns the cost of n operations on all inputs but those that unread
// lists.
func (c *Call) costs(n int, unread ...int) Cost {
	k := Cost{FLOPs: int64(n), Written: c.written()}
	for _, x := range c.In {
		k.Read += bytesOf(x)
	}
	for _, i := range unread {
		k.Read -= bytesOf(c.In[i])
	}
	return k
}

// written returns the bytes of the results, or of what c changes.
func (c *Call) written() int64 {
	n := int64(0)
	if c.Def.InPlace {
		for _, x := range c.In[:max(c.Def.Writes, 1)] {
			n += bytesOf(x)
		}
		return n
	}
	for _, s := range c.Spec {
		n += int64(s.Shape.Numel() * s.DType.Size())
	}
	return n
}

// bytesOf returns the bytes of the elements of x; 0 for None and for a number.
func bytesOf(x *tensor.Tensor) int64 {
	if x == nil || x.Weak() {
		return 0
	}
	return int64(x.Numel() * x.DType().Size())
}

// A costRule is a rule of Def.Cost.
type costRule = func(c *Call) Cost

// each is the cost of n operations for each element of the result.
func each(n int) costRule {
	return func(c *Call) Cost { return c.costs(n * c.Spec[0].Shape.Numel()) }
}

// eachIn is the cost of n operations for each element of the first input.
func eachIn(n int) costRule {
	return func(c *Call) Cost { return c.costs(n * c.In[0].Numel()) }
}

// moves is the cost of an operator that computes nothing, and moves all of its
// inputs.
func moves(c *Call) Cost { return c.costs(0) }

// makes is the cost of n operations for each element of the result, of none of
// whose inputs elements are read.
func makes(n int) costRule {
	return func(c *Call) Cost {
		return Cost{FLOPs: int64(n * c.Spec[0].Shape.Numel()), Written: c.written()}
	}
}

// takes is the cost of an operator that picks an element of the first input for
// each of the result, as its other inputs say.
func takes(c *Call) Cost {
	k := c.costs(0, 0)
	k.Read += int64(c.Spec[0].Shape.Numel() * c.In[0].DType().Size())
	return k
}

// castCost is that of a copy where the dtype changes.
func castCost(c *Call) Cost {
	if c.In[0].DType() == c.Spec[0].DType {
		return Cost{}
	}
	return moves(c)
}

// inOrderCost is that of a copy where the elements of the input do not lie in
// order.
func inOrderCost(c *Call) Cost {
	if c.In[0].Contiguous() {
		return Cost{}
	}
	return moves(c)
}

// reshapeCost is that of a copy where the result is no view.
func reshapeCost(c *Call) Cost {
	if _, ok := viewStrides(c.In[0], c.Spec[0].Shape); ok {
		return Cost{}
	}
	return moves(c)
}

// copyCost is that of copy, which overwrites In[0].
func copyCost(c *Call) Cost { return c.costs(0, 0) }

// clampCost counts the limits that are given.
func clampCost(c *Call) Cost {
	n := 0
	for _, limit := range c.Args[:2] {
		if limit.Set {
			n++
		}
	}
	return eachIn(n)(c)
}

// pairCost is n operations for each pair of elements of two inputs that are
// broadcast; none if they do not broadcast.
func pairCost(n int) costRule {
	return func(c *Call) Cost {
		s, ok := shape.Broadcast(c.In[0].Shape(), c.In[1].Shape())
		if !ok {
			return Cost{Written: c.written()}
		}
		return c.costs(n * s.Numel())
	}
}

// equalCost compares and joins, if the shapes are equal.
func equalCost(c *Call) Cost {
	if !c.In[0].Shape().Equal(c.In[1].Shape()) {
		return Cost{Written: c.written()}
	}
	return eachIn(2)(c)
}

// reducedCost is n operations for each element of the first input and last for
// each of the result.
func reducedCost(n, last int) costRule {
	return func(c *Call) Cost { return c.costs(n*c.In[0].Numel() + last*c.Spec[0].Shape.Numel()) }
}

// normCost: a power, a sum and a root. Of order 2 the power is a product, and of
// order 1, 0 and the infinities there are neither power nor root.
func normCost(c *Call) Cost {
	switch p := c.Args[0].Float; {
	case p == 0 || p == 1 || p-p != 0:
		return reducedCost(2, 0)(c)
	case p == 2:
		return reducedCost(2, 1)(c)
	}
	return reducedCost(3, 1)(c)
}

// sortCost is that of inserting each element by bisection among the k first of
// its row, or by merging the halves of a row.
func sortCost(k func(c *Call, n int) int) costRule {
	return func(c *Call) Cost {
		s, n := c.In[0].Shape(), 1
		if d, err := c.axis(c.dimArg(), s); err == nil && len(s) > 0 {
			n = s[d]
		}
		return c.costs(c.In[0].Numel() * halvings(k(c, n)))
	}
}

// halvings returns how often n must be halved to be 1: the logarithm to base 2,
// rounded up.
func halvings(n int) int {
	k := 0
	for 1<<k < n {
		k++
	}
	return k
}

// Parted returns how many elements cores that no rank needs may share of c, in parts of LeastPart; 0
// where one core does all of it.
func (c *Call) Parted() int {
	if !c.Def.doneInParts() {
		return 0
	}
	return c.largest()
}

// Pieces returns how many elements of c's inputs are brought together before they are
// computed with, for they do not lie in order or are broadcast to the result, and how many
// pieces they are, each of which a single stride serves; with the pieces in which inputs lie
// in the result, of those that are joined there. Products take their factors as they lie.
func (c *Call) Pieces() (pieces, elements int) {
	for _, x := range c.In {
		if x == nil || x.Numel() == 0 {
			continue
		}
		s := x.Shape()
		if len(s) == 0 || x.Contiguous() && len(c.Spec) > 0 && s.Equal(c.Spec[0].Shape) {
			continue // nothing is brought together
		}
		if len(c.Spec) > 0 {
			out := c.Spec[0].Shape
			if b, ok := shape.Broadcast(s, out); ok && b.Equal(out) {
				s = b
			} else {
				pieces += joined(s, out)
			}
		}
		l := broadcastLayout(x, s)
		n, k := l.pieces()
		pieces, elements = pieces+n, elements+k
	}
	return pieces, elements
}

// joined returns in how many pieces a box of shape s lies in a tensor of shape out; 0 if it is no
// part of one.
func joined(s, out shape.Shape) int {
	if len(s) != len(out) {
		return 0
	}
	inner, whole := 1, true // the trailing dims that are one piece
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] > out[i] {
			return 0
		}
		if whole {
			inner *= s[i]
		}
		whole = whole && s[i] == out[i]
	}
	return s.Numel() / inner
}
