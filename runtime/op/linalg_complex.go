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
		x = t.conjugate(x)
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
