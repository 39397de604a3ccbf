package runtime

import (
	"encoding/binary"
	"errors"
	"fmt"
	goruntime "runtime"
	"time"

	"tpsh/comm"
	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// Exchange is all_to_all of a list: it sends xs[i] to member i of g and
// returns what the members sent to this one, in their order. Shapes are free;
// the dtype is one. The gradient goes back the same way.
func (r *Rank) Exchange(g *comm.Group, xs []*tensor.Tensor) ([]*tensor.Tensor, error) {
	k, o, err := r.newExchange(g, xs, false)
	if err != nil {
		return nil, err
	}
	res, err := g.Run(r.ctx, o)
	return k.finish(res, err)
}

// An exchange is one all_to_all of a list.
type exchange struct {
	r      *Rank
	g      *comm.Group
	xs     []*tensor.Tensor
	in     []*tensor.Tensor // xs, contiguous
	out    []*tensor.Tensor
	record bool
	seq    uint64
	line   string // of the call, if recorded or asynchronous
	rec    *Record
	since  time.Time
}

// finish ends the call: it completes the trace, cuts the output and records
// the gradient.
func (k *exchange) finish(res comm.Result, err error) ([]*tensor.Tensor, error) {
	goruntime.KeepAlive(k.in)
	if k.rec != nil {
		k.rec.finish(res, k.since)
	}
	if err != nil {
		return nil, err
	}
	k.r.cut(k.g, res.Flags)
	if res.Flags&comm.RequiresGrad != 0 && k.record {
		if k.line == "" {
			k.line = k.r.where()
		}
		k.r.Tape.CustomAt(k.seq, "all_to_all", k.xs, k.out, true, k.backward)
	}
	return k.out, nil
}

// backward sends the gradients back to where the tensors came from. It names
// the line of the forward call.
func (k *exchange) backward(t *op.Tape, dy []*tensor.Tensor) ([]*tensor.Tensor, error) {
	outer := k.r.replayed
	k.r.replayed = k.line
	defer func() { k.r.replayed = outer }()
	for i := range dy {
		if dy[i] == nil {
			dy[i] = t.Do("zeros_like", []*tensor.Tensor{k.out[i].Detach()}, op.None)
		}
	}
	return k.r.Exchange(k.g, dy)
}

// newExchange checks the call and makes the operation for package comm.
func (r *Rank) newExchange(g *comm.Group, xs []*tensor.Tensor, async bool) (*exchange, *comm.Op, error) {
	if err := plainOnly("all_to_all", xs...); err != nil {
		return nil, nil, err
	}
	if err := r.enter("all_to_all"); err != nil {
		return nil, nil, err
	}
	if len(xs) != g.Size() {
		return nil, nil, &op.ArgError{Func: "all_to_all", Param: "x", Got: "a list of " + count(len(xs), "tensor"), Want: fmt.Sprint(g.Size()), Rule: "one for each member"}
	}
	dt := xs[0].DType()
	k := &exchange{r: r, g: g, xs: xs, record: r.Tape.Enabled(), seq: r.Tape.Reserve()}
	o := &comm.Op{Kind: comm.AllToAll, Align: dt.Size(), Prepare: k.prepare, Where: r.whereFn}
	o.Desc = comm.Desc{Op: "all_to_all", DType: dt.String(), Free: -1, Root: -1, Dims: [2]int{-1, -1}, Detail: r.pass(), Flags: r.flags(g, async)}
	bytes := 0
	for i, x := range xs {
		if x.DType() != dt {
			return nil, nil, &op.ArgError{Func: "all_to_all", Param: "x", Got: fmt.Sprintf("%s at index %d", op.Describe(x), i), Want: dt.String(), Rule: "as at index 0"}
		}
		if k.record && x.RequiresGrad() {
			o.Desc.Flags |= comm.RequiresGrad
		}
		c, err := r.contiguous(x)
		if err != nil {
			return nil, nil, err
		}
		k.in = append(k.in, c)
		o.In = append(o.In, comm.Whole(c.Bytes()))
		o.Meta = appendShape(o.Meta, dt, x.Shape())
		bytes += len(c.Bytes())
	}
	if len(r.traces) > 0 {
		k.rec = &Record{Op: "all_to_all", Group: g.String(), Bytes: bytes, DType: dt.String()}
		k.since = time.Now()
		r.note(k.rec)
	}
	return k, o, nil
}

// prepare makes the results, whose shapes are in the members' Meta.
func (k *exchange) prepare(members []comm.Member, _ comm.Flags) ([]comm.Block, error) {
	blocks := make([]comm.Block, len(members))
	for i, m := range members {
		meta := m.Meta
		var dt dtype.DType
		var s shape.Shape
		for range k.g.Rank() + 1 {
			var err error
			if dt, s, meta, err = cutShape(meta); err != nil {
				return nil, fmt.Errorf("all_to_all: from member %d: %w", i, err)
			}
		}
		y, err := tensor.New(k.r.ops.Alloc, dt, s)
		if err != nil {
			return nil, &op.ResourceError{Func: "all_to_all", Err: err}
		}
		k.out = append(k.out, y)
		blocks[i] = comm.Whole(y.Bytes())
	}
	return blocks, nil
}

// appendShape appends the dtype and shape of a tensor to meta.
func appendShape(meta []byte, dt dtype.DType, s shape.Shape) []byte {
	meta = append(meta, byte(dt), byte(len(s)))
	for _, n := range s {
		meta = binary.AppendUvarint(meta, uint64(n))
	}
	return meta
}

var errMeta = errors.New("malformed shape of a tensor")

// cutShape takes what appendShape appended off the front of meta.
func cutShape(meta []byte) (dt dtype.DType, s shape.Shape, rest []byte, err error) {
	if len(meta) < 2 || meta[0] >= dtype.Count {
		return 0, nil, nil, errMeta
	}
	dt = dtype.DType(meta[0])
	n := int(meta[1])
	meta = meta[2:]
	s = make(shape.Shape, n)
	for i := range s {
		v, k := binary.Uvarint(meta)
		if k <= 0 || v > 1<<56 {
			return 0, nil, nil, errMeta
		}
		s[i] = int(v)
		meta = meta[k:]
	}
	if s.Check(dt.Size()) != nil {
		return 0, nil, nil, errMeta
	}
	return dt, s, meta, nil
}

// appendLens appends the lengths of objs to meta.
func appendLens(meta []byte, objs [][]byte) []byte {
	for _, o := range objs {
		meta = binary.AppendUvarint(meta, uint64(len(o)))
	}
	return meta
}

// cutLens returns what appendLens appended; it stops at what is malformed.
func cutLens(meta []byte) []int {
	var lens []int
	for len(meta) > 0 {
		v, k := binary.Uvarint(meta)
		if k <= 0 || v > 1<<40 {
			return nil
		}
		lens = append(lens, int(v))
		meta = meta[k:]
	}
	return lens
}
