package vec

import (
	"math"
	"math/rand/v2"
	"testing"
)

// accuracy says how far kernels may be from a function computed in float64: so
// many ulp, or so much.
var accuracy = []struct {
	name string
	f    func(dst, x []float32)
	want func(x float64) float64
	ulp  float64
	abs  float64
}{
	{"Exp", Exp, math.Exp, 1.1, 0},
	{"Log", Log, math.Log, 1, 0},
	{"Tanh", Tanh, math.Tanh, 2, 0},
	{"Erf", Erf, math.Erf, 2, 0},
	{"Erfinv", Erfinv, math.Erfinv, 0.51, 0},
	{"Lgamma", Lgamma, lgamma, 0.51, 0},
	{"Digamma", Digamma, digamma, 0.51, 0},
	{"Sigmoid", Sigmoid, sigmoid, 2.5, 0},
	{"Silu", Silu, func(x float64) float64 { return x * sigmoid(x) }, 3, 1e-42},
	{"Gelu", Gelu, gelu, 8, 2e-8},
	{"GeluTanh", GeluTanh, func(x float64) float64 { return x * sigmoid(geluTanhArg(x)) }, 8, 2e-8},
	{"Sqrt", Sqrt, math.Sqrt, 0.5, 0},
	{"Rsqrt", Rsqrt, func(x float64) float64 { return 1 / math.Sqrt(x) }, 1.5, 0},
	{"Reciprocal", Reciprocal, func(x float64) float64 { return 1 / x }, 0.5, 0},
	{"Floor", Floor, math.Floor, 0, 0},
	{"Ceil", Ceil, math.Ceil, 0, 0},
	{"Trunc", Trunc, math.Trunc, 0, 0},
	{"Round", Round, math.RoundToEven, 0, 0},
	{"Expm1", Expm1, math.Expm1, 2, 0},
	{"Log1p", Log1p, math.Log1p, 2, 0},
	{"Softplus", Softplus, func(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }, 3, 0},
	{"Sin", angle(Sin, math.Sin), math.Sin, 2, 0},
	{"Cos", angle(Cos, math.Cos), math.Cos, 2, 0},
	{"Tan", angle(Tan, math.Tan), math.Tan, 2, 0},
	{"GeluGrad", gradient(GeluGrad), geluSlope, 4, 3e-7},
	{"GeluTanhGrad", gradient(GeluTanhGrad), geluTanhSlope, 4, 6e-7},
	{"SiluGrad", gradient(SiluGrad), siluSlope, 4, 3e-7},
}

// angle returns a kernel of angles that leaves those beyond FarAngle to want.
func angle(f func(dst, x []float32, most *[Lanes]float32), want func(float64) float64) func(dst, x []float32) {
	return func(dst, x []float32) {
		var most [Lanes]float32
		f(dst, x, &most)
		for i, v := range x {
			if v > FarAngle || v < -FarAngle {
				dst[i] = float32(want(float64(v)))
			}
		}
	}
}

func sigmoid(x float64) float64 {
	if x < 0 {
		return math.Exp(x) / (1 + math.Exp(x))
	}
	return 1 / (1 + math.Exp(-x))
}

// lgamma is that of C at minus infinity, too.
func lgamma(x float64) float64 {
	if math.IsInf(x, -1) {
		return math.Inf(1)
	}
	y, _ := math.Lgamma(x)
	return y
}

// digamma goes up to 20 by its recurrence, and has a series from there on; a negative x is reflected.
func digamma(x float64) float64 {
	switch {
	case x == 0:
		return math.Copysign(math.Inf(1), -x)
	case x < 0 && x == math.Floor(x):
		return math.NaN()
	case x < 0:
		r := x - math.Round(x)
		return digamma(1-x) - math.Pi/math.Tan(math.Pi*r)
	}
	y := 0.0
	for ; x < 20; x++ {
		y += 1 / x
	}
	w := 1 / (x * x)
	return math.Log(x) - 0.5/x - w*(1./12-w*(1./120-w*(1./252-w*(1./240-w*(1./132-w*691./32760))))) - y
}

func geluTanhArg(x float64) float64 { return 2 * math.Sqrt(2/math.Pi) * (x + 0.044715*x*x*x) }

func gelu(x float64) float64 {
	x = max(x, -40) // where it is 0 in float32, as at -Inf
	return x * math.Erfc(-x/math.Sqrt2) / 2
}

func geluSlope(x float64) float64 {
	if x = max(-40, min(x, 40)); x != x {
		return x
	}
	return math.Erfc(-x/math.Sqrt2)/2 + x*math.Exp(-x*x/2)/math.Sqrt(2*math.Pi)
}

func geluTanhSlope(x float64) float64 {
	x = max(-40, min(x, 40))
	s := sigmoid(geluTanhArg(x))
	return s + x*s*sigmoid(-geluTanhArg(x))*2*math.Sqrt(2/math.Pi)*(1+3*0.044715*x*x)
}

func siluSlope(x float64) float64 {
	x = max(-400, min(x, 400))
	return sigmoid(x) * (1 + x*sigmoid(-x))
}

// gradient returns the kernel of a slope.
func gradient(f func(dst, g, x []float32)) func(dst, x []float32) {
	return func(dst, x []float32) {
		g := make([]float32, len(x))
		for i := range g {
			g[i] = 1
		}
		f(dst, g, x)
	}
}

// Over the whole range of float32, sampled, and at special values.
func TestAccuracy(t *testing.T) {
	x := append([]float32(nil), numbers...)
	for b := uint64(0); b < 1<<32; b += 2039 {
		x = append(x, math.Float32frombits(uint32(b)))
	}
	for i := range 300000 { // densely where functions bend
		x = append(x, float32(i-150000)/7000)
	}
	got := make([]float32, len(x))
	for _, a := range accuracy {
		a.f(got, x)
		most, at := 0.0, float32(0)
		for i, v := range x {
			e := a.want(float64(v))
			if d := ulps(got[i], e); d > most && !(math.Abs(float64(got[i])-e) <= a.abs) {
				most, at = d, v
			}
		}
		t.Logf("%s: at most %.2f ulp, at %v", a.name, most, at)
		if most > a.ulp {
			got1 := make([]float32, 1)
			a.f(got1, []float32{at})
			t.Errorf("%s(%v) = %v, want %v within %v ulp", a.name, at, got1[0], a.want(float64(at)), a.ulp)
		}
	}
}

// ulps returns the distance of got from want, in units of the last place of
// float32 at want.
func ulps(got float32, want float64) float64 {
	g := float64(got)
	switch {
	case got != got && want != want, g == want && math.Signbit(g) == math.Signbit(want):
		return 0
	case got != got || want != want:
		return math.Inf(1)
	}
	w := float32(want)
	if math.IsInf(float64(w), 0) || math.IsInf(g, 0) {
		if got == w {
			return 0
		}
		return math.Inf(1)
	}
	if g == 0 && want == 0 {
		return math.Inf(1) // of the wrong sign
	}
	_, e := math.Frexp(want)
	unit := math.Ldexp(1, max(e-24, -149))
	return math.Abs(g-want) / unit
}

// fma is rounded once, where float64 alone would round twice.
func TestFMA(t *testing.T) {
	for _, c := range []struct{ a, b, c, want float32 }{
		{1 + 0x1p-23, 1 + 0x1p-23, 0x1p-60, 1 + 0x1p-22},
		{1 + 0x1p-12, 1 + 0x1p-12, 0x1p-60, 1 + 0x1p-11 + 0x1p-23},
		{1 + 0x1p-12, 1 + 0x1p-12, -0x1p-60, 1 + 0x1p-11},
		{-(1 + 0x1p-12), 1 + 0x1p-12, -0x1p-60, -(1 + 0x1p-11 + 0x1p-23)},
		{-(1 + 0x1p-12), 1 + 0x1p-12, 0x1p-60, -(1 + 0x1p-11)},
		{0x1p-75, 0x1p-75, 0, 0},
		{0x1p-75, 0x1.000002p-75, 0, 0x1p-149},
		{2, 3, 4, 10},
	} {
		if got := fma(c.a, c.b, c.c); got != c.want {
			t.Errorf("fma(%x, %x, %x) = %x, want %x", c.a, c.b, c.c, got, c.want)
		}
	}
}

// pairs says how far kernels of two operands may be from a function computed in float64.
var pairs = []struct {
	name string
	f    func(dst, x, y []float32)
	want func(x, y float64) float64
	ulp  float64
}{
	{"Pow", Pow, math.Pow, 1},
	{"Atan2", Atan2, math.Atan2, 2},
	{"Fmod", quotient(Fmod, math.Mod), math.Mod, 0},
	{"Remainder", quotient(Remainder, remainder), remainder, 0},
}

// quotient returns a kernel of remainders that leaves those of quotients beyond FarQuotient to want.
func quotient(f func(dst, x, y []float32, most *[Lanes]float32), want func(x, y float64) float64) func(dst, x, y []float32) {
	return func(dst, x, y []float32) {
		var most [Lanes]float32
		f(dst, x, y, &most)
		for i, v := range x {
			if q := math.Abs(float64(v) / float64(y[i])); q >= FarQuotient {
				dst[i] = float32(want(float64(v), float64(y[i])))
			}
		}
	}
}

// remainder is 0 or has the sign of y.
func remainder(x, y float64) float64 {
	r := math.Mod(x, y)
	if r != 0 && (r < 0) != (y < 0) {
		r = float64(float32(r + y))
	}
	return r
}

// Over pairs of special values, of neighbours of 1, of whole numbers and of any.
func TestPairs(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 2))
	special := append([]float32{2, -2, 3, -3, 0.5, -0.5, 7, 1 << 24, 1<<24 + 2, -(1<<24 - 1), 1e10}, numbers...)
	var x, y []float32
	add := func(a, b float32) { x, y = append(x, a), append(y, b) }
	for _, a := range special {
		for _, b := range special {
			add(a, b)
		}
	}
	for range 300000 {
		add(math.Float32frombits(draw.Uint32()), math.Float32frombits(draw.Uint32()))
		add(float32(draw.NormFloat64()*10), float32(draw.NormFloat64()*10))
		add(1+float32(draw.NormFloat64()*1e-3), float32(draw.NormFloat64()*1e4))
		add(float32(draw.IntN(41)-20), float32(draw.IntN(17)-8))
		add(float32(draw.ExpFloat64()*1e6), float32(draw.ExpFloat64()))
	}
	got := make([]float32, len(x))
	for _, p := range pairs {
		p.f(got, x, y)
		most, at := 0.0, 0
		for i, v := range x {
			if d := ulps(got[i], p.want(float64(v), float64(y[i]))); d > most {
				most, at = d, i
			}
		}
		t.Logf("%s: at most %.2f ulp, at %v, %v", p.name, most, x[at], y[at])
		if most > p.ulp {
			t.Errorf("%s(%v, %v) = %v, want %v within %v ulp", p.name, x[at], y[at], got[at], p.want(float64(x[at]), float64(y[at])), p.ulp)
		}
	}
}

// accuracy64 says how far kernels of float64 may be from Go's functions: so many ulp, or so much.
var accuracy64 = []struct {
	name string
	f    func(dst, x []float64)
	want func(x float64) float64
	ulp  float64
	abs  float64
}{
	{"Exp64", Exp64, exp64, 4, 0},
	{"Log64", Log64, log64, 2, 0},
	{"Tanh64", Tanh64, math.Tanh, 4, 0},
	{"Gelu64", Gelu64, gelu64, 16, 1e-16},
	{"GeluGrad64", func(dst, x []float64) {
		ones := make([]float64, len(x))
		for i := range ones {
			ones[i] = 1
		}
		GeluGrad64(dst, ones, x)
	}, geluSlope, 16, 1e-15},
}

func gelu64(x float64) float64 {
	x = max(x, -100) // where it is 0, as at -Inf
	return x * (math.Erfc(-x/math.Sqrt2) / 2)
}

// exp64 is math.Exp, which is infinite too soon on some machines.
func exp64(x float64) float64 {
	if x > 700 && x < 710 {
		return math.Exp(x-1) * math.E
	}
	return math.Exp(x)
}

// log64 is math.Log, which takes subnormal numbers for others on some machines.
func log64(x float64) float64 {
	if x > 0 && x < 0x1p-1022 {
		return math.Log(x*0x1p60) - 60*math.Ln2
	}
	return math.Log(x)
}

// Over the whole range of float64, sampled, densely where functions bend, and at special values.
func TestAccuracy64(t *testing.T) {
	draw := rand.New(rand.NewPCG(5, 6))
	x := []float64{709.78, 709.79, -745.13, -745.14, -708.4, 5e-324, -5e-324, 0x1p-1022, math.MaxFloat64, 1e308}
	for _, v := range numbers {
		x = append(x, float64(v))
	}
	for range 200000 {
		x = append(x, math.Float64frombits(draw.Uint64()), draw.NormFloat64()*5, draw.NormFloat64()*300, 1+draw.NormFloat64()*1e-3, draw.ExpFloat64())
	}
	got := make([]float64, len(x))
	for _, a := range accuracy64 {
		a.f(got, x)
		most, at := 0.0, 0.0
		for i, v := range x {
			want := a.want(v)
			if d := ulps64(got[i], want); d > most && !(math.Abs(got[i]-want) <= a.abs) {
				most, at = d, v
			}
		}
		t.Logf("%s: at most %.2f ulp, at %v", a.name, most, at)
		if most > a.ulp {
			got1 := make([]float64, 1)
			a.f(got1, []float64{at})
			t.Errorf("%s(%v) = %v, want %v within %v ulp", a.name, at, got1[0], a.want(at), a.ulp)
		}
	}
}

// ulps64 returns the distance of got from want in units of the last place of want.
func ulps64(got, want float64) float64 {
	switch {
	case got != got && want != want, got == want && math.Signbit(got) == math.Signbit(want):
		return 0
	case got != got || want != want || math.IsInf(got, 0) || math.IsInf(want, 0) || got == 0 && want == 0:
		return math.Inf(1)
	}
	_, e := math.Frexp(want)
	return math.Abs(got-want) / math.Ldexp(1, max(e-53, -1074))
}
