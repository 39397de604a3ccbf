package shard

import (
	"tpsh/mesh"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// The operators of regions make the gradients of views that were changed in
// place. On placed tensors the region is one of the rank's blocks: the view and
// what it shows are then placed, and must lie, as they did when the view was
// made. Their layouts come as two more arguments (op.Arg.Layout): of the view and
// of the base. Without them the region is one of the whole.

// isRegion reports whether d, called with args, works on a region of each block.
func isRegion(d *op.Def, args []op.Arg) bool {
	switch d.Name {
	case "region_get", "region_set", "region_spread":
		return len(args) == 5
	}
	return false
}

// region runs d, an operator of regions.
func (e *Engine) region(d *op.Def, in []*tensor.Tensor, args []op.Arg) (*op.Call, error) {
	view, base := args[3].Layout, args[4].Layout
	need, out := []*mesh.Placed{base, view}, base
	switch d.Name {
	case "region_get":
		out = view
	case "region_spread":
		need = need[1:]
	}
	c := &op.Call{Def: d, Ctx: e.host.Ops(), Args: args}
	blocks := make([]*tensor.Tensor, len(in))
	for i, x := range in {
		if x.Placed() && x.Layout() != need[i] {
			var err error
			if x, err = e.move(x, need[i]); err != nil {
				return nil, err
			}
		}
		c.In = append(c.In, x)
		blocks[i] = x.Local()
	}
	block, err := e.regionOfBlock(d, blocks, args[:3], view, base)
	if err != nil {
		return nil, err
	}
	c.Out = []*tensor.Tensor{tensor.NewPlaced(out, block)}
	return c, nil
}

// regionOfBlock applies d to blocks. The first argument speaks of the whole.
func (e *Engine) regionOfBlock(d *op.Def, blocks []*tensor.Tensor, args []op.Arg, view, base *mesh.Placed) (*tensor.Tensor, error) {
	if !e.member(base.Mesh()) {
		return blocks[0], nil
	}
	local := view
	if d.Name == "region_spread" {
		local = base
	}
	args = []op.Arg{op.IntsN(local.LocalShape(e.host.ID())...), args[1], args[2]}
	c, err := op.Apply(e.host.Ops(), d, blocks, args)
	if err != nil {
		return nil, err
	}
	return c.Out[0], nil
}
