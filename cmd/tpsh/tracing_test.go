package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tracedScript prints what comm_trace says of a step: on each rank the number of
// calls, and their bytes.
const tracedScript = `
m = init_device_mesh("cpu", (2,), mesh_dim_names=("tp",))
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
parallelize_module(model, m, {"0": ColwiseParallel(), "2": RowwiseParallel()})
mark_step()

def step():
    loss = region("ahead", lambda: model(ones(4, 8)).sum())
    loss.backward()
    all_reduce(ones(3, dtype=float64))
    if rank() == 0:
        send(ones(5), 1, tag=4)
    else:
        recv(0, tag=4)

calls = comm_trace(step)
print(len(calls), sum([c.bytes for c in calls]), sum([c.wire_bytes for c in calls]))
`

// A chromeEvent is an event of a trace, as far as the tests look at it.
type chromeEvent struct {
	Name, Cat, Ph string
	TS, Dur       float64
	PID, TID, ID  int
	Args          struct {
		Bytes       int64
		Wire        int64 `json:"wire_bytes"`
		Step        int
		Line        string
		ForwardLine string `json:"forward line"`
		Region      string
		Module      string
		Phase       string
		Size        int     `json:"Group size"`
		Touched     int64   `json:"bytes touched"`
		Predicted   float64 `json:"predicted_us"`
		Measured    float64 `json:"measured_us"`
	}
}

// chromeTrace runs a script with --trace and returns its output and the events.
func chromeTrace(t *testing.T, transport, source string, flags ...string) (string, []chromeEvent) {
	t.Helper()
	dir := t.TempDir()
	script, path := filepath.Join(dir, "main.star"), filepath.Join(dir, "trace.json")
	if err := os.WriteFile(script, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	var out, errs strings.Builder
	args := append([]string{"run", "-n", "2", "--transport", transport, "--trace", path}, flags...)
	if got := run(&stdio{strings.NewReader(""), &out, &errs}, append(args, script)); got != 0 {
		t.Fatalf("exit status %d\n%s", got, errs.String())
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var trace struct{ TraceEvents []chromeEvent }
	if err := json.Unmarshal(data, &trace); err != nil {
		t.Fatal(err)
	}
	return out.String(), trace.TraceEvents
}

// The trace has every call that comm_trace counts, with its bytes, on every
// transport, and an arrow for each member of a collective but one and for each
// message.
func TestTraceIsWhole(t *testing.T) {
	for _, transport := range transports() {
		t.Run(transport, func(t *testing.T) {
			out, events := chromeTrace(t, transport, tracedScript, "--trace-steps", "1:2")
			want, got := map[int]string{}, map[int]string{}
			for rank := range 2 {
				var calls, bytes, wire int64
				for _, e := range events {
					if e.PID == rank && e.Ph == "X" && e.Cat == "communication" {
						calls++
						bytes += e.Args.Bytes
						wire += e.Args.Wire
					}
				}
				got[rank] = fmt.Sprint(calls, " ", bytes, " ", wire)
			}
			for _, line := range strings.Split(strings.TrimSpace(out), "\n") {
				switch rank, text, marked := strings.Cut(line, "] "); {
				case !marked:
					want[0], want[1] = line, line
				case rank == "[0":
					want[0] = text
				default:
					want[1] = text
				}
			}
			for rank := range 2 {
				if got[rank] != want[rank] {
					t.Errorf("rank %d: got %s calls and bytes, want %s", rank, got[rank], want[rank])
				}
			}
			wantArrows(t, events)
			wantPredicted(t, events)
		})
	}
}

// wantPredicted wants all that costs something to have the seconds that were predicted, beside those
// that it took.
func wantPredicted(t *testing.T, events []chromeEvent) {
	t.Helper()
	predicted := 0
	for _, e := range events {
		if e.Ph != "X" || e.Cat == "cpu_op" && e.Args.Touched == 0 {
			continue
		}
		predicted++
		if e.Args.Predicted <= 0 || math.Abs(e.Args.Measured-e.Dur) > 0.001+1e-9*e.Dur {
			t.Errorf("%s of %v µs: predicted %v µs, measured %v", e.Name, e.Dur, e.Args.Predicted, e.Args.Measured)
		}
	}
	if predicted == 0 {
		t.Error("nothing was predicted")
	}
}

// wantArrows wants as many arrows as there are calls beyond the first of each
// pair, each from one rank to the other, and not back in time.
func wantArrows(t *testing.T, events []chromeEvent) {
	t.Helper()
	calls, begins := 0, map[int]chromeEvent{}
	ends := 0
	for _, e := range events {
		switch {
		case e.Ph == "X" && e.Cat == "communication":
			calls++
		case e.Ph == "s":
			begins[e.ID] = e
		case e.Ph == "f":
			ends++
			if from := begins[e.ID]; from.PID == e.PID || from.TS > e.TS+1e-3 {
				t.Errorf("arrow %d leads from rank %d at %v to rank %d at %v", e.ID, from.PID, from.TS, e.PID, e.TS)
			}
		}
	}
	if len(begins) != calls/2 || ends != calls/2 {
		t.Errorf("%d arrows begin and %d end, want %d, one for each pair of %d calls", len(begins), ends, calls/2, calls)
	}
}

// Events say where in the program they were.
func TestTraceSaysWhere(t *testing.T) {
	_, events := chromeTrace(t, "inproc", tracedScript)
	var ahead, back, modules int
	for _, e := range events {
		switch {
		case e.Ph != "X":
		case e.Args.Line == "":
			t.Errorf("%s has no line", e.Name)
		case e.Args.Phase == "backward" && e.Cat == "communication" && e.Args.ForwardLine == "":
			t.Errorf("%s of backward has no forward line", e.Name)
		case e.Args.Phase == "backward":
			back++
		case e.Args.Region == "ahead":
			ahead++
			if e.Args.Module != "" {
				modules++
			}
		}
	}
	if ahead == 0 || back == 0 || modules == 0 {
		t.Errorf("%d events in the region, %d in modules of it, %d of backward, want some of each", ahead, modules, back)
	}
}

func TestTraceFlags(t *testing.T) {
	for _, flags := range [][]string{{"--trace-steps", "1:2"}, {"--trace", "t.json", "--trace-steps", "2:1"}, {"--trace", "t.json", "--trace-steps", "two"}} {
		var errs strings.Builder
		if got := run(&stdio{strings.NewReader(""), new(strings.Builder), &errs}, append(append([]string{"run"}, flags...), "none.star")); got != 2 || !strings.Contains(errs.String(), "--trace-steps") {
			t.Errorf("%v: exit status %d, want 2 and the flag in\n%s", flags, got, errs.String())
		}
	}
}
