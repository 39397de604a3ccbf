package runtime

import (
	"bytes"
	"fmt"
	"time"

	"tpsh/comm"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// Send sends x to member dst of g. It does not wait for the receiver.
func (r *Rank) Send(g *comm.Group, x *tensor.Tensor, dst, tag int) error {
	return r.post(g, x, dst, tag, nil)
}

// Recv returns the next tensor that member src of g sent with tag, once it is
// there.
func (r *Rank) Recv(g *comm.Group, src, tag int) (*tensor.Tensor, error) {
	x, _, err := r.fetch(g, src, tag)
	return x, err
}

// post sends x, and note beside it.
func (r *Rank) post(g *comm.Group, x *tensor.Tensor, dst, tag int, note []byte) error {
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
	if len(r.traces) > 0 {
		r.note(&Record{Op: "send", Group: g.String(), Bytes: len(data), Wire: len(data), Shape: x.Shape(), DType: x.DType().String(), Predicted: r.job.cfg.Cost.Predict(len(data))})
	}
	meta := append(appendShape(nil, x.DType(), x.Shape()), note...)
	return g.Send(dst, tag, comm.Message{Meta: meta, Data: data, Keep: y, Done: y.Buffer().Discard}, line)
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

// fetch receives a tensor and what was sent beside it.
func (r *Rank) fetch(g *comm.Group, src, tag int) (x *tensor.Tensor, note []byte, err error) {
	if err := r.enter("recv"); err != nil {
		return nil, nil, err
	}
	since := time.Now()
	m, err := g.RecvInto(r.ctx, src, tag, r.whereFn, func(meta []byte, n int) ([]byte, error) {
		if x, err = r.vacant(meta, n); err != nil {
			return nil, err
		}
		return x.Bytes(), nil
	})
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
	if len(r.traces) > 0 {
		r.note(&Record{Op: "recv", Group: g.String(), Shape: x.Shape(), DType: x.DType().String(), Seconds: time.Since(since).Seconds(), Predicted: r.job.cfg.Cost.Predict(0)})
	}
	return x, note, nil
}

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

// Barrier returns when every member of g has called it.
func (r *Rank) Barrier(g *comm.Group) error {
	_, err := r.objects(g, "barrier", comm.Barrier, -1, nil, 0, nil)
	return err
}

// AllGatherObject returns every member's obj.
func (r *Rank) AllGatherObject(g *comm.Group, obj []byte) ([][]byte, error) {
	return r.objects(g, "all_gather_object", comm.AllGather, -1, [][]byte{obj}, len(obj), func(lens [][]int) []int {
		sizes := make([]int, len(lens))
		for i, l := range lens {
			sizes[i] = l[0]
		}
		return sizes
	})
}

// BroadcastObject returns the obj of member src; the others' is not looked at.
func (r *Rank) BroadcastObject(g *comm.Group, obj []byte, src int) ([]byte, error) {
	bytes := 0
	if g.Rank() == src {
		bytes = len(obj)
	}
	out, err := r.objects(g, "broadcast_object", comm.Broadcast, src, [][]byte{obj}, bytes, func(lens [][]int) []int { return lens[src] })
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

// ScatterObject returns this member's of the objs that member src has, one
// for each member; the others' are not looked at. A list of another length is
// an error on every member, as err says.
func (r *Rank) ScatterObject(g *comm.Group, objs [][]byte, src int) ([]byte, error) {
	bytes := 0
	if g.Rank() == src {
		for _, o := range objs {
			bytes += len(o)
		}
	}
	out, err := r.objects(g, "scatter_object", comm.Scatter, src, objs, bytes, func(lens [][]int) []int {
		if len(lens[src]) != g.Size() {
			return nil
		}
		return lens[src][g.Rank() : g.Rank()+1]
	})
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

// objects calls a collective on byte strings of free length. sizes picks the
// lengths of the results from those that every member announced; nil if they
// do not fit.
func (r *Rank) objects(g *comm.Group, name string, kind comm.Kind, root int, objs [][]byte, bytes int, sizes func([][]int) []int) ([][]byte, error) {
	if err := r.enter(name); err != nil {
		return nil, err
	}
	var out [][]byte
	o := &comm.Op{Kind: kind, Align: 1, Where: r.whereFn}
	o.Desc = comm.Desc{Op: name, Free: -1, Root: root, Dims: [2]int{-1, -1}, Flags: r.flags(g, false)}
	if sizes != nil {
		o.Meta = appendLens(nil, objs)
		for _, b := range objs {
			o.In = append(o.In, comm.Whole(b))
		}
		for kind == comm.Scatter && len(o.In) < g.Size() { // refused when the members agree
			o.In = append(o.In, comm.Whole(nil))
		}
		o.Prepare = func(members []comm.Member, _ comm.Flags) ([]comm.Block, error) {
			lens := make([][]int, len(members))
			for i, m := range members {
				lens[i] = cutLens(m.Meta)
			}
			want := sizes(lens)
			if want == nil {
				return nil, &op.ArgError{Func: name, Param: "list", Got: fmt.Sprintf("%d objects on the root", len(lens[root])), Want: fmt.Sprint(g.Size()), Rule: "one for each member"}
			}
			var blocks []comm.Block
			for _, n := range want {
				out = append(out, make([]byte, n))
				blocks = append(blocks, comm.Whole(out[len(out)-1]))
			}
			return blocks, nil
		}
	}
	var rec *Record
	since := time.Now()
	if len(r.traces) > 0 {
		rec = &Record{Op: name, Group: g.String(), Bytes: bytes, DType: "object"}
		r.note(rec)
	}
	res, err := g.Run(r.ctx, o)
	if rec != nil {
		rec.finish(res, since)
	}
	if err != nil {
		return nil, err
	}
	r.cut(g, res.Flags)
	return out, nil
}
