package op_test

import (
	"testing"

	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// BenchmarkMove measures operators that move elements, views, and products,
// with what surrounds the kernel.
func BenchmarkMove(b *testing.B) {
	c := &op.Ctx{Alloc: tensor.NewAllocator(0)}
	small := benchTensor(b, c, dtype.Float32, 8, 8)
	large := benchTensor(b, c, dtype.Float32, 1024, 1024)
	batch := benchTensor(b, c, dtype.Float32, 64, 64, 256)
	one, zero := op.Int1(1), op.Int1(0)
	rows, err := op.FromInts(c, dtype.Int64, []int{1024}, make([]int64, 1024))
	if err != nil {
		b.Fatal(err)
	}
	for _, bench := range []struct {
		name string
		op   string
		in   []*tensor.Tensor
		args []op.Arg
	}{
		{"getitem/8x8", "getitem", []*tensor.Tensor{small}, []op.Arg{op.IntsN(3)}},
		{"reshape/8x8", "reshape", []*tensor.Tensor{small}, []op.Arg{op.IntsN(64)}},
		{"T/8x8", "T", []*tensor.Tensor{small}, nil},
		{"at/8x8", "at", []*tensor.Tensor{small}, []op.Arg{op.Str1("1:3, -1")}},
		{"setitem_/8x8", "setitem_", []*tensor.Tensor{small, tensor.Number(1.5)}, []op.Arg{op.IntsN(3)}},
		{"matmul/f32/8x8", "matmul", []*tensor.Tensor{small, small}, nil},
		{"matmul/f32/1Mx1M", "matmul", []*tensor.Tensor{large, large}, nil},
		{"einsum/f32/64x64x256", "einsum", []*tensor.Tensor{batch, batch}, []op.Arg{op.Str1("bik,bjk->bij")}},
		{"cat/f32/2x1M/rows", "cat", []*tensor.Tensor{large, large}, []op.Arg{zero}},
		{"cat/f32/2x1M/columns", "cat", []*tensor.Tensor{large, large}, []op.Arg{one}},
		{"permute+contiguous/f32/1M", "flip", []*tensor.Tensor{large}, []op.Arg{op.IntsN(0, 1)}},
		{"index_select/f32/1M/rows", "index_select", []*tensor.Tensor{large, rows}, []op.Arg{zero}},
		{"index_select/f32/1M/columns", "index_select", []*tensor.Tensor{large, rows}, []op.Arg{one}},
		{"index_spread/f32/1M/rows", "index_spread", []*tensor.Tensor{large, rows, nil}, []op.Arg{zero, op.Int1(1024)}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			d := op.Lookup(bench.op)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := op.Apply(c, d, bench.in, bench.args); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
