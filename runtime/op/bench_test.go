package op_test

import (
	"testing"

	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

func benchTensor(b *testing.B, c *op.Ctx, dt dtype.DType, s ...int) *tensor.Tensor {
	b.Helper()
	x, err := tensor.New(c.Alloc, dt, shape.Shape(s))
	if err != nil {
		b.Fatal(err)
	}
	fill(b, x, 1.5)
	return x
}

// BenchmarkApply measures operators with what surrounds the kernel.
func BenchmarkApply(b *testing.B) {
	c := &op.Ctx{Alloc: tensor.NewAllocator(0)}
	small := benchTensor(b, c, dtype.Float32, 8, 8)
	half := benchTensor(b, c, dtype.Float16, 1024, 1024)
	large := benchTensor(b, c, dtype.Float32, 1024, 1024)
	row := benchTensor(b, c, dtype.Float32, 1024)
	turned := large.View(shape.Shape{1024, 1024}, []int{1, 1024}, 0)
	none, last, first := op.Arg{}, op.IntsN(-1), op.IntsN(0)
	for _, bench := range []struct {
		name string
		op   string
		in   []*tensor.Tensor
		args []op.Arg
	}{
		{"add/f32/8x8", "add", []*tensor.Tensor{small, small}, nil},
		{"add/f32/8x8+number", "add", []*tensor.Tensor{small, tensor.Number(1.5)}, nil},
		{"add/f32/1M", "add", []*tensor.Tensor{large, large}, nil},
		{"add/f32/1M+number", "add", []*tensor.Tensor{large, tensor.Number(1.5)}, nil},
		{"add/f32/1M+row", "add", []*tensor.Tensor{large, row}, nil},
		{"add/f32/1M+transposed", "add", []*tensor.Tensor{large, turned}, nil},
		{"add/f16/1M", "add", []*tensor.Tensor{half, half}, nil},
		{"maximum/f32/1M", "maximum", []*tensor.Tensor{large, large}, nil},
		{"gt/f32/1M", "gt", []*tensor.Tensor{large, large}, nil},
		{"relu/f32/1M", "relu", []*tensor.Tensor{large}, nil},
		{"exp/f32/1M", "exp", []*tensor.Tensor{large}, nil},
		{"tanh/f32/1M", "tanh", []*tensor.Tensor{large}, nil},
		{"clone/f32/transposed", "clone", []*tensor.Tensor{turned}, nil},
		{"to/f16/1M", "to", []*tensor.Tensor{large}, []op.Arg{op.Int1(int(dtype.Float16))}},
		{"sum/f32/8x8", "sum", []*tensor.Tensor{small}, []op.Arg{none, none}},
		{"sum/f32/1M", "sum", []*tensor.Tensor{large}, []op.Arg{none, none}},
		{"sum/f32/1M/rows", "sum", []*tensor.Tensor{large}, []op.Arg{last, none}},
		{"sum/f32/1M/columns", "sum", []*tensor.Tensor{large}, []op.Arg{first, none}},
		{"sum/f32/1M/transposed", "sum", []*tensor.Tensor{turned}, []op.Arg{last, none}},
		{"sum/f16/1M", "sum", []*tensor.Tensor{half}, []op.Arg{none, none}},
		{"max/f32/1M", "max", []*tensor.Tensor{large}, []op.Arg{none, none}},
		{"max/f32/1M/rows", "max", []*tensor.Tensor{large}, []op.Arg{op.Int1(1), none}},
		{"var/f32/1M/rows", "var", []*tensor.Tensor{large}, []op.Arg{last, none, op.Float1(1)}},
		{"sort/f32/1M", "sort", []*tensor.Tensor{large}, []op.Arg{op.Int1(-1), none}},
	} {
		d := op.Lookup(bench.op)
		if d == nil {
			continue
		}
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := op.Apply(c, d, bench.in, bench.args); err != nil {
					b.Fatal(err)
				}
			}
			n := bench.in[0].Numel()
			if n > 1000 {
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/element")
			}
		})
	}
}
