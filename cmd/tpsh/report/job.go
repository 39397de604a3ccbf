package report

import (
	"fmt"
	"slices"
	"strings"

	"tpsh/runtime/timeline"
)

// A jobData is a job as page.js reads it. Times are nanoseconds since its first event.
type jobData struct {
	Name     string            `json:"name"`
	Strings  []string          `json:"strings"` // that events name by number
	Span     int64             `json:"span"`
	Ranks    []*rankData       `json:"ranks"`
	Events   int               `json:"events"` // how many there are
	Shown    int               `json:"shown"`  // how many are drawn
	Matrix   [][]int64         `json:"matrix"` // bytes sent, by rank and rank
	Lines    []lineData        `json:"lines"`
	Tree     *node             `json:"tree"`
	Regions  *node             `json:"regions"`
	Calls    []callData        `json:"calls"`
	Tensors  []timeline.Tensor `json:"tensors"`
	Warnings []warning         `json:"warnings"`
	Kinds    []string          `json:"kinds"`
}

// A rankData is a rank: its sums, its events in columns, its memory over time.
type rankData struct {
	Rank    int      `json:"rank"`
	Sum     sum      `json:"sum"`
	Threads []string `json:"threads"`
	columns
	Memory *memory `json:"memory"`
}

// A builder makes the data of one job.
type builder struct {
	data    *jobData
	ranks   []*timeline.Rank
	begin   int64 // nanoseconds since 1970 of the first event
	numbers map[string]int
	waits   map[*timeline.Event]int64
	members map[string][]member // of each call, by its key
	sources map[string]string
}

// A member is one rank's part in a call.
type member struct {
	rank  int // in ranks
	event *timeline.Event
}

func newJob(j *Job, sources map[string]string, budget int) *jobData {
	b := &builder{data: &jobData{Name: j.Name, Kinds: timeline.Kinds}, numbers: map[string]int{}, waits: map[*timeline.Event]int64{}, members: map[string][]member{}, sources: sources}
	b.ranks = slices.Clone(j.Ranks)
	slices.SortFunc(b.ranks, func(a, b *timeline.Rank) int { return a.Rank - b.Rank })
	timeline.Align(b.ranks)
	b.order()
	b.meet()
	for i, r := range b.ranks {
		b.data.Ranks = append(b.data.Ranks, &rankData{Rank: r.Rank, Sum: b.sumOf(r), Memory: b.memoryOf(r)})
		b.data.Events += len(b.ranks[i].Events)
	}
	b.draw(budget)
	b.data.Matrix = b.matrix()
	b.data.Lines = b.lines()
	b.data.Tree = b.tree("program", func(e *timeline.Event) []string { return split(e.Module, ".") })
	b.data.Regions = b.tree("program", func(e *timeline.Event) []string { return split(e.Region, "/") })
	b.data.Calls = b.calls()
	b.data.Tensors = tensorsOf(b.ranks)
	b.data.Warnings = b.warnings()
	return b.data
}

func split(text, by string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, by)
}

// order sorts events by their beginning, and finds the first and the last.
func (b *builder) order() {
	var end int64
	for _, r := range b.ranks {
		slices.SortStableFunc(r.Events, func(x, y timeline.Event) int { return int(x.Begin - y.Begin) })
		for i := range r.Events {
			e := &r.Events[i]
			if b.begin == 0 || e.Begin < b.begin {
				b.begin = e.Begin
			}
			end = max(end, e.Begin+e.Duration)
		}
	}
	b.data.Span = max(end-b.begin, 1)
}

// number returns that of a text among the job's.
func (b *builder) number(text string) int {
	n, known := b.numbers[text]
	if !known {
		n = len(b.data.Strings)
		b.numbers[text] = n
		b.data.Strings = append(b.data.Strings, text)
	}
	return n
}

// meet finds the members of each call, and how long each waited for the last.
func (b *builder) meet() {
	for i, r := range b.ranks {
		for k := range r.Events {
			if e := &r.Events[k]; e.Group != "" {
				b.members[r.Key(e)] = append(b.members[r.Key(e)], member{i, e})
			}
		}
	}
	for _, list := range b.members {
		last := int64(0)
		for _, m := range list {
			if m.event.Name != "recv" {
				last = max(last, m.event.Begin)
			}
		}
		for _, m := range list {
			if m.event.Name != "send" && last > m.event.Begin {
				b.waits[m.event] = min(last-m.event.Begin, m.event.Duration)
			}
		}
	}
}

// tensorsOf returns the named tensors of the first rank that has any, and those that
// only others have.
func tensorsOf(ranks []*timeline.Rank) []timeline.Tensor {
	var all []timeline.Tensor
	seen := map[string]bool{}
	for _, r := range ranks {
		for _, t := range r.Tensors {
			if key := fmt.Sprint(t.Name, t.Ranks, t.Placements); !seen[key] {
				seen[key] = true
				all = append(all, t)
			}
		}
	}
	return all[:min(len(all), mostTensors)]
}

// mostTensors bounds the pictures of a page.
const mostTensors = 200
