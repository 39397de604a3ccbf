package lang

import (
	"strings"
	"testing"
)

// reportOf returns the report on ranks that ran and failed so, nil for not.
func reportOf(failures ...*Failure) (string, *Outcome) {
	o := new(Outcome)
	for _, f := range failures {
		o.Ranks = append(o.Ranks, Result{Ran: true, Failure: f})
	}
	var b strings.Builder
	o.Report(&b)
	return b.String(), o
}

func TestReports(t *testing.T) {
	trace := []Frame{{Name: "<toplevel>", Pos: "a.star:9:5"}, {Name: "f", Pos: "a.star:2:3"}}
	fail := &Failure{Kind: kindFail, Function: "fail", Within: "fail", Message: "no", Trace: trace}
	peer := &Failure{Kind: kindPeer, Function: "barrier", Message: "rank 0 was interrupted", Trace: trace}
	interrupt := &Failure{Kind: kindOther, Message: "interrupted", Stop: stopInterrupt, Trace: trace}
	timeout := &Failure{Kind: kindOther, Message: "timed out after 1s (--timeout)", Stop: stopTimeout}
	stopped := &Failure{Kind: kindOther, Message: "stopped: rank 1 failed", Stop: stopPeer, Trace: trace}
	hung := &Failure{Kind: kindOther, Message: "does not stop (was told to 5s ago)", Stop: stopHung}
	deadlock := &Failure{Kind: kindDeadlock, Function: "recv", Message: "deadlock", Ranks: []int{0, 1}, Trace: trace}
	const traceback = "Traceback (most recent call last):\n  a.star:9:5: in <toplevel>\n  a.star:2:3: in f\n"
	tests := []struct {
		name     string
		failures []*Failure
		status   int
		want     string
	}{
		{"none", []*Failure{nil, nil}, 0, ""},
		{"cause among others", []*Failure{stopped, fail, peer, nil}, 1,
			"rank 1 of 4:\n" + traceback + "Error in fail: no\nrank 0: stopped in f at a.star:2:3\nrank 2: stopped in barrier at a.star:2:3\nrank 3: finished\n"},
		{"interrupted peers", []*Failure{interrupt, peer, nil}, 130,
			"interrupted\nrank 0: stopped in f at a.star:2:3\nrank 1: stopped in barrier at a.star:2:3\nrank 2: finished\n"},
		{"failed, then interrupted", []*Failure{interrupt, fail}, 130,
			"rank 1 of 2:\n" + traceback + "Error in fail: no\ninterrupted\nrank 0: stopped in f at a.star:2:3\n"},
		{"timed out before the first line", []*Failure{timeout, timeout, hung}, 3,
			"timed out after 1s (--timeout)\nranks 0,1: stopped before the first line\nrank 2: does not stop (was told to 5s ago)\n"},
		{"stopped at the end", []*Failure{fail, {Kind: kindPeer, Function: "all_reduce", Message: "rank 0 failed", Ended: true}}, 1,
			"rank 0 of 2:\n" + traceback + "Error in fail: no\nrank 1: stopped behind the last line\n"},
		{"deadlock in one place", []*Failure{deadlock, deadlock}, 3,
			"ranks 0,1 of 2:\n" + traceback + "Error in recv: deadlock\n"},
		{"deadlock beside a failure", []*Failure{deadlock, deadlock, fail}, 1,
			"ranks 0,1 of 3:\n" + traceback + "Error in recv: deadlock\nrank 2 of 3:\n" + traceback + "Error in fail: no\n"},
	}
	for _, test := range tests {
		got, o := reportOf(test.failures...)
		if got != test.want {
			t.Errorf("%s: got:\n%s\nwant:\n%s", test.name, got, test.want)
		}
		if got := o.ExitStatus(); got != test.status {
			t.Errorf("%s: got exit status %d, want %d", test.name, got, test.status)
		}
	}
}

// Of a report the first failure says in one line where it arose and why, whatever lines
// its message has.
func TestBrief(t *testing.T) {
	trace := []Frame{{Name: "<toplevel>", Pos: "a.star:9:5"}, {Name: "range", Pos: builtinPos}}
	elsewhere := []Frame{{Name: "<toplevel>", Pos: "a.star:1:1"}}
	tests := []struct {
		name     string
		failures []*Failure
		want     string
	}{
		{"a function's", []*Failure{nil, {Kind: kindOther, Function: "range", Message: "got ?, want an int", Trace: trace}}, "a.star:9:5: range: got ?, want an int"},
		{"by fail", []*Failure{{Kind: kindFail, Function: "fail", Message: "got 3:\n  b.star:7:7: in g\nError in g: no", Trace: trace}}, "a.star:9:5: got 3: b.star:7:7: in g; Error in g: no"},
		{"the first of two", []*Failure{{Kind: kindFail, Message: "one", Trace: elsewhere}, {Kind: kindFail, Message: "two", Trace: trace}}, "a.star:1:1: one"},
		{"after a victim", []*Failure{{Kind: kindPeer, Message: "rank 1 failed", Trace: trace}, {Kind: kindFail, Message: "two", Trace: elsewhere}}, "a.star:1:1: two"},
		{"a deadlock", []*Failure{{Kind: kindDeadlock, Function: "recv", Message: "deadlock", Trace: trace}, {Kind: kindDeadlock, Function: "barrier", Message: "deadlock", Trace: elsewhere}}, "a.star:9:5: deadlock"},
		{"no line", []*Failure{{Kind: kindOther, Message: "a.star:1:2: undefined: x\na.star:2:2: undefined: y\n", Static: true}}, "a.star:1:2: undefined: x; a.star:2:2: undefined: y"},
	}
	for _, test := range tests {
		_, o := reportOf(test.failures...)
		if got := o.First().Brief(); got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
	if _, o := reportOf(nil, nil); o.First() != nil {
		t.Errorf("got %v of ranks that ended well, want nil", o.First())
	}
}
