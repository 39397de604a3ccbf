package tracediff

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// write writes a file and returns its path.
func write(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.json")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// call is an event of a trace: microseconds at a line, over a group.
const (
	head  = `{"schemaVersion":1,"traceEvents":[{"name":"process_name","ph":"M","pid":0,"args":{"name":"rank 0"}}`
	tail  = `],"distributedInfo":{"world_size":1}}`
	sum   = `,{"name":"all_reduce","cat":"communication","ph":"X","ts":0,"dur":100,"pid":0,"args":{"line":"a.star:3:1","Process Group Name":"tp [0,1]","bytes":8,"wire_bytes":16}}`
	slow  = `,{"name":"matmul","cat":"cpu_op","ph":"X","ts":100,"dur":900,"pid":0,"args":{"line":"a.star:4:9","shape":[2]}}`
	quick = `,{"name":"matmul","cat":"cpu_op","ph":"X","ts":100,"dur":90,"pid":0,"args":{"line":"a.star:4:9","shape":[2]}}`
	count = `,{"name":"memory","ph":"C","ts":5,"pid":0,"args":{"bytes":1.5}}`
)

func compare(t *testing.T, a, b string) *Diff {
	t.Helper()
	x, err := Read(write(t, a))
	if err != nil {
		t.Fatal(err)
	}
	y, err := Read(write(t, b))
	if err != nil {
		t.Fatal(err)
	}
	return Compare(x, y)
}

func TestTraces(t *testing.T) {
	same := compare(t, head+sum+slow+count+tail, head+sum+quick+tail)
	if !same.Equal || len(same.Faster) != 1 || same.Faster[0].Line != "a.star:4" || len(same.Slower)+len(same.More)+len(same.Moved) != 0 {
		t.Errorf("a faster product: got %+v, want it told, and the traces equal", same)
	}
	more := compare(t, head+sum+tail, head+sum+sum+tail)
	if more.Equal || len(more.More) != 1 || more.More[0].A.Calls != 1 || more.More[0].B.WireBytes != 32 || more.More[0].Dims != "tp" {
		t.Errorf("a call more: got %+v", more)
	}
	for name, b := range map[string]string{
		"line":      strings.ReplaceAll(sum, "a.star:3", "a.star:7"),
		"dims":      strings.ReplaceAll(sum, "tp [0,1]", "dp [0,1]"),
		"operation": strings.ReplaceAll(sum, "all_reduce", "reduce_scatter"),
	} {
		d := compare(t, head+sum+tail, head+b+tail)
		if d.Equal || len(d.Moved) != 1 || len(d.More)+len(d.Less) != 0 {
			t.Errorf("another %s: got %+v, want the calls moved", name, d)
		}
	}
}

func TestPlans(t *testing.T) {
	const plan = `{"ranks": 4, "step_seconds": 0.5, "seconds": {"arithmetic": 0.4}, "memory": {"peak": 100, "fits": true},
		"communication": [{"op": "all_reduce", "dims": "tp", "calls": 2, "bytes": 8, "wire_bytes": 8, "seconds": 0.1, "where": "a.star:3:1"}], "regions": [], "told_apart": []}`
	if d := compare(t, plan, plan); !d.Equal || d.Measured {
		t.Errorf("a plan and itself: got %+v", d)
	}
	last := strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(plan, "0.5,", "0.50000000000000011,"), "0.4}", "0.39999999999999997}"), `"seconds": 0.1`, `"seconds": 0.10000000000000002`)
	if d := compare(t, plan, last); !d.Equal || len(d.Slower)+len(d.Faster)+len(d.Figures) != 0 {
		t.Errorf("a plan whose last digits are rounded otherwise: got %+v", d)
	}
	d := compare(t, plan, strings.ReplaceAll(strings.ReplaceAll(plan, `"peak": 100`, `"peak": 150`), `"seconds": 0.1`, `"seconds": 0.101`))
	if d.Equal || len(d.Figures) != 1 || d.Figures[0].Name != "memory.peak" || len(d.Slower) != 1 {
		t.Errorf("more memory and a slower call: got %+v", d)
	}
	var out strings.Builder
	if err := d.WriteText(&out); err != nil || !strings.Contains(out.String(), "memory.peak       100 → 150        +50.0 %") {
		t.Errorf("got %s (%v)", out.String(), err)
	}
}

func TestReadErrors(t *testing.T) {
	for text, want := range map[string]string{
		`[]`: "neither a trace", `{}`: "neither a trace", `{"traceEvents":[`: "ends in the middle", `{"traceEvents":{}}`: "neither a trace",
		`{"communication": 3}`: "cannot unmarshal", ``: "neither a trace", `{"traceEvents":[{"ph":"X"},`: "ends in the middle",
	} {
		if _, err := Read(write(t, text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(head + sum + slow + count + tail)
	f.Add(`{"communication":[{"op":"x","calls":-1,"seconds":1e300}],"memory":{"peak":1}}`)
	f.Fuzz(func(t *testing.T, text string) {
		if c, err := Read(write(t, text)); err == nil {
			if d := Compare(c, c); !d.Equal {
				t.Errorf("a file and itself differ: %+v", d)
			}
		}
	})
}
