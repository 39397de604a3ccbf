package op

import (
	"fmt"
	"math"

	"tpsh/internal/units"
	"tpsh/runtime/dtype"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// A namedComposite is an operator that is little more than a name of PyTorch's.
type namedComposite struct {
	name    string
	surface Surface
	doc     string
	params  []Param
	make    func(m *maker) []*tensor.Tensor
}

var (
	bothSides = Method | Function
	inDimGive = Param{Name: "dim", Kind: Dim, Doc: "a dim"}
	inSource  = Param{Name: "src", Kind: Tensor, Doc: "what is put there"}
)

var namedComposites = []namedComposite{
	{"round", Method, "round(x, decimals=0) returns x rounded to so many digits behind the point, of floats, or before it where decimals is negative; halves go to the even one, elementwise.\n>>> tensor([0.5, 1.5, -1.2]).round().tolist()\n[0.0, 2.0, -1.0]",
		[]Param{inX, inInt("decimals", "how many digits", 0)}, func(m *maker) []*tensor.Tensor { return one(m.roundedTo()) }},
	{"hypot", bothSides, "hypot(x, other) returns √(x² + other²), elementwise.\n>>> hypot(tensor([3.0]), tensor([4.0])).tolist()\n[5.0]", xOther, (*maker).hypotenuse},
	{"argwhere", bothSides, "argwhere(x, size=None) returns the indices of the elements that are not 0, as rows.\nsize says how many there are; it is an error if there are others. A plan has to know.\n>>> argwhere(tensor([0, 5])).tolist()\n[[1]]", []Param{inX, sizeParam},
		func(m *maker) []*tensor.Tensor { return one(m.do("nonzero", m.x(0), m.c.Args[0])) }},
	{"mH", Internal, "mH(x) returns the conjugated matrices, transposed. Scripts write x.mH.", xAlone, (*maker).adjoint},
	{"H", Internal, "H(x) returns the conjugated matrix x, transposed. Scripts write x.H.", xAlone, func(m *maker) []*tensor.Tensor {
		if len(m.x(0).Shape()) > 2 {
			m.refuse("x", Describe(m.x(0)), "a matrix", ".mH transposes the last two dims")
		}
		if len(m.x(0).Shape()) < 2 {
			return one(m.do("conj", m.x(0)))
		}
		return m.adjoint()
	}},
	{"adjoint", bothSides, "adjoint(x) returns the conjugated matrices, transposed.\n>>> adjoint(tensor([[1, 2]])).shape\n(2, 1)", xAlone, (*maker).adjoint},
	{"resolve_conj", bothSides, "resolve_conj(x) returns x: conjugates are computed at once.\n>>> resolve_conj(ones(1)).tolist()\n[1.0]", xAlone, func(m *maker) []*tensor.Tensor { return one(m.x(0)) }},
	{"resolve_neg", bothSides, "resolve_neg(x) returns x: negatives are computed at once.\n>>> resolve_neg(ones(1)).tolist()\n[1.0]", xAlone, func(m *maker) []*tensor.Tensor { return one(m.x(0)) }},
	{"inverse", bothSides, "inverse(x) is linalg.inv(x).\n>>> inverse(tensor([[2.0]])).tolist()\n[[0.5]]", []Param{inSquares}, func(m *maker) []*tensor.Tensor { return one(m.unary("matrix_inverse", m.x(0))) }},
	{"det", bothSides, "det(x) is linalg.det(x).\n>>> det(tensor([[2.0]]))\n2.0", []Param{inSquares}, func(m *maker) []*tensor.Tensor { return m.all("linalg.det", m.c.In) }},
	{"logdet", bothSides, "logdet(x) returns the logarithms of the determinants of square matrices, NaN of negative ones.\n>>> logdet(tensor([[1.0]]))\n0.0", []Param{inSquares},
		func(m *maker) []*tensor.Tensor {
			out := m.all("log_det", m.c.In)
			return one(m.Where(m.less(out[0], integer(0)), m.AddNumber(m.Scale(out[1], 0), math.NaN()), out[1]))
		}},
	{"pinverse", bothSides, "pinverse(x) is linalg.pinv(x).\n>>> pinverse(tensor([[2.0]])).tolist()\n[[0.5]]", []Param{inMatrix}, func(m *maker) []*tensor.Tensor {
		return m.all("linalg.pinv", []*tensor.Tensor{m.x(0), nil, nil}, Bool1(false))
	}},
	{"matrix_exp", Method, "matrix_exp(x) is linalg.matrix_exp(x).\n>>> zeros(1, 1).matrix_exp().tolist()\n[[1.0]]", []Param{inSquares}, func(m *maker) []*tensor.Tensor { return m.all("linalg.matrix_exp", m.c.In) }},
	{"cholesky_solve", bothSides, "cholesky_solve(x, other, upper=False) returns y with a y = x, where other is the Cholesky factor of a, lower triangular, or with upper its transpose.\n>>> cholesky_solve(tensor([[8.0]]), tensor([[2.0]])).tolist()\n[[2.0]]",
		[]Param{inMatrix, {Name: "other", Kind: Tensor, Doc: "Cholesky factors"}, {Name: "upper", Kind: Bool, Doc: "which triangle counts", Default: Default(None)}},
		func(m *maker) []*tensor.Tensor { return one(m.solvedByFactor(m.x(0), m.x(1), m.bool(0))) }},
	{"cholesky_inverse", bothSides, "cholesky_inverse(x, upper=False) returns the inverses of matrices whose Cholesky factors x are.\n>>> cholesky_inverse(tensor([[2.0]])).tolist()\n[[0.25]]",
		[]Param{inSquares, {Name: "upper", Kind: Bool, Doc: "which triangle counts", Default: Default(None)}},
		func(m *maker) []*tensor.Tensor {
			if len(m.x(0).Shape()) < 2 {
				m.refuse("x", Describe(m.x(0)), "square matrices", "")
			}
			n, _ := matrix(m.x(0))
			return one(m.solvedByFactor(m.eye(n, n, m.x(0).DType()), m.x(0), m.bool(0)))
		}},
	{"vander", Linalg, "vander(x, N=None) returns the powers 0 to N - 1 of the elements of x [.., n] in columns, n of them if None.\n>>> linalg.vander(tensor([2, 3])).tolist()\n[[1, 2], [1, 3]]",
		[]Param{inX, {Name: "N", Kind: OptInt, Doc: "columns", Default: Default(None)}},
		func(m *maker) []*tensor.Tensor {
			x := m.x(0)
			if len(x.Shape()) == 0 {
				x = m.column(x, 0)
			}
			n := sizeAt(x, len(x.Shape())-1)
			if a := m.c.Args[0]; a.Set {
				n = a.Int
			}
			if n < 0 || n > 1<<20 {
				m.refuse("N", fmt.Sprint(n), "an int from 0 to 1048576", "")
			}
			return one(m.binary("pow", m.column(x, len(x.Shape())), m.upTo(n)))
		}},
	{"vecdot", Linalg, "vecdot(x, other, dim=-1) returns the sums of products of vectors along dim, of complex ones those of the conjugates of x.\n>>> linalg.vecdot(tensor([1, 2]), tensor([3, 4]))\n11", append(twoAlone[:2:2], inDim("dim", -1)),
		func(m *maker) []*tensor.Tensor {
			return one(m.Sum(m.Mul(m.do("conj", m.x(0)), m.x(1)), []int{m.int(0)}, false))
		}},
	{"matmul", Linalg, "matmul(x, other) is matmul(x, other).\n>>> linalg.matmul(ones(1, 2), ones(2, 1)).tolist()\n[[2.0]]", twoAlone, func(m *maker) []*tensor.Tensor { return one(m.product()) }},
	{"diagonal", Linalg, "diagonal(x, offset=0, dim1=-2, dim2=-1) returns the diagonals of matrices.\n>>> linalg.diagonal(tensor([[1, 2], [3, 4]])).tolist()\n[1, 4]", []Param{inX, inInt("offset", "how far above the main one", 0), inDim("dim1", -2), inDim("dim2", -1)},
		func(m *maker) []*tensor.Tensor { return one(m.do("diagonal", m.x(0), m.c.Args...)) }},
	{"select_scatter", bothSides, "select_scatter(x, src, dim, index) returns a copy of x with src in the place of select(x, dim, index).\n>>> select_scatter(zeros(2, 2), ones(2), 0, 1).tolist()\n[[0.0, 0.0], [1.0, 1.0]]",
		[]Param{inX, inSource, inDimGive, {Name: "index", Kind: Int, Doc: "an index of dim"}},
		func(m *maker) []*tensor.Tensor {
			d := m.dim(0, m.x(0))
			n, i := sizeAt(m.x(0), d), m.int(1)
			if i < -n || i >= n {
				m.refuse("index", fmt.Sprint(i), fmt.Sprintf("%d..%d", -n, n-1), "")
			}
			return one(m.spliced(m.do("unsqueeze", m.x(1), Int1(d)), d, (i%n+n)%n, 1, 1))
		}},
	{"slice_scatter", bothSides, "slice_scatter(x, src, dim=0, start=0, end=None, step=1) returns a copy of x with src in the place of the elements start to end of dim, by step.\n>>> slice_scatter(zeros(3), ones(2), 0, 1).tolist()\n[0.0, 1.0, 1.0]",
		[]Param{inX, inSource, inDim("dim", 0), inInt("start", "the first", 0), {Name: "end", Kind: OptInt, Doc: "one past the last, None for the end", Default: Default(None)}, inInt("step", "how far apart", 1)},
		func(m *maker) []*tensor.Tensor {
			d := m.dim(0, m.x(0))
			n, step := sizeAt(m.x(0), d), m.int(3)
			if step < 1 {
				m.refuse("step", fmt.Sprint(step), "a positive int", "")
			}
			clip := func(i int) int {
				if i < 0 {
					i += n
				}
				return min(max(i, 0), n)
			}
			lo, hi := clip(m.int(1)), n
			if a := m.c.Args[2]; a.Set {
				hi = clip(a.Int)
			}
			count := 0
			if hi > lo {
				count = (hi-lo-1)/step + 1
			}
			return one(m.spliced(m.x(1), d, lo, count, step))
		}},
	{"sum_to_size", Method, "sum_to_size(x, *size) returns x summed over the dims that broadcasting from size would make.\n>>> ones(2, 3).sum_to_size(1, 3).tolist()\n[[2.0, 2.0, 2.0]]",
		[]Param{inX, {Name: "size", Kind: Sizes, Doc: "a shape that broadcasts to that of x"}},
		func(m *maker) []*tensor.Tensor {
			x, s := m.x(0), shape.Shape(m.listOf(0))
			if to, ok := shape.Broadcast(s, x.Shape()); !ok || !to.Equal(x.Shape()) {
				m.refuse("size", s.String(), "a shape that broadcasts to "+x.Shape().String(), "")
			}
			return one(m.SumTo(x, s))
		}},
	{"type_as", Method, "type_as(x, other) returns x in the dtype of other.\n>>> tensor([1]).type_as(ones(1)).tolist()\n[1.0]", asParams,
		func(m *maker) []*tensor.Tensor { return one(m.do("to", m.x(0), Int1(int(m.x(1).DType())))) }},
	{"scalar_tensor", Function, "scalar_tensor(value, dtype=None) returns the number value as a tensor of shape ().\n>>> scalar_tensor(2.5)\n2.5", []Param{{Name: "value", Kind: Float, Doc: "a number"}, {Name: "dtype", Kind: OptDType, Doc: "a dtype, None for the default float", Default: Default(None)}},
		func(m *maker) []*tensor.Tensor {
			dt := m.c.Args[1]
			if !dt.Set {
				dt = Int1(int(m.c.Ctx.Float))
			}
			return one(m.Do("full", one(number(m.float(0))), IntsN(), dt))
		}},
	{"isin", Function, "isin(x, test, invert=False) returns which elements of x are among those of test, or with invert which are not.\n>>> isin(tensor([1, 2, 3]), tensor([2])).tolist()\n[False, True, False]",
		[]Param{{Name: "x", Kind: Tensor, Doc: "elements"}, {Name: "test", Kind: Tensor, Doc: "a tensor"}, {Name: "invert", Kind: Bool, Doc: "whether the others are meant", Default: Default(None)}},
		func(m *maker) []*tensor.Tensor {
			x := m.x(0)
			y := m.do("any", m.same(m.do("unsqueeze", x, Int1(-1)), m.do("reshape", m.x(1), IntsN(-1))), IntsN(-1), None)
			if m.bool(0) {
				y = m.not(y)
			}
			return one(y)
		}},
	{"pdist", Namespace, "pdist(x, p=2) returns the p-norms of the differences of the rows of x [n, k], of each pair once, in order.\n>>> F.pdist(tensor([[0.0, 0.0], [3.0, 4.0]])).tolist()\n[5.0]", []Param{inX, inFloat("p", "which norm", 2)},
		func(m *maker) []*tensor.Tensor {
			x := m.floats(m.x(0))
			if len(x.Shape()) != 2 {
				m.refuse("x", Describe(x), "rows [n, k]", "")
			}
			pairs := m.Do("triu_indices", nil, Int1(x.Shape()[0]), Int1(x.Shape()[0]), Int1(1), Int1(int(dtype.Int64)))
			row := func(i int) *tensor.Tensor {
				return m.Do("index_select", []*tensor.Tensor{x, m.do("select", pairs, Int1(0), Int1(i))}, Int1(0))
			}
			return one(m.do("norm", m.Sub(row(0), row(1)), m.c.Args[0], IntsN(-1), None))
		}},
	{"bilinear", Namespace, "bilinear(x1, x2, weight, bias=None) returns x1ᵀ weight[o] x2 + bias[o] for each o, of vectors x1 [.., i] and x2 [.., j] and weight [o, i, j].\n>>> F.bilinear(ones(1, 2), ones(1, 3), ones(1, 2, 3)).tolist()\n[[6.0]]",
		[]Param{{Name: "x1", Also: []string{"input1"}, Kind: Tensor, Doc: "vectors"}, {Name: "x2", Also: []string{"input2"}, Kind: Tensor, Doc: "vectors"}, {Name: "weight", Kind: Tensor, Doc: "matrices"}, {Name: "bias", Kind: OptTensor, Doc: "numbers", Default: Default(None)}},
		func(m *maker) []*tensor.Tensor {
			y := m.Do("einsum", m.c.In[:3], Str1("...i,...j,oij->...o"))
			return one(m.sum(y, m.x(3)))
		}},
}

func init() {
	for _, e := range namedComposites {
		compositeOf(&Def{Name: e.name, Surface: e.surface, Doc: e.doc, Params: e.params, Creates: e.name == "scalar_tensor"}, e.make)
	}
	for _, e := range []struct {
		name        string
		dim, least  int // least is how many dims x has at least
		also        string
		like, shows string
	}{
		{"hsplit", 1, 1, ", or 0 of a vector", "4", "(2,)"},
		{"vsplit", 0, 2, "", "2, 1", "(1, 1)"},
		{"dsplit", 2, 3, "", "1, 1, 2", "(1, 1, 1)"},
	} {
		compositeOf(&Def{Name: e.name, Surface: bothSides, List: true, Params: []Param{inX, {Name: "sections", Also: []string{"indices_or_sections"}, Kind: IntOrSeq, Doc: "how many equal parts, or where they begin"}},
			MakeDoc: func() string {
				return fmt.Sprintf("%s(x, sections) returns x in parts along dim %d%s, as tensor_split does.\n>>> [y.shape for y in ones(%s).%s(2)]\n[%s, %s]", e.name, e.dim, e.also, e.like, e.name, e.shows, e.shows)
			}},
			func(m *maker) []*tensor.Tensor {
				x := m.x(0)
				if len(x.Shape()) < e.least {
					m.refuse("x", Describe(x), "a tensor of at least "+units.Count(e.least, "dim"), "")
				}
				return m.all("tensor_split", one(x), m.c.Args[0], Int1(min(e.dim, len(x.Shape())-1)))
			})
	}
}

// hypotenuse is √(x² + y²).
func (m *maker) hypotenuse() []*tensor.Tensor {
	x, y := m.unary("abs", m.floats(m.x(0))), m.unary("abs", m.floats(m.x(1)))
	return one(m.unary("sqrt", m.Add(m.Mul(x, x), m.Mul(y, y))))
}

func (m *maker) adjoint() []*tensor.Tensor {
	if len(m.x(0).Shape()) < 2 {
		m.refuse("x", Describe(m.x(0)), "matrices", "")
	}
	return one(m.do("conj", m.turned(m.x(0))))
}

// solvedByFactor returns y with l lᵀ y = b, or of an upper factor lᵀ l y = b.
func (m *maker) solvedByFactor(b, l *tensor.Tensor, upper bool) *tensor.Tensor {
	if len(l.Shape()) < 2 {
		m.refuse("other", Describe(l), "square matrices", "")
	}
	l, b = m.sameBatches(l, b)
	if upper {
		l = m.conjTurned(m.factor(l, "triu", "tril", -1))
	} else {
		l = m.factor(l, "tril", "triu", 1)
	}
	return m.binary("matrix_solve", m.conjTurned(l), m.binary("matrix_solve", l, b))
}

// factor returns the triangle of Cholesky factors l that counts. The rest, which should be
// 0, has the gradient that it would have if it counted, too, as in PyTorch.
func (m *maker) factor(l *tensor.Tensor, triangle, rest string, from int) *tensor.Tensor {
	other := m.do(rest, l, Int1(from))
	other = m.Where(m.unary("isfinite", other), other, number(0))
	return m.Add(m.do(triangle, l, Int1(0)), m.Sub(other, other.Detach()))
}

// spliced returns the first tensor with src in the place of count elements of dim d,
// from at on, by step.
func (m *maker) spliced(src *tensor.Tensor, d, at, count, step int) *tensor.Tensor {
	x := m.x(0)
	if len(x.Shape()) == 0 {
		m.refuse("x", Describe(x), "a tensor of at least one dim", "")
	}
	want := append(shape.Shape(nil), x.Shape()...)
	want[d] = count
	if !src.Shape().Equal(want) {
		m.refuse("src", Describe(m.x(1)), "the shape of what it replaces, "+want.String(), "")
	}
	index := m.Add(m.Mul(m.upTo(count), integer(step)), integer(at))
	return m.Do("index_copy", []*tensor.Tensor{x, index, m.Cast(src, x.DType())}, Int1(d))
}
