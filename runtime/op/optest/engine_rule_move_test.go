package optest

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"tpsh/mesh"
	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
)

// moves draws a call of an operator that moves elements of a tensor of shape s.
func moves(t *rapid.T, s shape.Shape) (name string, args []op.Arg) {
	d := rapid.IntRange(0, len(s)-1).Draw(t, "dim")
	around := func(label string) int { return rapid.IntRange(-s[d]-2, s[d]+2).Draw(t, label) }
	switch name = rapid.SampledFrom([]string{"slice", "select", "roll", "tril", "pad", "window_get", "window_put", "split", "at"}).Draw(t, "name"); name {
	case "slice":
		args = []op.Arg{op.Int1(d), op.Int1(around("start")), op.Int1(around("stop")), op.Int1(rapid.IntRange(1, 3).Draw(t, "step"))}
	case "select":
		args = []op.Arg{op.Int1(d), op.Int1(around("index"))}
	case "roll":
		args = []op.Arg{op.IntsN(around("shift")), op.IntsN(d)}
	case "tril":
		args = []op.Arg{op.Int1(around("diagonal"))}
	case "pad":
		pad := make([]int, 2*(len(s)-d))
		pad[len(pad)-2], pad[len(pad)-1] = around("before"), around("after")
		args = []op.Arg{op.IntsN(pad...), op.Str1("constant"), op.Float1(float64(rapid.IntRange(0, 1).Draw(t, "value")))}
	case "window_get", "window_put":
		lo, size := make([]int, len(s)), append([]int{}, s...)
		lo[d] = rapid.IntRange(0, s[d]).Draw(t, "lo")
		size[d] = rapid.IntRange(0, s[d]-lo[d]).Draw(t, "size")
		args = []op.Arg{op.IntsN(lo...), op.IntsN(size...)}
		if name == "window_put" {
			size[d] = s[d] + lo[d] + 1
			args = []op.Arg{op.IntsN(size...), op.IntsN(lo...)}
		}
	case "split":
		args = []op.Arg{op.Int1(rapid.IntRange(1, 3).Draw(t, "size")), op.Int1(d)}
	case "at":
		args = []op.Arg{op.Str1(fmt.Sprintf("%d:, ..., None, %d", rapid.IntRange(0, 2).Draw(t, "from"), around("last")))}
	}
	return name, args
}

// Whatever an operator moves, and however the tensor is cut, the blocks hold
// what they hold of the whole; and what the operator is composed of gives it.
func TestMovingRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := shape.Shape(rapid.SliceOfN(rapid.IntRange(0, 5), 2, 3).Draw(t, "shape"))
		name, args := moves(t, s)
		d := op.Lookup(name)
		tr := &trial{d: d, args: args}
		tr.in = append(tr.in, counting(dtype.Float32, s...))
		whole, err := tr.apply()
		if err != nil {
			return // an index outside
		}
		sizes := rapid.SliceOfN(rapid.IntRange(1, 4), 1, 2).Draw(t, "mesh")
		c := standIns(tr)
		if err := d.Infer(c); err != nil {
			t.Fatal(err)
		}
		rows := append(d.Shard(c), op.Row{In: make([]mesh.Placement, 1), Out: make([]mesh.Placement, len(c.Spec))})
		run := &split{tr: tr, c: c, m: newMesh(sizes...), want: whole.Out}
		for range sizes {
			run.rows = append(run.rows, rapid.SampledFrom(rows).Draw(t, "row"))
		}
		if run.place(t) {
			run.run(t)
		}
		if d.Compose == nil {
			return
		}
		for i, y := range composed(tr, applier{newCtx()}) {
			if !same(y, whole.Out[i]) {
				t.Errorf("%v, composed: result %d is %v, want %v", tr, i, list(y), list(whole.Out[i]))
			}
		}
	})
}
