package optest

import (
	"slices"
	"testing"

	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/rng"
	"tpsh/runtime/tensor"
)

// A draw is that of package rng with the seed and number of the context, and
// every call takes the next number.
func TestDrawsFollowTheContext(t *testing.T) {
	ctx := newCtx() // seed 7, draws from 1
	for draw := uint64(1); draw < 4; draw++ {
		c, err := op.Apply(ctx, op.Lookup("randn"), nil, []op.Arg{op.IntsN(2, 3), op.None})
		if err != nil {
			t.Fatal(err)
		}
		want := make([]float32, 6)
		rng.Normal32(want, 7, draw, 0)
		if got := tensor.Data[float32](c.Out[0]); !slices.Equal(got, want) {
			t.Errorf("randn, draw %d: got %v, want %v", draw, got, want)
		}
	}
}

func TestRandomErrors(t *testing.T) {
	i64, u8, f16 := op.Int1(int(dtype.Int64)), op.Int1(int(dtype.Uint8)), op.Int1(int(dtype.Float16))
	probs := holding(dtype.Float32, []int{2, 3}, 1, 0, 2, 0, 0, 1)
	testCalls(t, []callTest{
		{of("rand", op.IntsN(2, -1)), `rand: for parameter "shape": got -1 at index 1, want a non-negative int`},
		{of("rand", op.IntsN(2), i64), `rand: for parameter "dtype": got int64, want a float dtype`},
		{of("randn_like", counting(dtype.Int64, 2)), `randn_like: for parameter "dtype": got int64, want a float dtype`},
		{of("randint", op.Int1(3), op.Int1(3), op.IntsN(1)), `randint: for parameter "high": got 3, want more than 3 (low is below high)`},
		{of("randint", op.Int1(0), op.Int1(257), op.IntsN(1), u8), `randint: for parameter "high": got 257, want 1..256 (integers that uint8 holds)`},
		{of("randint", op.Int1(-1), op.Int1(2), op.IntsN(1), u8), `randint: for parameter "low": got -1, want 0..255 (integers that uint8 holds)`},
		{of("randint", op.Int1(5), op.Int1(6), op.IntsN(2), f16), `float16(2,)[5 5]`},
		{of("randperm", op.Int1(-1)), `randperm: for parameter "n": got -1, want a non-negative int`},
		{of("randperm", op.Int1(1)), `int64(1,)[0]`},
		{of("multinomial", probs, op.Int1(2)), `multinomial: for parameter "probs": got 1 positive numbers in row 1, want at least 2 (an index of probability 0 is never drawn)`},
		{of("multinomial", probs, op.Int1(4)), `multinomial: for parameter "n": got 4, want at most 3 (without replacement no index comes twice)`},
		{of("multinomial", row(dtype.Float32, 1, -1), op.Int1(1)), `multinomial: for parameter "probs": got -1 at index 1 of row 0, want no negative number`},
		{of("multinomial", row(dtype.Float32, 0, 3), op.Int1(1)), `int64(1,)[1]`},
		{of("multinomial", row(dtype.Float16), op.Int1(0)), `int64(0,)[]`},
		{of("dropout", row(dtype.Float32, 1), op.Float1(1.5)), `dropout: for parameter "p": got 1.5, want a number from 0 to 1`},
		{of("dropout", row(dtype.Int64, 1)), `dropout: for parameter "x": got int64[1], want a float tensor`},
	})
}

// Dropped elements are zero whatever they were, kept ones are scaled, and
// about as many are kept as should be.
func TestDropout(t *testing.T) {
	n := 10000
	elems := make([]float64, n)
	for i := range elems {
		elems[i] = 1
	}
	x := row(dtype.Float32, elems...)
	out := ok(applied("dropout", x, op.Float1(0.75)))
	kept := 0
	for i, v := range list(out[0]) {
		if v != 0 && v != 4 {
			t.Fatalf("element %d is %v, want 0 or 4", i, v)
		}
		if v == 4 {
			kept++
		}
	}
	if kept < 2300 || kept > 2700 {
		t.Errorf("kept %d of %d, want about a quarter", kept, n)
	}
	testCalls(t, []callTest{
		{of("dropout", row(dtype.Float32, 1, 2), op.Float1(1)), "float32(2,)[0 0]"},
		{of("dropout", row(dtype.Float32, 1, 2), op.Float1(0)), "float32(2,)[1 2]"},
		{of("dropout", row(dtype.Float32, 1, 2), op.Float1(0.9), op.Bool1(false)), "float32(2,)[1 2]"},
	})
}
