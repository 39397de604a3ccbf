package op

import (
	"fmt"
	"math"

	"tpsh/internal/libm"
	"tpsh/runtime/dtype"
	"tpsh/runtime/tensor"
)

// Random numbers that are stored in a tensor. Each is one draw, of the whole tensor,
// so that how ranks share it does not matter.
func init() {
	for _, e := range []struct {
		name, args, does, example string
		params                    []Param
		check                     func(m *maker)
		draw                      func(m *maker, x *tensor.Tensor) *tensor.Tensor
	}{
		{"uniform_", "a=0.0, b=1.0", "fills x with numbers uniform from a to b", ">>> zeros(2).uniform_(1, 1).tolist()\n[1.0, 1.0]",
			[]Param{inFloat("a", "the least", 0), inFloat("b", "the bound", 1)}, nil,
			func(m *maker, x *tensor.Tensor) *tensor.Tensor {
				return m.AddNumber(m.Scale(m.do("rand_like", x, None), m.float(1)-m.float(0)), m.float(0))
			}},
		{"normal_", "mean=0.0, std=1.0", "fills x with normal numbers of a mean and a standard deviation", ">>> zeros(2).normal_(1, 0).tolist()\n[1.0, 1.0]",
			[]Param{inFloat("mean", "the mean", 0), inFloat("std", "the standard deviation", 1)}, notNegative,
			func(m *maker, x *tensor.Tensor) *tensor.Tensor {
				return m.AddNumber(m.Scale(m.do("randn_like", x, None), m.float(1)), m.float(0))
			}},
		{"exponential_", "lambd=1.0", "fills x with numbers of the exponential distribution", ">>> zeros(2).exponential_().ge(0).tolist()\n[True, True]",
			[]Param{inFloat("lambd", "the rate", 1)}, func(m *maker) {
				if !(m.float(0) > 0) {
					m.refuse("lambd", fmt.Sprint(m.float(0)), "a positive number", "")
				}
			},
			func(m *maker, x *tensor.Tensor) *tensor.Tensor {
				return m.Scale(m.exponentialDraw(x), 1/m.float(0))
			}},
		{"log_normal_", "mean=1.0, std=2.0", "fills x with numbers whose logarithms are normal, of a mean and a standard deviation", ">>> zeros(2).log_normal_(0, 0).tolist()\n[1.0, 1.0]",
			[]Param{inFloat("mean", "the mean of the logarithms", 1), inFloat("std", "their standard deviation", 2)}, notNegative,
			func(m *maker, x *tensor.Tensor) *tensor.Tensor {
				return m.unary("exp", m.AddNumber(m.Scale(m.do("randn_like", x, None), m.float(1)), m.float(0)))
			}},
		{"cauchy_", "median=0.0, sigma=1.0", "fills x with numbers of the Cauchy distribution", ">>> zeros(2).cauchy_().isfinite().tolist()\n[True, True]",
			[]Param{inFloat("median", "the median", 0), inFloat("sigma", "half the distance of the quartiles", 1)}, func(m *maker) { m.positive(1, m.float(1)) },
			func(m *maker, x *tensor.Tensor) *tensor.Tensor {
				angle := m.Scale(m.AddNumber(m.do("rand_like", x, None), -0.5), math.Pi)
				return m.AddNumber(m.Scale(m.unary("tan", angle), m.float(1)), m.float(0))
			}},
		{"geometric_", "p", "fills x with how many trials of probability p it takes to succeed, 1 or more", ">>> zeros(2).geometric_(0.5).ge(1).tolist()\n[True, True]",
			[]Param{{Name: "p", Kind: Float, Doc: "a probability"}}, func(m *maker) {
				if p := m.float(0); !(p > 0 && p < 1) {
					m.refuse("p", fmt.Sprint(p), "a number between 0 and 1", "")
				}
			},
			func(m *maker, x *tensor.Tensor) *tensor.Tensor {
				u := m.uniformDraw(x)
				y := m.unary("ceil", m.Scale(m.unary("log1p", m.Neg(u)), 1/libm.Log1p(-m.float(0))))
				return m.do("clamp", y, Float1(1), None)
			}},
		{"bernoulli_", "p=0.5", "fills x with 1 with probability p, else 0", ">>> zeros(2).bernoulli_(1.0).tolist()\n[1.0, 1.0]",
			[]Param{inFloat("p", "a probability", 0.5)}, func(m *maker) {
				if p := m.float(0); !(p >= 0 && p <= 1) {
					m.refuse("p", fmt.Sprint(p), "a number from 0 to 1", "")
				}
			},
			func(m *maker, x *tensor.Tensor) *tensor.Tensor {
				return m.less(m.uniformDraw(x), number(m.float(0)))
			}},
	} {
		compositeOf(&Def{Name: e.name, Surface: Method, Fills: true, Params: append([]Param{inX}, e.params...),
			MakeDoc: func() string {
				return fmt.Sprintf("%s(x, %s) %s, and returns x. It is one draw.\n%s", e.name, e.args, e.does, e.example)
			}},
			func(m *maker) []*tensor.Tensor {
				x := m.x(0)
				if e.check != nil {
					e.check(m)
				}
				if !x.DType().IsFloat() && e.name != "bernoulli_" && e.name != "geometric_" {
					m.refuse("x", Describe(x), "a float tensor", "")
				}
				like := m.Cast(x, m.c.Ctx.Float)
				if x.DType().IsFloat() {
					like = x
				}
				y := m.Cast(e.draw(m, like), x.DType())
				return one(m.do2("copy_", x, y))
			})
	}
}

// Draws of integers, and by probabilities in a tensor.
func init() {
	compositeOf(&Def{Name: "random_", Surface: Method, Params: []Param{inX,
		{Name: "low", Kind: Int, Doc: "the least; or if it is the only one, one more than the greatest"}, {Name: "high", Kind: OptInt, Doc: "one more than the greatest", Default: Default(None)}},
		Doc: "random_(x, low, high=None) fills x with integers uniform from low to high - 1, or with one number from 0 to it, and returns x. It is one draw.\n>>> zeros(2, dtype=int64).random_(1).tolist()\n[0, 0]"},
		func(m *maker) []*tensor.Tensor {
			return one(m.do2("copy_", m.x(0), m.do("randint_like", m.x(0), m.c.Args[0], m.c.Args[1], None)))
		})
	compositeOf(&Def{Name: "bernoulli", Surface: Method | Function, Params: []Param{{Name: "x", Kind: Tensor, Doc: "a float tensor of probabilities"}},
		Doc: "bernoulli(x) returns 1 with the probability that x has there, else 0. It is one draw.\n>>> ones(2).bernoulli().tolist()\n[1.0, 1.0]"},
		func(m *maker) []*tensor.Tensor {
			m.check(m.c.checkFloat("x", m.x(0)))
			return one(m.Cast(m.less(m.uniformDraw(m.x(0)), m.x(0)), m.x(0).DType()))
		})
}

// uniformDraw draws uniform numbers in the shape of x to compare with probabilities: of half precision
// in float32, since rand has but 256 of bfloat16.
func (m *maker) uniformDraw(x *tensor.Tensor) *tensor.Tensor {
	return m.do("rand_like", x, Int1(int(x.DType().Compute())))
}

// halfSteps are half of how far apart the numbers that rand draws are.
var halfSteps = map[dtype.DType]float64{dtype.Float64: 0x1p-54, dtype.Float32: 0x1p-25, dtype.Float16: 0x1p-12, dtype.BFloat16: 0x1p-9}

// exponentialDraw draws numbers of the exponential distribution in the shape of x, none of which is 0:
// what divides by one, or takes its logarithm, relies on that.
func (m *maker) exponentialDraw(x *tensor.Tensor) *tensor.Tensor {
	u := m.binary("maximum", m.do("rand_like", x, None), number(halfSteps[x.DType()]))
	return m.Neg(m.unary("log1p", m.Neg(u)))
}

// notNegative refuses a standard deviation, Args[1], below 0.
func notNegative(m *maker) {
	if !(m.float(1) >= 0) {
		m.refuse("std", fmt.Sprint(m.float(1)), "a number from 0 on", "")
	}
}
