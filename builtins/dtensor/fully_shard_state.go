package dtensor

import (
	"tpsh/builtins"
	"tpsh/builtins/nn"
	"tpsh/mesh"
	"tpsh/runtime"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/shard"
	"tpsh/runtime/tensor"
)

var _ nn.Store = (*flatView)(nil)

// Stored implements Store: of what fully_shard has cut, it is this rank's part.
func (v *flatView) Stored(x *builtins.Tensor) (*tensor.Tensor, shape.Shape, error) {
	if v.partOf != nil {
		return v.local, v.partOf.fullShape(), nil
	}
	return nn.PlainStore{}.Stored(x)
}

// State implements Store: of what fully_shard has cut, it is a distributed tensor of
// full shape.
func (v *flatView) State(x *builtins.Tensor) (*tensor.Tensor, error) {
	if v.partOf != nil {
		return v.partOf.state(v.local)
	}
	return nn.PlainStore{}.State(x)
}

// StateWith implements Store. What is kept for a flat tensor is one, too.
func (v *flatView) StateWith(x *builtins.Tensor, fn string, t *tensor.Tensor) (*builtins.Tensor, error) {
	switch {
	case v.partOf != nil:
		y, err := v.partOf.state(t)
		return x.Env.Wrap(y), err
	case v.spec != nil && v.whole == nil && t.Shape().Equal(v.local.Shape()):
		return asFlat(x).label(fn, t, false)
	}
	return nn.PlainStore{}.StateWith(x, fn, t)
}

// state returns what has part on this rank, and lies as the parameter: cut along
// dim 0 on the mesh of fully_shard, or if the parameter is distributed, or has no
// dims, whole on each rank of that mesh.
func (p *shardPart) state(part *tensor.Tensor) (*tensor.Tensor, error) {
	e := p.unit.e
	defer e.Runtime.Tape.SetEnabled(false)()
	s := shape.Shape(p.flat.Shape())
	if p.layout == nil && len(s) > 0 {
		return p.rows(s, part.Detach())
	}
	whole, err := e.Runtime.GatherFlat(flatOf(p.x).group, p.flat, part.Detach())
	if err != nil {
		return nil, err
	}
	if p.layout == nil {
		return tensor.NewPlaced(e.Runtime.Shard.Replicated(p.mesh, s), whole), nil
	}
	y := tensor.NewPlaced(p.layout, whole)
	y.Lens = p.lens
	return y, nil
}

// rows returns what has part on this rank, of shape s, cut along dim 0 by the mesh's
// last dim: one exchange.
func (p *shardPart) rows(s shape.Shape, part *tensor.Tensor) (*tensor.Tensor, error) {
	e, g := p.unit.e, flatOf(p.x).group
	placements := make([]mesh.Placement, p.mesh.NDim())
	placements[len(placements)-1] = mesh.Shard(0)
	l, err := e.Runtime.Layouts().Place(p.mesh, s, placements)
	if err != nil {
		return nil, err
	}
	row, err := e.Runtime.MoveFlat(g, p.flat, shard.FlatRows(s, g.Size()), part)
	if err == nil {
		row, err = e.Runtime.Do("reshape", []*tensor.Tensor{row}, op.IntsN(e.Runtime.Shard.LocalShape(l)...))
	}
	if err != nil {
		return nil, err
	}
	return tensor.NewPlaced(l, row), nil
}

// Load implements Store. The whole of what fully_shard has cut is on every rank for
// a moment.
func (v *flatView) Load(fn string, x, into, y *builtins.Tensor) error {
	if v.partOf == nil {
		return nn.PlainStore{}.Load(fn, x, into, y)
	}
	to, err := nn.Leaf(into)
	if err != nil {
		return err
	}
	from, err := y.Tensor()
	if err != nil {
		return err
	}
	return v.partOf.load(fn, to, from)
}

// load stores this rank's part of t in part.
func (p *shardPart) load(fn string, part, t *tensor.Tensor) error {
	e := p.unit.e
	var err error
	if p.layout != nil && t.Placed() {
		t, err = e.Runtime.Shard.Move(t.Detach(), p.layout)
	} else {
		t, err = e.Whole(fn, t)
	}
	if err == nil && p.layout != nil && !t.Placed() {
		t, err = e.Runtime.Shard.Block(t, p.layout)
	}
	if err != nil {
		return err
	}
	values, err := e.Runtime.Shard.FlatPart(p.flat, flatOf(p.x).group.Place(), t.Local().Detach())
	if err != nil {
		return err
	}
	_, err = e.Runtime.Do("copy_", []*tensor.Tensor{part, values})
	return err
}

// GradGroups implements Store: those of x, a flat tensor that is sharded.
func (v *flatView) GradGroups(x *builtins.Tensor, t *tensor.Tensor) ([]*runtime.Group, error) {
	if v.spec == nil || !t.Auto.Grad.Shape().Equal(v.local.Shape()) || v.whole != nil && v.partOf == nil {
		return nil, nil
	}
	over := []*runtime.Group{v.group}
	if v.partOf == nil || v.partOf.layout == nil {
		return over, nil
	}
	l := v.partOf.layout
	for d, p := range l.Placements() {
		if _, cut := p.Shard(); cut {
			g, err := x.Env.Runtime.LineGroup(l.Mesh(), d)
			if err != nil {
				return nil, err
			}
			over = append(over, g)
		}
	}
	return over, nil
}
