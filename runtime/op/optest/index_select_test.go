package optest

import (
	"testing"

	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
)

func TestIndexSelect(t *testing.T) {
	x := counting(dtype.Float32, 2, 3)
	turned := ok(applied("T", x))[0]
	testCalls(t, []callTest{
		{of("index_select", x, op.Int1(1), row(dtype.Int64, 2, 0, -1)), "float32(2, 3)[2 0 2 5 3 5]"},
		{of("index_select", turned, op.Int1(0), row(dtype.Int32, 1)), "float32(1, 2)[1 4]"},
		{of("index_select", x, op.Int1(0), holding(dtype.Int64, nil, 1)), "float32(1, 3)[3 4 5]"},
		{of("index_select", x, op.Int1(0), row(dtype.Int64)), "float32(0, 3)[]"},
		{of("index_select", x, op.Int1(0), row(dtype.Int64, 0, 2)), `index_select: for parameter "index": got 2 at position 1, want -2..1 (dim 0 of shape (2, 3))`},
		{of("index_select", counting(dtype.Bool, 0), op.Int1(0), row(dtype.Int64, 0)), `index_select: for parameter "index": got 0 at position 0, want no index (dim 0 of shape (0,))`},
		{of("index_select", x, op.Int1(0), row(dtype.Float32, 0)), `index_select: for parameter "index": got float32[1], want an int64 or int32 tensor [n]`},
		{of("index_select", x, op.Int1(0), counting(dtype.Int64, 1, 2)), `index_select: for parameter "index": got int64[1, 2], want an int64 or int32 tensor [n]`},
		{of("index_spread", x, op.Int1(1), op.Int1(4), row(dtype.Int64, 3, 0, 3), nil), "float32(2, 4)[1 0 0 2 4 0 0 8]"},
		{of("index_spread", row(dtype.BFloat16, 256, 1, 1), op.Int1(0), op.Int1(1), row(dtype.Int64, 0, 0, 0), nil), "bfloat16(1,)[258]"},
		{of("index_copy", x, op.Int1(1), row(dtype.Int64, 0, -1), holding(dtype.Float32, []int{2, 2}, 7, 8, 9, 10)), "float32(2, 3)[7 1 8 9 4 10]"},
		{of("index_copy", x, op.Int1(1), row(dtype.Int64, 0, 0), holding(dtype.Float32, []int{2, 2}, 7, 8, 9, 10)), "float32(2, 3)[8 1 2 10 4 5]"},
		{of("index_copy", turned, op.Int1(0), row(dtype.Int64, 1), 7.0), "float32(3, 2)[0 3 7 7 2 5]"},
		{of("index_copy", x, op.Int1(0), row(dtype.Int64, 1), counting(dtype.Int64, 1, 3)), `index_copy: for parameter "src": got int64[1, 3], want dtype float32 (x is float32[2, 3])`},
		{of("index_copy", x, op.Int1(0), row(dtype.Int64, 1), counting(dtype.Float32, 2, 3)), `index_copy: for parameter "src": got float32[2, 3], want a shape that broadcasts to (1, 3)`},
	})
}

func TestGather(t *testing.T) {
	x := counting(dtype.Float64, 2, 3)
	at := holding(dtype.Int64, []int{2, 2}, 0, 2, -1, 1)
	testCalls(t, []callTest{
		{of("gather", x, op.Int1(1), at), "float64(2, 2)[0 2 5 4]"},
		{of("gather", x, op.Int1(0), holding(dtype.Int32, []int{1, 3}, 1, 0, 1)), "float64(1, 3)[3 1 5]"},
		{of("gather", ok(applied("T", x))[0], op.Int1(0), at), "float64(2, 2)[0 5 2 4]"},
		{of("gather", x, op.Int1(0), counting(dtype.Int64, 4, 3)), `gather: for parameter "index": got 2 at position 2, want -2..1 (dim 0 of shape (2, 3))`},
		{of("gather", x, op.Int1(1), counting(dtype.Int64, 3, 1)), `gather: for parameter "index": got int64[3, 1], want a size of at most 2 in dim 0 (x is float64[2, 3])`},
		{of("gather", x, op.Int1(1), row(dtype.Int64, 1)), `gather: for parameter "index": got int64[1], want 2 dims (x is float64[2, 3])`},
		{of("scatter_add", x, op.Int1(1), at, holding(dtype.Float64, []int{2, 2}, 10, 20, 30, 40)), "float64(2, 3)[10 1 22 3 44 35]"},
		{of("scatter_add", row(dtype.Int32, 1), op.Int1(0), row(dtype.Int64, 0, 0), row(dtype.Int32, 5, 6, 7)), "int32(1,)[12]"},
		{of("scatter_add", row(dtype.Float16, 0), op.Int1(0), row(dtype.Int64, 0, 0, 0), row(dtype.Float16, 2048, 1, 1)), "float16(1,)[2050]"},
		{of("scatter_add", x, op.Int1(1), at, x), "float64(2, 3)[0 1 3 3 8 8]"},
		{of("scatter_add", x, op.Int1(1), at, row(dtype.Float64, 1)), `scatter_add: for parameter "index": got int64[2, 2], want 1 dims (src is float64[1])`},
		{of("scatter_add", x, op.Int1(1), at, counting(dtype.Int64, 2, 2)), `scatter_add: for parameter "src": got int64[2, 2], want dtype float64 (x is float64[2, 3])`},
		{of("scatter_add", counting(dtype.Bool, 1), op.Int1(0), row(dtype.Int64, 0), counting(dtype.Bool, 1)), `scatter_add: for parameter "x": got bool[1], want a tensor of numbers (no arithmetic on bools)`},
	})
}

func TestMask(t *testing.T) {
	x := counting(dtype.Int64, 2, 3)
	mask := holding(dtype.Bool, []int{2, 3}, 0, 1, 0, 1, 0, 1)
	column := holding(dtype.Bool, []int{2, 1}, 0, 1)
	testCalls(t, []callTest{
		{of("masked_fill", x, mask, -1), "int64(2, 3)[0 -1 2 -1 4 -1]"},
		{of("masked_fill", row(dtype.Float16, 1, 2, 3), column, 0.5), "float16(2, 3)[1 2 3 0.5 0.5 0.5]"},
		{of("masked_fill", x, mask, 1.5), `masked_fill: for parameter "value": got a number of float64, want one of int64 (x is int64[2, 3])`},
		{of("masked_fill", counting(dtype.Uint8, 2, 3), mask, 256), `masked_fill: for parameter "value": got 256, want 0..255 (the range of uint8)`},
		{of("masked_fill", x, x, 1), `masked_fill: for parameter "mask": got int64[2, 3], want a bool tensor (compare with .eq(), .ne(), .lt(), .le(), .gt() or .ge())`},
		{of("masked_fill", x, counting(dtype.Bool, 2), 1), `masked_fill: for parameter "mask": got bool[2], want a shape that broadcasts with (2, 3)`},
		{of("masked_fill", x, mask, counting(dtype.Int64, 2)), `masked_fill: for parameter "value": got int64[2], want a number, or a tensor of one element`},
		{of("masked_select", x, mask), "int64(3,)[1 3 5]"},
		{of("masked_select", ok(applied("T", x))[0], ok(applied("T", mask))[0]), "int64(3,)[3 1 5]"},
		{of("masked_select", row(dtype.Float32, 5, 6, 7), column), "float32(3,)[5 6 7]"},
		{of("masked_select", x, counting(dtype.Bool)), "int64(0,)[]"},
		{of("nonzero", mask), "int64(3, 2)[0 1 1 0 1 2]"},
		{of("nonzero", row(dtype.Float16, 0, 0.5, 0)), "int64(1, 1)[1]"},
		{of("nonzero", counting(dtype.Int64)), "int64(0, 0)[]"},
	})
}

func TestIndex(t *testing.T) {
	x := counting(dtype.Int64, 3, 2)
	mask := row(dtype.Bool, 1, 0, 1)
	full := holding(dtype.Bool, []int{3, 2}, 0, 1, 0, 1, 1, 0)
	testCalls(t, []callTest{
		{of("index", x, row(dtype.Int64, 2, 2, -3)), "int64(3, 2)[4 5 4 5 0 1]"},
		{of("index", x, holding(dtype.Int32, []int{2, 1}, 1, 0)), "int64(2, 1, 2)[2 3 0 1]"},
		{of("index", x, holding(dtype.Int64, nil, 1)), "int64(2,)[2 3]"},
		{of("index", x, mask), "int64(2, 2)[0 1 4 5]"},
		{of("index", x, full), "int64(3,)[1 3 4]"},
		{of("index", ok(applied("T", x))[0], row(dtype.Int64, 1)), "int64(1, 3)[1 3 5]"},
		{of("index", x, row(dtype.Int64, 0, 3)), `index: for parameter "index": got 3 at position 1, want -3..2 (dim 0 of shape (3, 2))`},
		{of("index", x, row(dtype.Bool, 1, 0)), `index: for parameter "index": got bool[2], want the shape of the first dims of (3, 2) (a mask)`},
		{of("index", x, row(dtype.Float32, 1)), `index: for parameter "index": got float32[1], want an int, or an int64, int32 or bool tensor`},
		{of("index", counting(dtype.Int64), row(dtype.Int64, 0)), `index: for parameter "index": got int64[1], want no index (shape ())`},
		{of("index_put", x, row(dtype.Int64, 2, 0), 9), "int64(3, 2)[9 9 2 3 9 9]"},
		{of("index_put", x, row(dtype.Int64, 1, 1), holding(dtype.Float32, []int{2, 1}, 7.9, 8.9)), "int64(3, 2)[0 1 8 8 4 5]"},
		{of("index_put", x, mask, row(dtype.Int64, 7, 8)), "int64(3, 2)[7 8 2 3 7 8]"},
		{of("index_put", x, full, row(dtype.Int64, 7, 8, 9)), "int64(3, 2)[0 7 2 8 9 5]"},
		{of("index_put", x, mask, counting(dtype.Int64, 3, 2)), `index_put: for parameter "value": got int64[3, 2], want a shape that broadcasts to (2, 2)`},
		{of("setitem", x, -1, op.IntsN(1)), "int64(3, 2)[0 1 -1 -1 4 5]"},
		{of("setitem", x, 7, op.IntsN(1, -1)), "int64(3, 2)[0 1 2 7 4 5]"},
		{of("setitem", x, holding(dtype.Int64, []int{1, 2}, 8, 9), op.IntsN(0)), "int64(3, 2)[8 9 2 3 4 5]"},
		{of("setitem", x, 7, op.IntsN(3)), `setitem: for parameter "index": got 3, want -3..2 (dim 0 of shape (3, 2))`},
		{of("setitem", x, counting(dtype.Int64, 3), op.IntsN(0)), `setitem: for parameter "value": got int64[3], want a shape that broadcasts to (2,)`},
	})
}

// The operators with an underscore write into x, a view included, and read a
// value that shares its storage before they do.
func TestSetInPlace(t *testing.T) {
	x := counting(dtype.Int64, 3, 2)
	turned := ok(applied("T", x))[0]
	steps := []callTest{
		{of("setitem_", x, ok(applied("getitem", x, op.IntsN(2)))[0], op.IntsN(0)), "int64(3, 2)[4 5 2 3 4 5]"},
		{of("setitem_", turned, 7, op.IntsN(1)), "int64(2, 3)[4 2 4 7 7 7]"},
		{of("index_put_", turned, row(dtype.Int64, 1), row(dtype.Int64, 1, 2, 3)), "int64(2, 3)[4 2 4 1 2 3]"},
		{of("index_put_", x, row(dtype.Int64, 0, 1, 2), ok(applied("flip", x, op.IntsN(0)))[0]), "int64(3, 2)[4 3 2 2 4 1]"},
		{of("index_put_", x, row(dtype.Bool, 0, 1, 1), ok(applied("narrow", x, op.Int1(0), op.Int1(0), op.Int1(2)))[0]), "int64(3, 2)[4 3 4 3 2 2]"},
		{of("index_put_", x, row(dtype.Int64, 5), 1), `index_put_: for parameter "index": got 5 at position 0, want -3..2 (dim 0 of shape (3, 2))`},
	}
	for i := range steps {
		if i == 3 { // of what x holds by now
			steps[i].args[3] = ok(applied("flip", x, op.IntsN(0)))[0]
		}
		testCalls(t, steps[i:i+1])
	}
	if got, want := show(x), "int64(3, 2)[4 3 4 3 2 2]"; got != want {
		t.Errorf("x is %s, want %s", got, want)
	}
}
