package op

import (
	"fmt"
	"math"

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
	{"solve", "solve(x, b, left=True) returns y with x y = b, or y x = b if not left, for square matrices x and b of matrices, or a vector.\n>>> linalg.solve(tensor([[2.0, 0.0], [0.0, 4.0]]), tensor([2.0, 4.0])).tolist()\n[1.0, 1.0]", []Param{inSquares, inB, inLeft}, makeSolve},
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
	{"svd", "svd(x, full_matrices=False) returns u, the singular values in descending order, and vᵀ: u * s @ vᵀ = x. full_matrices=True is refused.\n>>> linalg.svd(tensor([[3.0, 0.0], [0.0, 4.0]]))[1].tolist()\n[4.0, 3.0]", []Param{inMatrix, {Name: "full_matrices", Kind: Bool, Doc: "False", Default: Default(None)}},
		func(m *maker) []*tensor.Tensor {
			if m.bool(0) {
				m.refuse("full_matrices", "True", "False", "u and vᵀ have as many columns and rows as there are singular values")
			}
			return m.all("matrix_svd", m.c.In)
		}},
	{"svdvals", "svdvals(x) returns the singular values of matrices in descending order.\n>>> linalg.svdvals(tensor([[3.0, 0.0], [0.0, 4.0]])).tolist()\n[4.0, 3.0]", []Param{inMatrix},
		func(m *maker) []*tensor.Tensor { return one(m.singular(m.x(0))) }},
	{"eigh", "eigh(x) returns the eigenvalues of symmetric matrices in ascending order, and the eigenvectors as columns. It reads the lower triangles.\n>>> linalg.eigh(tensor([[2.0, 0.0], [0.0, 1.0]]))[0].tolist()\n[1.0, 2.0]", []Param{inSquares},
		func(m *maker) []*tensor.Tensor { return m.all("matrix_eigh", m.c.In) }},
	{"eigvalsh", "eigvalsh(x) returns the eigenvalues of symmetric matrices in ascending order.\n>>> linalg.eigvalsh(tensor([[2.0, 0.0], [0.0, 1.0]])).tolist()\n[1.0, 2.0]", []Param{inSquares},
		func(m *maker) []*tensor.Tensor { return one(m.unary("matrix_eigvalsh", m.x(0))) }},
	{"pinv", "pinv(x, rtol=None) returns the pseudoinverses of matrices. Singular values below rtol times the greatest count as 0; rtol is the greater size times the dtype's precision if None.\n>>> linalg.pinv(tensor([[2.0], [0.0]])).tolist()\n[[0.5, 0.0]]", []Param{inMatrix, inRtol},
		func(m *maker) []*tensor.Tensor { return one(m.pseudoinverse(m.x(0), m.c.Args[0])) }},
	{"lstsq", "lstsq(x, b) returns the y of least norm for which x @ y is nearest to b, with the ranks of x and its singular values.\n>>> linalg.lstsq(tensor([[1.0], [1.0]]), tensor([[1.0], [3.0]]))[0].round().tolist()\n[[2.0]]", []Param{inMatrix, inB},
		func(m *maker) []*tensor.Tensor {
			x := m.x(0)
			of := m.all("matrix_svd", one(x))
			return []*tensor.Tensor{m.nearest(x, of, m.x(1)), m.rank(x, of[1].Detach(), None), of[1]}
		}},
	{"matrix_rank", "matrix_rank(x, rtol=None) returns how many singular values of matrices are above rtol times the greatest.\n>>> linalg.matrix_rank(ones(2, 2))\n1", []Param{inMatrix, inRtol},
		func(m *maker) []*tensor.Tensor { return one(m.rank(m.x(0), m.singular(m.x(0).Detach()), m.c.Args[0])) }},
	{"cond", "cond(x, p=None) returns the greatest singular values of matrices divided by the least, if p is None or 2; if -2 the least by the greatest, else the norms p of square matrices times those of their inverses, inf where there is none.\n>>> linalg.cond(tensor([[2.0, 0.0], [0.0, 4.0]]))\n2.0", []Param{inMatrix, inCondNorm},
		func(m *maker) []*tensor.Tensor { return one(m.condition(m.c.Args[0])) }},
	{"matrix_exp", "matrix_exp(x) returns the exponentials of square matrices.\n>>> linalg.matrix_exp(zeros(1, 1)).tolist()\n[[1.0]]", []Param{inSquares},
		func(m *maker) []*tensor.Tensor { return one(m.unary("matrix_exp", m.x(0))) }},
	{"matrix_power", "matrix_power(x, n) returns the product of n times x, square matrices; of the inverse where n is negative.\n>>> linalg.matrix_power(tensor([[2.0]]), -1).tolist()\n[[0.5]]", []Param{inSquares, {Name: "n", Kind: Int, Doc: "an int"}},
		func(m *maker) []*tensor.Tensor {
			if m.int(0) < 0 && m.int(0) > -1<<62 {
				m.c.In[0], m.c.Args = m.unary("matrix_inverse", m.x(0)), []Arg{Int1(-m.int(0))}
			}
			return makeMatrixPower(m)
		}},
	{"multi_dot", "multi_dot(tensors) returns the product of matrices, from the left.\n>>> linalg.multi_dot([ones(1, 2), ones(2, 1)]).tolist()\n[[2.0]]", []Param{inTensors},
		func(m *maker) []*tensor.Tensor { return m.all("chain_matmul", m.c.In) }},
	{"vector_norm", "vector_norm(x, ord=2, dim=None, keepdim=False) returns the norms of vectors along dim.\n>>> linalg.vector_norm(tensor([3.0, 4.0]))\n5.0", []Param{inX, inFloat("ord", "which norm", 2), inDims, keepdimParam},
		func(m *maker) []*tensor.Tensor { return one(m.do("norm", m.x(0), m.c.Args...)) }},
	{"norm", "norm(x, ord=None, dim=None, keepdim=False) returns the norms of vectors along one dim, or of matrices along two: without ord the root of the sum of squares;\nof matrices ord is 1 or -1 for columns, inf or -inf for rows, 2 or -2 for singular values, \"fro\" as without ord or \"nuc\" for the sum of the singular values.\n>>> linalg.norm(tensor([[3.0, 4.0]]))\n5.0", []Param{inX, {Name: "ord", Kind: OptFloat, Doc: "which norm: a number, None or", Choices: []string{"fro", "nuc"}, Default: Default(None)}, inDims, keepdimParam}, makeNorm},
	{"cross", "cross(x, other, dim=-1) returns the cross products of vectors of 3 along dim.\n>>> linalg.cross(tensor([1, 0, 0]), tensor([0, 1, 0])).tolist()\n[0, 0, 1]", append(twoAlone[:2:2], inDim("dim", -1)),
		func(m *maker) []*tensor.Tensor { return one(makeCross(m)) }},
}

var inCondNorm = Param{Name: "p", Kind: OptFloat, Doc: "which norm: 1, -1, 2, -2, inf, -inf, None or", Choices: []string{"fro", "nuc"}, Default: Default(None)}

var inRtol = Param{Name: "rtol", Kind: OptFloat, Doc: "a relative limit", Default: Default(None)}

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

// limit returns, for each matrix of x with singular values s, the value below which
// these count as 0.
func (m *maker) limit(x, s *tensor.Tensor, rtol Arg) *tensor.Tensor {
	rows, cols := matrix(x)
	share := rtol.Float
	if !rtol.Set {
		share = float64(max(rows, cols)) * map[bool]float64{true: 0x1p-52, false: 0x1p-23}[x.DType().Size() == 8]
	}
	return m.Scale(m.do("narrow", s, Int1(-1), Int1(0), Int1(min(1, rows, cols))), share)
}

func (m *maker) pseudoinverse(x *tensor.Tensor, rtol Arg) *tensor.Tensor {
	of := m.all("matrix_svd", one(x))
	inv := m.inverses(x, of[1], rtol)
	return m.MatMul(m.Mul(m.conjTurned(of[2]), m.column(inv, len(inv.Shape())-1)), m.conjTurned(of[0]))
}

// inverses returns 1 / s of the singular values s of x, and 0 of those that count as 0.
func (m *maker) inverses(x, s *tensor.Tensor, rtol Arg) *tensor.Tensor {
	large := m.greater(s, m.limit(x, s, rtol))
	return m.Where(large, m.unary("reciprocal", m.Where(large, s, number(1))), number(0))
}

// nearest returns the y of least norm for which x y is nearest to b, for u, s and vᴴ of x:
// the pseudoinverse, whose product with b is made without it.
func (m *maker) nearest(x *tensor.Tensor, of []*tensor.Tensor, b *tensor.Tensor) *tensor.Tensor {
	inv := m.inverses(x, of[1], None)
	by := m.Mul(m.conjTurned(of[2]), m.column(inv, len(inv.Shape())-1))
	if b.Ndim() == 1 {
		y := m.MatMul(by, m.MatMul(m.conjTurned(of[0]), m.column(b, 1)))
		return m.do("select", y, Int1(-1), Int1(0))
	}
	return m.MatMul(by, m.MatMul(m.conjTurned(of[0]), b))
}

// rank returns how many of the singular values s of the matrices of x count as more than 0.
func (m *maker) rank(x, s *tensor.Tensor, rtol Arg) *tensor.Tensor {
	return m.do("count_nonzero", m.greater(s, m.limit(x, s, rtol)), IntsN(-1))
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
