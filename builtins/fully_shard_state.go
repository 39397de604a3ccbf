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
	if x.flat != nil && x.flat.of != nil {
		return x.flat.local, x.flat.of.fullShape(), nil
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
	if x.flat != nil && x.flat.of != nil {
		defer x.env.rank.Tape.SetEnabled(false)()
		return x.flat.of.state()
	}
	t, err := x.get()
	if err != nil {
		return nil, err
	}
	return t.Detach(), nil
}

// state returns the parameter: cut along dim 0 on the mesh of fully_shard, or if
// it is distributed, or has no dims, whole on each rank of that mesh.
func (p *shardPart) state() (*tensor.Tensor, error) {
	e, v := p.unit.e, p.x.flat
	s := shape.Shape(p.flat.Shape())
	if p.layout == nil && len(s) > 0 {
		return p.rows(s)
	}
	whole, err := e.rank.GatherFlat(v.group, p.flat, v.local.Detach())
	if err != nil {
		return nil, err
	}
	y := tensor.NewPlaced(e.rank.Shard.Replicated(p.mesh, s), whole)
	if p.layout != nil {
		y = tensor.NewPlaced(p.layout, whole)
		y.Lens = p.lens
	}
	return y, nil
}

// rows returns the parameter, of shape s, cut along dim 0: one exchange.
func (p *shardPart) rows(s shape.Shape) (*tensor.Tensor, error) {
	e, v := p.unit.e, p.x.flat
	l, err := e.rank.Layouts().Place(p.mesh, s, []mesh.Placement{mesh.Shard(0)})
	if err != nil {
		return nil, err
	}
	pieces, err := e.rank.Shard.FlatPieces(p.flat, shard.FlatRows(s, v.group.Size()), v.group.Rank(), v.local.Detach())
	if err != nil {
		return nil, err
	}
	got, err := e.rank.Exchange(v.group, pieces)
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

// loadParameter stores y in the parameter x, for fn. The whole of one that
// fully_shard has cut is on every rank for a moment.
func (e *Env) loadParameter(fn string, x, y *Tensor) error {
	if x.flat == nil || x.flat.of == nil {
		return e.copyInto(x, y)
	}
	t, err := y.get()
	if err != nil {
		return err
	}
	p := x.flat.of
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
	part, err := e.rank.Shard.FlatPart(p.flat, x.flat.group.Rank(), t.Local().Detach())
	if err != nil {
		return err
	}
	_, err = e.rank.Apply(copyOp, []*tensor.Tensor{x.flat.local, part}, nil)
	return err
}
