package optest

import (
	"fmt"
	"math"
	"testing"

	"tpsh/mesh"
	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// The index of the greatest element of cut rows is that of the first of equal
// ones, and NaN is the greatest, wherever the blocks end.
func TestIndexOfBlocks(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	rows := [][]float64{
		{1, 3, 2, 3, 0},
		{2, 2, 2, 2, 2},
		{0, 1, 2, nan, nan},
		{nan, inf, 0, inf, 1},
		{-inf, -inf, -inf, -inf, -inf},
	}
	for i, row := range rows {
		x := literal(dtype.Float64, []int{1, len(row)}, row...)
		for _, ex := range []example{call(x, op.Int1(1)), call(x)} {
			tr := newTrial(op.Lookup("argmax"), ex, dtype.Float64)
			c, err := tr.apply()
			if err != nil {
				t.Fatal(err)
			}
			want := list(c.Out[0])[0]
			for parts := 1; parts <= 7; parts++ {
				if got := argmaxOfBlocks(t, tr, parts); got != want {
					t.Errorf("row %d in %d parts: got %v, want %v", i, parts, got, want)
				}
			}
		}
	}
}

// argmaxOfBlocks returns the least of the indices that index_of gives for the
// blocks of tr's input, cut along its last dim.
func argmaxOfBlocks(t *testing.T, tr *trial, parts int) float64 {
	t.Helper()
	x := tr.in[0]
	most := ok(applied("amax", x, op.IntsN(0, 1), op.Bool1(true)))[0]
	d := op.Lookup("index_of")
	c := &op.Call{Def: d, Ctx: newCtx(), In: []*tensor.Tensor{x.ShapeOnly(), most.ShapeOnly()}, Args: tr.args}
	if err := d.Infer(c); err != nil {
		t.Fatal(err)
	}
	m := newMesh(parts)
	from := []*mesh.Placed{
		ok(mesh.Place(m, x.Shape(), []mesh.Placement{mesh.Shard(1)})),
		ok(mesh.Place(m, most.Shape(), []mesh.Placement{mesh.Replicate()})),
	}
	to := ok(mesh.Place(m, c.Spec[0].Shape, []mesh.Placement{mesh.Partial(mesh.Min)}))
	least := math.Inf(1)
	for _, rank := range m.Ranks() {
		b := &op.Blocks{Call: c, T: &op.Tape{A: applier{c.Ctx}}, X: []*tensor.Tensor{blockOf(x, from[0], rank, 0), most}, From: from, To: []*mesh.Placed{to}, Rank: rank}
		out, err := d.Local(b)
		if err != nil {
			t.Fatal(fmt.Errorf("rank %d: %w", rank, err))
		}
		least = min(least, list(out[0])[0])
	}
	return least
}
