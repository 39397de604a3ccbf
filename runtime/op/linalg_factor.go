package op

import (
	"tpsh/runtime/kernel/lapack"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// factorizations are the decompositions that keep factors as LAPACK packs them.
var factorizations = []*decomposition{
	{name: "matrix_lu", doc: "matrix_lu(x) returns the packed factors l and u of matrices, the rows that were exchanged and the permutation p: p l u = x.", params: []Param{inMatrix},
		results: func(m, n int, _ *Call) []shape.Shape { return []shape.Shape{{m, n}, {min(m, n)}, {m, m}} },
		run: func(out, in [][]float64, m, n int, _ *Call) bool {
			return lapack.LU(out[0], out[1], out[2], in[0], m, n)
		},
		flops: func(m, n int, _ *Call) int { k := min(m, n); return 2*m*n*k - (m+n)*k*k + 2*k*k*k/3 },
		grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			if dy[0] == nil {
				return []*tensor.Tensor{nil}
			}
			return one(t.luGrad(c.Out[0], dy[0], c.Out[2]))
		}},
	{name: "matrix_pivots", doc: "matrix_pivots(x, m) returns the permutations [.., m, m] that exchanged rows [.., 1, k] stand for.",
		params: []Param{inMatrix, {Name: "m", Kind: Int, Doc: "how many rows there are"}}, refuse: "pivots that are no rows",
		results: func(_, _ int, c *Call) []shape.Shape { return []shape.Shape{{c.Args[0].Int, c.Args[0].Int}} },
		run: func(out, in [][]float64, _, _ int, c *Call) bool {
			return lapack.Permutation(out[0], in[0], c.Args[0].Int)
		},
		flops: func(_, n int, _ *Call) int { return n }},
	{name: "matrix_info", doc: "matrix_info(x, cholesky) returns 0 for matrices that have an inverse, or a factor of Cholesky; of others which row is the first that stands against it.",
		params: []Param{inSquares, {Name: "cholesky", Kind: Bool, Doc: "which"}}, square: true,
		results: func(_, _ int, _ *Call) []shape.Shape { return []shape.Shape{{}} },
		run: func(out, in [][]float64, n, _ int, c *Call) bool {
			out[0][0] = float64(lapack.LUInfo(in[0], n))
			if c.Args[0].Int != 0 {
				out[0][0] = float64(lapack.CholeskyInfo(in[0], n))
			}
			return true
		},
		flops: func(n, _ int, _ *Call) int { return 2 * n * n * n / 3 }},
	{name: "matrix_triangular", doc: "matrix_triangular(x, b, upper, unit) returns the matrices y with x y = b, of triangles x, whose diagonals are ones if unit.",
		params: []Param{inSquares, {Name: "b", Kind: Tensor, Doc: "a float tensor of matrices [.., n, k]"}, {Name: "upper", Kind: Bool, Doc: "which triangle"}, {Name: "unit", Kind: Bool, Doc: "whether the diagonal is ones"}}, square: true, columns: true,
		results: func(_, n int, c *Call) []shape.Shape {
			_, k := matrix(c.In[1])
			return []shape.Shape{{n, k}}
		},
		run: func(out, in [][]float64, n, _ int, c *Call) bool {
			_, k := matrix(c.In[1])
			return lapack.SolveTriangular(out[0], in[0], in[1], n, k, c.Args[0].Int != 0, c.Args[1].Int != 0)
		},
		flops: func(n, _ int, c *Call) int {
			_, k := matrix(c.In[1])
			return n * n * k
		},
		grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			upper, unit := c.Args[0].Int != 0, c.Args[1].Int
			db := t.Do("matrix_triangular", []*tensor.Tensor{t.turned(c.In[0]), dy[0]}, Bool1(!upper), c.Args[1])
			part, from := "tril", -unit
			if upper {
				part, from = "triu", unit
			}
			da := t.Neg(t.MatMul(db, t.turned(c.Out[0])))
			return []*tensor.Tensor{t.Do(part, one(da), Int1(from)), db}
		}},
	{name: "matrix_reflectors", doc: "matrix_reflectors(x) returns r and Householder's vectors below it, packed, and their factors tau. It has no gradient.", params: []Param{inMatrix},
		results: func(m, n int, _ *Call) []shape.Shape { return []shape.Shape{{m, n}, {min(m, n)}} },
		run: func(out, in [][]float64, m, n int, _ *Call) bool {
			return lapack.Reflectors(out[0], out[1], in[0], m, n)
		},
		flops: func(m, n int, _ *Call) int { k := min(m, n); return 2*m*n*k - (m+n)*k*k + 2*k*k*k/3 }},
	{name: "matrix_eig", doc: "matrix_eig(x) returns the real and imaginary parts of the eigenvalues of matrices, and those of the eigenvectors as columns.", params: []Param{inSquares}, square: true, refuse: notFinite,
		results: func(_, n int, _ *Call) []shape.Shape { return []shape.Shape{{n}, {n}, {n, n}, {n, n}} },
		run: func(out, in [][]float64, n, _ int, _ *Call) bool {
			return lapack.Eig(out[0], out[1], out[2], out[3], in[0], n)
		},
		flops: func(n, _ int, _ *Call) int { return 25 * n * n * n },
		grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			return one(t.realPart(t.eigGrad(c.Out, dy)))
		}},
	{name: "matrix_eigvals", doc: "matrix_eigvals(x) returns the real and imaginary parts of the eigenvalues of matrices, without the vectors.", params: []Param{inSquares}, square: true, refuse: notFinite,
		results: func(_, n int, _ *Call) []shape.Shape { return []shape.Shape{{n}, {n}} },
		run: func(out, in [][]float64, n, _ int, _ *Call) bool {
			return lapack.EigValues(out[0], out[1], in[0], n)
		},
		flops: func(n, _ int, _ *Call) int { return 10 * n * n * n },
		grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			parts := []*tensor.Tensor{nil, nil, nil, nil}
			for i, g := range dy {
				if g != nil {
					parts[i] = t.wide(g) // there are no complex numbers of halves
				}
			}
			return one(t.Cast(t.realPart(t.eigGrad(t.several("matrix_eig", one(t.wide(c.In[0]))), parts)), c.In[0].DType()))
		}},
}

func init() {
	for _, d := range factorizations {
		register(d.def())
	}
}

// luGrad is, of a square matrix p l u with the gradients dl and du, packed in g,
//
//	p l⁻ᴴ (tril(lᴴ dl, -1) + triu(du uᴴ)) u⁻ᴴ
//
// Of a wide one [p l u1, p l u2], u2 is l⁻¹ pᵀ of the rest: the rest has the gradient
// p l⁻ᴴ du2, and lᴴ dl is lessened by du2 u2ᴴ; a tall one is the same, transposed.
func (t *Tape) luGrad(lu, g, p *tensor.Tensor) *tensor.Tensor {
	m, n := matrix(lu)
	k := min(m, n)
	rows := func(x *tensor.Tensor, from, size int) *tensor.Tensor {
		return t.Narrow(x, len(x.Shape())-2, from, size)
	}
	cols := func(x *tensor.Tensor, from, size int) *tensor.Tensor {
		return t.Narrow(x, len(x.Shape())-1, from, size)
	}
	solve := func(x, b *tensor.Tensor, upper, unit bool) *tensor.Tensor {
		return t.Do("matrix_triangular", []*tensor.Tensor{x, b}, Bool1(upper), Bool1(unit))
	}
	square, gSquare := cols(rows(lu, 0, k), 0, k), cols(rows(g, 0, k), 0, k)
	l := t.Add(t.lower(square, -1), t.eye(k, k, p.DType()))
	u := t.Do("triu", one(square), Int1(0))
	left := t.MatMul(t.conjTurned(l), t.lower(gSquare, -1))
	right := t.MatMul(t.Do("triu", one(gSquare), Int1(0)), t.conjTurned(u))
	if n > m {
		left = t.Sub(left, t.MatMul(cols(g, k, n-k), t.conjTurned(cols(lu, k, n-k))))
	}
	if m > n {
		right = t.Sub(right, t.MatMul(t.conjTurned(rows(lu, k, m-k)), rows(g, k, m-k)))
	}
	inner := t.Add(t.lower(left, -1), t.Do("triu", one(right), Int1(0)))
	byU := func(x *tensor.Tensor) *tensor.Tensor { return t.conjTurned(solve(u, t.conjTurned(x), true, false)) } // x u⁻ᴴ
	dx := solve(t.conjTurned(l), byU(inner), true, true)
	if n > m {
		dx = t.Do("cat", []*tensor.Tensor{dx, solve(t.conjTurned(l), cols(g, k, n-k), true, true)}, Int1(-1))
	}
	if m > n {
		dx = t.Do("cat", []*tensor.Tensor{dx, byU(rows(g, k, m-k))}, Int1(-2))
	}
	return t.MatMul(p, dx)
}

// eigGrad is, for the results out of matrix_eig and their gradients dy,
//
//	v⁻ᴴ (diag(dw) + (vᴴ dv - vᴴ v diag(re(vᴴ dv))) / e) vᴴ
//
// with e = conj(w[j] - w[i]) off the diagonal, where vectors of length 1 are meant:
// Giles, "An extended collection of matrix derivative results", 2008. Equal eigenvalues
// have none. It is complex; of real matrices its real part is theirs.
func (t *Tape) eigGrad(out, dy []*tensor.Tensor) *tensor.Tensor {
	part := func(i int) *tensor.Tensor { return t.orZero(dy[i], out[i]) }
	w, v := t.pair(out[0], out[1]), t.pair(out[2], out[3])
	vh := t.turned(t.conjugated(v))
	inner := t.complexDiagonal(part(0), part(1))
	if dy[2] != nil || dy[3] != nil {
		z := t.MatMul(vh, t.pair(part(2), part(3)))
		n := z.Shape()[len(z.Shape())-1]
		eye := t.eye(n, n, out[0].DType())
		along := t.Sum(t.Mul(t.realPart(z), eye), []int{len(z.Shape()) - 2}, true)
		z = t.Sub(z, t.Mul(t.MatMul(vh, v), along))
		last := len(w.Shape())
		gaps := t.conjugated(t.Sub(t.column(w, last-1), t.column(w, last)))
		gaps = t.Add(gaps, eye) // 1 on the diagonal, where the quotient is left out
		inner = t.Add(inner, t.Mul(t.Div(z, gaps), t.AddNumber(t.Neg(eye), 1)))
	}
	return t.Do("matrix_solve", []*tensor.Tensor{vh, t.MatMul(inner, vh)})
}

// conjugated returns the conjugate of a complex tensor.
func (t *Tape) conjugated(x *tensor.Tensor) *tensor.Tensor {
	return t.pair(t.realPart(x), t.Neg(t.imagPart(x)))
}

// complexDiagonal returns matrices with re + i im on their diagonals.
func (t *Tape) complexDiagonal(re, im *tensor.Tensor) *tensor.Tensor {
	return t.pair(t.diagonalMatrix(re), t.diagonalMatrix(im))
}
