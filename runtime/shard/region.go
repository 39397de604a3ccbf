package shard

import (
	"tpsh/mesh"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// The operators of regions make the gradients of views that were changed in
// place. On placed tensors the region is one of the rank's blocks: the view and
// the elements that it shows are then placed, and must lie, as they did when the view was
// made. Their layouts come as two more arguments (op.Arg.Layout): of the view and
// of the base. Without them the region is one of the whole.

// regionOf returns the layouts of a view and of its base, if d, called with args,
// works on a region of each block.
func regionOf(d *op.Def, args []op.Arg) (view, base *mesh.Placed) {
	if n := len(args) - 2; d.Blockwise != nil && n >= 0 {
		return args[n].Layout, args[n+1].Layout
	}
	return nil, nil
}

// region runs d, an operator of regions, on the rank's blocks.
func (e *Engine) region(d *op.Def, in []*tensor.Tensor, args []op.Arg, b op.Blockwise) (*op.Call, error) {
	c := &op.Call{Def: d, Ctx: e.host.Ops(), Args: args}
	blocks := make([]*tensor.Tensor, len(in))
	for i, x := range in {
		if x.Placed() && x.Layout() != b.In[i] {
			var err error
			if x, err = e.move(x, b.In[i]); err != nil {
				return nil, err
			}
		}
		c.In = append(c.In, x)
		blocks[i] = x.Local()
	}
	block, err := e.regionOfBlock(d, blocks, args[:len(args)-2], b)
	if err != nil {
		return nil, err
	}
	c.Out = []*tensor.Tensor{tensor.NewPlaced(b.Out, block)}
	return c, nil
}

// regionOfBlock applies d to blocks. The first argument speaks of the whole.
func (e *Engine) regionOfBlock(d *op.Def, blocks []*tensor.Tensor, args []op.Arg, b op.Blockwise) (*tensor.Tensor, error) {
	if !e.member(b.Of.Mesh()) {
		return blocks[0], nil
	}
	args = append([]op.Arg{op.IntsN(e.LocalShape(b.Of)...)}, args[1:]...)
	c, err := op.Apply(e.host.Ops(), d, blocks, args)
	if err != nil {
		return nil, err
	}
	return c.Out[0], nil
}
