package runtime

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"tpsh/comm"
	"tpsh/comm/alike"
	"tpsh/internal/units"
	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// Messages between stages travel in groups of their own, whose ranks are those
// of the pipeline, or the two ends where one is in no pipeline with the other.
// So they meet no message of a script's send, whatever its tag, and those of
// one route none of another.
const (
	activationRoute = "forward"
	gradientRoute   = "backward"
	metaRoute       = "meta"
	scheduleRoute   = "schedule"
)

// route returns the group of a route between the rank and peer, a rank of the
// job, and the place of peer in it.
func (r *Rank) route(name string, peer int) (*comm.Group, int, error) {
	ranks := r.parallel.ranks(PipelineMode, r.id)
	if slices.Contains(ranks, peer) {
		g, err := r.groupLike(ranks, name, func() *alike.Lines { return r.modeLines(PipelineMode) })
		return g, slices.Index(ranks, peer), err
	}
	ranks = []int{min(r.ID(), peer), max(r.ID(), peer)}
	g, err := r.end.Group(ranks, name)
	return g, slices.Index(ranks, peer), err
}

// A Transfer is one exchange of a stage with its neighbours. All that it sends
// it sends first, so that neighbours may exchange in any order.
type Transfer struct {
	Func       string // the function that is called, for errors
	Prev, Next int    // the neighbours, ranks of the job

	// ToNext and ToPrev are sent, one message a tensor.
	ToNext, ToPrev []*tensor.Tensor
	// FromPrev and FromNext are awaited, unless nil.
	FromPrev, FromNext *Expected

	// Scatter cuts each tensor whose size allows it in even parts for the
	// tensor ranks: each sends the part of its own, and the receivers gather
	// them.
	Scatter bool
}

// Expected says which tensors are to arrive.
type Expected struct {
	Param  string // the parameter that gives Shapes, for errors
	Shapes []shape.Shape
	DTypes []dtype.DType // one for each shape
}

// A parcel is a tensor of a transfer as it arrived.
type parcel struct {
	x     *tensor.Tensor
	whole shape.Shape // of the tensor of which x may be a part
	part  bool
}

// Transfer carries out t. Tensors that arrive require grad if they are floats;
// no gradient flows back by itself. A tensor of another shape or dtype than
// expected is an error, and counts as received.
func (r *Rank) Transfer(t *Transfer) (fromPrev, fromNext []*tensor.Tensor, err error) {
	if err := r.enter(t.Func); err != nil {
		return nil, nil, err
	}
	fromPrev, fromNext, err = r.transfer(t)
	return fromPrev, fromNext, blame(t.Func, err)
}

// blame makes an error of fn of the failure of a peer in a send or receive, and of
// a receive whose message never comes. Where several ranks wait for each other,
// all of them keep the one report.
func blame(fn string, err error) error {
	var p *comm.PeerError
	if errors.As(err, &p) {
		return &comm.PeerError{Func: fn, Rank: p.Rank, Cause: p.Cause}
	}
	var d *comm.DeadlockError
	if errors.As(err, &d) && len(d.Waits) == 1 {
		wait := d.Waits[0]
		wait.Function = fn
		return &comm.DeadlockError{Waits: []comm.Wait{wait}, Ended: d.Ended}
	}
	return err
}

func (r *Rank) transfer(t *Transfer) (fromPrev, fromNext []*tensor.Tensor, err error) {
	if err := r.sendAll(t, activationRoute, t.Next, t.ToNext); err != nil {
		return nil, nil, err
	}
	if err := r.sendAll(t, gradientRoute, t.Prev, t.ToPrev); err != nil {
		return nil, nil, err
	}
	prev, err := r.recvAll(t.FromPrev, activationRoute, t.Prev)
	if err != nil {
		return nil, nil, err
	}
	next, err := r.recvAll(t.FromNext, gradientRoute, t.Next)
	if err != nil {
		return nil, nil, err
	}
	if fromPrev, err = r.accept(t, t.FromPrev, t.Prev, prev); err != nil {
		return nil, nil, err
	}
	fromNext, err = r.accept(t, t.FromNext, t.Next, next)
	return fromPrev, fromNext, err
}

// divides reports whether a tensor of n elements goes in parts.
func (r *Rank) divides(t *Transfer, n int) bool {
	parts := r.parallel.tensor
	return t.Scatter && parts > 1 && n%parts == 0
}

// sendAll sends xs to peer.
func (r *Rank) sendAll(t *Transfer, route string, peer int, xs []*tensor.Tensor) error {
	for _, x := range xs {
		g, dst, err := r.route(route, peer)
		if err != nil {
			return err
		}
		send, part := x, byte(0)
		if r.divides(t, x.Numel()) {
			if send, err = r.part(x); err != nil {
				return err
			}
			part = 1
		}
		note := append(binary.AppendUvarint(nil, uint64(len(xs))), part)
		if err := r.post(g, send, dst, 0, appendShape(note, x.DType(), x.Shape())); err != nil {
			return err
		}
	}
	return nil
}

// part returns the part of x that this tensor rank sends, in one dim.
func (r *Rank) part(x *tensor.Tensor) (*tensor.Tensor, error) {
	c, err := r.contiguous(x.Detach())
	if err != nil {
		return nil, err
	}
	n := c.Numel() / r.parallel.tensor
	return c.View(shape.Shape{n}, []int{1}, c.Offset()+r.id%r.parallel.tensor*n), nil
}

// recvAll receives as many tensors as peer has sent in one transfer; none if
// want is nil or expects none.
func (r *Rank) recvAll(want *Expected, route string, peer int) ([]parcel, error) {
	if want == nil || len(want.Shapes) == 0 {
		return nil, nil
	}
	g, src, err := r.route(route, peer)
	if err != nil {
		return nil, err
	}
	var list []parcel
	for count := uint64(1); uint64(len(list)) < count; {
		x, note, err := r.fetch(g, src, 0)
		if err != nil {
			return nil, err
		}
		n, k := binary.Uvarint(note)
		if k <= 0 || k == len(note) {
			return nil, errMeta
		}
		_, whole, _, err := cutShape(note[k+1:])
		if err != nil {
			return nil, err
		}
		count = n
		list = append(list, parcel{x, whole, note[k] != 0})
	}
	return list, nil
}

// accept checks the parcels that have arrived from peer and returns their tensors, put together.
func (r *Rank) accept(t *Transfer, want *Expected, peer int, got []parcel) ([]*tensor.Tensor, error) {
	if want == nil {
		return nil, nil
	}
	if len(got) != len(want.Shapes) {
		return nil, &op.ArgError{Func: t.Func, Param: want.Param, Got: fmt.Sprintf("%s from rank %d", units.Count(len(got), "tensor"), peer), Want: units.Count(len(want.Shapes), "tensor")}
	}
	for i := range got {
		if err := r.check(t, want, peer, i, &got[i]); err != nil {
			return nil, err
		}
	}
	xs := make([]*tensor.Tensor, len(got))
	for i := range got {
		x, err := r.assemble(&got[i])
		if err != nil {
			return nil, err
		}
		if x.DType().Differentiable() {
			x.Auto = &tensor.Auto{Requires: true, Passing: true}
		}
		xs[i] = x
	}
	return xs, nil
}

// check checks tensor i that has arrived from peer.
func (r *Rank) check(t *Transfer, want *Expected, peer, i int, got *parcel) error {
	s, dt := want.Shapes[i], want.DTypes[i]
	at := ""
	if len(want.Shapes) > 1 {
		at = fmt.Sprintf(" at index %d", i)
	}
	bad := &op.ArgError{Func: t.Func, Param: want.Param,
		Got:  fmt.Sprintf("%v[%s]%s from rank %d", got.x.DType(), got.whole.Join(), at, peer),
		Want: fmt.Sprintf("%v[%s]", dt, s.Join())}
	switch {
	case !got.whole.Equal(s):
		return bad
	case got.x.DType() != dt:
		bad.Param = "dtype"
		return bad
	case got.part != r.divides(t, s.Numel()):
		forms := map[bool]string{false: "a whole tensor", true: "a part for each tensor rank"}
		return &op.ArgError{Func: t.Func, Param: "scatter_gather_tensors", Got: fmt.Sprintf("%s%s from rank %d", forms[got.part], at, peer),
			Want: forms[!got.part], Rule: "both ends give the same"}
	case got.part && got.x.Numel()*r.parallel.tensor != s.Numel():
		return &op.ArgError{Func: t.Func, Got: fmt.Sprintf("a part of %d elements from rank %d", got.x.Numel(), peer),
			Want: fmt.Sprint(s.Numel() / r.parallel.tensor), Rule: "both ends have as many tensor ranks"}
	}
	return nil
}

// assemble returns the tensor of which p is all, or the part of this rank.
func (r *Rank) assemble(p *parcel) (*tensor.Tensor, error) {
	if !p.part {
		return p.x, nil
	}
	g, err := r.ModeGroup(TensorMode)
	if err != nil {
		return nil, err
	}
	x, err := r.Run(g, Collective{Op: "all_gather"}, p.x)
	if err != nil {
		return nil, err
	}
	return x.View(p.whole, p.whole.Strides(), x.Offset()), nil
}

// SendMeta sends peer the shapes of xs, each as two tensors: the number of
// dims, and the sizes.
func (r *Rank) SendMeta(fn string, xs []*tensor.Tensor, peer int) error {
	if err := r.enter(fn); err != nil {
		return err
	}
	g, dst, err := r.route(metaRoute, peer)
	if err != nil {
		return err
	}
	send := func(s shape.Shape, elems []int64) error {
		x, err := op.FromInts(&r.ops, dtype.Int64, s, elems)
		if err != nil {
			return err
		}
		note := binary.AppendUvarint(nil, uint64(len(xs)))
		if x.Hollow() { // its elements are not in it
			for _, n := range elems {
				note = binary.AppendUvarint(note, uint64(n))
			}
		}
		return blame(fn, r.post(g, x, dst, 0, note))
	}
	for _, x := range xs {
		sizes := make([]int64, x.Ndim())
		for i, n := range x.Shape() {
			sizes[i] = int64(n)
		}
		if err := send(nil, []int64{int64(len(sizes))}); err != nil {
			return err
		}
		if err := send(shape.Shape{len(sizes)}, sizes); err != nil {
			return err
		}
	}
	return nil
}

// RecvMeta returns the shapes that peer has sent with one SendMeta.
func (r *Rank) RecvMeta(fn string, peer int) ([]shape.Shape, error) {
	if err := r.enter(fn); err != nil {
		return nil, err
	}
	g, src, err := r.route(metaRoute, peer)
	if err != nil {
		return nil, err
	}
	var list []shape.Shape
	for count := uint64(1); uint64(len(list)) < count; {
		if _, _, err := r.fetch(g, src, 0); err != nil { // the number of dims: the sizes tell it, too
			return nil, blame(fn, err)
		}
		x, note, err := r.fetch(g, src, 0)
		if err != nil {
			return nil, blame(fn, err)
		}
		n, k := binary.Uvarint(note)
		if k <= 0 || x.DType() != dtype.Int64 || x.Ndim() != 1 {
			return nil, errMeta
		}
		count = n
		sizes := make(shape.Shape, x.Numel())
		if x.Hollow() {
			for i, note := 0, note[k:]; i < len(sizes); i++ {
				n, k := binary.Uvarint(note)
				sizes[i], note = int(n), note[k:]
			}
		} else {
			for i, size := range tensor.Data[int64](x) {
				sizes[i] = int(size)
			}
		}
		list = append(list, sizes)
	}
	return list, nil
}
