package shard

import (
	"tpsh/comm"
	"tpsh/runtime/tensor"
)

// A stepRun after which all members of the group hold the same block is a
// comm.Sharer: where they share memory they share the block, until one of them
// changes its own.

// endsAlike reports whether all members hold the same block at the end of r, and
// receive it in place.
func (r *stepPlan) endsAlike() bool {
	switch r.kind {
	case comm.AllReduce:
		return true
	case comm.AllGather:
		n := 0
		for i := range r.recv {
			if !r.recv[i].strided {
				return false
			}
			n += r.recv[i].elems
		}
		return n == r.want.Numel()
	}
	return false
}

// Least returns from how many bytes on a block is shared.
func (t *stepRun) Least() int { return t.e.host.Ops().Alloc.Large }

// Make makes the memory of the block for all members.
func (t *stepRun) Make(members []comm.Member, _ comm.Flags) ([]comm.Block, any, error) {
	dt := t.block.DType()
	shared, err := t.e.host.Ops().Alloc.Share(t.r.want.Numel()*dt.Size(), len(members))
	if err != nil {
		return nil, nil, err
	}
	y := tensor.NewOn(shared.Buffer(), dt, t.r.want)
	if t.r.recv == nil {
		return []comm.Block{comm.Whole(y.Bytes())}, shared, nil
	}
	blocks := make([]comm.Block, len(t.r.recv))
	for i := range t.r.recv {
		blocks[i], _ = t.r.recv[i].block(y)
	}
	return blocks, shared, nil
}

// Take makes this member's block of the memory that a member has made for all.
func (t *stepRun) Take(members []comm.Member, _ comm.Flags, result any) error {
	if err := t.e.compareNotes(t.r, members); err != nil {
		return err
	}
	t.y = tensor.NewOn(result.(*tensor.Shared).Buffer(), t.block.DType(), t.r.want)
	return nil
}
