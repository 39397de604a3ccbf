package op

import (
	"fmt"

	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel/lapack"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

var (
	inHermitian = Param{Name: "hermitian", Kind: Bool, Doc: "whether complex matrices are Hermitian and not symmetric", Default: Default(None)}
	inLD        = Param{Name: "LD", Kind: Tensor, Doc: "factors as ldl_factor gives them"}
	inBlocks    = Param{Name: "pivots", Kind: Tensor, Doc: "which rows were exchanged, counted from 1, negative for blocks of two"}
	inStrict    = Param{Name: "check", Kind: Bool, Doc: "whether singular matrices are refused"}
)

// indefinite are the factors of matrices that are symmetric and not definite. They have no
// gradients, as in PyTorch.
var indefinite = []*decomposition{
	{name: "matrix_ldl", doc: "matrix_ldl(x, check) returns the packed factors l and d of symmetric matrices, columns [.., n, 1] of the rows that were exchanged, and which of d is the first that is 0, counted from 1, else 0. It reads the lower triangles and has no gradient.",
		params: []Param{inSquares, inStrict}, square: true, refuse: "a singular matrix",
		results: func(n, _ int, _ *Call) []shape.Shape { return []shape.Shape{{n, n}, {n, 1}, {}} },
		run: func(out, in [][]float64, n, _ int, c *Call) bool {
			info := lapack.LDL(out[0], out[1], in[0], n)
			out[2][0] = float64(info)
			return info == 0 || c.Args[0].Int == 0
		},
		flops: func(n, _ int, _ *Call) int { return n * n * n / 3 }},
	{name: "matrix_ldl_solve", doc: "matrix_ldl_solve(x, b, pivots) returns the matrices y with a y = b, for the factors x and columns of pivots of a that matrix_ldl gives. It has no gradient.",
		params: []Param{inSquares, inB, inBlocks}, square: true, columns: true, refuse: "factors with pivots that are none",
		results: func(n, _ int, c *Call) []shape.Shape {
			_, k := matrix(c.In[1])
			return []shape.Shape{{n, k}}
		},
		run: func(out, in [][]float64, n, _ int, c *Call) bool {
			_, k := matrix(c.In[1])
			return lapack.LDLSolve(out[0], in[0], in[2], in[1], n, k)
		},
		flops: func(n, _ int, c *Call) int {
			_, k := matrix(c.In[1])
			return 2 * n * n * k
		}},
}

// complexIndefinite are those of complex matrices.
var complexIndefinite = []*decomposition{
	{name: "complex_ldl", doc: "complex_ldl(x, im, check, hermitian) is matrix_ldl of matrices x + i im, of which it returns the parts of the factors.",
		params: []Param{inSquares, inImag, inStrict, inHermitian}, square: true, refuse: "a singular matrix",
		results: func(n, _ int, _ *Call) []shape.Shape { return []shape.Shape{{n, n}, {n, n}, {n, 1}, {}} },
		run: func(out, in [][]float64, n, _ int, c *Call) bool {
			info := lapack.ComplexLDL(out[0], out[1], out[2], in[0], in[1], n, c.Args[1].Int != 0)
			out[3][0] = float64(info)
			return info == 0 || c.Args[0].Int == 0
		},
		flops: func(n, _ int, _ *Call) int { return 4 * n * n * n / 3 }},
	{name: "complex_ldl_solve", doc: "complex_ldl_solve(x, b, im, bim, pivots, hermitian) is matrix_ldl_solve of factors x + i im and b + i bim, of the result of which it returns the parts.",
		params: []Param{inSquares, inB, inImag, {Name: "bim", Kind: Tensor, Doc: "the imaginary parts of b"}, inBlocks, inHermitian}, square: true, refuse: "factors with pivots that are none",
		results: func(n, _ int, c *Call) []shape.Shape {
			_, k := matrix(c.In[1])
			return []shape.Shape{{n, k}, {n, k}}
		},
		run: func(out, in [][]float64, n, _ int, c *Call) bool {
			_, k := matrix(c.In[1])
			return lapack.ComplexLDLSolve(out[0], out[1], in[0], in[2], in[4], in[1], in[3], n, k, c.Args[0].Int != 0)
		},
		flops: func(n, _ int, c *Call) int {
			_, k := matrix(c.In[1])
			return 8 * n * n * k
		}},
}

const factorText = "x = p l d lᵀ pᵀ, or with lᴴ if hermitian, as LAPACK packs them: d, of blocks of one or two, on the diagonal of LD and beside it, l below it without its ones; a pivot is the row, counted from 1, that was exchanged for its own, and twice the negative of it where a block of two begins, whose second row was.\nIt reads the lower triangles; there is no gradient.\n"

// indefiniteComposites are what scripts have of them.
var indefiniteComposites = []namedComposite{
	{"ldl_factor", Linalg, "ldl_factor(x, hermitian=False) returns (LD, pivots), the factors of symmetric matrices, that need not be definite: " + factorText + ">>> linalg.ldl_factor(tensor([[0.0, 1.0], [1.0, 0.0]]))[1].tolist()\n[-2, -2]",
		[]Param{inSquares, inHermitian}, func(m *maker) []*tensor.Tensor { return m.indefinite(m.bool(0), true)[:2] }},
	{"ldl_factor_ex", Linalg, "ldl_factor_ex(x, hermitian=False, check_errors=False) returns (LD, pivots, info): linalg.ldl_factor(x), and which of the diagonal of d is the first that is 0, counted from 1, else 0, which with check_errors is an error.\n>>> linalg.ldl_factor_ex(zeros(2, 2))[2]\n1 dtype=int32",
		[]Param{inSquares, inHermitian, inChecks}, func(m *maker) []*tensor.Tensor { return m.indefinite(m.bool(0), m.bool(1)) }},
	{"ldl_solve", Linalg, "ldl_solve(LD, pivots, b, hermitian=False) returns y with x y = b, for the factors of x that ldl_factor gives. There is no gradient.\n>>> linalg.ldl_solve(*linalg.ldl_factor(tensor([[0.0, 2.0], [2.0, 0.0]])), tensor([[2.0], [4.0]])).tolist()\n[[2.0], [1.0]]",
		[]Param{inLD, inBlocks, inB, inHermitian}, func(m *maker) []*tensor.Tensor {
			return one(m.solvedByLDL(m.x(0), m.x(1), m.x(2), m.bool(0)))
		}},
}

func init() {
	for _, d := range indefinite {
		register(d.def())
	}
	for _, e := range indefiniteComposites {
		compositeOf(&Def{Name: e.name, Surface: e.surface, Doc: e.doc, Params: e.params}, e.make)
	}
}

// indefinite returns the factors of the first tensor, its pivots, and which of d is 0.
func (m *maker) indefinite(hermitian, check bool) []*tensor.Tensor {
	x := m.x(0)
	m.checkMatrices("x", x)
	var ld *tensor.Tensor
	var out []*tensor.Tensor
	if x.DType().IsComplex() {
		out = m.all("complex_ldl", m.parts(x), Bool1(check), Bool1(hermitian))
		ld, out = m.pair(out[0], out[1]), out[2:]
	} else {
		out = m.all("matrix_ldl", one(x), Bool1(check))
		ld, out = out[0], out[1:]
	}
	pivots := m.do("squeeze", out[0], IntsN(-1))
	return []*tensor.Tensor{ld, m.Cast(pivots, dtype.Int32), m.Cast(out[1], dtype.Int32)}
}

// solvedByLDL returns y with x y = b, for the factors ld and pivots of x.
func (m *maker) solvedByLDL(ld, pivots, b *tensor.Tensor, hermitian bool) *tensor.Tensor {
	m.checkMatrices("LD", ld)
	m.checkMatrices("b", b)
	want := ld.Shape()[:len(ld.Shape())-1]
	if !pivots.DType().IsInt() || !pivots.Shape().Equal(want) {
		m.refuse("pivots", Describe(pivots), fmt.Sprintf("an integer tensor %v", want), "LD is "+Describe(ld))
	}
	complexes := ld.DType().IsComplex() || b.DType().IsComplex()
	if complexes {
		ld, b = m.complexOf(ld), m.complexOf(b)
	}
	columns := m.do("unsqueeze", pivots, Int1(-1))
	same, b := m.sameBatches(ld, b)
	columns, _ = m.sameBatches(columns, same)
	if !complexes {
		return m.Do("matrix_ldl_solve", []*tensor.Tensor{same, b, m.Cast(columns, same.DType())})
	}
	ldParts, bParts := m.parts(same), m.parts(b)
	columns = m.Cast(columns, ldParts[0].DType())
	out := m.all("complex_ldl_solve", []*tensor.Tensor{ldParts[0], bParts[0], ldParts[1], bParts[1], columns}, Bool1(hermitian))
	return m.pair(out[0], out[1])
}
