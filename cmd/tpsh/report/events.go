package report

import (
	"fmt"
	"slices"
	"strings"

	"tpsh/runtime/timeline"
)

// mostEvents is how many events a page draws at most: with them it stays below 2 MB.
const mostEvents = 60_000

// columns are the events of a rank that are drawn, an array for each field. Begins
// are differences from the one before.
type columns struct {
	Begin   []int64 `json:"b"`
	Length  []int64 `json:"d"`
	Thread  []int   `json:"t"`
	Name    []int   `json:"n"`
	Line    []int   `json:"l"`
	Module  []int   `json:"m"`
	Region  []int   `json:"r"`
	Phase   []int   `json:"p"`
	Detail  []int   `json:"x"` // shape, dtype, placements
	Wire    []int64 `json:"w"`
	Wait    []int64 `json:"v"`
	Predict []int64 `json:"c"` // nanoseconds
	Call    []int   `json:"k"` // a number that the members of a call have in common; -1 for operations
}

// draw fills the columns of all ranks with at most budget events: the longest, and
// of each rank its share.
func (b *builder) draw(budget int) {
	share := budget / max(len(b.ranks), 1)
	calls := map[string]int{}
	for i, r := range b.ranks {
		d := b.data.Ranks[i]
		d.Threads = []string{"computing"}
		threads := map[string]int{"": 0}
		last, shortest := b.begin, shortestOf(r, share)
		for k := range r.Events {
			e := &r.Events[k]
			t, known := threads[e.Group]
			if !known {
				t = len(d.Threads)
				threads[e.Group] = t
				d.Threads = append(d.Threads, groupName(e))
			}
			if e.Duration < shortest || len(d.Begin) == share {
				continue
			}
			call := -1
			if e.Group != "" {
				key := r.Key(e)
				if _, known := calls[key]; !known {
					calls[key] = len(calls)
				}
				call = calls[key]
			}
			d.Begin, d.Length = append(d.Begin, e.Begin-last), append(d.Length, e.Duration)
			last = e.Begin
			d.Thread, d.Call = append(d.Thread, t), append(d.Call, call)
			d.Name, d.Line = append(d.Name, b.number(e.Name)), append(d.Line, b.number(e.Line))
			d.Module, d.Region = append(d.Module, b.number(e.Module)), append(d.Region, b.number(e.Region))
			d.Phase, d.Detail = append(d.Phase, b.number(e.Phase)), append(d.Detail, b.number(detail(e)))
			d.Wire, d.Wait = append(d.Wire, e.Wire), append(d.Wait, b.waits[e])
			d.Predict = append(d.Predict, int64(e.Predicted*1e9))
			b.data.Shown++
		}
	}
}

// shortestOf returns the duration of the shortest event that is drawn if only so
// many are.
func shortestOf(r *timeline.Rank, share int) int64 {
	if len(r.Events) <= share || share == 0 {
		return 0
	}
	all := make([]int64, len(r.Events))
	for i := range r.Events {
		all[i] = r.Events[i].Duration
	}
	slices.Sort(all)
	return all[len(all)-share]
}

// detail describes the tensor of an event.
func detail(e *timeline.Event) string {
	text := e.DType
	if e.Shape != nil {
		text += strings.ReplaceAll(fmt.Sprint(e.Shape), " ", ", ")
	}
	if e.Placements != "" {
		text += " " + e.Placements
	}
	if e.Implicit != "" {
		text += ", unasked, for " + e.Implicit
	}
	return text
}

// groupName returns what the thread of a group is called.
func groupName(e *timeline.Event) string {
	text := strings.Join(e.Dims, ",")
	if text != "" {
		if strings.Trim(text, "0123456789,") == "" {
			text = "dim " + text
		}
		text += " "
	}
	if n := len(e.Ranks); n > 8 {
		return fmt.Sprintf("%s%d ranks, %d to %d", text, n, e.Ranks[0], e.Ranks[n-1])
	}
	if e.Ranks == nil {
		return e.Group
	}
	return text + strings.ReplaceAll(fmt.Sprint(e.Ranks), " ", ", ")
}

// A memory is the bytes in use over time, by kind; with one row of all tensors if
// kinds are not known.
type memory struct {
	Time []int64   `json:"time"` // nanoseconds
	Rows [][]int64 `json:"rows"`
}

// mostPoints is how many points a curve has at most.
const mostPoints = 400

// memoryOf returns the curve of a rank; nil without a point. Where points are left out
// the highest of their neighbours stays.
func (b *builder) memoryOf(r *timeline.Rank) *memory {
	var points []*timeline.Event
	for i := range r.Events {
		if e := &r.Events[i]; e.Group == "" && (e.Kinds != nil || e.Memory > 0) {
			points = append(points, e)
		}
	}
	if len(points) == 0 {
		return nil
	}
	m := &memory{}
	byKind := points[0].Kinds != nil
	every := (len(points) + mostPoints - 1) / mostPoints
	for at := 0; at < len(points); at += every {
		top := points[at]
		for _, e := range points[at:min(at+every, len(points))] {
			if inUse(e) > inUse(top) {
				top = e
			}
		}
		m.Time = append(m.Time, top.Begin+top.Duration-b.begin)
		row := top.Kinds
		if !byKind {
			row = []int64{top.Memory}
		}
		for k, v := range row {
			if len(m.Rows) <= k {
				m.Rows = append(m.Rows, nil)
			}
			m.Rows[k] = append(m.Rows[k], v)
		}
	}
	return m
}

// inUse returns the bytes of tensors in use after an operation: those that the rank's
// program has, if they are counted by kind, and else those of large storage, of which
// some may be kept for later.
func inUse(e *timeline.Event) int64 {
	if e.Kinds != nil {
		return sumInts(e.Kinds)
	}
	return e.Memory
}
