package optest

import (
	"testing"

	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
)

func TestJoin(t *testing.T) {
	x := counting(dtype.Int64, 2, 2)
	y := holding(dtype.Float32, []int{2, 1}, 7.5, 8)
	testCalls(t, []callTest{
		{of("cat", x, x), "int64(4, 2)[0 1 2 3 0 1 2 3]"},
		{of("cat", x, y, op.Int1(-1)), "float32(2, 3)[0 1 7.5 2 3 8]"},
		{of("cat", ok(applied("T", x))[0], x), "int64(4, 2)[0 2 1 3 0 1 2 3]"},
		{of("cat", x, counting(dtype.Int64, 0, 2)), "int64(2, 2)[0 1 2 3]"},
		{of("cat"), `cat: for parameter "tensors": got [], want at least one tensor`},
		{of("cat", x, y), `cat: for parameter "tensors": got float32[2, 1] at index 1, want the sizes of int64[2, 2] but along dim 0`},
		{of("cat", x, x, op.Int1(2)), `cat: for parameter "dim": got 2, want -2..1 (shape (2, 2))`},
		{of("stack", x, x), "int64(2, 2, 2)[0 1 2 3 0 1 2 3]"},
		{of("stack", x, x, op.Int1(-1)), "int64(2, 2, 2)[0 0 1 1 2 2 3 3]"},
		{of("stack", counting(dtype.Bool), counting(dtype.Uint8)), "uint8(2,)[0 0]"},
		{of("stack", x, y), `stack: for parameter "tensors": got float32[2, 1] at index 1, want the shape of int64[2, 2]`},
		{of("stack", x, op.Int1(3)), `stack: for parameter "dim": got 3, want -3..2 (a result of 3 dims)`},
		{of("repeat", x, op.IntsN(2, 1)), "int64(4, 2)[0 1 2 3 0 1 2 3]"},
		{of("repeat", x, op.IntsN(2, 1, 2)), "int64(2, 2, 4)[0 1 0 1 2 3 2 3 0 1 0 1 2 3 2 3]"},
		{of("repeat", x, op.IntsN(0, 2)), "int64(0, 4)[]"},
		{of("repeat", counting(dtype.Int64), op.IntsN()), "int64()[0]"},
		{of("repeat", x, op.IntsN(2)), `repeat: for parameter "repeats": got (2,), want at least 2 ints (shape (2, 2))`},
		{of("repeat", x, op.IntsN(2, -1)), `repeat: for parameter "repeats": got -1 at index 1, want a non-negative int`},
		{of("repeat", x, op.IntsN(1<<40, 1<<40)), `repeat: for parameter "repeats": got (1099511627776, 1099511627776), want fewer than 2**63 bytes (shape (2, 2))`},
	})
}

func TestRearrange(t *testing.T) {
	x := counting(dtype.Int32, 2, 3)
	testCalls(t, []callTest{
		{of("flip", x, op.IntsN(1)), "int32(2, 3)[2 1 0 5 4 3]"},
		{of("flip", x, op.IntsN(0, -1)), "int32(2, 3)[5 4 3 2 1 0]"},
		{of("flip", ok(applied("T", x))[0], op.IntsN(0)), "int32(3, 2)[2 5 1 4 0 3]"},
		{of("flip", counting(dtype.Int32, 0, 2), op.IntsN(0)), "int32(0, 2)[]"},
		{of("flip", x, op.IntsN(2)), `flip: for parameter "dims": got 2, want -2..1 (shape (2, 3))`},
		{of("roll", x, op.IntsN(1)), "int32(2, 3)[5 0 1 2 3 4]"},
		{of("roll", x, op.IntsN(-1), op.IntsN(1)), "int32(2, 3)[1 2 0 4 5 3]"},
		{of("roll", x, op.IntsN(1, 4), op.IntsN(0, 1)), "int32(2, 3)[5 3 4 2 0 1]"},
		{of("roll", x, op.IntsN(1, 1), op.IntsN(1, 1)), "int32(2, 3)[1 2 0 4 5 3]"},
		{of("roll", x, op.IntsN(1, 2)), `roll: for parameter "shifts": got [1, 2], want one int (without dims)`},
		{of("roll", x, op.IntsN(1, 2), op.IntsN(0)), `roll: for parameter "shifts": got [1, 2], want as many ints as dims (dims [0])`},
		{of("roll", counting(dtype.Int32, 0), op.IntsN(3), op.IntsN(0)), "int32(0,)[]"},
		{of("tril", x), "int32(2, 3)[0 0 0 3 4 0]"},
		{of("tril", x, op.Int1(1)), "int32(2, 3)[0 1 0 3 4 5]"},
		{of("tril", x, op.Int1(-5)), "int32(2, 3)[0 0 0 0 0 0]"},
		{of("triu", x), "int32(2, 3)[0 1 2 0 4 5]"},
		{of("triu", x, op.Int1(2)), "int32(2, 3)[0 0 2 0 0 0]"},
		{of("triu", x, op.Int1(-9)), "int32(2, 3)[0 1 2 3 4 5]"},
		{of("triu", counting(dtype.Bool, 2, 2, 1)), "bool(2, 2, 1)[0 0 1 0]"},
		{of("triu", row(dtype.Int32, 1)), `triu: for parameter "x": got int32[1], want a tensor [..., m, n]`},
	})
}

func TestPad(t *testing.T) {
	x := holding(dtype.Float16, []int{2, 3}, 1, 2, 3, 4, 5, 6)
	v := row(dtype.Int64, 1, 2, 3)
	testCalls(t, []callTest{
		{of("pad", x, op.IntsN(1, 0)), "float16(2, 4)[0 1 2 3 0 4 5 6]"},
		{of("pad", x, op.IntsN(0, -1, 1, 0), op.Str1("constant"), op.Float1(9)), "float16(3, 2)[9 9 1 2 4 5]"},
		{of("pad", v, op.IntsN(-3, 1)), "int64(1,)[0]"},
		{of("pad", v, op.IntsN(-2, -2)), `pad: for parameter "pad": got [-2, -2], want a size of 0 or more (dim 0 of shape (3,))`},
		{of("pad", v, op.IntsN(2, 2), op.Str1("reflect")), "int64(7,)[3 2 1 2 3 2 1]"},
		{of("pad", v, op.IntsN(3, 0), op.Str1("reflect")), `pad: for parameter "pad": got [3, 0], want ints from -3 to 2 (dim 0 of shape (3,), mode "reflect")`},
		{of("pad", v, op.IntsN(1, 4), op.Str1("replicate")), "int64(8,)[1 1 2 3 3 3 3 3]"},
		{of("pad", v, op.IntsN(2, 3), op.Str1("circular")), "int64(8,)[2 3 1 2 3 1 2 3]"},
		{of("pad", x, op.IntsN(1, 1, 1, 0), op.Str1("circular")), "float16(3, 5)[6 4 5 6 4 3 1 2 3 1 6 4 5 6 4]"},
		{of("pad", v, op.IntsN(1)), `pad: for parameter "pad": got [1], want an even number of ints, at most 2 (shape (3,))`},
		{of("pad", v, op.IntsN(1, 1), op.Str1("constant"), op.Float1(0.5)), `pad: for parameter "value": got 0.5, want an int (x is int64[3])`},
	})
}
