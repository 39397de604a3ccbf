package kineto

import "tpsh/runtime/timeline"

// Timeline returns what the trace holds as events: the calls, and the times at which
// the rank computed, of which no more is known. Groups have no ranks: their names are
// all that traces tell for sure.
func (t *Trace) Timeline() *timeline.Rank {
	r := &timeline.Rank{Rank: t.Rank, Size: t.World}
	for _, s := range t.Busy {
		r.Events = append(r.Events, timeline.Event{Name: "computing", Begin: nanoseconds(s.Start), Duration: nanoseconds(s.End) - nanoseconds(s.Start), Peer: -1})
	}
	for _, c := range t.Calls {
		r.Events = append(r.Events, timeline.Event{
			Name: c.Op, Begin: nanoseconds(c.Span.Start), Duration: nanoseconds(c.Span.End) - nanoseconds(c.Span.Start), Line: c.Where,
			Group: c.Group, Number: c.order, Bytes: max(c.Bytes, 0), Peer: -1,
		})
	}
	return r
}

// nanoseconds converts a time of a trace, microseconds.
func nanoseconds(us float64) int64 { return int64(us * 1e3) }
