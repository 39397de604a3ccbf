package runtime

import (
	"encoding/binary"
	"slices"

	"tpsh/comm"
	"tpsh/runtime/grad"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// A call is one call of this rank on a group: the part that all collectives, exchanges and
// messages of objects have alike. begin says which contract the rank states, note has the
// traces know of it, run or issue carries it out, and end closes it. The blocks
// are for the caller, which sets them in op before it runs.
//
// For example, a barrier is
//
//	k := &call{r: r, g: g, op: &comm.Op{Kind: comm.Barrier}}
//	if err := k.begin(contract("barrier")); err != nil {
//		return err
//	}
//	_, err := k.run()
type call struct {
	r     *Rank
	g     *comm.Group
	op    *comm.Op // as package comm sees the call
	async bool
	rec   *Record // nil without a trace
	line  string  // of the call, if it is recorded or asynchronous
	count uint64  // of the calls on g, with this one
	sole  bool    // the root alone puts anything in
	bytes int     // that each member puts in that puts anything in
	noted noted
}

// contract returns the fields that the members of a call of the operation called name
// compare, without tensors.
func contract(name string) comm.Desc {
	return comm.Desc{Op: name, Free: -1, Root: -1, Dims: [2]int{-1, -1}}
}

// begin counts the call, which a fault may end here, and has it state d and the function that
// tells its line.
func (k *call) begin(d comm.Desc) error {
	if err := k.r.enter(d.Op); err != nil {
		return err
	}
	k.op.Desc, k.op.Where = d, k.r.whereFn
	k.op.Desc.Flags |= k.r.flags(k.g, k.async)
	k.op.Hollow = d.DType != "" && k.r.ops.Hollow()
	return nil
}

// note has the traces that are on know of the call, in which the rank puts bytes, if it puts in
// anything, of a tensor of shape s and the given dtype.
func (k *call) note(bytes int, s shape.Shape, dt string) {
	k.bytes, k.noted = bytes, k.r.noteBegin(doing(k.async), k.g)
	if k.rec = k.r.traced(k.op.Desc.Op, k.g); k.rec != nil {
		k.rec.Shape, k.rec.DType = s, dt
		if k.puts() {
			k.rec.Bytes = bytes
		}
	}
}

// solely reports whether the root alone puts anything into a call of a kind.
func solely(kind comm.Kind) bool { return kind.Rooted() && kind.RootName() == "src" }

// puts reports whether the rank puts anything into the call.
func (k *call) puts() bool {
	switch {
	case k.sole:
		return isPlace(k.r, k.g, k.op.Desc.Root)
	case k.op.Kind.Paired():
		return AskedPlace(k.r, k.g, func(place int) bool {
			return slices.ContainsFunc(k.op.Desc.Pairs, func(p [2]int) bool { return p[0] == place })
		})
	}
	return true
}

// run carries out the call and ends it.
func (k *call) run() (comm.Result, error) {
	over := k.r.waiting(described{k.op}, true)
	res, err := k.g.Run(k.r.ctx, k.op)
	k.count = k.g.Calls()
	over()
	return res, k.end(res, err)
}

// issue starts the call, which ends with finish, and returns at once. It keeps the
// source line.
func (k *call) issue(finish func() ([]*tensor.Tensor, error)) *issued {
	k.r.waiting(described{k.op}, true)()
	k.line = k.r.where()
	k.op.Where = func() string { return k.line }
	w := &issued{r: k.r, noted: k.noted, inner: k.g.Issue(k.op), finish: func(res comm.Result, err error) ([]*tensor.Tensor, error) {
		if err := k.end(res, err); err != nil {
			return nil, err
		}
		return finish()
	}}
	k.count = k.g.Calls()
	k.r.works = append(k.r.works, w)
	return w
}

// end completes the trace and, unless the call has failed, cuts the output. It
// returns err.
func (k *call) end(res comm.Result, err error) error {
	if k.rec != nil {
		k.rec.finish(res)
		if k.r.timed != nil && err == nil {
			k.rec.To = k.g.Sends(k.op, res)
		}
	}
	k.noted.finish(k, res, err)
	if err == nil {
		k.r.cut(k.g, res.Flags)
	}
	return err
}

// sending returns a key for comm.Group.Wires of the call: calls with the same key send alike.
func (k *call) sending(res comm.Result) []byte {
	b := []byte{byte(k.op.Kind)}
	for _, n := range []int{k.g.Size(), k.op.Desc.Root + 1, res.Block, k.op.Align, len(k.op.Desc.Pairs)} {
		b = binary.AppendUvarint(b, uint64(n))
	}
	for _, p := range k.op.Desc.Pairs {
		b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(p[0])), uint64(p[1]))
	}
	for i := 0; i < len(k.op.In); {
		length, first := k.op.In[i].Len(), i
		for i < len(k.op.In) && k.op.In[i].Len() == length {
			i++
		}
		b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(length)), uint64(i-first))
	}
	return b
}

// record records the call as an operation on in with results out, at the place in
// the record that seq reserved. back is its gradient, which names the line of the
// call.
func (k *call) record(seq uint64, in, out []*tensor.Tensor, back grad.Backward) {
	if k.line == "" {
		k.line = k.r.where()
	}
	k.r.Tape.CustomAt(seq, k.op.Desc.Op, in, out, true, k.r.replay(k.line, k.count, back))
}

// recordCall records a call of the operation called name, or several that are one to
// the script, at the place in the record that seq reserved. line is that of the
// call, and back its gradient.
func (r *Rank) recordCall(seq uint64, name, line string, in, out []*tensor.Tensor, back grad.Backward) {
	r.Tape.CustomAt(seq, name, in, out, true, r.replay(line, 0, back))
}

// replay returns back, the gradient of a call at line, as a backward pass runs it:
// the calls that it makes name that line, and state count, that of the call on its group, if it is not 0.
func (r *Rank) replay(line string, count uint64, back grad.Backward) grad.Backward {
	return func(t *op.Tape, dy []*tensor.Tensor) ([]*tensor.Tensor, error) {
		outer, outerCount := r.replayed, r.replaying
		r.replayed, r.replaying = line, count
		defer func() { r.replayed, r.replaying = outer, outerCount }()
		return back(t, dy)
	}
}

// pass returns the word of the contract for the pass in which a call is made:
// comm.InBackward or BackwardOf for a gradient's calls, and nothing for a script's,
// be it in a checkpoint that is computed again or a backward function of its own.
func (r *Rank) pass() string {
	switch {
	case r.replayed == "":
		return ""
	case r.replaying == 0:
		return comm.InBackward
	}
	return comm.BackwardOf(r.replaying)
}

// flags returns the flags that the rank states with a call on g.
func (r *Rank) flags(g *comm.Group, async bool) comm.Flags {
	var f comm.Flags
	if g.Size() == r.size && r.Output != nil && r.kind == nil && r.Output.Dirty() {
		f |= comm.Output
	}
	if async {
		f |= comm.Async
	}
	return f
}

// cut ends the section of output after a call that joined all ranks.
func (r *Rank) cut(g *comm.Group, f comm.Flags) {
	if g.Size() == r.size && r.Output != nil && f&comm.Output != 0 && f&comm.Async == 0 {
		r.Output.Cut()
	}
}
