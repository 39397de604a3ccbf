package report

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"tpsh/runtime/plan"
	"tpsh/runtime/timeline"
)

// job returns n ranks that each compute for 100 ns at line 1 and then meet at line 2,
// where rank 0 comes 50 ns late, and a message from rank 0 to rank 1.
func job(n int) Job {
	j := Job{Name: "job"}
	var all []int
	for i := range n {
		all = append(all, i)
	}
	for i := range n {
		late := int64(0)
		if i == 0 {
			late = 50
		}
		to := make([]int, n)
		to[(i+1)%n] = 10
		r := &timeline.Rank{Rank: i, Size: n, Events: []timeline.Event{
			{Name: "matmul", Begin: 1000, Duration: 100 + late, Line: "a.star:1:3", Module: "net.up", FLOPs: 7, Memory: 99, Kinds: []int64{1, 2, 3, 4, 5, 6}, Placements: "[S(0)] -> [S(0)]"},
			{Name: "all_reduce", Begin: 1100 + late, Duration: 80 - late, Line: "a.star:2:1", Forward: "a.star:1:3", Region: "step/loss", Group: "world", Ranks: all, Bytes: 8, Wire: 10, To: to, Peer: -1, Predicted: 2e-8, Implicit: "matmul"},
		}}
		if i < 2 && n > 1 {
			e := timeline.Event{Name: "send", Begin: 2000, Duration: 5, Line: "a.star:3:1", Group: "world", Ranks: all, Bytes: 100, Wire: 100, Peer: 1}
			if i == 1 {
				e.Name, e.Duration, e.Wire, e.Peer, e.Begin = "recv", 60, 0, 0, 1960
			}
			r.Events = append(r.Events, e)
		}
		j.Ranks = append(j.Ranks, r)
	}
	return j
}

// data returns what a page of r holds.
func data(t *testing.T, r *Report) (page string, d pageData) {
	t.Helper()
	var out bytes.Buffer
	if err := Write(&out, r); err != nil {
		t.Fatal(err)
	}
	page = out.String()
	_, rest, _ := strings.Cut(page, `id="data">`)
	text, _, _ := strings.Cut(rest, "<")
	packed, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.NewDecoder(z).Decode(&d); err != nil {
		t.Fatal(err)
	}
	return page, d
}

// The page's sums are those of the events, by rank, line, module and pair of ranks.
func TestSums(t *testing.T) {
	_, d := data(t, &Report{Kind: "run", Jobs: []Job{job(3)}, Sources: map[string]string{"a.star": "y = x @ w\nz = y.full_tensor()\n"}})
	j := d.Jobs[0]
	if got := j.Ranks[1].Sum; got.Compute != 100 || got.Comm != 80+60 || got.Wait != 50+40 || got.FLOPs != 7 || got.Wire != 10 || got.Peak != 21 || got.Calls != 2 {
		t.Errorf("rank 1: got %+v", got)
	}
	if got, want := fmt.Sprint(j.Matrix), "[[0 110 0] [0 0 10] [10 0 0]]"; got != want {
		t.Errorf("matrix: got %s, want %s", got, want)
	}
	if l := j.Lines[0]; l.Line != 1 || l.Text != "y = x @ w" || l.Compute != 350 || l.Wire != 30 || l.Implicit != "matmul" || len(j.Lines) != 2 {
		t.Errorf("lines: got %+v, want the calls of backward at their forward line", j.Lines)
	}
	if up := j.Tree.Parts[0].Parts[0]; up.Name != "up" || up.Compute != 350 || j.Tree.Own.Calls != 5 || j.Regions.Parts[0].Parts[0].Wire != 30 {
		t.Errorf("tree: got %+v", up)
	}
	if c := j.Calls[1]; c.Op != "all_reduce" || c.Calls != 1 || c.Bytes != 24 || c.Measured != 30 || c.Predict != 20 {
		t.Errorf("calls: got %+v", j.Calls)
	}
	if c := j.Calls[0]; c.Op != "send and recv" || c.Calls != 1 || c.Measured != 20 {
		t.Errorf("calls: got %+v", j.Calls)
	}
	if len(j.Warnings) == 0 || j.Warnings[0].Line != "a.star:1" || !strings.Contains(j.Warnings[0].Text, "unasked: 30 B") {
		t.Errorf("warnings: got %v", j.Warnings)
	}
}

// However many events there are, the page is small, and its sums count all of them.
func TestManyEvents(t *testing.T) {
	j := job(4)
	for _, r := range j.Ranks {
		for i := range 100_000 {
			r.Events = append(r.Events, timeline.Event{Name: fmt.Sprint("op", i%50), Begin: 3000 + int64(i)*40, Duration: int64(i*7919%1000) + 1, Line: fmt.Sprintf("a.star:%d:1", i%300+1), FLOPs: 1, Kinds: []int64{int64(i), 1, 2, 3, 4, 5}})
		}
	}
	page, d := data(t, &Report{Kind: "run", Jobs: []Job{j}})
	got := d.Jobs[0]
	if len(page) > 2<<20 {
		t.Errorf("the page has %d bytes, want at most 2 MiB", len(page))
	}
	if got.Shown > mostEvents || got.Shown < mostEvents/2 || got.Ranks[2].Sum.Ops != 100_001 || got.Ranks[2].Sum.FLOPs != 100_007 {
		t.Errorf("got %d events drawn of %d, %d operations", got.Shown, got.Events, got.Ranks[2].Sum.Ops)
	}
	if m := got.Ranks[0].Memory; len(m.Time) > mostPoints || len(m.Rows) != len(timeline.Kinds) {
		t.Errorf("memory: got %d points of %d kinds", len(m.Time), len(m.Rows))
	}
}

// What is named by others cannot become a part of the page.
func TestEscapes(t *testing.T) {
	const bad = `</script><script>alert("x")</script>`
	page, _ := data(t, &Report{Kind: "run", Title: bad, Command: bad, Jobs: []Job{{Name: bad, Ranks: []*timeline.Rank{{Events: []timeline.Event{{Name: bad, Line: bad, Module: bad}}}}}}, Sources: map[string]string{bad: bad}})
	if strings.Contains(page, bad) {
		t.Errorf("the page holds %s", bad)
	}
}

// A plan's page has its figures, and a report without ranks is a page, too.
func TestPlanAndNothing(t *testing.T) {
	f := &plan.Figures{Ranks: 4, Communication: []plan.Row{{Op: "all_reduce", Dims: "tp", Calls: 2, Where: "a.star:2:1"}}}
	_, d := data(t, &Report{Kind: "plan", Plan: f, Sources: map[string]string{"a.star": "1\ntwo"}})
	if d.Plan.Ranks != 4 || d.Lines[0].Text != "two" || d.Lines[0].What != "all_reduce tp" {
		t.Errorf("got %+v", d)
	}
	if _, d := data(t, &Report{Kind: "test"}); len(d.Jobs) != 0 {
		t.Errorf("got %d jobs of none", len(d.Jobs))
	}
	if _, d := data(t, &Report{Kind: "run", Jobs: []Job{{}}}); d.Jobs[0].Events != 0 {
		t.Errorf("got %d events of none", d.Jobs[0].Events)
	}
}
