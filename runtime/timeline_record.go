package runtime

import (
	"fmt"
	"time"

	"tpsh/comm"
	"tpsh/runtime/op"
	"tpsh/runtime/timeline"
)

// A timed is the timeline of a rank, while it is kept: what it communicates is in
// a trace that is always on, and its operations are noted here.
type timed struct {
	from, to int // the steps that are kept; to 0 for all from on
	trace    *Trace
	meter    *Meter // counts memory by kind; nil unless that is asked for
	ops      []timedOp
	numbers  map[string]int // the next number of calls, by group; of messages by pair, tag and direction
}

// A timedOp is an operation; what it takes long to find out is found out in the
// end.
type timedOp struct {
	def      *op.Def
	begin    time.Time
	duration time.Duration
	spec     op.Spec
	cost     op.Cost
	memory   int
	line     fmt.Stringer
	scope    *scope
	phase    Phase
	step     int
	placed   fmt.Stringer // of a distributed operation, how its tensors lie; nil of others
	kinds    []int64
}

// KeepTimeline has the rank keep a timeline from now on: of all steps, or if to is
// not 0 of those from from to before to. With kinds it counts memory by kind.
func (r *Rank) KeepTimeline(from, to int, kinds bool) {
	r.timed = &timed{from: from, to: to, trace: r.StartTrace(), numbers: map[string]int{}}
	if kinds {
		r.timed.meter = r.StartMeter()
	}
	r.ops.Timed = r.timeOperation
}

// timeOperation notes an operation that began then and has just ended.
func (r *Rank) timeOperation(c *op.Call, begin time.Time) {
	took := time.Since(begin)
	if r.quiet || !r.timed.keeps(r.steps) {
		return
	}
	o := timedOp{def: c.Def, begin: begin, duration: took, cost: c.Cost(), memory: r.Memory(),
		line: r.Position(), scope: r.scope, phase: r.Phase(), step: r.steps, placed: r.Shard.Running()}
	if len(c.Spec) > 0 {
		o.spec = c.Spec[0]
	}
	r.timed.ops = append(r.timed.ops, o)
}

// measured notes the memory in use after the last operation, which the meters have
// counted by now.
func (t *timed) measured() {
	if t.meter == nil || len(t.ops) == 0 {
		return
	}
	m := &t.meter.Now
	t.ops[len(t.ops)-1].kinds = []int64{m.Parameters, m.Gradients, m.Optimizer, m.Activations, m.Temporaries, m.Communication}
}

// keeps reports whether what happens in a step is kept.
func (t *timed) keeps(step int) bool { return step >= t.from && (t.to == 0 || step < t.to) }

// TakeTimeline returns what the rank has done since it was last called, or nil if
// it keeps no timeline.
func (r *Rank) TakeTimeline() *timeline.Rank {
	t := r.timed
	if t == nil {
		return nil
	}
	all := &timeline.Rank{Rank: r.id, Size: r.size}
	for i := range t.ops {
		all.Events = append(all.Events, t.ops[i].event())
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

func (o *timedOp) event() timeline.Event {
	e := timeline.Event{
		Name: o.def.Name, Begin: o.begin.UnixNano(), Duration: int64(o.duration), Line: o.line.String(),
		Region: regionOf(o.scope), Module: moduleOf(o.scope), Phase: string(o.phase), Step: o.step,
		Shape: o.spec.Shape, DType: o.spec.DType.String(),
		FLOPs: int64(o.cost.FLOPs), Touched: int64(o.cost.Bytes()), Memory: int64(o.memory),
		Kinds: o.kinds,
	}
	if o.placed != nil {
		e.Placements = o.placed.String()
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
