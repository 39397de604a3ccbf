package optest

import (
	"math"
	"testing"

	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
)

func TestCreate(t *testing.T) {
	i64 := op.Int1(int(dtype.Int64))
	testCalls(t, []callTest{
		{of("zeros", op.IntsN(2)), "float32(2,)[0 0]"},
		{of("zeros", op.IntsN(), i64), "int64()[0]"},
		{of("ones", op.IntsN(1, 2), op.Int1(int(dtype.Bool))), "bool(1, 2)[1 1]"},
		{of("empty", op.IntsN(2, 0)), "float32(2, 0)[]"},
		{of("zeros", op.IntsN(2, -1)), `zeros: for parameter "shape": got -1 at index 1, want a non-negative int`},
		{of("full", 7, op.IntsN(2)), "int64(2,)[7 7]"},
		{of("full", true, op.IntsN(1)), "bool(1,)[1]"},
		{of("full", 0.5, op.IntsN(1)), "float32(1,)[0.5]"},
		{of("full", 3, op.IntsN(1), op.Int1(int(dtype.Float16))), "float16(1,)[3]"},
		{of("full", row(dtype.Float64, 2.5), op.IntsN(2)), "float64(2,)[2.5 2.5]"},
		{of("full", row(dtype.Float64, 1, 2), op.IntsN(2)), `full: for parameter "v": got float64[2], want a number, or a tensor of one element`},
		{of("eye", op.Int1(2)), "float32(2, 2)[1 0 0 1]"},
		{of("eye", op.Int1(2), op.Int1(3), i64), "int64(2, 3)[1 0 0 0 1 0]"},
		{of("eye", op.Int1(3), op.Int1(1)), "float32(3, 1)[1 0 0]"},
		{of("eye", op.Int1(0)), "float32(0, 0)[]"},
		{of("eye", op.Int1(-1)), `eye: for parameter "n": got -1, want a non-negative int`},
		{of("arange", 4, nil, nil), "int64(4,)[0 1 2 3]"},
		{of("arange", 2, 8, 3), "int64(2,)[2 5]"},
		{of("arange", 5, 0, -2), "int64(3,)[5 3 1]"},
		{of("arange", 5, 0, nil), "int64(0,)[]"},
		{of("arange", 0, 1, 0.25), "float32(4,)[0 0.25 0.5 0.75]"},
		{of("arange", 1.5, nil, nil), "float32(2,)[0 1]"},
		{of("arange", 3, nil, nil, op.Int1(int(dtype.Float64))), "float64(3,)[0 1 2]"},
		{of("arange", math.MaxInt64-2, math.MaxInt64, nil), "int64(2,)[9.223372036854776e+18 9.223372036854776e+18]"},
		{of("arange", math.MinInt64, math.MaxInt64, math.MaxInt64), "int64(3,)[-9.223372036854776e+18 -1 9.223372036854776e+18]"},
		{of("arange", 3, 4, 0), `arange: for parameter "step": got 0, want a number other than 0`},
		{of("arange", 0.0, 1.0, 0.0), `arange: for parameter "step": got 0.0, want a number other than 0`},
		{of("arange", 0.0, math.Inf(1), nil), `arange: for parameter "stop": got +Inf, want a finite number of numbers (from 0 by 1)`},
		{of("arange", row(dtype.Int64, 1, 2), nil, nil), `arange: for parameter "stop": got int64[2], want a number`},
		{of("linspace", op.Float1(0), op.Float1(1), op.Int1(5)), "float32(5,)[0 0.25 0.5 0.75 1]"},
		{of("linspace", op.Float1(3), op.Float1(-3), op.Int1(2), i64), "int64(2,)[3 -3]"},
		{of("linspace", op.Float1(3), op.Float1(4), op.Int1(1)), "float32(1,)[3]"},
		{of("linspace", op.Float1(3), op.Float1(4), op.Int1(0)), "float32(0,)[]"},
		{of("linspace", op.Float1(0), op.Float1(1), op.Int1(-1)), `linspace: for parameter "steps": got -1, want a non-negative int`},
	})
}

// What does not fit in memory is an error that says so.
func TestCreateTooLarge(t *testing.T) {
	for _, args := range [][]any{
		of("zeros", op.IntsN(1<<40, 1<<40)),
		of("zeros", op.IntsN(1<<40)),
		of("eye", op.Int1(1<<31)),
		of("eye", op.Int1(1<<62), op.Int1(1<<62)),
		of("arange", 1<<62, nil, nil),
	} {
		if got := result(args...); len(got) > 500 || got[:len(args[0].(string))] != args[0] {
			t.Errorf("%s: got %s, want an error", describeCall(args), got)
		} else {
			t.Log(got)
		}
	}
}

func TestData(t *testing.T) {
	x := ok(op.FromFloats(testCtx, dtype.Float16, []int{2, 2}, []float64{1, 2.5, -3, 4}))
	turned := ok(applied("T", x))[0]
	if got := op.Float64s(turned); got[1] != -3 || got[2] != 2.5 {
		t.Errorf("Float64s of a transposed tensor: got %v", got)
	}
	if got := op.Float64At(turned, 2); got != 2.5 {
		t.Errorf("Float64At: got %v, want 2.5", got)
	}
	if got := op.Int64At(turned, 3); got != 4 {
		t.Errorf("Int64At: got %v, want 4", got)
	}
	big := ok(op.FromInts(testCtx, dtype.Int64, []int{1}, []int64{math.MaxInt64}))
	if got := op.Int64s(big)[0]; got != math.MaxInt64 {
		t.Errorf("Int64s: got %v, want 2**63 - 1", got)
	}
	if got := show(ok(op.FromBools(testCtx, dtype.Bool, []int{2}, []bool{true, false}))); got != "bool(2,)[1 0]" {
		t.Errorf("FromBools: got %s", got)
	}
}
