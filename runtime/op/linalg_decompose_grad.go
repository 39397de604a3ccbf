package op

import (
	"tpsh/runtime/dtype"
	"tpsh/runtime/tensor"
)

// turned returns x with its last two dims exchanged.
func (t *Tape) turned(x *tensor.Tensor) *tensor.Tensor { return t.Transpose(x, -2, -1) }

// lower returns the lower triangles of matrices, from the given diagonal on.
func (t *Tape) lower(x *tensor.Tensor, diagonal int) *tensor.Tensor {
	return t.Do("tril", one(x), Int1(diagonal))
}

// halfTril returns the lower triangles of matrices with halved diagonals.
func (t *Tape) halfTril(x *tensor.Tensor) *tensor.Tensor {
	return t.Scale(t.Add(t.lower(x, 0), t.lower(x, -1)), 0.5)
}

// diagonalMatrix returns matrices with the last dim of x on their diagonals.
func (t *Tape) diagonalMatrix(x *tensor.Tensor) *tensor.Tensor {
	s := x.Shape()
	n := s[len(s)-1]
	return t.Where(t.eye(n, n, dtype.Bool), t.column(x, len(s)), tensor.Number(0.0))
}

// orZero returns dy, or zeros like y if it is nil.
func (t *Tape) orZero(dy, y *tensor.Tensor) *tensor.Tensor {
	if dy != nil {
		return dy
	}
	return t.Do("zeros_like", one(y), None)
}

// gaps returns the matrices of 1 / (b[j] - a[i]) off the diagonal, and 0 on it.
func (t *Tape) gaps(a, b *tensor.Tensor) *tensor.Tensor {
	s := a.Shape()
	eye := t.eye(s[len(s)-1], s[len(s)-1], dtype.Bool)
	diff := t.Sub(t.column(b, len(s)-1), t.column(a, len(s)))
	return t.Where(eye, tensor.Number(0.0), t.unary("reciprocal", t.Where(eye, tensor.Number(1.0), diff)))
}

// solveGrad is the gradient of matrix_solve.
func solveGrad(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
	db := t.Do("matrix_solve", []*tensor.Tensor{t.turned(c.In[0]), dy[0]})
	return []*tensor.Tensor{t.Neg(t.MatMul(db, t.turned(c.Out[0]))), db}
}

// choleskyGrad is the gradient of matrix_cholesky: Murray, arXiv 1602.07527.
func choleskyGrad(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
	l := c.Out[0]
	p := t.halfTril(t.MatMul(t.turned(l), t.lower(dy[0], 0)))
	back := t.Do("matrix_solve", []*tensor.Tensor{t.turned(l), p})                       // l⁻ᵀ p
	back = t.turned(t.Do("matrix_solve", []*tensor.Tensor{t.turned(l), t.turned(back)})) // times l⁻¹
	return one(t.Scale(t.Add(back, t.turned(back)), 0.5))
}

// qrGrad is, of a tall matrix,
//
//	(dq + q h(r drᵀ - dqᵀ q)) r⁻ᵀ
//
// where h repeats the lower triangle above the diagonal. Of a wide one [x y] the
// part of r behind the square is qᵀ y: dq and dx take their shares of that.
// Walter and Lehmann, arXiv 1009.6112.
func qrGrad(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
	q, r := c.Out[0], c.Out[1]
	dq, dr := t.orZero(dy[0], q), t.orZero(dy[1], r)
	m, n := matrix(c.In[0])
	if m >= n {
		return one(t.tallQRGrad(q, r, dq, dr))
	}
	last := len(r.Shape()) - 1
	cut := func(x *tensor.Tensor, from, size int) *tensor.Tensor {
		return t.Do("narrow", one(x), Int1(last), Int1(from), Int1(size))
	}
	y, drY := cut(c.In[0], m, n-m), cut(dr, m, n-m)
	dq = t.Add(dq, t.MatMul(y, t.turned(drY)))
	dx := t.tallQRGrad(q, cut(r, 0, m), dq, cut(dr, 0, m))
	return one(t.Do("cat", []*tensor.Tensor{dx, t.MatMul(q, drY)}, Int1(last)))
}

func (t *Tape) tallQRGrad(q, r, dq, dr *tensor.Tensor) *tensor.Tensor {
	h := t.Sub(t.MatMul(r, t.turned(dr)), t.MatMul(t.turned(dq), q))
	h = t.Add(t.lower(h, 0), t.turned(t.lower(h, -1)))
	b := t.Add(dq, t.MatMul(q, h))
	return t.turned(t.Do("matrix_solve", []*tensor.Tensor{r, t.turned(b)}))
}

// svdGrad is the gradient of matrix_svd.
func svdGrad(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
	rows, cols := matrix(c.In[0])
	return one(t.svdGrad(c.Out[0], c.Out[1], c.Out[2], dy[0], dy[1], dy[2], rows, cols))
}

// svdvalsGrad is the gradient of singular values alone: that of a decomposition.
func svdvalsGrad(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
	rows, cols := matrix(c.In[0])
	of := t.several("matrix_svd", one(c.In[0]))
	return one(t.svdGrad(of[0], of[1], of[2], nil, dy[0], nil, rows, cols))
}

// svdGrad is the gradient of matrices [rows, cols] for those of u, s and vᴴ, which are nil
// for none: Townsend, "Differentiating the singular value decomposition", 2016. Equal
// singular values have none. Of complex matrices u and v may turn together: what u gains
// by that is added, as Wan and Zhang have it, arXiv 1909.02659.
func (t *Tape) svdGrad(u, s, vt, du, ds, dvt *tensor.Tensor, rows, cols int) *tensor.Tensor {
	inner := t.diagonalMatrix(t.orZero(ds, s))
	if du == nil && dvt == nil {
		return t.MatMul(u, t.MatMul(t.kindOf(inner, u), vt))
	}
	du, dv := t.orZero(du, u), t.conjTurned(t.orZero(dvt, vt))
	v, ut := t.conjTurned(vt), t.conjTurned(u)
	f := t.gaps(t.Mul(s, s), t.Mul(s, s))
	n := len(s.Shape())
	skew := func(x, dx *tensor.Tensor) *tensor.Tensor {
		p := t.MatMul(t.conjTurned(x), dx)
		return t.Sub(p, t.conjTurned(p))
	}
	turned := skew(u, du)
	inner = t.Add(inner, t.Mul(t.Mul(f, turned), t.column(s, n-1)))
	inner = t.Add(inner, t.Mul(t.column(s, n), t.Mul(f, skew(v, dv))))
	if u.DType().IsComplex() {
		eye := t.eye(s.Shape()[n-1], s.Shape()[n-1], s.DType())
		inner = t.Add(inner, t.Scale(t.Div(t.Mul(turned, eye), t.column(s, n-1)), 0.5))
	}
	dx := t.MatMul(u, t.MatMul(inner, vt))
	if rows > cols { // the part of du outside of u
		out := t.Sub(du, t.MatMul(u, t.MatMul(ut, du)))
		dx = t.Add(dx, t.MatMul(t.Div(out, t.column(s, n-1)), vt))
	}
	if cols > rows {
		out := t.Sub(dv, t.MatMul(v, t.MatMul(vt, dv)))
		dx = t.Add(dx, t.MatMul(u, t.conjTurned(t.Div(out, t.column(s, n-1)))))
	}
	return dx
}

// pinvGrad is the gradient of pseudoinverses p of x: Golub and Pereyra, "The
// differentiation of pseudo-inverses and nonlinear least squares problems whose variables
// separate", SIAM Journal on Numerical Analysis 10(2), 1973. What is of the size of a square
// of the greater of x's sizes is not made.
func pinvGrad(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
	x, p := c.In[0], c.Out[0]
	ph, gh := t.conjTurned(p), t.conjTurned(dy[0])
	dx := t.Neg(t.MatMul(ph, t.MatMul(dy[0], ph)))
	var outer, inner *tensor.Tensor // gᴴ p pᴴ and pᴴ p gᴴ
	if rows, cols := matrix(x); rows >= cols {
		outer, inner = t.MatMul(gh, t.MatMul(p, ph)), t.MatMul(ph, t.MatMul(p, gh))
	} else {
		outer, inner = t.MatMul(t.MatMul(gh, p), ph), t.MatMul(t.MatMul(ph, p), gh)
	}
	dx = t.Add(dx, t.Sub(outer, t.MatMul(x, t.MatMul(p, outer))))
	return one(t.Add(dx, t.Sub(inner, t.MatMul(t.MatMul(inner, p), x))))
}

// lstsqGrad is the gradient of matrix_lstsq: of the products of pseudoinverses p with b. That of x is
// the one of p, whose gradient is dy bᵀ.
func lstsqGrad(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
	if dy[0] == nil {
		return []*tensor.Tensor{nil, nil}
	}
	x, b := c.In[0], c.In[1]
	p := t.Do("linalg.pinv", []*tensor.Tensor{x, tensor.Number(c.Args[0].Float), nil}, Bool1(false))
	of := &Call{Def: c.Def, Ctx: c.Ctx, In: one(x), Out: one(p)}
	return []*tensor.Tensor{pinvGrad(t, of, one(t.MatMul(dy[0], t.turned(b))))[0], t.MatMul(t.turned(p), dy[0])}
}

// sqrthGrad is the gradient dx of Hermitian matrices whose square roots y are: the solution
// of y dx + dx y = dy.
func sqrthGrad(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
	of := t.several("matrix_eigh", one(c.Out[0]), Bool1(false))
	w, v := of[0], of[1]
	n, vt := len(w.Shape()), t.conjTurned(of[1])
	sums := t.Add(t.column(w, n), t.column(w, n-1))
	return one(t.MatMul(v, t.MatMul(t.Div(t.MatMul(vt, t.MatMul(dy[0], v)), sums), vt)))
}

// kindOf returns x, as complex numbers if y has such.
func (t *Tape) kindOf(x, y *tensor.Tensor) *tensor.Tensor {
	if y.DType().IsComplex() {
		return t.pair(x, t.Do("zeros_like", one(x), None))
	}
	return x
}

// eighGrad is the gradient of Hermitian matrices for those of their eigenvalues w and
// eigenvectors v, which are nil for none: a Hermitian one. Equal eigenvalues have none.
func (t *Tape) eighGrad(w, v, dw, dv *tensor.Tensor) *tensor.Tensor {
	vt, inner := t.conjTurned(v), t.kindOf(t.diagonalMatrix(t.orZero(dw, w)), v)
	if dv != nil {
		turned := t.Mul(t.gaps(w, w), t.MatMul(vt, dv))
		inner = t.Add(inner, t.Scale(t.Add(turned, t.conjTurned(turned)), 0.5))
	}
	return t.MatMul(v, t.MatMul(inner, vt))
}
