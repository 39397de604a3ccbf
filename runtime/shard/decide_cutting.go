package shard

import (
	"slices"

	"tpsh/mesh"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
)

// A rule says Shard, and speaks of one dim of a mesh. It holds for any order in which the dims
// of a mesh cut, if all tensors have the same; and where an operator works on blocks as on the
// whole, for blocks of any sizes that all tensors share.

// A cutting is how the dims of a mesh cut where rows say Shard.
type cutting struct {
	order []int            // nil for that of the mesh
	units []mesh.Placement // by dim of the mesh: the RaggedShard that takes the place of Shards, if one does
}

// waysOf returns the ways in which the dims of the mesh may cut the inputs and results of an
// operator: those in which an input is cut, and that of Shards.
func waysOf(dec *decision) []cutting {
	var ways []cutting
	for _, l := range dec.from {
		if l == nil {
			continue
		}
		way := cutting{units: unitsOf(l)}
		order, ofMesh := l.Order()
		switch {
		case !ofMesh && way.units == nil:
			way.order = slices.Clone(order)
			for i := range l.Mesh().NDim() {
				if !slices.Contains(order, i) {
					way.order = append(way.order, i)
				}
			}
		case way.units == nil:
			continue
		}
		if !slices.ContainsFunc(ways, way.equal) {
			ways = append(ways, way)
		}
	}
	return append(ways, cutting{})
}

// unitsOf returns, by dim of the mesh, the RaggedShards of l; nil if it has none.
func unitsOf(l *mesh.Placed) (units []mesh.Placement) {
	for i, p := range l.Placements() {
		if _, _, ok := p.Units(); ok {
			if units == nil {
				units = make([]mesh.Placement, len(l.Placements()))
			}
			units[i] = p
		}
	}
	return units
}

func (w cutting) equal(o cutting) bool {
	return slices.Equal(w.order, o.order) && slices.Equal(w.units, o.units)
}

// suits reports whether a row for a dim of the mesh holds where w cuts. With units, that is
// where an operator has no way of its own with blocks, all tensors have as many elements along
// the dims that are cut, and no mean is left of blocks that count alike.
func (w cutting) suits(dec *decision, row op.Row, meshDim int) bool {
	if w.units == nil || w.units[meshDim].IsReplicate() {
		return true
	}
	size, cut := -1, false
	along := func(p mesh.Placement, s []int) bool {
		if by, ok := p.Partial(); ok && by == mesh.Mean {
			return false
		}
		d, ok := p.Shard()
		if !ok {
			return true
		}
		same := size < 0 || s[d] == size
		size, cut = s[d], true
		return same
	}
	for i, l := range dec.from {
		if l != nil && !along(row.In[i], l.Shape()) {
			return false
		}
	}
	for i, spec := range dec.call.Spec {
		if !along(row.Out[i], spec.Shape) {
			return false
		}
	}
	return !cut || dec.call.Def.Local == nil || dec.call.Def.InPlace
}

// placeBy is place of placements that apply as w cuts; nil without an error if its units do
// not fit the shape.
func (e *Engine) placeBy(w cutting, m *mesh.Mesh, s shape.Shape, placements []mesh.Placement) (*mesh.Placed, error) {
	if w.order != nil {
		placements = mesh.InOrder(m, placements, w.order)
	}
	if w.units == nil {
		return e.place(m, s, placements)
	}
	placements = slices.Clone(placements)
	for k, p := range placements {
		if d, ok := p.Shard(); ok && !w.units[k].IsReplicate() {
			placements[k] = w.units[k].Along(d)
		}
	}
	l, err := e.place(m, s, placements)
	if err != nil {
		return nil, nil
	}
	return l, nil
}
