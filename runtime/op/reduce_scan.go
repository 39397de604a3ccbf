package op

import (
	goruntime "runtime"

	"tpsh/mesh"
	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel"
	"tpsh/runtime/tensor"
)

func init() {
	params := []Param{
		{Name: "x", Kind: Tensor, Doc: "a tensor"},
		{Name: "dim", Kind: Dim, Doc: "the dim along which to add"},
	}
	register(&Def{
		Name:    "cumsum",
		Surface: Method,
		Doc: "cumsum(x, dim, dtype=None) returns the sums of x along dim up to and with each element.\n" +
			"The elements are added one after the other. Integers and bools are summed in int64.\n" +
			">>> tensor([1.0, 2.0, 3.0]).cumsum(dim=0).tolist()\n" +
			"[1.0, 3.0, 6.0]",
		Params: params,
		Infer:  inferCumSum,
		Run:    func(c *Call) error { return runCumSum(c, false) },
		Grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			return one(t.Do("cumsum_back", dy, c.Args...))
		},
		Shard:   scanRule,
		Compose: scanByBlock(false),
	})
	register(&Def{
		Name:    "cumsum_back",
		Surface: Internal,
		Doc:     "cumsum_back(x, dim) returns the sums of x along dim from each element to the last.",
		Params:  params,
		Infer:   inferCumSum,
		Run:     func(c *Call) error { return runCumSum(c, true) },
		Grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			return one(t.Do("cumsum", dy, c.Args...))
		},
		Shard:   scanRule,
		Compose: scanByBlock(true),
	})
}

// scanRule cuts the other dims; a sum of sums is one of all.
var scanRule = besides(onAxis(0)).with(mesh.Sum, mesh.Mean)

func inferCumSum(c *Call) error {
	x := c.In[0]
	if _, err := c.axis(0, x.Shape()); err != nil {
		return err
	}
	return c.Result(wideInt(x.DType()), x.Shape())
}

// runCumSum adds along dim, from the last element to the first if reverse.
func runCumSum(c *Call, reverse bool) error {
	d, err := c.axis(0, c.In[0].Shape())
	if err != nil {
		return err
	}
	x, y := lastDim(c.In[0], d), lastDim(c.Out[0], d)
	switch y.DType().Compute() {
	case dtype.Float32:
		scanRows(y, x, func(dst, x []float32) { kernel.CumSumTo(dst, x, reverse) })
	case dtype.Float64:
		scanRows(y, x, func(dst, x []float64) { kernel.CumSumTo(dst, x, reverse) })
	default:
		scanRows(y, x, func(dst, x []int64) { kernel.CumSumTo(dst, x, reverse) })
	}
	return nil
}

// scanRows applies f to every row of x and dst, of one shape.
func scanRows[T dtype.Number](dst, x *tensor.Tensor, f func(dst, x []T)) {
	src, out, n := newSource[T](x, x.Shape()), newSink[T](dst), x.Numel()
	k := x.Shape()[x.Ndim()-1]
	for lo := 0; lo < n; lo += k {
		f(out.block(lo, lo+k), src.block(lo, lo+k))
		out.store(lo, lo+k)
	}
	goruntime.KeepAlive(x)
	goruntime.KeepAlive(dst)
}
