package runtime

import (
	"time"

	"tpsh/comm"
	"tpsh/mesh"
	"tpsh/runtime/op"
	"tpsh/runtime/shard"
	"tpsh/runtime/tensor"
)

// Communicate calls o on g for a tensor that ranks hold together. x is what the
// rank puts in, and bytes how much of it counts, for traces.
func (r *Rank) Communicate(g *comm.Group, o *comm.Op, x *tensor.Tensor, bytes int) (comm.Result, error) {
	if err := r.enter(o.Desc.Op); err != nil {
		return comm.Result{}, err
	}
	o.Where = r.whereFn
	o.Desc.Flags = r.flags(g, false)
	rec, since := r.noteCall(o, g, x, bytes)
	res, err := g.Run(r.ctx, o)
	if rec != nil {
		rec.finish(res, since)
	}
	if err != nil {
		return res, err
	}
	r.cut(g, res.Flags)
	return res, nil
}

// RedistributeAsync starts to move x, a tensor that ranks hold together, to l, for
// the script's function fn, and returns at once.
func (r *Rank) RedistributeAsync(fn string, x *tensor.Tensor, l *mesh.Placed) (*Work, error) {
	p, y, err := r.Shard.Begin(fn, x, l)
	if err != nil {
		return nil, err
	}
	if p == nil {
		return r.Completed(y), nil
	}
	if err := r.enter(p.Op.Desc.Op); err != nil {
		return nil, err
	}
	p.Op.Desc.Flags = r.flags(p.Group, true)
	rec, since := r.noteCall(p.Op, p.Group, p.Block, p.Bytes)
	line := ""
	w := r.issue(p.Group, p.Op, &line, func(res comm.Result, err error) ([]*tensor.Tensor, error) {
		if rec != nil {
			rec.finish(res, since)
		}
		if err != nil {
			return nil, err
		}
		y, err := p.Finish()
		return []*tensor.Tensor{y}, err
	})
	w.hold(x.Local(), p.Block)
	return &Work{w, 0}, nil
}

// noteCall notes a call for a tensor that ranks hold together where a trace is on.
func (r *Rank) noteCall(o *comm.Op, g *comm.Group, x *tensor.Tensor, bytes int) (rec *Record, since time.Time) {
	if len(r.traces) == 0 {
		return nil, since
	}
	rec = &Record{Op: o.Desc.Op, Group: g.String(), Bytes: bytes, Shape: x.Shape(), DType: x.DType().String()}
	since = time.Now()
	r.note(rec)
	return rec, since
}

// plainOnly returns an error if one of xs is a tensor that ranks hold together:
// what communicates here moves what a rank has of its own.
func plainOnly(fn string, xs ...*tensor.Tensor) error {
	for _, x := range xs {
		if x.Placed() {
			return &op.ArgError{Func: fn, Param: "x", Got: shard.Describe(x), Want: "a plain tensor", Rule: ".to_local() gives this rank's block; .redistribute() moves a distributed tensor"}
		}
	}
	return nil
}

// Here returns the source line that the program is at.
func (r *Rank) Here() string { return r.where() }

// Tell prints a line beside the program's output.
func (r *Rank) Tell(line string) {
	if r.Note != nil {
		r.Note(line)
	}
}
