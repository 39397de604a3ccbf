package kernel

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"tpsh/runtime/dtype"
)

// floats32 draws n numbers between -limit and limit.
func floats32(t *rapid.T, label string, n int, limit float32) []float32 {
	return rapid.SliceOfN(rapid.Float32Range(-limit, limit), n, n).Draw(t, label)
}

// wide returns x in float64.
func wide(x []float32) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = float64(v)
	}
	return out
}

// near fails unless got is want within rel of it, or of scale.
func near[T dtype.Float](t *rapid.T, what string, got []T, want []float64, rel, scale float64) {
	t.Helper()
	for i, w := range want {
		if g := float64(got[i]); !(math.Abs(g-w) <= rel*max(math.Abs(w), scale)) && !(g != g && w != w) && g != w {
			t.Fatalf("%s: element %d is %v, want %v", what, i, g, w)
		}
	}
}

// The derivatives are central differences of the functions, and float32
// results near those of float64.
func TestActivationGradients(t *testing.T) {
	pairs := []struct {
		name string
		f    Unary
		grad Binary
	}{{"Gelu", Gelu, GeluGrad}, {"GeluTanh", GeluTanh, GeluTanhGrad}, {"Silu", Silu, SiluGrad}}
	for _, p := range pairs {
		t.Run(p.name, rapid.MakeCheck(func(t *rapid.T) {
			const h = 1e-5
			n := rapid.IntRange(0, 8).Draw(t, "n")
			x, g := floats32(t, "x", n, 8), floats32(t, "g", n, 8)
			up, down, want := make([]float64, n), make([]float64, n), make([]float64, n)
			for i, v := range x {
				up[i], down[i] = float64(v)+h, float64(v)-h
			}
			p.f.F64(up, up)
			p.f.F64(down, down)
			for i := range want {
				want[i] = float64(g[i]) * (up[i] - down[i]) / (2 * h)
			}
			got, narrow := make([]float64, n), make([]float32, n)
			p.grad.F64(got, wide(g), wide(x))
			near(t, "float64", got, want, 1e-7, 10)
			p.grad.F32(narrow, g, x)
			near(t, "float32", narrow, got, 1e-6, 8)
			p.f.F32(narrow, x)
			p.f.F64(want, wide(x))
			near(t, "function in float32", narrow, want, 1e-6, 1e-2)
		}))
	}
}

func TestSoftplus(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := []float64{rapid.Float64Range(-700, 700).Draw(t, "x")}
		got := make([]float64, 1)
		Softplus.F64(got, x)
		near(t, "softplus", got, []float64{math.Log1p(math.Exp(x[0]))}, 1e-14, 0)
	})
}

func TestDrop(t *testing.T) {
	x := []float32{1, 2, float32(math.NaN()), 4}
	DropTo(x, x, []uint8{1, 0, 0, 1}, 3)
	if x[0] != 3 || x[1] != 0 || x[2] != 0 || x[3] != 12 {
		t.Errorf("DropTo: got %v, want [3 0 0 12]", x)
	}
}
