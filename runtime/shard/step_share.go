package shard

import (
	"tpsh/comm"
	"tpsh/runtime/tensor"
)

// A stepRun after which all members of the group hold the same block is a
// comm.Sharer: where they share memory they share the block, until one of them
// changes its own.

// endsAlike reports whether all members hold the same block at the end of p, and
// receive it in place.
func (p *stepPlan) endsAlike() bool {
	switch p.kind {
	case comm.AllReduce:
		return true
	case comm.AllGather:
		n := 0
		for i := range p.recv {
			if !p.recv[i].strided {
				return false
			}
			n += p.recv[i].elems
		}
		return n == p.want.Numel()
	}
	return false
}

// Least returns from how many bytes on a block is shared.
func (r *stepRun) Least() int { return r.e.host.Ops().Alloc.Large }

// Make makes the memory of the block for all members.
func (r *stepRun) Make(members []comm.Member, _ comm.Flags) ([]comm.Block, any, error) {
	dt := r.block.DType()
	shared, err := r.e.host.Ops().Alloc.Share(r.plan.want.Numel()*dt.Size(), len(members))
	if err != nil {
		return nil, nil, err
	}
	y := tensor.NewOn(shared.Buffer(), dt, r.plan.want)
	if r.plan.recv == nil {
		return []comm.Block{comm.Whole(y.Bytes())}, shared, nil
	}
	blocks := make([]comm.Block, len(r.plan.recv))
	for i := range r.plan.recv {
		blocks[i], _ = r.plan.recv[i].block(y)
	}
	return blocks, shared, nil
}

// Take makes this member's block of the memory that a member has made for all.
func (r *stepRun) Take(members []comm.Member, _ comm.Flags, result any) error {
	if err := r.e.compareNotes(r.plan, members); err != nil {
		return err
	}
	r.y = tensor.NewOn(result.(*tensor.Shared).Buffer(), r.block.DType(), r.plan.want)
	return nil
}
