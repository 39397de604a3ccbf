package op

import (
	"fmt"
	goruntime "runtime"

	"tpsh/mesh"
	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

func init() {
	register(&Def{
		Name:    "sum",
		Surface: Method,
		Doc: "sum(x, dim=None, keepdim=False, dtype=None) returns the sum of x, converted to dtype before, over dim.\n" + dimsDoc +
			"Integers and bools are summed in int64. The order of the sum is fixed.\n" +
			">>> tensor([[1.0, 2.0], [3.0, 4.0]]).sum(dim=1).tolist()\n" +
			"[3.0, 7.0]",
		Params: dimsParams,
		Infer:  func(c *Call) error { return c.inferReduced(wideInt(c.In[0].DType())) },
		Run:    func(c *Call) error { return c.runReduced(&kernel.Sum) },
		Reads:  ReadsShapes,
		Grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			return one(t.spread(c, dy[0]))
		},
		Shard: reduction(mesh.Sum, mesh.Sum, mesh.Mean),
	})
	register(&Def{
		Name:    "nansum",
		Surface: Method | Function,
		Doc: "nansum(x, dim=None, keepdim=False, dtype=None) returns the sum over dims of what is not NaN.\n" +
			">>> tensor([1.0, float(\"nan\")]).nansum()\n" +
			"1.0",
		Params: dimsParams,
		Infer:  func(c *Call) error { return c.inferReduced(wideInt(c.In[0].DType())) },
		Run:    runNaNSum,
		Reads:  ReadsInputs,
		Grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			x := c.In[0]
			return one(t.Where(t.unary("isnan", x), tensor.Number(0.0), t.spread(c, dy[0])))
		},
		Shard: reduction(mesh.Sum),
	})
	register(&Def{
		Name:    "mean",
		Surface: Method,
		Doc: "mean(x, dim=None, keepdim=False, dtype=None) returns the mean of x, converted to dtype before, of floats, over dim.\n" + dimsDoc +
			"The mean of nothing is NaN.\n" +
			">>> tensor([[1.0, 2.0], [3.0, 4.0]]).mean(dim=0).tolist()\n" +
			"[2.0, 3.0]",
		Params: dimsParams,
		Infer:  inferFloatReduced,
		Run:    runMean,
		Reads:  ReadsShapes,
		Grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			return one(t.spread(c, t.Scale(dy[0], 1/float64(c.reducedSize()))))
		},
		Shard: reduction(mesh.Sum, mesh.Sum, mesh.Mean),
		Local: localMean,
		Cost:  reducedCost(1, 1),
	})
	register(&Def{
		Name:    "any",
		Surface: Method,
		Doc: "any(x, dim=None, keepdim=False) returns whether an element of x is true, over dim.\n" + eachDoc +
			"Numbers other than 0 are true. Of nothing it is False.\n" +
			">>> tensor([[True, False], [False, False]]).any(dim=1).tolist()\n" +
			"[True, False]",
		Params: eachParams,
		Infer:  func(c *Call) error { return c.inferReduced(dtype.Bool) },
		Run:    func(c *Call) error { return runTruth(c, &kernel.Max.U8) },
		Shard:  truthRule(mesh.Max),
	})
	register(&Def{
		Name:    "all",
		Surface: Method,
		Doc: "all(x, dim=None, keepdim=False) returns whether all elements of x are true, over dim.\n" + eachDoc +
			"Numbers other than 0 are true. Of nothing it is True.\n" +
			">>> tensor([[True, False], [True, True]]).all(dim=1).tolist()\n" +
			"[False, True]",
		Params: eachParams,
		Infer:  func(c *Call) error { return c.inferReduced(dtype.Bool) },
		Run:    func(c *Call) error { return runTruth(c, &allTrue) },
		Shard:  truthRule(mesh.Min),
	})
	register(&Def{
		Name:    "prod",
		Surface: Method,
		Doc: "prod(x, dim=None, keepdim=False, dtype=None) returns the product of x, converted to dtype before, along dim.\n" + dimDoc +
			"Integers and bools are multiplied in int64. The product of nothing is 1.\n" +
			">>> tensor([[1.0, 2.0], [3.0, 4.0]]).prod(dim=1).tolist()\n" +
			"[2.0, 12.0]",
		Params: dimParams,
		Infer:  func(c *Call) error { return c.inferReduced(wideInt(c.In[0].DType())) },
		Run:    func(c *Call) error { return c.runReduced(&kernel.Prod) },
		Grad:   prodGrad,
		Shard:  reduction(mesh.Prod, mesh.Prod),
	})
}

const (
	dimsDoc = "dim is an int, a list of ints, or None or an empty list for all. The dims go away, or stay\nwith size 1 if keepdim. "
	eachDoc = "dim is an int, a list of ints, or None for all. The dims go away, or stay with size\n1 if keepdim. An empty list is no dim. "
	dimDoc  = "dim is an int, or None for all. The dim goes away, or stays with size 1 if keepdim.\n"
)

var (
	keepdimParam = Param{Name: "keepdim", Kind: Bool, Doc: "whether the dims stay, with size 1", Default: Default(Bool1(false))}
	dimsParams   = []Param{
		{Name: "x", Kind: Tensor, Doc: "a tensor"},
		{Name: "dim", Kind: Dims, Doc: "the dims, or None for all", Default: Default(None), OrEmpty: true},
		keepdimParam,
	}
	eachParams = []Param{ // of any and all, for which PyTorch takes an empty list of dims as it is
		{Name: "x", Kind: Tensor, Doc: "a tensor"},
		{Name: "dim", Kind: Dims, Doc: "the dims, or None for all", Default: Default(None)},
		keepdimParam,
	}
	dimParams = []Param{
		{Name: "x", Kind: Tensor, Doc: "a tensor"},
		{Name: "dim", Kind: OptDim, Doc: "the dim, or None for all", Default: Default(None)},
		keepdimParam,
	}
)

// allTrue is the least of bools as bytes.
var allTrue = func() kernel.Reduction[uint8] {
	r := kernel.Min.U8
	r.Zero = 1
	return r
}()

// dimArg returns the index of the argument dim.
func (c *Call) dimArg() int {
	i := 0
	for c.argName(i) != "dim" {
		i++
	}
	return i
}

// reduced returns which dims of the first input c reduces: those the argument
// dim names, or all. A tensor of shape () has none, but counts as a row of one
// element.
func (c *Call) reduced() ([]bool, error) {
	s, at := c.In[0].Shape(), c.dimArg()
	if !c.Args[at].Set || c.argParam(at).Kind == Dims {
		dims, err := c.dims(at, max(len(s), 1), s)
		return dims[:min(len(s), len(dims))], err
	}
	d, err := c.axis(at, s)
	if err != nil {
		return nil, err
	}
	dims := make([]bool, max(len(s), 1))
	dims[d] = true
	return dims[:len(s)], nil
}

// inferReduced sets the result to one of dtype dt, of the shape of the first
// input without the reduced dims, or with size 1 there if the argument after
// dim, keepdim, says so.
func (c *Call) inferReduced(dt dtype.DType) error {
	dims, err := c.reduced()
	if err != nil {
		return err
	}
	return c.Result(dt, reducedShape(c.In[0].Shape(), dims, c.Args[c.dimArg()+1].Int != 0))
}

// reducedShape returns s without the dims that are true in dims, or with size
// 1 there if keep.
func reducedShape(s shape.Shape, dims []bool, keep bool) shape.Shape {
	out := make(shape.Shape, 0, len(s))
	for d, size := range s {
		switch {
		case !dims[d]:
			out = append(out, size)
		case keep:
			out = append(out, 1)
		}
	}
	return out
}

// reducedSize returns how many elements of the first input make one of the
// result.
func (c *Call) reducedSize() int {
	dims, _ := c.reduced()
	return sizeOf(c.In[0].Shape(), dims)
}

// sizeOf returns the product of the sizes of the dims that are true.
func sizeOf(s shape.Shape, dims []bool) int {
	n := 1
	for d, size := range s {
		if dims[d] {
			n *= size
		}
	}
	return n
}

// wideInt returns the dtype of a sum of dt: int64 for integers and bools.
func wideInt(dt dtype.DType) dtype.DType {
	if dt.IsFloat() {
		return dt
	}
	return dtype.Int64
}

// runReduced stores the first input, reduced by row over the dims that the
// first argument names, in c.Out[0].
func (c *Call) runReduced(row *kernel.Reduce) error {
	dims, err := c.reduced()
	if err != nil {
		return err
	}
	x, y := c.In[0], c.Out[0]
	switch y.DType().Compute() {
	case dtype.Float32:
		reduceTo(y, x, dims, &row.F32, nil)
	case dtype.Float64:
		reduceTo(y, x, dims, &row.F64, nil)
	case dtype.Int64:
		if row != &kernel.Sum || !bytesInRows(y, x, dims) {
			reduceTo(y, x, dims, &row.I64, nil)
		}
	case dtype.Int32:
		reduceTo(y, x, dims, &row.I32, nil)
	default:
		reduceTo(y, x, dims, &row.U8, nil)
	}
	return nil
}

// runNaNSum is the runReduced of sums in which NaN counts as 0.
func runNaNSum(c *Call) error {
	dims, err := c.reduced()
	if err != nil {
		return err
	}
	switch x, y := c.In[0], c.Out[0]; y.DType().Compute() {
	case dtype.Float32:
		sumNumbers(y, x, dims, &kernel.Sum.F32)
	case dtype.Float64:
		sumNumbers(y, x, dims, &kernel.Sum.F64)
	default:
		return c.runReduced(&kernel.Sum)
	}
	return nil
}

// sumNumbers is reduceTo by r, a sum, in which NaN counts as 0.
func sumNumbers[T dtype.Float](dst, x *tensor.Tensor, reduced []bool, r *kernel.Reduction[T]) {
	f := foldOf(x, reduced)
	v := f.view(x)
	src := newSource[T](v, v.Shape())
	if f.inner == 0 {
		reduceInRows(dst, &f, r, src.block, func(_ int, x []T) T { return kernel.SumNumbers(x) }, nil)
	} else {
		var room [blockSize]T
		reduceBlocks(dst, &f, r, func(lo, hi int) []T {
			kernel.NumbersTo(room[:hi-lo], src.block(lo, hi))
			return room[:hi-lo]
		}, nil)
	}
	goruntime.KeepAlive(x)
}

// bytesInRows stores in dst, of int64, the sums of x over the dims that are true in reduced, if the
// elements of x are bytes, as those of masks are, and reduced in rows; else it reports false.
func bytesInRows(dst, x *tensor.Tensor, reduced []bool) bool {
	fold := foldOf(x, reduced)
	if dt := x.DType(); fold.inner > 0 || dt != dtype.Bool && dt != dtype.Uint8 {
		return false
	}
	v := fold.view(x)
	xs := newSource[uint8](v, v.Shape())
	reduceInRows(dst, &fold, &kernel.Sum.I64, xs.block, func(_ int, x []uint8) int64 { return int64(kernel.ByteSum(x)) }, nil)
	goruntime.KeepAlive(x)
	return true
}

// inferFloatReduced is inferReduced of an operator that takes floats only.
func inferFloatReduced(c *Call) error {
	x := c.In[0]
	if !x.DType().IsFloat() {
		return c.Bad("x", Describe(x), "a float tensor", fmt.Sprintf("%v has no fractions: convert with .to(%v)", x.DType(), c.Ctx.Float))
	}
	return c.inferReduced(x.DType())
}

func runMean(c *Call) error {
	dims, err := c.reduced()
	if err != nil {
		return err
	}
	n := c.reducedSize()
	if c.Out[0].DType() == dtype.Float64 {
		reduceTo(c.Out[0], c.In[0], dims, &kernel.Sum.F64, divideBy[float64](float64(n)))
	} else {
		reduceTo(c.Out[0], c.In[0], dims, &kernel.Sum.F32, divideBy[float32](float64(n)))
	}
	return nil
}

// divideBy returns what divides results by n.
func divideBy[T dtype.Float](n float64) func(lo int, d []T) {
	return func(_ int, d []T) {
		for i := range d {
			d[i] /= T(n)
		}
	}
}

// localMean sums the block, whose elements are shares of the whole's.
func localMean(b *Blocks) ([]*tensor.Tensor, error) {
	sum := b.T.Do("sum", one(b.T.wide(b.X[0])), b.Args...)
	return one(b.T.Cast(b.T.Div(sum, tensor.Number(float64(b.reducedSize()))), b.Spec[0].DType)), nil
}

// truthRule is the rule of any and all, which make one of bools as by does.
func truthRule(by mesh.ReduceOp) Rule {
	return func(c *Call) []Row {
		if c.In[0].DType() != dtype.Bool {
			return reduction(by)(c)
		}
		return reduction(by, by)(c)
	}
}

// runTruth reduces the truth of the first input's elements by r.
func runTruth(c *Call, r *kernel.Reduction[uint8]) error {
	dims, err := c.reduced()
	if err != nil {
		return err
	}
	x, err := castTo(c.Ctx, c.In[0], dtype.Bool)
	if err != nil {
		return c.memory(err)
	}
	reduceTo(c.Out[0], x, dims, r, nil)
	return nil
}

// spread returns dy, a gradient of c's result, broadcast to the shape of c's
// first input.
func (t *Tape) spread(c *Call, dy *tensor.Tensor) *tensor.Tensor {
	return t.Expand(t.kept(c, dy), c.In[0].Shape())
}

// kept returns y, of the shape of c's result, with the dims that c has reduced
// present with size 1.
func (t *Tape) kept(c *Call, y *tensor.Tensor) *tensor.Tensor {
	dims, _ := c.reduced()
	return t.Reshape(y, reducedShape(c.In[0].Shape(), dims, true))
}

// prodGrad multiplies dy by the product of the other elements.
func prodGrad(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
	x := t.wide(c.In[0])
	s := x.Shape()
	if len(s) == 0 {
		return dy
	}
	if s.Numel() == 0 {
		return one(t.Do("zeros_like", one(x), None))
	}
	last := len(s) - 1
	var others *tensor.Tensor
	if c.Args[0].Set {
		d, _ := c.Dim(0, s)
		turned := t.Transpose(x, d, last)
		rows := t.Reshape(turned, shape.Shape{-1, s[d]})
		others = t.Transpose(t.Reshape(t.others(c, rows), turned.Shape()), d, last)
	} else {
		others = t.Reshape(t.others(c, t.Reshape(x, shape.Shape{1, s.Numel()})), s)
	}
	return one(t.Mul(t.spread(c, dy[0]), others))
}

// others returns, for each element of the rows of x [m, n], the product of the
// other elements of its row. It divides nothing, so zeros do no harm: pairs
// are multiplied, then pairs of pairs, and on the way back each half of a pair
// takes what lies outside the pair times the other half.
func (t *Tape) others(c *Call, x *tensor.Tensor) *tensor.Tensor {
	m, n := x.Shape()[0], x.Shape()[1]
	if n <= 1 {
		return t.Do("ones_like", one(x), None)
	}
	if n%2 == 1 {
		even, last := t.Narrow(x, 1, 0, n-1), t.Narrow(x, 1, n-1, 1)
		whole := t.Do("prod", one(even), Int1(1), Bool1(true))
		return t.Do("cat", []*tensor.Tensor{t.Mul(t.others(c, even), last), whole}, Int1(1))
	}
	pairs := t.Reshape(x, shape.Shape{m, n / 2, 2})
	swapped := t.Do("flip", one(pairs), IntsN(2))
	if n > 2 {
		outside := t.others(c, t.Do("prod", one(pairs), Int1(2), Bool1(false)))
		swapped = t.Mul(t.Reshape(outside, shape.Shape{m, n / 2, 1}), swapped)
	}
	return t.Reshape(swapped, shape.Shape{m, n})
}
