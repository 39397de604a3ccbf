package op

import (
	"fmt"
	"math"
	"slices"

	"tpsh/runtime/dtype"
	"tpsh/runtime/tensor"
)

// linalgComposites are the functions of the module linalg.
var linalgComposites = []struct {
	name   string
	doc    string
	params []Param
	make   func(m *maker) []*tensor.Tensor
}{
	{"inv", "inv(x) returns the inverses of square matrices. A singular matrix is an error.\n>>> linalg.inv(tensor([[2.0, 0.0], [0.0, 4.0]])).tolist()\n[[0.5, 0.0], [0.0, 0.25]]", []Param{inSquares},
		func(m *maker) []*tensor.Tensor { return one(m.unary("matrix_inverse", m.x(0))) }},
	{"solve", "solve(x, b, left=True) returns y with x y = b, or y x = b if not left, for square matrices x and b of matrices, or a vector.\n>>> linalg.solve(tensor([[2.0, 0.0], [0.0, 4.0]]), tensor([2.0, 4.0])).tolist()\n[1.0, 1.0]", []Param{inSquares, called([]Param{inB}, "b", "B")[0], inLeft}, makeSolve},
	{"det", "det(x) returns the determinants of square matrices.\n>>> linalg.det(tensor([[2.0, 1.0], [0.0, 4.0]]))\n8.0", []Param{inSquares},
		func(m *maker) []*tensor.Tensor {
			out := m.all("log_det", m.c.In)
			return one(m.Mul(out[0], m.unary("exp", out[1])))
		}},
	{"slogdet", "slogdet(x) returns the signs of the determinants of square matrices, and the logarithms of their absolute values.\n>>> linalg.slogdet(tensor([[-1.0]]))\n(-1.0, 0.0)", []Param{inSquares},
		func(m *maker) []*tensor.Tensor { return m.all("log_det", m.c.In) }},
	{"cholesky", "cholesky(x, upper=False) returns the lower triangular l with l @ l.T = x, of positive definite matrices, or its transpose.\n>>> linalg.cholesky(tensor([[4.0]])).tolist()\n[[2.0]]", []Param{inSquares, {Name: "upper", Kind: Bool, Doc: "whether it is transposed", Default: Default(None)}},
		func(m *maker) []*tensor.Tensor {
			l := m.unary("matrix_cholesky", m.x(0))
			if m.bool(0) {
				l = m.conjTurned(l)
			}
			return one(l)
		}},
	{"qr", "qr(x) returns q [.., m, k] with orthonormal columns and the upper triangular r [.., k, n] with q @ r = x; k is the lesser of m and n.\n>>> [abs(v) for v in linalg.qr(tensor([[3.0], [4.0]]))[1].flatten().tolist()]\n[5.0]", []Param{inMatrix},
		func(m *maker) []*tensor.Tensor { return m.all("matrix_qr", m.c.In) }},
	{"svd", "svd(x, full_matrices=False) returns u, the singular values in descending order, and vᵀ: u * s @ vᵀ = x. With full_matrices u and vᵀ are square; what they have more has no gradient.\n>>> linalg.svd(tensor([[3.0, 0.0], [0.0, 4.0]]))[1].tolist()\n[4.0, 3.0]", []Param{inMatrix, {Name: "full_matrices", Kind: Bool, Doc: "whether u and vᵀ are square", Default: Default(None)}},
		func(m *maker) []*tensor.Tensor {
			out := m.all("matrix_svd", m.c.In)
			if m.bool(0) {
				out[0], out[2] = m.completed(out[0]), m.conjTurned(m.completed(m.conjTurned(out[2])))
			}
			return out
		}},
	{"svdvals", "svdvals(x) returns the singular values of matrices in descending order.\n>>> linalg.svdvals(tensor([[3.0, 0.0], [0.0, 4.0]])).tolist()\n[4.0, 3.0]", []Param{inMatrix},
		func(m *maker) []*tensor.Tensor { return one(m.singular(m.x(0))) }},
	{"eigh", "eigh(x, UPLO=\"L\") returns the eigenvalues of symmetric matrices in ascending order, and the eigenvectors as columns. It reads the lower triangles, or with \"U\" the upper ones.\n>>> linalg.eigh(tensor([[2.0, 0.0], [0.0, 1.0]]))[0].tolist()\n[1.0, 2.0]", []Param{inSquares, inTriangle},
		func(m *maker) []*tensor.Tensor { return m.all("matrix_eigh", m.c.In, m.upper(0)) }},
	{"eigvalsh", "eigvalsh(x, UPLO=\"L\") returns the eigenvalues of symmetric matrices in ascending order. It reads the lower triangles, or with \"U\" the upper ones.\n>>> linalg.eigvalsh(tensor([[2.0, 0.0], [0.0, 1.0]])).tolist()\n[1.0, 2.0]", []Param{inSquares, inTriangle},
		func(m *maker) []*tensor.Tensor { return one(m.do("matrix_eigvalsh", m.x(0), m.upper(0))) }},
	{"pinv", "pinv(x, rtol=None, atol=None, hermitian=False) returns the pseudoinverses of matrices. Singular values count as 0 that are not above atol, 0 if None, and rtol times the greatest;\nrtol is, if None, 0 where atol is given, else the greater size times the dtype's precision. hermitian says that x is so: then the lower triangles are read.\n>>> linalg.pinv(tensor([[2.0], [0.0]])).tolist()\n[[0.5, 0.0]]", []Param{inMatrix, inRtol, inAtol, inAsHermitian},
		func(m *maker) []*tensor.Tensor {
			m.checkHermitian()
			x := m.x(0).Detach()
			if m.bool(0) {
				x = m.Add(m.lower(x, 0), m.conjTurned(m.lower(x, -1)))
			}
			p := m.pseudoinverse(x, m.x(2), m.x(1)) // of more matrices than x has, where limits are
			x = m.x(0)
			if d := len(p.Shape()) - 2; d > len(x.Shape())-2 || !slices.Equal(p.Shape()[:d], x.Shape()[:d]) {
				x = m.Expand(x, slices.Concat(p.Shape()[:d], x.Shape()[len(x.Shape())-2:]))
			}
			return one(m.binary("known_pinv", x, p))
		}},
	{"lstsq", "lstsq(x, b, rcond=None, driver=None) returns the y of least norm for which x @ y is nearest to b, the residuals, the ranks of x and its singular values.\n" +
		"Singular values count as 0 that are not above rcond times the greatest; rcond is the greater size times the dtype's precision if None. driver is the routine of LAPACK whose\n" +
		"other results are returned: of \"gelsy\", as if None, the ranks; of \"gels\" the residuals; of \"gelsd\" and \"gelss\" all three. Residuals are the sums of squares over the\n" +
		"rows of x @ y - b, of matrices with more rows than columns. What is not returned is an empty tensor.\n>>> linalg.lstsq(tensor([[1.0], [1.0]]), tensor([[1.0], [3.0]]))[0].round().tolist()\n[[2.0]]",
		[]Param{inMatrix, inB, {Name: "rcond", Kind: OptOperand, Doc: "a relative limit", Default: Default(None)}, {Name: "driver", Kind: OptChoice, Doc: "whose results", Choices: []string{"gels", "gelsy", "gelsd", "gelss"}, Default: Default(None)}}, makeLeastSquares},
	{"matrix_rank", "matrix_rank(x, atol=None, rtol=None, hermitian=False) returns how many singular values of matrices are above atol, 0 if None, and rtol times the greatest, as pinv has them.\nhermitian says that x is so: then they are the sizes of the eigenvalues, and the lower triangles are read.\n>>> linalg.matrix_rank(ones(2, 2))\n1", []Param{inMatrix, inAtol, inRtol, inAsHermitian},
		func(m *maker) []*tensor.Tensor {
			m.checkHermitian()
			x := m.x(0).Detach()
			if m.bool(0) {
				s := m.unary("abs", m.do("matrix_eigvalsh", x, Bool1(false)))
				return one(m.rank(x, m.all("sort", one(s), Int1(-1), Bool1(true), None)[0], m.x(1), m.x(2)))
			}
			return one(m.rank(x, m.singular(x), m.x(1), m.x(2)))
		}},
	{"cond", "cond(x, p=None) returns the greatest singular values of matrices divided by the least, if p is None or 2; if -2 the least by the greatest, else the norms p of square matrices times those of their inverses, inf where there is none.\n>>> linalg.cond(tensor([[2.0, 0.0], [0.0, 4.0]]))\n2.0", []Param{inMatrix, inCondNorm},
		func(m *maker) []*tensor.Tensor { return one(m.condition(m.c.Args[0])) }},
	{"matrix_exp", "matrix_exp(x) returns the exponentials of square matrices.\n>>> linalg.matrix_exp(zeros(1, 1)).tolist()\n[[1.0]]", []Param{inSquares},
		func(m *maker) []*tensor.Tensor { return one(m.unary("matrix_exp", m.x(0))) }},
	{"matrix_power", "matrix_power(x, n) returns the product of n times x, square matrices; of the inverse where n is negative.\n>>> linalg.matrix_power(tensor([[2.0]]), -1).tolist()\n[[0.5]]", []Param{inSquares, {Name: "n", Kind: Int, Doc: "an int"}},
		func(m *maker) []*tensor.Tensor {
			x, n := m.x(0), m.int(0)
			if n < 0 && n > -1<<62 {
				x, n = m.unary("matrix_inverse", x), -n
			}
			return one(m.matrixPower(x, n))
		}},
	{"multi_dot", "multi_dot(tensors) returns the product of matrices, from the left.\n>>> linalg.multi_dot([ones(1, 2), ones(2, 1)]).tolist()\n[[2.0]]", []Param{inTensors},
		func(m *maker) []*tensor.Tensor { return m.all("chain_matmul", m.c.In) }},
	{"vector_norm", "vector_norm(x, ord=2, dim=None, keepdim=False) returns the norms of vectors along dim.\n>>> linalg.vector_norm(tensor([3.0, 4.0]))\n5.0", []Param{inX, inFloat("ord", "which norm", 2), inDims, keepdimParam},
		func(m *maker) []*tensor.Tensor { return one(m.do("norm", m.x(0), m.c.Args...)) }},
	{"norm", "norm(x, ord=None, dim=None, keepdim=False) returns the norms of vectors along one dim, or of matrices along two: without ord the root of the sum of squares;\nof matrices ord is 1 or -1 for columns, inf or -inf for rows, 2 or -2 for singular values, \"fro\" as without ord or \"nuc\" for the sum of the singular values.\n>>> linalg.norm(tensor([[3.0, 4.0]]))\n5.0", []Param{inX, {Name: "ord", Kind: OptFloat, Doc: "which norm: a number, None or", Choices: []string{"fro", "nuc"}, Default: Default(None)}, inDims, keepdimParam}, makeNorm},
	{"cross", "cross(x, other, dim=-1) returns the cross products of vectors of 3 along dim.\n>>> linalg.cross(tensor([1, 0, 0]), tensor([0, 1, 0])).tolist()\n[0, 0, 1]", append(twoAlone[:2:2], inDim("dim", -1)),
		func(m *maker) []*tensor.Tensor { return one(makeCross(m)) }},
}

func init() {
	compositeOf(&Def{Name: "norm_named", Surface: Internal, Doc: "norm_named(x, p, dim=None, keepdim=False) returns linalg.norm(x, p, dim, keepdim), of \"fro\" over any dims. Scripts write norm(x, p).",
		Params: []Param{inX, {Name: "p", Kind: Float, Doc: "which norm: a number, or", Choices: []string{"fro", "nuc"}}, inDims, keepdimParam}},
		func(m *maker) []*tensor.Tensor {
			p, x := m.c.Args[0], m.x(0)
			if p.Str == "" {
				return one(m.do("norm", x, m.c.Args...))
			}
			return m.all("linalg.norm", one(x), m.c.Args...)
		})
}

var inCondNorm = Param{Name: "p", Kind: OptFloat, Doc: "which norm: 1, -1, 2, -2, inf, -inf, None or", Choices: []string{"fro", "nuc"}, Default: Default(None)}

var (
	inRtol        = Param{Name: "rtol", Kind: OptOperand, Doc: "a relative limit: a number, or a tensor with one for each matrix", Default: Default(None)}
	inAtol        = Param{Name: "atol", Kind: OptOperand, Doc: "an absolute limit: a number, or a tensor with one for each matrix", Default: Default(None)}
	inAsHermitian = Param{Name: "hermitian", Kind: Bool, Doc: "whether x is symmetric, or of complex numbers Hermitian", Default: Default(None)}
	inTriangle    = Param{Name: "UPLO", Kind: Choice, Doc: "which triangle is read", Choices: []string{"L", "U"}, Default: Default(Str1("L"))}
)

func init() {
	for _, e := range linalgComposites {
		compositeOf(&Def{Name: e.name, Surface: Linalg, Doc: e.doc, Params: e.params}, e.make)
	}
}

func makeSolve(m *maker) []*tensor.Tensor { return one(m.solved(m.x(0), m.x(1), m.bool(0))) }

// solved returns y with x y = b, or y x = b if not left.
func (m *maker) solved(x, b *tensor.Tensor, left bool) *tensor.Tensor {
	if len(b.Shape()) == len(x.Shape())-1 && len(b.Shape()) > 0 { // vectors
		n := len(b.Shape())
		if !left {
			x = m.turned(x)
		}
		y := m.binary("matrix_solve", x, m.column(b, n))
		return m.do("select", y, Int1(n), Int1(0))
	}
	if !left {
		m.checkMatrices("b", b)
		return m.turned(m.binary("matrix_solve", m.turned(x), m.turned(b)))
	}
	return m.binary("matrix_solve", x, b)
}

// singular returns the singular values of matrices.
func (m *maker) singular(x *tensor.Tensor) *tensor.Tensor { return m.unary("matrix_svdvals", x) }

// upper returns whether the argument i, a UPLO, says that the upper triangle is read.
func (m *maker) upper(i int) Arg { return Bool1(m.c.Args[i].Str == "U") }

// checkHermitian refuses matrices that are not square where the first argument says that
// they are Hermitian.
func (m *maker) checkHermitian() {
	m.checkMatrices("x", m.x(0))
	if rows, cols := matrix(m.x(0)); m.bool(0) && rows != cols {
		m.refuse("x", Describe(m.x(0)), "square matrices", "hermitian is True")
	}
}

// limit returns, for each matrix of x with singular values s in descending order, the value
// up to which these count as 0; atol and rtol are nil for None.
func (m *maker) limit(x, s, atol, rtol *tensor.Tensor) *tensor.Tensor {
	rows, cols := matrix(x)
	if rtol == nil {
		rtol = number(usualLimit(x))
		if atol != nil {
			rtol = m.Where(m.greater(atol, number(0)), number(0), rtol)
		}
	}
	each := func(v *tensor.Tensor) *tensor.Tensor { // a number is one for all matrices
		if len(v.Shape()) == 0 {
			return v
		}
		return m.column(v, len(v.Shape()))
	}
	bound := m.Mul(m.do("narrow", s, Int1(-1), Int1(0), Int1(min(1, rows, cols))), each(rtol))
	if atol != nil {
		bound = m.binary("maximum", bound, each(atol))
	}
	return bound
}

// pseudoinverse returns those of x. What they are made of has no gradient where singular
// values are equal: known_pinv has it.
func (m *maker) pseudoinverse(x, atol, rtol *tensor.Tensor) *tensor.Tensor {
	usv := m.all("matrix_svd", one(x))
	inv := m.inverses(x, usv[1], atol, rtol)
	y := m.MatMul(m.Mul(m.conjTurned(usv[2]), m.column(inv, len(inv.Shape())-1)), m.conjTurned(usv[0]))
	return m.Cast(y, x.DType())
}

// inverses returns 1 / s of the singular values s of x, and 0 of those that count as 0.
func (m *maker) inverses(x, s, atol, rtol *tensor.Tensor) *tensor.Tensor {
	large := m.greater(s, m.limit(x, s, atol, rtol))
	return m.Where(large, m.unary("reciprocal", m.Where(large, s, number(1))), number(0))
}

// completed returns orthonormal columns u [.., m, k] with others behind them, m in all: the
// last ones of the reflectors that give u, without a gradient.
func (m *maker) completed(u *tensor.Tensor) *tensor.Tensor {
	rows, k := matrix(u)
	if k == rows {
		return u
	}
	d := len(u.Shape())
	eye := m.eye(rows, rows, u.DType())
	rest := m.Narrow(m.Expand(eye, append(slices.Clone(u.Shape()[:d-1]), rows)), d-1, k, rows-k)
	if k > 0 {
		out := m.all("matrix_reflectors", one(u.Detach()))
		rest = m.reflected(out[0], out[1], rest, false)
	}
	return m.Do("cat", []*tensor.Tensor{u, rest}, Int1(d-1))
}

func makeLeastSquares(m *maker) []*tensor.Tensor {
	x, b, driver := m.x(0), m.x(1), m.c.Args[0].Str
	if m.byTriangles(x, b) && driver != "gelsd" && driver != "gelss" {
		return m.leastSquares(x, b, driver)
	}
	usv := m.all("matrix_svd", one(x))
	y, s := m.nearest(x, usv, b, m.x(2)), usv[1].Detach()
	nothing := m.Narrow(m.do("flatten", s, Int1(0), Int1(-1)), 0, 0, 0)
	out := []*tensor.Tensor{y, nothing, m.Cast(nothing, dtype.Int64), nothing}
	if rows, cols := matrix(x); rows > cols && driver != "" && driver != "gelsy" {
		out[1] = m.residuals(x, y, b)
	}
	if driver != "gels" {
		out[2] = m.rank(x, s, nil, m.x(2))
	}
	if driver == "gelsd" || driver == "gelss" {
		out[3] = s
	}
	return out
}

// residuals returns the sums of the squares of x y - b over rows.
func (m *maker) residuals(x, y, b *tensor.Tensor) *tensor.Tensor {
	return m.squares(m.Sub(m.MatMul(x, y), b), len(b.Shape())-min(2, len(b.Shape())))
}

// byTriangles reports whether matrix_lstsq finds what lstsq returns of x and b, but for the singular
// values: not of complex numbers, of other ranks than it is usual to count, of right sides
// for more matrices than there are, nor of what ranks have among them that is factored by blocks.
func (m *maker) byTriangles(x, b *tensor.Tensor) bool {
	if m.x(2) != nil || !x.DType().IsFloat() || !b.DType().IsFloat() || x.Ndim() < 2 || b.Ndim() < 1 {
		return false
	}
	if x.Placed() && (tallParts(x) > 0 || tallParts(m.turned(x.Detach())) > 0) {
		return false
	}
	rows := b.Shape()
	if b.Ndim() > 1 {
		rows = rows[:b.Ndim()-1]
	}
	return rows.Equal(x.Shape()[:x.Ndim()-1])
}

// leastSquares is makeLeastSquares by matrix_lstsq.
func (m *maker) leastSquares(x, b *tensor.Tensor, driver string) []*tensor.Tensor {
	columns := b
	if b.Ndim() == 1 {
		columns = m.column(b, 1)
	}
	found := m.all("matrix_lstsq", []*tensor.Tensor{x, columns}, Float1(usualLimit(x)))
	y, ranks := found[0], found[1].Detach()
	if b.Ndim() == 1 {
		y = m.do("select", y, Int1(-1), Int1(0))
	}
	nothing := m.Narrow(m.do("flatten", ranks, Int1(0), Int1(-1)), 0, 0, 0)
	out := []*tensor.Tensor{y, nothing, m.Cast(nothing, dtype.Int64), nothing}
	if rows, cols := matrix(x); rows > cols && driver == "gels" {
		out[1] = m.residuals(x, y, b)
	}
	if driver != "gels" {
		out[2] = m.Cast(ranks, dtype.Int64)
	}
	return out
}

// usualLimit returns up to which part of the greatest singular value of matrices x others count as
// 0, if it is not said.
func usualLimit(x *tensor.Tensor) float64 {
	rows, cols := matrix(x)
	if x.DType().Real().Size() == 8 {
		return float64(max(rows, cols)) * 0x1p-52
	}
	return float64(max(rows, cols)) * 0x1p-23
}

// squares returns the sum of the squares of x along d.
func (m *maker) squares(x *tensor.Tensor, d int) *tensor.Tensor {
	return m.Sum(m.unary("square", m.unary("abs", x)), []int{d}, false)
}

// nearest returns the y of least norm for which x y is nearest to b, for usv, the u, s and vᴴ of x:
// the pseudoinverse, whose product with b is made without it.
func (m *maker) nearest(x *tensor.Tensor, usv []*tensor.Tensor, b, rtol *tensor.Tensor) *tensor.Tensor {
	inv := m.inverses(x, usv[1], nil, rtol)
	by := m.Mul(m.conjTurned(usv[2]), m.column(inv, len(inv.Shape())-1))
	if b.Ndim() == 1 {
		y := m.MatMul(by, m.MatMul(m.conjTurned(usv[0]), m.column(b, 1)))
		return m.do("select", y, Int1(-1), Int1(0))
	}
	return m.MatMul(by, m.MatMul(m.conjTurned(usv[0]), b))
}

// rank returns how many of the singular values s of the matrices of x count as more than 0.
func (m *maker) rank(x, s, atol, rtol *tensor.Tensor) *tensor.Tensor {
	return m.do("count_nonzero", m.greater(s, m.limit(x, s, atol, rtol)), IntsN(-1))
}

func makeNorm(m *maker) []*tensor.Tensor {
	x, ord, dims := m.x(0), m.c.Args[0], m.c.Args[1]
	pair := []int{-2, -1}
	switch {
	case !ord.Set, ord.Str == "fro":
		return one(m.do("norm", x, Float1(2), dims, m.c.Args[2]))
	case ord.Str == "" && (dims.Set && len(dims.Ints) == 1 || !dims.Set && len(x.Shape()) == 1):
		return one(m.do("norm", x, Float1(ord.Float), dims, m.c.Args[2]))
	case dims.Set && len(dims.Ints) == 2:
		pair = dims.Ints
	case dims.Set || len(x.Shape()) != 2:
		m.refuse("dim", fmt.Sprint(len(x.Shape()))+" dims", "one or two", "")
	}
	return m.squeezedNorm(m.matrixNorm(x, ord, pair), pair, m.bool(2))
}

// condition returns how near to singular the matrices of the first tensor are, by a norm.
func (m *maker) condition(p Arg) *tensor.Tensor {
	if !p.Set && p.Str == "" || p.Str == "" && math.Abs(p.Float) == 2 {
		s := m.singular(m.x(0))
		first, last := 0, -1
		if p.Float < 0 {
			first, last = last, first
		}
		return m.Div(m.do("select", s, Int1(-1), Int1(first)), m.do("select", s, Int1(-1), Int1(last)))
	}
	norm := func(x *tensor.Tensor) *tensor.Tensor {
		return m.Do("linalg.matrix_norm", one(x), p, IntsN(-2, -1), Bool1(false))
	}
	inverse := m.guarded(false, false, func(x *tensor.Tensor) *tensor.Tensor { return m.unary("matrix_inverse", x) })
	y := norm(inverse[0])
	return m.Where(m.same(inverse[1], integer(0)), m.Mul(norm(m.x(0)), y), number(math.Inf(1)))
}

// squeezedNorm returns y without the dims of pair, unless they are to stay.
func (m *maker) squeezedNorm(y *tensor.Tensor, pair []int, keep bool) []*tensor.Tensor {
	if !keep {
		y = m.do("squeeze", y, IntsN(pair...))
	}
	return one(y)
}

// matrixNorm returns the norms of the matrices along two dims, which stay.
func (m *maker) matrixNorm(x *tensor.Tensor, which Arg, pair []int) *tensor.Tensor {
	ord, end := which.Float, "amax"
	if ord < 0 {
		end = "amin"
	}
	if which.Str == "nuc" {
		ord, end = 2, "sum"
	}
	switch math.Abs(ord) {
	case 1, math.Inf(1):
		inner, outer := pair[0], pair[1]
		if math.IsInf(ord, 0) {
			inner, outer = outer, inner
		}
		sums := m.Sum(m.unary("abs", x), []int{inner}, true)
		return m.do(end, sums, IntsN(outer), Bool1(true))
	case 2:
		if pair[0] != -2 || pair[1] != -1 {
			x = m.do("movedim", x, Arg{Ints: pair, Set: true}, Arg{Ints: []int{-2, -1}, Set: true})
		}
		s := m.do(end, m.singular(x), IntsN(-1), Bool1(true))
		s = m.column(s, len(s.Shape()))
		if pair[0] != -2 || pair[1] != -1 {
			s = m.do("movedim", s, Arg{Ints: []int{-2, -1}, Set: true}, Arg{Ints: pair, Set: true})
		}
		return s
	}
	m.refuse("ord", fmt.Sprint(ord), "1, -1, 2, -2, inf or -inf", "of a matrix")
	return nil
}
