package runtime

import (
	"tpsh/comm"
	"tpsh/mesh"
	"tpsh/runtime/op"
	"tpsh/runtime/shard"
	"tpsh/runtime/tensor"
)

// Communicate calls o on g for a tensor that ranks hold together. x is the tensor that the
// rank puts in, and bytes how much of it counts, for traces.
func (r *Rank) Communicate(g *comm.Group, o *comm.Op, x *tensor.Tensor, bytes int) (comm.Result, error) {
	k := &call{r: r, g: g, op: o}
	if err := k.begin(o.Desc); err != nil {
		return comm.Result{}, err
	}
	k.note(bytes, x.Shape(), x.DType().String())
	return k.run()
}

// RedistributeAsync starts to move x, a tensor that ranks hold together, to l, for
// the script's function fn, and returns at once.
func (r *Rank) RedistributeAsync(fn string, x *tensor.Tensor, l *mesh.Placed) (*Work, error) {
	p, y, err := r.Shard.Begin(fn, x, l)
	if err != nil {
		return nil, err
	}
	if p == nil {
		return r.Completed(y), nil
	}
	k := &call{r: r, g: p.Group, op: p.Op, async: true}
	if err := k.begin(p.Op.Desc); err != nil {
		return nil, err
	}
	k.note(p.Bytes, p.Block.Shape(), p.Block.DType().String())
	w := k.issue(func() ([]*tensor.Tensor, error) {
		y, err := p.Finish()
		return []*tensor.Tensor{y}, err
	})
	w.hold(x.Local(), p.Block)
	return &Work{w, 0}, nil
}

// plainOnly returns an error if one of xs is a tensor that ranks hold together:
// calls here move tensors that a rank has of its own.
func plainOnly(fn string, xs ...*tensor.Tensor) error {
	for _, x := range xs {
		if x.Placed() {
			return &op.ArgError{Func: fn, Param: "x", Got: shard.Describe(x), Want: "a plain tensor", Rule: ".to_local() gives this rank's block; .redistribute() moves a distributed tensor"}
		}
	}
	return nil
}
