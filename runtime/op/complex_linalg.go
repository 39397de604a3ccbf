package op

import "tpsh/runtime/tensor"

// Complex matrices x + iy are solved as the real ones [x -y; y x], of which the products
// are those of the complex ones.
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
