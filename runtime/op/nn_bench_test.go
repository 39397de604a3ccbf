package op

import (
	"testing"

	"tpsh/runtime/dtype"
	"tpsh/runtime/tensor"
)

// BenchmarkNN measures operators of module F and random draws.
func BenchmarkNN(b *testing.B) {
	draw := uint64(0)
	c := &Ctx{Alloc: tensor.NewAllocator(0), Draw: func() (uint64, uint64) { draw++; return 1, draw }}
	x := benchTensor(b, c, dtype.Float32, 1024, 1024)
	half := benchTensor(b, c, dtype.BFloat16, 1024, 1024)
	w := benchTensor(b, c, dtype.Float32, 256, 1024)
	row := benchTensor(b, c, dtype.Float32, 1024)
	target := benchTensor(b, c, dtype.Int64, 1024)
	heads := benchTensor(b, c, dtype.Float32, 8, 128, 64)
	for _, bench := range []struct {
		name string
		op   string
		in   []*tensor.Tensor
		args []Arg
	}{
		{"randn/f32/1M", "randn", nil, []Arg{IntsN(1024, 1024), None}},
		{"rand/f32/1M", "rand", nil, []Arg{IntsN(1024, 1024), None}},
		{"dropout/f32/1M", "dropout", []*tensor.Tensor{x}, []Arg{Float1(0.5), Bool1(true)}},
		{"gelu/f32/1M", "gelu", []*tensor.Tensor{x}, []Arg{Str1("none")}},
		{"softmax/f32/1M", "softmax", []*tensor.Tensor{x}, []Arg{Int1(-1), None}},
		{"softmax/f32/1M/dim=0", "softmax", []*tensor.Tensor{x}, []Arg{Int1(0), None}},
		{"softmax/bf16/1M", "softmax", []*tensor.Tensor{half}, []Arg{Int1(-1), None}},
		{"cross_entropy/f32/1M", "cross_entropy", []*tensor.Tensor{x, target, nil}, []Arg{Int1(-100), Str1("mean"), Float1(0)}},
		{"layer_norm/f32/1M", "layer_norm", []*tensor.Tensor{x, row, row}, []Arg{IntsN(1024), Float1(1e-5)}},
		{"linear/f32/1024x256x1024", "linear", []*tensor.Tensor{x, w, nil}, nil},
		{"embedding/f32/1024x1024", "embedding", []*tensor.Tensor{target, x}, []Arg{None, None, Float1(2), Bool1(false), Bool1(false)}},
		{"attention/f32/8x128x64", "scaled_dot_product_attention", []*tensor.Tensor{heads, heads, heads, nil}, []Arg{Float1(0), Bool1(false), None, Bool1(false)}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			for range b.N {
				if _, err := Apply(c, Lookup(bench.op), bench.in, bench.args); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
