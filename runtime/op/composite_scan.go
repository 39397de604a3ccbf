package op

import (
	"fmt"
	"math"
	goruntime "runtime"
	"slices"

	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

var inAlong = []Param{inX, {Name: "dim", Kind: Dim, Doc: "the dim along which to go"}}

func init() {
	compositeOf(&Def{Name: "cumprod", Surface: Method | Function, Params: inAlong,
		Doc: "cumprod(x, dim, dtype=None) returns the products of x along dim up to and with each element.\nIntegers and bools are multiplied in int64.\n>>> tensor([1.0, 2.0, 3.0]).cumprod(0).tolist()\n[1.0, 2.0, 6.0]"},
		func(m *maker) []*tensor.Tensor {
			x := m.x(0)
			if dt := x.DType(); !dt.Differentiable() {
				x = m.Cast(x, dtype.Int64)
			}
			if x.DType().IsComplex() {
				return one(m.scanned(x, m.dim(0, x), m.Mul))
			}
			return one(m.do("running_product", x, Int1(m.dim(0, x))))
		})
	compositeOf(&Def{Name: "logcumsumexp", Surface: Method | Function, Params: inAlong,
		Doc: "logcumsumexp(x, dim) returns the logarithms of the sums of exp(x) along dim up to and with each element.\n>>> zeros(2).logcumsumexp(0).tolist()\n[0.0, 0.6931471824645996]"},
		func(m *maker) []*tensor.Tensor {
			x := m.floats(m.x(0))
			return one(m.runningLogs(x, m.dim(0, x)))
		})
	for _, name := range []string{"cummax", "cummin"} {
		least, shows := name == "cummin", "[1.0, 3.0, 3.0]"
		which := "greatest"
		if least {
			which, shows = "least", "[1.0, 1.0, 1.0]"
		}
		compositeOf(&Def{Name: name, Surface: Method | Function, Params: inAlong,
			MakeDoc: func() string {
				return fmt.Sprintf("%s(x, dim) returns (values, indices): the %s element along dim up to and with each, and where the last such is.\nNaN counts as %s.\n>>> tensor([1.0, 3.0, 2.0]).%s(0)[0].tolist()\n%s", name, which, which, name, shows)
			}},
			func(m *maker) []*tensor.Tensor {
				return m.all("running_extreme", m.c.In, Int1(m.dim(0, m.x(0))), Bool1(least))
			})
	}
	compositeOf(&Def{Name: "mode", Surface: Method | Function, Params: []Param{inX, inDim("dim", -1), keepdimParam},
		Doc: "mode(x, dim=-1, keepdim=False) returns (values, indices): the most frequent element along dim, the least of several such, and where it is last.\n>>> tensor([3, 1, 3, 1, 3]).mode()[0].item()\n3"},
		func(m *maker) []*tensor.Tensor { return m.mostFrequent() })
	flags := []Param{{Name: "return_inverse", Kind: Bool, Doc: "whether to return where each element of x is among them", Default: Default(None)},
		{Name: "return_counts", Kind: Bool, Doc: "whether to return how often each is there", Default: Default(None)},
		{Name: "dim", Kind: OptDim, Doc: "the dim whose slices are compared, None for all elements", Default: Default(None)}, sizeParam}
	compositeOf(&Def{Name: "unique", Surface: Method | Function,
		Doc: "unique(x, sorted=True, return_inverse=False, return_counts=False, dim=None, size=None) returns the elements of x, each once, in ascending order, or its slices along dim in lexical order: alone, or in a tuple with what else is asked for.\n" +
			"size says how many they are; it is an error if there are others. A plan has to know.\n>>> tensor([3, 1, 3]).unique(return_counts=True)\n([1 3], [1 2])",
		Params: append([]Param{inX, {Name: "sorted", Kind: Bool, Doc: "they are in any case", Default: Default(Bool1(true))}}, flags...)},
		func(m *maker) []*tensor.Tensor { return m.unique(true, m.c.Args[1:]) })
	compositeOf(&Def{Name: "unique_consecutive", Surface: Method | Function,
		Doc: "unique_consecutive(x, return_inverse=False, return_counts=False, dim=None, size=None) returns the first of each run of equal elements of x, or of its slices along dim: alone, or in a tuple with what else is asked for.\n" +
			"size says how many they are; it is an error if there are others. A plan has to know.\n>>> tensor([3, 3, 1, 3]).unique_consecutive().tolist()\n[3, 1, 3]",
		Params: append([]Param{inX}, flags...)},
		func(m *maker) []*tensor.Tensor { return m.unique(false, m.c.Args) })
}

// scanned returns, for each element of x along d, what by makes of it and all
// before it, in log2 n steps: Hillis and Steele, "Data parallel algorithms", 1986.
func (m *maker) scanned(x *tensor.Tensor, d int, by func(before, x *tensor.Tensor) *tensor.Tensor) *tensor.Tensor {
	n := sizeAt(x, d)
	if len(x.Shape()) == 0 {
		return m.unary("clone", x)
	}
	at := func(from, size int) *tensor.Tensor { return m.do("narrow", x, Int1(d), Int1(from), Int1(size)) }
	for k := 1; k < n; k *= 2 {
		x = m.Do("cat", []*tensor.Tensor{at(0, k), by(at(0, n-k), at(k, n-k))}, Int1(d))
	}
	if n <= 1 {
		return m.unary("clone", x)
	}
	return x
}

// runningLogs returns the logarithms of the sums of exp(x) along d up to and with each element.
// The sums are of powers less than 1, x less the greatest so far, and float64: as that grows,
// what has been added up shrinks with it.
func (m *maker) runningLogs(x *tensor.Tensor, d int) *tensor.Tensor {
	if sizeAt(x, d) <= 1 || len(x.Shape()) == 0 {
		return m.unary("clone", x)
	}
	v := m.wide(x)
	most := m.all("running_extreme", one(v.Detach()), Int1(d), Bool1(false))[0]
	less := m.Where(m.unary("isfinite", most), most, number(0))
	shrink := m.unary("exp", m.Sub(m.displaced(most, d, 1, math.Inf(-1)), less))
	in64 := func(x *tensor.Tensor) *tensor.Tensor { return m.Cast(x, dtype.Float64) }
	sums := m.do2("recurrence", in64(m.unary("exp", m.Sub(v, less))), in64(shrink), Int1(d), Bool1(false))
	return m.Cast(m.Add(less, m.unary("log", m.Cast(sums, v.DType()))), x.DType())
}

// mostFrequent returns the most frequent elements along a dim: in sorted order,
// where the longest run ends.
func (m *maker) mostFrequent() []*tensor.Tensor {
	x, d := m.x(0), m.dim(0, m.x(0))
	n := sizeAt(x, d)
	if len(x.Shape()) == 0 {
		return []*tensor.Tensor{m.unary("clone", x), m.Do("zeros_like", one(x), Int1(int(dtype.Int64)))}
	}
	if n == 0 {
		m.refuse("x", Describe(x), "at least one element along dim", "")
	}
	sorted := m.all("sort", one(x), Int1(d), Bool1(false), None)
	ends := m.runLengths(sorted[0], d)
	last := m.do("argmax", ends, Int1(d), Bool1(true))
	where := m.do2("gather", sorted[1], last, Int1(d))
	out := []*tensor.Tensor{m.do2("gather", x, where, Int1(d)), where}
	if !m.bool(1) {
		for i := range out {
			out[i] = m.do("squeeze", out[i], IntsN(d))
		}
	}
	return out
}

// runLengths returns, for each element of x along d, the how manieth of equal
// neighbours it is.
func (m *maker) runLengths(x *tensor.Tensor, d int) *tensor.Tensor {
	n := x.Shape()[d]
	at := m.Expand(m.Reshape(m.upTo(n), replaced(make1s(len(x.Shape())), d, n)), x.Shape())
	begin := m.Where(m.begins(x, d), at, integer(0))
	return m.Sub(at, m.all("running_extreme", one(begin), Int1(d), Bool1(false))[0])
}

// begins returns which elements of x differ from the one before along d.
func (m *maker) begins(x *tensor.Tensor, d int) *tensor.Tensor {
	n := x.Shape()[d]
	at := func(from, size int) *tensor.Tensor { return m.do("narrow", x, Int1(d), Int1(from), Int1(size)) }
	first := m.do("ones_like", at(0, min(n, 1)), Int1(int(dtype.Bool)))
	if n < 2 {
		return first
	}
	return m.Do("cat", []*tensor.Tensor{first, m.binary("ne", at(1, n-1), at(0, n-1))}, Int1(d))
}

// unique returns the elements of x, or its slices along a dim, each once or, unsorted, of
// each run, and what else is asked for: flags are return_inverse, return_counts, dim and
// size, the last of the arguments.
func (m *maker) unique(sort bool, flags []Arg) []*tensor.Tensor {
	inverse, counts, size := flags[0].Int != 0, flags[1].Int != 0, flags[3]
	s, d, slices := m.x(0).Shape(), 0, flags[2].Set && len(m.x(0).Shape()) > 0
	var x *tensor.Tensor
	if slices {
		d = m.dim(len(m.c.Args)-2, m.x(0))
		x, s = m.sliceRanks(m.x(0), d), s[d:d+1]
	} else {
		x = m.do("reshape", m.x(0), IntsN(-1))
	}
	var order *tensor.Tensor
	if sort {
		sorted := m.all("sort", one(x), Int1(0), Bool1(false), None)
		x, order = sorted[0], sorted[1]
	}
	first := m.begins(x, 0)
	out := one(m.do2("masked_select", x, first, size))
	if slices {
		if !sort {
			order = m.upTo(x.Numel())
		}
		out[0] = m.Do("index_select", []*tensor.Tensor{m.x(0), m.do2("masked_select", order, first, size)}, Int1(d))
	}
	if !inverse && !counts {
		return out
	}
	number := m.Sub(m.do("cumsum", m.Cast(first, dtype.Int64), Int1(0)), integer(1))
	if inverse {
		to := number
		if sort {
			zeros := m.Do("zeros_like", one(number), None)
			to = m.Do("index_copy", []*tensor.Tensor{zeros, order, number}, Int1(0))
		}
		out = append(out, m.Reshape(to, s))
	}
	if counts {
		zeros := m.Do("zeros_like", one(m.do2("masked_select", x, first, size)), Int1(int(dtype.Int64)))
		out = append(out, m.Do("scatter_add", []*tensor.Tensor{zeros, number, m.Do("ones_like", one(number), None)}, Int1(0)))
	}
	return out
}

// sliceRanks returns, for each slice of x along d, a number [n] that is equal for equal
// slices, and less for one that comes before in lexical order: ranks of elements are
// joined in pairs.
func (m *maker) sliceRanks(x *tensor.Tensor, d int) *tensor.Tensor {
	n := sizeAt(x, d)
	if n > 0 && x.Numel() == 0 {
		m.refuse("x", Describe(x), fmt.Sprintf("slices along dim %d that have elements", d), "")
	}
	if n == 0 {
		return m.Zeros(dtype.Int64, shape.Shape{0})
	}
	x = m.do("movedim", x.Detach(), IntsN(d), IntsN(0))
	x = m.do("reshape", x, IntsN(n, -1))
	ranks := m.ranksOf(x)
	for ranks.Shape()[1] > 1 {
		pairs := ranks.Shape()[1] / 2
		pair := m.do("reshape", m.Narrow(ranks, 1, 0, 2*pairs), IntsN(n, pairs, 2))
		of := func(i int) *tensor.Tensor { return m.do("select", pair, Int1(2), Int1(i)) }
		joined := m.Add(m.Mul(of(0), integer(n)), of(1))
		if ranks.Shape()[1]%2 == 1 {
			joined = m.Do("cat", []*tensor.Tensor{joined, m.Narrow(ranks, 1, 2*pairs, 1)}, Int1(1))
		}
		ranks = m.ranksOf(joined)
	}
	return m.do("select", ranks, Int1(1), Int1(0))
}

// ranksOf returns which of the distinct elements of its column each of x [n, k] is, in
// ascending order.
func (m *maker) ranksOf(x *tensor.Tensor) *tensor.Tensor {
	sorted := m.all("sort", one(x), Int1(0), Bool1(false), None)
	number := m.Sub(m.do("cumsum", m.Cast(m.begins(sorted[0], 0), dtype.Int64), Int1(0)), integer(1))
	return m.Do("scatter", []*tensor.Tensor{m.Do("zeros_like", one(number), None), sorted[1], number}, Int1(0))
}

func init() {
	compositeOf(&Def{Name: "bincount", Surface: Method | Function,
		Doc: "bincount(x, weights=None, minlength=0, size=None) returns how often each integer from 0 on is in x [n], or the sums of the weights there; at least minlength of them.\n" +
			"size says how many there are; it is an error if there are others. A plan has to know.\n>>> tensor([0, 2, 2]).bincount().tolist()\n[1, 0, 2]",
		Params: []Param{inX, {Name: "weights", Kind: OptTensor, Doc: "a tensor of the shape of x, or None", Default: Default(None)}, inInt("minlength", "how many there are at least", 0), sizeParam}},
		func(m *maker) []*tensor.Tensor { return one(m.counted()) })
	compositeOf(&Def{Name: "histc", Surface: Method | Function,
		Doc:    "histc(x, bins=100, min=0.0, max=0.0) returns how many elements of a float tensor are in each of bins equal parts of min to max; of its own extremes, if these are equal.\nWhat lies outside is left out; max belongs to the last part.\n>>> tensor([1.0, 2.0, 1.0]).histc(bins=4, min=0, max=3).tolist()\n[0.0, 2.0, 1.0, 0.0]",
		Params: []Param{inX, inInt("bins", "how many parts", 100), inFloat("min", "where the first begins", 0), inFloat("max", "where the last ends", 0)}},
		func(m *maker) []*tensor.Tensor { return one(m.histogram()) })
	compositeOf(&Def{Name: "histogram", Surface: Method | Function,
		Doc: "histogram(x, bins, range=None, weight=None, density=False) returns how many elements of a float tensor are in each part, and the edges of the parts.\n" +
			"bins is the edges in ascending order, or how many equal parts there are of range, two numbers, or of\n" +
			"the extremes of x. What lies outside is left out; the last part has its upper edge. With weight an\n" +
			"element counts as much as weight has there; with density the integral over the parts is 1. It has no gradient.\n" +
			">>> [y.tolist() for y in histogram(tensor([1.0, 2.0, 1.0]), 3, range=[0.0, 3.0])]\n[[0.0, 2.0, 1.0], [0.0, 1.0, 2.0, 3.0]]",
		Params: []Param{inX, {Name: "bins", Kind: Operand, Doc: "a tensor [n + 1], or n"}, {Name: "range", Kind: OptFloats, Doc: "two numbers, or None", Default: Default(None)},
			{Name: "weight", Kind: OptTensor, Doc: "a tensor of the shape of x, or None", Default: Default(None)}, {Name: "density", Kind: Bool, Doc: "whether parts are told as a density", Default: Default(None)}}},
		func(m *maker) []*tensor.Tensor { return m.binned() })
	compositeOf(&Def{Name: "histogramdd", Surface: Function, RestTogether: true,
		Doc: "histogramdd(x, bins, range=None, weight=None, density=False) returns how many rows of a float tensor [.., n] are in each box of n dims, and a tuple of the edges of the boxes along each.\n" +
			"bins is a list of n tensors, edges as histogram takes them, or of n ints, how many equal parts there are, or an int for all.\n" +
			"range is then the ends of these, two numbers for each dim. What lies outside is left out. With weight [..] a row counts as\n" +
			"much as weight has there; with density the integral over the boxes is 1. It has no gradient.\n" +
			">>> histogramdd(tensor([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]]), bins=[2, 2])[0].tolist()\n[[0.0, 1.0], [1.0, 1.0]]",
		Params: []Param{inX, {Name: "bins", Kind: Operands, Doc: "a list of n tensors or ints, or an int"}, {Name: "range", Kind: OptFloats, Doc: "2 n numbers, or None", Default: Default(None)},
			{Name: "weight", Kind: OptTensor, Doc: "a tensor of the shape of x without its last dim, or None", Default: Default(None)}, {Name: "density", Kind: Bool, Doc: "whether boxes are told as a density", Default: Default(None)}}},
		func(m *maker) []*tensor.Tensor { return m.boxed() })
	compositeOf(&Def{Name: "combinations", Surface: Function,
		Doc:    "combinations(x, r=2, with_replacement=False) returns the choices of r elements of x [n] in their order, as rows.\n>>> combinations(tensor([1, 2, 3])).tolist()\n[[1, 2], [1, 3], [2, 3]]",
		Params: []Param{inX, inInt("r", "how many", 2), {Name: "with_replacement", Kind: Bool, Doc: "whether an element may come several times", Default: Default(None)}}},
		func(m *maker) []*tensor.Tensor { return one(m.choices()) })
	compositeOf(&Def{Name: "polygamma", Surface: Function,
		Doc:    "polygamma(n, x) returns the derivative number n of digamma, elementwise.\n>>> polygamma(1, tensor([1.0])).tolist()\n[1.644934058189392]",
		Params: []Param{{Name: "n", Kind: Int, Doc: "an int from 0 to 100"}, inX}},
		func(m *maker) []*tensor.Tensor {
			if n := m.int(0); n != 0 {
				return one(m.do("polygamma_of", m.x(0), Int1(n)))
			}
			return one(m.unary("digamma", m.x(0)))
		})
}

// counted returns how often each integer is in x. How many there are follows from
// the elements: of a plain tensor they are looked at, else each becomes a row.
func (m *maker) counted() *tensor.Tensor {
	x, w, least := m.x(0), m.x(1), m.int(0)
	if len(x.Shape()) != 1 || !x.DType().IsInt() {
		m.refuse("x", Describe(x), "an integer tensor [n]", "")
	}
	if dt := x.DType(); dt != dtype.Int64 && dt != dtype.Int32 {
		x = m.Cast(x, dtype.Int64) // what indices are
	}
	if w != nil && !w.Shape().Equal(x.Shape()) {
		m.refuse("weights", Describe(w), "shape "+x.Shape().String(), "that of x")
	}
	if least < 0 || least > 1<<40 {
		m.refuse("minlength", fmt.Sprint(least), "an int from 0 on", "")
	}
	if w != nil && !w.DType().IsFloat() {
		w = m.Cast(w, dtype.Int64)
	}
	if x.Placed() || x.Hollow() || x.Buffer() == nil {
		classes := Int1(-1)
		if m.c.Ctx.Hollow() {
			if classes = m.c.Args[1]; !classes.Set {
				m.check(&UnknownError{Func: m.c.Def.Name, Got: Describe(x), Size: "size"})
			}
		}
		hot := m.do("one_hot", x, classes)
		if w != nil {
			hot = m.Mul(m.Cast(hot, w.DType()), m.column(w, 1))
		}
		y := m.Sum(hot, []int{0}, false)
		if short := least - y.Numel(); short > 0 {
			y = m.do("pad", y, IntsN(0, short), Str1("constant"), Float1(0))
		}
		m.sizedAs(1, y.Numel())
		return y
	}
	low, high := rangeOf(x)
	if low < 0 {
		m.refuse("x", fmt.Sprint(low), "integers from 0 on", "")
	}
	size := max(least, int(high)+1)
	m.sizedAs(1, size)
	if w != nil {
		return m.Do("scatter_add", []*tensor.Tensor{m.Zeros(w.DType(), shape.Shape{size}), x, w}, Int1(0))
	}
	y := m.Zeros(dtype.Int64, shape.Shape{size})
	eachInts(x, func(x []int64) { kernel.Count(tensor.Data[int64](y), x) })
	goruntime.KeepAlive(y)
	return y
}

// rangeOf returns the least and the greatest element of x, a tensor of integers; 0 and -1 of none.
func rangeOf(x *tensor.Tensor) (low, high int64) {
	if x.Numel() == 0 {
		return 0, -1
	}
	low, high = kernel.Min.I64.Zero, kernel.Max.I64.Zero
	eachInts(x, func(x []int64) {
		low, high = min(low, kernel.Min.I64.Block(x)), max(high, kernel.Max.I64.Block(x))
	})
	return low, high
}

// eachInts calls f with the elements of x, a tensor of integers, block by block.
func eachInts(x *tensor.Tensor, f func(x []int64)) {
	mustHaveElements(x)
	xs, n := newSource[int64](x, x.Shape()), x.Numel()
	for lo := 0; lo < n; lo += blockSize {
		f(xs.block(lo, min(lo+blockSize, n)))
	}
	goruntime.KeepAlive(x)
}

// sizedAs ends the making unless there are as many as the argument i, a size, says, if it
// is given.
func (m *maker) sizedAs(i, n int) {
	if size := m.c.Args[i]; size.Set && size.Int != n {
		m.refuse("size", fmt.Sprint(size.Int), fmt.Sprint(n), "as many there are")
	}
}

// histogram returns how many elements lie in each part of a range.
func (m *maker) histogram() *tensor.Tensor {
	x, bins, lo, hi := m.x(0), m.int(0), m.float(1), m.float(2)
	m.check(m.c.checkFloat("x", x))
	if bins < 1 || bins > 1<<32 {
		m.refuse("bins", fmt.Sprint(bins), "a positive int", "")
	}
	if !(lo <= hi) {
		m.refuse("max", fmt.Sprint(hi), "at least min", fmt.Sprintf("min is %v", lo))
	}
	x = m.do("reshape", x, IntsN(-1))
	low, high := number(lo), number(hi)
	if lo == hi && x.Numel() > 0 {
		low, high = m.do("min", x, None, Bool1(false)), m.do("max", x, None, Bool1(false))
		same := m.same(low, high)
		low, high = m.Where(same, m.AddNumber(low, -1), low), m.Where(same, m.AddNumber(high, 1), high)
	}
	inside := m.and(m.binary("ge", x, low), m.binary("le", x, high))
	at := m.Scale(m.Div(m.Sub(x, low), m.Sub(high, low)), float64(bins))
	at = m.Cast(m.do("clamp", m.Where(inside, at, number(0)), Float1(0), Float1(float64(bins-1))), dtype.Int64)
	return m.Do("scatter_add", []*tensor.Tensor{m.Zeros(x.DType(), shape.Shape{bins}), at, m.Cast(inside, x.DType())}, Int1(0))
}

// maxChoices is how many choices there are at the most.
const maxChoices = 1 << 24

// choices returns the choices of r elements of x.
func (m *maker) choices() *tensor.Tensor {
	x, r, again := m.x(0), m.int(0), m.bool(1)
	if len(x.Shape()) != 1 {
		m.refuse("x", Describe(x), "a tensor [n]", "")
	}
	if r < 0 || r > 64 {
		m.refuse("r", fmt.Sprint(r), "an int from 0 to 64", "")
	}
	n := x.Numel()
	var list []int64
	index := make([]int, r)
	var walk func(at, from int)
	walk = func(at, from int) {
		if at == r {
			for _, i := range index {
				list = append(list, int64(i))
			}
			return
		}
		for i := from; i < n && len(list) <= maxChoices; i++ {
			next := i + 1
			if again {
				next = i
			}
			index[at] = i
			walk(at+1, next)
		}
	}
	if r > 0 {
		walk(0, 0)
	}
	if len(list) > maxChoices {
		m.refuse("x", Describe(x), fmt.Sprintf("at most %d numbers in all choices", maxChoices), "")
	}
	at, err := FromInts(m.c.Ctx, dtype.Int64, shape.Shape{len(list)}, list)
	m.check(err)
	return m.Reshape(m.do2("index_select", x, at, Int1(0)), shape.Shape{len(list) / max(r, 1), r})
}

// binned returns how many elements lie between edges, or what they weigh, and the edges.
func (m *maker) binned() []*tensor.Tensor {
	x, w := m.x(0), m.x(2)
	m.check(m.c.checkFloat("x", x))
	if w != nil && (!w.Shape().Equal(x.Shape()) || w.DType() != x.DType()) {
		m.refuse("weight", Describe(w), "a tensor like x", "x is "+Describe(x))
	}
	x = m.do("reshape", x.Detach(), IntsN(-1))
	edges := m.edges(x, m.x(1), m.c.Args[0])
	n := edges.Numel() - 1
	at, inside := m.binOf(edges, x)
	y := m.Do("scatter_add", []*tensor.Tensor{m.Zeros(x.DType(), shape.Shape{n}), at, m.counting(inside, w, x.DType())}, Int1(0))
	if m.bool(1) {
		y = m.Div(m.Div(y, m.do("sum", y, None, Bool1(false))), m.widths(edges))
	}
	return []*tensor.Tensor{y, edges}
}

// binOf returns in which of the parts that edges tell each element of x [n] is, and whether it
// is in one: if not, it is told to be in some.
func (m *maker) binOf(edges, x *tensor.Tensor) (at, inside *tensor.Tensor) {
	n := edges.Numel() - 1
	low, high := m.do("select", edges, Int1(0), Int1(0)), m.do("select", edges, Int1(0), Int1(n))
	inside = m.and(m.binary("ge", x, low), m.binary("le", x, high))
	at = m.Cast(m.AddNumber(m.placesIn(edges, m.Where(inside, x, low), true), -1), dtype.Int64)
	return m.Cast(m.do("clamp", at, Float1(0), Float1(float64(n-1))), dtype.Int64), inside
}

// counting returns what each element counts as: 1, or w if that is given, where it is inside,
// else 0.
func (m *maker) counting(inside, w *tensor.Tensor, dt dtype.DType) *tensor.Tensor {
	if w == nil {
		return m.Cast(inside, dt)
	}
	return m.Where(inside, m.do("reshape", w.Detach(), IntsN(-1)), number(0))
}

// widths returns how wide the parts between edges are.
func (m *maker) widths(edges *tensor.Tensor) *tensor.Tensor {
	n := edges.Numel() - 1
	return m.Sub(m.Narrow(edges, 0, 1, n), m.Narrow(edges, 0, 0, n))
}

// maxBoxes is how many boxes a histogram has at the most.
const maxBoxes = 1 << 32

// boxed returns how many rows of x lie in each box, or what they weigh, and the edges.
func (m *maker) boxed() []*tensor.Tensor {
	x, w, bins, within := m.x(0), m.x(1), m.c.In[2:], m.c.Args[0]
	m.check(m.c.checkFloat("x", x))
	if len(x.Shape()) < 2 {
		m.refuse("x", Describe(x), "a tensor of at least two dims", "its last dim has the coordinates of a point")
	}
	last := len(x.Shape()) - 1
	lead, n := x.Shape()[:last], x.Shape()[last]
	if w != nil && (!w.Shape().Equal(lead) || w.DType() != x.DType()) {
		m.refuse("weight", Describe(w), fmt.Sprintf("%v[%s]", x.DType(), lead.Join()), "x is "+Describe(x))
	}
	if len(bins) == 1 && bins[0] != nil && bins[0].Weak() {
		bins = slices.Repeat(bins, n)
	}
	if len(bins) != n {
		m.refuse("bins", fmt.Sprintf("a list of %d", len(bins)), fmt.Sprintf("a list of %d, or an int", n), "x is "+Describe(x))
	}
	if within.Set && len(within.Floats) != 2*n {
		m.refuse("range", fmt.Sprint(within.Floats), fmt.Sprintf("%d numbers", 2*n), "two for each dim: x is "+Describe(x))
	}
	points := m.Reshape(x.Detach(), shape.Shape{lead.Numel(), n})
	at, inside := m.Zeros(dtype.Int64, shape.Shape{lead.Numel()}), m.Do("ones", nil, IntsN(lead.Numel()), Int1(int(dtype.Bool)))
	sizes, boxes, edges := shape.Shape{}, 1, make([]*tensor.Tensor, n)
	for d := range n {
		ends := None
		if within.Set {
			ends = Arg{Floats: within.Floats[2*d : 2*d+2], Set: true}
		}
		column := m.do("select", points, Int1(1), Int1(d))
		edges[d] = m.edges(column, bins[d], ends)
		parts := edges[d].Numel() - 1
		if boxes *= parts; boxes > maxBoxes {
			m.refuse("bins", fmt.Sprintf("%d boxes", boxes), fmt.Sprintf("at most %d", maxBoxes), "")
		}
		in, is := m.binOf(edges[d], column)
		at, inside = m.Add(m.Mul(at, integer(parts)), in), m.and(inside, is)
		sizes = append(sizes, parts)
	}
	y := m.Do("scatter_add", []*tensor.Tensor{m.Zeros(x.DType(), shape.Shape{boxes}), at, m.counting(inside, w, x.DType())}, Int1(0))
	y = m.Reshape(y, sizes)
	if m.bool(1) {
		y = m.Div(y, m.do("sum", y, None, Bool1(false)))
		for d, e := range edges {
			y = m.Div(y, m.Reshape(m.widths(e), append(shape.Shape{sizes[d]}, make1s(n-d-1)...)))
		}
	}
	return append(one(y), edges...)
}

// edges returns those that bins tells, for elements x [n], and within, two numbers or None.
func (m *maker) edges(x, bins *tensor.Tensor, within Arg) *tensor.Tensor {
	if !bins.Weak() {
		if len(bins.Shape()) != 1 || bins.Numel() < 2 || bins.DType() != x.DType() {
			m.refuse("bins", Describe(bins), fmt.Sprintf("a %v tensor of at least two edges, or an int", x.DType()), "")
		}
		if within.Set {
			m.refuse("range", fmt.Sprint(within.Floats), "None", "bins is the edges")
		}
		return bins.Detach()
	}
	const most, want = 1 << 32, "a positive int, or a tensor of edges"
	if !bins.DType().IsInt() {
		m.refuse("bins", Describe(bins), want, "")
	}
	n := int(Int64s(bins)[0])
	if n < 1 || n > most {
		m.refuse("bins", fmt.Sprint(n), want, "")
	}
	low, high := m.Cast(m.strong(number(0), x.DType()), x.DType()), m.Cast(m.strong(number(1), x.DType()), x.DType())
	switch {
	case within.Set && (len(within.Floats) != 2 || !(within.Floats[0] <= within.Floats[1])):
		m.refuse("range", fmt.Sprint(within.Floats), "two numbers, the second at least the first", "")
	case within.Set:
		low, high = m.strong(number(within.Floats[0]), x.DType()), m.strong(number(within.Floats[1]), x.DType())
	case x.Numel() > 0:
		low, high = m.do("min", x, None, Bool1(false)), m.do("max", x, None, Bool1(false))
	}
	same := m.same(low, high) // such a range becomes one of length 1, as in NumPy
	low, high = m.Where(same, m.AddNumber(low, -0.5), low), m.Where(same, m.AddNumber(high, 0.5), high)
	at := m.Do("arange", []*tensor.Tensor{integer(0), integer(n + 1), nil}, Int1(int(x.DType())))
	step := m.Scale(m.Sub(high, low), 1/float64(n))
	fromLow, fromHigh := m.Add(low, m.Mul(step, at)), m.Sub(high, m.Mul(step, m.AddNumber(m.Neg(at), float64(n))))
	return m.Where(m.binary("lt", at, number(float64(n+1)/2)), fromLow, fromHigh)
}
