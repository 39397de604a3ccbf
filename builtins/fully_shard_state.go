package builtins

import (
	"tpsh/mesh"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/shard"
	"tpsh/runtime/tensor"
)

// stored returns the tensor in which the parameter x is stored on this rank, and
// the shape of the parameter.
func (x *Tensor) stored() (*tensor.Tensor, shape.Shape, error) {
	if flatOf(x) != nil && flatOf(x).of != nil {
		return flatOf(x).local, flatOf(x).of.fullShape(), nil
	}
	t, err := x.get()
	if err != nil {
		return nil, nil, err
	}
	return t, t.Shape(), nil
}

// leaf returns the leaf that x is or, of a parameter that fully_shard has cut, its
// part on this rank.
func (x *Tensor) leaf() (*tensor.Tensor, error) {
	t, _, err := x.stored()
	return t, err
}

// state returns the parameter x as state_dict has it: detached, on its storage; of
// one that fully_shard has cut, a distributed tensor of full shape.
func (x *Tensor) state() (*tensor.Tensor, error) {
	if flatOf(x) != nil && flatOf(x).of != nil {
		return flatOf(x).of.state(flatOf(x).local)
	}
	t, err := x.get()
	if err != nil {
		return nil, err
	}
	return t.Detach(), nil
}

// stateWith returns t, which an optimiser keeps for x, as its state_dict has it: as
// state has x. Of a flat tensor it is one, too.
func (x *Tensor) stateWith(fn string, t *tensor.Tensor) (*Tensor, error) {
	switch v := flatOf(x); {
	case v != nil && v.of != nil:
		y, err := v.of.state(t)
		return x.env.wrap(y), err
	case v != nil && v.spec != nil && v.whole == nil && t.Shape().Equal(v.local.Shape()):
		return x.flatLabel(fn, t, false)
	}
	return x.env.wrap(t.Detach()), nil
}

// state returns what has part on this rank, and lies as the parameter: cut along
// dim 0 on the mesh of fully_shard, or if the parameter is distributed, or has no
// dims, whole on each rank of that mesh.
func (p *shardPart) state(part *tensor.Tensor) (*tensor.Tensor, error) {
	e := p.unit.e
	defer e.rank.Tape.SetEnabled(false)()
	s := shape.Shape(p.flat.Shape())
	if p.layout == nil && len(s) > 0 {
		return p.rows(s, part.Detach())
	}
	whole, err := e.rank.GatherFlat(flatOf(p.x).group, p.flat, part.Detach())
	if err != nil {
		return nil, err
	}
	if p.layout == nil {
		return tensor.NewPlaced(e.rank.Shard.Replicated(p.mesh, s), whole), nil
	}
	y := tensor.NewPlaced(p.layout, whole)
	y.Lens = p.lens
	return y, nil
}

// rows returns what has part on this rank, of shape s, cut along dim 0: one
// exchange.
func (p *shardPart) rows(s shape.Shape, part *tensor.Tensor) (*tensor.Tensor, error) {
	e, g := p.unit.e, flatOf(p.x).group
	l, err := e.rank.Layouts().Place(p.mesh, s, []mesh.Placement{mesh.Shard(0)})
	if err != nil {
		return nil, err
	}
	pieces, err := e.rank.Shard.FlatPieces(p.flat, shard.FlatRows(s, g.Size()), g.Rank(), part)
	if err != nil {
		return nil, err
	}
	got, err := e.rank.Exchange(g, pieces)
	if err != nil {
		return nil, err
	}
	row, err := e.rank.Do("cat", got, op.Int1(0))
	if err == nil {
		row, err = e.rank.Do("reshape", []*tensor.Tensor{row}, op.IntsN(l.LocalShape(e.rank.ID())...))
	}
	if err != nil {
		return nil, err
	}
	return tensor.NewPlaced(l, row), nil
}

// loadState stores y, a distributed or a whole tensor, in the parameter x, or if
// kept is not nil in that, which an optimiser keeps for x, for fn. The whole of what
// fully_shard has cut is on every rank for a moment.
func (e *Env) loadState(fn string, x, kept, y *Tensor) error {
	into := x
	if kept != nil {
		into = kept
	}
	if flatOf(x) == nil || flatOf(x).of == nil {
		return e.copyInto(into, y)
	}
	to, err := into.leaf()
	if err != nil {
		return err
	}
	from, err := y.get()
	if err != nil {
		return err
	}
	return flatOf(x).of.load(fn, to, from)
}

// load stores this rank's part of t in part.
func (p *shardPart) load(fn string, part, t *tensor.Tensor) error {
	e := p.unit.e
	var err error
	if p.layout != nil && t.Placed() {
		t, err = e.rank.Shard.Move(t.Detach(), p.layout)
	} else {
		t, err = e.whole(fn, t)
	}
	if err == nil && p.layout != nil && !t.Placed() {
		t, err = e.rank.Shard.Block(t, p.layout)
	}
	if err != nil {
		return err
	}
	values, err := e.rank.Shard.FlatPart(p.flat, flatOf(p.x).group.Rank(), t.Local().Detach())
	if err != nil {
		return err
	}
	_, err = e.rank.Apply(copyOp, []*tensor.Tensor{part, values}, nil)
	return err
}
