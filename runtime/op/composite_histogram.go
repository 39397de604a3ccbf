package op

import (
	"fmt"
	goruntime "runtime"
	"slices"

	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

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
