package op

import (
	"fmt"
	"math"

	"tpsh/runtime/dtype"
	"tpsh/runtime/tensor"
)

var inAlong = []Param{inX, {Name: "dim", Kind: Dim, Doc: "the dim along which to go"}}

func init() {
	compositeOf(&Def{Name: "cumprod", Surface: Method | Function, Params: inAlong,
		Doc: "cumprod(x, dim, dtype=None) returns the products of x along dim up to and with each element.\nIntegers and bools are multiplied in int64.\n>>> tensor([1.0, 2.0, 3.0]).cumprod(0).tolist()\n[1.0, 2.0, 6.0]"},
		func(m *maker) []*tensor.Tensor {
			x := m.x(0)
			if dt := x.DType(); !dt.Differentiable() {
				x = m.Cast(x, dtype.Int64)
			}
			if x.DType().IsComplex() {
				return one(m.scanned(x, m.dim(0, x), m.Mul))
			}
			return one(m.do("running_product", x, Int1(m.dim(0, x))))
		})
	compositeOf(&Def{Name: "logcumsumexp", Surface: Method | Function, Params: inAlong,
		Doc: "logcumsumexp(x, dim) returns the logarithms of the sums of exp(x) along dim up to and with each element.\n>>> zeros(2).logcumsumexp(0).tolist()\n[0.0, 0.6931471824645996]"},
		func(m *maker) []*tensor.Tensor {
			x := m.floats(m.x(0))
			return one(m.runningLogs(x, m.dim(0, x)))
		})
	for _, name := range []string{"cummax", "cummin"} {
		least, shows := name == "cummin", "[1.0, 3.0, 3.0]"
		which := "greatest"
		if least {
			which, shows = "least", "[1.0, 1.0, 1.0]"
		}
		compositeOf(&Def{Name: name, Surface: Method | Function, Params: inAlong,
			MakeDoc: func() string {
				return fmt.Sprintf("%s(x, dim) returns (values, indices): the %s element along dim up to and with each, and where the last such is.\nNaN counts as %s.\n>>> tensor([1.0, 3.0, 2.0]).%s(0)[0].tolist()\n%s", name, which, which, name, shows)
			}},
			func(m *maker) []*tensor.Tensor {
				return m.all("running_extreme", m.c.In, Int1(m.dim(0, m.x(0))), Bool1(least))
			})
	}
}

// scanned returns, for each element of x along d, what by makes of it and all
// before it, in log2 n steps: Hillis and Steele, "Data parallel algorithms", 1986.
func (m *maker) scanned(x *tensor.Tensor, d int, by func(before, x *tensor.Tensor) *tensor.Tensor) *tensor.Tensor {
	n := sizeAt(x, d)
	if len(x.Shape()) == 0 {
		return m.unary("clone", x)
	}
	at := func(from, size int) *tensor.Tensor { return m.do("narrow", x, Int1(d), Int1(from), Int1(size)) }
	for k := 1; k < n; k *= 2 {
		x = m.Do("cat", []*tensor.Tensor{at(0, k), by(at(0, n-k), at(k, n-k))}, Int1(d))
	}
	if n <= 1 {
		return m.unary("clone", x)
	}
	return x
}

// runningLogs returns the logarithms of the sums of exp(x) along d up to and with each element.
// The sums are of powers less than 1, x less the greatest so far, and float64: as that grows,
// what has been added up shrinks with it.
func (m *maker) runningLogs(x *tensor.Tensor, d int) *tensor.Tensor {
	if sizeAt(x, d) <= 1 || len(x.Shape()) == 0 {
		return m.unary("clone", x)
	}
	v := m.wide(x)
	most := m.all("running_extreme", one(v.Detach()), Int1(d), Bool1(false))[0]
	less := m.Where(m.unary("isfinite", most), most, number(0))
	shrink := m.unary("exp", m.Sub(m.displaced(most, d, 1, math.Inf(-1)), less))
	in64 := func(x *tensor.Tensor) *tensor.Tensor { return m.Cast(x, dtype.Float64) }
	sums := m.do2("recurrence", in64(m.unary("exp", m.Sub(v, less))), in64(shrink), Int1(d), Bool1(false))
	return m.Cast(m.Add(less, m.unary("log", m.Cast(sums, v.DType()))), x.DType())
}
