package report

import (
	"cmp"
	"slices"
	"strings"

	"tpsh/runtime/timeline"
)

// A sum is what events add up to. Times are nanoseconds.
type sum struct {
	Compute int64   `json:"compute"`
	Comm    int64   `json:"comm"` // with waiting
	Wait    int64   `json:"wait"`
	Ops     int     `json:"ops"`
	Calls   int     `json:"calls"`
	FLOPs   int64   `json:"flops"`
	Bytes   int64   `json:"bytes"` // payload
	Wire    int64   `json:"wire"`  // sent
	Peak    int64   `json:"peak"`  // bytes of tensors in use, at most
	Steps   int     `json:"steps"`
	Predict float64 `json:"predict"` // nanoseconds that calls were predicted to take
}

// add counts one event, of which wait was waiting.
func (s *sum) add(e *timeline.Event, wait int64) {
	s.Steps = max(s.Steps, e.Step)
	if e.Group == "" {
		s.Ops++
		s.Compute += e.Duration
		s.FLOPs += e.FLOPs
		s.Peak = max(s.Peak, inUse(e))
		return
	}
	s.Calls++
	s.Comm += e.Duration
	s.Wait += wait
	s.Bytes += e.Bytes
	s.Wire += e.Wire
	s.Predict += e.Predicted * 1e9
}

func (b *builder) sumOf(r *timeline.Rank) (s sum) {
	for i := range r.Events {
		s.add(&r.Events[i], b.waits[&r.Events[i]])
	}
	return s
}

func sumInts(list []int64) (n int64) {
	for _, v := range list {
		n += v
	}
	return n
}

// matrix returns how many bytes each rank sent to each: messages, and collectives as
// the message schedule has them.
func (b *builder) matrix() [][]int64 {
	place := map[int]int{}
	for i, r := range b.ranks {
		place[r.Rank] = i
	}
	m := make([][]int64, len(b.ranks))
	for i, r := range b.ranks {
		m[i] = make([]int64, len(b.ranks))
		for k := range r.Events {
			e := &r.Events[k]
			if to, known := place[e.Peer]; known && e.Name == "send" {
				m[i][to] += e.Bytes
			}
			for j, n := range e.To {
				if to, known := place[e.Ranks[j]]; known {
					m[i][to] += int64(n)
				}
			}
		}
	}
	return m
}

// A callData is the calls of one operation on groups along the same mesh dims:
// what the cost model says beside what was measured. A call's time is that of the
// member that waited least.
type callData struct {
	Op       string  `json:"op"`
	Dims     string  `json:"dims"`
	Size     int     `json:"size"` // of the groups
	Calls    int     `json:"calls"`
	Bytes    int64   `json:"bytes"` // of all members
	Wire     int64   `json:"wire"`
	Predict  float64 `json:"predict"`  // nanoseconds
	Measured int64   `json:"measured"` // nanoseconds
}

func (b *builder) calls() []callData {
	type key struct {
		op, dims string
		size     int
	}
	all := map[key]*callData{}
	for _, list := range b.members {
		e := list[0].event
		for _, m := range list {
			if m.event.Name == "recv" || len(list) == 1 {
				e = m.event
			}
		}
		k := key{e.Name, strings.Join(e.Dims, ","), max(len(e.Ranks), len(list))}
		if e.Name == "recv" {
			k.op = "send and recv"
		}
		c := all[k]
		if c == nil {
			c = &callData{Op: k.op, Dims: k.dims, Size: k.size}
			all[k] = c
		}
		c.Calls++
		least, predicted := int64(-1), 0.0
		for _, m := range list {
			c.Bytes += m.event.Bytes
			c.Wire += m.event.Wire
			predicted = max(predicted, m.event.Predicted*1e9)
			if took := m.event.Duration - b.waits[m.event]; m.event.Name != "send" && (least < 0 || took < least) {
				least = took
			}
		}
		c.Predict += predicted
		c.Measured += max(least, 0)
	}
	list := []callData{}
	for _, c := range all {
		list = append(list, *c)
	}
	slices.SortFunc(list, func(x, y callData) int {
		return cmp.Or(cmp.Compare(y.Wire, x.Wire), cmp.Compare(x.Op, y.Op), cmp.Compare(x.Dims, y.Dims), cmp.Compare(x.Size, y.Size))
	})
	return list
}
