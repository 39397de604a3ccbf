package op

import (
	"math"
	"slices"

	"tpsh/runtime/dtype"
	"tpsh/runtime/tensor"
)

// byParts are operators that do with a complex tensor what they do with each of its
// parts. values says which inputs are numbers of that kind: those become complex.
var byParts = map[string][]int{
	"cat": nil, "stack": nil, // nil for all of a list
	"sum": {0}, "mean": {0}, "cumsum": {0}, "cumsum_back": {0},
	"repeat": {0}, "flip": {0}, "roll": {0}, "tril": {0}, "triu": {0},
	"index_select": {0}, "index_spread": {0, 2}, "gather": {0}, "index": {0}, "masked_select": {0}, "getitem": {0},
	"scatter_add": {0, 2}, "scatter_put": {0, 2}, "index_copy": {0, 2}, "index_put": {0, 2}, "setitem": {0, 1},
	"masked_fill": {0, 2}, "where": {1, 2}, "copy": {0, 1}, "zero": {0}, "fill": {0, 1},
	"window_get": {0}, "window_put": {0}, "combine": {0, 1},
	"lattice_view": {0}, "region_get": {0}, "region_set": {0, 1}, "region_spread": {0},
}

// intoParts are operators that write into a complex tensor what they write into
// each of its parts.
var intoParts = map[string][]int{
	"copy_": {0, 1}, "zero_": {0}, "fill_": {0, 1}, "setitem_": {0, 1}, "index_put_": {0, 2}, "combine_": {0, 1},
}

func init() {
	for name, values := range byParts {
		complexForms[name] = func(m *maker) []*tensor.Tensor { return one(m.eachOfParts(name, values)) }
	}
	for name, values := range intoParts {
		complexForms[name] = func(m *maker) []*tensor.Tensor { return m.intoParts(name, values) }
	}
	complexForms["pad"] = func(m *maker) []*tensor.Tensor {
		im := append([]Arg{}, m.c.Args...)
		im[2] = Float1(0) // what is put around is real
		return one(m.pair(m.do("pad", m.realPart(m.x(0)), m.c.Args...), m.do("pad", m.imagPart(m.x(0)), im...)))
	}
	complexForms["nonzero"] = func(m *maker) []*tensor.Tensor { return m.all("nonzero", one(m.truth(m.x(0))), m.c.Args...) }
	complexForms["to"] = func(m *maker) []*tensor.Tensor { return one(m.converted(m.x(0), dtype.DType(m.int(0)))) }
	initComplexCreation()
	initComplexDraws()
}

// eachOfParts returns what the operator called name gives of the real and of the
// imaginary parts of its inputs.
func (m *maker) eachOfParts(name string, values []int) *tensor.Tensor {
	list := values
	if list == nil {
		for i := range m.c.In {
			list = append(list, i)
		}
	}
	numbers := make([]*tensor.Tensor, 0, len(list))
	for _, i := range list {
		if m.c.In[i] != nil {
			numbers = append(numbers, m.c.In[i])
		}
	}
	dt := m.common(numbers...)
	m.onlyIn(list)
	re, im := append([]*tensor.Tensor{}, m.c.In...), append([]*tensor.Tensor{}, m.c.In...)
	for _, i := range list {
		if m.c.In[i] == nil {
			continue
		}
		p := m.partsOf(m.c.In[i], dt)
		if re[i], im[i] = p.re, p.im; p.im == nil {
			im[i] = m.zeroLike(p.re)
		}
	}
	return m.whole(couple{m.Do(name, re, m.c.Args...), m.Do(name, im, m.c.Args...)}, dt)
}

// onlyIn refuses complex inputs that are not in list.
func (m *maker) onlyIn(list []int) {
	for i, x := range m.c.In {
		if x != nil && x.DType().IsComplex() && !slices.Contains(list, i) {
			m.check(m.c.refuseComplex())
		}
	}
}

// zeroLike returns zeros like x, or the number 0 for a number.
func (m *maker) zeroLike(x *tensor.Tensor) *tensor.Tensor {
	if x.Weak() {
		return number(0)
	}
	return m.Do("zeros_like", one(x), None)
}

// intoParts applies the operator called name, in place, to the parts of x.
func (m *maker) intoParts(name string, values []int) []*tensor.Tensor {
	x := m.x(0)
	if !x.DType().IsComplex() {
		m.refuse("x", Describe(x), "a complex tensor", "the value is one")
	}
	dt := x.DType().Real()
	m.onlyIn(values)
	re, im := append([]*tensor.Tensor{}, m.c.In...), append([]*tensor.Tensor{}, m.c.In...)
	for _, i := range values[1:] {
		p := m.partsOf(m.c.In[i], dt)
		if re[i], im[i] = p.re, p.im; p.im == nil {
			im[i] = m.zeroLike(p.re)
		}
	}
	re[0], im[0] = m.realPart(x), m.imagPart(x)
	m.Do(name, re, m.c.Args...)
	m.Do(name, im, m.c.Args...)
	return one(x)
}

// converted returns x in dtype dt, one of the two complex. Of a complex tensor that
// is to be real it is the real part.
func (m *maker) converted(x *tensor.Tensor, dt dtype.DType) *tensor.Tensor {
	switch {
	case x.DType() == dt && x.Weak():
		return m.whole(m.partsOf(x, dt.Real()), dt.Real())
	case x.DType() == dt:
		return m.do("reshape", x, IntsN(x.Shape()...))
	case !dt.IsComplex():
		return m.Cast(m.realPart(x), dt)
	}
	return m.whole(m.partsOf(x, dt.Real()), dt.Real())
}

// resultDType returns the dtype of a result: that of Args[i], or else of the first input.
func (m *maker) resultDType(i int) dtype.DType {
	if a := m.c.Args[i]; a.Set {
		return dtype.DType(a.Int)
	}
	return m.x(0).DType()
}

// initComplexCreation adds the forms that make complex tensors of nothing, or like others.
func initComplexCreation() {
	for _, name := range []string{"zeros", "ones", "empty"} {
		complexForms[name] = func(m *maker) []*tensor.Tensor {
			dt := m.resultDType(1).Real()
			re := m.Do(name, nil, m.c.Args[0], Int1(int(dt)))
			return one(m.whole(couple{re, nil}, dt))
		}
	}
	for _, name := range []string{"zeros_like", "ones_like", "empty_like"} {
		complexForms[name] = func(m *maker) []*tensor.Tensor {
			dt := m.resultDType(0)
			x := m.x(0)
			if x.DType().IsComplex() {
				x = m.realPart(x)
			}
			re := m.Do(name, one(x), Int1(int(dt.Real())))
			if !dt.IsComplex() {
				return one(re)
			}
			return one(m.whole(couple{re, nil}, dt.Real()))
		}
	}
	complexForms["full"] = func(m *maker) []*tensor.Tensor {
		dt := m.x(0).DType().Complex()
		if a := m.c.Args[1]; a.Set {
			dt = dtype.DType(a.Int)
		} else if m.x(0).Weak() {
			dt = m.c.Ctx.Float.Complex()
		}
		if !dt.IsComplex() {
			m.refuse("fill_value", Describe(m.x(0)), "a real number", "dtype is "+dt.String())
		}
		of := func(v *tensor.Tensor) *tensor.Tensor {
			return m.Do("full", one(v), m.c.Args[0], Int1(int(dt.Real())))
		}
		p := m.partsOf(m.x(0), dt.Real())
		if p.re = of(p.re); p.im != nil {
			p.im = of(p.im)
		}
		return one(m.whole(p, dt.Real()))
	}
	complexForms["full_like"] = func(m *maker) []*tensor.Tensor {
		dt, x := m.resultDType(0), m.x(0)
		if !dt.IsComplex() {
			if m.x(1).DType().IsComplex() {
				m.refuse("fill_value", Describe(m.x(1)), "a real number", "dtype is "+dt.String())
			}
			return one(m.do2("full_like", m.realPart(x), m.x(1), Int1(int(dt))))
		}
		if x.DType().IsComplex() {
			x = m.realPart(x)
		}
		of := func(v *tensor.Tensor) *tensor.Tensor { return m.do2("full_like", x, v, Int1(int(dt.Real()))) }
		p := m.partsOf(m.x(1), dt.Real())
		if p.re = of(p.re); p.im != nil {
			p.im = of(p.im)
		}
		return one(m.whole(p, dt.Real()))
	}
}

// initComplexDraws adds the forms that draw complex tensors. Of a normal one, the
// variance of both parts together is 1.
func initComplexDraws() {
	for name, scale := range map[string]float64{"rand": 1, "randn": math.Sqrt(0.5)} {
		complexForms[name] = func(m *maker) []*tensor.Tensor {
			dt := m.resultDType(1)
			s := append(append([]int{}, m.c.Args[0].Ints...), 2)
			x := m.Do(name, nil, IntsN(s...), Int1(int(dt.Real())))
			if scale != 1 {
				x = m.Scale(x, scale)
			}
			return one(m.unary("view_as_complex", x))
		}
		complexForms[name+"_like"] = func(m *maker) []*tensor.Tensor {
			dt, x := m.resultDType(0), m.x(0)
			if !dt.IsComplex() {
				return one(m.do(name+"_like", m.realPart(x), Int1(int(dt))))
			}
			draw := func() *tensor.Tensor {
				y := x
				if x.DType().IsComplex() {
					y = m.realPart(x)
				}
				return m.do(name+"_like", y, Int1(int(dt.Real())))
			}
			re, im := draw(), draw()
			if scale != 1 {
				re, im = m.Scale(re, scale), m.Scale(im, scale)
			}
			return one(m.pair(re, im))
		}
	}
}
