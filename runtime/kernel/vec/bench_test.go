package vec

import (
	"math"
	"testing"

	"tpsh/runtime/dtype"
)

// Elements of the benchmarks: 16 MiB of float32, as rows of 1024.
const (
	benchSize = 1 << 22
	benchRow  = 1024
)

func benchData(arrays int) [][]float32 {
	out := make([][]float32, arrays)
	for a := range out {
		out[a] = make([]float32, benchSize)
		for i := range out[a] {
			out[a][i] = float32((i*7919+a)%4001)/1000 - 2
		}
	}
	return out
}

// bench runs f in every set. A run moves so many bytes through memory for each
// element.
func bench(b *testing.B, name string, bytes int64, f func()) {
	defer Use(Best())
	for s := Best(); ; s-- {
		Use(s)
		b.Run(name+"/"+s.String(), func(b *testing.B) {
			b.SetBytes(bytes * benchSize)
			for b.Loop() {
				f()
			}
		})
		if s == Portable {
			return
		}
	}
}

func BenchmarkKernels(b *testing.B) {
	d := benchData(4)
	x, y, m, v := d[0], d[1], d[2], d[3]
	Abs(v, v)
	for _, k := range []struct {
		name string
		f    func(dst, x []float32)
	}{
		{"Exp", Exp}, {"Log", Log}, {"Tanh", Tanh}, {"Erf", Erf}, {"Sigmoid", Sigmoid},
		{"Silu", Silu}, {"Gelu", Gelu}, {"GeluTanh", GeluTanh}, {"Relu", Relu},
	} {
		bench(b, k.name, 8, func() { k.f(y, x) })
	}
	bench(b, "Add", 12, func() { Add(m, x, y) })
	f16, bf16 := make([]dtype.F16, benchSize), make([]dtype.BF16, benchSize)
	bench(b, "NarrowF16", 6, func() { NarrowF16(f16, x) })
	bench(b, "NarrowBF16", 6, func() { NarrowBF16(bf16, x) })
	bench(b, "WidenF16", 6, func() { WidenF16(m, f16) })
	bench(b, "WidenBF16", 6, func() { WidenBF16(m, bf16) })
	bench(b, "GeluGrad", 12, func() { GeluGrad(m, x, y) })
	bench(b, "SiluGrad", 12, func() { SiluGrad(m, x, y) })
	bench(b, "Sum", 4, func() {
		var sum [Lanes]float32
		Sum(x, &sum)
	})
	bench(b, "AdamStep", 28, func() { AdamStep(y, m, v, x, 0.99, 0.1, 0.999, 0.001, 0.001, 1, 1e-8) })
}

// Rows of softmax and layer norm, from their kernels.
func BenchmarkRows(b *testing.B) {
	d := benchData(2)
	eachRow := func(f func(dst, x []float32)) {
		for at := 0; at < benchSize; at += benchRow {
			f(d[1][at:at+benchRow], d[0][at:at+benchRow])
		}
	}
	bench(b, "Softmax", 8, func() {
		eachRow(func(dst, x []float32) {
			most := [Lanes]float32{}
			var sum [Lanes]float64
			Most(x, &most)
			ExpShift(dst, x, most[0], &sum)
			Scale(dst, dst, 1/float32(sum[0]))
		})
	})
	weight, bias := make([]float32, benchRow), make([]float32, benchRow)
	bench(b, "LayerNorm", 8, func() {
		eachRow(func(dst, x []float32) {
			var sum, squares [Lanes]float64
			Moments(x, float64(x[0]), &sum, &squares)
			NormalizeAffine(dst, x, weight, bias, float32(sum[0]), 0, float32(math.Sqrt(squares[0])))
		})
	})
}
