package op

import (
	"fmt"
	"math"

	"tpsh/internal/units"
	"tpsh/runtime/dtype"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

var (
	inPivot  = Param{Name: "pivot", Kind: Bool, Doc: "True: rows are exchanged", Default: Default(Bool1(true))}
	inChecks = Param{Name: "check_errors", Kind: Bool, Doc: "whether a matrix without a result is an error", Default: Default(None)}
	inLeft   = Param{Name: "left", Kind: Bool, Doc: "whether x stands on the left of y", Default: Default(Bool1(true))}
	inLU     = Param{Name: "LU", Kind: Tensor, Doc: "factors as lu_factor gives them"}
	inPivots = Param{Name: "pivots", Kind: Tensor, Doc: "the rows that were exchanged, counted from 1"}
	inUpper  = Param{Name: "upper", Kind: Bool, Doc: "which triangle counts", Default: Default(None)}
	inUnit   = Param{Name: "unitriangular", Kind: Bool, Doc: "whether the diagonal counts as ones", Default: Default(None)}
	inTau    = Param{Name: "tau", Kind: Tensor, Doc: "the factors of the reflectors [.., k]"}
)

const infoText = "An int32 says which row stood against it, 0 if none did; the result is NaN there, or with check_errors an error.\n"

// factorComposites are functions of the module linalg that are made of factors.
var factorComposites = []namedComposite{
	{"lu_factor", Linalg, "lu_factor(x, pivot=True) returns (LU, pivots): u in the upper triangle of LU and l below it, without the ones on its diagonal, and which rows were exchanged for row 0, 1, ..., counted from 1.\n>>> linalg.lu_factor(tensor([[0.0, 2.0], [4.0, 0.0]]))[0].tolist()\n[[4.0, 0.0], [0.0, 2.0]]",
		[]Param{inMatrix, inPivot}, func(m *maker) []*tensor.Tensor { return m.factored() }},
	{"lu_factor_ex", Linalg, "lu_factor_ex(x, pivot=True, check_errors=False) returns (LU, pivots, info): lu_factor(x), and which of the diagonal of u is the first that is 0, counted from 1, else 0.\n>>> linalg.lu_factor_ex(tensor([[4.0, 2.0], [0.0, 0.0]]))[2]\n2 dtype=int32",
		[]Param{inMatrix, inPivot, inChecks}, func(m *maker) []*tensor.Tensor {
			out := m.factored()
			return append(out, m.zeroPivots(out[0]))
		}},
	{"lu", Linalg, "lu(x, pivot=True) returns (p, l, u): a permutation, a lower triangle with ones on its diagonal and an upper one, whose product is x.\n>>> linalg.lu(tensor([[0.0, 2.0], [4.0, 0.0]]))[0].tolist()\n[[0.0, 1.0], [1.0, 0.0]]",
		[]Param{inMatrix, inPivot}, func(m *maker) []*tensor.Tensor {
			m.checkPivot()
			out := m.all("matrix_lu", one(m.x(0)))
			return append(one(out[2].Detach()), m.triangles(out[0])...)
		}},
	{"lu_solve", Linalg, "lu_solve(LU, pivots, b, left=True, adjoint=False) returns y with x y = b, or y x = b if not left, for the factors of x that lu_factor gives; with adjoint for those of the conjugate transpose of x.\n>>> linalg.lu_solve(*linalg.lu_factor(tensor([[0.0, 2.0], [4.0, 0.0]])), tensor([[2.0], [4.0]])).tolist()\n[[1.0], [1.0]]",
		[]Param{inLU, inPivots, inB, inLeft, {Name: "adjoint", Kind: Bool, Doc: "whether x is transposed", Default: Default(None)}},
		func(m *maker) []*tensor.Tensor {
			return one(m.solvedByLU(m.x(0), m.x(1), m.x(2), m.bool(0), m.bool(1)))
		}},
	{"inv_ex", Linalg, "inv_ex(x, check_errors=False) returns (inverse, info): linalg.inv(x), without an error of a singular matrix.\n" + infoText + ">>> linalg.inv_ex(tensor([[2.0]]))[0].tolist()\n[[0.5]]",
		[]Param{inSquares, inChecks}, func(m *maker) []*tensor.Tensor {
			return m.guarded(false, m.bool(0), func(x *tensor.Tensor) *tensor.Tensor { return m.unary("matrix_inverse", x) })
		}},
	{"cholesky_ex", Linalg, "cholesky_ex(x, upper=False, check_errors=False) returns (l, info): linalg.cholesky(x, upper), without an error of a matrix that is not positive definite.\n" + infoText + ">>> linalg.cholesky_ex(tensor([[-4.0]]))[1]\n1 dtype=int32",
		[]Param{inSquares, inUpper, inChecks}, func(m *maker) []*tensor.Tensor {
			return m.guarded(true, m.bool(1), func(x *tensor.Tensor) *tensor.Tensor {
				return m.Do("linalg.cholesky", one(x), m.c.Args[0])
			})
		}},
	{"solve_ex", Linalg, "solve_ex(x, b, left=True, check_errors=False) returns (y, info): linalg.solve(x, b), without an error of a singular matrix.\n" + infoText + ">>> linalg.solve_ex(tensor([[2.0]]), tensor([4.0]))[0].tolist()\n[2.0]",
		[]Param{inSquares, inB, inLeft, inChecks}, func(m *maker) []*tensor.Tensor {
			return m.guarded(false, m.bool(1), func(x *tensor.Tensor) *tensor.Tensor { return m.solved(x, m.x(1), m.bool(0)) })
		}},
	{"solve_triangular", Linalg, "solve_triangular(x, b, upper, left=True, unitriangular=False) returns y with x y = b, or y x = b if not left, where x is the upper or the lower triangle of square matrices, by substitution.\n>>> linalg.solve_triangular(tensor([[2.0, 9.0], [0.0, 4.0]]), tensor([[11.0], [4.0]]), upper=True).tolist()\n[[1.0], [1.0]]",
		[]Param{inSquares, inB, {Name: "upper", Kind: Bool, Doc: "which triangle counts"}, inLeft, inUnit}, func(m *maker) []*tensor.Tensor {
			x, b, upper := m.x(0), m.x(1), m.bool(0)
			m.checkMatrices("x", x)
			m.checkMatrices("b", b)
			if m.bool(1) {
				return one(m.substituted(x, b, upper, m.bool(2)))
			}
			return one(m.turned(m.substituted(m.turned(x), m.turned(b), !upper, m.bool(2))))
		}},
	{"triangular_solve", bothSides, "triangular_solve(x, other, upper=True, transpose=False, unitriangular=False) returns (y, copy of other) with other y = x, where other is the upper or the lower triangle of square matrices, or its transpose.\n>>> triangular_solve(tensor([[4.0]]), tensor([[2.0]]))[0].tolist()\n[[2.0]]",
		[]Param{inMatrix, {Name: "other", Kind: Tensor, Doc: "square matrices"}, {Name: "upper", Kind: Bool, Doc: "which triangle counts", Default: Default(Bool1(true))}, {Name: "transpose", Kind: Bool, Doc: "whether it is transposed", Default: Default(None)}, inUnit},
		func(m *maker) []*tensor.Tensor {
			a, upper := m.x(1), m.bool(0)
			m.checkMatrices("other", a)
			triangle := a
			if m.bool(1) {
				triangle, upper = m.turned(a), !upper
			}
			return []*tensor.Tensor{m.substituted(triangle, m.x(0), upper, m.bool(2)), m.unary("clone", a)}
		}},
	{"lu", bothSides, "lu(x, pivot=True, get_infos=False) returns linalg.lu_factor(x), and with get_infos as a third which of the diagonal of u is the first that is 0, counted from 1.\n>>> lu(tensor([[0.0, 2.0], [4.0, 0.0]]))[1].tolist()\n[2, 2]",
		[]Param{inMatrix, inPivot, {Name: "get_infos", Kind: Bool, Doc: "whether to return the third", Default: Default(None)}}, func(m *maker) []*tensor.Tensor {
			out := m.factored()
			if m.bool(1) {
				out = append(out, m.zeroPivots(out[0]))
			}
			return out
		}},
	{"lu_unpack", Function, "lu_unpack(LU, pivots) returns (p, l, u) of the factors that linalg.lu_factor gives: their product is what was factored.\n>>> lu_unpack(*linalg.lu_factor(tensor([[0.0, 2.0], [4.0, 0.0]])))[0].tolist()\n[[0.0, 1.0], [1.0, 0.0]]",
		[]Param{inLU, inPivots}, func(m *maker) []*tensor.Tensor {
			m.checkMatrices("LU", m.x(0))
			return append(one(m.permutation(m.x(0), m.x(1))), m.triangles(m.x(0))...)
		}},
	{"lu_solve", bothSides, "lu_solve(b, LU, pivots) is linalg.lu_solve(LU, pivots, b).\n>>> lu_solve(tensor([[2.0], [4.0]]), *lu(tensor([[0.0, 2.0], [4.0, 0.0]]))).tolist()\n[[1.0], [1.0]]",
		[]Param{inB, inLU, inPivots}, func(m *maker) []*tensor.Tensor { return one(m.solvedByLU(m.x(1), m.x(2), m.x(0), true, false)) }},
	{"geqrf", bothSides, "geqrf(x) returns (a, tau): r of QR in the upper triangle of a, and below it Householder's vectors, with the factors tau of the reflectors. It has no gradient.\n>>> geqrf(tensor([[3.0], [4.0]]))[0].abs().tolist()\n[[5.0], [0.5]]",
		[]Param{inMatrix}, func(m *maker) []*tensor.Tensor { return m.all("matrix_reflectors", one(m.x(0))) }},
	{"householder_product", Linalg, "householder_product(x, tau) returns the first columns of the product of Householder's reflectors, as geqrf gives them: q of QR.\nIt takes a product for each.\n>>> linalg.householder_product(*geqrf(tensor([[3.0], [4.0]]))).abs().shape\n(2, 1)",
		[]Param{inMatrix, inTau}, func(m *maker) []*tensor.Tensor { return one(m.reflectorProduct()) }},
	{"orgqr", bothSides, "orgqr(x, tau) is linalg.householder_product(x, tau).\n>>> orgqr(*geqrf(ones(3, 2))).shape\n(3, 2)",
		[]Param{inMatrix, inTau}, func(m *maker) []*tensor.Tensor { return one(m.reflectorProduct()) }},
	{"ormqr", bothSides, "ormqr(x, tau, other, left=True, transpose=False) returns q other, or other q if not left, where q is the whole product of Householder's reflectors, as geqrf gives them, or its transpose.\n>>> ormqr(*geqrf(ones(3, 2)), ones(3, 1)).shape\n(3, 1)",
		[]Param{inMatrix, inTau, {Name: "other", Kind: Tensor, Doc: "matrices"}, inLeft, {Name: "transpose", Kind: Bool, Doc: "whether q is transposed", Default: Default(None)}},
		func(m *maker) []*tensor.Tensor {
			m.checkMatrices("other", m.x(2))
			if m.bool(0) {
				return one(m.reflected(m.x(0), m.x(1), m.x(2), m.bool(1)))
			}
			return one(m.conjTurned(m.reflected(m.x(0), m.x(1), m.conjTurned(m.x(2)), !m.bool(1))))
		}},
	{"eig", Linalg, "eig(x) returns the eigenvalues of square matrices, and the eigenvectors as columns, of length 1; both are complex.\n>>> linalg.eig(tensor([[2.0, 0.0], [0.0, 3.0]]))[0].real.tolist()\n[2.0, 3.0]", []Param{inSquares},
		func(m *maker) []*tensor.Tensor {
			out := m.all("matrix_eig", one(m.x(0)))
			return []*tensor.Tensor{m.pair(out[0], out[1]), m.pair(out[2], out[3])}
		}},
	{"eigvals", Linalg, "eigvals(x) returns the eigenvalues of square matrices, which are complex.\n>>> linalg.eigvals(tensor([[2.0, 0.0], [0.0, 3.0]])).real.tolist()\n[2.0, 3.0]", []Param{inSquares},
		func(m *maker) []*tensor.Tensor {
			out := m.all("matrix_eigvals", one(m.x(0)))
			return one(m.pair(out[0], out[1]))
		}},
	{"svd", bothSides, "svd(x, some=True, compute_uv=True) returns (u, s, v) with u * s @ v.T = x: linalg.svd(x, not some) with v in the place of its transpose. Without compute_uv u and v are square zeros.\n>>> svd(tensor([[3.0, 0.0], [0.0, 4.0]]))[1].tolist()\n[4.0, 3.0]",
		[]Param{inMatrix, {Name: "some", Kind: Bool, Doc: "whether there are as many columns as singular values", Default: Default(Bool1(true))}, {Name: "compute_uv", Kind: Bool, Doc: "whether u and v are computed", Default: Default(Bool1(true))}}, func(m *maker) []*tensor.Tensor {
			if !m.bool(1) {
				m.checkMatrices("x", m.x(0))
				x := m.x(0)
				return []*tensor.Tensor{m.squareZeros(x, -2), m.singular(x), m.squareZeros(x, -1)}
			}
			out := m.all("linalg.svd", one(m.x(0)), Bool1(!m.bool(0)))
			return []*tensor.Tensor{out[0], out[1], m.conjTurned(out[2])}
		}},
	{"polar", Linalg, "polar(x) returns (u, h) with u h = x [.., m, n], m >= n: columns u that are orthonormal, and h symmetric without negative eigenvalues.\n>>> linalg.polar(tensor([[-2.0]]))[0].tolist()\n[[-1.0]]", []Param{inMatrix},
		func(m *maker) []*tensor.Tensor {
			m.checkMatrices("x", m.x(0))
			if rows, cols := matrix(m.x(0)); rows < cols {
				m.refuse("x", Describe(m.x(0)), "matrices of at least as many rows as columns", "")
			}
			out := m.all("matrix_svd", one(m.x(0)))
			v := m.conjTurned(out[2])
			return []*tensor.Tensor{m.MatMul(out[0], out[2]), m.MatMul(m.scaledColumns(v, out[1]), out[2])}
		}},
	{"matrix_sqrth", Linalg, "matrix_sqrth(x) returns the symmetric positive definite y with y @ y = x, for such x, of which it reads the lower triangles.\n>>> linalg.matrix_sqrth(tensor([[4.0]])).tolist()\n[[2.0]]", []Param{inSquares},
		func(m *maker) []*tensor.Tensor {
			out := m.all("matrix_eigh", one(m.x(0).Detach()), Bool1(false))
			y := m.MatMul(m.scaledColumns(out[1], m.unary("sqrt", out[0])), m.conjTurned(out[1]))
			return one(m.binary("known_sqrth", m.x(0), y))
		}},
	{"matrix_norm", Linalg, "matrix_norm(x, ord=\"fro\", dim=(-2, -1), keepdim=False) returns norms of matrices along two dims: \"fro\" is the root of the sum of squares, \"nuc\" the sum of the singular values;\n1 or -1 is of columns, inf or -inf of rows, 2 or -2 of singular values.\n>>> linalg.matrix_norm(tensor([[3.0, 4.0]]))\n5.0",
		[]Param{inX, inMatrixOrd, {Name: "dim", Kind: Dims, Doc: "two dims", Default: Default(IntsN(-2, -1))}, keepdimParam},
		func(m *maker) []*tensor.Tensor {
			dims := m.c.Args[1]
			if !dims.Set || len(dims.Ints) != 2 {
				m.refuse("dim", listText(dims.Ints), "two dims", "")
			}
			if m.c.Args[0].Str == "fro" {
				return one(m.do("norm", m.x(0), Float1(2), dims, m.c.Args[2]))
			}
			_, err := m.c.Dims(1, m.x(0).Shape())
			m.check(err)
			return m.squeezedNorm(m.matrixNorm(m.floats(m.x(0)), m.c.Args[0], dims.Ints), dims.Ints, m.bool(2))
		}},
	{"tensorinv", Linalg, "tensorinv(x, ind=2) returns the inverse of x as a matrix from its last dims to its first ind: tensordot(y, x, ind) is the identity.\n>>> linalg.tensorinv(2 * eye(4).reshape(2, 2, 4)).shape\n(4, 2, 2)",
		[]Param{inX, inInt("ind", "how many of the first dims are the rows", 2)}, func(m *maker) []*tensor.Tensor {
			s, k := m.x(0).Shape(), m.int(0)
			if k < 1 || k > len(s) || s[:k].Numel() != s[k:].Numel() {
				m.refuse("ind", fmt.Sprint(k), "a number of first dims that have as many elements as the others", Describe(m.x(0)))
			}
			n := s[:k].Numel()
			y := m.unary("matrix_inverse", m.Reshape(m.x(0), shape.Shape{n, n}))
			return one(m.Reshape(y, append(append(shape.Shape{}, s[k:]...), s[:k]...)))
		}},
	{"tensorsolve", Linalg, "tensorsolve(x, b, dims=None) returns y with tensordot(x, y, y.ndim) = b; dims of x are moved to its end before.\n>>> linalg.tensorsolve(2 * eye(4).reshape(2, 2, 4), ones(2, 2)).tolist()\n[0.5, 0.5, 0.5, 0.5]",
		[]Param{inX, inB, {Name: "dims", Kind: Dims, Doc: "which dims are moved, None for none", Default: Default(None)}}, func(m *maker) []*tensor.Tensor {
			x, b := m.x(0), m.x(1)
			if a := m.c.Args[0]; a.Set {
				to := make([]int, len(a.Ints))
				for i := range to {
					to[i] = i - len(to)
				}
				x = m.do("movedim", x, a, Arg{Ints: to, Set: true})
			}
			k, n := len(b.Shape()), b.Numel()
			if k > len(x.Shape()) || x.Shape()[:k].Numel() != n || x.Shape()[k:].Numel() != n {
				m.refuse("b", Describe(b), "the first dims of x, with as many elements as the others", "x is "+Describe(x))
			}
			y := m.binary("matrix_solve", m.Reshape(x, shape.Shape{n, n}), m.Reshape(b, shape.Shape{n, 1}))
			return one(m.Reshape(y, x.Shape()[k:]))
		}},
	{"svd_lowrank", Function, "svd_lowrank(x, q=6, niter=2, M=None) returns (u, s, v), near to the q greatest singular values of x [.., m, n], or of x - M, and their vectors, by niter products of q random vectors with it.\nHalko, Martinsson and Tropp, arXiv 0909.4061.\n>>> svd_lowrank(eye(3), q=2)[1].round().tolist()\n[1.0, 1.0]",
		[]Param{inMatrix, inInt("q", "how many", 6), inInt("niter", "how many products", 2), {Name: "M", Kind: OptTensor, Doc: "what is subtracted from x, broadcast", Default: Default(None)}},
		func(m *maker) []*tensor.Tensor {
			x := m.x(0)
			if less := m.x(1); less != nil {
				x = m.Sub(x, less)
			}
			return m.lowRank(x, m.int(0), m.int(1))
		}},
	{"pca_lowrank", Function, "pca_lowrank(x, q=None, center=True, niter=2) returns svd_lowrank(x, q, niter) of x [.., m, n] less the mean of its rows: the q principal components; q is 6, or the least of it and of the sizes, if None.\n>>> pca_lowrank(tensor([[0.0, 1.0], [0.0, 3.0]]), q=1)[1].tolist()\n[1.4142135381698608]",
		[]Param{inMatrix, {Name: "q", Kind: OptInt, Doc: "how many", Default: Default(None)}, {Name: "center", Kind: Bool, Doc: "whether the mean is subtracted", Default: Default(Bool1(true))}, inInt("niter", "how many products", 2)},
		func(m *maker) []*tensor.Tensor {
			x := m.x(0)
			m.checkMatrices("x", x)
			q := min(6, x.Shape()[len(x.Shape())-2], x.Shape()[len(x.Shape())-1])
			if a := m.c.Args[0]; a.Set {
				q = a.Int
			}
			if m.bool(1) {
				x = m.Sub(x, m.do("mean", x, IntsN(-2), Bool1(true)))
			}
			return m.lowRank(x, q, m.int(2))
		}},
}

var inMatrixOrd = Param{Name: "ord", Kind: Float, Doc: "which norm: a number, or", Choices: []string{"fro", "nuc"}, Default: Default(Str1("fro"))}

func init() {
	for _, e := range factorComposites {
		compositeOf(&Def{Name: e.name, Surface: e.surface, Doc: e.doc, Params: e.params}, e.make)
	}
}

// checkMatrices refuses what has fewer than two dims.
func (m *maker) checkMatrices(param string, x *tensor.Tensor) {
	if len(x.Shape()) < 2 {
		m.refuse(param, Describe(x), "a tensor of at least two dims", "")
	}
}

// checkPivot refuses pivot=False.
func (m *maker) checkPivot() {
	if !m.bool(0) {
		m.refuse("pivot", "False", "True", "without exchanges of rows the factors may not exist")
	}
}

// factored returns the packed factors of the first tensor, and the rows exchanged.
func (m *maker) factored() []*tensor.Tensor {
	m.checkPivot()
	out := m.all("matrix_lu", one(m.x(0)))
	return []*tensor.Tensor{out[0], m.Cast(out[1].Detach(), dtype.Int32)}
}

// zeroPivots returns which of the diagonals of packed factors is the first that is 0,
// counted from 1; 0 if none is.
func (m *maker) zeroPivots(lu *tensor.Tensor) *tensor.Tensor {
	zero := m.same(m.diagonal(lu.Detach(), 0, len(lu.Shape())-2, len(lu.Shape())-1), integer(0))
	if zero.Shape()[len(zero.Shape())-1] == 0 {
		return m.do("any", zero, IntsN(-1), None)
	}
	first := m.Cast(m.do("argmax", m.Cast(zero, dtype.Int32), Int1(-1), None), dtype.Int32)
	first = m.Add(first, integer(1))
	return m.Where(m.do("any", zero, IntsN(-1), None), first, integer(0))
}

// triangles returns l and u of packed factors.
func (m *maker) triangles(lu *tensor.Tensor) []*tensor.Tensor {
	rows, cols := matrix(lu)
	k, d := min(rows, cols), len(lu.Shape())
	l := m.lower(m.Narrow(lu, d-1, 0, k), -1)
	return []*tensor.Tensor{m.Add(l, m.eye(rows, k, lu.DType())), m.do("triu", m.Narrow(lu, d-2, 0, k), Int1(0))}
}

// permutation returns the matrices that pivots of factors lu stand for.
func (m *maker) permutation(lu, pivots *tensor.Tensor) *tensor.Tensor {
	rows, cols := matrix(lu)
	want := append(append(shape.Shape{}, lu.Shape()[:len(lu.Shape())-2]...), min(rows, cols))
	if !pivots.DType().IsInt() || !pivots.Shape().Equal(want) {
		m.refuse("pivots", Describe(pivots), fmt.Sprintf("an integer tensor %v", want), "LU is "+Describe(lu))
	}
	p := m.do("matrix_pivots", m.Cast(m.do("unsqueeze", pivots, Int1(-2)), dtype.Float64), Int1(rows))
	return m.Cast(p, lu.DType())
}

// substituted solves with triangles; batches of either are those of both.
func (m *maker) substituted(x, b *tensor.Tensor, upper, unit bool) *tensor.Tensor {
	x, b = m.sameBatches(x, b)
	return m.Do("matrix_triangular", []*tensor.Tensor{x, b}, Bool1(upper), Bool1(unit))
}

// sameBatches returns matrices x and b, expanded to each other's leading dims.
func (m *maker) sameBatches(x, b *tensor.Tensor) (*tensor.Tensor, *tensor.Tensor) {
	m.checkMatrices("x", x)
	m.checkMatrices("b", b)
	nx, nb := len(x.Shape())-2, len(b.Shape())-2
	lead, ok := shape.Broadcast(x.Shape()[:nx], b.Shape()[:nb])
	if !ok {
		m.refuse("b", Describe(b), "leading dims that broadcast with those of x", "x is "+Describe(x))
	}
	to := func(x *tensor.Tensor) *tensor.Tensor {
		return m.Expand(x, append(append(shape.Shape{}, lead...), x.Shape()[len(x.Shape())-2:]...))
	}
	return to(x), to(b)
}

// solvedByLU returns y with x y = b, or y x = b, for the packed factors of x, p l u, or
// with adjoint of the transpose.
func (m *maker) solvedByLU(lu, pivots, b *tensor.Tensor, left, adjoint bool) *tensor.Tensor {
	m.checkMatrices("LU", lu)
	m.checkMatrices("b", b)
	if rows, cols := matrix(lu); rows != cols {
		m.refuse("LU", Describe(lu), "square matrices", "")
	}
	p := m.permutation(lu, pivots)
	if !left {
		b, adjoint = m.conjTurned(b), !adjoint
	}
	var y *tensor.Tensor
	if adjoint { // uᴴ lᴴ pᵀ y = b
		y = m.substituted(m.conjTurned(lu), b, false, false)
		y = m.MatMul(p, m.substituted(m.conjTurned(lu), y, true, true))
	} else {
		y = m.substituted(lu, m.MatMul(m.turned(p), b), false, true)
		y = m.substituted(lu, y, true, false)
	}
	if !left {
		y = m.conjTurned(y)
	}
	return y
}

// guarded returns what f makes of the first tensor, NaN where a matrix has no such
// result, and the infos of all: of Cholesky's factors or of inverses.
func (m *maker) guarded(cholesky, check bool, f func(x *tensor.Tensor) *tensor.Tensor) []*tensor.Tensor {
	x := m.x(0)
	info := m.Cast(m.do("matrix_info", x.Detach(), Bool1(cholesky)), dtype.Int32)
	if check {
		return []*tensor.Tensor{f(x), info} // which is an error where there is none
	}
	n := len(info.Shape())
	good := m.same(m.column(m.column(info, n), n), integer(0))
	rows, cols := matrix(x)
	y := f(m.Where(good, x, m.eye(rows, cols, x.DType())))
	if len(y.Shape()) < len(good.Shape()) { // of vectors
		good = m.do("select", good, Int1(-1), Int1(0))
	}
	return []*tensor.Tensor{m.Where(good, y, number(math.NaN())), info}
}

// reflectorProduct returns the first columns of the product of reflectors.
func (m *maker) reflectorProduct() *tensor.Tensor {
	x := m.x(0)
	m.checkMatrices("x", x)
	rows, cols := matrix(x)
	if cols > rows {
		m.refuse("x", Describe(x), "matrices of at least as many rows as columns", "")
	}
	return m.reflected(x, m.x(1), m.Expand(m.eye(rows, cols, x.DType()), x.Shape()), false)
}

// reflected returns q y, or qᵀ y, where q is the product of the reflectors of vectors
// below the diagonal of x, with the factors tau: y is reflected by one after the other.
func (m *maker) reflected(x, tau, y *tensor.Tensor, transposed bool) *tensor.Tensor {
	m.checkMatrices("x", x)
	rows, cols := matrix(x)
	if r, _ := matrix(y); r != rows {
		m.refuse("other", Describe(y), fmt.Sprintf("matrices with %d rows", rows), "as x, "+Describe(x)+", has")
	}
	if len(tau.Shape()) != len(x.Shape())-1 || tau.Shape()[len(tau.Shape())-1] > min(rows, cols) {
		m.refuse("tau", Describe(tau), fmt.Sprintf("a tensor of %s, of which the last is at most %d", units.Count(len(x.Shape())-1, "dim"), min(rows, cols)), "")
	}
	k, d := tau.Shape()[len(tau.Shape())-1], len(x.Shape())
	v := m.Add(m.lower(m.Narrow(x, d-1, 0, k), -1), m.eye(rows, k, x.DType()))
	if transposed && tau.DType().IsComplex() {
		tau = m.conjugated(tau)
	}
	for step := range k {
		i := k - 1 - step
		if transposed {
			i = step
		}
		column, t := m.Narrow(v, d-1, i, 1), m.column(m.Narrow(tau, d-2, i, 1), d-1)
		y = m.Sub(y, m.MatMul(m.Mul(column, t), m.MatMul(m.conjTurned(column), y)))
	}
	return y
}

// squareZeros returns square matrices of zeros as large as dim d of the matrices x.
func (m *maker) squareZeros(x *tensor.Tensor, d int) *tensor.Tensor {
	rows := m.do("narrow", x.Detach(), Int1(-3-d), Int1(0), Int1(0))
	if d == -2 {
		rows = m.turned(rows)
	}
	return m.MatMul(m.turned(rows), rows)
}

// scaledColumns returns x with its columns times the elements of s.
func (m *maker) scaledColumns(x, s *tensor.Tensor) *tensor.Tensor {
	return m.Mul(x, m.column(s, len(s.Shape())-1))
}

// lowRank returns u, s and v of the q greatest singular values of x.
func (m *maker) lowRank(x *tensor.Tensor, q, times int) []*tensor.Tensor {
	m.checkMatrices("x", x)
	rows, cols := matrix(x)
	if q < 1 || q > min(rows, cols) {
		m.refuse("q", fmt.Sprint(q), fmt.Sprintf("1..%d", min(rows, cols)), "x is "+Describe(x))
	}
	if times < 0 || times > 1000 {
		m.refuse("niter", fmt.Sprint(times), "an int from 0 to 1000", "")
	}
	xt := m.conjTurned(x)
	basis := func(y *tensor.Tensor) *tensor.Tensor { return m.all("matrix_qr", one(y))[0] }
	random := m.do("randn_like", m.Narrow(xt.Detach(), len(xt.Shape())-1, 0, q), None)
	near := basis(m.MatMul(x, random))
	for range times {
		near = basis(m.MatMul(x, basis(m.MatMul(xt, near))))
	}
	out := m.all("matrix_svd", one(m.MatMul(m.conjTurned(near), x)))
	return []*tensor.Tensor{m.MatMul(near, out[0]), out[1], m.conjTurned(out[2])}
}
