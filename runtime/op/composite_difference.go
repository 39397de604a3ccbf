package op

import (
	"fmt"
	"slices"

	"tpsh/runtime/dtype"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// initDifferences adds what is made of neighbours along a dim.
func initDifferences() {
	compositeOf(&Def{Name: "diff", Surface: Method | Function, Params: []Param{inX, inInt("n", "how often", 1), inDim("dim", -1),
		{Name: "prepend", Kind: OptTensor, Doc: "what x is joined with in front, along dim", Default: Default(None)}, {Name: "append", Kind: OptTensor, Doc: "what x is joined with behind", Default: Default(None)}},
		Doc: "diff(x, n=1, dim=-1, prepend=None, append=None) returns the differences of neighbours along dim, taken n times.\n>>> tensor([1, 4, 9]).diff().tolist()\n[3, 5]"},
		func(m *maker) []*tensor.Tensor {
			x := m.x(0)
			d := m.dim(1, x)
			if m.int(0) < 0 {
				m.refuse("n", fmt.Sprint(m.int(0)), "a non-negative int", "")
			}
			if list := slices.DeleteFunc([]*tensor.Tensor{m.x(1), x, m.x(2)}, func(x *tensor.Tensor) bool { return x == nil }); len(list) > 1 && m.int(0) > 0 {
				x = m.Do("cat", list, Int1(d))
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
	compositeOf(&Def{Name: "gradient", Surface: Function, List: true, Params: []Param{inX, {Name: "spacing", Kind: Operands, Doc: "how far apart the elements are: a number, or a tensor [n] of where those along dim are; or a list of these, one for each dim", Default: Default(None)}, inDims, inInt("edge_order", "1 or 2: how exact the ends are", 1)},
		Doc: "gradient(x, spacing=1, dim=None, edge_order=1) returns the estimated derivatives of x along each of dims, all if None: by central differences, at the ends by those of 2 or 3 elements.\n>>> [y.tolist() for y in gradient(tensor([1.0, 4.0, 9.0]))]\n[[3.0, 4.0, 5.0]]"},
		(*maker).gradients)
	compositeOf(&Def{Name: "cov", Surface: Method | Function, Params: []Param{inX, inInt("correction", "what the number of observations is lessened by", 1),
		{Name: "fweights", Kind: OptTensor, Doc: "how often each column counts, an integer tensor [n]", Default: Default(None)}, {Name: "aweights", Kind: OptTensor, Doc: "how much each column weighs, a float tensor [n]", Default: Default(None)}},
		Doc: "cov(x, correction=1, fweights=None, aweights=None) returns the covariances of the rows of x, whose columns are observations.\n" +
			"Of weighted columns the number is the sum of the weights; of aweights correction is weighed, too.\n>>> cov(tensor([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])).tolist()\n[[1.0, -1.0], [-1.0, 1.0]]"},
		func(m *maker) []*tensor.Tensor { return one(m.covariance(m.int(0), m.x(1), m.x(2))) })
	compositeOf(&Def{Name: "corrcoef", Surface: Method | Function, Params: xAlone,
		Doc: "corrcoef(x) returns the correlations of the rows of x, whose columns are observations.\n>>> corrcoef(tensor([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])).tolist()\n[[1.0, -1.0], [-1.0, 1.0]]"},
		func(m *maker) []*tensor.Tensor {
			c := m.covariance(1, nil, nil)
			if len(c.Shape()) == 0 {
				return one(m.Div(c, c))
			}
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
	dims := firstInts(len(x.Shape()))
	if a := m.c.Args[0]; a.Set {
		_, err := m.c.Dims(0, x.Shape())
		m.check(err)
		dims = nil
		for _, d := range a.Ints {
			dims = append(dims, (d+len(x.Shape()))%len(x.Shape()))
		}
	}
	spacing := m.c.In[1:]
	if len(spacing) != 1 && len(spacing) != len(dims) {
		m.refuse("spacing", fmt.Sprintf("a list of %d", len(spacing)), fmt.Sprintf("one, or %d", len(dims)), "one for each dim")
	}
	var list []*tensor.Tensor
	for i, d := range dims {
		s := spacing[i%len(spacing)]
		if s != nil && len(s.Shape()) > 1 {
			m.refuse("spacing", Describe(s), "a number, or a tensor [n]", "")
		}
		if n := x.Shape()[d]; n < order+1 {
			m.refuse("x", Describe(x), fmt.Sprintf("at least %d elements along dim %d", order+1, d), "")
		}
		list = append(list, m.gradient(x, s, d, order))
	}
	return list
}

// gradient returns the derivative of x along d, whose elements are apart as s says. With steps a and b to its neighbours an
// element has the derivative of the parabola through the three.
func (m *maker) gradient(x, s *tensor.Tensor, d, order int) *tensor.Tensor {
	n := x.Shape()[d]
	at := func(x *tensor.Tensor, from, size int) *tensor.Tensor {
		return m.do("narrow", x, Int1(d), Int1(from), Int1(size))
	}
	steps := m.steps(x, s, d)
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
// of as many dims as x; s is a number, where they are, or nil for 1.
func (m *maker) steps(x, s *tensor.Tensor, d int) *tensor.Tensor {
	n := x.Shape()[d]
	thin := replaced(make1s(len(x.Shape())), d, n-1)
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

// covariance returns the covariances of the rows of x, of columns that count as often as the
// integers fw say and weigh as much as aw, both nil for 1.
func (m *maker) covariance(correction int, fw, aw *tensor.Tensor) *tensor.Tensor {
	x := m.floats(m.x(0))
	if len(x.Shape()) == 1 {
		x = m.column(x, 0)
	}
	if len(x.Shape()) != 2 {
		m.refuse("x", Describe(x), "a tensor of one or two dims", "")
	}
	weights, left := m.columnWeights(x, correction, fw, aw)
	var c *tensor.Tensor
	if weights == nil {
		x = m.Sub(x, m.do("mean", x, IntsN(1), Bool1(true)))
		c = m.Scale(m.MatMul(x, m.conjTurned(x)), 1/float64(max(x.Shape()[1]-correction, 0)))
	} else {
		mean := m.Div(m.Sum(m.Mul(x, weights), []int{1}, true), m.do("sum", weights, None, Bool1(false)))
		x = m.Sub(x, mean)
		c = m.Div(m.MatMul(m.Mul(x, weights), m.conjTurned(x)), left)
	}
	if x.Shape()[0] == 1 { // as PyTorch has it, of one row as of a vector
		return m.Reshape(c, shape.Shape{})
	}
	return c
}

// columnWeights returns how much the columns of x weigh, and by what the sum of products is
// divided; nil if all weigh 1.
func (m *maker) columnWeights(x *tensor.Tensor, correction int, fw, aw *tensor.Tensor) (weights, left *tensor.Tensor) {
	n := x.Shape()[1]
	for i, w := range []*tensor.Tensor{fw, aw} {
		name, kind, ok := "fweights", "an integer", w != nil && w.DType().IsInt()
		if i == 1 {
			name, kind, ok = "aweights", "a float", w != nil && w.DType().IsFloat()
		}
		if w != nil && (!ok || len(w.Shape()) != 1 || w.Numel() != n) {
			m.refuse(name, Describe(w), fmt.Sprintf("%s tensor [%d]", kind, n), "one for each column of x")
		}
	}
	total := func(w *tensor.Tensor) *tensor.Tensor { return m.do("sum", w, None, Bool1(false)) }
	switch {
	case fw == nil && aw == nil:
		return nil, nil
	case fw == nil:
		weights = aw
	case aw == nil:
		weights = m.Cast(fw, x.DType().Real())
	default:
		weights = m.Mul(fw, aw)
	}
	off := number(float64(correction))
	if aw != nil && correction != 0 {
		off = m.Div(m.Scale(total(m.Mul(weights, aw)), float64(correction)), total(weights))
	}
	return weights, m.do("clamp", m.Sub(total(weights), off), Float1(0), None)
}
