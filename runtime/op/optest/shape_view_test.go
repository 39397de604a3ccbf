package optest

import (
	"testing"

	"pgregory.net/rapid"

	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

func TestViews(t *testing.T) {
	x := counting(dtype.Int64, 2, 3)
	cube := counting(dtype.Int64, 2, 1, 3)
	number := counting(dtype.Int64)
	testCalls(t, []callTest{
		{of("reshape", x, op.IntsN(3, -1)), "int64(3, 2)[0 1 2 3 4 5]"},
		{of("reshape", x, op.IntsN(-1)), "int64(6,)[0 1 2 3 4 5]"},
		{of("reshape", number, op.IntsN(1, -1)), "int64(1, 1)[0]"},
		{of("reshape", x, op.IntsN(4, 2)), `reshape: for parameter "shape": got (4, 2), want a shape of 6 elements (shape (2, 3))`},
		{of("reshape", x, op.IntsN(1, 4, 3)), `reshape: for parameter "shape": got (1, 4, 3), want a shape of 6 elements (shape (2, 3); these are a part of 1 in 2: where ranks share a dim, -1 takes the size that is here, and each rank needs whole heads or groups)`},
		{of("reshape", x, op.IntsN(2, -1, 6)), `reshape: for parameter "shape": got (2, -1, 6), want sizes that divide 6 elements (shape (2, 3); these are a part of 1 in 2: where ranks share a dim, -1 takes the size that is here, and each rank needs whole heads or groups)`},
		{of("reshape", x, op.IntsN(4, -1)), `reshape: for parameter "shape": got (4, -1), want sizes that divide 6 elements (shape (2, 3))`},
		{of("reshape", x, op.IntsN(-1, -1)), `reshape: for parameter "shape": got (-1, -1), want -1 at most once`},
		{of("reshape", x, op.IntsN(-2, 3)), `reshape: for parameter "shape": got -2 at index 0, want sizes, or -1 once`},
		{of("reshape", counting(dtype.Int64, 0, 3), op.IntsN(-1, 0)), `reshape: for parameter "shape": got (-1, 0), want sizes that divide 0 elements (shape (0, 3))`},
		{of("reshape", x, op.IntsN(1<<32, 1<<32)), `reshape: for parameter "shape": got (4294967296, 4294967296), want a shape of 6 elements (shape (2, 3))`},
		{of("flatten", cube), "int64(6,)[0 1 2 3 4 5]"},
		{of("flatten", number), "int64(1,)[0]"},
		{of("flatten", cube, op.Int1(1)), "int64(2, 3)[0 1 2 3 4 5]"},
		{of("flatten", cube, op.Int1(2), op.Int1(0)), `flatten: for parameter "end_dim": got 0, want start_dim (2) or a later dim (shape (2, 1, 3))`},
		{of("squeeze", cube), "int64(2, 3)[0 1 2 3 4 5]"},
		{of("squeeze", cube, op.IntsN(0)), "int64(2, 1, 3)[0 1 2 3 4 5]"},
		{of("squeeze", cube, op.IntsN(1, 2)), "int64(2, 3)[0 1 2 3 4 5]"},
		{of("squeeze", cube, op.IntsN(3)), `squeeze: for parameter "dim": got 3, want -3..2 (shape (2, 1, 3))`},
		{of("unsqueeze", x, op.Int1(-1)), "int64(2, 3, 1)[0 1 2 3 4 5]"},
		{of("unsqueeze", x, op.Int1(3)), `unsqueeze: for parameter "dim": got 3, want -3..2 (a result of 3 dims)`},
		{of("transpose", x, op.Int1(0), op.Int1(-1)), "int64(3, 2)[0 3 1 4 2 5]"},
		{of("transpose", x, op.Int1(0), op.Int1(2)), `transpose: for parameter "dim1": got 2, want -2..1 (shape (2, 3))`},
		{of("permute", cube, op.IntsN(2, 0, -2)), "int64(3, 2, 1)[0 3 1 4 2 5]"},
		{of("permute", cube, op.IntsN(2, 0)), `permute: for parameter "dims": got (2, 0), want 3 dims (shape (2, 1, 3))`},
		{of("permute", cube, op.IntsN(2, 0, -1)), `permute: for parameter "dims": got [2, 0, -1], want each dim once (shape (2, 1, 3))`},
		{of("T", cube), "int64(3, 1, 2)[0 3 1 4 2 5]"},
		{of("T", number), "int64()[0]"},
		{of("expand", cube, op.IntsN(-1, 2, 3)), "int64(2, 2, 3)[0 1 2 0 1 2 3 4 5 3 4 5]"},
		{of("expand", number, op.IntsN(2)), "int64(2,)[0 0]"},
		{of("expand", cube, op.IntsN(2, 1, 2)), `expand: for parameter "shape": got (2, 1, 2), want 3 at index 2 (only dims of size 1 expand; shape (2, 1, 3))`},
		{of("expand", cube, op.IntsN(-1, 2, 1, 3)), `expand: for parameter "shape": got -1 at index 0, want a non-negative int, or -1 for a dim of x (shape (2, 1, 3))`},
		{of("expand", cube, op.IntsN(3)), `expand: for parameter "shape": got (3,), want at least 3 sizes (shape (2, 1, 3))`},
		{of("expand", counting(dtype.Int64, 1), op.IntsN(0)), "int64(0,)[]"},
	})
}

// Views share storage, and reshape does where no element has to move.
func TestViewsShare(t *testing.T) {
	x := counting(dtype.Float32, 4, 6)
	shares := func(args ...any) bool { return ok(applied(args...))[0].Buffer() == x.Buffer() }
	turned := ok(applied("T", x))[0]
	left := ok(applied("narrow", x, op.Int1(1), op.Int1(0), op.Int1(3)))[0]
	spread := ok(applied("expand", x, op.IntsN(5, 4, 6)))[0]
	for _, c := range []struct {
		args []any
		want bool
	}{
		{of("reshape", x, op.IntsN(2, 12)), true},
		{of("reshape", turned, op.IntsN(3, 2, 4)), true},
		{of("reshape", turned, op.IntsN(24)), false},
		{of("reshape", left, op.IntsN(2, 2, 1, 3)), true},
		{of("reshape", left, op.IntsN(12)), false},
		{of("reshape", spread, op.IntsN(5, 24)), true},
		{of("reshape", spread, op.IntsN(120)), false},
		{of("flatten", x), true},
		{of("squeeze", x), true},
		{of("unsqueeze", turned, op.Int1(0)), true},
		{of("expand", left, op.IntsN(2, 4, 3)), true},
	} {
		if got := shares(c.args...); got != c.want {
			t.Errorf("%s shares storage: got %v, want %v", describeCall(c.args), got, c.want)
		}
	}
}

// Whatever the strides, a view has the elements of the same view of a
// contiguous copy.
func TestReshapeOfAnyStrides(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := counting(dtype.Int64, 4, 6, 2)
		steps := rapid.IntRange(0, 4).Draw(t, "steps")
		for range steps {
			x = drawView(t, x)
		}
		n := x.Numel()
		d := rapid.IntRange(1, max(n, 1)).Draw(t, "divisor")
		for n%d != 0 {
			d--
		}
		copied := ok(applied("contiguous", x))[0]
		for _, size := range [][]int{{d, n / d}, {n / d, 1, d}, {n}} {
			got, want := result("reshape", x, op.IntsN(size...)), result("reshape", copied, op.IntsN(size...))
			if got != want {
				t.Fatalf("shape %v strides %v reshaped to %v: got %s, want %s", x.Shape(), x.Strides(), size, got, want)
			}
		}
	})
}

// drawView draws a view of x.
func drawView(t *rapid.T, x *tensor.Tensor) *tensor.Tensor {
	d := rapid.IntRange(0, x.Ndim()-1).Draw(t, "dim")
	n := x.Shape()[d]
	var args []any
	switch rapid.IntRange(0, 3).Draw(t, "view") {
	case 0:
		args = of("transpose", x, op.Int1(d), op.Int1(0))
	case 1:
		start := rapid.IntRange(0, n).Draw(t, "start")
		step := rapid.IntRange(1, 3).Draw(t, "step")
		args = of("slice", x, op.Int1(d), op.Int1(start), op.None, op.Int1(step))
	case 2:
		args = of("expand", x, op.IntsN(append([]int{rapid.IntRange(1, 2).Draw(t, "times")}, x.Shape()...)...))
	default:
		args = of("unsqueeze", x, op.Int1(d))
	}
	return ok(applied(args...))[0]
}
