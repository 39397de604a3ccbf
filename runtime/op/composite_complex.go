package op

import (
	"math"

	"tpsh/runtime/dtype"
	"tpsh/runtime/tensor"
)

func init() {
	const z = ">>> tensor([complex(3, 4)])"
	for _, e := range []struct {
		name    string
		surface Surface
		doc     string
		params  []Param
		make    func(m *maker) *tensor.Tensor
	}{
		{"real", Function, "real(x) returns the real part of a complex tensor, sharing its storage; of a real tensor, the tensor.\n>>> real(tensor([complex(3, 4)]))\n[3.]", xAlone, func(m *maker) *tensor.Tensor {
			if !m.x(0).DType().IsComplex() {
				return m.x(0)
			}
			return m.realPart(m.x(0))
		}},
		{"imag", Function, "imag(x) returns the imaginary part of a complex tensor, sharing its storage.\n>>> imag(tensor([complex(3, 4)]))\n[4.]", xAlone, func(m *maker) *tensor.Tensor {
			if !m.x(0).DType().IsComplex() {
				m.refuse("x", Describe(m.x(0)), "a complex tensor", "")
			}
			return m.imagPart(m.x(0))
		}},
		{"conj", Method | Function, "conj(x) returns the complex conjugate of x; of a real tensor, the tensor.\n" + z + ".conj()\n[3.-4.j]", xAlone, func(m *maker) *tensor.Tensor {
			if !m.x(0).DType().IsComplex() {
				return m.x(0)
			}
			return m.conjugated(m.x(0))
		}},
		{"angle", Method | Function, "angle(x) returns the angles of complex numbers, in radians from -π to π; of real ones 0, or π where they are negative.\n" + z + ".angle()\n[0.9272952]", xAlone, func(m *maker) *tensor.Tensor {
			x := m.x(0)
			if x.DType().IsComplex() {
				return m.phase(couple{m.realPart(x), m.imagPart(x)})
			}
			x = m.floats(x)
			return m.Where(m.unary("isnan", x), x, m.Where(m.less(x, integer(0)), m.Cast(m.Expand(m.strong(number(math.Pi), x.DType()), x.Shape()), x.DType()), number(0)))
		}},
		{"sgn", Method | Function, "sgn(x) returns x over its absolute value, and 0 of 0: of real numbers the sign.\n" + z + ".sgn()\n[0.6+0.8j]", xAlone, func(m *maker) *tensor.Tensor { return m.unary("sign", m.x(0)) }},
		{"isreal", Method | Function, "isreal(x) returns where x has no imaginary part.\n" + z + ".isreal()\n[False]", xAlone, func(m *maker) *tensor.Tensor {
			if !m.x(0).DType().IsComplex() {
				return m.do("ones_like", m.x(0), Int1(int(dtype.Bool)))
			}
			return m.same(m.imagPart(m.x(0)), number(0))
		}},
		{"polar", Function, "polar(abs, angle) returns the complex tensor of absolute values and angles in radians.\n>>> polar(tensor([2.0]), tensor([0.0]))\n[2.+0.j]",
			[]Param{{Name: "abs", Kind: Tensor, Doc: "a float32 or float64 tensor"}, {Name: "angle", Kind: Tensor, Doc: "a tensor of its dtype"}}, func(m *maker) *tensor.Tensor {
				m.checkParts("abs", "angle")
				p := m.polar(m.x(0), m.x(1))
				return m.whole(p, m.x(0).DType())
			}},
		{"make_complex", Internal, "make_complex(real, imag) returns the complex tensor of two parts.",
			[]Param{{Name: "real", Kind: Tensor, Doc: "a float32 or float64 tensor"}, {Name: "imag", Kind: Tensor, Doc: "a tensor of its dtype"}}, func(m *maker) *tensor.Tensor {
				m.checkParts("real", "imag")
				return m.whole(couple{m.x(0), m.x(1)}, m.x(0).DType())
			}},
	} {
		compositeOf(&Def{Name: e.name, Surface: e.surface, Doc: e.doc, Params: e.params}, func(m *maker) []*tensor.Tensor { return one(e.make(m)) })
	}
}

// checkParts refuses parts that are no floats of one dtype, or do not broadcast.
func (m *maker) checkParts(first, second string) {
	x, y := m.x(0), m.x(1)
	if dt := x.DType(); dt != dtype.Float32 && dt != dtype.Float64 {
		m.refuse(first, Describe(x), "a float32 or float64 tensor", "")
	}
	if y.DType() != x.DType() {
		m.refuse(second, Describe(y), "dtype "+x.DType().String(), first+" is "+Describe(x))
	}
	if broadcastShape(x, y) == nil {
		_, err := m.c.broadcast2(x, y, second)
		m.check(err)
	}
}
