package testrun

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
)

// A teller tells of tests as they run.
type teller interface {
	begin(c *testCase)    // a test begins
	test(c *testCase)     // a test has ended
	file(res *fileResult) // the tests of a file have ended
	end(t totals) error   // all have ended
}

// tellers tell in several ways.
type tellers []teller

func newTellers(opts Options, out *outlet) tellers {
	all := tellers{out}
	if opts.JSON {
		all = append(all, &jsonTeller{json.NewEncoder(out)})
	} else {
		all = append(all, &textTeller{out: out, verbose: opts.Verbose})
	}
	if opts.JUnit != "" {
		all = append(all, &junitTeller{path: opts.JUnit})
	}
	return all
}

func (all tellers) begin(c *testCase) {
	for _, t := range all {
		t.begin(c)
	}
}

func (all tellers) test(c *testCase) {
	for _, t := range all {
		t.test(c)
	}
}

func (all tellers) file(res *fileResult) {
	for _, t := range all {
		t.file(res)
	}
}

func (all tellers) end(sum totals) error {
	var first error
	for _, t := range all {
		if err := t.end(sum); first == nil {
			first = err
		}
	}
	return first
}

// live returns where the output of tests is shown while they run, or nil.
func (all tellers) live() io.Writer {
	for _, t := range all {
		if t, ok := t.(*textTeller); ok && t.verbose {
			return t.out
		}
	}
	return nil
}

// A textTeller tells as go test does.
type textTeller struct {
	out     io.Writer
	verbose bool
}

func (t *textTeller) begin(c *testCase) {
	if t.verbose {
		fmt.Fprintf(t.out, "=== RUN   %s\n", c.label())
	}
}

func (t *textTeller) test(c *testCase) {
	if c.action == passed && !t.verbose {
		return
	}
	fmt.Fprintf(t.out, "--- %s: %s (%s)\n", strings.ToUpper(string(c.action)), c.label(), elapsed(c.elapsed))
	if c.action == skipped {
		fmt.Fprintf(t.out, "    %s\n", c.note)
	}
	if !t.verbose {
		io.WriteString(t.out, indented(c.output))
	}
	io.WriteString(t.out, indented(c.report))
}

func (t *textTeller) file(res *fileResult) {
	word := map[action]string{passed: "ok  ", failed: "FAIL", skipped: "skip"}[res.action]
	if res.action == failed {
		if res.note != "" {
			io.WriteString(t.out, indented(res.note))
		}
		fmt.Fprintf(t.out, "FAIL\nFAIL\t%s\t%s\n", res.path, elapsed(res.elapsed))
		return
	}
	if res.note != "" {
		fmt.Fprintf(t.out, "%s\t%s\t[%s]\n", word, res.path, res.note)
		return
	}
	fmt.Fprintf(t.out, "%s\t%s\t%s\n", word, res.path, elapsed(res.elapsed))
}

func (t *textTeller) end(sum totals) error {
	_, err := fmt.Fprintln(t.out, sum)
	return err
}

// indented returns text with each line moved in.
func indented(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if line != "" {
			line = "    " + line
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

// elapsed returns a duration as go test writes it.
func elapsed(d time.Duration) string { return fmt.Sprintf("%.2fs", d.Seconds()) }

// A jsonTeller writes an event a line, as go test -json does.
type jsonTeller struct{ enc *json.Encoder }

// A jsonEvent is news of a test, or without Test, of a file.
type jsonEvent struct {
	Action    string   // run, output, pass, fail or skip
	Package   string   // the file
	Test      string   `json:",omitempty"`
	N         int      `json:",omitempty"`
	Transport string   `json:",omitempty"`
	File      string   `json:",omitempty"`
	Line      int      `json:",omitempty"`
	Elapsed   *float64 `json:",omitempty"`
	Output    string   `json:",omitempty"`
}

// event returns an event of a test.
func (c *testCase) event(action string) jsonEvent {
	return jsonEvent{Action: action, Package: c.path, Test: c.label(), N: c.n, Transport: c.transport, File: c.path, Line: c.line}
}

func (t *jsonTeller) begin(c *testCase) { t.enc.Encode(c.event("run")) }

func (t *jsonTeller) test(c *testCase) {
	e := c.event("output")
	t.output(e, c.output)
	t.output(e, c.report)
	if c.note != "" {
		t.output(e, c.note+"\n")
	}
	e = c.event(string(c.action))
	e.Elapsed = rounded(c.elapsed)
	t.enc.Encode(e)
}

// output writes an event for each line of text.
func (t *jsonTeller) output(e jsonEvent, text string) {
	for line := range strings.Lines(text) {
		e.Output = line
		t.enc.Encode(e)
	}
}

func (t *jsonTeller) file(res *fileResult) {
	e := jsonEvent{Action: "output", Package: res.path}
	if res.note != "" {
		t.output(e, res.note+"\n")
	}
	e = jsonEvent{Action: string(res.action), Package: res.path, Elapsed: rounded(res.elapsed)}
	t.enc.Encode(e)
}

func (t *jsonTeller) end(totals) error { return nil }

// rounded returns seconds, to the hundredth.
func rounded(d time.Duration) *float64 {
	s := float64(d.Round(10*time.Millisecond)) / float64(time.Second)
	return &s
}
