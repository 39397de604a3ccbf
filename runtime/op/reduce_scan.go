package op

import (
	"iter"
	goruntime "runtime"

	"tpsh/mesh"
	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel"
	"tpsh/runtime/shape"
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
		Instead: "cumsum_all",
		Doc: "cumsum(x, dim=None, dtype=None) returns the sums of x along dim up to and with each element; without dim those of x flattened.\n" +
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

func init() {
	compositeOf(&Def{Name: "cumsum_all", Surface: Internal, Params: []Param{{Name: "x", Kind: Tensor, Doc: "a tensor"}},
		Doc: "cumsum_all(x) returns the sums of the elements of x, flattened, up to and with each. Scripts write x.cumsum()."},
		func(m *maker) []*tensor.Tensor {
			x := m.x(0)
			return one(m.do("cumsum", m.Reshape(x, shape.Shape{x.Numel()}), Int1(0)))
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
func runCumSum(c *Call, reverse bool) error { return runScan(c, &kernel.CumSum, reverse) }

// runScan scans along dim, from the last element to the first if reverse.
func runScan(c *Call, scan *kernel.Scans, reverse bool) error {
	d, err := c.axis(0, c.In[0].Shape())
	if err != nil {
		return err
	}
	x, y := c.In[0], c.Out[0]
	switch y.DType().Compute() {
	case dtype.Float32:
		scanAlong(y, x, d, func(dst, x []float32, n, inner int) { scan.F32.To(dst, x, n, inner, reverse) })
	case dtype.Float64:
		scanAlong(y, x, d, func(dst, x []float64, n, inner int) { scan.F64.To(dst, x, n, inner, reverse) })
	default:
		scanAlong(y, x, d, func(dst, x []int64, n, inner int) { scan.I64.To(dst, x, n, inner, reverse) })
	}
	return nil
}

// tablesAlong returns the tables [n, inner] in which the elements of a tensor of shape s lie,
// in order, whose columns go along d.
func tablesAlong(s shape.Shape, d int) (n, inner int) {
	if len(s) == 0 {
		return 1, 1
	}
	return s[d], s[d+1:].Numel()
}

// scanAlong applies f to tables of x and dst, of one shape, whose columns go along d: to all at
// once if they lie so, else to rows along d that are brought together.
func scanAlong[T dtype.Number](dst, x *tensor.Tensor, d int, f func(dst, x []T, n, inner int)) {
	n, inner := tablesAlong(x.Shape(), d)
	if to, ok := direct[T](dst); ok {
		if from, ok := direct[T](x); ok {
			f(to, from, n, inner)
			goruntime.KeepAlive(x)
			goruntime.KeepAlive(dst)
			return
		}
	}
	x, dst = lastDim(x, d), lastDim(dst, d)
	src, out := newSource[T](x, x.Shape()), newSink[T](dst)
	for lo, hi := range wholeRows(x) {
		f(out.block(lo, hi), src.block(lo, hi), n, 1)
		out.store(lo, hi)
	}
	goruntime.KeepAlive(x)
	goruntime.KeepAlive(dst)
}

// wholeRows yields the first and one past the last element of some whole rows of x, as many as make
// a block, or one, until all have been.
func wholeRows(x *tensor.Tensor) iter.Seq2[int, int] {
	return func(yield func(lo, hi int) bool) {
		n, all := x.Shape()[x.Ndim()-1], x.Numel()
		step := n * max(blockSize/max(n, 1), 1)
		for lo := 0; lo < all; lo += step {
			if !yield(lo, min(lo+step, all)) {
				return
			}
		}
	}
}
