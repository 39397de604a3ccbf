package runtime

import (
	"slices"
	"time"

	"tpsh/comm"
	"tpsh/mesh"
)

// A Record is one communication of a rank.
type Record struct {
	Op        string
	Group     string
	On        *comm.Group
	Dims      []string // of a mesh, along which the members lie
	Region    string   // the names of regions, joined by "/"
	Module    string   // the path of the module under way
	Phase     Phase    // recompute counts as backward
	Step      int      // how many steps had ended
	Bytes     int      // the payload that the rank put in; 0 where it only receives
	Begin     time.Time
	Peer, Tag int    // of a message: the other rank, by its number in the job
	Wire      int    // the payload that it sends in the message schedule, on every transport
	To        []int  // of it, by the member it goes to; nil without a timeline
	Implicit  string // the operator that the call brings an input to, unasked; "" of other calls
	Shape     []int
	DType     string // "object" for values that are no tensors
	Seconds   float64
	Predicted float64
	Where     string
	Forward   string // of a call of a backward pass, the line that it is the gradient of

	cost Cost // by which Predicted is computed
}

// A Trace collects the communication of a rank while it is on.
type Trace struct {
	Records []*Record

	// forget, if set, is given the records that are dropped when there are more than
	// most.
	most   int
	forget func([]*Record)
}

// add adds a record. Of twice as many as the trace has at most, the first half goes.
func (t *Trace) add(rec *Record) {
	t.Records = append(t.Records, rec)
	if t.forget != nil && len(t.Records) >= 2*t.most {
		t.forget(t.Records[:t.most])
		t.Records = slices.Clone(t.Records[t.most:])
	}
}

// StartTrace turns a new trace on. Traces nest.
func (r *Rank) StartTrace() *Trace {
	t := &Trace{}
	r.traces = append(r.traces, t)
	return t
}

// StopTrace turns t, and those started after it, off.
func (r *Rank) StopTrace(t *Trace) {
	for i, u := range r.traces {
		if u == t {
			r.traces = r.traces[:i]
			return
		}
	}
}

// Quietly runs fn with all traces and faults off: fn's calls are the
// shell's own and not the script's.
func (r *Rank) Quietly(fn func() error) error {
	traces, quiet := r.traces, r.quiet
	r.traces, r.quiet = nil, true
	defer func() { r.traces, r.quiet = traces, quiet }()
	return fn()
}

// Untraced runs fn with all traces off: fn's calls are part of another
// operation, that counts for nothing.
func (r *Rank) Untraced(fn func() error) error {
	traces, untraced := r.traces, r.untraced
	r.traces, r.untraced = nil, true
	defer func() { r.traces, r.untraced = traces, untraced }()
	return fn()
}

// traced adds the record of a call of the operation called name on g to every
// trace that is on; nil if none is.
func (r *Rank) traced(name string, g *comm.Group) *Record {
	if len(r.traces) == 0 {
		return nil
	}
	rec := &Record{Op: name, Group: g.String(), On: g, Where: r.Line(), Begin: time.Now(), cost: r.costOf(g)}
	rec.Dims, rec.Region, rec.Module, rec.Step = r.DimsOf(g), r.Region(), r.Module(), r.steps
	rec.Phase, rec.Forward, rec.Implicit = r.Phase(), r.forwardWhere(), r.Shard.Bringing()
	if rec.Phase == Recompute {
		rec.Phase = Backward
	}
	for _, t := range r.traces {
		t.add(rec)
	}
	return rec
}

// finish completes rec when its call has ended. What it took counts from Begin, so that
// begin and end are of one clock, however long the rank was stopped in between.
func (rec *Record) finish(res comm.Result) {
	rec.Wire = res.Wire
	rec.Seconds = time.Since(rec.Begin).Seconds()
	rec.Predicted = rec.cost.Predict(res.Wire)
}

// A Cost is the time that a call is expected to take: Alpha seconds, and Beta seconds
// for every byte that the rank sends. The zero value is the fixed cost model of
// package mesh. Predictions are for people to read: a run never
// depends on a Cost.
type Cost struct {
	Alpha float64 `json:"alpha"`
	Beta  float64 `json:"beta"`
}

// Predict returns the seconds that a call is expected to take in which the
// rank sends wire bytes.
func (c Cost) Predict(wire int) float64 {
	if c == (Cost{}) {
		c = Cost{mesh.Alpha, mesh.Beta}
	}
	return c.Alpha + float64(c.Beta*float64(wire))
}
