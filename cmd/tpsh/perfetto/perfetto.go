// Package perfetto writes what ranks did as a trace in Chrome's JSON format, which
// Perfetto, chrome://tracing and tools for the traces of PyTorch's profiler read.
//
// A rank is a process of the trace. Its first thread has the operations of its
// tensors, and each group that it communicates in has a thread of its own. Every
// event is a slice with arguments: line, region, module, phase, bytes. Arrows lead
// from each send to its receive, and from the member of a collective that called
// last, for whom the others had waited, to each of the others. Counters show the
// bytes of large tensors in use, and those that were sent. Where the profiler of
// PyTorch has a name for an argument, it has that name: "Collective name", "In msg
// nelems", "Group size", "Process Group Name", "dtype".
//
// For example:
//
//	err := perfetto.Write(f, []perfetto.Process{{Name: "rank 0", Rank: r0}, {Name: "rank 1", Rank: r1}})
//
// The format: "Trace Event Format", Google, 2016.
package perfetto

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"tpsh/runtime/timeline"
)

// A Process is a rank of one run, with the name that the trace gives it. The Job
// tells runs apart whose ranks have the same numbers.
type Process struct {
	Name string
	Job  string
	Rank *timeline.Rank
}

// An event is one of the format.
type event struct {
	Name string  `json:"name"`
	Cat  string  `json:"cat,omitempty"`
	Ph   string  `json:"ph"`
	TS   float64 `json:"ts"` // microseconds
	Dur  float64 `json:"dur,omitempty"`
	PID  int     `json:"pid"`
	TID  int     `json:"tid"`
	ID   int     `json:"id,omitempty"`
	BP   string  `json:"bp,omitempty"`
	Args any     `json:"args,omitempty"`
}

// computing is the thread of operations; those of groups follow.
const computing = 0

// A writer writes the events of all processes.
type writer struct {
	out   *bufio.Writer
	first bool
	err   error
	begin int64 // nanoseconds since 1970 of the first event
	flows map[string][]end
	order []string // the keys of flows, in the order of the events
}

// An end is where an arrow may begin or end.
type end struct {
	pid, tid    int
	begin, stop int64
	sends       bool
}

// Write writes a trace of processes. The clocks of those of a job are aligned first;
// see timeline.Align.
func Write(w io.Writer, processes []Process) error {
	jobs := map[string][]*timeline.Rank{}
	for _, p := range processes {
		jobs[p.Job] = append(jobs[p.Job], p.Rank)
	}
	for _, ranks := range jobs {
		timeline.Align(ranks)
	}
	t := &writer{out: bufio.NewWriter(w), first: true, flows: map[string][]end{}}
	for _, p := range processes {
		for i := range p.Rank.Events {
			if b := p.Rank.Events[i].Begin; t.begin == 0 || b < t.begin {
				t.begin = b
			}
		}
	}
	fmt.Fprint(t.out, `{"schemaVersion":1,"displayTimeUnit":"ns","traceEvents":[`)
	for pid, p := range processes {
		t.process(pid, p)
	}
	t.arrows()
	fmt.Fprintf(t.out, "\n],\"distributedInfo\":{\"world_size\":%d,\"backend\":\"tpsh\"}}\n", len(processes))
	if t.err != nil {
		return t.err
	}
	return t.out.Flush()
}

// add writes one event.
func (t *writer) add(e event) {
	data, err := json.Marshal(e)
	if err != nil && t.err == nil {
		t.err = err
	}
	if !t.first {
		t.out.WriteByte(',')
	}
	t.first = false
	t.out.WriteByte('\n')
	t.out.Write(data)
}

// name writes what a process or a thread is called, and its place among others.
func (t *writer) name(what string, pid, tid int, name string, place int) {
	t.add(event{Name: what + "_name", Ph: "M", PID: pid, TID: tid, Args: map[string]any{"name": name}})
	t.add(event{Name: what + "_sort_index", Ph: "M", PID: pid, TID: tid, Args: map[string]any{"sort_index": place}})
}

// micro returns a time in microseconds since the first event.
func (t *writer) micro(ns int64) float64 { return float64(ns-t.begin) / 1e3 }

// process writes the events of one rank.
func (t *writer) process(pid int, p Process) {
	t.name("process", pid, computing, p.Name, pid)
	t.name("thread", pid, computing, "computing", computing)
	threads, sent := map[string]int{}, int64(0)
	events := slices.Clone(p.Rank.Events)
	slices.SortStableFunc(events, func(a, b timeline.Event) int { return int(a.Begin - b.Begin) })
	for i := range events {
		e := &events[i]
		if e.Group == "" {
			t.operation(pid, e)
			continue
		}
		tid, known := threads[e.Group]
		if !known {
			tid = len(threads) + 1
			threads[e.Group] = tid
			t.name("thread", pid, tid, "communication: "+groupName(e), tid)
		}
		t.call(pid, tid, p, e)
		if sent += e.Wire; e.Wire > 0 {
			t.add(event{Name: "bytes sent", Ph: "C", TS: t.micro(e.Begin + e.Duration), PID: pid, Args: map[string]any{"bytes": sent}})
		}
	}
}

// groupName returns what the thread of a group is called.
func groupName(e *timeline.Event) string {
	if len(e.Dims) > 0 {
		return strings.Join(e.Dims, ",") + " " + ranksText(e.Ranks)
	}
	return ranksText(e.Ranks)
}

// ranksText lists ranks, but for the middle of many.
func ranksText(ranks []int) string {
	if len(ranks) > 8 {
		return fmt.Sprintf("%d ranks from %d to %d", len(ranks), ranks[0], ranks[len(ranks)-1])
	}
	return strings.ReplaceAll(fmt.Sprint(ranks), " ", ",")
}

// where are the arguments of every slice.
func where(e *timeline.Event) map[string]any {
	args := map[string]any{}
	for name, text := range map[string]string{"line": e.Line, "forward line": e.Forward, "region": e.Region, "module": e.Module, "phase": e.Phase, "pass": e.Pass, "dtype": e.DType, "placements": e.Placements, "implicit": e.Implicit} {
		if text != "" {
			args[name] = text
		}
	}
	if e.Step > 0 {
		args["step"] = e.Step
	}
	if e.Shape != nil {
		args["shape"] = e.Shape
	}
	return args
}

func (t *writer) operation(pid int, e *timeline.Event) {
	args := where(e)
	args["flops"], args["bytes touched"] = e.FLOPs, e.Touched
	args["predicted_us"], args["measured_us"] = e.Predicted*1e6, float64(e.Duration)/1e3
	t.add(event{Name: e.Name, Cat: "cpu_op", Ph: "X", TS: t.micro(e.Begin), Dur: float64(e.Duration) / 1e3, PID: pid, TID: computing, Args: args})
	if e.Memory > 0 {
		t.add(event{Name: "memory", Ph: "C", TS: t.micro(e.Begin + e.Duration), PID: pid, Args: map[string]any{"bytes": e.Memory}})
	}
}

// kinetoNames are the names that PyTorch's profiler gives collectives.
var kinetoNames = map[string]string{
	"all_reduce": "allreduce", "all_gather": "allgather", "reduce_scatter": "reduce_scatter", "broadcast": "broadcast",
	"all_to_all": "all_to_all", "reduce": "reduce", "gather": "gather", "scatter": "scatter", "barrier": "barrier",
}

func (t *writer) call(pid, tid int, p Process, e *timeline.Event) {
	args := where(e)
	name := e.Name
	if known := kinetoNames[name]; known != "" {
		name = known
	}
	args["Collective name"], args["Group size"], args["Process Group Name"], args["Process Group Ranks"] = name, len(e.Ranks), groupName(e), e.Ranks
	if size := itemSize(e.DType); size > 0 {
		args["In msg nelems"] = e.Bytes / size
	}
	args["bytes"], args["wire_bytes"], args["call"] = e.Bytes, e.Wire, e.Number
	args["predicted_us"], args["measured_us"] = e.Predicted*1e6, float64(e.Duration)/1e3
	if e.Peer >= 0 {
		args["peer"], args["tag"] = e.Peer, e.Tag
	}
	key := p.Job + "|" + p.Rank.Key(e)
	t.add(event{Name: e.Name, Cat: "communication", Ph: "X", TS: t.micro(e.Begin), Dur: max(float64(e.Duration)/1e3, 0.001), PID: pid, TID: tid, Args: args})
	if _, known := t.flows[key]; !known {
		t.order = append(t.order, key)
	}
	t.flows[key] = append(t.flows[key], end{pid, tid, e.Begin, e.Begin + max(e.Duration, 1), e.Name == "send"})
}

// itemSize returns the bytes of an element; 0 where that is not known.
func itemSize(dtype string) int64 {
	switch dtype {
	case "bool", "uint8", "int8":
		return 1
	case "float16", "bfloat16", "int16", "uint16":
		return 2
	case "float32", "int32", "uint32":
		return 4
	case "float64", "int64", "uint64", "complex64":
		return 8
	case "complex128":
		return 16
	}
	return 0
}

// arrows writes the flows: of a message from its send to its receive, of a
// collective from the member that came last to each of the others.
func (t *writer) arrows() {
	id := 0
	for _, key := range t.order {
		ends := t.flows[key]
		from := slices.IndexFunc(ends, func(e end) bool { return e.sends })
		if from < 0 {
			from = 0
			for i := range ends {
				if ends[i].begin > ends[from].begin {
					from = i
				}
			}
		}
		for i, to := range ends {
			if i == from {
				continue
			}
			id++
			t.add(event{Name: "flow", Cat: "communication", Ph: "s", TS: t.micro(ends[from].begin), PID: ends[from].pid, TID: ends[from].tid, ID: id})
			t.add(event{Name: "flow", Cat: "communication", Ph: "f", BP: "e", TS: max(t.micro(to.begin), min(t.micro(to.stop), t.micro(ends[from].begin))), PID: to.pid, TID: to.tid, ID: id})
		}
	}
}
