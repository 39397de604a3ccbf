package op

import (
	"fmt"

	"tpsh/runtime/dtype"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

func init() {
	compositeOf(&Def{Name: "scatter", Surface: Method,
		Doc: "scatter(x, dim, index, src) returns a copy of x with elements of src: each at its place but with the index of dim that index gives; of equal places the last wins.\n" +
			"index has as many dims as x, is no larger than src, and no larger than x but along dim.\n" +
			">>> zeros(3).scatter(0, tensor([2, 0]), tensor([1.0, 2.0])).tolist()\n[2.0, 0.0, 1.0]",
		Params: []Param{inX, {Name: "dim", Kind: Dim, Doc: "the dim to index"}, {Name: "index", Kind: Tensor, Doc: "an integer tensor"}, {Name: "src", Kind: Operand, Doc: "a tensor of x's dtype, or a number"}}},
		func(m *maker) []*tensor.Tensor { return one(m.scattered(m.x(0), m.x(1), m.x(2), m.dim(0, m.x(0)))) })
}

// scattered returns x with elements of src at places that index gives along d.
func (m *maker) scattered(x, index, src *tensor.Tensor, d int) *tensor.Tensor {
	s, is := x.Shape(), index.Shape()
	if len(s) == 0 || len(is) != len(s) {
		m.refuse("index", Describe(index), fmt.Sprintf("a tensor of %d dims, at least one", len(s)), "x is "+Describe(x))
	}
	if len(src.Shape()) == 0 {
		src = m.Expand(m.Cast(src, x.DType()), is)
	}
	if len(src.Shape()) != len(s) || src.DType() != x.DType() {
		m.refuse("src", Describe(src), fmt.Sprintf("a tensor of %d dims of dtype %v", len(s), x.DType()), "x is "+Describe(x))
	}
	for e, n := range is {
		if n > src.Shape()[e] || e != d && n > s[e] {
			m.refuse("index", Describe(index), "one no larger than src, and than x but along dim", Describe(src)+" and "+Describe(x))
		}
		src = m.do("narrow", src, Int1(e), Int1(0), Int1(n))
	}
	if x.Placed() || index.Placed() || src.Placed() {
		return m.scatteredFlat(x, index, src, d)
	}
	return m.Do("scatter_put", []*tensor.Tensor{x, index, src}, Int1(d))
}

// scatteredFlat is scattered of tensors that ranks hold together: places in the flattened
// tensor may lie on any rank.
func (m *maker) scatteredFlat(x, index, src *tensor.Tensor, d int) *tensor.Tensor {
	s, is := x.Shape(), index.Shape()
	m.do2("gather", x, index, Int1(d)) // refuses what is out of range
	n := s[d]
	at := m.Cast(index, dtype.Int64)
	at = m.Where(m.less(at, integer(0)), m.Add(at, integer(n)), at)
	at = m.Mul(at, integer(s.Strides()[d]))
	for e := range s {
		if e != d {
			line := replaced(make1s(len(s)), e, is[e])
			at = m.Add(at, m.Reshape(m.Mul(m.upTo(is[e]), integer(s.Strides()[e])), line))
		}
	}
	flat := shape.Shape{is.Numel()}
	y := m.Do("index_put", []*tensor.Tensor{m.Reshape(x, shape.Shape{s.Numel()}), m.Reshape(at, flat), m.Reshape(src, flat)})
	return m.Reshape(y, s)
}
