package runtime

import (
	"time"

	"tpsh/comm"
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
	var rec *Record
	since := time.Time{}
	if len(r.traces) > 0 {
		rec = &Record{Op: o.Desc.Op, Group: g.String(), Bytes: bytes, Shape: x.Shape(), DType: x.DType().String()}
		since = time.Now()
		r.note(rec)
	}
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
