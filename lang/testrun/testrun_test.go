package testrun

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.starlark.net/starlark"
	"go.uber.org/goleak"

	"tpsh/lang"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A fakeRank is the world of one rank: it knows its number, can hang and can
// be killed.
type fakeRank struct {
	rank, size int
	ctx        context.Context
}

type killed struct{ error }

func (killed) Killed() bool { return true }
func (killed) Kind() string { return "peer" }

func (f *fakeRank) Rank() (int, int)                     { return f.rank, f.size }
func (f *fakeRank) Attach(*starlark.Thread, lang.Output) {}
func (f *fakeRank) Pending() error                       { return nil }
func (f *fakeRank) Begin(ctx context.Context)            { f.ctx = ctx }
func (f *fakeRank) End(error) error                      { return nil }
func (f *fakeRank) Describe(starlark.Value) string       { return "" }

func (f *fakeRank) Predeclared() starlark.StringDict {
	names := make(starlark.StringDict)
	for name, fn := range map[string]func() (starlark.Value, error){
		"rank": func() (starlark.Value, error) { return starlark.MakeInt(f.rank), nil },
		"size": func() (starlark.Value, error) { return starlark.MakeInt(f.size), nil },
		"hang": func() (starlark.Value, error) { <-f.ctx.Done(); return nil, context.Cause(f.ctx) },
		"die":  func() (starlark.Value, error) { return nil, killed{errors.New("killed")} },
	} {
		names[name] = starlark.NewBuiltin(name, func(*starlark.Thread, *starlark.Builtin, starlark.Tuple, []starlark.Tuple) (starlark.Value, error) {
			return fn()
		})
	}
	return names
}

// start starts ranks in goroutines, on any transport but "none". On "lossy"
// something is always left undone.
func start(n int, transport string) ([]lang.Conn, func(*lang.Outcome) error, error) {
	if transport == "none" {
		return nil, nil, errors.New("no such transport")
	}
	var ranks sync.WaitGroup
	conns := make([]lang.Conn, n)
	for i := range n {
		front, back := lang.Pipe()
		conns[i] = front
		ranks.Go(func() {
			defer back.Close()
			lang.Serve(context.Background(), back, &fakeRank{rank: i, size: n})
		})
	}
	return conns, func(*lang.Outcome) error {
		ranks.Wait()
		if transport == "lossy" {
			return errors.New("Error in send: nobody received this")
		}
		return nil
	}, nil
}

// files writes files into a folder that becomes the working folder.
func files(t *testing.T, contents map[string]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range contents {
		os.MkdirAll(filepath.Dir(name), 0o777)
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// run runs tests and returns what is told, without times, and the status.
func run(t *testing.T, opts Options) (told string, status int) {
	t.Helper()
	var out bytes.Buffer
	opts.Out, opts.Err, opts.Start = &out, &out, start
	if opts.Transports == nil {
		opts.Transports = []string{"inproc"}
	}
	status = Run(t.Context(), opts)
	return times.ReplaceAllString(out.String(), "0s"), status
}

var times = regexp.MustCompile(`\b\d+\.\d+s\b`)

var mixed = map[string]string{
	"a_test.star": `
print("top", rank())
def helper(): fail("helper is no test")
def test_good():
    print("good")
def test_bad():
    print("before\n\nafter")
    if rank() == 1:
        fail("bad")
`,
	"sub/b_test.star": `
RANKS = (3, 2)
def test_size():
    if size() not in RANKS: fail(size())
`,
	"sub/.hidden/c_test.star": "def test_x(): fail()",
	"sub/other.star":          "fail()",
}

func TestText(t *testing.T) {
	files(t, mixed)
	got, status := run(t, Options{Ranks: []int{1, 2}, Transports: []string{"inproc", "frames"}})
	failure := func(transport string) string {
		return "--- FAIL: test_bad (n=2, " + transport + ") (0s)\n" + `    [0] top 0
    [1] top 1
    before

    after
    rank 1 of 2:
    Traceback (most recent call last):
      a_test.star:9:13: in test_bad
    Error in fail: bad
    rank 0: finished
`
	}
	want := failure("inproc") + failure("frames") + `FAIL
FAIL	a_test.star	0s
ok  	sub/b_test.star	0s
8 passed, 2 failed
`
	if got != want || status != 1 {
		t.Errorf("got status %d and:\n%s\nwant 1 and:\n%s", status, got, want)
	}
}

func TestVerbose(t *testing.T) {
	files(t, mixed)
	got, status := run(t, Options{Paths: []string{"a_test.star", "sub"}, Verbose: true, Ranks: []int{2}, Match: regexp.MustCompile("good|size")})
	want := `=== RUN   test_good (n=2, inproc)
[0] top 0
[1] top 1
good
--- PASS: test_good (n=2, inproc) (0s)
ok  	a_test.star	0s
=== RUN   test_size (n=2, inproc)
--- PASS: test_size (n=2, inproc) (0s)
ok  	sub/b_test.star	0s
2 passed, 0 failed
`
	if got != want || status != 0 {
		t.Errorf("got status %d and:\n%s\nwant 0 and:\n%s", status, got, want)
	}
}

func TestRanks(t *testing.T) {
	files(t, map[string]string{
		"free_test.star":  "def test_x(): print(size())",
		"bound_test.star": "RANKS = [3]\ndef test_x(): print(size())",
	})
	tests := []struct {
		ranks []int
		want  string
	}{
		{nil, "bound n=3\nfree n=1\nfree n=2\nfree n=4\n"},
		{[]int{2, 3}, "bound n=3\nfree n=2\nfree n=3\n"},
		{[]int{5, 1}, "bound skipped\nfree n=5\nfree n=1\n"},
	}
	for _, test := range tests {
		told, status := run(t, Options{Ranks: test.ranks, Verbose: true})
		got := ""
		file := "bound"
		for line := range strings.Lines(told) {
			if _, n, ok := strings.Cut(line, "RUN   test_x ("); ok {
				got += file + " " + strings.SplitN(n, ",", 2)[0] + "\n"
			}
			if strings.HasPrefix(line, "skip\tbound_test.star\t[RANKS = [3] allows none of [5, 1]]") {
				got += "bound skipped\n"
			}
			if strings.Contains(line, "\tbound_test.star\t") {
				file = "free"
			}
		}
		if got != test.want || status != 0 {
			t.Errorf("%v: got status %d and\n%s\nwant 0 and\n%s", test.ranks, status, got, test.want)
		}
		if skipped := strings.Contains(told, "2 passed, 0 failed, 1 skipped\n"); skipped != (test.ranks != nil && test.ranks[0] == 5) {
			t.Errorf("%v: got:\n%s", test.ranks, told)
		}
	}
}

// What is wrong with one file or test does not touch the others.
func TestFailures(t *testing.T) {
	files(t, map[string]string{
		"a_test.star": "def test_hang(): hang() if rank() else None\ndef test_after(): pass",
		"b_test.star": "x = (\ndef test_x(): pass",
		"c_test.star": "x = 1",
		"d_test.star": "RANKS = list(range(3))\ndef test_x(): pass",
		"e_test.star": "def test_x(): undefined_name()",
		"f_test.star": "def test_x():\n    if rank(): die()\ndef test_y(): pass",
		"g_test.star": "def test_x(): pass\ntest_x = None",
	})
	begin := time.Now()
	got, status := run(t, Options{Ranks: []int{2}, Timeout: 2 * time.Second})
	want := `--- FAIL: test_hang (n=2, inproc) (0s)
    timed out after 2s (--timeout)
    rank 0: finished
    rank 1: stopped in hang at a_test.star:1:22
FAIL
FAIL	a_test.star	0s
    b_test.star:2:1: a value is missing: here is "def" (the ( of line 1, column 5 is still open)
FAIL
FAIL	b_test.star	0s
    c_test.star: no test_* function
FAIL
FAIL	c_test.star	0s
    d_test.star:1:1: RANKS: want numbers of ranks written out, such as [1, 2, 4]
FAIL
FAIL	d_test.star	0s
    e_test.star:1:15: undefined: undefined_name
FAIL
FAIL	e_test.star	0s
ok  	f_test.star	0s
--- FAIL: test_x (n=2, inproc) (0s)
    ranks 0,1 of 2:
    Error: invalid call of non-function (NoneType)
FAIL
FAIL	g_test.star	0s
3 passed, 6 failed
`
	if got != want || status != 1 {
		t.Errorf("got status %d and:\n%s\nwant 1 and:\n%s", status, got, want)
	}
	if took := time.Since(begin); took > time.Minute {
		t.Errorf("took %v", took)
	}
}

func TestUsageErrors(t *testing.T) {
	files(t, map[string]string{"a_test.star": "def test_x(): pass", "empty/x.star": ""})
	tests := []struct {
		opts Options
		want string
	}{
		{Options{Paths: []string{"nope.star"}}, "nope.star: no such file or directory\n"},
		{Options{Paths: []string{"a_test.star", "empty"}}, "empty: no *_test.star file in this folder\n"},
		{Options{Match: regexp.MustCompile("nope")}, "no test matches \"nope\"\n"},
	}
	for _, test := range tests {
		if got, status := run(t, test.opts); got != test.want || status != 2 {
			t.Errorf("got status %d and %q, want 2 and %q", status, got, test.want)
		}
	}
}

// A selection may leave a file without tests.
func TestMatchLeavesNoTest(t *testing.T) {
	files(t, map[string]string{"a_test.star": "def test_x(): pass", "b_test.star": "def test_y(): pass"})
	got, status := run(t, Options{Match: regexp.MustCompile("_y$"), Ranks: []int{1}})
	want := "ok  \ta_test.star\t[no tests to run]\nok  \tb_test.star\t0s\n1 passed, 0 failed\n"
	if got != want || status != 0 {
		t.Errorf("got status %d and:\n%s\nwant 0 and:\n%s", status, got, want)
	}
}

func TestRanksThatCannotStart(t *testing.T) {
	files(t, map[string]string{"a_test.star": "def test_x(): pass"})
	got, status := run(t, Options{Ranks: []int{1}, Transports: []string{"none"}})
	if want := "    Error: cannot start 1 rank on none: no such transport\n"; !strings.Contains(got, want) || status != 1 {
		t.Errorf("got status %d and:\n%s\nwant 1 and %q", status, got, want)
	}
}

// What the end of the ranks finds undone fails a test that passed.
func TestUndone(t *testing.T) {
	files(t, map[string]string{"a_test.star": "def test_x(): pass\ndef test_y(): fail('y')"})
	got, status := run(t, Options{Ranks: []int{1}, Transports: []string{"lossy"}})
	if !strings.HasPrefix(got, "--- FAIL: test_x (n=1, lossy) (0s)\n    Error in send: nobody received this\n--- FAIL: test_y") ||
		strings.Count(got, "nobody") != 1 || status != 1 {
		t.Errorf("got status %d and:\n%s", status, got)
	}
}

func TestInterrupt(t *testing.T) {
	files(t, map[string]string{"a_test.star": "def test_x(): hang()\ndef test_y(): pass"})
	ctx, cancel := context.WithCancel(t.Context())
	begin := func(n int, transport string) ([]lang.Conn, func(*lang.Outcome) error, error) {
		time.AfterFunc(30*time.Millisecond, cancel)
		return start(n, transport)
	}
	var out bytes.Buffer
	status := Run(ctx, Options{Ranks: []int{1}, Transports: []string{"inproc"}, Start: begin, Out: &out, Err: &out})
	if status != lang.StatusInterrupted || !strings.Contains(out.String(), "interrupted\n") || !strings.HasSuffix(out.String(), "0 passed, 1 failed\n") {
		t.Errorf("got status %d and:\n%s", status, &out)
	}
}

func TestJSON(t *testing.T) {
	files(t, map[string]string{
		"a_test.star": "def test_x():\n    print('x')\n    fail('no') if rank() else None",
		"b_test.star": "RANKS = [7]\ndef test_x(): pass",
	})
	told, status := run(t, Options{Ranks: []int{1, 2}, JSON: true})
	if status != 1 {
		t.Errorf("got status %d, want 1", status)
	}
	var got []string
	for line := range strings.Lines(told) {
		var e jsonEvent
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		got = append(got, fmt.Sprint(e.Action, " ", e.Package, " ", e.Test, " ", e.N, " ", e.Transport, " ", e.Output))
	}
	want := []string{
		"run a_test.star test_x (n=1, inproc) 1 inproc ",
		"output a_test.star test_x (n=1, inproc) 1 inproc x\n",
		"pass a_test.star test_x (n=1, inproc) 1 inproc ",
		"run a_test.star test_x (n=2, inproc) 2 inproc ",
		"output a_test.star test_x (n=2, inproc) 2 inproc x\n",
		"output a_test.star test_x (n=2, inproc) 2 inproc rank 1 of 2:\n",
		"output a_test.star test_x (n=2, inproc) 2 inproc Traceback (most recent call last):\n",
		"output a_test.star test_x (n=2, inproc) 2 inproc   a_test.star:3:9: in test_x\n",
		"output a_test.star test_x (n=2, inproc) 2 inproc Error in fail: no\n",
		"output a_test.star test_x (n=2, inproc) 2 inproc rank 0: finished\n",
		"fail a_test.star test_x (n=2, inproc) 2 inproc ",
		"fail a_test.star  0  ",
		"output b_test.star  0  RANKS = [7] allows none of [1, 2]\n",
		"skip b_test.star  0  ",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestJUnit(t *testing.T) {
	files(t, map[string]string{
		"a_test.star": "def test_x():\n    print('x < y')\n    fail('no & no') if rank() else None",
		"b_test.star": "RANKS = [7]\ndef test_x(): pass",
		"c_test.star": "x = 1",
	})
	if _, status := run(t, Options{Ranks: []int{1, 2}, JUnit: "report.xml"}); status != 1 {
		t.Errorf("got status %d, want 1", status)
	}
	data, err := os.ReadFile("report.xml")
	if err != nil {
		t.Fatal(err)
	}
	got := regexp.MustCompile(`time="[0-9.]+"`).ReplaceAllString(string(data), `time="0"`)
	want := xml.Header + `<testsuites>
  <testsuite name="a_test.star" tests="2" failures="1" skipped="0" time="0">
    <testcase name="test_x (n=1, inproc)" classname="a_test.star" time="0" file="a_test.star" line="1">
      <system-out>x &lt; y&#xA;</system-out>
    </testcase>
    <testcase name="test_x (n=2, inproc)" classname="a_test.star" time="0" file="a_test.star" line="1">
      <failure message="Error in fail: no &amp; no">rank 1 of 2:&#xA;Traceback (most recent call last):&#xA;  a_test.star:3:9: in test_x&#xA;Error in fail: no &amp; no&#xA;rank 0: finished&#xA;</failure>
      <system-out>x &lt; y&#xA;</system-out>
    </testcase>
  </testsuite>
  <testsuite name="b_test.star" tests="1" failures="0" skipped="1" time="0">
    <testcase name="b_test.star" classname="b_test.star" time="0" file="b_test.star">
      <skipped message="RANKS = [7] allows none of [1, 2]"></skipped>
    </testcase>
  </testsuite>
  <testsuite name="c_test.star" tests="1" failures="1" skipped="0" time="0">
    <testcase name="c_test.star" classname="c_test.star" time="0" file="c_test.star">
      <failure message="c_test.star: no test_* function">c_test.star: no test_* function</failure>
    </testcase>
  </testsuite>
</testsuites>
`
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if told, status := run(t, Options{Ranks: []int{1}, Paths: []string{"a_test.star"}, JUnit: "no/folder.xml"}); status != lang.StatusJob || !strings.HasSuffix(told, "no/folder.xml: no such file or directory\n") {
		t.Errorf("got status %d and:\n%s", status, told)
	}
}

// A test that prints without end does not fill memory.
func TestCapture(t *testing.T) {
	c := new(capture)
	for range 3 {
		c.Write(bytes.Repeat([]byte("x"), maxCapture/2+1))
	}
	if got := c.String(); len(got) > maxCapture+100 || !strings.HasSuffix(got, "is not shown\n") {
		t.Errorf("got %d bytes", len(got))
	}
}
