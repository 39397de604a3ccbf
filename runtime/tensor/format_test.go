package tensor

import (
	"math"
	"strings"
	"testing"

	"tpsh/runtime/dtype"
	"tpsh/runtime/shape"
)

// of returns a tensor of dt with the given elements.
func of(t *testing.T, dt dtype.DType, s shape.Shape, elems ...float64) *Tensor {
	t.Helper()
	x, err := New(NewAllocator(0), dt, s)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range elems {
		switch dt {
		case dtype.Float32:
			Data[float32](x)[i] = float32(v)
		case dtype.Float64:
			Data[float64](x)[i] = v
		case dtype.Float16:
			Data[dtype.F16](x)[i] = dtype.ToF16(float32(v))
		case dtype.BFloat16:
			Data[dtype.BF16](x)[i] = dtype.ToBF16(float32(v))
		case dtype.Int64:
			Data[int64](x)[i] = int64(v)
		case dtype.Int32:
			Data[int32](x)[i] = int32(v)
		case dtype.Uint8:
			Data[uint8](x)[i] = uint8(v)
		case dtype.Bool:
			Data[bool](x)[i] = v != 0
		}
	}
	return x
}

func arange(n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = float64(i)
	}
	return x
}

// What NumPy 2 prints for these arrays with str, but for shape and dtype.
func TestFormat(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	tests := []struct {
		name  string
		dt    dtype.DType
		s     shape.Shape
		elems []float64
		want  string
	}{
		{"whole", dtype.Float32, shape.Shape{3}, []float64{1, 2, 3}, "[1. 2. 3.]"},
		{"aligned points", dtype.Float32, shape.Shape{3}, []float64{1, 2.5, -13.25}, "[  1.     2.5  -13.25]"},
		{"eight digits", dtype.Float64, shape.Shape{2}, []float64{1.0 / 3, 2}, "[0.33333333 2.        ] dtype=float64"},
		{"shortest float32", dtype.Float32, shape.Shape{2}, []float64{0.1, 1.0 / 3}, "[0.1        0.33333334]"},
		{"matrix", dtype.Float32, shape.Shape{2, 2}, []float64{1, 2, 3, 4}, "[[1. 2.]\n [3. 4.]]"},
		{"three dims", dtype.Int64, shape.Shape{2, 1, 2}, []float64{1, -2, 3, 40}, "[[[ 1 -2]]\n\n [[ 3 40]]]"},
		{"large", dtype.Float32, shape.Shape{2}, []float64{1e8, 1}, "[1.e+08 1.e+00]"},
		{"small", dtype.Float32, shape.Shape{2}, []float64{1.5e-5, 0}, "[1.5e-05 0.0e+00]"},
		{"far apart", dtype.Float64, shape.Shape{2}, []float64{0.5, 1234.5}, "[5.0000e-01 1.2345e+03] dtype=float64"},
		{"not so far apart", dtype.Float32, shape.Shape{2}, []float64{1, 1000}, "[   1. 1000.]"},
		{"just not small", dtype.Float32, shape.Shape{1}, []float64{1e-4}, "[0.0001]"},
		{"long exponents", dtype.Float64, shape.Shape{2}, []float64{1e100, -1e-5}, "[ 1.e+100 -1.e-005] dtype=float64"},
		{"not finite", dtype.Float32, shape.Shape{4}, []float64{nan, inf, -inf, 1}, "[ nan  inf -inf   1.]"},
		{"only NaN", dtype.Float32, shape.Shape{2}, []float64{nan, nan}, "[nan nan]"},
		{"NaN among fractions", dtype.Float32, shape.Shape{2}, []float64{nan, 0.125}, "[  nan 0.125]"},
		{"NaN among exponents", dtype.Float32, shape.Shape{2}, []float64{nan, 1e10}, "[   nan 1.e+10]"},
		{"zeros", dtype.Float32, shape.Shape{2}, []float64{0, math.Copysign(0, -1)}, "[ 0. -0.]"},
		{"ints", dtype.Int64, shape.Shape{3}, []float64{1, -20, 300}, "[  1 -20 300]"},
		{"bools", dtype.Bool, shape.Shape{2}, []float64{1, 0}, "[ True False]"},
		{"all true", dtype.Bool, shape.Shape{2}, []float64{1, 1}, "[ True  True]"},
		{"half", dtype.Float16, shape.Shape{2}, []float64{0.1, 2}, "[0.1 2. ] dtype=float16"},
		{"bfloat", dtype.BFloat16, shape.Shape{2}, []float64{0.1, 3.141}, "[0.1  3.14] dtype=bfloat16"},
		{"uint8", dtype.Uint8, shape.Shape{2}, []float64{1, 200}, "[  1 200] dtype=uint8"},
		{"int32", dtype.Int32, shape.Shape{1}, []float64{-7}, "[-7] dtype=int32"},
		{"empty", dtype.Float32, shape.Shape{0}, nil, "[]"},
		{"empty ints", dtype.Int64, shape.Shape{0}, nil, "[] dtype=int64"},
		{"empty dims", dtype.Float32, shape.Shape{2, 0, 3}, nil, "[] shape=(2, 0, 3)"},
		{"empty halves", dtype.Float16, shape.Shape{0, 3}, nil, "[] shape=(0, 3) dtype=float16"},
		{"scalar", dtype.Float32, nil, []float64{math.Log(2)}, "0.6931472"},
		{"whole scalar", dtype.Float32, nil, []float64{6}, "6.0"},
		{"scalar of float64", dtype.Float64, nil, []float64{0.1}, "0.1 dtype=float64"},
		{"large scalar", dtype.Float32, nil, []float64{1e20}, "1e+20"},
		{"small scalar", dtype.Float32, nil, []float64{1.5e-5}, "1.5e-05"},
		{"scalar with long digits", dtype.Float32, nil, []float64{123456789}, "123456790.0"},
		{"NaN", dtype.Float32, nil, []float64{nan}, "nan"},
		{"bool", dtype.Bool, nil, []float64{1}, "True"},
		{"int", dtype.Int64, nil, []float64{-3}, "-3"},
		{"wrapped", dtype.Int64, shape.Shape{30}, arange(30),
			"[ 0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15 16 17 18 19 20 21 22 23\n 24 25 26 27 28 29]"},
		{"wrapped floats", dtype.Float32, shape.Shape{2, 13}, append(arange(25), 0.125),
			"[[ 0.     1.     2.     3.     4.     5.     6.     7.     8.     9.\n" +
				"  10.    11.    12.   ]\n" +
				" [13.    14.    15.    16.    17.    18.    19.    20.    21.    22.\n" +
				"  23.    24.     0.125]]"},
		{"summarised", dtype.Int64, shape.Shape{1001}, arange(1001), "[   0    1    2 ...  998  999 1000] shape=(1001,)"},
		{"not summarised", dtype.Int64, shape.Shape{1, 7}, arange(7), "[[0 1 2 3 4 5 6]]"},
		{"summarised matrix", dtype.Int64, shape.Shape{50, 30}, arange(1500),
			"[[   0    1    2 ...   27   28   29]\n [  30   31   32 ...   57   58   59]\n [  60   61   62 ...   87   88   89]\n ...\n" +
				" [1410 1411 1412 ... 1437 1438 1439]\n [1440 1441 1442 ... 1467 1468 1469]\n [1470 1471 1472 ... 1497 1498 1499]] shape=(50, 30)"},
		{"summarised where long", dtype.Int64, shape.Shape{2, 501}, arange(1002),
			"[[   0    1    2 ...  498  499  500]\n [ 501  502  503 ...  999 1000 1001]] shape=(2, 501)"},
	}
	for _, tt := range tests {
		if got := Format(of(t, tt.dt, tt.s, tt.elems...)); got != tt.want {
			t.Errorf("%s: got\n%s\nwant\n%s", tt.name, got, tt.want)
		}
	}
}

// A view is printed as its copy is.
func TestFormatView(t *testing.T) {
	x := of(t, dtype.Float32, shape.Shape{2, 3}, 0, 1, 2, 3, 4, 5)
	if got, want := Format(x.View(shape.Shape{3, 2}, []int{1, 3}, 0)), "[[0. 3.]\n [1. 4.]\n [2. 5.]]"; got != want {
		t.Errorf("transposed: got\n%s\nwant\n%s", got, want)
	}
	if got, want := Format(x.View(shape.Shape{2, 2}, []int{0, 1}, 4)), "[[4. 5.]\n [4. 5.]]"; got != want {
		t.Errorf("expanded: got\n%s\nwant\n%s", got, want)
	}
	if got, want := Format(x.ShapeOnly()), "float32[2, 3] without storage"; got != want {
		t.Errorf("shape only: got %s, want %s", got, want)
	}
}

// Every half-precision number prints as digits that give it back, and these
// are few.
func TestShortestHalf(t *testing.T) {
	for h := range 1 << 16 {
		for _, dt := range []dtype.DType{dtype.Float16, dtype.BFloat16} {
			v := float64(dtype.F16(h).Float32())
			if dt == dtype.BFloat16 {
				v = float64(dtype.BF16(h).Float32())
			}
			if _, odd := notFinite(v); odd {
				continue
			}
			s := scientific(v, dt)
			mantissa, _, _ := strings.Cut(s, "e")
			if short := shortest(v, dt); nearest(short, dt) != v || len(mantissa) > 7 {
				t.Fatalf("%v %v prints as %s", dt, v, s)
			}
		}
	}
}
