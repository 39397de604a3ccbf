package op

import (
	"fmt"

	"tpsh/runtime/dtype"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

var (
	oneDim      = Param{Name: "dim", Kind: OptDim, Doc: "a dim, None for all elements", Default: Default(None)}
	momentParam = append(dimsParams[:3:3], inCorrection)
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
	compositeOf(&Def{Name: "nanmean", Surface: Method | Function, Params: dimsParams,
		Doc: "nanmean(x, dim=None, keepdim=False, dtype=None) returns the mean over dims of what is not NaN.\n>>> tensor([1.0, float(\"nan\"), 2.0]).nanmean()\n1.5"},
		func(m *maker) []*tensor.Tensor {
			x := m.x(0)
			count := m.do("sum", m.Cast(m.not(m.unary("isnan", x)), x.DType()), m.c.Args...)
			return one(m.Div(m.do("nansum", x, m.c.Args...), count))
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
	compositeOf(&Def{Name: "argsort", Surface: Method | Function, Params: []Param{inX, inDim("dim", -1), {Name: "descending", Kind: Bool, Doc: "greatest first", Default: Default(None)}, stableParam},
		Doc: "argsort(x, dim=-1, descending=False, stable=False) returns the indices that sort x along dim. Equal elements keep their order whatever stable says.\n>>> tensor([3.0, 1.0, 2.0]).argsort().tolist()\n[1, 2, 0]"},
		func(m *maker) []*tensor.Tensor { return m.all("sort", m.c.In, m.c.Args...)[1:] })
	compositeOf(&Def{Name: "msort", Surface: Method | Function, Params: xAlone,
		Doc: "msort(x) returns x sorted along its first dim.\n>>> tensor([3.0, 1.0]).msort().tolist()\n[1.0, 3.0]"},
		func(m *maker) []*tensor.Tensor { return m.all("sort", m.c.In, Int1(0), None, None)[:1] })
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
	compositeOf(&Def{Name: "searchsorted", Surface: Function, Params: []Param{{Name: "sorted_sequence", Kind: Tensor, Doc: "a tensor sorted along its last dim"}, {Name: "values", Also: []string{"input"}, Kind: Operand, Doc: "a tensor or a number"}, {Name: "right", Kind: Bool, Doc: "whether equal ones lie before", Default: Default(None)}, inInt32,
		{Name: "side", Kind: OptChoice, Doc: "right in another word", Choices: []string{"left", "right"}, Default: Default(None)}, {Name: "sorter", Kind: OptTensor, Doc: "the indices by which a sorted_sequence that is not is sorted along its last dim", Default: Default(None)}},
		Doc: "searchsorted(sorted_sequence, values, right=False, out_int32=False, side=None, sorter=None) returns how many elements along the last dim are less than each of values, or with right no greater; all, of NaN.\n>>> searchsorted(tensor([1, 3, 5]), tensor([3, 6])).tolist()\n[1, 3]"},
		func(m *maker) []*tensor.Tensor {
			sorted, right, side := m.x(0), m.bool(0), m.c.Args[2].Str
			if right && side == "left" {
				m.refuse("side", "\"left\"", "\"right\" or None", "right is True")
			}
			if sorter := m.x(2); sorter != nil {
				if !sorter.Shape().Equal(sorted.Shape()) || sorter.DType() != dtype.Int64 {
					m.refuse("sorter", Describe(sorter), "an int64 tensor "+sorted.Shape().String(), "as sorted_sequence, "+Describe(sorted)+", is")
				}
				sorted = m.do2("gather", sorted, sorter, Int1(-1))
			}
			return one(m.places(m.placesIn(sorted, m.x(1), right || side == "right"), 1))
		})
	compositeOf(&Def{Name: "bucketize", Surface: Method | Function, Params: []Param{inX, {Name: "boundaries", Kind: Tensor, Doc: "a sorted tensor [n]"}, {Name: "right", Kind: Bool, Doc: "whether equal ones lie before", Default: Default(None)}, inInt32},
		Doc: "bucketize(x, boundaries, right=False, out_int32=False) returns the number of the bucket between boundaries that each element is in.\n>>> bucketize(tensor([0, 3, 9]), tensor([1, 3, 5])).tolist()\n[0, 1, 3]"},
		func(m *maker) []*tensor.Tensor { return one(m.places(m.placesIn(m.x(1), m.x(0), m.bool(0)), 1)) })
}

var inInt32 = Param{Name: "out_int32", Kind: Bool, Doc: "whether they are int32 and not int64", Default: Default(None)}

// places returns x as the argument i, an out_int32, says.
func (m *maker) places(x *tensor.Tensor, i int) *tensor.Tensor {
	if m.bool(i) {
		return m.Cast(x, dtype.Int32)
	}
	return x
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
		return m.all("sort", one(x), Int1(d), None, None)
	case k < fewRanked:
		least := m.all("topk", one(x), Int1(k+1), Int1(d), Bool1(false), Bool1(true))
		return m.unkept([]*tensor.Tensor{m.Narrow(least[0], d, k, 1), m.Narrow(least[1], d, k, 1)}, d, keep)
	}
	at := m.full(integer(k), dtype.Int64, replaced(x.Shape(), d, 1)...)
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
	sorted := m.all("sort", one(x), Int1(last), None, None)[0]
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
	dt := promote(m.c.Ctx, sorted, values)
	sorted, values = m.Cast(sorted.Detach(), dt), m.Cast(m.strong(values, dt).Detach(), dt)
	if lead := len(sorted.Shape()) - 1; lead > 0 { // each row of values has a row of its own, or all that one row has
		if len(values.Shape()) == 0 {
			values = m.column(values, 0)
		}
		rows, at := sorted.Shape()[:lead], values.Shape()[:len(values.Shape())-1]
		all, ok := shape.Broadcast(rows, at)
		if !ok {
			m.refuse("values", Describe(values), fmt.Sprintf("shape %v but for the last dim, broadcast", rows), "sorted_sequence is "+Describe(sorted))
		}
		sorted = m.Expand(sorted, append(all[:len(all):len(all)], sorted.Shape()[lead]))
		values = m.Expand(values, append(all[:len(all):len(all)], values.Shape()[len(at)]))
	}
	return m.do2("places_in", sorted, values, Bool1(right))
}
