package op

import (
	"slices"

	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// Complex matrices x + iy are solved as the real ones [x -y; y x], of which the products
// are those of the complex ones; for factors that are triangles each element x + iy is
// [x -y; y x] by itself, so that they stay triangles.
func init() {
	complexForms["matrix_inverse"] = func(m *maker) []*tensor.Tensor {
		a := m.x(0)
		return one(m.unstacked(m.unary("matrix_inverse", m.embedded(a)), a))
	}
	complexForms["matrix_solve"] = func(m *maker) []*tensor.Tensor {
		a, b := m.complexOf(m.x(0)), m.complexOf(m.x(1))
		rows := m.Do("cat", []*tensor.Tensor{m.realPart(b), m.imagPart(b)}, Int1(-2))
		return one(m.unstacked(m.binary("matrix_solve", m.embedded(a), rows), b))
	}
	complexForms["matrix_exp"] = func(m *maker) []*tensor.Tensor {
		return one(m.unstacked(m.unary("matrix_exp", m.embedded(m.x(0))), m.x(0)))
	}
	complexForms["matrix_triangular"] = func(m *maker) []*tensor.Tensor {
		a, b := m.complexOf(m.x(0)), m.complexOf(m.x(1))
		if m.bool(1) { // what stands on the diagonal does not count, nor does its imaginary part
			part, from := "tril", -1
			if m.bool(0) {
				part, from = "triu", 1
			}
			_, n := matrix(a)
			a = m.Add(m.Do(part, one(a), Int1(from)), m.eye(n, n, a.DType()))
		} else { // with ones on the diagonal the blocks there are triangles, too
			by := m.column(m.diagonal(a, 0, len(a.Shape())-2, len(a.Shape())-1), len(a.Shape())-1)
			a, b = m.Div(a, by), m.Div(b, by)
		}
		y := m.Do("matrix_triangular", []*tensor.Tensor{m.interleaved(a), m.interleaved(b)}, m.c.Args[0], Bool1(true))
		return one(m.evenColumns(y, b))
	}
	complexForms["matrix_cholesky"] = func(m *maker) []*tensor.Tensor {
		return one(m.evenColumns(m.unary("matrix_cholesky", m.interleaved(m.x(0))), m.x(0)))
	}
	complexForms["matrix_qr"] = func(m *maker) []*tensor.Tensor {
		out := m.all("matrix_qr", one(m.interleaved(m.x(0))))
		rows, cols := matrix(m.x(0))
		s, d := m.x(0).Shape(), len(m.x(0).Shape())
		k := min(rows, cols)
		q := m.columnParts(out[0], append(slices.Clone(s[:d-2]), rows, 2, k, 2))
		r := m.do("reshape", out[1], IntsN(append(slices.Clone(s[:d-2]), k, 2, cols, 2)...))
		r = m.do("select", r, Int1(d-1), Int1(0)) // rows whose sign is that of the columns of q
		part := func(i int) *tensor.Tensor { return m.do("select", r, Int1(d), Int1(i)) }
		return []*tensor.Tensor{q, m.pair(part(0), m.Neg(part(1)))}
	}
	complexForms["log_det"] = func(m *maker) []*tensor.Tensor {
		out := m.all("complex_log_det", m.parts(m.x(0)))
		return []*tensor.Tensor{m.pair(out[0], out[1]), out[2]}
	}
	complexForms["matrix_svd"] = func(m *maker) []*tensor.Tensor {
		out := m.all("complex_svd", m.parts(m.x(0)))
		return []*tensor.Tensor{m.pair(out[0], out[1]), out[2], m.pair(out[3], out[4])}
	}
	complexForms["matrix_lu"] = func(m *maker) []*tensor.Tensor {
		out := m.all("complex_lu", m.parts(m.x(0)))
		return []*tensor.Tensor{m.pair(out[0], out[1]), out[2], m.Cast(out[3], m.x(0).DType())}
	}
	complexForms["matrix_info"] = func(m *maker) []*tensor.Tensor {
		return one(m.Do("complex_info", m.parts(m.x(0)), m.c.Args...))
	}
	complexForms["matrix_reflectors"] = func(m *maker) []*tensor.Tensor {
		out := m.all("complex_reflectors", m.parts(m.x(0)))
		return []*tensor.Tensor{m.pair(out[0], out[1]), m.pair(out[2], out[3])}
	}
	complexForms["matrix_eig"] = func(m *maker) []*tensor.Tensor { return m.all("complex_eig", m.parts(m.x(0))) }
	complexForms["matrix_eigvals"] = func(m *maker) []*tensor.Tensor { return m.all("complex_eigvals", m.parts(m.x(0))) }
	complexForms["matrix_svdvals"] = func(m *maker) []*tensor.Tensor { return m.all("complex_svd", m.parts(m.x(0)))[2:3] }
	complexForms["matrix_eigvalsh"] = func(m *maker) []*tensor.Tensor { return m.all("complex_eigh", m.parts(m.read()))[:1] }
	complexForms["matrix_eigh"] = func(m *maker) []*tensor.Tensor {
		out := m.all("complex_eigh", m.parts(m.read()))
		return []*tensor.Tensor{out[0], m.pair(out[1], out[2])}
	}
}

// read returns the first tensor, turned if the argument says that its upper triangle is read.
func (m *maker) read() *tensor.Tensor {
	if m.bool(0) {
		return m.conjTurned(m.x(0))
	}
	return m.x(0)
}

// interleaved returns the real matrices in which each element x + iy of a is [x -y; y x].
func (m *maker) interleaved(a *tensor.Tensor) *tensor.Tensor {
	m.checkMatrices("x", a)
	x, y, d := m.realPart(a), m.imagPart(a), len(a.Shape())
	top := m.Do("stack", []*tensor.Tensor{x, m.Neg(y)}, Int1(d))
	low := m.Do("stack", []*tensor.Tensor{y, x}, Int1(d))
	s := slices.Clone(a.Shape())
	s[d-2], s[d-1] = 2*s[d-2], 2*s[d-1]
	return m.Reshape(m.Do("stack", []*tensor.Tensor{top, low}, Int1(d-1)), s)
}

// evenColumns returns the complex matrices of the shape of a that x is interleaved of.
func (m *maker) evenColumns(x, a *tensor.Tensor) *tensor.Tensor {
	rows, cols := matrix(a)
	s := a.Shape()
	return m.columnParts(x, append(slices.Clone(s[:len(s)-2]), rows, 2, cols, 2))
}

// columnParts returns the complex matrices whose parts are the first columns of blocks of
// two by two, of x in the shape s of blocks.
func (m *maker) columnParts(x *tensor.Tensor, s shape.Shape) *tensor.Tensor {
	d := len(s)
	x = m.do("select", m.Reshape(x, s), Int1(d-1), Int1(0))
	part := func(i int) *tensor.Tensor { return m.do("select", x, Int1(d-3), Int1(i)) }
	return m.pair(part(0), part(1))
}

// embedded returns the real matrices that stand for the complex a.
func (m *maker) embedded(a *tensor.Tensor) *tensor.Tensor {
	if len(a.Shape()) < 2 {
		m.refuse("x", Describe(a), "a tensor of at least two dims", "")
	}
	x, y := m.realPart(a), m.imagPart(a)
	top := m.Do("cat", []*tensor.Tensor{x, m.Neg(y)}, Int1(-1))
	return m.Do("cat", []*tensor.Tensor{top, m.Do("cat", []*tensor.Tensor{y, x}, Int1(-1))}, Int1(-2))
}

// unstacked returns the complex matrices of the shape of a whose parts lie upon each other
// in the first columns of x.
func (m *maker) unstacked(x, a *tensor.Tensor) *tensor.Tensor {
	rows, cols := matrix(a)
	d := len(x.Shape())
	x = m.Narrow(x, d-1, 0, cols)
	return m.pair(m.Narrow(x, d-2, 0, rows), m.Narrow(x, d-2, rows, rows))
}
