package runtime

import (
	"fmt"
	"slices"
	"strings"

	"tpsh/comm"
	"tpsh/mesh"
	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/shard"
	"tpsh/runtime/tensor"
)

// A ParamGroup is parameters of one dtype that the members of a group store together,
// each a flat part of every one, and gather and forget together. The elements that it gathers
// lie in storage of its own, which is dropped in between: tensors that a record
// refers to find their elements there again.
//
// They may be gathered in another dtype than they are stored in, and their gradients reduced in a third.
//
// With n bytes of parameters and p members, a member stores n/p bytes; a gather
// takes 2n for the time of a copy, and n after that.
type ParamGroup struct {
	// Restore is called when the elements are wanted after Release. It calls
	// Again.
	Restore func() error
	// Ended is called when a backward pass has given the parts their gradients.
	Ended func()
	// Unsynced has a backward pass keep gradients, whole, for the next one that is not. The members
	// set it alike: gathers for a pass compare it, so that none waits for sums that others do not make.
	Unsynced bool
	// Kept leaves the elements where they are when a backward pass has ended.
	Kept bool

	r       *Rank
	g       *comm.Group
	number  int // among those of g, from 1 on: calls for one are none for another
	dtypes  GroupDTypes
	pack    *shard.FlatPack         // of elements that are gathered
	sums    *shard.FlatPack         // of gradients that are reduced
	held    []*tensor.Tensor        // of each parameter the gradient that is kept, or nil
	parts   func() []*tensor.Tensor // this member's part of each parameter
	layouts []*mesh.Placed          // of each: how it lies on other ranks; nil for a plain one

	uses   int              // under way
	store  *tensor.Tensor   // the gathered elements; nil before the first gather
	wholes []*tensor.Tensor // views of store
	of     stamp            // of the parts that were gathered
	work   *Work            // a gather under way, or nil
	workOf stamp
}

// A stamp tells whether parts have changed.
type stamp []partStamp

type partStamp struct {
	buffer  *tensor.Buffer
	version uint32
}

// GroupDTypes are the dtypes in which parameters are gathered, and in which their gradients are
// reduced.
type GroupDTypes struct{ Gather, Reduce dtype.DType }

// NewParamGroup returns the group of parameters of which each member of g stores the
// part that its layout among flats says, whose ranks are those in the group; parts
// returns those of this one. Where layouts has one, the parameter is a block of
// a tensor that lies so. All parts have one dtype.
func (r *Rank) NewParamGroup(g *comm.Group, flats []*mesh.Flat, layouts []*mesh.Placed, dtypes GroupDTypes, parts func() []*tensor.Tensor) *ParamGroup {
	r.units[g]++
	return &ParamGroup{r: r, g: g, number: r.units[g], dtypes: dtypes, pack: shard.NewFlatPack(dtypes.Gather, flats), sums: shard.NewFlatPack(dtypes.Reduce, flats),
		held: make([]*tensor.Tensor, len(flats)), parts: parts, layouts: layouts}
}

// stamp returns the stamp of the parts as they are.
func (p *ParamGroup) stamp() stamp {
	var s stamp
	for _, x := range p.parts() {
		s = append(s, partStamp{x.Buffer(), x.Buffer().Version()})
	}
	return s
}

// Gathered reports whether the elements are there, and are those of the parts.
func (p *ParamGroup) Gathered() bool {
	return p.store != nil && !p.store.Buffer().Dropped() && slices.Equal(p.of, p.stamp())
}

// Prefetch starts a gather, unless the elements are there or on their way.
func (p *ParamGroup) Prefetch() error {
	now := p.stamp()
	if p.Gathered() || p.work != nil && slices.Equal(p.workOf, now) {
		return nil
	}
	if p.work != nil { // of parts that have changed
		if _, err := p.work.Wait(); err != nil {
			return err
		}
		p.work = nil
	}
	x, err := p.joinedParts()
	if err == nil {
		x, err = p.as(p.dtypes.Gather, x)
	}
	if err != nil {
		return err
	}
	if p.work, err = p.r.Issue(p.g, Collective{Op: "all_gather", Setting: p.setting()}, x); err != nil {
		return err
	}
	p.workOf = now
	return nil
}

// unit says which group of parameters a call is for.
func (p *ParamGroup) unit() string { return fmt.Sprint("unit=", p.number) }

// setting returns what the members are told in a gather: for which parameters it is, and whether gradients are reduced, if there
// are to be any.
func (p *ParamGroup) setting() string {
	if p.Unsynced && (p.r.Tape.Enabled() || p.r.Shard.InBackward()) {
		return p.unit() + " requires_gradient_sync=False"
	}
	return p.unit()
}

// as returns x in dtype dt, outside the record.
func (p *ParamGroup) as(dt dtype.DType, x *tensor.Tensor) (*tensor.Tensor, error) {
	if x.DType() == dt {
		return x, nil
	}
	return p.r.Do("to", []*tensor.Tensor{x.Detach()}, op.Int1(int(dt)))
}

// joinedParts returns the parts one after another: [n].
func (p *ParamGroup) joinedParts() (*tensor.Tensor, error) {
	parts := p.parts()
	first, n := parts[0], 0
	adjacent := true
	for _, x := range parts {
		adjacent = adjacent && x.Buffer() == first.Buffer() && x.Contiguous() && (x.Numel() == 0 || x.Offset() == first.Offset()+n)
		n += x.Numel()
	}
	if adjacent {
		return first.View(shape.Shape{n}, []int{1}, first.Offset()), nil
	}
	list := make([]*tensor.Tensor, len(parts))
	for i, x := range parts {
		list[i] = x.Detach()
	}
	return p.r.Do("cat", list, op.Int1(0))
}

// Fetch gathers the elements, unless they are there.
func (p *ParamGroup) Fetch() error {
	if p.Gathered() {
		return nil
	}
	if err := p.Prefetch(); err != nil {
		return err
	}
	all, err := p.work.Wait()
	of := p.workOf
	p.work, p.workOf = nil, nil
	if err != nil {
		return err
	}
	for _, s := range of { // they no longer wait for the gather
		if err := s.buffer.Await(); err != nil {
			return err
		}
	}
	if all == nil {
		return &op.ArgError{Func: "fully_shard", Got: "a gather that has failed", Want: "the parameters"}
	}
	if err := p.room(all); err != nil {
		return err
	}
	p.pack.Join(p.store, all)
	p.r.noteCopy("fully_shard", all)
	all.Buffer().Drop(func() error { panic("runtime: a gathered buffer is read after it was copied") })
	if !slices.Equal(p.of, of) {
		p.store.Buffer().Changed()
		p.of = of
	}
	return nil
}

// room has the store take the elements of all.
func (p *ParamGroup) room(all *tensor.Tensor) error {
	if p.store != nil {
		if err := p.store.Buffer().Await(); err != nil {
			return err
		}
		if p.store.Buffer().Dropped() {
			p.r.gathered(p.store.Buffer())
		}
		err := p.store.Buffer().Refill()
		if err == nil {
			err = p.store.Buffer().Own() // a program may have sent it
		}
		if err != nil {
			return &op.ResourceError{Func: "fully_shard", Err: err}
		}
		return nil
	}
	store, err := tensor.New(p.r.ops.Alloc, all.DType(), shape.Shape{p.pack.Joined()})
	if err != nil {
		return &op.ResourceError{Func: "fully_shard", Err: err}
	}
	if !store.Hollow() {
		clear(store.Bytes())
	}
	p.store, p.wholes = store, p.pack.Views(store)
	p.r.gathered(store.Buffer())
	return nil
}

// Use gathers the elements and returns the parameters, whose gradients go to the
// parts: their means over the members, by one reduce_scatter, or none while Unsynced. End ends the use.
func (p *ParamGroup) Use() ([]*tensor.Tensor, error) {
	if err := p.Fetch(); err != nil {
		return nil, err
	}
	p.uses++
	all := make([]*tensor.Tensor, len(p.wholes))
	var in, out []*tensor.Tensor
	var at []int
	for i, x := range p.parts() {
		all[i] = p.wholes[i].Detach()
		if l := p.layouts[i]; l != nil {
			all[i] = tensor.NewPlaced(l, all[i])
		}
		if x.RequiresGrad() {
			in, out, at = append(in, x), append(out, all[i]), append(at, i)
		}
	}
	if len(in) > 0 && p.r.Tape.Enabled() {
		p.r.recordCall(p.r.Tape.Reserve(), "fully_shard", p.r.where(), in, out, func(_ *op.Tape, dy []*tensor.Tensor) ([]*tensor.Tensor, error) {
			return p.backward(at, dy)
		})
	}
	return all, nil
}

// Begin begins a use of parameters that Use returned earlier. End ends it.
func (p *ParamGroup) Begin() { p.uses++ }

// End ends a use.
func (p *ParamGroup) End() { p.uses-- }

// Release drops the elements that were gathered, unless a use is under way. An asynchronous call
// that reads them ends before.
func (p *ParamGroup) Release() {
	if p.uses > 0 || p.store == nil {
		return
	}
	if p.store.Buffer().Await() == nil { // else the program is being stopped
		if !p.store.Buffer().Dropped() {
			p.r.released(p.store.Buffer())
		}
		p.store.Buffer().Drop(p.Restore)
	}
}

// Again gathers the elements for a backward pass, which finds them as they were;
// outside of one it is an error.
func (p *ParamGroup) Again() error {
	switch {
	case p.store == nil || !p.store.Buffer().Dropped():
		return nil
	case !p.r.Shard.InBackward():
		return &op.ArgError{Func: "fully_shard", Got: "a read of a parameter that has been resharded", Want: "one in the module's forward function", Rule: "or between .unshard() and .reshard()"}
	case !slices.Equal(p.of, p.stamp()):
		return &op.ArgError{Func: "backward", Got: "a parameter of a fully sharded module that was changed after the forward pass", Want: "it as it was", Rule: "call backward before the step"}
	}
	return p.Fetch()
}

// backward returns the gradients of the parts, given those of the parameters
// numbered at.
func (p *ParamGroup) backward(at []int, dy []*tensor.Tensor) ([]*tensor.Tensor, error) {
	if p.r.Tape.Enabled() {
		return nil, &op.ArgError{Func: "backward", Param: "create_graph", Got: "True through a fully sharded module", Want: "False", Rule: "its gradients cannot be differentiated again"}
	}
	if !p.Kept {
		p.Release()
	}
	grads := make([]*tensor.Tensor, len(p.layouts))
	for k, g := range dy {
		if g == nil {
			continue
		}
		var err error
		if grads[at[k]], err = p.block(at[k], g); err != nil {
			return nil, err
		}
	}
	dx := make([]*tensor.Tensor, len(at))
	if err := p.withHeld(grads); err != nil {
		return nil, err
	}
	if !p.Unsynced {
		reduced, err := p.reduce(grads)
		if err != nil {
			return nil, err
		}
		p.hold(nil)
		for k, i := range at {
			dx[k] = reduced[i]
		}
	} else if err := p.keep(grads); err != nil {
		return nil, err
	}
	p.Ended()
	return dx, nil
}

// block returns this rank's block of g, the gradient of parameter i, contiguous and in the dtype of sums.
func (p *ParamGroup) block(i int, g *tensor.Tensor) (*tensor.Tensor, error) {
	if l := p.layouts[i]; l != nil {
		moved, err := p.r.Shard.Move(g.Detach(), p.r.Shard.GradLayout(l))
		if err != nil {
			return nil, err
		}
		g = moved.Local()
	}
	g, err := p.as(p.dtypes.Reduce, g)
	if err != nil {
		return nil, err
	}
	return p.r.contiguous(g)
}

// reduce returns this member's parts of the means of grads over the members: nil
// where no member has a gradient.
func (p *ParamGroup) reduce(grads []*tensor.Tensor) ([]*tensor.Tensor, error) {
	dt := p.dtypes.Reduce
	sent, err := tensor.New(p.r.ops.Alloc, dt, shape.Shape{p.sums.Packed()})
	if err != nil {
		return nil, &op.ResourceError{Func: "fully_shard", Err: err}
	}
	p.sums.Pack(sent, grads)
	p.r.noteCopy("fully_shard", sent)
	mine := p.stored()
	s := &gradientSum{alloc: p.r.ops.Alloc, like: sent, n: sum(mine), some: make([]byte, len(grads))}
	combine, fold := kernel.Reducer(dt, "mean", p.r.Shard.ExactSums)
	o := &comm.Op{Kind: comm.ReduceScatter, Align: dt.Size(), Reduce: comm.Reducer(combine), Fold: (*comm.Fold)(fold), Prepare: s.prepare, Meta: present(grads)}
	o.Desc = contract("reduce_scatter")
	o.Desc.DType, o.Desc.Shape, o.Desc.Reduce, o.Desc.Dims[0], o.Desc.Detail = dt.String(), sent.Shape(), "mean", 0, strings.TrimSpace(p.unit()+" "+p.r.pass())
	var sizes []int
	for k := range p.g.Size() {
		sizes = append(sizes, sum(p.pack.Stored(k)))
	}
	o.In = blocksAlong(sent, 0, sizes)
	if _, err = p.r.Communicate(p.g, o, sent, len(sent.Bytes())); err != nil {
		return nil, err
	}
	sent.Buffer().Drop(func() error { panic("runtime: gradients are read after they were sent") })
	parts, y := make([]*tensor.Tensor, len(grads)), s.y
	s.y = nil // o refers to it, and the transport to o for some calls more
	lo := 0
	for i, n := range mine {
		if s.some[i] != 0 {
			parts[i] = y.View(shape.Shape{n}, []int{1}, lo)
		}
		lo += n
	}
	return parts, nil
}

// stored returns how much this member stores of each parameter.
func (p *ParamGroup) stored() []int {
	p.r.partPlaces(p.g, func(place int) string { return fmt.Sprint(p.pack.Stored(place)) })
	return p.pack.Stored(p.g.Place())
}

// present returns for each of list a byte that is 0 if it is nil.
func present(list []*tensor.Tensor) []byte {
	bytes := make([]byte, len(list))
	for i, x := range list {
		if x != nil {
			bytes[i] = 1
		}
	}
	return bytes
}

// A gradientSum takes the result of a reduce_scatter of gradients.
type gradientSum struct {
	alloc *tensor.Allocator
	like  *tensor.Tensor
	n     int            // elements that this member gets
	y     *tensor.Tensor // these
	some  []byte         // for each parameter, not 0 if a member has a gradient
}

// prepare makes the result, and notes which gradients there are.
func (s *gradientSum) prepare(members []comm.Member, _ comm.Flags) ([]comm.Block, error) {
	for k, m := range members {
		if len(m.Meta) != len(s.some) {
			return nil, fmt.Errorf("fully_shard: member %d has %d parameters, this one %d", k, len(m.Meta), len(s.some))
		}
		for i, p := range m.Meta {
			s.some[i] |= p
		}
	}
	var err error
	if s.y, err = tensor.New(s.alloc, s.like.DType(), shape.Shape{s.n}); err != nil {
		return nil, &op.ResourceError{Func: "fully_shard", Err: err}
	}
	return []comm.Block{comm.Whole(s.y.Bytes())}, nil
}

// Parts returns this member's part of each parameter.
func (p *ParamGroup) Parts() []*tensor.Tensor { return p.parts() }

// Wanted reports whether a record refers to elements that have been released.
func (p *ParamGroup) Wanted() bool { return p.store != nil && p.store.Buffer().Dropped() }

// OnBackward returns x, on its storage, recorded as an operation that a backward pass
// begins by calling fn.
func (r *Rank) OnBackward(name string, x *tensor.Tensor, fn func() error) *tensor.Tensor {
	y := x.Detach()
	r.Tape.Custom(name, []*tensor.Tensor{x}, []*tensor.Tensor{y}, func(_ *op.Tape, dy []*tensor.Tensor) ([]*tensor.Tensor, error) {
		return dy, fn()
	})
	return y
}
