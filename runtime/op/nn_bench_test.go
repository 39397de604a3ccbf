package op_test

import (
	"testing"

	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// BenchmarkNN measures operators of module F and random draws.
func BenchmarkNN(b *testing.B) {
	draw := uint64(0)
	c := &op.Ctx{Alloc: tensor.NewAllocator(0), Draw: func() (uint64, uint64) { draw++; return 1, draw }}
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
		args []op.Arg
	}{
		{"randn/f32/1M", "randn", nil, []op.Arg{op.IntsN(1024, 1024), op.None}},
		{"rand/f32/1M", "rand", nil, []op.Arg{op.IntsN(1024, 1024), op.None}},
		{"dropout/f32/1M", "dropout", []*tensor.Tensor{x}, []op.Arg{op.Float1(0.5), op.Bool1(true)}},
		{"gelu/f32/1M", "gelu", []*tensor.Tensor{x}, []op.Arg{op.Str1("none")}},
		{"softmax/f32/1M", "softmax", []*tensor.Tensor{x}, []op.Arg{op.Int1(-1), op.None}},
		{"softmax/f32/1M/dim=0", "softmax", []*tensor.Tensor{x}, []op.Arg{op.Int1(0), op.None}},
		{"softmax/bf16/1M", "softmax", []*tensor.Tensor{half}, []op.Arg{op.Int1(-1), op.None}},
		{"cross_entropy/f32/1M", "cross_entropy", []*tensor.Tensor{x, target, nil}, []op.Arg{op.Int1(-100), op.Str1("mean"), op.Float1(0)}},
		{"layer_norm/f32/1M", "layer_norm", []*tensor.Tensor{x, row, row}, []op.Arg{op.IntsN(1024), op.Float1(1e-5)}},
		{"linear/f32/1024x256x1024", "linear", []*tensor.Tensor{x, w, nil}, nil},
		{"embedding/f32/1024x1024", "embedding", []*tensor.Tensor{target, x}, []op.Arg{op.None, op.None, op.Float1(2), op.Bool1(false), op.Bool1(false)}},
		{"attention/f32/8x128x64", "scaled_dot_product_attention", []*tensor.Tensor{heads, heads, heads, nil}, []op.Arg{op.Float1(0), op.Bool1(false), op.None, op.Bool1(false)}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			for range b.N {
				if _, err := op.Apply(c, op.Lookup(bench.op), bench.in, bench.args); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
