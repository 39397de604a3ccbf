package op

import (
	"fmt"
	"math"
	"slices"

	"tpsh/runtime/dtype"
	"tpsh/runtime/tensor"
)

// unaryComplex are functions of one complex tensor that give one.
var unaryComplex = map[string]func(m *maker, x couple) couple{
	"neg":        (*maker).negated,
	"exp":        (*maker).exponential,
	"log":        (*maker).logarithm,
	"log2":       func(m *maker, x couple) couple { return m.scaledParts(m.logarithm(x), 1/math.Ln2) },
	"log10":      func(m *maker, x couple) couple { return m.scaledParts(m.logarithm(x), 1/math.Ln10) },
	"sqrt":       (*maker).squareRoot,
	"rsqrt":      func(m *maker, x couple) couple { return m.divCouple(couple{number(1), nil}, m.squareRoot(x)) },
	"reciprocal": func(m *maker, x couple) couple { return m.divCouple(couple{number(1), nil}, x) },
	"sin":        func(m *maker, x couple) couple { return m.turnedBy(m.hyperbolicSine(m.turnedBy(x, 1)), -1) },
	"cos":        func(m *maker, x couple) couple { return m.hyperbolicCosine(m.turnedBy(x, 1)) },
	"tan": func(m *maker, x couple) couple {
		t := m.turnedBy(x, 1)
		return m.turnedBy(m.divCouple(m.hyperbolicSine(t), m.hyperbolicCosine(t)), -1)
	},
	"sinh": (*maker).hyperbolicSine,
	"cosh": (*maker).hyperbolicCosine,
	"tanh": func(m *maker, x couple) couple { return m.divCouple(m.hyperbolicSine(x), m.hyperbolicCosine(x)) },
	"sigmoid": func(m *maker, x couple) couple {
		y := m.exponential(m.negated(x))
		return m.divCouple(couple{number(1), nil}, couple{m.AddNumber(y.re, 1), y.im})
	},
	"sign": func(m *maker, x couple) couple {
		size := m.absolute(m.pair(x.re, x.im))
		size = m.Where(m.truth(size), size, number(1))
		return couple{m.Div(x.re, size), m.Div(x.im, size)}
	},
}

// scaledParts returns k x.
func (m *maker) scaledParts(x couple, k float64) couple {
	return couple{m.Scale(x.re, k), m.Scale(x.im, k)}
}

// turnedBy returns k i x, where k is 1 or -1.
func (m *maker) turnedBy(x couple, k int) couple {
	if k < 0 {
		return couple{x.im, m.Neg(x.re)}
	}
	return couple{m.Neg(x.im), x.re}
}

func (m *maker) exponential(x couple) couple { return m.polar(m.unary("exp", x.re), x.im) }

func (m *maker) logarithm(x couple) couple {
	return couple{m.unary("log", m.absolute(m.pair(x.re, x.im))), m.phase(x)}
}

func (m *maker) squareRoot(x couple) couple {
	return m.polar(m.unary("sqrt", m.absolute(m.pair(x.re, x.im))), m.Scale(m.phase(x), 0.5))
}

func (m *maker) hyperbolicSine(x couple) couple {
	return couple{m.Mul(m.unary("sinh", x.re), m.unary("cos", x.im)), m.Mul(m.unary("cosh", x.re), m.unary("sin", x.im))}
}

func (m *maker) hyperbolicCosine(x couple) couple {
	return couple{m.Mul(m.unary("cosh", x.re), m.unary("cos", x.im)), m.Mul(m.unary("sinh", x.re), m.unary("sin", x.im))}
}

// binaryComplex are functions of two tensors, one of them complex, that give a
// complex one.
var binaryComplex = map[string]func(m *maker, x, y couple) couple{
	"add": (*maker).addCouple, "sub": (*maker).subCouple, "mul": (*maker).mulCouple, "div": (*maker).divCouple,
}

// bilinear are products of two tensors.
var bilinear = []string{"matmul", "dot", "outer"}

func init() {
	for name, of := range unaryComplex {
		complexForms[name] = func(m *maker) []*tensor.Tensor {
			x := m.x(0)
			dt := x.DType().Real()
			return one(m.whole(of(m, m.partsOf(x, dt)), dt))
		}
	}
	for name, of := range binaryComplex {
		form := func(m *maker) *tensor.Tensor {
			dt := m.common(m.c.In...)
			return m.whole(of(m, m.partsOf(m.x(0), dt), m.partsOf(m.x(1), dt)), dt)
		}
		complexForms[name] = func(m *maker) []*tensor.Tensor { return one(form(m)) }
		complexForms[name+"_"] = func(m *maker) []*tensor.Tensor { return one(m.storedIn(form(m))) }
	}
	for _, name := range bilinear {
		complexForms[name] = func(m *maker) []*tensor.Tensor {
			dt := m.common(m.c.In...)
			p := m.bilinear(m.partsOf(m.x(0), dt), m.partsOf(m.x(1), dt), func(x, y *tensor.Tensor) *tensor.Tensor { return m.binary(name, x, y) })
			return one(m.whole(p, dt))
		}
	}
	complexForms["pow"] = func(m *maker) []*tensor.Tensor { return one(m.power()) }
	complexForms["linear"] = func(m *maker) []*tensor.Tensor {
		dt := m.common(m.c.In...)
		p := m.bilinear(m.partsOf(m.x(0), dt), m.partsOf(m.x(1), dt), func(x, y *tensor.Tensor) *tensor.Tensor {
			return m.Do("linear", []*tensor.Tensor{x, y, nil})
		})
		if b := m.x(2); b != nil {
			p = m.addCouple(p, m.partsOf(b, dt))
		}
		return one(m.whole(p, dt))
	}
	complexForms["addmm"] = func(m *maker) []*tensor.Tensor {
		dt := m.common(m.c.In...)
		p := m.bilinear(m.partsOf(m.x(1), dt), m.partsOf(m.x(2), dt), m.MatMul)
		scale := func(x couple, k float64) couple {
			if x.re = m.Scale(x.re, k); x.im != nil {
				x.im = m.Scale(x.im, k)
			}
			return x
		}
		p = scale(p, m.float(1))
		if m.float(0) != 0 {
			p = m.addCouple(p, scale(m.partsOf(m.x(0), dt), m.float(0)))
		}
		return one(m.whole(p, dt))
	}
	complexForms["einsum"] = func(m *maker) []*tensor.Tensor { return one(m.complexEinsum()) }
	complexForms["eq"] = func(m *maker) []*tensor.Tensor { return one(m.alike()) }
	complexForms["ne"] = func(m *maker) []*tensor.Tensor { return one(m.not(m.alike())) }
	complexForms["equal"] = func(m *maker) []*tensor.Tensor {
		x, y := m.x(0), m.x(1)
		if x.DType() != y.DType() || !x.Shape().Equal(y.Shape()) {
			return one(m.Do("full", one(tensor.Number(false)), IntsN(), Int1(int(dtype.Bool))))
		}
		return one(m.binary("equal", m.unary("view_as_real", x), m.unary("view_as_real", y)))
	}
	complexForms["allclose"] = func(m *maker) []*tensor.Tensor {
		x, y := m.x(0), m.x(1)
		near := m.AddNumber(m.Scale(m.unary("abs", y), m.float(0)), m.float(1))
		ok := m.or(m.binary("eq", x, y), m.binary("le", m.unary("abs", m.Sub(x, y)), near))
		if m.bool(2) {
			ok = m.or(ok, m.and(m.unary("isnan", x), m.unary("isnan", y)))
		}
		return one(m.do("all", ok, None, Bool1(false)))
	}
	complexForms["isnan"] = func(m *maker) []*tensor.Tensor { return one(m.eachPart("isnan", m.or)) }
	complexForms["isfinite"] = func(m *maker) []*tensor.Tensor { return one(m.eachPart("isfinite", m.and)) }
	complexForms["abs"] = func(m *maker) []*tensor.Tensor { return one(m.absolute(m.x(0))) }
	complexForms["norm"] = func(m *maker) []*tensor.Tensor { return one(m.do("norm", m.absolute(m.x(0)), m.c.Args...)) }
	for _, name := range []string{"any", "all"} {
		complexForms[name] = func(m *maker) []*tensor.Tensor { return one(m.do(name, m.truth(m.x(0)), m.c.Args...)) }
	}
	complexForms["var"] = func(m *maker) []*tensor.Tensor { return one(m.spreadOfParts()) }
	complexForms["std"] = func(m *maker) []*tensor.Tensor { return one(m.unary("sqrt", m.spreadOfParts())) }
	complexForms["prod"] = func(m *maker) []*tensor.Tensor { return one(m.complexProduct()) }
}

// spreadOfParts returns the variance: the sum of those of the parts.
func (m *maker) spreadOfParts() *tensor.Tensor {
	x := m.x(0)
	return m.Add(m.do("var", m.realPart(x), m.c.Args...), m.do("var", m.imagPart(x), m.c.Args...))
}

// alike returns where both parts of x and y are equal.
func (m *maker) alike() *tensor.Tensor {
	dt := m.common(m.c.In...)
	x, y := m.partsOf(m.x(0), dt), m.partsOf(m.x(1), dt)
	zero := func(im *tensor.Tensor) *tensor.Tensor {
		if im == nil {
			return number(0)
		}
		return im
	}
	return m.and(m.same(x.re, y.re), m.same(zero(x.im), zero(y.im)))
}

// eachPart returns what the operator called name gives of both parts, joined.
func (m *maker) eachPart(name string, join func(x, y *tensor.Tensor) *tensor.Tensor) *tensor.Tensor {
	return join(m.unary(name, m.realPart(m.x(0))), m.unary(name, m.imagPart(m.x(0))))
}

// storedIn stores y in x, which must be complex to take it.
func (m *maker) storedIn(y *tensor.Tensor) *tensor.Tensor {
	x := m.x(0)
	if !x.DType().IsComplex() {
		m.refuse("x", Describe(x), "a complex tensor", "the value is one")
	}
	if !x.Shape().Equal(y.Shape()) {
		m.refuse("x", "shape "+x.Shape().String(), "shape "+y.Shape().String(), "what is stored is broadcast to x, not x to it")
	}
	return m.do2("copy_", x, y)
}

// maxPower is the greatest power that is computed by products.
const maxPower = 16

// power returns x to the power y: by products for small integers, else exp(y log x),
// and 0 of x = 0 where y is none.
func (m *maker) power() *tensor.Tensor {
	x, y := m.x(0), m.x(1)
	dt := m.common(x, y)
	base, exponent := m.partsOf(x, dt), m.partsOf(y, dt)
	if y.Weak() && !y.DType().IsComplex() && y.Buffer() != nil && x.DType().IsComplex() {
		if v := Float64At(y, 0); v == math.Trunc(v) && math.Abs(v) <= maxPower {
			return m.whole(m.integerPower(base, int(v)), dt)
		}
	}
	if base.im == nil {
		base = couple{m.strong(base.re, dt), m.Do("zeros_like", one(m.strong(base.re, dt)), None)}
	}
	zero := m.same(m.squared(base), number(0))
	safe := couple{m.Where(zero, number(1), base.re), base.im}
	p := m.exponential(m.fullParts(m.mulCouple(exponent, m.logarithm(safe)), dt))
	nothing := m.Where(m.same(exponent.re, number(0)), number(1), number(0))
	return m.whole(couple{m.Where(zero, nothing, p.re), m.Where(zero, number(0), p.im)}, dt)
}

// fullParts returns x with an imaginary part that is there.
func (m *maker) fullParts(x couple, dt dtype.DType) couple {
	if x.im == nil {
		x.re = m.strong(x.re, dt)
		x.im = m.Do("zeros_like", one(x.re), None)
	}
	return x
}

// integerPower returns x multiplied n times, by squares.
func (m *maker) integerPower(x couple, n int) couple {
	if n < 0 {
		return m.divCouple(couple{number(1), nil}, m.integerPower(x, -n))
	}
	p := couple{m.Do("ones_like", one(x.re), None), nil}
	for ; n > 0; n /= 2 {
		if n%2 == 1 {
			p = m.mulCouple(p, x)
		}
		if n > 1 {
			x = m.mulCouple(x, x)
		}
	}
	return p
}

// complexEinsum adds up what an einsum makes of every choice of parts.
func (m *maker) complexEinsum() *tensor.Tensor {
	const most = 6 // inputs, of which each complex one doubles the terms
	if len(m.c.In) > most {
		m.refuse("tensors", fmt.Sprintf("%d tensors", len(m.c.In)), fmt.Sprintf("at most %d", most), "one is complex")
	}
	dt := m.common(m.c.In...)
	terms := [4]*tensor.Tensor{} // by how many imaginary parts there are, mod 4
	var walk func(at, turns int, in []*tensor.Tensor)
	walk = func(at, turns int, in []*tensor.Tensor) {
		if at == len(m.c.In) {
			terms[turns%4] = m.sum(terms[turns%4], m.Do("einsum", slices.Clone(in), m.c.Args...))
			return
		}
		p := m.partsOf(m.c.In[at], dt)
		walk(at+1, turns, append(in, p.re))
		if p.im != nil {
			walk(at+1, turns+1, append(in, p.im))
		}
	}
	walk(0, 0, nil)
	less := func(x, y *tensor.Tensor) *tensor.Tensor {
		if y == nil {
			return x
		}
		return m.sum(x, m.Neg(y))
	}
	return m.whole(couple{less(terms[0], terms[2]), less(terms[1], terms[3])}, dt)
}

// complexProduct returns the product along a dim, or of all elements, in halves.
func (m *maker) complexProduct() *tensor.Tensor {
	x, d, keep := m.x(0), 0, m.bool(1)
	s := slices.Clone(x.Shape())
	if m.c.Args[0].Set {
		d = m.dim(0, x)
	} else {
		x = m.do("reshape", x, IntsN(-1))
	}
	if len(x.Shape()) == 0 {
		return m.unary("clone", x)
	}
	if x.Shape()[d] == 0 {
		x = m.Do("cat", []*tensor.Tensor{x, m.Do("ones", nil, IntsN(replaced(x.Shape(), d, 1)...), Int1(int(x.DType())))}, Int1(d))
	}
	for n := x.Shape()[d]; n > 1; n = x.Shape()[d] {
		half := n / 2
		at := func(from, size int) *tensor.Tensor { return m.do("narrow", x, Int1(d), Int1(from), Int1(size)) }
		y := m.Mul(at(0, half), at(half, half))
		if n%2 == 1 {
			y = m.Do("cat", []*tensor.Tensor{y, at(2*half, 1)}, Int1(d))
		}
		x = y
	}
	switch {
	case keep && m.c.Args[0].Set:
		return x
	case keep:
		return m.do("reshape", x, IntsN(make1s(len(s))...))
	}
	return m.do("squeeze", x, IntsN(d))
}
