package op

import (
	"fmt"
	"math"

	"tpsh/runtime/dtype"
	"tpsh/runtime/tensor"
)

// A signalWindow is a function of signal.windows.
type signalWindow struct {
	name, args, is string // its parameters besides M and sym, and what it returns
	shows          string // of 3 points
	params         []Param
	make           func(m *maker, w *windowed) *tensor.Tensor
}

// A windowed is a call of such a function: points k = 0, 1, .. of a period of n.
type windowed struct {
	points, n int
	periodic  bool
}

var signalWindows = []signalWindow{
	{"bartlett", "", "the triangle 1 - |2k/n - 1|", "[0.0, 1.0, 0.0]", nil, func(m *maker, w *windowed) *tensor.Tensor {
		return m.AddNumber(m.Neg(m.unary("abs", m.AddNumber(m.Scale(m.pointsOf(w), 2/float64(w.n)), -1))), 1)
	}},
	{"blackman", "", "0.42 - 0.5 cos(2πk/n) + 0.08 cos(4πk/n)", "", nil,
		func(m *maker, w *windowed) *tensor.Tensor { return m.cosines(w, 0.42, 0.5, 0.08) }},
	{"cosine", "", "sin(π(k + ½)/(n + 1))", "[0.5, 1.0, 0.5]", nil, func(m *maker, w *windowed) *tensor.Tensor {
		return m.unary("sin", m.Scale(m.AddNumber(m.pointsOf(w), 0.5), math.Pi/float64(w.n+1)))
	}},
	{"exponential", "center=None, tau=1.0, ", "exp(-|k - center|/tau), where center is n/2 if it is None", "",
		[]Param{{Name: "center", Kind: OptFloat, Doc: "the greatest point, only of a periodic window", Default: Default(None)}, inFloat("tau", "how far it falls by e", 1)}, (*maker).exponentialWindow},
	{"gaussian", "std=1.0, ", "exp(-½((k - n/2)/std)²)", "", []Param{inFloat("std", "the standard deviation, in points", 1)}, func(m *maker, w *windowed) *tensor.Tensor {
		m.positive(1, m.float(1))
		k := m.Scale(m.AddNumber(m.pointsOf(w), -float64(w.n)/2), 1/m.float(1))
		return m.unary("exp", m.Scale(m.Mul(k, k), -0.5))
	}},
	{"general_cosine", "a, ", "the sum of (-1)^i a[i] cos(2πik/n)", "", []Param{{Name: "a", Kind: Floats, Doc: "the factors of cosines"}}, func(m *maker, w *windowed) *tensor.Tensor {
		a := m.c.Args[1].Floats
		if len(a) == 0 {
			m.refuse("a", "an empty list", "at least one number", "")
		}
		return m.cosines(w, a...)
	}},
	{"general_hamming", "alpha=0.54, ", "alpha - (1 - alpha) cos(2πk/n)", "", []Param{inFloat("alpha", "the mean", 0.54)},
		func(m *maker, w *windowed) *tensor.Tensor { return m.cosines(w, m.float(1), 1-m.float(1)) }},
	{"hamming", "", "0.54 - 0.46 cos(2πk/n)", "", nil, func(m *maker, w *windowed) *tensor.Tensor { return m.cosines(w, 0.54, 1-0.54) }},
	{"hann", "", "½ - ½ cos(2πk/n)", "[0.0, 1.0, 0.0]", nil, func(m *maker, w *windowed) *tensor.Tensor { return m.cosines(w, 0.5, 0.5) }},
	{"kaiser", "beta=12.0, ", "I₀(beta √(1 - (2k/n - 1)²)) / I₀(beta), where I₀ is special.i0", "", []Param{inFloat("beta", "how narrow it is, from 0 on", 12)}, func(m *maker, w *windowed) *tensor.Tensor {
		beta := m.float(1)
		if !(beta >= 0) {
			m.refuse("beta", fmt.Sprint(beta), "a number from 0 on", "")
		}
		k := m.AddNumber(m.Scale(m.pointsOf(w), 2/float64(max(w.n, 1))), -1)
		root := m.unary("sqrt", m.do("clamp", m.AddNumber(m.Neg(m.Mul(k, k)), 1), Float1(0), None))
		half := m.full(number(beta), dtype.Float64)
		return m.Div(m.unary("i0", m.Scale(root, beta)), m.unary("i0", half))
	}},
	{"nuttall", "", "a sum of four cosines whose side lobes are below -98 dB (Nuttall 1981)", "", nil,
		func(m *maker, w *windowed) *tensor.Tensor {
			return m.cosines(w, 0.3635819, 0.4891775, 0.1365995, 0.0106411)
		}},
}

func init() {
	for _, e := range signalWindows {
		call := "3"
		if e.name == "general_cosine" {
			call = "3, [0.5, 0.5]"
		}
		shows := ".shape\n(3,)"
		if e.shows != "" {
			shows = ".tolist()\n" + e.shows
		}
		params := append([]Param{{Name: "M", Kind: Int, Doc: "how many points"}}, e.params...)
		compositeOf(&Def{Name: e.name, Surface: Windows, Creates: true,
			MakeDoc: func() string {
				return fmt.Sprintf("%s(M, %ssym=True, dtype=None) returns %s, of the points k = 0 to M - 1.\n"+
					"n is M - 1, so that the window is symmetric, or without sym M, so that it is periodic. One of one point is 1.\n"+
					">>> signal.windows.%s(%s)%s", e.name, e.args, e.is, e.name, call, shows)
			},
			Params: append(params, Param{Name: "sym", Kind: Bool, Doc: "whether the window is symmetric", Default: Default(Bool1(true))},
				Param{Name: "dtype", Kind: OptDType, Doc: "a float dtype, None for the default one", Default: Default(None)})},
			func(m *maker) []*tensor.Tensor { return one(m.signalWindow(&e)) })
	}
}

// signalWindow makes a window in float64, and rounds it to the dtype that is asked for.
func (m *maker) signalWindow(e *signalWindow) *tensor.Tensor {
	w := &windowed{points: m.int(0), periodic: !m.bool(len(e.params) + 1)}
	if w.points < 0 {
		m.refuse("M", fmt.Sprint(w.points), "a non-negative int", "")
	}
	dt := m.c.dtypeArg(len(e.params)+2, m.c.Ctx.Float)
	if !dt.IsFloat() {
		m.refuse("dtype", dt.String(), "a float dtype", "")
	}
	w.n = w.points - 1
	if w.periodic && w.points > 1 {
		w.n++
	}
	if w.points == 1 && e.name != "exponential" {
		return m.Do("ones", nil, IntsN(1), Int1(int(dt)))
	}
	return m.Cast(e.make(m, w), dt)
}

// pointsOf returns the points of a window as float64.
func (m *maker) pointsOf(w *windowed) *tensor.Tensor {
	return m.Cast(m.upTo(w.points), dtype.Float64)
}

// cosines is the sum of (-1)^i a[i] cos(2πik/n).
func (m *maker) cosines(w *windowed, a ...float64) *tensor.Tensor {
	k := m.Scale(m.pointsOf(w), 2*math.Pi/float64(max(w.n, 1)))
	y := m.AddNumber(m.Scale(k, 0), a[0])
	for i, f := range a[1:] {
		y = m.Add(y, m.Scale(m.unary("cos", m.Scale(k, float64(i+1))), f*float64(1-2*((i+1)%2))))
	}
	return y
}

func (m *maker) exponentialWindow(w *windowed) *tensor.Tensor {
	m.positive(2, m.float(2))
	center := float64(w.n) / 2
	if a := m.c.Args[1]; a.Set {
		if !w.periodic {
			m.refuse("center", fmt.Sprint(a.Float), "None", "a symmetric window has its greatest point in the middle")
		}
		center = a.Float
	}
	return m.unary("exp", m.Scale(m.unary("abs", m.AddNumber(m.pointsOf(w), -center)), -1/m.float(2)))
}

// positive refuses a number of Args[i] that is not greater than 0.
func (m *maker) positive(i int, v float64) {
	if !(v > 0) {
		m.refuse(m.c.argName(i), fmt.Sprint(v), "a positive number", "")
	}
}
