package runtime

import (
	"fmt"
	"strings"

	"tpsh/comm"
	"tpsh/runtime/dtype"
	"tpsh/runtime/hardware"
	"tpsh/runtime/op"
	"tpsh/runtime/plan"
	"tpsh/runtime/tensor"
)

// Of a job that runs on shapes each rank notes its operations and calls: see Config.Plan.

// Recorder returns the recorder of the rank's operations and calls, or nil where it runs for real.
func (r *Rank) Recorder() *plan.Recorder { return r.recorder }

// record has the rank note its operations and calls.
func (r *Rank) record(to *plan.Recorder) {
	r.recorder = to
	r.meter = r.StartMeter()
	r.ops.Placed = func() {
		if !r.quiet {
			to.View()
		}
	}
}

// noteOperation notes an operation that has been applied.
func (r *Rank) noteOperation(c *op.Call) {
	if r.quiet {
		return
	}
	o, ok := r.operationOf(c)
	if !ok {
		r.recorder.View()
		return
	}
	r.recorder.Compute(o, r.manner(), r.phaseOf(), r.lineOnce())
}

// noteCopy notes that fn reads and writes as many elements as x has, each once, beside all
// operations.
func (r *Rank) noteCopy(fn string, x *tensor.Tensor) {
	if r.recorder == nil || r.quiet {
		return
	}
	o := hardware.Operation{Bytes: float64(2 * x.Numel() * x.DType().Size()), DType: x.DType()}
	r.recorder.Compute(plan.Operation{Name: fn, Operation: o}, r.manner(), r.phaseOf(), r.lineOnce())
}

// lineOnce returns the line that the program is at, whose text is made once for all
// operations and calls there.
func (r *Rank) lineOnce() string {
	at := r.Position()
	line, known := r.lineTexts[at]
	if !known {
		if r.lineTexts == nil {
			r.lineTexts = map[fmt.Stringer]string{}
		}
		line = at.String()
		r.lineTexts[at] = line
	}
	return line
}

// manner returns how the host brings about the operation under way.
func (r *Rank) manner() plan.Manner {
	return plan.Manner{Placed: r.Shard.Running() != nil, Recorded: r.Phase() == Forward && r.Tape.Enabled()}
}

// operationOf returns what c is to a machine. It reports false if it moves and computes
// nothing.
func (r *Rank) operationOf(c *op.Call) (o plan.Operation, ok bool) {
	k := c.Cost()
	if k.FLOPs == 0 && k.Bytes() == 0 {
		return o, false
	}
	return plan.Operation{Name: c.Def.Name, Operation: workOf(c, k)}, true
}

// workOf returns what c, which costs k, is to a machine.
func workOf(c *op.Call, k op.Cost) hardware.Operation {
	o := hardware.Operation{FLOPs: float64(k.FLOPs), Bytes: float64(k.Bytes()), Inner: float64(k.Inner), Products: len(k.Products), Parted: float64(c.Parted())}
	if len(c.Spec) > 0 {
		o.DType = c.Spec[0].DType
	}
	for i, p := range k.Products {
		if n := p.Smallest(); i == 0 || n < o.Dim {
			o.Dim = n
		}
		if p.Batch > 1 {
			o.Batch += float64(p.Batch)
		}
	}
	if o.Products > 0 {
		o.DType = factorType(c, o.DType)
	} else {
		if o.Rows = rows(c); o.Rows == 0 {
			pieces, elements := c.Pieces()
			o.Pieces, o.Strided = float64(pieces), float64(elements)
		}
	}
	return o
}

// byRow are operators that work row by row, with something to be done for each.
var byRow = map[string]bool{
	"softmax": true, "log_softmax": true, "softmax_grad": true, "log_softmax_grad": true, "layer_norm": true, "rms_norm": true,
	"normalize_grad": true, "normalize_grads": true, "cross_entropy": true, "cross_entropy_grad": true, "nll_loss": true,
	"class_sums": true, "class_sums_grad": true,
}

// rows returns how many rows of its first input c works through, 0 if it does not go by
// rows.
func rows(c *op.Call) float64 {
	if !byRow[c.Def.Name] || c.In[0] == nil {
		return 0
	}
	s := c.In[0].Shape()
	if len(s) == 0 || s[len(s)-1] == 0 {
		return 0
	}
	return float64(s.Numel() / s[len(s)-1])
}

// factorType returns the dtype in which c multiplies: the narrowest of its float
// inputs, for sums and scales come beside them in float32.
func factorType(c *op.Call, dt dtype.DType) dtype.DType {
	for _, x := range c.In {
		if x != nil && x.DType().IsFloat() && x.DType().Size() < dt.Size() {
			dt = x.DType()
		}
	}
	return dt
}

// phaseOf returns which phase the program is in.
func (r *Rank) phaseOf() plan.Phase {
	switch r.Phase() {
	case Optimizer:
		return plan.Optimizer
	case Recompute:
		return plan.Recompute
	case Backward:
		return plan.Backward
	}
	return plan.Forward
}

// inScope has the recorder, if there is one, note later operations in the region and
// module that the rank is in, until the function that it returns is called.
func (r *Rank) inScope() (leave func()) {
	if r.recorder == nil {
		return func() {}
	}
	return r.recorder.Enter(r.scope.full())
}

// A noted is a call that a recorder has been told of and that is not complete.
type noted struct {
	to    *plan.Recorder // nil for none
	at    plan.Pending
	issue int32
}

// noteBegin notes a call on g.
func (r *Rank) noteBegin(do plan.Do, g *comm.Group) noted {
	if r.recorder == nil || r.quiet || r.untraced {
		return noted{}
	}
	n := noted{to: r.recorder}
	group := n.to.Group(g.String(), r.dimsText(g), plan.Cost(r.lineOf(g).cost), r.membersOf(g))
	n.at, n.issue = n.to.Begin(do, group, r.phaseOf(), r.lineOnce(), r.forwardWhere())
	return n
}

// doing returns a recorder's word for a collective.
func doing(async bool) plan.Do {
	if async {
		return plan.Issue
	}
	return plan.Collective
}

// finish completes the collective k, which has ended with res and err.
func (n noted) finish(k *call, res comm.Result, err error) {
	if n.to == nil {
		return
	}
	var pairs []string // of members that exchange messages, if it is a permutation
	for _, p := range k.op.Desc.Pairs {
		pairs = append(pairs, fmt.Sprintf("%d>%d", p[0], p[1]))
	}
	c := plan.Call{Op: k.op.Desc.Op, Bytes: int64(k.bytes), Pairs: strings.Join(pairs, " "), Joins: k.op.Kind.Joins()}
	if k.sole {
		c.Sole = int32(k.op.Desc.Root) + 1
	}
	n.to.Finish(n.at, c, int64(res.Wire))
	if err != nil {
		return
	}
	if k.op.Sent != nil {
		n.to.UnlikeList(n.at, k.op.Sent)
	} else {
		n.to.Unlike(n.at, k.sending(res), func() plan.Sends { return k.g.Wires(k.op, res) })
	}
}

// posted completes a message of so many bytes, which the rank sends.
func (n noted) posted(op string, bytes int) {
	if n.to != nil {
		n.to.Finish(n.at, plan.Call{Op: op, Bytes: int64(bytes)}, int64(bytes))
	}
}

// peer says which member a message goes to, or comes from.
func (n noted) peer(peer Peer, tag int, stage bool) {
	if n.to != nil {
		n.to.Peer(n.at, peer.Place, peer.Of, tag, stage)
	}
}

// dimsText returns the mesh dims of g, as far as the rank knows.
func (r *Rank) dimsText(g *comm.Group) string {
	if names := r.DimsOf(g); names != nil {
		return strings.Join(names, ",")
	}
	if g.Size() == r.size {
		return "world"
	}
	return g.String()
}
