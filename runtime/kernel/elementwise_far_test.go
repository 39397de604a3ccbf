package kernel

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// What package vec does not reach is what float64 gives, wherever it lies and also where it is
// computed in place; its neighbours are what they are alone.
func TestBeyondReach(t *testing.T) {
	odd := []float32{0, 1, -2.5, 1e5, 4194304, 4194305, -5e6, 1e20, -3e38, float32(inf), float32(-inf), float32(nan), 1e-30}
	bits := func(x []float32) []uint32 {
		b := make([]uint32, len(x))
		for i, v := range x {
			if b[i] = math.Float32bits(v); v != v {
				b[i] = 0x7fc00000
			}
		}
		return b
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 3*farBlock).Draw(t, "n")
		pick := rapid.SliceOfN(rapid.SampledFrom(odd), 40, 40)
		x, y := make([]float32, n), make([]float32, n)
		somewhere, other := pick.Draw(t, "x"), pick.Draw(t, "y")
		for i := range x {
			x[i], y[i] = somewhere[i*7%40], other[i*11%39]
		}
		for name, f := range map[string]Unary{"sin": Sin, "cos": Cos, "tan": Tan} {
			whole, alone, inPlace := make([]float32, n), make([]float32, n), append([]float32(nil), x...)
			f.F32(whole, x)
			f.F32(inPlace, inPlace)
			for i := range x {
				f.F32(alone[i:i+1], x[i:i+1])
			}
			f64 := make([]float64, n)
			f.F64(f64, wide(x))
			got, one, over := bits(whole), bits(alone), bits(inPlace)
			for i := range x {
				if got[i] != one[i] || over[i] != one[i] || !(math.Abs(float64(whole[i])-f64[i]) <= 2e-7*math.Abs(f64[i])) && f64[i] == f64[i] {
					t.Fatalf("%s(%v) = %v, alone %v, in place %v, want %v", name, x[i], whole[i], alone[i], inPlace[i], f64[i])
				}
			}
		}
		for name, f := range map[string]Binary{"fmod": Fmod, "mod": Mod} {
			whole, overX, overY := make([]float32, n), append([]float32(nil), x...), append([]float32(nil), y...)
			f.F32(whole, x, y)
			f.F32(overX, overX, y)
			f.F32(overY, x, overY)
			f64, want := make([]float64, n), make([]float32, n)
			f.F64(f64, wide(x), wide(y))
			for i, v := range f64 {
				want[i] = float32(v)
			}
			got, first, second := bits(whole), bits(overX), bits(overY)
			for i, w := range bits(want) {
				if got[i] != w || first[i] != w || second[i] != w {
					t.Fatalf("%s(%v, %v) = %v, over x %v, over y %v, want %v", name, x[i], y[i], whole[i], overX[i], overY[i], want[i])
				}
			}
		}
	})
}
