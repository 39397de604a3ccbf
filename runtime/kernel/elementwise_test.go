package kernel

import (
	"math"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"tpsh/runtime/dtype"
)

var inf, nan = math.Inf(1), math.NaN()

func TestConvert(t *testing.T) {
	for _, k := range []struct {
		v   float64
		i64 int64
		i32 int32
		u8  uint8
	}{
		{1.9, 1, 1, 1},
		{-1.9, -1, -1, 0},
		{nan, 0, 0, 0},
		{inf, math.MaxInt64, math.MaxInt32, 255},
		{-inf, math.MinInt64, math.MinInt32, 0},
		{0x1p63, math.MaxInt64, math.MaxInt32, 255},
		{-0x1p63, math.MinInt64, math.MinInt32, 0},
		{0x1p53, 1 << 53, math.MaxInt32, 255},
		{255.5, 255, 255, 255},
	} {
		if got := Convert[int64](k.v); got != k.i64 {
			t.Errorf("Convert[int64](%v) = %v, want %v", k.v, got, k.i64)
		}
		if got := Convert[int32](k.v); got != k.i32 {
			t.Errorf("Convert[int32](%v) = %v, want %v", k.v, got, k.i32)
		}
		if got := Convert[uint8](k.v); got != k.u8 {
			t.Errorf("Convert[uint8](%v) = %v, want %v", k.v, got, k.u8)
		}
	}
}

// Scatter puts where Gather takes from, at every stride.
func TestGatherScatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.SliceOfN(rapid.Int32Range(-100, 100), 1, 50).Draw(t, "x")
		stride := rapid.IntRange(1, 4).Draw(t, "stride")
		wide := make([]float32, len(x)*stride)
		Scatter(wide, stride, x)
		back := make([]int32, len(x))
		Gather(back, wide, stride)
		if !reflect.DeepEqual(back, x) {
			t.Fatalf("Gather after Scatter, stride %d: got %v, want %v", stride, back, x)
		}
	})
}

func TestGatherConstant(t *testing.T) {
	dst := make([]float64, 3)
	Gather(dst, []float32{2.5, 7}, 0)
	if want := []float64{2.5, 2.5, 2.5}; !reflect.DeepEqual(dst, want) {
		t.Errorf("Gather with stride 0 = %v, want %v", dst, want)
	}
}

func TestGatherHalf(t *testing.T) {
	half := []dtype.F16{dtype.ToF16(1.5), 0, dtype.ToF16(-300)}
	got := make([]uint8, 2)
	GatherF16(got, half, 2)
	if want := []uint8{1, 0}; !reflect.DeepEqual(got, want) {
		t.Errorf("GatherF16 to uint8 = %v, want %v", got, want)
	}
	brain := make([]dtype.BF16, 3)
	ScatterBF16(brain, 2, []float64{1, 3})
	back := make([]float32, 3)
	GatherBF16(back, brain, 1)
	if want := []float32{1, 0, 3}; !reflect.DeepEqual(back, want) {
		t.Errorf("GatherBF16 after ScatterBF16 = %v, want %v", back, want)
	}
}

// Division rounds down, and the remainder makes up for it, in every dtype.
func TestFloorDivMod(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.Int32Range(-1000, 1000).Draw(t, "a")
		b := rapid.Int32Range(-50, 50).Filter(func(b int32) bool { return b != 0 }).Draw(t, "b")
		q, r := make([]int32, 1), make([]int32, 1)
		FloorDivIntTo(q, []int32{a}, []int32{b})
		ModIntTo(r, []int32{a}, []int32{b})
		if want := int32(math.Floor(float64(a) / float64(b))); q[0] != want || q[0]*b+r[0] != a {
			t.Fatalf("%d // %d = %d, %% = %d, want quotient %d", a, b, q[0], r[0], want)
		}
		fq, fr := make([]float32, 1), make([]float32, 1)
		FloorDivFloatTo(fq, []float32{float32(a)}, []float32{float32(b)})
		ModFloatTo(fr, []float32{float32(a)}, []float32{float32(b)})
		if fq[0] != float32(q[0]) || fr[0] != float32(r[0]) {
			t.Fatalf("%d. // %d. = %v, %% = %v, want %d and %d", a, b, fq[0], fr[0], q[0], r[0])
		}
	})
}

func TestExtremesOfNaN(t *testing.T) {
	x, y := []float64{nan, 1, -inf, 0}, []float64{1, nan, inf, math.Copysign(0, -1)}
	dst := make([]float64, 4)
	MaximumTo(dst, x, y)
	if !(dst[0] != dst[0] && dst[1] != dst[1] && dst[2] == inf && dst[3] == 0 && !math.Signbit(dst[3])) {
		t.Errorf("MaximumTo(%v, %v) = %v", x, y, dst)
	}
	MinimumTo(dst, x, y)
	if !(dst[0] != dst[0] && dst[1] != dst[1] && dst[2] == -inf && math.Signbit(dst[3])) {
		t.Errorf("MinimumTo(%v, %v) = %v", x, y, dst)
	}
}

// In float32 the transcendental functions are their float64 values, rounded or
// as near as package vec promises.
func TestFloat32Accuracy(t *testing.T) {
	for name, f := range map[string]struct {
		row   Unary
		exact func(float64) float64
	}{
		"exp": {Exp, math.Exp}, "log": {Log, math.Log}, "tanh": {Tanh, math.Tanh},
		"sin": {Sin, math.Sin}, "cos": {Cos, math.Cos}, "erf": {Erf, math.Erf}, "sqrt": {Sqrt, math.Sqrt},
	} {
		x, y := make([]float32, 1000), make([]float32, 1000)
		for i := range x {
			x[i] = float32(i)*0.0137 + 0.001
		}
		f.row.F32(y, x)
		for i, v := range y {
			want := f.exact(float64(x[i]))
			if math.Abs(float64(v)-want) > 2.4e-7*math.Abs(want) {
				t.Errorf("%s(%v) = %v, want %v", name, x[i], v, want)
			}
		}
	}
}

func TestClose(t *testing.T) {
	for _, k := range []struct {
		a, b, rtol, atol float64
		nan, want        bool
	}{
		{1, 1, 0, 0, false, true},
		{1, 1.1, 0.1, 0, false, true},
		{1, 1.1, 0, 0.05, false, false},
		{inf, inf, 0, 0, false, true},
		{inf, -inf, 1, 1, false, false},
		{inf, 1, 1, 1, false, false},
		{nan, nan, 1, 1, false, false},
		{nan, nan, 1, 1, true, true},
		{nan, 1, 1, 1, true, false},
	} {
		if got := Close([]float64{k.a}, []float64{k.b}, k.rtol, k.atol, k.nan); got != k.want {
			t.Errorf("Close(%v, %v, rtol=%v, atol=%v, nan=%v) = %v", k.a, k.b, k.rtol, k.atol, k.nan, got)
		}
	}
}

// A kernel whose operands differ in length panics.
func TestLengths(t *testing.T) {
	for name, f := range map[string]func(){
		"AddTo":   func() { AddTo(make([]float32, 2), make([]float32, 2), make([]float32, 3)) },
		"ExpTo":   func() { ExpTo(make([]float32, 2), make([]float32, 3)) },
		"EqTo":    func() { EqTo(make([]uint8, 2), make([]int64, 3), make([]int64, 3)) },
		"NotZero": func() { NotZero(make([]uint8, 2), make([]int64, 3)) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s takes operands of different lengths", name)
				}
			}()
			f()
		}()
	}
}
