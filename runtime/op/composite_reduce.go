package op

import (
	"fmt"
	"slices"

	"tpsh/runtime/dtype"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

var (
	oneDim      = Param{Name: "dim", Kind: OptDim, Doc: "a dim, None for all elements", Default: Default(None)}
	momentParam = append(dimsParams[:3:3], inFloat("correction", "what the number of elements is lessened by", 1))
)

func init() {
	for _, name := range []string{"amax", "amin"} {
		compositeOf(&Def{Name: name, Surface: Method | Function, Params: dimsParams,
			Doc: name + "(x, dim=None, keepdim=False) returns the " + map[string]string{"amax": "greatest", "amin": "least"}[name] + " element over dims.\n" +
				"Elements that are equally so share the gradient.\n>>> tensor([[1.0, 5.0], [3.0, 2.0]])." + name + "(1).tolist()\n" + map[string]string{"amax": "[5.0, 3.0]", "amin": "[1.0, 2.0]"}[name]},
			func(m *maker) []*tensor.Tensor { return one(m.extreme(name, m.c.Args[0], m.c.Args[1])) })
	}
	compositeOf(&Def{Name: "aminmax", Surface: Method | Function, Params: []Param{inX, oneDim, keepdimParam},
		Doc: "aminmax(x, dim=None, keepdim=False) returns the least and the greatest element over dim.\n>>> tensor([1.0, 5.0]).aminmax()\n(1.0, 5.0)"},
		func(m *maker) []*tensor.Tensor {
			dim := m.c.Args[0]
			if dim.Set {
				dim.Ints = []int{dim.Int}
			}
			return []*tensor.Tensor{m.extreme("amin", dim, m.c.Args[1]), m.extreme("amax", dim, m.c.Args[1])}
		})
	for _, name := range []string{"std", "var"} {
		compositeOf(&Def{Name: name + "_mean", Surface: Method | Function, Params: momentParam,
			Doc: name + "_mean(x, dim=None, keepdim=False, correction=1) returns x." + name + "(...) and x.mean(...).\n>>> tensor([1.0, 3.0])." + name + "_mean(correction=0)\n(1.0, 2.0)"},
			func(m *maker) []*tensor.Tensor {
				return []*tensor.Tensor{m.do(name, m.x(0), m.c.Args...), m.do("mean", m.x(0), m.c.Args[:2]...)}
			})
	}
	compositeOf(&Def{Name: "count_nonzero", Surface: Method | Function, Params: []Param{inX, inDims},
		Doc: "count_nonzero(x, dim=None) returns how many elements differ from 0, over dims.\n>>> tensor([1.0, 0.0, 2.0]).count_nonzero()\n2"},
		func(m *maker) []*tensor.Tensor {
			return one(m.do("sum", m.Cast(m.truth(m.x(0)), dtype.Int64), m.c.Args[0], None))
		})
	compositeOf(&Def{Name: "nansum", Surface: Method | Function, Params: dimsParams,
		Doc: "nansum(x, dim=None, keepdim=False) returns the sum over dims of what is not NaN.\n>>> tensor([1.0, float(\"nan\")]).nansum()\n1.0"},
		func(m *maker) []*tensor.Tensor { return one(m.do("sum", m.withoutNaN(m.x(0)), m.c.Args...)) })
	compositeOf(&Def{Name: "nanmean", Surface: Method | Function, Params: dimsParams,
		Doc: "nanmean(x, dim=None, keepdim=False) returns the mean over dims of what is not NaN.\n>>> tensor([1.0, float(\"nan\"), 2.0]).nanmean()\n1.5"},
		func(m *maker) []*tensor.Tensor {
			x := m.x(0)
			count := m.do("sum", m.Cast(m.not(m.unary("isnan", x)), x.DType()), m.c.Args...)
			return one(m.Div(m.do("sum", m.withoutNaN(x), m.c.Args...), count))
		})
	compositeOf(&Def{Name: "dist", Surface: Method | Function, Params: []Param{inX, {Name: "other", Kind: Tensor, Doc: "a tensor"}, inFloat("p", "which norm", 2)},
		Doc: "dist(x, other, p=2) returns the p-norm of x - other.\n>>> tensor([1.0, 2.0]).dist(tensor([4.0, 6.0]))\n5.0"},
		func(m *maker) []*tensor.Tensor {
			return one(m.do("norm", m.Sub(m.x(0), m.x(1)), m.c.Args[0], None, None))
		})
	initOrders()
	initDifferences()
}

// initOrders adds what is made of sorted elements.
func initOrders() {
	compositeOf(&Def{Name: "argsort", Surface: Method | Function, Params: []Param{inX, inDim("dim", -1), {Name: "descending", Kind: Bool, Doc: "greatest first", Default: Default(None)}},
		Doc: "argsort(x, dim=-1, descending=False) returns the indices that sort x along dim.\n>>> tensor([3.0, 1.0, 2.0]).argsort().tolist()\n[1, 2, 0]"},
		func(m *maker) []*tensor.Tensor { return m.all("sort", m.c.In, m.c.Args...)[1:] })
	compositeOf(&Def{Name: "msort", Surface: Method | Function, Params: xAlone,
		Doc: "msort(x) returns x sorted along its first dim.\n>>> tensor([3.0, 1.0]).msort().tolist()\n[1.0, 3.0]"},
		func(m *maker) []*tensor.Tensor { return m.all("sort", m.c.In, Int1(0), None)[:1] })
	compositeOf(&Def{Name: "kthvalue", Surface: Method | Function, Params: []Param{inX, {Name: "k", Kind: Int, Doc: "which, from 1"}, inDim("dim", -1), keepdimParam},
		Doc: "kthvalue(x, k, dim=-1, keepdim=False) returns the k-th least elements along dim, and their indices.\n>>> tensor([3.0, 1.0, 2.0]).kthvalue(2)\n(2.0, 2)"},
		func(m *maker) []*tensor.Tensor {
			d := m.dim(1, m.x(0))
			if n := sizeAt(m.x(0), d); m.int(0) < 1 || m.int(0) > n {
				m.refuse("k", fmt.Sprint(m.int(0)), fmt.Sprintf("1..%d", n), fmt.Sprintf("shape %v", m.x(0).Shape()))
			}
			return m.ranked(m.x(0), d, m.int(0)-1, m.bool(2))
		})
	compositeOf(&Def{Name: "nanmedian", Surface: Method | Function, Params: []Param{inX, oneDim, keepdimParam},
		Doc: "nanmedian(x, dim=None, keepdim=False) returns the median of all elements that are not NaN, or the medians along dim and their indices.\nOf an even number of elements it is the lower one in the middle; where all are NaN it is NaN.\n>>> tensor([3.0, float(\"nan\"), 2.0]).nanmedian()\n2.0"},
		func(m *maker) []*tensor.Tensor { return m.makeMedian(true) })
	compositeOf(&Def{Name: "median", Surface: Method | Function, Params: []Param{inX, oneDim, keepdimParam},
		Doc: "median(x, dim=None, keepdim=False) returns the median of all elements, or the medians along dim and their indices.\nOf an even number of elements it is the lower one in the middle; a NaN is the median of what it is in.\n>>> tensor([3.0, 1.0, 2.0, 4.0]).median()\n2.0"},
		func(m *maker) []*tensor.Tensor { return m.makeMedian(false) })
	quantiles := []Param{inX, {Name: "q", Kind: Operand, Doc: "a number from 0 to 1, or a tensor [m] of them"}, oneDim, keepdimParam,
		{Name: "interpolation", Kind: Choice, Doc: "what is between two elements", Choices: []string{"linear", "lower", "higher", "nearest", "midpoint"}, Default: Default(Str1("linear"))}}
	compositeOf(&Def{Name: "quantile", Surface: Method | Function, Params: quantiles,
		Doc: "quantile(x, q, dim=None, keepdim=False, interpolation=\"linear\") returns the elements that a share q of those along dim does not exceed; of several shares as the first dim.\nWhere there is a NaN, it is the result.\n>>> tensor([1.0, 2.0, 3.0, 4.0]).quantile(0.5)\n2.5"},
		func(m *maker) []*tensor.Tensor { return one(m.quantile(false)) })
	compositeOf(&Def{Name: "nanquantile", Surface: Method | Function, Params: quantiles,
		Doc: "nanquantile(x, q, dim=None, keepdim=False, interpolation=\"linear\") returns quantile of the elements that are not NaN, and NaN where all are.\n>>> tensor([1.0, float(\"nan\"), 3.0]).nanquantile(0.5)\n2.0"},
		func(m *maker) []*tensor.Tensor { return one(m.quantile(true)) })
	compositeOf(&Def{Name: "searchsorted", Surface: Function, Params: []Param{{Name: "sorted_sequence", Kind: Tensor, Doc: "a tensor sorted along its last dim"}, {Name: "values", Kind: Operand, Doc: "a tensor or a number"}, {Name: "right", Kind: Bool, Doc: "whether equal ones lie before", Default: Default(None)}},
		Doc: "searchsorted(sorted_sequence, values, right=False) returns how many elements along the last dim are less than each of values, or with right no greater.\n>>> searchsorted(tensor([1, 3, 5]), tensor([3, 6])).tolist()\n[1, 3]"},
		func(m *maker) []*tensor.Tensor { return one(m.placesIn(m.x(0), m.x(1), m.bool(0))) })
	compositeOf(&Def{Name: "bucketize", Surface: Method | Function, Params: []Param{inX, {Name: "boundaries", Kind: Tensor, Doc: "a sorted tensor [n]"}, {Name: "right", Kind: Bool, Doc: "whether equal ones lie before", Default: Default(None)}},
		Doc: "bucketize(x, boundaries, right=False) returns the number of the bucket between boundaries that each element is in.\n>>> bucketize(tensor([0, 3, 9]), tensor([1, 3, 5])).tolist()\n[0, 1, 3]"},
		func(m *maker) []*tensor.Tensor { return one(m.placesIn(m.x(1), m.x(0), m.bool(0))) })
}

// initDifferences adds what is made of neighbours along a dim.
func initDifferences() {
	compositeOf(&Def{Name: "diff", Surface: Method | Function, Params: []Param{inX, inInt("n", "how often", 1), inDim("dim", -1)},
		Doc: "diff(x, n=1, dim=-1) returns the differences of neighbours along dim, taken n times.\n>>> tensor([1, 4, 9]).diff().tolist()\n[3, 5]"},
		func(m *maker) []*tensor.Tensor {
			x := m.x(0)
			d := m.dim(1, x)
			if m.int(0) < 0 {
				m.refuse("n", fmt.Sprint(m.int(0)), "a non-negative int", "")
			}
			for range min(m.int(0), sizeAt(x, d)+1) { // then it is empty, and stays so
				x = m.between(x, d, difference(x))
			}
			return one(x)
		})
	integrated := []Param{{Name: "y", Kind: Tensor, Doc: "a tensor"}, {Name: "x", Kind: OptTensor, Doc: "where y is known, along dim or of as many dims as y; 1 apart if None", Default: Default(None)}, inFloat("dx", "how far apart", 1), inDim("dim", -1)}
	compositeOf(&Def{Name: "trapezoid", Aliases: []string{"trapz"}, Surface: Function, Params: integrated,
		Doc: "trapezoid(y, x=None, dx=1.0, dim=-1) returns the integral of y along dim by the trapezoid rule.\n>>> trapezoid(tensor([1.0, 2.0, 3.0]))\n4.0"},
		func(m *maker) []*tensor.Tensor {
			parts, d := m.trapezoids()
			return one(m.Sum(parts, []int{d}, false))
		})
	compositeOf(&Def{Name: "cumulative_trapezoid", Surface: Function, Params: integrated,
		Doc: "cumulative_trapezoid(y, x=None, dx=1.0, dim=-1) returns the integrals of y along dim up to each element but the first, by the trapezoid rule.\n>>> cumulative_trapezoid(tensor([1.0, 2.0, 3.0])).tolist()\n[1.5, 4.0]"},
		func(m *maker) []*tensor.Tensor {
			parts, d := m.trapezoids()
			return one(m.do("cumsum", parts, Int1(d)))
		})
	compositeOf(&Def{Name: "gradient", Surface: Function, List: true, Params: []Param{inX, {Name: "spacing", Kind: OptOperand, Doc: "how far apart the elements are: a number, or a tensor [n] of where those along dim are", Default: Default(None)}, inDims, inInt("edge_order", "1 or 2: how exact the ends are", 1)},
		Doc: "gradient(x, spacing=1, dim=None, edge_order=1) returns the estimated derivatives of x along each of dims, all if None: by central differences, at the ends by those of 2 or 3 elements.\n>>> [y.tolist() for y in gradient(tensor([1.0, 4.0, 9.0]))]\n[[3.0, 4.0, 5.0]]"},
		(*maker).gradients)
	compositeOf(&Def{Name: "cov", Surface: Method | Function, Params: []Param{inX, inInt("correction", "what the number of observations is lessened by", 1)},
		Doc: "cov(x, correction=1) returns the covariances of the rows of x, whose columns are observations.\n>>> cov(tensor([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])).tolist()\n[[1.0, -1.0], [-1.0, 1.0]]"},
		func(m *maker) []*tensor.Tensor { return one(m.covariance(m.int(0))) })
	compositeOf(&Def{Name: "corrcoef", Surface: Method | Function, Params: xAlone,
		Doc: "corrcoef(x) returns the correlations of the rows of x, whose columns are observations.\n>>> corrcoef(tensor([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])).tolist()\n[[1.0, -1.0], [-1.0, 1.0]]"},
		func(m *maker) []*tensor.Tensor {
			c := m.covariance(1)
			s := m.unary("sqrt", m.diagonal(c, 0, 0, 1))
			return one(m.Div(m.Div(c, m.column(s, 1)), m.column(s, 0)))
		})
}

// difference is the operator that tells elements of x apart: of bools, as PyTorch has
// it, whether they differ.
func difference(x *tensor.Tensor) string {
	if x.DType() == dtype.Bool {
		return "ne"
	}
	return "sub"
}

// extreme returns the greatest or least elements over dims.
func (m *maker) extreme(name string, dims, keepdim Arg) *tensor.Tensor {
	if m.x(0).Numel() == 0 {
		y := m.do("sum", m.x(0), dims, keepdim) // its shape, and the errors
		if y.Numel() > 0 {
			m.refuse("x", Describe(m.x(0)), "elements to compare", "")
		}
	}
	return m.do(name, m.x(0), dims, keepdim)
}

// withoutNaN returns x with 0 for NaN.
func (m *maker) withoutNaN(x *tensor.Tensor) *tensor.Tensor {
	if !x.DType().IsFloat() {
		return x
	}
	return m.Where(m.unary("isnan", x), number(0), x)
}

// sizeAt returns the size of x along d; a tensor of shape () is a row of one.
func sizeAt(x *tensor.Tensor, d int) int {
	if len(x.Shape()) == 0 {
		return 1
	}
	return x.Shape()[d]
}

// checkSome ends the making if x has no elements along dim d.
func (m *maker) checkSome(x *tensor.Tensor, d int) {
	if sizeAt(x, d) == 0 {
		m.refuse("x", Describe(x), "a tensor with elements", "")
	}
}

// fewRanked is the greatest k for which ranked takes the k least elements of each block.
const fewRanked = 64

// ranked returns the elements of x that are number k along d, and their indices.
func (m *maker) ranked(x *tensor.Tensor, d, k int, keep bool) []*tensor.Tensor {
	switch {
	case len(x.Shape()) == 0:
		return m.all("sort", one(x), Int1(d), None)
	case k < fewRanked:
		least := m.all("topk", one(x), Int1(k+1), Int1(d), Bool1(false), Bool1(true))
		return m.unkept([]*tensor.Tensor{m.Narrow(least[0], d, k, 1), m.Narrow(least[1], d, k, 1)}, d, keep)
	}
	s := slices.Clone(x.Shape())
	s[d] = 1
	at := m.Do("full", one(integer(k)), IntsN(s...), Int1(int(dtype.Int64)))
	return m.unkept(m.all("element_at", []*tensor.Tensor{x, at}, Int1(d)), d, keep)
}

// unkept returns list without dim d, which has size 1, unless it is to stay.
func (m *maker) unkept(list []*tensor.Tensor, d int, keep bool) []*tensor.Tensor {
	for i, y := range list {
		if !keep {
			list[i] = m.do("select", y, Int1(d), Int1(0))
		}
	}
	return list
}

// makeMedian returns the median of the first tensor, along a dim with its index; of
// what is not NaN, if without is set.
func (m *maker) makeMedian(without bool) []*tensor.Tensor {
	x := m.x(0)
	if !m.c.Args[0].Set {
		flat := m.do("flatten", x, Int1(0), Int1(-1))
		m.checkSome(flat, 0)
		return m.medians(flat, 0, false, without)[:1]
	}
	d := m.dim(0, x)
	m.checkSome(x, d)
	return m.medians(x, d, m.bool(1), without)
}

// medians returns the medians of x along dim d, the lower ones of two, and their indices.
// NaN are the greatest when sorted: where there is one it is the median, the first of
// them, or without them the median is that of the others.
func (m *maker) medians(x *tensor.Tensor, d int, keep, without bool) []*tensor.Tensor {
	n := sizeAt(x, d)
	if !x.DType().IsFloat() || len(x.Shape()) == 0 {
		return m.ranked(x, d, (n-1)/2, keep)
	}
	nans := m.shared(m.nansAlong(x, d))
	at := m.Where(m.less(integer(0), nans), m.Sub(integer(n), nans), integer((n-1)/2))
	if without {
		at = m.binary("floordiv", m.do("clamp", m.Sub(integer(n-1), nans), Float1(0), None), integer(2))
		at = m.Cast(at, dtype.Int64)
	}
	return m.unkept(m.all("element_at", []*tensor.Tensor{x, at}, Int1(d)), d, keep)
}

// nansAlong returns how many NaN there are along d, which stays with size 1.
func (m *maker) nansAlong(x *tensor.Tensor, d int) *tensor.Tensor {
	return m.do("sum", m.Cast(m.unary("isnan", x), dtype.Int64), IntsN(d), Bool1(true))
}

// quantile returns what a share of the elements does not exceed; of those that are not
// NaN, if without is set.
func (m *maker) quantile(without bool) *tensor.Tensor {
	x, q := m.x(0), m.x(1)
	m.check(m.c.checkFloat("x", x))
	if len(q.Shape()) > 1 || !q.DType().IsFloat() && !q.Weak() {
		m.refuse("q", Describe(q), "a number, or a float tensor of at most one dim", "")
	}
	if q.Weak() {
		if v := numberOf(q); !(0 <= v && v <= 1) {
			m.refuse("q", fmt.Sprint(v), "a number from 0 to 1", "")
		}
	}
	d, keep, several, dims := 0, m.bool(1), len(q.Shape()) == 1, len(x.Shape())
	if m.c.Args[0].Set {
		d = m.dim(0, x)
	} else {
		x = m.do("flatten", x, Int1(0), Int1(-1))
	}
	m.checkSome(x, d)
	last := len(x.Shape()) - 1
	if last >= 0 {
		x = m.do("movedim", x, Arg{Ints: []int{d}, Set: true}, Arg{Ints: []int{last}, Set: true})
	} else {
		x, last = m.column(x, 0), 0
	}
	y := m.interpolated(x, q, last, without)
	if several {
		y = m.do("movedim", y, Arg{Ints: []int{last}, Set: true}, Arg{Ints: []int{0}, Set: true})
	} else {
		y = m.do("select", y, Int1(last), Int1(0))
	}
	if !keep {
		return y
	}
	lead := len(y.Shape()) - last
	if !m.c.Args[0].Set {
		return m.Reshape(y, append(y.Shape()[:lead:lead], make1s(dims)...))
	}
	if dims == 0 {
		return y
	}
	return m.column(y, lead+d)
}

// interpolated returns, along the last dim of x, what lies at each share of q.
func (m *maker) interpolated(x, q *tensor.Tensor, last int, without bool) *tensor.Tensor {
	n := x.Shape()[last]
	q = m.do("reshape", m.strong(q, x.DType()), IntsN(-1))
	nans := m.nansAlong(x, last)
	sorted := m.all("sort", one(x), Int1(last), None)[0]
	most := integer(n - 1)
	if without {
		most = m.do("clamp", m.Sub(most, nans), Float1(0), None)
	}
	at := m.Mul(q, m.Cast(m.Expand(m.strong(most, dtype.Int64), nans.Shape()), x.DType()))
	if !without {
		at = m.Where(m.less(integer(0), nans), number(float64(n-1)), at)
	}
	take := func(at *tensor.Tensor) *tensor.Tensor {
		return m.do2("gather", sorted, m.Cast(at, dtype.Int64), Int1(last))
	}
	switch how := m.c.Args[2].Str; how {
	case "lower":
		return take(m.unary("floor", at))
	case "higher":
		return take(m.unary("ceil", at))
	case "nearest":
		return take(m.unary("rounded", at))
	default:
		floor := m.unary("floor", at)
		low, high := take(floor), take(m.unary("ceil", at))
		share := m.Sub(at, floor)
		if how == "midpoint" {
			share = number(0.5)
		}
		return m.Add(low, m.Mul(m.Sub(high, low), share))
	}
}

// placesIn returns how many elements of sorted, along its last dim, lie before
// each of values.
func (m *maker) placesIn(sorted, values *tensor.Tensor, right bool) *tensor.Tensor {
	compare := "lt"
	if right {
		compare = "le"
	}
	at := m.column(values, len(values.Shape()))
	if len(sorted.Shape()) > 1 {
		sorted = m.column(sorted, len(sorted.Shape())-1)
	}
	before := m.binary(compare, sorted, at)
	return m.Sum(m.Cast(before, dtype.Int64), []int{len(before.Shape()) - 1}, false)
}

// between returns the operator called name of each element along d but the first
// and the one before it.
func (m *maker) between(x *tensor.Tensor, d int, name string) *tensor.Tensor {
	if len(x.Shape()) == 0 {
		m.refuse("x", Describe(x), "a tensor of at least one dim", "")
	}
	n := max(x.Shape()[d]-1, 0)
	after := m.do("narrow", x, Int1(d), Int1(x.Shape()[d]-n), Int1(n))
	return m.binary(name, after, m.do("narrow", x, Int1(d), Int1(0), Int1(n)))
}

// trapezoids returns the areas between neighbours of y along a dim, and which that is.
func (m *maker) trapezoids() (*tensor.Tensor, int) {
	y, x := m.floats(m.x(0)), m.x(1)
	d := m.dim(1, y)
	sums := m.between(y, d, "add")
	if x == nil {
		return m.Scale(sums, m.float(0)/2), d
	}
	if len(x.Shape()) == 1 {
		x = m.Reshape(x, append(x.Shape(), make1s(len(y.Shape())-1-d)...))
	}
	x = m.Reshape(x, padShape(x.Shape(), len(y.Shape())))
	if len(x.Shape()) != len(y.Shape()) || x.Shape()[d] != y.Shape()[d] {
		m.refuse("x", Describe(m.x(1)), fmt.Sprintf("%d elements along dim %d", y.Shape()[d], d), "as y, "+Describe(y)+", has")
	}
	return m.Scale(m.Mul(sums, m.between(x, d, "sub")), 0.5), d
}

// gradients returns the derivatives of a tensor along dims.
func (m *maker) gradients() []*tensor.Tensor {
	x, order := m.floats(m.x(0)), m.int(1)
	if order != 1 && order != 2 {
		m.refuse("edge_order", fmt.Sprint(order), "1 or 2", "")
	}
	dims := allDims(len(x.Shape()))
	if a := m.c.Args[0]; a.Set {
		_, err := m.c.Dims(0, x.Shape())
		m.check(err)
		dims = nil
		for _, d := range a.Ints {
			dims = append(dims, (d+len(x.Shape()))%len(x.Shape()))
		}
	}
	if s := m.x(1); s != nil && len(s.Shape()) > 1 {
		m.refuse("spacing", Describe(s), "a number, or a tensor [n]", "")
	}
	var list []*tensor.Tensor
	for _, d := range dims {
		if n := x.Shape()[d]; n < order+1 {
			m.refuse("x", Describe(x), fmt.Sprintf("at least %d elements along dim %d", order+1, d), "")
		}
		list = append(list, m.gradient(x, d, order))
	}
	return list
}

// gradient returns the derivative of x along d. With steps a and b to its neighbours an
// element has the derivative of the parabola through the three.
func (m *maker) gradient(x *tensor.Tensor, d, order int) *tensor.Tensor {
	n := x.Shape()[d]
	at := func(x *tensor.Tensor, from, size int) *tensor.Tensor {
		return m.do("narrow", x, Int1(d), Int1(from), Int1(size))
	}
	steps := m.steps(x, d)
	slopes := m.Div(m.between(x, d, "sub"), steps)
	if n == 2 {
		return m.Do("cat", []*tensor.Tensor{slopes, slopes}, Int1(d))
	}
	// weigh returns the slopes s and t with the weights b and a: (b s + a t) / (a + b)
	weigh := func(s, t, a, b *tensor.Tensor) *tensor.Tensor {
		return m.Div(m.Add(m.Mul(b, s), m.Mul(a, t)), m.Add(a, b))
	}
	inner := weigh(at(slopes, 0, n-2), at(slopes, 1, n-2), at(steps, 0, n-2), at(steps, 1, n-2))
	first, last := at(slopes, 0, 1), at(slopes, n-2, 1)
	if order == 2 {
		first = m.Sub(m.Scale(first, 2), at(inner, 0, 1))
		last = m.Sub(m.Scale(last, 2), at(inner, n-3, 1))
	}
	return m.Do("cat", []*tensor.Tensor{first, inner, last}, Int1(d))
}

// steps returns how far apart the elements of x along d are, in the shape [.., n-1, ..]
// of as many dims as x.
func (m *maker) steps(x *tensor.Tensor, d int) *tensor.Tensor {
	n, thin := x.Shape()[d], make1s(len(x.Shape()))
	thin[d] = n - 1
	s := m.x(1)
	switch {
	case s == nil:
		s = number(1)
	case len(s.Shape()) == 1:
		if s.Shape()[0] != n {
			m.refuse("spacing", Describe(s), fmt.Sprintf("%d elements", n), fmt.Sprintf("as dim %d of x has", d))
		}
		return m.Reshape(m.Cast(m.between(s, 0, "sub"), x.DType()), thin)
	}
	return m.Expand(m.Reshape(m.strong(s, x.DType()), make1s(len(x.Shape()))), thin)
}

// covariance returns the covariances of the rows of x.
func (m *maker) covariance(correction int) *tensor.Tensor {
	x := m.floats(m.x(0))
	if len(x.Shape()) == 1 {
		x = m.column(x, 0)
	}
	if len(x.Shape()) != 2 {
		m.refuse("x", Describe(x), "a tensor of one or two dims", "")
	}
	x = m.Sub(x, m.do("mean", x, IntsN(1), Bool1(true)))
	c := m.Scale(m.MatMul(x, m.Transpose(x, 0, 1)), 1/float64(max(x.Shape()[1]-correction, 0)))
	if len(m.x(0).Shape()) == 1 {
		return m.Reshape(c, shape.Shape{})
	}
	return c
}
