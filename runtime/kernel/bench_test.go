package kernel

import (
	goruntime "runtime"
	"testing"

	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel/vec"
	"tpsh/runtime/tensor"
)

// The benchmarks go over 16 MiB of float32, as rows of benchRow.
const (
	benchSize = 1 << 22
	benchRow  = 1024
)

// benchArray returns 16 MiB where tensors of ranks live: in huge pages.
func benchArray(b *testing.B) []float32 {
	t, err := tensor.New(tensor.NewAllocator(0), dtype.Float32, []int{benchSize})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { goruntime.KeepAlive(t) })
	x := tensor.Data[float32](t)
	for i := range x {
		x[i] = float32(i*7919%4001)/1000 - 2
	}
	return x
}

// BenchmarkPasses sets kernels beside Neg, a pass over the same bytes that
// computes next to nothing: what limits those that read one array and write
// one. Of others the rate of bytes compares.
func BenchmarkPasses(b *testing.B) {
	x, g, y := benchArray(b), benchArray(b), benchArray(b)
	m, v := benchArray(b), benchArray(b)
	vec.Abs(v, v)
	weight, bias, gh := make([]float32, benchRow), make([]float32, benchRow), make([]float32, benchRow)
	rows := func(f func(at int)) func() {
		return func() {
			for at := 0; at < benchSize; at += benchRow {
				f(at)
			}
		}
	}
	row := func(x []float32, at int) []float32 { return x[at : at+benchRow] }
	layer, rms := Normal{Center: true, Eps: 1e-5}, Normal{Eps: 1e-5}
	for _, c := range []struct {
		name   string
		arrays int64 // read or written
		f      func()
	}{
		{"Neg", 2, func() { vec.Neg(y, x) }},
		{"Add", 3, func() { vec.Add(y, x, g) }},
		{"Gelu", 2, func() { vec.Gelu(y, x) }},
		{"Softmax", 2, rows(func(at int) { SoftmaxTo(row(y, at), row(x, at)) })},
		{"LayerNorm", 2, rows(func(at int) { NormalizeTo(row(y, at), row(x, at), weight, bias, layer) })},
		{"RMSNorm", 2, rows(func(at int) { NormalizeTo(row(y, at), row(x, at), weight, nil, rms) })},
		{"LayerNormGrad", 3, rows(func(at int) { NormalizeGradTo(row(y, at), row(g, at), row(x, at), layer) })},
		{"LayerNormGrads", 3, rows(func(at int) { NormalizeGradsTo(row(y, at), gh, row(g, at), row(x, at), weight, layer) })},
		{"RMSNormGrads", 3, rows(func(at int) { NormalizeGradsTo(row(y, at), gh, row(g, at), row(x, at), weight, rms) })},
		{"SoftmaxGrad", 3, rows(func(at int) { SoftmaxGradTo(row(y, at), row(g, at), row(x, at)) })},
		{"AdamStep", 7, func() { vec.AdamStep(y, m, v, g, 0.99, 0.1, 0.999, 0.001, 0.001, 1, 1e-8) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(c.arrays * 4 * benchSize)
			for b.Loop() {
				c.f()
			}
		})
	}
}
