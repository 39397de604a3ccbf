package runtime

import (
	"fmt"
	"time"

	"tpsh/comm"
	"tpsh/runtime/dtype"
	"tpsh/runtime/hardware"
	"tpsh/runtime/op"
	"tpsh/runtime/timeline"
)

// A timed is the timeline of a rank, while it is kept: its calls are in
// a trace that is always on, and its operations are noted here.
type timed struct {
	rank     *Rank
	base     time.Time
	from, to int // the steps that are kept; to 0 for all from on
	trace    *Trace
	most     int               // how many operations, and how many calls, are kept; 0 for all
	on       *hardware.Machine // by which operations are predicted, as a rank has it; nil for none
	left     int               // how many were not kept any longer
	meter    *Meter            // counts memory by kind; nil unless that is asked for
	ops      [][]timedOp       // in blocks, so that none is moved when there are more
	numbers  map[string]int    // the next number of calls, by group; of messages by pair, tag and direction
}

// A timedOp is an operation; fields that take long to find out are filled in at the
// end.
type timedOp struct {
	def             *op.Def
	begin, duration int64 // nanoseconds since base, and how many
	shape           []int
	dtype           dtype.DType
	flops, touched  int64
	work            hardware.Operation
	memory          int
	line            fmt.Stringer
	scope           *scope
	phase           Phase
	step            int
	pass            string
	placed          fmt.Stringer // of a distributed operation, how its tensors lie; nil of others
	kinds           []int64
}

// opsInBlock is how many operations a block of them has.
const opsInBlock = 256

// add returns the place of one operation more. Of too many the first are dropped.
func (t *timed) add() *timedOp {
	if t.most > 0 && len(t.ops)*opsInBlock > t.most && len(t.ops[len(t.ops)-1]) == opsInBlock {
		t.left += opsInBlock
		t.ops = append(t.ops[:0], t.ops[1:]...)
	}
	if n := len(t.ops); n == 0 || len(t.ops[n-1]) == opsInBlock {
		t.ops = append(t.ops, make([]timedOp, 0, opsInBlock))
	}
	last := &t.ops[len(t.ops)-1]
	*last = (*last)[:len(*last)+1]
	return t.last()
}

// last returns the last operation; nil if there is none.
func (t *timed) last() *timedOp {
	if len(t.ops) == 0 {
		return nil
	}
	block := t.ops[len(t.ops)-1]
	return &block[len(block)-1]
}

// A TimelineConfig says what a timeline is to have.
type TimelineConfig struct {
	From, To int  // its steps are from From to before To, or if To is 0 all others
	Kinds    bool // memory is counted by kind
	Most     int  // of more operations, or calls, the last are kept; 0 for all

	// Machine is what operations are predicted on, of all ranks; nil for no prediction.
	Machine *hardware.Machine
}

// KeepTimeline has the rank keep a timeline from now on.
func (r *Rank) KeepTimeline(c TimelineConfig) {
	r.timed = &timed{rank: r, base: time.Now(), from: c.From, to: c.To, trace: r.StartTrace(), numbers: map[string]int{}}
	if r.timed.most = c.Most; c.Most > 0 {
		r.timed.trace.most, r.timed.trace.forget = c.Most, r.timed.forget
	}
	if c.Machine != nil {
		r.timed.on = c.Machine.Among(r.size)
	}
	if c.Kinds {
		r.timed.meter = r.StartMeter()
	}
	r.ops.Timed, r.Tape.MarkAll = r.timed, true
}

// Now implements op.Timer, in nanoseconds since base.
func (t *timed) Now() int64 { return int64(time.Since(t.base)) }

// Ran implements op.Timer: it notes an operation.
func (t *timed) Ran(c *op.Call, begin int64) {
	took, r := t.Now()-begin, t.rank
	if r.quiet || !t.keeps(r.steps) {
		return
	}
	cost := c.Cost()
	o := t.add()
	o.def, o.begin, o.duration = c.Def, begin, took
	o.flops, o.touched, o.memory = cost.FLOPs, cost.Bytes(), r.Memory()
	if t.on != nil {
		o.work = workOf(c, cost)
	}
	o.line, o.scope, o.phase, o.step, o.placed, o.pass = r.Position(), r.scope, r.Phase(), r.steps, r.Shard.Running(), r.inPass
	if len(c.Spec) > 0 {
		o.shape, o.dtype = c.Spec[0].Shape, c.Spec[0].DType
	}
}

// measured notes the memory in use after the last operation, which the meters have
// counted by now.
func (t *timed) measured() {
	o := t.last()
	if t.meter == nil || o == nil {
		return
	}
	m := &t.meter.Now
	o.kinds = []int64{m.Parameters, m.Gradients, m.Optimizer, m.Activations, m.Temporaries, m.Communication}
}

// keeps reports whether the events of a step are kept.
func (t *timed) keeps(step int) bool { return step >= t.from && (t.to == 0 || step < t.to) }

// TakeTimeline returns the rank's events since it was last called, or nil if
// it keeps no timeline.
func (r *Rank) TakeTimeline() *timeline.Rank {
	t := r.timed
	if t == nil {
		return nil
	}
	all := &timeline.Rank{Rank: r.id, Size: r.size, Left: t.left}
	t.left = 0
	for _, block := range t.ops {
		for i := range block {
			all.Events = append(all.Events, block[i].event(t))
		}
	}
	t.ops = nil
	for _, rec := range t.trace.Records {
		e := rec.event()
		e.Number = t.number(r.id, rec)
		if t.keeps(rec.Step) {
			all.Events = append(all.Events, e)
		}
	}
	t.trace.Records = nil
	return all
}

// forget drops calls, which count among those of their group all the same.
func (t *timed) forget(calls []*Record) {
	for _, rec := range calls {
		t.number(t.rank.id, rec)
	}
	t.left += len(calls)
}

// number returns the number of a call among those of its group, or of a message
// among those of its pair.
func (t *timed) number(self int, rec *Record) int {
	key := rec.Group
	switch rec.Op {
	case "send":
		key = fmt.Sprint(rec.Group, " ", self, rec.Peer, rec.Tag)
	case "recv":
		key = fmt.Sprint(rec.Group, " ", rec.Peer, self, rec.Tag)
	}
	n := t.numbers[key]
	t.numbers[key]++
	return n
}

func (o *timedOp) event(t *timed) timeline.Event {
	e := timeline.Event{
		Name: o.def.Name, Begin: t.base.UnixNano() + o.begin, Duration: o.duration, Line: o.line.String(),
		Region: regionOf(o.scope), Module: moduleOf(o.scope), Phase: string(o.phase), Step: o.step, Pass: o.pass,
		Shape: o.shape, DType: o.dtype.String(),
		FLOPs: o.flops, Touched: o.touched, Memory: int64(o.memory),
		Kinds: o.kinds,
	}
	if o.placed != nil {
		e.Placements = o.placed.String()
	}
	if t.on != nil && (o.flops != 0 || o.touched != 0) {
		e.Predicted = t.on.Operation(o.work)
	}
	return e
}

func (rec *Record) event() timeline.Event {
	e := timeline.Event{
		Name: rec.Op, Begin: rec.Begin.UnixNano(), Duration: int64(rec.Seconds * 1e9), Line: rec.Where, Forward: rec.Forward,
		Region: rec.Region, Module: rec.Module, Phase: string(rec.Phase), Step: rec.Step, Shape: rec.Shape, DType: rec.DType,
		Group: rec.Group, Ranks: rec.On.Ranks(), Dims: rec.Dims, Bytes: int64(rec.Bytes), Wire: int64(rec.Wire), Predicted: rec.Predicted,
		Peer: -1, Tag: rec.Tag, To: rec.To, Implicit: rec.Implicit,
	}
	if rec.Op == "send" || rec.Op == "recv" {
		e.Peer = rec.Peer
	}
	return e
}

// peerOf returns the rank of the job that is member i of g.
func peerOf(g *comm.Group, i int) int {
	if ranks := g.Ranks(); i >= 0 && i < len(ranks) {
		return ranks[i]
	}
	return -1
}
