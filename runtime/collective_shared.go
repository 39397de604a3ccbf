package runtime

import (
	"tpsh/comm"
	"tpsh/runtime/tensor"
)

// A call whose result is alike on all members is a comm.Sharer: where members
// share memory they share the result, until one of them changes its own.

// Least returns from how many bytes on a result is shared.
func (k *tensorCall) Least() int { return k.r.ops.Alloc.Large }

// Make makes the memory of the result for all members.
func (k *tensorCall) Make(members []comm.Member, _ comm.Flags) ([]comm.Block, any, error) {
	k.members = members
	s, _ := k.form.out(k)
	dt := k.x.DType()
	shared, err := k.r.ops.Alloc.Share(s.Numel()*dt.Size(), len(members))
	if err != nil {
		return nil, nil, err
	}
	return k.form.place(k, tensor.NewOn(shared.Buffer(), dt, s)), shared, nil
}

// Take makes this member's result of the memory that a member has made for all.
func (k *tensorCall) Take(members []comm.Member, flags comm.Flags, result any) error {
	if err := k.agreed(members, flags); err != nil {
		return err
	}
	s, _ := k.form.out(k)
	k.y = tensor.NewOn(result.(*tensor.Shared).Buffer(), k.x.DType(), s)
	return nil
}
