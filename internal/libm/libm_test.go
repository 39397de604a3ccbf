package libm

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"math/cmplx"
	"math/rand"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/cpu"
)

// functions are those of one number, with Go's.
var functions = map[string][2]func(float64) float64{
	"Acos": {Acos, math.Acos}, "Acosh": {Acosh, math.Acosh}, "Asin": {Asin, math.Asin}, "Asinh": {Asinh, math.Asinh},
	"Atan": {Atan, math.Atan}, "Atanh": {Atanh, math.Atanh}, "Cos": {Cos, math.Cos}, "Cosh": {Cosh, math.Cosh},
	"Erf": {Erf, math.Erf}, "Erfc": {Erfc, math.Erfc}, "Erfinv": {Erfinv, math.Erfinv}, "Exp": {Exp, math.Exp},
	"Exp2": {Exp2, math.Exp2}, "Expm1": {Expm1, math.Expm1}, "Gamma": {Gamma, math.Gamma}, "J0": {J0, math.J0},
	"J1": {J1, math.J1}, "Lgamma": {lgammaOf(Lgamma), lgammaOf(math.Lgamma)}, "Log": {Log, math.Log}, "Log10": {Log10, math.Log10},
	"Log1p": {Log1p, math.Log1p}, "Log2": {Log2, math.Log2}, "Sin": {Sin, math.Sin}, "Sinh": {Sinh, math.Sinh},
	"Tan": {Tan, math.Tan}, "Tanh": {Tanh, math.Tanh}, "Y0": {Y0, math.Y0}, "Y1": {Y1, math.Y1},
}

// functions2 are those of two.
var functions2 = map[string][2]func(x, y float64) float64{
	"Atan2": {Atan2, math.Atan2}, "Hypot": {Hypot, math.Hypot}, "Pow": {Pow, math.Pow},
}

func lgammaOf(f func(float64) (float64, int)) func(float64) float64 {
	return func(x float64) float64 {
		y, sign := f(x)
		return float64(sign) * y
	}
}

// numbers are those that functions are compared at: special ones, and some of all sizes.
func numbers() []float64 {
	all := []float64{0, math.Copysign(0, -1), 0.5, 1, -1, 2, math.Inf(1), math.Inf(-1), math.NaN(), math.MaxFloat64, 709.7, 710, -708.5, -745, -746, -1e9, 1e22,
		math.Sqrt2 / 2, math.Pi, 0x1p-1022}
	r := rand.New(rand.NewSource(1))
	for range 20000 {
		at := r.Float64()
		size := math.Ldexp(0.5+float64(at/2), r.Intn(80)-60)
		all = append(all, size, -size, at, 8*(0.5-at), 160*(0.5-at))
	}
	return all
}

// On amd64 nothing is fused, and functions have the bits of the Go that they are from.
func TestBitsOfGo(t *testing.T) {
	switch {
	case runtime.GOARCH != "amd64" || !cpu.X86.HasFMA:
		t.Skip("Go's products may be fused here, or its Exp does without")
	case !strings.HasPrefix(runtime.Version(), "go1.26"):
		t.Skip("of another Go the functions may be others")
	}
	x := numbers()
	for name, f := range functions {
		for _, v := range x {
			if got, want := f[0](v), f[1](v); !same(got, want) {
				t.Errorf("%s(%v) = %v, want %v", name, v, got, want)
				break
			}
		}
	}
	for name, f := range functions2 {
		for i, v := range x {
			if w := x[len(x)-1-i]; !same(f[0](v, w), f[1](v, w)) {
				t.Errorf("%s(%v, %v) = %v, want %v", name, v, w, f[0](v, w), f[1](v, w))
				break
			}
		}
	}
	for i, v := range x {
		if z := complex(v, x[(7*i+3)%len(x)]); !sameComplex(SqrtComplex(z), cmplx.Sqrt(z)) {
			t.Fatalf("SqrtComplex(%v) = %v, want %v", z, SqrtComplex(z), cmplx.Sqrt(z))
		} else if w := complex(x[(11*i+5)%len(x)], v); !sameComplex(PowComplex(z, w), cmplx.Pow(z, w)) {
			t.Fatalf("PowComplex(%v, %v) = %v, want %v", z, w, PowComplex(z, w), cmplx.Pow(z, w))
		}
	}
}

// Everywhere they have those that amd64 gives, by their sum.
func TestSameBitsEverywhere(t *testing.T) {
	sum := fnv.New64a()
	add := func(v float64) {
		bits := math.Float64bits(v)
		if math.IsNaN(v) {
			bits = 0 // all NaN are one
		}
		sum.Write(binary.LittleEndian.AppendUint64(nil, bits))
	}
	x := numbers()
	for _, name := range slices.Sorted(maps.Keys(functions)) {
		for _, v := range x {
			add(functions[name][0](v))
		}
	}
	for i, v := range x {
		w := x[len(x)-1-i]
		for _, name := range slices.Sorted(maps.Keys(functions2)) {
			add(functions2[name][0](v, w))
		}
		a, b := complex(v, w), complex(w, x[(7*i+3)%len(x)])
		for _, z := range []complex128{Mul(a, b), Div(a, b), SqrtComplex(a), PowComplex(a, b)} {
			add(real(z))
			add(imag(z))
		}
	}
	const want = "16f08d409b61e060"
	if got := fmt.Sprintf("%016x", sum.Sum64()); got != want {
		t.Errorf("sum of bits %s, want %s, that of amd64", got, want)
	}
}
