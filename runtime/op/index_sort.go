package op

import (
	"fmt"
	goruntime "runtime"

	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

func init() {
	register(&Def{
		Name:    "sort",
		Surface: Method,
		Doc: "sort(x, dim=-1, descending=False, stable=False) returns (values, indices): x in order along dim, and where each was.\n" +
			"Equal elements keep their order whatever stable says. NaN counts as greater than all else.\n" +
			">>> [t.tolist() for t in tensor([3.0, 1.0, 2.0]).sort()]\n" +
			"[[1.0, 2.0, 3.0], [1, 2, 0]]",
		Params: []Param{
			{Name: "x", Kind: Tensor, Doc: "a tensor"},
			{Name: "dim", Kind: Dim, Doc: "the dim to sort along", Default: Default(Int1(-1))},
			{Name: "descending", Kind: Bool, Doc: "whether the greatest comes first", Default: Default(Bool1(false))},
			stableParam,
		},
		Infer: func(c *Call) error {
			x := c.In[0]
			if _, err := c.axis(0, x.Shape()); err != nil {
				return err
			}
			return c.Results(Spec{x.DType(), x.Shape()}, Spec{dtype.Int64, x.Shape()})
		},
		Run: func(c *Call) error {
			d, err := c.axis(0, c.In[0].Shape())
			if err != nil {
				return err
			}
			runSort(c, d, c.Args[1].Int != 0)
			return nil
		},
		Grad:    sortGrad,
		Shard:   besides(onAxis(0)),
		Compose: sortByBlock,
		Cost:    sortCost(wholeRow),
	})
	register(&Def{
		Name:    "topk",
		Surface: Method,
		Doc: "topk(x, k, dim=-1, largest=True, sorted=True) returns (values, indices) of the k greatest elements along dim, or the k least.\n" +
			"They come in order whatever sorted says; of equal elements the first come first. NaN\n" +
			"counts as greater than all else.\n" +
			">>> [t.tolist() for t in tensor([3.0, 1.0, 2.0]).topk(2)]\n" +
			"[[3.0, 2.0], [0, 2]]",
		Params: []Param{
			{Name: "x", Kind: Tensor, Doc: "a tensor"},
			{Name: "k", Kind: Int, Doc: "how many"},
			{Name: "dim", Kind: Dim, Doc: "the dim to choose along", Default: Default(Int1(-1))},
			{Name: "largest", Kind: Bool, Doc: "whether the greatest are wanted", Default: Default(Bool1(true))},
			{Name: "sorted", Kind: Bool, Doc: "whether they must come in order", Default: Default(Bool1(true))},
		},
		Infer: inferTopK,
		Run: func(c *Call) error {
			d, err := c.axis(1, c.In[0].Shape())
			if err != nil {
				return err
			}
			runSort(c, d, c.Args[2].Int != 0)
			return nil
		},
		Grad:    sortGrad,
		Shard:   besides(onAxis(1)),
		Compose: topKByBlock,
		Cost:    sortCost(firstK),
	})
}

// stableParam is accepted for programs written for PyTorch: every sort is stable.
var stableParam = Param{Name: "stable", Kind: Bool, Doc: "whether equal elements keep their order; they always do", Default: Default(Bool1(false))}

func inferTopK(c *Call) error {
	x, k := c.In[0], c.Args[0].Int
	d, err := c.axis(1, x.Shape())
	if err != nil {
		return err
	}
	if x.Ndim() == 0 {
		if k != 1 {
			return c.Bad("k", fmt.Sprint(k), "1", "shape ()")
		}
		return c.Results(Spec{x.DType(), x.Shape()}, Spec{dtype.Int64, x.Shape()})
	}
	if n := x.Shape()[d]; k < 0 || k > n {
		return c.Bad("k", fmt.Sprint(k), fmt.Sprintf("0..%d", n), fmt.Sprintf("the size of dim %d of shape %v", d, x.Shape()))
	}
	s := append(shape.Shape(nil), x.Shape()...)
	s[d] = k
	return c.Results(Spec{x.DType(), s}, Spec{dtype.Int64, s})
}

// runSort stores the first elements of x in order along dim d, and their
// indices, in c.Out.
func runSort(c *Call, d int, descending bool) {
	x, values, indices := lastDim(c.In[0], d), lastDim(c.Out[0], d), lastDim(c.Out[1], d)
	onOrdered(x.DType(), func() { sortRows[float32](values, indices, x, descending) }, func() { sortRows[float64](values, indices, x, descending) },
		func() { sortRows[int32](values, indices, x, descending) }, func() { sortRows[int64](values, indices, x, descending) },
		func() { sortRows[uint8](values, indices, x, descending) })
}

func sortRows[T dtype.Number](values, indices, x *tensor.Tensor, descending bool) {
	src, vs, at := newSource[T](x, x.Shape()), newSink[T](values), newSink[int64](indices)
	n, k := x.Shape()[x.Ndim()-1], values.Shape()[values.Ndim()-1]
	if k == 0 {
		return
	}
	for row := range values.Numel() / k {
		lo, hi := row*k, (row+1)*k
		kernel.SortTo(vs.block(lo, hi), at.block(lo, hi), src.block(row*n, (row+1)*n), descending)
		vs.store(lo, hi)
		at.store(lo, hi)
	}
	goruntime.KeepAlive(x)
	goruntime.KeepAlive(values)
	goruntime.KeepAlive(indices)
}

// sortGrad gives the gradient of each value to the element it came from.
func sortGrad(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
	return one(t.scatterBack(c, dy[0], c.Out[1]))
}
