package runtime

import (
	"encoding/binary"
	"errors"
	"fmt"
	goruntime "runtime"

	"tpsh/comm"
	"tpsh/internal/units"
	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// Exchange is all_to_all of a list: it sends xs[i] to member i of g and
// returns the tensors that the members sent to this one, in their order. Shapes are free;
// the dtype is one. The gradient goes back the same way.
func (r *Rank) Exchange(g *comm.Group, xs []*tensor.Tensor) ([]*tensor.Tensor, error) {
	k, err := r.newExchange(g, xs, false)
	if err != nil {
		return nil, err
	}
	if _, err := k.run(); err != nil {
		return nil, err
	}
	return k.finish(), nil
}

// An exchange is one all_to_all of a list.
type exchange struct {
	call
	xs       []*tensor.Tensor
	in       []*tensor.Tensor // xs, contiguous
	out      []*tensor.Tensor
	recorded bool
	grad     bool // a member's input requires grad
	seq      uint64
}

// finish returns the results of the call, which has ended well, and records its
// gradient.
func (k *exchange) finish() []*tensor.Tensor {
	goruntime.KeepAlive(k.in)
	if k.grad && k.recorded {
		k.record(k.seq, k.xs, k.out, k.backward)
	}
	return k.out
}

// backward sends the gradients back to where the tensors came from.
func (k *exchange) backward(t *op.Tape, dy []*tensor.Tensor) ([]*tensor.Tensor, error) {
	for i := range dy {
		if dy[i] == nil {
			dy[i] = t.Do("zeros_like", []*tensor.Tensor{k.out[i].Detach()}, op.None)
		}
	}
	return k.r.Exchange(k.g, dy)
}

// newExchange checks the call and makes the operation for package comm.
func (r *Rank) newExchange(g *comm.Group, xs []*tensor.Tensor, async bool) (*exchange, error) {
	if err := plainOnly("all_to_all", xs...); err != nil {
		return nil, err
	}
	k := &exchange{call: call{r: r, g: g, op: &comm.Op{Kind: comm.AllToAll}, async: async}, xs: xs}
	d := contract("all_to_all")
	if d.Detail = r.pass(); len(xs) > 0 {
		d.DType = xs[0].DType().String()
	}
	if err := k.begin(d); err != nil {
		return nil, err
	}
	if len(xs) != g.Size() {
		return nil, &op.ArgError{Func: "all_to_all", Param: "x", Got: "a list of " + units.Count(len(xs), "tensor"), Want: fmt.Sprint(g.Size()), Rule: "one for each member"}
	}
	k.recorded, k.seq = r.Tape.Enabled(), r.Tape.Reserve()
	dt := xs[0].DType()
	k.op.Align, k.op.Prepare = dt.Size(), k.prepare
	bytes := 0
	for i, x := range xs {
		if x.DType() != dt {
			return nil, &op.ArgError{Func: "all_to_all", Param: "x", Got: fmt.Sprintf("%s at index %d", op.Describe(x), i), Want: dt.String(), Rule: "as at index 0"}
		}
		if k.recorded && x.RequiresGrad() {
			k.op.Desc.Flags |= comm.RequiresGrad
		}
		c, err := r.contiguous(x)
		if err != nil {
			return nil, err
		}
		k.in = append(k.in, c)
		k.op.In = append(k.op.In, comm.Whole(c.Bytes()))
		k.op.Meta = appendShape(k.op.Meta, dt, x.Shape())
		bytes += len(c.Bytes())
	}
	k.note(bytes, nil, dt.String())
	return k, nil
}

// prepare makes the results, whose shapes are in the members' Meta.
func (k *exchange) prepare(members []comm.Member, flags comm.Flags) ([]comm.Block, error) {
	k.grad = flags&comm.RequiresGrad != 0
	if k.r.kind != nil {
		k.r.partPlaces(k.g, comingTo(k.r, members))
	}
	blocks := make([]comm.Block, len(members))
	for i, m := range members {
		one, err := k.r.partOf(m.Meta, k.g.Place())
		if err != nil {
			return nil, fmt.Errorf("all_to_all: from member %d: %w", i, err)
		}
		y, err := tensor.New(k.r.ops.Alloc, one.dt, one.shape)
		if err != nil {
			return nil, &op.ResourceError{Func: "all_to_all", Err: err}
		}
		k.out = append(k.out, y)
		blocks[i] = comm.Whole(y.Bytes())
	}
	return blocks, nil
}

// A part is the dtype and shape of a tensor of an exchange.
type part struct {
	dt    dtype.DType
	shape shape.Shape
}

// partOf returns part n of those that a member's meta says.
func (r *Rank) partOf(meta []byte, n int) (one part, err error) {
	if r.kind != nil {
		parts := r.job.partsOf(meta)
		if n >= len(parts) {
			return one, errMeta
		}
		return parts[n], nil
	}
	for range n + 1 {
		if one.dt, one.shape, meta, err = cutShape(meta); err != nil {
			return one, err
		}
	}
	return one, nil
}

// partsOf returns the parts that a member's meta says, as far as it is well formed. In a plan many ranks
// read the same one, so that it is read once.
func (j *Job) partsOf(meta []byte) []part {
	if len(meta) == 0 {
		return nil
	}
	if known, ok := j.parts.Load(&meta[0]); ok {
		return known.([]part)
	}
	var parts []part
	for rest := meta; len(rest) > 0; {
		dt, s, after, err := cutShape(rest)
		if err != nil {
			break
		}
		parts, rest = append(parts, part{dt, s}), after
	}
	j.parts.Store(&meta[0], parts)
	return parts
}

// comingTo returns a text of the tensors that members send to the one at a place: that of
// each meta that they have, whoever has it.
func comingTo(r *Rank, members []comm.Member) func(place int) string {
	var distinct [][]part
	met := map[*byte]bool{}
	for _, m := range members {
		if len(m.Meta) > 0 && !met[&m.Meta[0]] {
			met[&m.Meta[0]] = true
			distinct = append(distinct, r.job.partsOf(m.Meta))
		}
	}
	return func(place int) string {
		var text []byte
		for _, parts := range distinct {
			if place < 0 || place >= len(parts) {
				text = append(text, 0xff)
				continue
			}
			text = appendShape(text, parts[place].dt, parts[place].shape)
		}
		return string(text)
	}
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

// cutShape takes the dtype and shape off the front of meta that appendShape appended.
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

// cutLens is the inverse of appendLens; it stops at malformed bytes.
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
