package optest

import (
	"slices"
	"testing"

	"tpsh/mesh"
	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// Where PlainRow says how the results of an operator are held, the operator itself, applied by
// each rank to its own blocks with the same arguments, gives blocks or summands of what it gives on the whole.
func TestPlainRows(t *testing.T) {
	meshes := []*mesh.Mesh{newMesh(2), newMesh(3)}
	known := 0
	eachExample(t, func(t *testing.T, d *op.Def, ex example, dt dtype.DType) int {
		if d.Shard == nil || d.InPlace {
			return 0
		}
		cases := 0
		for _, m := range meshes {
			cases += plainCases(t, d, ex, dt, m)
		}
		known += cases
		return max(cases, 1)
	})
	if known < 1000 {
		t.Errorf("%d rows are known to hold, want 1000", known)
	}
}

// plainCases is rowCases of the rows that PlainRow knows.
func plainCases(t *testing.T, d *op.Def, ex example, dt dtype.DType, m *mesh.Mesh) int {
	tr := newTrial(d, ex, dt)
	whole, draws, err := drawing(newTrial(d, ex, dt))
	if err != nil {
		return 0
	}
	c := standIns(tr)
	if d.Infer(c) != nil {
		return 0
	}
	cases := 0
	for _, row := range d.Shard(c) {
		s := &split{tr: tr, c: c, m: m, draws: draws, want: whole.Out, rows: []op.Row{row}}
		if !s.takesPart() || !s.place(t) || !s.even() {
			continue
		}
		x := make([]*tensor.Tensor, len(tr.in))
		for i, in := range tr.in {
			if in != nil {
				x[i] = blockOf(in, s.from[i], 0, i)
			}
		}
		s.rows[0].Out = op.PlainRow(newCtx(), d, x, tr.args, row.In, m.Size())
		if s.rows[0].Out == nil || !s.place(t) {
			continue
		}
		plain := *d
		plain.Local = nil
		s.tr = &trial{}
		*s.tr = *tr
		s.tr.d = &plain
		s.run(t)
		cases++
	}
	return cases
}

// even reports whether all blocks of the inputs are of one size, and none is empty.
func (s *split) even() bool {
	for _, l := range s.from {
		if l == nil {
			continue
		}
		for _, r := range s.m.Ranks() {
			if b := l.LocalShape(r); !slices.Equal(b, l.LocalShape(0)) || slices.Contains(b, 0) {
				return false
			}
		}
	}
	return true
}
