package op

import (
	goruntime "runtime"

	"tpsh/mesh"
	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel"
	"tpsh/runtime/tensor"
)

// folds are the reductions of scatter_fold.
var folds = map[string]kernel.Fold{"prod": kernel.FoldProd, "amax": kernel.FoldMax, "amin": kernel.FoldMin}

func init() {
	register(&Def{
		Name:    "scatter_fold",
		Surface: Internal,
		Doc: "scatter_fold(x, dim, index, src, reduce, include_self) returns a copy of x with products or extremes of what src has for each place.\n" +
			"Without include_self the elements of x that index names have no part in them.",
		Params: []Param{
			{Name: "x", Kind: Tensor, Doc: "a tensor of numbers"},
			{Name: "dim", Kind: Dim, Doc: "the dim to index"},
			{Name: "index", Kind: Tensor, Doc: "an integer tensor"},
			{Name: "src", Kind: Tensor, Doc: "a tensor of x's dtype"},
			{Name: "reduce", Kind: Choice, Doc: "how", Choices: []string{"prod", "amax", "amin"}},
			{Name: "include_self", Kind: Bool, Doc: "whether x has a part"},
		},
		Infer: inferScatterAdd,
		Run:   runScatterFold,
		Grad:  scatterFoldGrad,
		Shard: scatterFoldRows,
		Cost:  scatterCost,
	})
}

// scatterFoldRows is the rule of scatter_fold: dims besides the indexed one that
// are the same in x, the index and src may be cut.
func scatterFoldRows(c *Call) []Row {
	s, is, ss := c.In[0].Shape(), c.In[1].Shape(), c.In[2].Shape()
	at, _ := c.Dim(0, s)
	var rows []Row
	for d := range s {
		if d != at && s[d] == is[d] && s[d] == ss[d] {
			cut := mesh.Shard(d)
			rows = append(rows, Row{In: []mesh.Placement{cut, cut, cut}, Out: []mesh.Placement{cut}})
		}
	}
	return rows
}

func runScatterFold(c *Call) error {
	x, index, src := c.In[0], c.In[1], c.In[2]
	d, err := c.Dim(0, x.Shape())
	if err != nil {
		return err
	}
	at, err := c.placesAlong(index, d, x.Shape())
	if err != nil {
		return err
	}
	part := src.View(index.Shape(), src.Strides(), src.Offset())
	onOrdered(c.Out[0].DType(), func() { err = scatterFold[float32](c, at, part) }, func() { err = scatterFold[float64](c, at, part) },
		func() { err = scatterFold[int32](c, at, part) }, func() { err = scatterFold[int64](c, at, part) },
		func() { err = scatterFold[uint8](c, at, part) })
	return err
}

// scatterFold folds src into a copy of In[0] at the given places. A product of
// half-precision numbers is rounded once.
func scatterFold[T interface {
	dtype.Number
	tensor.Element
}](c *Call, at []int, src *tensor.Tensor) error {
	dt := c.Out[0].DType().Compute()
	sum, err := castTo(c.Ctx, c.In[0], dt)
	if err != nil {
		return c.memory(err)
	}
	if sum, err = copyOf(c.Ctx, sum, dt); err != nil {
		return c.memory(err)
	}
	xs := newSource[T](src, src.Shape())
	seen, n := make([]bool, sum.Numel()), src.Numel()
	for lo := 0; lo < n; lo += blockSize {
		hi := min(lo+blockSize, n)
		kernel.ScatterFold(tensor.Data[T](sum), seen, xs.block(lo, hi), at[lo:hi], folds[c.Args[1].Str], c.Args[2].Int == 0)
	}
	copyInto(c.Out[0], sum)
	goruntime.KeepAlive(sum)
	goruntime.KeepAlive(src)
	return nil
}

// Of extremes, elements that are equally so share the gradient. Of a product it
// is the product of the others, computed as the quotient where no factor is 0.
func scatterFoldGrad(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
	x, index, src := c.In[0], c.In[1], c.In[2]
	part := src
	for d, n := range index.Shape() {
		part = t.Do("narrow", one(part), Int1(d), Int1(0), Int1(n))
	}
	f := &scatterFolded{t: t, dim: c.Args[0], x: t.wide(x), index: index, src: t.wide(part), y: t.wide(c.Out[0]), dy: t.wide(dy[0])}
	f.own = c.Args[2].Int != 0
	touched := f.spread(t.Do("ones_like", one(f.src), None))
	f.rest = t.binary("eq", touched, tensor.Number(0.0))
	var dx, ds *tensor.Tensor
	if c.Args[1].Str == "prod" {
		dx, ds = f.productGrad()
	} else {
		dx, ds = f.extremeGrad()
	}
	if !f.own {
		dx = t.Where(f.rest, f.dy, tensor.Number(0.0))
	}
	ds = t.subtensorPut(ds, src.Shape(), make([]int, src.Ndim()))
	return []*tensor.Tensor{dx, nil, ds}
}

// scatterFolded is a call of scatter_fold that is differentiated: src without
// what index does not reach, and rest, where it changes nothing.
type scatterFolded struct {
	t                    *Tape
	dim                  Arg
	x, index, src, y, dy *tensor.Tensor
	rest                 *tensor.Tensor
	own                  bool // x has a part
}

// spread adds v, like src, up at the places of index.
func (f *scatterFolded) spread(v *tensor.Tensor) *tensor.Tensor {
	zeros := f.t.Do("zeros_like", one(f.x), Int1(int(v.DType())))
	return f.t.Do("scatter_add", []*tensor.Tensor{zeros, f.index, v}, f.dim)
}

// taken returns, for each of src, the element of v, like x, at its place.
func (f *scatterFolded) taken(v *tensor.Tensor) *tensor.Tensor {
	return f.t.Do("gather", []*tensor.Tensor{v, f.index}, f.dim)
}

func (f *scatterFolded) extremeGrad() (dx, ds *tensor.Tensor) {
	t, dt := f.t, f.x.DType()
	mine := t.Cast(t.binary("eq", f.x, f.y), dt)
	theirs := t.Cast(t.binary("eq", f.src, f.taken(f.y)), dt)
	count := f.spread(theirs)
	if f.own {
		count = t.Add(count, mine)
	}
	share := t.Div(f.dy, t.Where(t.binary("eq", count, tensor.Number(0.0)), tensor.Number(1.0), count))
	return t.Mul(share, mine), t.Mul(f.taken(share), theirs)
}

// productGrad counts the zeros among the factors of each place: with none of them
// the gradient is the product over the factor, with one it is the product of the
// others for that one alone, with more it is 0.
func (f *scatterFolded) productGrad() (dx, ds *tensor.Tensor) {
	t, dt := f.t, f.x.DType()
	zero := func(v *tensor.Tensor) *tensor.Tensor { return t.binary("eq", v, tensor.Number(0.0)) }
	full := func(v *tensor.Tensor) *tensor.Tensor { return t.Where(zero(v), tensor.Number(1.0), v) }
	base, none := t.Cast(zero(f.x), dt), full(f.x)
	if !f.own {
		base, none = t.Scale(base, 0), t.Do("ones_like", one(f.x), None)
	}
	zeros := t.Add(base, f.spread(t.Cast(zero(f.src), dt)))
	others := t.Do("scatter_fold", []*tensor.Tensor{none, f.index, full(f.src)}, f.dim, Str1("prod"), Bool1(true))
	all, single := t.Cast(zero(zeros), dt), t.Cast(t.binary("eq", zeros, tensor.Number(1.0)), dt)
	g := t.Mul(f.dy, others)
	of := func(v, g, all, single *tensor.Tensor) *tensor.Tensor {
		return t.Div(t.Mul(g, t.Where(zero(v), single, all)), full(v))
	}
	return of(f.x, g, all, single), of(f.src, f.taken(g), f.taken(all), f.taken(single))
}
