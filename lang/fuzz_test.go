package lang

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Whatever decodes is encoded to what decodes to the same.
func FuzzDecode(f *testing.F) {
	for _, m := range []*message{
		{Seq: 1, Run: &runMsg{Path: "a.star", Source: "print(1)", Output: Merged, MaxSteps: 5}},
		{Seq: 2, Cancel: &cancelMsg{stopTimeout, "timed out"}},
		{Seq: 3, Lines: &linesMsg{Lines: []Line{{"a.star:1:1", 0, "\xff"}}}},
		{Seq: 4, Done: &doneMsg{Failure: &Failure{Kind: "other", Message: "x", Trace: []Frame{{Name: "f", Pos: "a.star:1:2"}}}}},
		{Seq: 5, Reply: &replyMsg{Start: 2, Names: []string{"x"}}},
		{Stop: &stopMsg{}}, {Ready: &readyMsg{true, []int{1, 2}}}, {Ack: &ackMsg{7}}, {Who: &whoMsg{}}, {Complete: &completeMsg{"x"}},
		{Note: &noteMsg{"waiting"}},
	} {
		f.Add(m.encode())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := decode(data)
		if err != nil {
			return
		}
		again, err := decode(m.encode())
		if err != nil {
			t.Fatalf("got error %v for %s", err, m.encode())
		}
		if got, want := again.encode(), m.encode(); !bytes.Equal(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

// Whatever the script, as a program and as a chunk: the ranks end, well or
// with a report, and no panic and no hang come of it.
func FuzzServe(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.txtar")
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(data))
		for i := range 3 {
			f.Add(string(data[len(data)*i/4:]))
		}
	}
	f.Add("def f(x): return f\nf(x = f(1))(2)")
	f.Add("while True: print(1)")
	f.Add("x = [x for x in range(1 << 70)]")
	f.Fuzz(func(t *testing.T, source string) {
		b := newBench(t, 2, Options{})
		defer b.stop()
		for _, chunk := range []bool{false, true} {
			p := prog(source)
			p.Chunk, p.MaxSteps, p.Timeout = chunk, 2000, time.Second
			o, err := b.Run(context.Background(), p)
			if err != nil {
				t.Fatal(err)
			}
			var report bytes.Buffer
			o.Report(&report)
			if o.OK() != (report.Len() == 0) {
				t.Errorf("OK is %v, but the report is:\n%s", o.OK(), &report)
			}
		}
	})
}
