package op

import (
	"testing"

	"tpsh/runtime/dtype"
	"tpsh/runtime/tensor"
)

// BenchmarkMove measures operators that move elements, views, and products,
// with what surrounds the kernel.
func BenchmarkMove(b *testing.B) {
	c := &Ctx{Alloc: tensor.NewAllocator(0)}
	small := benchTensor(b, c, dtype.Float32, 8, 8)
	large := benchTensor(b, c, dtype.Float32, 1024, 1024)
	batch := benchTensor(b, c, dtype.Float32, 64, 64, 256)
	one, zero := Int1(1), Int1(0)
	rows, err := FromInts(c, dtype.Int64, []int{1024}, make([]int64, 1024))
	if err != nil {
		b.Fatal(err)
	}
	for _, bench := range []struct {
		name string
		op   string
		in   []*tensor.Tensor
		args []Arg
	}{
		{"getitem/8x8", "getitem", []*tensor.Tensor{small}, []Arg{IntsN(3)}},
		{"reshape/8x8", "reshape", []*tensor.Tensor{small}, []Arg{IntsN(64)}},
		{"T/8x8", "T", []*tensor.Tensor{small}, nil},
		{"at/8x8", "at", []*tensor.Tensor{small}, []Arg{Str1("1:3, -1")}},
		{"setitem_/8x8", "setitem_", []*tensor.Tensor{small, tensor.Number(1.5)}, []Arg{IntsN(3)}},
		{"matmul/f32/8x8", "matmul", []*tensor.Tensor{small, small}, nil},
		{"matmul/f32/1Mx1M", "matmul", []*tensor.Tensor{large, large}, nil},
		{"einsum/f32/64x64x256", "einsum", []*tensor.Tensor{batch, batch}, []Arg{Str1("bik,bjk->bij")}},
		{"cat/f32/2x1M/rows", "cat", []*tensor.Tensor{large, large}, []Arg{zero}},
		{"cat/f32/2x1M/columns", "cat", []*tensor.Tensor{large, large}, []Arg{one}},
		{"permute+contiguous/f32/1M", "flip", []*tensor.Tensor{large}, []Arg{IntsN(0, 1)}},
		{"index_select/f32/1M/rows", "index_select", []*tensor.Tensor{large, rows}, []Arg{zero}},
		{"index_select/f32/1M/columns", "index_select", []*tensor.Tensor{large, rows}, []Arg{one}},
		{"index_spread/f32/1M/rows", "index_spread", []*tensor.Tensor{large, rows, nil}, []Arg{zero, Int1(1024)}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			d := must(bench.op)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Apply(c, d, bench.in, bench.args); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
