package optest

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
)

func TestWindows(t *testing.T) {
	x := counting(dtype.Int64, 3, 4)
	testCalls(t, []callTest{
		{of("select", x, op.Int1(0), op.Int1(-1)), "int64(4,)[8 9 10 11]"},
		{of("select", x, op.Int1(1), op.Int1(2)), "int64(3,)[2 6 10]"},
		{of("select", x, op.Int1(1), op.Int1(4)), `select: for parameter "index": got 4, want -4..3 (dim 1 of shape (3, 4))`},
		{of("select", counting(dtype.Int64, 0), op.Int1(0), op.Int1(0)), `select: for parameter "index": got 0, want no index (dim 0 of shape (0,))`},
		{of("select", counting(dtype.Int64), op.Int1(0), op.Int1(0)), `select: for parameter "dim": got 0, want no dim (shape ())`},
		{of("narrow", x, op.Int1(0), op.Int1(1), op.Int1(2)), "int64(2, 4)[4 5 6 7 8 9 10 11]"},
		{of("narrow", x, op.Int1(1), op.Int1(-2), op.Int1(1)), "int64(3, 1)[2 6 10]"},
		{of("narrow", x, op.Int1(0), op.Int1(3), op.Int1(0)), "int64(0, 4)[]"},
		{of("narrow", x, op.Int1(0), op.Int1(4), op.Int1(0)), `narrow: for parameter "start": got 4, want -3..3 (dim 0 of shape (3, 4))`},
		{of("narrow", x, op.Int1(0), op.Int1(1), op.Int1(3)), `narrow: for parameter "length": got 3, want 0..2 (from 1 in dim 0 of shape (3, 4))`},
		{of("narrow", x, op.Int1(0), op.Int1(1), op.Int1(-1)), `narrow: for parameter "length": got -1, want 0..2 (from 1 in dim 0 of shape (3, 4))`},
		{of("slice", x, op.Int1(0), op.None, op.None, op.Int1(2)), "int64(2, 4)[0 1 2 3 8 9 10 11]"},
		{of("slice", x, op.Int1(1), op.Int1(1), op.Int1(-1)), "int64(3, 2)[1 2 5 6 9 10]"},
		{of("slice", x, op.Int1(1), op.Int1(-100), op.Int1(100), op.Int1(3)), "int64(3, 2)[0 3 4 7 8 11]"},
		{of("slice", x, op.Int1(1), op.Int1(3), op.Int1(1)), "int64(3, 0)[]"},
		{of("slice", x, op.Int1(1), op.Int1(4)), "int64(3, 0)[]"},
		{of("slice", x, op.Int1(1), op.None, op.None, op.Int1(-1)), `slice: for parameter "step": got -1, want a positive int (flip reverses a dim)`},
		{of("getitem", x, op.IntsN(2)), "int64(4,)[8 9 10 11]"},
		{of("getitem", x, op.IntsN(-1, 1)), "int64()[9]"},
		{of("getitem", x, op.IntsN(3)), `getitem: for parameter "index": got 3, want -3..2 (dim 0 of shape (3, 4))`},
		{of("getitem", x, op.IntsN(0, 0, 0)), `getitem: for parameter "index": got (0, 0, 0), want at most 2 indices (shape (3, 4))`},
	})
}

func TestAt(t *testing.T) {
	x := counting(dtype.Int64, 2, 3, 4)
	at := func(index string) []any { return of("at", x, op.Str1(index)) }
	testCalls(t, []callTest{
		{at("1, 2, 3"), "int64()[23]"},
		{at("-1,0"), "int64(4,)[12 13 14 15]"},
		{at("1:3, :, -1"), "int64(1, 3)[15 19 23]"},
		{at(":, ::2, 1:-1"), "int64(2, 2, 2)[1 2 9 10 13 14 21 22]"},
		{at("..., 0"), "int64(2, 3)[0 4 8 12 16 20]"},
		{at("0, ..., 3, "), "int64(3,)[3 7 11]"},
		{at("None, 1, ..., None, 0"), "int64(1, 3, 1)[12 16 20]"},
		{at("1, 2, 3, ..."), "int64()[23]"},
		{at("2:, 0, 0"), "int64(0,)[]"},
		{at(" ... "), "int64(2, 3, 4)[0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23]"},
		{at("2"), `at: for parameter "index": got 2, want -2..1 (dim 0 of shape (2, 3, 4))`},
		{at("0, 0, 0, 0"), `at: for parameter "index": got "0, 0, 0, 0", want at most 3 indices (shape (2, 3, 4))`},
		{at("..., ..."), `at: for parameter "index": got "..., ...", want "..." at most once (shape (2, 3, 4))`},
		{at("::-1"), `at: for parameter "index": got "::-1", want a positive step (flip reverses a dim)`},
		{at("0, x"), `at: for parameter "index": got "x", want an int, a slice, "..." or "None" (in "0, x")`},
		{at(":::"), `at: for parameter "index": got ":::", want an int, a slice, "..." or "None" (in ":::")`},
		{at("1.5"), `at: for parameter "index": got "1.5", want an int, a slice, "..." or "None" (in "1.5")`},
		{at(""), `at: for parameter "index": got "", want ints, slices, "..." and "None" separated by commas (shape (2, 3, 4))`},
		{at("0,,0"), `at: for parameter "index": got "0,,0", want ints, slices, "..." and "None" separated by commas (shape (2, 3, 4))`},
	})
}

// Windows show what indexing a list in the same way does.
func TestSliceLikeALoop(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 6).Draw(t, "n")
		bound := rapid.IntRange(-8, 8)
		start, stop, step := bound.Draw(t, "start"), bound.Draw(t, "stop"), rapid.IntRange(1, 4).Draw(t, "step")
		lo, hi := start, stop
		if lo < 0 {
			lo += n
		}
		if hi < 0 {
			hi += n
		}
		var want []float64
		for i := max(lo, 0); i < min(hi, n); i += step {
			want = append(want, float64(i))
		}
		got := result("slice", counting(dtype.Int64, n), op.Int1(0), op.Int1(start), op.Int1(stop), op.Int1(step))
		if want := show(row(dtype.Int64, want...)); got != want {
			t.Fatalf("0..%d sliced %d:%d:%d: got %s, want %s", n-1, start, stop, step, got, want)
		}
	})
}

// Any text is an index or an error; an index gives a view inside x.
func FuzzAt(f *testing.F) {
	for _, index := range []string{"1:3, :, -1", "..., None, ::2", "0", "9223372036854775807:", "-9223372036854775808", ",", "::0"} {
		f.Add(index)
	}
	x := counting(dtype.Int32, 3, 4, 2)
	f.Fuzz(func(t *testing.T, index string) {
		if strings.Count(index, "None") > 100 {
			return
		}
		out, err := applied("at", x, op.Str1(index))
		if err == nil && out[0].Buffer() != x.Buffer() {
			t.Errorf("at(%q) is no view", index)
		}
	})
}

func TestPieces(t *testing.T) {
	x := counting(dtype.Int64, 5)
	m := counting(dtype.Int64, 2, 3)
	testCalls(t, []callTest{
		{of("split", x, op.Int1(2)), "int64(2,)[0 1]; int64(2,)[2 3]; int64(1,)[4]"},
		{of("split", x, op.Int1(9)), "int64(5,)[0 1 2 3 4]"},
		{of("split", m, op.IntsN(1, 0, 2), op.Int1(-1)), "int64(2, 1)[0 3]; int64(2, 0)[]; int64(2, 2)[1 2 4 5]"},
		{of("split", counting(dtype.Int64, 0), op.Int1(2)), "int64(0,)[]"},
		{of("split", x, op.Int1(0)), `split: for parameter "size_or_sizes": got 0, want a positive int (dim 0 of shape (5,))`},
		{of("split", ok(applied("expand", counting(dtype.Int64, 1), op.IntsN(1<<40)))[0], op.Int1(1)), `split: for parameter "size_or_sizes": got 1, want at most 16777216 pieces (dim 0 of shape (1099511627776,))`},
		{of("split", x, op.IntsN(2, 2)), `split: for parameter "size_or_sizes": got [2, 2], want sizes that add up to 5 (dim 0 of shape (5,))`},
		{of("split", x, op.IntsN(2, 4)), `split: for parameter "size_or_sizes": got 4 at index 1, want 0..3 (dim 0 of shape (5,))`},
		{of("chunk", x, op.Int1(4)), "int64(2,)[0 1]; int64(2,)[2 3]; int64(1,)[4]; int64(0,)[]"},
		{of("chunk", m, op.Int1(2), op.Int1(1)), "int64(2, 2)[0 1 3 4]; int64(2, 1)[2 5]"},
		{of("chunk", x, op.Int1(0)), `chunk: for parameter "n": got 0, want 1..16777216`},
	})
	for _, p := range ok(applied("chunk", x, op.Int1(4))) {
		if p.Buffer() != x.Buffer() {
			t.Error("chunk copies")
		}
	}
}

func TestRegions(t *testing.T) {
	x := counting(dtype.Float32, 2, 3)
	turned := ok(applied("T", x))[0]
	args := []any{op.IntsN(2, 2), op.IntsN(3, 2), op.Int1(0)}
	testCalls(t, []callTest{
		{of(append([]any{"region_get", x}, args...)...), "float32(2, 2)[0 2 3 5]"},
		{of(append([]any{"region_get", turned}, args...)...), "float32(2, 2)[0 1 4 5]"},
		{of(append([]any{"region_set", x, row(dtype.Float64, 7, 8)}, args...)...), "float32(2, 3)[7 1 8 7 4 8]"},
		{of(append([]any{"region_set", turned, 9}, args...)...), "float32(3, 2)[9 3 9 9 2 9]"},
		{of("region_spread", row(dtype.Float32, 1, 2), op.IntsN(2, 2), op.IntsN(2), op.Int1(1)), "float32(2, 2)[0 1 0 2]"},
		{of("region_get", x, op.IntsN(2), op.IntsN(4), op.Int1(2)), `region_get: for parameter "offset": got 2, want a region inside 6 elements (shape (2,), strides [4])`},
		{of("region_get", x, op.IntsN(0), op.IntsN(4), op.Int1(7)), "float32(0,)[]"},
	})
}
