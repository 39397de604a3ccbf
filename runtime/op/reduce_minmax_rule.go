package op

import (
	"fmt"

	"tpsh/mesh"
	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// The operators of this file make the greatest and least elements, and where
// they are, of tensors whose blocks may be empty.

func init() {
	registerAmong("amax", "greatest", "least", mesh.Max, &kernel.Max)
	registerAmong("amin", "least", "greatest", mesh.Min, &kernel.Min)
	register(&Def{
		Name:    "index_of",
		Surface: Internal,
		Doc: "index_of(x, y, dim, keepdim) returns the index, along dim or in all of x, of the first element of x that is equal to y.\n" +
			"NaN counts as equal to NaN. y has size 1 in the dim, or in all. Where there is none\n" +
			"it is 2 to the power 60.",
		Params: []Param{dimParams[0], {Name: "y", Kind: Tensor, Doc: "what to look for"}, dimParams[1], keepdimParam},
		Infer: func(c *Call) error {
			dims, err := c.reduced()
			if err != nil {
				return err
			}
			if want := reducedShape(c.In[0].Shape(), dims, true); !c.In[1].Shape().Equal(want) || c.In[1].DType() != c.In[0].DType() {
				return c.Bad("y", Describe(c.In[1]), fmt.Sprintf("%v[%s]", c.In[0].DType(), want.Join()), "x is "+Describe(c.In[0]))
			}
			return c.inferReduced(dtype.Int64)
		},
		Run:   runIndexOf,
		Shard: indexOfRule,
		Local: localIndexOf,
	})
}

// registerAmong registers amax or amin, which reduces as by does.
func registerAmong(name, which, other string, by mesh.ReduceOp, row *kernel.Reduce) {
	register(&Def{
		Name:    name,
		Surface: Internal,
		MakeDoc: func() string {
			return fmt.Sprintf("%s(x, dim, keepdim) returns the %s element of x over dims, of none the %s number of the dtype. NaN wins. Those that are equally so share the gradient.", name, which, other)
		},
		Params: dimsParams,
		Infer:  func(c *Call) error { return c.inferReduced(c.In[0].DType()) },
		Run: func(c *Call) error {
			if c.In[0].DType() != dtype.Bool {
				return c.runReduced(row)
			}
			if by == mesh.Min {
				return runTruth(c, &allTrue)
			}
			return runTruth(c, &kernel.Max.U8)
		},
		Grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			x := c.In[0]
			hit := t.Cast(t.binary("eq", x, t.spread(c, c.Out[0])), x.DType().Compute())
			dims, _ := c.reduced()
			return one(t.Mul(t.spread(c, t.wide(dy[0])), t.Div(hit, t.Sum(hit, listed(dims), true))))
		},
		Shard: reduction(by, by),
	})
}

// extremeOf returns the extreme element of c's first input, over the dims that c
// reduces and which stay with size 1, and its index as c gives it. reduce is
// amax or amin. Neither takes part in differentiation.
func (t *Tape) extremeOf(c *Call, reduce string) (value, index *tensor.Tensor) {
	x := t.settled(c.In[0]).Detach()
	dims, _ := c.reduced()
	value = t.shared(t.Do(reduce, one(x), IntsN(listed(dims)...), Bool1(true)))
	return value, t.Do("index_of", []*tensor.Tensor{x, value}, c.Args...)
}

// composeExtreme makes max and min along a dim that is cut.
func (t *Tape) composeExtreme(c *Call, reduce string) []*tensor.Tensor {
	x := c.In[0]
	dims, _ := c.reduced()
	if !c.Args[0].Set || x.Ndim() == 0 || !cutIn(x, dims) {
		return nil
	}
	value, index := t.extremeOf(c, reduce)
	index = t.shared(index)
	if x.RequiresGrad() { // the gradient goes to the index
		d, _ := c.Dim(0, x.Shape())
		value = t.Do("gather", []*tensor.Tensor{t.settled(x), t.kept(c, index)}, Int1(d))
	}
	return []*tensor.Tensor{t.Reshape(value, index.Shape()), index}
}

// indexOfRule: the index is the least of the blocks' indices in the whole.
func indexOfRule(c *Call) []Row {
	rows := keptRows(c)
	for _, row := range rows {
		row.In[1] = row.In[0]
	}
	return append(reducedRows(c, mesh.Min), rows...)
}

func runIndexOf(c *Call) error {
	dims, err := c.reduced()
	if err != nil {
		return err
	}
	x, y := c.In[0], c.In[1]
	if c.Args[0].Set && x.Ndim() > 0 {
		d := listed(dims)[0]
		x, y = lastDim(x, d), lastDim(y, d)
	}
	switch x.DType().Compute() {
	case dtype.Float32:
		findTo[float32](c.Out[0], x, y)
	case dtype.Float64:
		findTo[float64](c.Out[0], x, y)
	default:
		findTo[int64](c.Out[0], x, y)
	}
	return nil
}

// findTo stores in dst, of int64, the index of the first element of each row of
// x that is equal to that row's element of y. The elements of x are as many
// rows as y has elements.
func findTo[T dtype.Number](dst, x, y *tensor.Tensor) {
	at, n := tensor.Data[int64](dst), y.Numel()
	if n == 0 {
		return
	}
	k := x.Numel() / n
	xs, ys := newSource[T](x, x.Shape()), newSource[T](y, y.Shape())
	for i := range at {
		want := ys.block(i, i+1)[0]
		at[i] = notFound
		for lo := i * k; lo < (i+1)*k && at[i] == notFound; lo += blockSize {
			if j := find(xs.block(lo, min(lo+blockSize, (i+1)*k)), want); j >= 0 {
				at[i] = int64(lo - i*k + j)
			}
		}
	}
}

// notFound is the index of what is not there: greater than that of any element.
const notFound = 1 << 60

// find returns the index of the first element of x equal to v, NaN to NaN; -1
// if there is none.
func find[T dtype.Number](x []T, v T) int {
	if v != v {
		for i, w := range x {
			if w != w {
				return i
			}
		}
		return -1
	}
	for i, w := range x {
		if w == v {
			return i
		}
	}
	return -1
}

// localIndexOf turns indices in the block into indices in the whole. The order
// of a block's elements is theirs in the whole.
func localIndexOf(b *Blocks) ([]*tensor.Tensor, error) {
	out, err := b.Apply(b.Args...)
	if err != nil || out[0].Hollow() {
		return out, err
	}
	block, whole := b.X[0].Shape(), b.In[0].Shape()
	lo := make([]int, len(whole))
	for d := range lo {
		lo[d], _ = b.Span(0, d)
	}
	if b.Args[0].Set && len(whole) > 0 {
		d, _ := b.Dim(0, whole)
		block, whole, lo = block[d:d+1], whole[d:d+1], lo[d:d+1]
	}
	at := tensor.Data[int64](out[0])
	for i, v := range at {
		if v != notFound {
			at[i] = inWhole(int(v), block, whole, lo)
		}
	}
	return out, nil
}

// inWhole returns the index, in row-major order, in a tensor of shape whole of
// the i-th element of the block at lo.
func inWhole(i int, block, whole shape.Shape, lo []int) int64 {
	at, stride := 0, 1
	for d := len(block) - 1; d >= 0; d-- {
		at += (lo[d] + i%block[d]) * stride
		stride *= whole[d]
		i /= block[d]
	}
	return int64(at)
}
