package runtime

import (
	"time"

	"tpsh/comm"
	"tpsh/mesh"
)

// A Record is one communication of a rank.
type Record struct {
	Op        string
	Group     string
	Bytes     int // the payload that the rank put in; 0 where it only receives
	Wire      int // the payload that it sends in the message schedule, on every transport
	Shape     []int
	DType     string // "object" for values that are no tensors
	Seconds   float64
	Predicted float64
	Where     string
}

// A Trace collects the communication of a rank while it is on.
type Trace struct{ Records []*Record }

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

// Quietly runs fn with all traces and faults off: what fn communicates is the
// shell's own and not the script's.
func (r *Rank) Quietly(fn func() error) error {
	traces, quiet := r.traces, r.quiet
	r.traces, r.quiet = nil, true
	defer func() { r.traces, r.quiet = traces, quiet }()
	return fn()
}

// note adds rec to every trace that is on.
func (r *Rank) note(rec *Record) {
	rec.Where = r.where()
	for _, t := range r.traces {
		t.Records = append(t.Records, rec)
	}
}

// finish completes rec when its call has ended.
func (rec *Record) finish(res comm.Result, since time.Time) {
	rec.Wire = res.Wire
	rec.Seconds = time.Since(since).Seconds()
	rec.Predicted = Predict(res.Wire)
}

// Predict returns the seconds that a call is expected to take in which the
// rank sends wire bytes, by the cost model of package mesh.
func Predict(wire int) float64 { return mesh.Alpha + mesh.Beta*float64(wire) }
