package runtime

import (
	"strings"

	"tpsh/runtime/dtype"
)

// A Sum is the total of calls that have an operation, mesh dims and a phase in
// common.
type Sum struct {
	Op    string
	Dims  []string
	Phase Phase

	Calls   int
	Bytes   int // the payload that the rank put in
	Wire    int // that it sent in the message schedule
	Ring    int // that it would send if each call went around a ring; see RingBytes
	Seconds float64
}

// Summarize returns the sums of records, in the order of the first calls.
func Summarize(records []*Record) []*Sum {
	var list []*Sum
	at := map[string]*Sum{}
	for _, r := range records {
		key := strings.Join(append([]string{r.Op, string(r.Phase)}, r.Dims...), "\x00")
		s := at[key]
		if s == nil {
			s = &Sum{Op: r.Op, Dims: r.Dims, Phase: r.Phase}
			at[key] = s
			list = append(list, s)
		}
		s.Add(&Sum{Calls: 1, Bytes: r.Bytes, Wire: r.Wire, Ring: r.RingBytes(), Seconds: r.Seconds})
	}
	return list
}

// Add adds t's counts to s.
func (s *Sum) Add(t *Sum) {
	s.Calls += t.Calls
	s.Bytes += t.Bytes
	s.Wire += t.Wire
	s.Ring += t.Ring
	s.Seconds += t.Seconds
}

// RingBytes returns the bytes that the rank would send if the call went around a ring of the
// p members: of n bytes that each puts in, 2n(p-1)/p of an all_reduce, n(p-1)/p of
// a reduce_scatter and n(p-1) of an all_gather; of n bytes that go from one to all
// or from all to one, n(p-1)/p on the average of the members. Calls that do not go
// around (messages, exchanges, gather and scatter) count as they are sent.
func (r *Record) RingBytes() int {
	p := r.On.Size()
	switch r.Op {
	case "all_reduce":
		return 2 * r.Bytes * (p - 1) / p
	case "reduce_scatter":
		return r.Bytes * (p - 1) / p
	case "all_gather":
		return r.Bytes * (p - 1)
	case "broadcast", "reduce":
		return r.tensorBytes() * (p - 1) / p
	}
	return r.Wire
}

// tensorBytes returns the bytes of the tensor of the call.
func (r *Record) tensorBytes() int {
	dt, err := dtype.Parse(r.DType)
	if err != nil {
		return r.Wire // no tensor
	}
	n := dt.Size()
	for _, size := range r.Shape {
		n *= size
	}
	return n
}
