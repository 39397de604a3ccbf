package op

import (
	"fmt"
	"math"

	"tpsh/internal/libm"
	"tpsh/runtime/tensor"
)

func init() {
	compositeOf(&Def{Name: "mvlgamma", Surface: bothSides, Params: []Param{inX, {Name: "p", Kind: Int, Doc: "how many dims, from 1"}},
		Doc: "mvlgamma(x, p) returns the logarithm of the multivariate gamma function of p dims: p (p - 1) / 4 log(π) and the sum of lgamma(x - i / 2) for i from 0 to p - 1, elementwise.\n>>> mvlgamma(tensor([2.0]), 1).tolist()\n[0.0]"},
		func(m *maker) []*tensor.Tensor {
			p := m.int(0)
			if p < 1 || p > 1024 {
				m.refuse("p", fmt.Sprint(p), "an int from 1 to 1024", "")
			}
			x := m.floats(m.x(0))
			y := m.unary("lgamma", x)
			for i := 1; i < p; i++ {
				y = m.Add(y, m.unary("lgamma", m.AddNumber(x, -float64(i)/2)))
			}
			return one(m.AddNumber(y, float64(p*(p-1))/4*libm.Log(math.Pi)))
		})
	compositeOf(&Def{Name: "polygamma", Surface: Function,
		Doc:    "polygamma(n, x) returns the derivative number n of digamma, elementwise.\n>>> polygamma(1, tensor([1.0])).tolist()\n[1.644934058189392]",
		Params: []Param{{Name: "n", Kind: Int, Doc: "an int from 0 to 100"}, inX}},
		func(m *maker) []*tensor.Tensor {
			if n := m.int(0); n != 0 {
				return one(m.do("polygamma_of", m.x(0), Int1(n)))
			}
			return one(m.unary("digamma", m.x(0)))
		})
}
