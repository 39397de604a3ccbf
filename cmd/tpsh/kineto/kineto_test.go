package kineto

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// nccl returns the trace of a rank of two: a kernel that computes, two calls of
// NCCL, and the Python frames around the launch of the first.
func nccl(rank int, start, first float64) string {
	kernel := func(name, op string, ts, dur float64, corr, elements int) string {
		return fmt.Sprintf(`{"ph": "X", "cat": "kernel", "name": %q, "pid": 0, "tid": 20, "ts": %g, "dur": %g, "args": {"External id": 5, "correlation": %d, "stream": 20,
			"Collective name": %q, "In msg nelems": %d, "Out msg nelems": %d, "Group size": 2, "dtype": "BFloat16", "Process Group Name": "7", "Process Group Description": "tp"}}`,
			name, ts, dur, corr, op, elements, elements)
	}
	return fmt.Sprintf(`{"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": %d, "world_size": 2, "pg_config": []}, "traceEvents": [
		{"ph": "M", "name": "process_name", "pid": 0, "args": {"name": "python"}},
		{"ph": "X", "cat": "python_function", "name": "train.py(3): step", "pid": 1, "tid": 1, "ts": 1, "dur": 500, "args": {"CallFrom": "train.py:90"}},
		{"ph": "X", "cat": "python_function", "name": "torch/distributed/c10d_logger.py(80): wrapper", "pid": 1, "tid": 1, "ts": 5, "dur": 20, "args": {"CallFrom": "train.py:12"}},
		{"ph": "X", "cat": "python_function", "name": "torch/distributed/distributed_c10d.py(1): all_reduce", "pid": 1, "tid": 1, "ts": 6, "dur": 18, "args": {"CallFrom": "torch/distributed/c10d_logger.py:83"}},
		{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernelExC", "pid": 1, "tid": 1, "ts": 10, "dur": 2, "args": {"correlation": 41}},
		{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 100, "dur": 300, "args": {"correlation": 40}},
		%s, %s]}`, rank,
		kernel("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "allreduce", start, first, 41, 1000),
		kernel("ncclDevKernel_AllGather_RING_LL(x)", "_allgather_base", 1000, 50, 42, 500))
}

func read(t *testing.T, text string) *Trace {
	t.Helper()
	tr := &Trace{Rank: -1}
	if _, err := tr.read(strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	return tr
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-12 }

func TestNCCL(t *testing.T) {
	s := Summarize([]*Trace{read(t, nccl(1, 300, 100)), read(t, nccl(0, 200, 300))})
	if len(s.Ranks) != 2 || s.Ranks[0].Rank != 0 || s.Ranks[1].Rank != 1 {
		t.Fatalf("ranks %+v", s.Ranks)
	}
	r := s.Ranks[0]
	if !near(r.Compute, 300e-6) || !near(r.Communication, 350e-6) || !near(r.Hidden, 200e-6) || !near(r.Wait, 200e-6) || r.Calls != 2 || r.Bytes != 3000 {
		t.Errorf("rank 0: %+v", r)
	}
	if c := s.Calls[0]; c.Op != "all_reduce" || c.Group != "7:tp" || c.Where != "train.py:12" || c.Calls != 2 || c.Bytes != 4000 || !near(c.Time, 400e-6) || !near(c.Wait, 200e-6) {
		t.Errorf("first row: %+v", c)
	}
	if c := s.Calls[1]; c.Op != "all_gather" || c.Where != "" || c.Bytes != 2000 {
		t.Errorf("second row: %+v", c)
	}
	if len(s.Stragglers) != 1 || s.Stragglers[0].Rank != 1 || s.Stragglers[0].Calls != 1 || s.Stragglers[0].Where != "train.py:12" {
		t.Errorf("stragglers: %+v", s.Stragglers)
	}
}

// Two ranks of a job on gloo, PyTorch 2.15: rank 1 sleeps before it reduces its
// gradients at line 12.
func TestGloo(t *testing.T) {
	var traces []*Trace
	for _, n := range []string{"trace_1.json.gz", "trace_0.json.gz"} {
		tr, err := Read(filepath.Join("testdata/gloo", n), 0)
		if err != nil {
			t.Fatal(err)
		}
		traces = append(traces, tr...)
	}
	s := Summarize(traces)
	if len(s.Calls) != 2 || s.Calls[0].Where != "train.py:12" || s.Calls[0].Calls != 16 || s.Calls[0].Bytes != 2*2*4*(256*256+256+16*256+16) || s.Calls[0].Group != "0:default_pg" {
		t.Errorf("rows %+v", s.Calls)
	}
	if s.Calls[1].Where != "train.py:22" || s.Calls[1].Bytes != 4*4<<20 {
		t.Errorf("rows %+v", s.Calls)
	}
	if l := s.Stragglers[0]; l.Rank != 1 || l.Where != "train.py:12" || l.Wait < 0.1 {
		t.Errorf("stragglers %+v", s.Stragglers)
	}
	var text strings.Builder
	if err := s.WriteText(&text); err != nil || !strings.Contains(text.String(), "rank 1 came last in") {
		t.Errorf("%v:\n%s", err, text.String())
	}
	one := Summarize(traces[:1])
	if len(one.Missing) != 1 || one.Missing[0] != "rank 0: no trace" {
		t.Errorf("missing %q", one.Missing)
	}
}

// Where the profiler saw neither a device nor gloo, PyTorch's own records serve.
func TestRecords(t *testing.T) {
	tr := read(t, `[{"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "ts": "10", "dur": 5, "tid": "a", "args": {"Collective name": "broadcast", "In msg nelems": "8", "dtype": "Float", "Process Group Name": "0"}},
		{"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "ts": 20, "dur": 5, "args": {"Collective name": "wait"}}]`)
	if len(tr.Calls) != 1 || tr.Calls[0].Op != "broadcast" || tr.Calls[0].Bytes != 32 || tr.Calls[0].Group != "0" {
		t.Errorf("calls %+v", tr.Calls)
	}
}

// own is a trace as tpsh writes it: two ranks in one file, which meet twice and send
// between.
const own = `{"traceEvents": [
	{"ph": "M", "name": "process_name", "pid": 0, "args": {"name": "rank 0"}},
	{"ph": "X", "cat": "cpu_op", "name": "matmul", "pid": 0, "tid": 0, "ts": 0, "dur": 50, "args": {"line": "a.star:1:1"}},
	{"ph": "X", "cat": "communication", "name": "all_reduce", "pid": 0, "tid": 1, "ts": 50, "dur": 300, "args": {"Process Group Name": "tp [0,1]", "bytes": 40, "line": "a.star:2:3"}},
	{"ph": "X", "cat": "communication", "name": "send", "pid": 0, "tid": 1, "ts": 400, "dur": 5, "args": {"Process Group Name": "tp [0,1]", "bytes": 8, "line": "a.star:3:3"}},
	{"ph": "X", "cat": "communication", "name": "all_reduce", "pid": 0, "tid": 1, "ts": 500, "dur": 100, "args": {"Process Group Name": "tp [0,1]", "bytes": 40, "line": "a.star:2:3"}},
	{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "rank 1"}},
	{"ph": "X", "cat": "communication", "name": "all_reduce", "pid": 1, "tid": 1, "ts": 250, "dur": 100, "args": {"Process Group Name": "tp [0,1]", "bytes": 40, "line": "a.star:2:3"}},
	{"ph": "X", "cat": "communication", "name": "all_reduce", "pid": 1, "tid": 1, "ts": 500, "dur": 100, "args": {"Process Group Name": "tp [0,1]", "bytes": 40, "line": "a.star:2:3"}}
	], "distributedInfo": {"world_size": 2, "backend": "tpsh"}}`

// A trace of tpsh has all ranks in one file, and says the lines itself.
func TestOwn(t *testing.T) {
	list, err := (&Trace{}).read(strings.NewReader(own))
	if err != nil || len(list) != 2 {
		t.Fatalf("%d traces, %v", len(list), err)
	}
	s := Summarize(list)
	if r := s.Ranks[0]; r.Rank != 0 || r.Calls != 3 || r.Bytes != 88 || !near(r.Wait, 200e-6) || !near(r.Compute, 50e-6) {
		t.Errorf("rank 0: %+v", r)
	}
	if c := s.Calls[0]; c.Op != "all_reduce" || c.Calls != 4 || c.Bytes != 160 || c.Group != "tp [0,1]" || c.Where != "a.star:2:3" || !near(c.Wait, 200e-6) {
		t.Errorf("all_reduce: %+v", c)
	}
	if len(s.Missing) != 0 || len(s.Stragglers) != 1 || s.Stragglers[0].Rank != 1 || s.Stragglers[0].Calls != 1 {
		t.Errorf("missing %v, stragglers %+v", s.Missing, s.Stragglers)
	}
}

// The tests that tpsh test traced into one file stay apart.
func TestOwnTests(t *testing.T) {
	text := strings.NewReplacer(`"rank 0"`, `"test_a (n=1, inproc), rank 0"`, `"rank 1"`, `"test_b (n=1, inproc), rank 0"`).Replace(own)
	list, err := (&Trace{}).read(strings.NewReader(text))
	if err != nil || len(list) != 2 {
		t.Fatalf("%d traces, %v", len(list), err)
	}
	s := Summarize(list)
	if s.Ranks[1].name() != "test_b (n=1, inproc) 0" || len(s.Stragglers) != 0 || len(s.Missing) != 0 {
		t.Errorf("%+v", s)
	}
}

func TestErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                             "a file of no bytes",
		"hello":                        "no trace: it is not JSON at byte 1 (invalid character 'h'",
		" ":                            "ends in the middle",
		"7":                            "no trace",
		`{"a": 1}`:                     "it has no traceEvents",
		`{"traceEvents": 1}`:           "no list",
		`{"traceEvents": [`:            "ends in the middle",
		`{"traceEvents": [{]}`:         "invalid character",
		`{"traceEvents": [{"ph": 1}]}`: "cannot unmarshal",
		"\x1f\x8b\x08":                 "ends in the middle",
	} {
		if _, err := (&Trace{}).read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	path := filepath.Join(t.TempDir(), "rank7.pt.trace.json.gz")
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	fmt.Fprint(z, `{"traceEvents": []}`)
	z.Close()
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	if tr, err := Read(path, 3); err != nil || tr[0].Rank != 7 {
		t.Errorf("%+v, %v", tr, err)
	}
}

// Calls of a plan meet those of the trace of their size, in order, again for
// every step.
func TestCompare(t *testing.T) {
	tr := &Trace{Rank: 3}
	for i, c := range []struct {
		op    string
		bytes int64
		where string
	}{{"all_reduce", 8, "a"}, {"all_reduce", 4, "b"}, {"all_reduce", 8, "c"}, {"all_reduce", 8, "a"}, {"broadcast", 1, "d"}, {"broadcast", 1, "d"}} {
		tr.Calls = append(tr.Calls, &Call{Op: c.op, Bytes: c.bytes, Where: c.where, Span: Span{0, float64(i + 1)}})
	}
	s := &Summary{waits: map[*Call]float64{tr.Calls[1]: 1e-6}}
	got := ""
	for _, r := range s.Compare(tr, []Planned{{"all_reduce", 8, 1e-6, "p"}, {"all_reduce", 8, 2e-6, "q"}, {"all_reduce", 4, 3e-6, "r"}, {"barrier", 0, 4e-6, "s"}}) {
		got += fmt.Sprintf("%s/%s %d of %.1f; ", r.Planned, r.Measured, r.Calls, r.Seconds*1e6)
	}
	want := "p/a 2 of 2.5; q/c 1 of 3.0; r/b 1 of 1.0; s/ 0 of 0.0; /d 2 of 5.5; "
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// One event may not fill the memory.
func TestLargeValue(t *testing.T) {
	long := io.MultiReader(strings.NewReader(`{"traceEvents": [{"name": "`), io.LimitReader(letters{}, maxValue+1))
	if _, err := (&Trace{}).read(long); err == nil || !strings.Contains(err.Error(), "a value of over 32 MiB") {
		t.Errorf("got %v", err)
	}
}

type letters struct{}

func (letters) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'a'
	}
	return len(p), nil
}

func TestSpans(t *testing.T) {
	u := Spans{{5, 7}, {1, 2}, {2, 4}, {6, 6.5}}.union()
	if fmt.Sprint(u) != "[[1, 4] [5, 7]]" {
		t.Errorf("union %v", u)
	}
	if got := fmt.Sprint(u.and(Spans{{0, 1.5}, {3, 6}})); got != "[[1, 1.5] [3, 4] [5, 6]]" {
		t.Errorf("intersection %v", got)
	}
}

func FuzzTrace(f *testing.F) {
	f.Add([]byte(nccl(0, 200, 300)))
	f.Add([]byte(`[{"ph": "X", "cat": "cpu_op", "name": "gloo:all_reduce", "ts": 10, "dur": 5, "args": {"Input Dims": [[4]], "Input type": ["float"]}}]`))
	f.Add([]byte(own))
	f.Fuzz(func(t *testing.T, b []byte) {
		list, err := (&Trace{}).read(bytes.NewReader(b))
		if err != nil {
			return
		}
		if err := Summarize(append(list, list...)).WriteText(new(bytes.Buffer)); err != nil {
			t.Fatal(err)
		}
	})
}
