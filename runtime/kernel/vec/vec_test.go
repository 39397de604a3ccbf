package vec

import (
	"fmt"
	"math"
	"os"
	"reflect"
	"regexp"
	"testing"

	"pgregory.net/rapid"

	"tpsh/runtime/dtype"
)

// all are the kernels by name.
var all = map[string]any{
	"Exp": Exp, "Log": Log, "Tanh": Tanh, "Erf": Erf, "Sigmoid": Sigmoid, "Silu": Silu, "Gelu": Gelu, "GeluTanh": GeluTanh,
	"Sqrt": Sqrt, "Rsqrt": Rsqrt, "Reciprocal": Reciprocal, "Neg": Neg, "Abs": Abs, "Square": Square, "Relu": Relu,
	"Add": Add, "Sub": Sub, "Mul": Mul, "Div": Div, "Maximum": Maximum, "Minimum": Minimum, "SquaredDiff": SquaredDiff,
	"Add64": Add64, "Sub64": Sub64, "Mul64": Mul64, "Div64": Div64, "Scale": Scale,
	"GeluGrad": GeluGrad, "GeluTanhGrad": GeluTanhGrad, "SiluGrad": SiluGrad,
	"TanhGrad": TanhGrad, "SigmoidGrad": SigmoidGrad, "ReluGrad": ReluGrad,
	"Sum": Sum, "SumNumbers": SumNumbers, "Sum64": Sum64, "Max": Max, "Min": Min, "Most": Most, "Greatest": Greatest, "Least": Least, "Greatest64": Greatest64, "Least64": Least64, "Dot": Dot, "RowPair64": RowPair64, "RowDots64": RowDots64, "AddRows64": AddRows64, "ExpSum": ExpSum, "ExpShift": ExpShift,
	"Maximum64": Maximum64, "Minimum64": Minimum64, "Max64": Max64, "Min64": Min64,
	"WideSum": WideSum, "AbsSum": AbsSum, "AbsSum64": AbsSum64, "SquareSum64": SquareSum64,
	"SquaredDiffSum": SquaredDiffSum, "SquaredDiffSum64": SquaredDiffSum64,
	"ExpSumAny": ExpSumAny, "ExpLess": ExpLess,
	"Shift": Shift, "SoftmaxGrad": SoftmaxGrad, "LogSoftmaxGrad": LogSoftmaxGrad,
	"Moments": Moments, "MomentsGrad": MomentsGrad, "MomentsGradWeight": MomentsGradWeight, "NormalizeTimes": NormalizeTimes,
	"Normalize": Normalize, "NormalizeWeight": NormalizeWeight, "NormalizeAffine": NormalizeAffine, "NormalizeGrad": NormalizeGrad,
	"Combine": Combine, "Lerp": Lerp, "LerpBack": LerpBack, "AddSquare": AddSquare, "Adam": Adam, "AdamStep": AdamStep,
	"Double": Double, "Single": Single, "WidenF16": WidenF16, "WidenBF16": WidenBF16, "NarrowF16": NarrowF16, "NarrowBF16": NarrowBF16, "Drop": Drop, "Philox": Philox, "Erfinv": Erfinv, "Lgamma": Lgamma, "Digamma": Digamma, "Quantile": Quantile, "QuantileFar": QuantileFar,
	"Floor": Floor, "Ceil": Ceil, "Trunc": Trunc, "Round": Round, "Sign": Sign, "Clamp": Clamp, "Select": Select,
	"Eq": Eq, "Ne": Ne, "Lt": Lt, "Le": Le, "IsNaN": IsNaN, "IsFinite": IsFinite,
	"Expm1": Expm1, "Log1p": Log1p, "Softplus": Softplus, "Pow": Pow, "Atan2": Atan2,
	"LeakyRelu": LeakyRelu, "Elu": Elu, "AddProduct": AddProduct, "AddQuotient": AddQuotient, "Huber": Huber, "Finite": Finite, "CrossEntropy": CrossEntropy,
	"And": And, "Or": Or, "Xor": Xor, "Flip": Flip, "Fill": Fill,
	"Exp64": Exp64, "Log64": Log64, "Tanh64": Tanh64, "Gelu64": Gelu64, "GeluGrad64": GeluGrad64, "Scale64": Scale64,
	"ExpShift64": ExpShift64, "ExpSum64": ExpSum64, "Most64": Most64, "SumU64": SumU64, "Prod": Prod, "Prod64": Prod64, "ScaleShift": ScaleShift,
	"Sin": Sin, "Cos": Cos, "Tan": Tan, "Fmod": Fmod, "Remainder": Remainder,
	"SquaredDistances": SquaredDistances, "AbsDistances": AbsDistances, "FourSums": FourSums, "FourProds": FourProds, "FourierTwos": FourierTwos, "FourierFours": FourierFours, "FourierEnds": FourierEnds,
}

// best is the set that the package starts with on this machine.
var best = Best()

// Every kernel is in the table.
func TestAllKernels(t *testing.T) {
	src, err := os.ReadFile("portable.go")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^// \w+Go is (\w+)\.$`).FindAllStringSubmatch(string(src), -1)
	for _, f := range found {
		if all[f[1]] == nil {
			t.Errorf("%s is not in the table", f[1])
		}
	}
	if len(found) != len(all) {
		t.Errorf("the table has %d kernels, the package %d", len(all), len(found))
	}
}

// numbers are drawn often: where functions change their form, and what has no
// neighbour.
var numbers = []float32{0, float32(math.Copysign(0, -1)), 1, -1, 0.625, 0.93, -0.5, 88.72283, 88.72284, -87.33654, -87.33655,
	-103.97283, -103.97284, 14.5, 1e-45, -1e-45, 1.1754944e-38, 2, 3, -2, -2.457, -0.504, math.MaxFloat32, -math.MaxFloat32,
	float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN()), 65504, 65520, 6e-8, 3e-8}

func number(t *rapid.T) float32 {
	switch rapid.IntRange(0, 3).Draw(t, "form") {
	case 0:
		return rapid.SampledFrom(numbers).Draw(t, "number")
	case 1:
		return math.Float32frombits(rapid.Uint32().Draw(t, "bits"))
	}
	return rapid.Float32Range(-20, 20).Draw(t, "x")
}

// operands returns arguments for f, arrays of n elements that begin off
// elements into their memory.
func operands(t *rapid.T, f reflect.Type, n, off int) []reflect.Value {
	// A few numbers drawn and then repeated keep the draws short.
	pool := make([]float32, 24)
	for i := range pool {
		pool[i] = number(t)
	}
	next := rapid.IntRange(0, 23).Draw(t, "first")
	draw := func() float32 {
		next += 7
		return pool[next%len(pool)] * (1 + float32(next)/1024)
	}
	var args []reflect.Value
	for i := range f.NumIn() {
		in := f.In(i)
		switch in.Kind() {
		case reflect.Slice:
			args = append(args, fill(reflect.MakeSlice(in, n+off, n+off), draw).Slice(off, n+off))
		case reflect.Pointer:
			args = append(args, fill(reflect.New(in.Elem()).Elem(), draw).Addr())
		case reflect.Uint32:
			args = append(args, reflect.ValueOf(math.Float32bits(draw())))
		default:
			args = append(args, reflect.ValueOf(draw()).Convert(in))
		}
	}
	return args
}

// fill sets the elements of v to what draw gives.
func fill(v reflect.Value, draw func() float32) reflect.Value {
	for i := range v.Len() {
		x := reflect.ValueOf(draw())
		switch v.Type().Elem().Kind() {
		case reflect.Uint16:
			x = reflect.ValueOf(uint16(math.Float32bits(draw()) >> 13))
		case reflect.Uint32, reflect.Uint64:
			x = reflect.ValueOf(math.Float32bits(draw()))
		case reflect.Uint8:
			x = reflect.ValueOf(uint8(math.Float32bits(draw()) & 1))
		}
		v.Index(i).Set(x.Convert(v.Type().Elem()))
	}
	return v
}

// clone copies what arguments point to.
func clone(args []reflect.Value) []reflect.Value {
	out := make([]reflect.Value, len(args))
	for i, a := range args {
		switch a.Kind() {
		case reflect.Slice:
			out[i] = reflect.MakeSlice(a.Type(), a.Len(), a.Len())
			reflect.Copy(out[i], a)
		case reflect.Pointer:
			out[i] = reflect.New(a.Type().Elem())
			out[i].Elem().Set(a.Elem())
		default:
			out[i] = a
		}
	}
	return out
}

// differ returns where two lists of arguments differ in bits; NaN is NaN.
func differ(got, want []reflect.Value) string {
	for i := range got {
		g, w := reflect.Indirect(got[i]), reflect.Indirect(want[i])
		if g.Kind() != reflect.Slice && g.Kind() != reflect.Array {
			continue
		}
		for j := range g.Len() {
			if !sameBits(g.Index(j), w.Index(j)) {
				return fmt.Sprintf("argument %d, element %d = %v, want %v", i, j, g.Index(j), w.Index(j))
			}
		}
	}
	return ""
}

func sameBits(g, w reflect.Value) bool {
	switch g.Kind() {
	case reflect.Float32, reflect.Float64:
		x, y := g.Float(), w.Float()
		return x == y && math.Signbit(x) == math.Signbit(y) || x != x && y != y
	}
	if g.Type() == reflect.TypeFor[dtype.F16]() && nanF16(g.Uint()) && nanF16(w.Uint()) {
		return true
	}
	return g.Uint() == w.Uint()
}

func nanF16(b uint64) bool { return b&0x7fff > 0x7c00 }

// notLess returns most, or the greatest of x if that is more.
func notLess(most, x reflect.Value) reflect.Value {
	y := float32(most.Float())
	for _, v := range x.Interface().([]float32) {
		if v > y {
			y = v
		}
	}
	return reflect.ValueOf(y)
}

// Every set of instructions gives the bits of the Go that is generated beside
// it, whatever the length and the alignment.
func TestSameBits(t *testing.T) {
	defer Use(best)
	for name, f := range all {
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			n, off := rapid.IntRange(0, 70).Draw(t, "n"), rapid.IntRange(0, 3).Draw(t, "offset")
			fv := reflect.ValueOf(f)
			args := operands(t, fv.Type(), n, off)
			if name == "ExpSum" || name == "ExpShift" {
				args[len(args)-2] = notLess(args[len(args)-2], args[len(args)-3])
			}
			Use(Portable)
			want := clone(args)
			fv.Call(want)
			for _, s := range Sets()[1:] {
				Use(s)
				got := clone(args)
				fv.Call(got)
				if d := differ(got, want); d != "" {
					t.Fatalf("%v, n = %d: %s", s, n, d)
				}
			}
		}))
	}
}

// An array longer than a chunk is cut where lanes begin anew.
func TestChunks(t *testing.T) {
	defer Use(best)
	x := make([]float32, 2*chunk+37)
	for i := range x {
		x[i] = float32(i%977)/977 - 0.5
	}
	var want [Lanes]float32
	for i, v := range x {
		want[i%Lanes] += v
	}
	for _, s := range Sets() {
		Use(s)
		var got [Lanes]float32
		if Sum(x, &got); got != want {
			t.Errorf("%v: Sum = %v, want %v", s, got, want)
		}
	}
}

// AVX2 has sixteen registers.
func TestAVX2Registers(t *testing.T) {
	src, err := os.ReadFile("avx2_amd64.s")
	if err != nil {
		t.Fatal(err)
	}
	if r := regexp.MustCompile(`[XYZ](1[6-9]|[23]\d)\b|Z\d`).Find(src); r != nil {
		t.Errorf("avx2_amd64.s uses %s", r)
	}
}

// Conversions of all half-precision numbers are those of package dtype.
func TestHalves(t *testing.T) {
	f16, bf16 := make([]dtype.F16, 1<<16), make([]dtype.BF16, 1<<16)
	for i := range f16 {
		f16[i], bf16[i] = dtype.F16(i), dtype.BF16(i)
	}
	x := make([]float32, 1<<16)
	WidenF16(x, f16)
	for i, v := range x {
		if want := f16[i].Float32(); v != want && (v == v || want == want) {
			t.Fatalf("WidenF16(%#x) = %v, want %v", i, v, want)
		}
	}
	WidenBF16(x, bf16)
	for i, v := range x {
		if want := bf16[i].Float32(); v != want && (v == v || want == want) {
			t.Fatalf("WidenBF16(%#x) = %v, want %v", i, v, want)
		}
	}
	for step := uint32(0); step < 1<<16; step += 257 {
		for i := range x {
			x[i] = math.Float32frombits(uint32(i)<<16 | step)
		}
		NarrowBF16(bf16, x)
		for i, v := range x {
			if want := dtype.ToBF16(v); bf16[i] != want {
				t.Fatalf("NarrowBF16(%v) = %#x, want %#x", v, bf16[i], want)
			}
		}
		NarrowF16(f16, x)
		for i, v := range x {
			if want := dtype.ToF16(v); f16[i] != want && (v == v || !nanF16(uint64(f16[i]))) {
				t.Fatalf("NarrowF16(%v) = %#x, want %#x", v, f16[i], want)
			}
		}
	}
}
