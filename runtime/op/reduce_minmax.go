package op

import (
	"fmt"
	goruntime "runtime"

	"tpsh/mesh"
	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel"
	"tpsh/runtime/tensor"
)

func init() {
	registerExtreme("max", mesh.Max, "maximum", "greatest", ">>> tensor([1.0, 3.0, 2.0]).max().item()\n3.0", &kernel.Max, &kernel.ArgMaxRow)
	registerExtreme("min", mesh.Min, "minimum", "least", ">>> tensor([1.0, 3.0, 2.0]).min().item()\n1.0", &kernel.Min, &kernel.ArgMinRow)
	registerArg("argmax", "amax", "greatest", ">>> tensor([1.0, 3.0, 2.0]).argmax().item()\n1", &kernel.ArgMaxRow)
	registerArg("argmin", "amin", "least", ">>> tensor([1.0, 3.0, 2.0]).argmin().item()\n0", &kernel.ArgMinRow)
}

// registerExtreme registers max or min, of two tensors the operator that is called pairs.
func registerExtreme(name string, by mesh.ReduceOp, pairs, which, example string, row *kernel.Reduce, arg *kernel.Arg) {
	register(&Def{
		Name:    name,
		Surface: Method,
		Instead: pairs,
		MakeDoc: func() string {
			return fmt.Sprintf("%s(x, dim=None, keepdim=False) returns the %s element of x, or with dim (values, indices) along it; of a tensor in the place of dim, or as other, %s(x, other).\n"+
				"The dim goes away, or stays with size 1 if keepdim. An index is that of the first of\n"+
				"equal elements. NaN wins over all else. Of no elements it is an error. The gradient\n"+
				"goes to the index; without dim, in equal parts to all that are equal.\n%s", name, which, pairs, example)
		},
		Params: dimParams,
		Infer: func(c *Call) error {
			if err := c.someElements(); err != nil {
				return err
			}
			if err := c.inferReduced(c.In[0].DType()); err != nil || !c.Args[0].Set {
				return err
			}
			return c.Results(c.Spec[0], Spec{dtype.Int64, c.Spec[0].Shape})
		},
		Run: func(c *Call) error {
			if !c.Args[0].Set {
				return c.runReduced(row)
			}
			return c.runArg(arg, c.Out[0], c.Out[1])
		},
		Grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			if c.Args[0].Set {
				return one(t.scatterBack(c, t.kept(c, dy[0]), t.kept(c, c.Out[1])))
			}
			return one(t.shareOut(c, c.In[0], c.Out[0], t.wide(dy[0])))
		},
		Shard: func(c *Call) []Row {
			if c.Args[0].Set {
				return keptRows(c)
			}
			return reduction(by, by)(c)
		},
		Local: func(b *Blocks) ([]*tensor.Tensor, error) {
			if b.Args[0].Set {
				return b.Apply(b.Args...)
			}
			return one(b.T.Do("a"+name, b.X, None, b.Args[1])), nil
		},
		Compose: func(t *Tape, c *Call) []*tensor.Tensor { return t.composeExtreme(c, "a"+name) },
	})
}

// registerArg registers argmax or argmin.
func registerArg(name, reduce, which, example string, row *kernel.Arg) {
	register(&Def{
		Name:    name,
		Surface: Method,
		MakeDoc: func() string {
			return fmt.Sprintf("%s(x, dim=None, keepdim=False) returns the index of the %s element along dim, as int64.\n"+
				"Without dim it is the index in the flattened x. The dim goes away, or stays with size\n"+
				"1 if keepdim. The first of equal elements counts; NaN wins over all else. Of no\n"+
				"elements it is an error.\n%s", name, which, example)
		},
		Params: dimParams,
		Infer: func(c *Call) error {
			if err := c.someElements(); err != nil {
				return err
			}
			return c.inferReduced(dtype.Int64)
		},
		Run: func(c *Call) error { return c.runArg(row, nil, c.Out[0]) },
		Shard: func(c *Call) []Row {
			if c.Args[0].Set {
				return keptRows(c)
			}
			return nil
		},
		Compose: func(t *Tape, c *Call) []*tensor.Tensor {
			if dims, _ := c.reduced(); !cutIn(c.In[0], dims) {
				return nil
			}
			_, index := t.extremeOf(c, reduce)
			return one(index)
		},
	})
}

// someElements refuses an input without an element to choose.
func (c *Call) someElements() error {
	dims, err := c.reduced()
	if err != nil {
		return err
	}
	if sizeOf(c.In[0].Shape(), dims) == 0 {
		return c.Bad("x", Describe(c.In[0]), "at least one element to choose from", "")
	}
	return nil
}

// runArg stores the indices that row picks along the dim that the first
// argument names, or in all of x if it is None; and the elements there in
// values, if it is not nil.
func (c *Call) runArg(row *kernel.Arg, values, indices *tensor.Tensor) error {
	x := c.In[0]
	k := x.Numel()
	if c.Args[0].Set {
		d, err := c.axis(0, x.Shape())
		if err != nil {
			return err
		}
		x = lastDim(x, d)
		k = x.Shape()[x.Ndim()-1]
	}
	switch x.DType().Compute() {
	case dtype.Float32:
		pickTo(values, indices, x, k, row.F32)
	case dtype.Float64:
		pickTo(values, indices, x, k, row.F64)
	case dtype.Int64:
		pickTo(values, indices, x, k, row.I64)
	case dtype.Int32:
		pickTo(values, indices, x, k, row.I32)
	default:
		pickTo(values, indices, x, k, row.U8)
	}
	return nil
}

// pickTo applies pick to every row of k elements of x.
func pickTo[T dtype.Number](values, indices, x *tensor.Tensor, k int, pick func(x []T) int) {
	src, at := newSource[T](x, x.Shape()), tensor.Data[int64](indices)
	picked := make([]T, min(len(at), blockSize))
	for lo := 0; lo < len(at); lo += blockSize {
		hi := min(lo+blockSize, len(at))
		for i := lo; i < hi; i++ {
			r := src.block(i*k, (i+1)*k)
			j := pick(r)
			at[i], picked[i-lo] = int64(j), r[j]
		}
		if values != nil {
			out := newSink[T](values)
			copy(out.block(lo, hi), picked)
			out.store(lo, hi)
		}
	}
	goruntime.KeepAlive(x)
	goruntime.KeepAlive(values)
	goruntime.KeepAlive(indices)
}

// scatterBack returns zeros of the shape of c's first input, with dy added at
// index along the dim that c's argument dim names.
func (t *Tape) scatterBack(c *Call, dy, index *tensor.Tensor) *tensor.Tensor {
	if c.In[0].Ndim() == 0 {
		return dy
	}
	d, _ := c.Dim(c.dimArg(), c.In[0].Shape())
	zeros := t.Do("zeros_like", one(c.In[0]), Int1(int(dy.DType())))
	return t.Do("scatter_add", []*tensor.Tensor{zeros, index, dy}, Int1(d))
}

// shareOut gives dy, a gradient of y, in equal parts to the elements of x that
// are equal to y, the result of reducing x as c does.
func (t *Tape) shareOut(c *Call, x, y, dy *tensor.Tensor) *tensor.Tensor {
	chosen := t.Cast(t.binary("eq", x, t.kept(c, y)), dy.DType())
	dims, _ := c.reduced()
	count := t.Sum(chosen, listed(dims), true)
	return t.Mul(t.Div(t.kept(c, dy), count), chosen)
}

// listed returns the dims that are true.
func listed(dims []bool) []int {
	var list []int
	for d, in := range dims {
		if in {
			list = append(list, d)
		}
	}
	return list
}
