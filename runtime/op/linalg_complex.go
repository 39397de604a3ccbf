package op

import (
	"slices"

	"tpsh/runtime/kernel/lapack"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

var inImag = Param{Name: "im", Kind: Tensor, Doc: "the imaginary parts, of the shape of x"}

// complexDecompositions are decompositions of complex matrices, of which they take the
// parts, and give those of the results. An operation of complex numbers counts as four.
var complexDecompositions = []*decomposition{
	{name: "complex_log_det", doc: "complex_log_det(x, im) returns the parts of the determinants of matrices x + i im divided by their absolute values, and the logarithms of these.", params: []Param{inSquares, inImag}, square: true,
		results: func(_, _ int, _ *Call) []shape.Shape { return []shape.Shape{{}, {}, {}} },
		run: func(out, in [][]float64, n, _ int, _ *Call) bool {
			sign, log := lapack.ComplexLogDet(in[0], in[1], n)
			out[0][0], out[1][0], out[2][0] = real(sign), imag(sign), log
			return true
		},
		flops: func(n, _ int, _ *Call) int { return 8 * n * n * n / 3 },
		grad:  complexLogDetGrad},
	{name: "complex_svd", doc: "complex_svd(x, im) returns the parts of u [.., m, k], the singular values [.., k] in descending order and the parts of vᴴ [.., k, n] of matrices x + i im.", params: []Param{inMatrix, inImag}, refuse: notFinite,
		results: func(m, n int, _ *Call) []shape.Shape {
			k := min(m, n)
			return []shape.Shape{{m, k}, {m, k}, {k}, {k, n}, {k, n}}
		},
		run: func(out, in [][]float64, m, n int, _ *Call) bool {
			return lapack.ComplexSVD(out[0], out[1], out[2], out[3], out[4], in[0], in[1], m, n)
		},
		flops: func(m, n int, _ *Call) int { a, k := max(m, n), min(m, n); return 4 * (6*a*k*k + 20*k*k*k) },
		grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			rows, cols := matrix(c.In[0])
			return t.parts(t.svdGrad(t.pair(c.Out[0], c.Out[1]), c.Out[2], t.pair(c.Out[3], c.Out[4]), t.pairOf(c, dy, 0), dy[2], t.pairOf(c, dy, 3), rows, cols))
		}},
	{name: "complex_eigh", doc: "complex_eigh(x, im) returns the eigenvalues [.., n] of Hermitian matrices x + i im in ascending order, and the parts of the eigenvectors as columns; it reads their lower triangles.", params: []Param{inSquares, inImag}, square: true, refuse: notFinite,
		results: func(_, n int, _ *Call) []shape.Shape { return []shape.Shape{{n}, {n, n}, {n, n}} },
		run: func(out, in [][]float64, n, _ int, _ *Call) bool {
			return lapack.ComplexEigh(out[0], out[1], out[2], in[0], in[1], n)
		},
		flops: func(n, _ int, _ *Call) int { return 4 * 9 * n * n * n },
		grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			return t.parts(t.eighGrad(c.Out[0], t.pair(c.Out[1], c.Out[2]), dy[0], t.pairOf(c, dy, 1)))
		}},
	{name: "complex_lu", doc: "complex_lu(x, im) returns the parts of the packed factors l and u of matrices x + i im, the rows that were exchanged and the permutation p: p l u = x + i im.", params: []Param{inMatrix, inImag},
		results: func(m, n int, _ *Call) []shape.Shape { return []shape.Shape{{m, n}, {m, n}, {min(m, n)}, {m, m}} },
		run: func(out, in [][]float64, m, n int, _ *Call) bool {
			return lapack.ComplexLU(out[0], out[1], out[2], out[3], in[0], in[1], m, n)
		},
		flops: func(m, n int, _ *Call) int { k := min(m, n); return 4 * (2*m*n*k - (m+n)*k*k + 2*k*k*k/3) },
		grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			g := t.pairOf(c, dy, 0)
			if g == nil {
				return []*tensor.Tensor{nil, nil}
			}
			return t.parts(t.luGrad(t.pair(c.Out[0], c.Out[1]), g, c.Out[3]))
		}},
	{name: "complex_info", doc: "complex_info(x, im, cholesky) returns matrix_info of x + i im.", params: []Param{inSquares, inImag, {Name: "cholesky", Kind: Bool, Doc: "which"}}, square: true,
		results: func(_, _ int, _ *Call) []shape.Shape { return []shape.Shape{{}} },
		run: func(out, in [][]float64, n, _ int, c *Call) bool {
			out[0][0] = float64(lapack.ComplexInfo(in[0], in[1], n, c.Args[0].Int != 0))
			return true
		},
		flops: func(n, _ int, _ *Call) int { return 8 * n * n * n / 3 }},
	{name: "complex_reflectors", doc: "complex_reflectors(x, im) returns the parts of r and Householder's vectors below it, packed, and those of their factors tau, of x + i im. It has no gradient.", params: []Param{inMatrix, inImag},
		results: func(m, n int, _ *Call) []shape.Shape {
			return []shape.Shape{{m, n}, {m, n}, {min(m, n)}, {min(m, n)}}
		},
		run: func(out, in [][]float64, m, n int, _ *Call) bool {
			return lapack.ComplexReflectors(out[0], out[1], out[2], out[3], in[0], in[1], m, n)
		},
		flops: func(m, n int, _ *Call) int { k := min(m, n); return 4 * (2*m*n*k - (m+n)*k*k + 2*k*k*k/3) }},
	{name: "complex_eig", doc: "complex_eig(x, im) returns the parts of the eigenvalues of matrices x + i im, and those of the eigenvectors as columns.", params: []Param{inSquares, inImag}, square: true, refuse: notFinite,
		results: func(_, n int, _ *Call) []shape.Shape { return []shape.Shape{{n}, {n}, {n, n}, {n, n}} },
		run: func(out, in [][]float64, n, _ int, _ *Call) bool {
			return lapack.ComplexEig(out[0], out[1], out[2], out[3], in[0], in[1], n)
		},
		flops: func(n, _ int, _ *Call) int { return 4 * 25 * n * n * n },
		grad:  func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor { return t.parts(t.eigGrad(c.Out, dy)) }},
	{name: "complex_eigvals", doc: "complex_eigvals(x, im) returns the parts of the eigenvalues of matrices x + i im, without the vectors.", params: []Param{inSquares, inImag}, square: true, refuse: notFinite,
		results: func(_, n int, _ *Call) []shape.Shape { return []shape.Shape{{n}, {n}} },
		run: func(out, in [][]float64, n, _ int, _ *Call) bool {
			return lapack.ComplexEigValues(out[0], out[1], in[0], in[1], n)
		},
		flops: func(n, _ int, _ *Call) int { return 4 * 10 * n * n * n },
		grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			return t.parts(t.eigGrad(t.several("complex_eig", c.In), []*tensor.Tensor{dy[0], dy[1], nil, nil}))
		}},
}

func init() {
	for _, d := range slices.Concat(complexDecompositions, complexIndefinite) {
		def := d.def()
		def.Infer = func(c *Call) error {
			if dt := c.In[0].DType(); dt.IsFloat() && dt.Size() < 4 {
				return c.Bad("x", Describe(c.In[0]), "a float32 or float64 tensor", "there are no complex numbers of halves")
			}
			return d.infer(c)
		}
		register(def)
	}
}

// pairOf returns the complex gradient of results i and i+1; nil if both have none.
func (t *Tape) pairOf(c *Call, dy []*tensor.Tensor, i int) *tensor.Tensor {
	if dy[i] == nil && dy[i+1] == nil {
		return nil
	}
	return t.pair(t.orZero(dy[i], c.Out[i]), t.orZero(dy[i+1], c.Out[i+1]))
}

// parts returns the parts of a complex tensor.
func (t *Tape) parts(x *tensor.Tensor) []*tensor.Tensor {
	return []*tensor.Tensor{t.realPart(x), t.imagPart(x)}
}

// conjTurned returns the conjugate transposes of matrices.
func (t *Tape) conjTurned(x *tensor.Tensor) *tensor.Tensor {
	if x.DType().IsComplex() {
		x = t.conjugated(x)
	}
	return t.turned(x)
}

// complexLogDetGrad is (dl + i c) x⁻ᴴ for the gradient dl of the logarithm, where c is how
// much the sign s gains as it turns: re(conj(ds) i s).
func complexLogDetGrad(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
	turn := t.Sub(t.Mul(t.orZero(dy[1], c.Out[1]), c.Out[0]), t.Mul(t.orZero(dy[0], c.Out[0]), c.Out[1]))
	by := t.pair(t.orZero(dy[2], c.Out[2]), turn)
	n := len(by.Shape())
	inv := t.Do("matrix_inverse", one(t.pair(c.In[0], c.In[1])))
	return t.parts(t.Mul(t.column(t.column(by, n), n+1), t.conjTurned(inv)))
}
