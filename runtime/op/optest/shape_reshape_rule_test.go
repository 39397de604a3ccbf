package optest

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tpsh/mesh"
	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
)

// factored draws a shape of n elements, with dims of size 1 among its dims.
func factored(t *rapid.T, n int, label string) shape.Shape {
	var s shape.Shape
	for n > 1 {
		var divisors []int
		for d := 2; d <= n; d++ {
			if n%d == 0 {
				divisors = append(divisors, d)
			}
		}
		d := rapid.SampledFrom(divisors).Draw(t, label)
		s, n = append(s, d), n/d
	}
	for range rapid.IntRange(0, 2).Draw(t, label+" ones") {
		s = slices.Insert(s, rapid.IntRange(0, len(s)).Draw(t, label+" at"), 1)
	}
	return s
}

// Whatever rows of reshape fit together on a mesh, the blocks of a tensor,
// reshaped, are the blocks of the reshaped tensor.
func TestReshapeRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SampledFrom([]int{1, 2, 6, 7, 12, 24, 36}).Draw(t, "elements")
		from, to := factored(t, n, "from"), factored(t, n, "to")
		sizes := rapid.SliceOfN(rapid.IntRange(1, 4), 1, 2).Draw(t, "mesh")
		d := op.Lookup("reshape")
		tr := &trial{d: d, args: []op.Arg{op.IntsN(to...)}}
		tr.in = append(tr.in, counting(dtype.Float32, from...))
		c := standIns(tr)
		if err := d.Infer(c); err != nil {
			t.Fatal(err)
		}
		rows := append(d.Shard(c), op.Row{In: make([]mesh.Placement, 1), Out: make([]mesh.Placement, 1)})
		s := &split{tr: tr, c: c, m: newMesh(sizes...), want: ok(applied("reshape", tr.in[0], tr.args[0]))}
		for range sizes {
			s.rows = append(s.rows, rapid.SampledFrom(rows).Draw(t, "row"))
		}
		if s.place(t) {
			s.run(t)
		}
	})
}

// Reshapes whose rows fit together, and such as do not.
func TestReshapeAligned(t *testing.T) {
	tests := []struct {
		from, to []int
		parts    int
		d, o     int // the dims that are cut
		want     bool
	}{
		{[]int{4, 3}, []int{12}, 2, 0, 0, true},
		{[]int{4, 3}, []int{12}, 3, 0, 0, false}, // blocks of 2 rows, but of 4 elements
		{[]int{12}, []int{4, 3}, 4, 0, 0, true},
		{[]int{12}, []int{4, 3}, 6, 0, 0, false}, // 6 blocks of 2 elements
		{[]int{2, 3, 4}, []int{2, 12}, 3, 1, 1, true},
		{[]int{2, 8}, []int{2, 2, 4}, 2, 1, 1, true}, // heads
		{[]int{5, 1, 2}, []int{5, 2}, 4, 0, 0, true}, // uneven, and alike
	}
	d := op.Lookup("reshape")
	for _, c := range tests {
		tr := &trial{d: d, args: []op.Arg{op.IntsN(c.to...)}}
		tr.in = append(tr.in, counting(dtype.Float32, c.from...))
		call := standIns(tr)
		if err := d.Infer(call); err != nil {
			t.Fatal(err)
		}
		in, out := []mesh.Placement{mesh.Shard(c.d)}, []mesh.Placement{mesh.Shard(c.o)}
		listed := slices.ContainsFunc(d.Shard(call), func(r op.Row) bool { return slices.Equal(r.In, in) && slices.Equal(r.Out, out) })
		m := newMesh(c.parts)
		from, to := ok(mesh.Place(m, c.from, in)), ok(mesh.Place(m, c.to, out))
		if got := d.Aligned(call, []*mesh.Placed{from}, []*mesh.Placed{to}); !listed || got != c.want {
			t.Errorf("%v to %v in %d parts, S(%d) -> S(%d): listed %v, aligned %v, want %v", c.from, c.to, c.parts, c.d, c.o, listed, got, c.want)
		}
	}
}
