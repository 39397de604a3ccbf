package testrun

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"time"

	"tpsh/lang"
)

// file runs the tests of a file.
func (r *runner) file(ctx context.Context, f *file, tell tellers) {
	if r.over(ctx) {
		return
	}
	begin := time.Now()
	res := &fileResult{path: f.path, action: passed}
	switch {
	case f.mistake != "":
		res.action, res.note = failed, f.mistake
		r.count(totals{failed: 1})
	case len(f.allowed(r.Ranks)) == 0:
		res.action, res.note = skipped, fmt.Sprintf("RANKS = %s allows none of %s", list(f.ranks), list(r.Ranks))
		r.count(totals{skipped: 1})
	case len(f.matching(r.Match)) == 0:
		res.note = "no tests to run"
	}
	if res.note == "" {
		r.tests(ctx, f, res, tell)
	}
	res.elapsed = time.Since(begin)
	tell.file(res)
}

// tests runs tests in their order. If the file does not compile, that is one
// failure of the file.
func (r *runner) tests(ctx context.Context, f *file, res *fileResult, tell tellers) {
	for _, c := range r.cases(f) {
		if r.over(ctx) {
			return
		}
		r.test(ctx, f, c, tell)
		if c.static {
			res.action, res.note = failed, c.report
			r.count(totals{failed: 1})
			return
		}
		if c.action == failed {
			res.action = failed
		}
	}
}

// A testCase is one run of a test, and its result.
type testCase struct {
	*test
	path      string
	n         int
	transport string

	action  action
	static  bool   // the file does not compile
	note    string // why it was skipped
	output  string // its output
	report  string // its failure
	elapsed time.Duration
}

// label names the case within its file.
func (c *testCase) label() string {
	return fmt.Sprintf("%s (n=%d, %s)", c.test.label, c.n, c.transport)
}

// test runs a test on ranks of its own, and tells of it unless its file does not
// compile.
func (r *runner) test(ctx context.Context, f *file, c *testCase, tell tellers) {
	begin := time.Now()
	output := &capture{live: tell.live()}
	if output.live != nil {
		tell.begin(c)
	}
	var report bytes.Buffer
	c.action = r.onRanks(ctx, f, c, output, &report)
	c.output, c.report, c.elapsed = output.String(), report.String(), time.Since(begin)
	if c.static {
		return
	}
	switch c.action {
	case passed:
		r.count(totals{passed: 1})
	case skipped:
		r.count(totals{skipped: 1})
	default:
		r.count(totals{failed: 1})
	}
	if output.live == nil {
		tell.begin(c)
	}
	tell.test(c)
}

// onRanks starts the ranks of a case, runs the test on them and ends them.
func (r *runner) onRanks(ctx context.Context, f *file, c *testCase, output, report io.Writer) action {
	conns, stop, err := r.Start(c.n, c.transport)
	if err != nil {
		ranks := "1 rank"
		if c.n != 1 {
			ranks = fmt.Sprintf("%d ranks", c.n)
		}
		fmt.Fprintf(report, "Error: cannot start %s on %s: %v\n", ranks, c.transport, err)
		return failed
	}
	var recorded func(rank int, data []byte)
	if r.Recorded != nil {
		recorded = r.Recorded(c.name, c.n, c.transport)
	}
	s := lang.NewSession(conns, lang.Options{Out: output, Notes: r.Err, Recorded: recorded, Debugger: r.Debugger})
	p := f.program
	p.Function, p.Before, p.After, p.Case = c.name, f.before, f.after, c.number
	p.Timeout, p.MaxSteps, p.Cover = cmp.Or(c.timeout, r.Timeout), r.MaxSteps, r.Cover != ""
	var o *lang.Outcome
	run := func() { o, err = s.Run(ctx, p) }
	if r.Debugger != nil {
		p.Debug = true
		r.Drive(s, run)
	} else {
		run()
	}
	s.Close()
	undone := stop(o)
	if err != nil {
		r.out.explain(err)
		fmt.Fprintf(report, "Error: %v\n", err)
		return failed
	}
	r.note(o)
	return c.judge(o, undone, report)
}

// note keeps the news for all tests.
func (r *runner) note(o *lang.Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.interrupted = r.interrupted || o.Interrupted()
	r.cover.Add(o.Cover)
}

// judge tells the result of a test, of which something may be left undone.
func (c *testCase) judge(o *lang.Outcome, undone error, report io.Writer) action {
	if reason, ok := o.Skipped(); ok {
		c.note = reason
		return skipped
	}
	o.Report(report)
	c.static = o.Static()
	switch {
	case !o.OK():
		return failed
	case !o.Finished():
		fmt.Fprintln(report, "Error: every rank was killed: no rank reached the end of the test")
		return failed
	case undone != nil:
		fmt.Fprintln(report, undone)
		return failed
	}
	return passed
}
