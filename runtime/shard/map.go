package shard

import (
	"encoding/binary"
	"fmt"
	"slices"

	"tpsh/comm"
	"tpsh/mesh"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// Functions of blocks. Inside one, gradients are those of the ranks' own
// computations: the loss is the sum over the ranks. So the gradient of a block
// that several ranks hold is a summand on each, and a result that every rank has alike
// carries its share of the gradient.

// SummandLayout returns how the gradient of a tensor with layout l lies where the
// ranks that hold a block alike each have a summand of it.
func (e *Engine) SummandLayout(l *mesh.Placed) *mesh.Placed {
	placements := slices.Clone(l.Placements())
	for i, p := range placements {
		if p.IsReplicate() {
			placements[i] = mesh.Partial(mesh.Sum)
		} else if _, ok := p.Partial(); ok {
			placements[i] = mesh.Replicate()
		}
	}
	return e.with(l, placements)
}

// FromAlike is Join of a block that a function of blocks has returned: where
// several ranks return it alike, each has a share of its gradient.
func (e *Engine) FromAlike(x *tensor.Tensor, l *mesh.Placed) (*tensor.Tensor, error) {
	n := 1
	for i, p := range l.Placements() {
		if p.IsReplicate() {
			n *= l.Mesh().Shape()[i]
		}
	}
	if n == 1 || !x.RequiresGrad() {
		return e.Join(x, l)
	}
	y := x.Detach()
	e.tape.Custom("local_map", []*tensor.Tensor{x}, []*tensor.Tensor{y}, func(t *op.Tape, dy []*tensor.Tensor) ([]*tensor.Tensor, error) {
		return []*tensor.Tensor{t.Scale(dy[0], 1/float64(n))}, nil
	})
	return e.Join(y, l)
}

// Fit returns in placed as a row of d's rule takes them, moved at the least cost,
// and how the results of d then lie.
func (e *Engine) Fit(d *op.Def, in []*tensor.Tensor) (moved []*tensor.Tensor, out []*mesh.Placed, err error) {
	m, err := e.meshOf(d, in)
	if err != nil {
		return nil, nil, err
	}
	if in, err = e.allPlaced(d, m, in); err != nil {
		return nil, nil, err
	}
	dec, err := e.decide(d, m, in, nil)
	if err != nil {
		return nil, nil, err
	}
	moved, err = e.bring(dec, in)
	return moved, dec.out, err
}

// Joined returns the shape of the tensor whose blocks have the shapes that the
// ranks of m give as s, cut as placements say. The ranks of m call it; it
// communicates a few bytes, which traces do not count. Blocks that are not cut by
// the rule of chunks are an error.
func (e *Engine) Joined(fn string, m *mesh.Mesh, s shape.Shape, placements []mesh.Placement) (shape.Shape, error) {
	g, err := e.host.MeshGroup(m)
	if err != nil {
		return nil, err
	}
	all := make([]shape.Shape, m.Size())
	var meta []byte
	for _, n := range s {
		meta = binary.AppendUvarint(meta, uint64(n))
	}
	o := &comm.Op{Kind: comm.Barrier, Meta: meta, Prepare: func(members []comm.Member, _ comm.Flags) ([]comm.Block, error) {
		for i, mem := range members {
			for b := mem.Meta; len(b) > 0; {
				n, k := binary.Uvarint(b)
				all[i], b = append(all[i], int(n)), b[k:]
			}
		}
		return nil, nil
	}}
	o.Desc = contract(fn, mesh.List(placements))
	if err := e.host.Quietly(func() error {
		_, err := e.host.Communicate(g, o, tensor.Number(0.0), 0)
		return err
	}); err != nil {
		return nil, err
	}
	return joinShapes(fn, m, all, placements)
}

// joinShapes returns the shape of the whole of blocks, by position in m.
func joinShapes(fn string, m *mesh.Mesh, all []shape.Shape, placements []mesh.Placement) (shape.Shape, error) {
	whole := slices.Clone(all[0])
	for d := range whole {
		whole[d] = 0
		seen := map[int]bool{}
		for pos, rank := range m.Ranks() {
			part := 0
			at := m.Coordinate(rank)
			cut := false
			for i, p := range placements {
				if by, ok := p.Shard(); ok && by == d {
					part, cut = part*m.Shape()[i]+at[i], true
				}
			}
			if len(all[pos]) != len(whole) {
				return nil, blocksDiffer(fn, m, all)
			}
			if cut && !seen[part] {
				whole[d] += all[pos][d]
			} else if !cut {
				whole[d] = all[0][d]
			}
			seen[part] = true
		}
	}
	l, err := mesh.Place(m, whole, placements)
	if err != nil {
		return nil, OfMesh(fn, err)
	}
	for pos, rank := range m.Ranks() {
		if !slices.Equal(l.LocalShape(rank), all[pos]) {
			return nil, blocksDiffer(fn, m, all)
		}
	}
	return whole, nil
}

func blocksDiffer(fn string, m *mesh.Mesh, all []shape.Shape) error {
	text := ""
	for pos, rank := range m.Ranks() {
		if pos > 0 {
			text += ", "
		}
		text += fmt.Sprintf("%v on rank %d", all[pos], rank)
	}
	return &op.ArgError{Func: fn, Got: "results of shapes " + text, Want: "blocks of one tensor", Rule: "a cut dim has chunks of ceil(n/parts), the last ones shorter or empty"}
}
