package runtime

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"

	"tpsh/comm"
	"tpsh/comm/alike"
	"tpsh/internal/units"
	"tpsh/runtime/op"
	"tpsh/runtime/plan"
	"tpsh/runtime/tensor"
)

// A Peer is the member of a group that a rank sends to, or receives from: Place. Of a rank that runs
// for others each has its own, if Of says so.
type Peer = alike.Peer

// Send sends x to member dst of g. It does not wait for the receiver.
func (r *Rank) Send(g *comm.Group, x *tensor.Tensor, dst Peer, tag int) error {
	return r.postTo(g, x, dst, tag, nil)
}

// Recv returns the next tensor that member src of g sent with tag, once it is
// there.
func (r *Rank) Recv(g *comm.Group, src Peer, tag int) (*tensor.Tensor, error) {
	x, _, err := r.fetchFrom(g, src, tag)
	return x, err
}

// post is postTo of a member that all ranks have in common that the rank runs for.
func (r *Rank) post(g *comm.Group, x *tensor.Tensor, dst, tag int, note []byte) error {
	return r.postTo(g, x, Peer{Place: dst}, tag, note)
}

// postTo sends x, and note beside it.
func (r *Rank) postTo(g *comm.Group, x *tensor.Tensor, dst Peer, tag int, note []byte) error {
	if err := plainOnly("send", x); err != nil {
		return err
	}
	if err := r.enter("send"); err != nil {
		return err
	}
	y, err := r.snapshot(x)
	if err != nil {
		return err
	}
	data := y.Bytes()
	line := r.where()
	noted := r.noteBegin(plan.Send, g)
	noted.peer(dst, tag, staged(g))
	noted.posted("send", len(data))
	if rec := r.traced("send", g); rec != nil {
		rec.Bytes, rec.Wire, rec.Shape, rec.DType = len(data), len(data), x.Shape(), x.DType().String()
		rec.Predicted, rec.Peer, rec.Tag = rec.cost.Predict(len(data)), peerOf(g, dst.Place), tag
	}
	meta := append(appendShape(nil, x.DType(), x.Shape()), note...)
	m := comm.Message{Meta: meta, Data: data, Keep: y, Done: y.Buffer().Discard}
	if dst.Of != nil {
		return alike.Send(g, dst, tag, m, line)
	}
	return g.Send(dst.Place, tag, m, line)
}

// snapshot returns a contiguous tensor of the elements that x has now: on the
// storage of x, which is copied when somebody writes to it, or else on its own.
func (r *Rank) snapshot(x *tensor.Tensor) (*tensor.Tensor, error) {
	if y := x.Share(); y != nil {
		return y, nil
	}
	c, err := op.Apply(&r.ops, op.Lookup("clone"), []*tensor.Tensor{x.Detach()}, nil)
	if err != nil {
		return nil, err
	}
	return c.Out[0], nil
}

// fetch is fetchFrom of a member that all ranks have in common that the rank runs for.
func (r *Rank) fetch(g *comm.Group, src, tag int) (x *tensor.Tensor, note []byte, err error) {
	return r.fetchFrom(g, Peer{Place: src}, tag)
}

// fetchFrom receives a tensor and the note sent beside it.
func (r *Rank) fetchFrom(g *comm.Group, src Peer, tag int) (x *tensor.Tensor, note []byte, err error) {
	if err := r.enter("recv"); err != nil {
		return nil, nil, err
	}
	since := time.Now()
	over := r.waiting(received{src.Place, tag}, false)
	room := func(meta []byte, n int) ([]byte, error) {
		if x, err = r.vacant(meta, n); err != nil {
			return nil, err
		}
		return x.Bytes(), nil
	}
	var m comm.Message
	if src.Of != nil {
		m, err = alike.Recv(r.ctx, g, src, tag, r.whereFn, room)
	} else {
		m, err = g.RecvInto(r.ctx, src.Place, tag, r.whereFn, room)
	}
	over()
	if err != nil {
		return nil, nil, err
	}
	if y, ok := m.Keep.(*tensor.Tensor); ok { // memory is shared
		x = y
	}
	_, _, note, err = cutShape(m.Meta)
	note = bytes.Clone(note) // a part of m
	m.Release()
	if err != nil {
		return nil, nil, fmt.Errorf("recv: %w", err)
	}
	noted := r.noteBegin(plan.Recv, g)
	noted.peer(src, tag, staged(g))
	noted.posted("recv", 0)
	if rec := r.traced("recv", g); rec != nil {
		rec.Shape, rec.DType, rec.Seconds, rec.Predicted = x.Shape(), x.DType().String(), time.Since(since).Seconds(), rec.cost.Predict(0)
		rec.Begin, rec.Peer, rec.Tag = since, peerOf(g, src.Place), tag
	}
	return x, note, nil
}

// received is a receive as errors show it.
type received struct{ src, tag int }

func (r received) String() string { return fmt.Sprintf("recv(src=%d, tag=%d)", r.src, r.tag) }

// vacant returns a new tensor for the n bytes of a message of which the rest is
// meta.
func (r *Rank) vacant(meta []byte, n int) (*tensor.Tensor, error) {
	dt, s, _, err := cutShape(meta)
	if err == nil && s.Numel()*dt.Size() != n {
		err = errMeta
	}
	if err != nil {
		return nil, fmt.Errorf("recv: %w", err)
	}
	x, err := tensor.New(r.ops.Alloc, dt, s)
	if err != nil {
		return nil, &op.ResourceError{Func: "recv", Err: err}
	}
	return x, nil
}

// staged reports whether messages in g are those of a pipeline's schedule.
func staged(g *comm.Group) bool { return strings.HasSuffix(g.String(), strconv.Quote(scheduleRoute)) }

// Barrier returns when every member of g has called it.
func (r *Rank) Barrier(g *comm.Group) error {
	_, err := r.objects(g, comm.Barrier, contract("barrier"), offer{})
	return err
}

// AllGatherObject returns every member's obj. Of a rank that runs for others, of says which each has, as long as
// obj; nil: obj.
func (r *Rank) AllGatherObject(g *comm.Group, obj []byte, of func(rank int) []byte) ([][]byte, error) {
	o := offer{objs: [][]byte{obj}, of: eachOne(of), sizes: func(lens func(place int) []int) []int {
		sizes := make([]int, g.Size())
		for i := range sizes {
			sizes[i] = lens(i)[0]
		}
		return sizes
	}}
	return r.objects(g, comm.AllGather, contract("all_gather_object"), o)
}

// eachOne returns the one byte string that each rank offers, as an offer has it.
func eachOne(of func(rank int) []byte) func(rank int) [][]byte {
	if of == nil {
		return nil
	}
	return func(rank int) [][]byte {
		obj := of(rank)
		if obj == nil {
			return nil
		}
		return [][]byte{obj}
	}
}

// BroadcastObject returns the obj of member src; the others' is not looked at. Of a rank that runs for others
// obj is that of one that is src, and of says which each such has, as long as obj, and nil of any other; nil: obj.
func (r *Rank) BroadcastObject(g *comm.Group, obj []byte, of func(rank int) []byte, src int) ([]byte, error) {
	d := contract("broadcast_object")
	d.Root = src
	o := offer{objs: [][]byte{obj}, of: eachOne(of), sizes: func(lens func(place int) []int) []int { return lens(src) }}
	out, err := r.objects(g, comm.Broadcast, d, o)
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

// isPlace reports whether the rank's place in g is place.
func isPlace(r *Rank, g *comm.Group, place int) bool {
	return AskedPlace(r, g, func(p int) bool { return p == place })
}

// ScatterObject returns this member's of the objs that member src has, one
// for each member; the others' are not looked at. A list of another length is
// an error on every member, as err says.
func (r *Rank) ScatterObject(g *comm.Group, objs [][]byte, src int) ([]byte, error) {
	d := contract("scatter_object")
	d.Root = src
	out, err := r.objects(g, comm.Scatter, d, offer{objs: objs, sizes: func(lens func(place int) []int) []int {
		all := lens(src)
		if len(all) != g.Size() {
			return nil
		}
		return all[g.Rank() : g.Rank()+1]
	}})
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

// An offer is the byte strings, of free length, that a member puts in a collective.
type offer struct {
	objs [][]byte
	of   func(rank int) [][]byte // likewise of each rank that the rank runs for, nil where they do not count; nil: objs

	// sizes picks the lengths of the member's results from those that the member at each place
	// announced; it returns nil if they do not fit. It is nil if there are no results.
	sizes func(lens func(place int) []int) []int
}

// objects calls a collective on byte strings, and returns this member's results. The members
// compare d.
func (r *Rank) objects(g *comm.Group, kind comm.Kind, d comm.Desc, o offer) ([][]byte, error) {
	k := &objectCall{call: call{r: r, g: g, op: &comm.Op{Kind: kind, Align: 1}}, offer: o}
	if err := k.begin(d); err != nil {
		return nil, err
	}
	if o.sizes != nil {
		k.put()
	}
	k.sole = solely(kind)
	bytes := 0
	for _, b := range o.objs {
		bytes += len(b)
	}
	k.note(bytes, nil, "object")
	if _, err := k.run(); err != nil {
		return nil, err
	}
	return k.out, nil
}

// An objectCall is one call of a collective on byte strings.
type objectCall struct {
	call
	offer
	out [][]byte
}

// put puts the offer in.
func (k *objectCall) put() {
	k.op.Meta, k.op.Prepare, k.op.InOf = appendLens(nil, k.objs), k.prepare, k.of
	for _, b := range k.objs {
		k.op.In = append(k.op.In, comm.Whole(b))
	}
	for k.op.Kind == comm.Scatter && len(k.op.In) < k.g.Size() { // refused when the members agree
		k.op.In = append(k.op.In, comm.Whole(nil))
	}
}

// prepare makes room for the results.
func (k *objectCall) prepare(members []comm.Member, _ comm.Flags) ([]comm.Block, error) {
	lens := func(place int) []int { return cutLens(members[place].Meta) }
	want, d := k.sizes(lens), &k.op.Desc
	if k.sole {
		k.bytes = sum(lens(d.Root))
	}
	if want == nil {
		return nil, &op.ArgError{Func: d.Op, Param: "list", Got: units.Count(len(lens(d.Root)), "object") + " on the root", Want: fmt.Sprint(k.g.Size()), Rule: "one for each member"}
	}
	var blocks []comm.Block
	for _, n := range want {
		k.out = append(k.out, make([]byte, n))
		blocks = append(blocks, comm.Whole(k.out[len(k.out)-1]))
	}
	return blocks, nil
}
