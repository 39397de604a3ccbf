package runtime

import (
	"tpsh/comm"
	"tpsh/mesh"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// Of a flat tensor each member of a group stores some ranges of the elements
// (mesh.Flat); the ranks of its layout are those of the group: 0, 1, ...

// GatherFlat returns, on every member of g, the whole of the flat tensor of which
// this one stores x, [n]: one all_gather, whose gradient is a reduce_scatter.
func (r *Rank) GatherFlat(g *comm.Group, f *mesh.Flat, x *tensor.Tensor) (*tensor.Tensor, error) {
	all, err := r.Run(g, Collective{Op: "all_gather"}, x)
	if err != nil {
		return nil, err
	}
	return r.Shard.FlatWhole(f, all)
}

// MoveFlat returns the part that this member of g stores as to says, of a flat tensor of
// which it stores x as from says: one all_to_all, without a gradient. Each member has one
// range in either.
func (r *Rank) MoveFlat(g *comm.Group, from, to *mesh.Flat, x *tensor.Tensor) (*tensor.Tensor, error) {
	r.PartFlat(g, from)
	r.PartFlat(g, to)
	return r.Shard.MoveFlat(g, from, to, x.Detach())
}

// CollectFlat is GatherFlat on the first member of g alone: one gather, whose
// gradient is a scatter. The others get a tensor without elements, [0].
func (r *Rank) CollectFlat(g *comm.Group, f *mesh.Flat, x *tensor.Tensor) (*tensor.Tensor, error) {
	all, err := r.Run(g, Collective{Op: "gather"}, x.Detach())
	if err != nil {
		return nil, err
	}
	if all == nil {
		if all, err = tensor.New(r.ops.Alloc, x.DType(), shape.Shape{0}); err != nil {
			return nil, &op.ResourceError{Func: "gather", Err: err}
		}
	}
	if x.RequiresGrad() && r.Tape.Enabled() {
		r.recordCall(r.Tape.Reserve(), "gather", r.where(), []*tensor.Tensor{x}, []*tensor.Tensor{all}, func(t *op.Tape, dy []*tensor.Tensor) ([]*tensor.Tensor, error) {
			dx, err := r.scatterFlat(t, g, f, x, dy[0])
			return []*tensor.Tensor{dx}, err
		})
	}
	if !isPlace(r, g, 0) {
		return all, nil
	}
	return r.Shard.FlatWhole(f, all)
}

// scatterFlat gives each member of g its part of dy, the gradient of the parts that the
// members store, one after another, which the first has; nil stands for zeros. x
// is the part of this member.
func (r *Rank) scatterFlat(t *op.Tape, g *comm.Group, f *mesh.Flat, x, dy *tensor.Tensor) (*tensor.Tensor, error) {
	sizes, n := make([]int, g.Size()), 0
	for i := range sizes {
		sizes[i] = f.Numel(i)
		n += sizes[i]
	}
	all := tensor.ShapeOnly(x.DType(), shape.Shape{n})
	if isPlace(r, g, 0) {
		if all = dy; all == nil {
			all = t.Do("zeros", nil, op.IntsN(n), op.Int1(int(x.DType())))
		}
	}
	return r.Run(g, Collective{Op: "scatter", sizes: sizes}, all)
}
