package shard

import (
	"slices"

	"tpsh/mesh"
)

// A tensor without elements moves for nothing, and so without communication. But
// whether it has none may be the belief of one rank alone, which has made it
// of its block: the others then wait for a call that it would never make. So as
// long as the ranks have not compared their notes, such a tensor takes
// the steps that it would take with elements.

// stepsOfEmpty returns the steps from src to l of a tensor without elements:
// those of one with elements, or, if all ranks know that it has none, none that
// communicates.
func (e *Engine) stepsOfEmpty(src, l *mesh.Placed, itemSize int) ([]mesh.Step, error) {
	steps, err := e.stepsOfFull(src, l, itemSize)
	if err != nil {
		return nil, err
	}
	known := true
	for i := range steps {
		if !steps[i].Communicates() || len(steps[i].Group(e.host.ID())) == 1 {
			continue
		}
		p, err := e.stepPlan(&steps[i])
		if err != nil {
			return nil, err
		}
		known = known && !e.uncompared(p)
	}
	for i := range steps {
		if known && steps[i].Communicates() {
			steps[i].Op = mesh.Slice
		}
	}
	return steps, nil
}

// stepsOfFull returns the steps from src to l that a tensor with elements would
// take, between layouts of the one that has none.
func (e *Engine) stepsOfFull(src, l *mesh.Placed, itemSize int) ([]mesh.Step, error) {
	full, n := slices.Clone(src.Shape()), src.Mesh().Size()
	for _, p := range slices.Concat(src.Placements(), l.Placements()) {
		n *= p.Rows()
	}
	for i := range full {
		if full[i] == 0 {
			full[i] = n
		}
	}
	from, err := e.place(src.Mesh(), full, src.Placements())
	if err != nil {
		return nil, err
	}
	to, err := e.place(src.Mesh(), full, l.Placements())
	if err != nil {
		return nil, err
	}
	plan, err := e.host.Layouts().Plan(from, to, itemSize)
	if err != nil {
		return nil, OfMesh("redistribute", err)
	}
	steps := make([]mesh.Step, len(plan.Steps))
	for i, s := range plan.Steps {
		steps[i] = mesh.Step{Op: s.Op, Dims: s.Dims}
		if steps[i].Src, err = e.place(src.Mesh(), src.Shape(), s.Src.Placements()); err != nil {
			return nil, err
		}
		if steps[i].Dst, err = e.place(src.Mesh(), src.Shape(), s.Dst.Placements()); err != nil {
			return nil, err
		}
	}
	return steps, nil
}

// uncompared reports whether the rank has noted a shape of which the other ranks
// of p's group have not heard.
func (e *Engine) uncompared(p *stepPlan) bool {
	n := e.notes[p.mesh]
	return n != nil && n.state.shapes != n.compared[p.group].shapes
}

// statesShapes reports whether the rank has made a tensor on m of blocks, which
// it alone has seen.
func (e *Engine) statesShapes(m *mesh.Mesh) bool {
	n := e.notes[m]
	return n != nil && n.state.shapes != 0
}
