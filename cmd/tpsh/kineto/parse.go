package kineto

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
)

// A parser gathers the events of a trace.
type parser struct {
	t     *Trace
	in    *bounded
	info  distributed
	found bool

	own                           map[string]*Trace // of tpsh's ranks, by process
	kernels, annotations, records []*Call
	queued                        []queued // where calls of gloo were made
	launches                      map[int64]place
	sites                         map[string][]site // by thread
	kernelBusy, opBusy            Spans
}

// A place is a moment on a thread.
type place struct {
	tid string
	at  float64
}

// A queued is PyTorch's operation that hands a call to gloo.
type queued struct {
	op string
	place
}

// A site is a call that a line of the user's program made.
type site struct {
	Span
	where string
}

func newParser(t *Trace) *parser {
	return &parser{t: t, launches: map[int64]place{}, sites: map[string][]site{}}
}

// take keeps what an event says.
func (p *parser) take(e *event) {
	ts, ok1 := num(e.Ts)
	dur, ok2 := num(e.Dur)
	if !ok1 || !ok2 || dur < 0 || math.IsInf(ts+dur, 0) || math.IsNaN(ts+dur) {
		return
	}
	s := Span{ts, ts + dur}
	if own := p.own[str(e.Pid)]; own != nil {
		p.takeOwn(own, e, s)
		return
	}
	if e.Cat != "" && e.Cat != "Trace" {
		widen(&p.t.Whole, s)
	}
	switch e.Cat {
	case "kernel":
		p.takeKernel(e, s)
	case "cuda_runtime", "cuda_driver":
		if c, ok := num(e.Args.Corr); ok {
			p.launches[int64(c)] = place{str(e.Tid), ts}
		}
	case "python_function":
		p.takeFrame(e, s)
	case "cpu_op", "user_annotation":
		p.takeOp(e, s)
	}
}

// widen makes w hold s.
func widen(w *Span, s Span) {
	if *w == (Span{}) {
		*w = s
	}
	w.Start, w.End = min(w.Start, s.Start), max(w.End, s.End)
}

func (p *parser) takeKernel(e *event, s Span) {
	if !strings.HasPrefix(e.Name, "nccl") && !strings.HasPrefix(e.Name, "rccl") && e.Args.Name == nil {
		p.kernelBusy = append(p.kernelBusy, s)
		return
	}
	c := p.recorded(e, s)
	if c.Op == "" {
		c.Op = kernelOp(e.Name)
	}
	if corr, ok := num(e.Args.Corr); ok {
		c.corr = int64(corr)
	}
	p.kernels = append(p.kernels, c)
}

// kernelOp returns the operation of a kernel such as
// ncclDevKernel_AllReduce_Sum_f32_RING_LL(…).
func kernelOp(name string) string {
	parts := strings.Split(name, "_")
	if len(parts) < 2 {
		return name
	}
	op, _, _ := strings.Cut(parts[1], "(")
	return plain(op)
}

// recorded makes the call of an event with the arguments of a collective.
func (p *parser) recorded(e *event, s Span) *Call {
	c := &Call{Op: plain(str(e.Args.Name)), Bytes: -1, Span: s, tid: str(e.Tid)}
	if n, ok := num(e.Args.In); ok {
		if size := dtypeSize(str(e.Args.DType)); size > 0 && n >= 0 && n < 1<<53 {
			c.Bytes = int64(n) * size
		}
	}
	if name := str(e.Args.PG); name != "" {
		c.Group, c.known = groupName(name, str(e.Args.PGDesc)), true
	}
	return c
}

func groupName(name, desc string) string {
	if desc == "" || desc == "undefined" {
		return name
	}
	return name + ":" + desc
}

// ops has the names by which tpsh and PyTorch's users call what traces write in
// other ways: allreduce, AllReduce, _allgather_base.
var ops = map[string]string{
	"allreduce": "all_reduce", "allgather": "all_gather", "allgatherbase": "all_gather", "allgatherintotensor": "all_gather",
	"reducescatter": "reduce_scatter", "reducescatterbase": "reduce_scatter", "reducescattertensor": "reduce_scatter",
	"alltoall": "all_to_all", "alltoallbase": "all_to_all", "alltoallv": "all_to_all", "allreducecoalesced": "all_reduce",
	"allgatherintotensorcoalesced": "all_gather", "reducescattertensorcoalesced": "reduce_scatter", "sendrecv": "send_recv",
}

func plain(name string) string {
	key := strings.ToLower(strings.ReplaceAll(name, "_", ""))
	if op, ok := ops[key]; ok {
		return op
	}
	return strings.Trim(strings.ToLower(name), "_")
}

// takeFrame keeps the calls that the user's own lines made. CallFrom has the
// line; without it, the name has the function: train.py(12): step.
func (p *parser) takeFrame(e *event, s Span) {
	from := str(e.Args.CallFrom)
	if from == "" {
		file, rest, ok := strings.Cut(e.Name, "(")
		if !ok || foreign(file) {
			return
		}
		_, fn, _ := strings.Cut(rest, "): ")
		from = file + " in " + fn
	} else if foreign(from) {
		return
	}
	tid := str(e.Tid)
	p.sites[tid] = append(p.sites[tid], site{s, from})
}

// foreignFiles begin the names of files that are not the user's, as the
// profiler writes them: what precedes the folder of packages is left out.
var foreignFiles = []string{
	"torch/", "threading.py", "contextlib.py", "functools.py", "runpy.py", "queue.py", "multiprocessing/", "concurrent/", "asyncio/", "importlib/",
	"selectors.py", "socket.py", "<", "nn.Module", "lightning/", "accelerate/", "deepspeed/", "numpy/",
}

func foreign(file string) bool {
	if strings.Contains(file, "site-packages/") || strings.Contains(file, "dist-packages/") || strings.Contains(file, "/lib/python") {
		return true
	}
	return slices.ContainsFunc(foreignFiles, func(f string) bool { return strings.HasPrefix(file, f) })
}

// takeOp keeps calls of gloo, the operations that hand them to it, PyTorch's
// records of calls, and the times of other operations.
func (p *parser) takeOp(e *event, s Span) {
	switch name := e.Name; {
	case strings.HasPrefix(name, "gloo:"):
		c := &Call{Op: plain(strings.TrimPrefix(name, "gloo:")), Bytes: dimsBytes(e), Span: s, tid: str(e.Tid)}
		p.annotations = append(p.annotations, c)
	case name == "record_param_comms":
		if c := p.recorded(e, s); c.Op != "" && c.Op != "wait" {
			p.records = append(p.records, c)
		}
	case strings.HasPrefix(name, "c10d::"):
		p.queued = append(p.queued, queued{plain(strings.TrimPrefix(name, "c10d::")), place{str(e.Tid), s.Start}})
	case e.Cat == "cpu_op" && !strings.HasPrefix(name, "nccl:"):
		p.opBusy = append(p.opBusy, s)
	}
}

// dimsBytes returns the bytes of an event's inputs, or -1.
func dimsBytes(e *event) int64 {
	var dims []json.RawMessage
	var types []string
	if json.Unmarshal(e.Args.Dims, &dims) != nil || json.Unmarshal(e.Args.Types, &types) != nil || len(dims) != len(types) {
		return -1
	}
	var sum int64
	for i, raw := range dims {
		var sizes []int64
		if json.Unmarshal(raw, &sizes) != nil || types[i] == "" {
			continue
		}
		n := dtypeSize(types[i])
		for _, d := range sizes {
			if d < 0 || d > 1<<40 || n > 1<<40 {
				return -1
			}
			n *= d
		}
		sum += n
	}
	return sum
}

// dtypeSize returns the bytes of an element of a dtype as traces name it.
func dtypeSize(name string) int64 {
	switch strings.ToLower(strings.TrimPrefix(name, "c10::")) {
	case "double", "long", "long int", "int64", "float64", "complexfloat":
		return 8
	case "float", "int", "int32", "float32":
		return 4
	case "half", "bfloat16", "short", "float16", "short int":
		return 2
	case "byte", "char", "bool", "signed char", "unsigned char", "float8_e4m3fn", "float8_e5m2", "uint8", "int8":
		return 1
	case "complexdouble":
		return 16
	}
	return 0
}

// finish returns the traces of a file: of one rank of PyTorch's, of all of tpsh's.
func (p *parser) finish() ([]*Trace, error) {
	if !p.found {
		return nil, errors.New("it is no trace: it has no traceEvents")
	}
	if len(p.own) > 0 {
		return p.finishOwn(), nil
	}
	p.finishRank()
	return []*Trace{p.t}, nil
}

// finishRank chooses which events are the rank's calls and finds their lines.
func (p *parser) finishRank() {
	t := p.t
	if p.info.Rank != nil && *p.info.Rank >= 0 {
		t.Rank = *p.info.Rank
	}
	t.World = p.info.World
	for tid := range p.sites {
		slices.SortFunc(p.sites[tid], func(a, b site) int { return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.End, a.End)) })
	}
	t.Busy = p.opBusy.union()
	switch {
	case len(p.kernels) > 0:
		t.Calls, t.Busy = p.kernels, p.kernelBusy.union()
		p.placeKernels()
	case len(p.annotations) > 0:
		t.Calls = p.annotations
		p.placeAnnotations()
	default:
		t.Calls = p.records
		for _, c := range t.Calls {
			c.Where = p.where(place{c.tid, c.Span.Start})
		}
	}
	slices.SortStableFunc(t.Calls, byStart)
	p.nameGroups()
}

// byStart orders calls by when they began.
func byStart(a, b *Call) int { return cmp.Compare(a.Span.Start, b.Span.Start) }

// nameGroups names the group of calls that do not say theirs, where the rank
// has but one, and numbers the calls of each.
func (p *parser) nameGroups() {
	n := map[string]int{}
	for _, c := range p.t.Calls {
		if !c.known && len(p.info.Groups) == 1 {
			g := p.info.Groups[0]
			c.Group, c.known = groupName(g.Name, g.Desc), true
		}
		c.order = n[c.Group]
		n[c.Group]++
	}
}

func (p *parser) placeKernels() {
	for _, c := range p.t.Calls {
		if at, ok := p.launches[c.corr]; ok && c.corr != 0 {
			c.Where = p.where(at)
		}
	}
}

// placeAnnotations gives each call of gloo, which runs on a thread of its own,
// the line of the earliest operation before it that can be its own.
func (p *parser) placeAnnotations() {
	sort.SliceStable(p.queued, func(i, k int) bool { return p.queued[i].at < p.queued[k].at })
	slices.SortStableFunc(p.t.Calls, byStart)
	used := make([]bool, len(p.queued))
	first := 0 // all before it are used
	for _, c := range p.t.Calls {
		for i := first; i < len(p.queued) && p.queued[i].at <= c.Span.Start; i++ {
			if !used[i] && runsAs(p.queued[i].op, c.Op) {
				used[i] = true
				c.Where = p.where(p.queued[i].place)
				break
			}
		}
		for first < len(used) && used[first] {
			first++
		}
	}
}

// runsAs reports whether gloo runs what was handed to it under that name: a
// reduce_scatter is one of its all_reduces.
func runsAs(queued, op string) bool {
	return queued == op || op == "all_reduce" && queued == "reduce_scatter"
}

// where returns the innermost of the user's lines at a place, or "".
func (p *parser) where(at place) string {
	sites := p.sites[at.tid]
	i := sort.Search(len(sites), func(i int) bool { return sites[i].Start > at.at })
	for steps := 0; i > 0 && steps < maxSteps; steps++ {
		i--
		if sites[i].End >= at.at {
			return sites[i].where
		}
	}
	return ""
}

// maxSteps bounds how far back where looks for a frame that has not ended.
const maxSteps = 1 << 14

func (s Span) String() string { return fmt.Sprintf("[%g, %g]", s.Start, s.End) }
