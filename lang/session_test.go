package lang

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.starlark.net/starlark"
)

func prog(source string) Program { return Program{Path: "a.star", Dir: "/", Source: source} }

// contains fails the test unless text holds all of want.
func contains(t *testing.T, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("got:\n%s\nwant it to contain %q", text, w)
		}
	}
}

func TestRawModeStreams(t *testing.T) {
	b := newBench(t, 2, Options{Mode: Raw})
	_, out, _ := b.run(t, prog("print('a\\nb')\nmeet()\nprint(rank())"))
	got := strings.Split(strings.TrimSpace(out), "\n")
	slices.Sort(got)
	want := []string{"[0] 0", "[0] a", "[0] b", "[1] 1", "[1] a", "[1] b"}
	if !slices.Equal(got, want) {
		t.Errorf("got lines %q, want %q", got, want)
	}
}

// A section is shown when it closes, not when the program ends.
func TestSectionsShowProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 2, Options{})
		defer b.stop()
		go func() {
			synctest.Wait()
			if got := b.out.String(); got != "begin\n" {
				t.Errorf("before the end: got %q, want the first section", got)
			}
			b.Interrupt()
		}()
		b.run(t, prog("print('begin')\nmeet()\nprint('end')\nhang()"))
		if got, want := b.out.String(), "begin\nend\n"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func TestInterrupt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 3, Options{})
		defer b.stop()
		b.Interrupt() // when nothing runs, it does nothing
		go func() {
			synctest.Wait()
			b.Interrupt()
		}()
		o, _, report := b.run(t, prog(`
def f():
    while True:
        pass
if rank() == 0:
    attempt(hang)
elif rank() == 1:
    meet()
`))
		if got := o.ExitStatus(); got != StatusInterrupted {
			t.Errorf("exit status: got %d, want %d", got, StatusInterrupted)
		}
		want := "interrupted\nrank 0: stopped in hang at a.star:6:12\nrank 1: stopped in meet at a.star:8:9\nrank 2: finished\n"
		if report != want {
			t.Errorf("report: got:\n%s\nwant:\n%s", report, want)
		}
	})
}

// The interpreter is stopped in a loop that calls nothing.
func TestInterruptLoop(t *testing.T) {
	b := newBench(t, 2, Options{})
	go b.onceBegun(b.Interrupt)
	o, _, report := b.run(t, prog("for i in range(1 << 60):\n    pass"))
	if !o.Interrupted() {
		t.Errorf("got:\n%s\nwant an interrupt", report)
	}
	contains(t, report, "interrupted\nranks 0,1: stopped in <toplevel> at a.star:")
}

func TestContextInterrupts(t *testing.T) {
	b := newBench(t, 2, Options{})
	ctx, cancel := context.WithCancel(context.Background())
	go b.onceBegun(cancel)
	o, err := b.Run(ctx, prog("hang()"))
	if err != nil || !o.Interrupted() {
		t.Errorf("got %+v, %v, want an interrupt", o, err)
	}
}

func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 2, Options{})
		defer b.stop()
		p := prog("attempt(hang)\nprint('never')")
		p.Timeout = time.Minute
		begin := time.Now()
		o, out, report := b.run(t, p)
		if took := time.Since(begin); took != time.Minute {
			t.Errorf("took %v, want 1m", took)
		}
		if got := o.ExitStatus(); got != StatusJob || !o.TimedOut() {
			t.Errorf("exit status: got %d, want %d", got, StatusJob)
		}
		if want := "timed out after 1m0s (--timeout)\nranks 0,1: stopped in hang at a.star:1:8\n"; report != want || out != "" {
			t.Errorf("got output %q and report:\n%s\nwant none and:\n%s", out, report, want)
		}
	})
}

// When a rank fails, the others may go on for the time of grace.
func TestGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 3, Options{})
		defer b.stop()
		begin := time.Now()
		o, _, report := b.run(t, prog("fail('no') if rank() == 1 else (hang() if rank() == 0 else None)"))
		if took := time.Since(begin); took != 2*time.Second {
			t.Errorf("took %v, want 2s", took)
		}
		if got := o.ExitStatus(); got != StatusFailed {
			t.Errorf("exit status: got %d, want %d", got, StatusFailed)
		}
		contains(t, report, "rank 1 of 3:\n", "Error in fail: no\n", "rank 0: stopped in hang at a.star:1:37\nrank 2: finished\n")
		if got := b.envs[0].told(); !slices.Equal(got, []string{"begin", "end hang: stopped: rank 1 failed"}) {
			t.Errorf("rank 0 was told %q", got)
		}
	})
}

// A rank that was killed on purpose does not end the others.
func TestKilledStartsNoGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 2, Options{})
		defer b.stop()
		p := prog("typed('peer', 'killed', killed = True) if rank() == 1 else hang()")
		p.Timeout = time.Hour
		begin := time.Now()
		o, _, _ := b.run(t, p)
		if took := time.Since(begin); took != time.Hour {
			t.Errorf("took %v, want 1h", took)
		}
		if o.OK() {
			t.Error("OK: got true although rank 0 timed out")
		}
		o, _, _ = b.run(t, prog("typed('peer', 'killed', killed = True) if rank() == 1 else None"))
		if !o.OK() || o.ExitStatus() != StatusJob {
			t.Errorf("got OK %v and exit status %d, want true and %d", o.OK(), o.ExitStatus(), StatusJob)
		}
	})
}

// A rank that does not stop is given up, and the session says so afterwards.
func TestPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 2, Options{})
		defer b.stop()
		p := prog("stubborn() if rank() == 1 else None")
		p.Timeout = time.Second
		begin := time.Now()
		o, _, report := b.run(t, p)
		if took := time.Since(begin); took != 6*time.Second {
			t.Errorf("took %v, want 6s", took)
		}
		if got := o.ExitStatus(); got != StatusJob {
			t.Errorf("exit status: got %d, want %d", got, StatusJob)
		}
		contains(t, report, "timed out after 1s (--timeout)\nrank 0: finished\nrank 1: does not stop")
		if _, err := b.Run(t.Context(), p); err == nil {
			t.Error("a second run: got no error")
		}
	})
}

// A rank whose connection ends is lost; the others learn of it after the
// grace, if not before.
func TestLostRank(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1, Options{})
		front, rank := Pipe()
		s := NewSession([]Conn{b.conns[0], front}, Options{})
		defer b.stop()
		defer s.Close()
		go func() {
			rank.Recv(t.Context())
			rank.Close()
		}()
		o, err := s.Run(t.Context(), prog("hang()"))
		if err != nil {
			t.Fatal(err)
		}
		var report bytes.Buffer
		o.Report(&report)
		contains(t, report.String(), "rank 1 of 2:\nError: the rank died: its connection ended (EOF)\n")
		if got := o.ExitStatus(); got != StatusJob {
			t.Errorf("exit status: got %d, want %d", got, StatusJob)
		}
		b.Session.cancel() // it shares rank 0's connection
	})
}

// brokenWriter fails after some writes.
type brokenWriter struct{ left int }

func (w *brokenWriter) Write(p []byte) (int, error) {
	if w.left--; w.left < 0 {
		return 0, errors.New("no space left")
	}
	return len(p), nil
}

func TestOutputThatCannotBeWritten(t *testing.T) {
	b := newBench(t, 1, Options{})
	b.opts.Out = &brokenWriter{3}
	_, err := b.Run(t.Context(), prog("while True:\n    print('x')"))
	if want := "no space left; rank 0 was stopped in <toplevel> at a.star:"; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got error %v, want %s and where in the loop", err, want)
	}
}

// slowWriter counts what it gets, after a while.
type slowWriter struct{ n int }

func (w *slowWriter) Write(p []byte) (int, error) {
	time.Sleep(time.Second)
	w.n += len(p)
	return len(p), nil
}

// A program that prints faster than its output is read waits.
func TestSlowOutputHoldsTheProgram(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, 1, Options{})
		defer b.stop()
		b.opts.Out = &slowWriter{}
		p := prog("n = [0]\nwhile n[0] < 200:\n    print('x' * 1000000)\n    n[0] += 1\nhang()")
		p.Timeout = 10500 * time.Millisecond
		b.Run(t.Context(), p)
		if got := b.opts.Out.(*slowWriter).n; got > 30e6 {
			t.Errorf("%d bytes were printed in 10 s of a reader of 1 MB/s, want at most what it read and the window", got)
		}
	})
}

// What a rank prints between meetings is limited.
func TestEndlessSection(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	r := newRecorder(Merged, 0, 2)
	r.stop = cancel
	thread := new(starlark.Thread)
	for n := 0; ctx.Err() == nil; n++ {
		if n > maxSection>>20 {
			t.Fatal("got no end")
		}
		r.print(thread, strings.Repeat("x", 1<<20))
	}
	f := newFailure(realError(ctx, &starlark.EvalError{Msg: cancelledPrefix + "x"}, nil))
	if f.Function != "print" || f.class() != cause {
		t.Errorf("got %+v, want a failure of print", f)
	}
}

func TestNotes(t *testing.T) {
	b := newBench(t, 1, Options{})
	b.run(t, prog("say('waiting')"))
	if got := b.notes.String(); got != "waiting\n" {
		t.Errorf("got notes %q, want %q", got, "waiting\n")
	}
}

// A panic in a builtin is an error of its rank, with the stack of Go.
func TestDefect(t *testing.T) {
	b := newBench(t, 2, Options{})
	o, _, report := b.run(t, prog("crash() if rank() else None"))
	contains(t, report, "rank 1 of 2:\nError: internal error: crash (a defect of tpsh, not of the script)\n", "world_test.go")
	if got := o.ExitStatus(); got != StatusFailed {
		t.Errorf("exit status: got %d, want %d", got, StatusFailed)
	}
}

func TestEnvIsToldOfProgram(t *testing.T) {
	b := newBench(t, 1, Options{})
	b.run(t, prog("fail('x')"))
	b.run(t, prog("1"))
	b.run(t, prog("("))
	b.stop()
	want := []string{"begin", "end fail: x", "begin", "end <nil>", "begin", "end a.star:1:1: the ( that opens here is never closed"}
	if got := b.envs[0].told(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if err := b.served[0]; err != nil {
		t.Errorf("Serve: got error %v", err)
	}
}

func TestServeEndsWithConnection(t *testing.T) {
	front, rank := Pipe()
	served := make(chan error)
	go func() {
		served <- Serve(t.Context(), rank, &fakeEnv{world: newWorld(1)})
	}()
	front.Send((&message{Seq: 1, Run: &runMsg{Source: "hang()", Path: "a.star"}}).encode())
	front.Close()
	if err := <-served; err != nil {
		t.Errorf("got error %v, want nil", err)
	}
}

func TestServeEndsWithContext(t *testing.T) {
	_, rank := Pipe()
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(10*time.Millisecond, func() { cancel(errors.New("enough")) })
	if err := Serve(ctx, rank, &fakeEnv{world: newWorld(1)}); err == nil || err.Error() != "enough" {
		t.Errorf("got error %v, want enough", err)
	}
}

func TestServeRefusesAlienMessages(t *testing.T) {
	for _, msg := range []string{
		"", "{", "hello", `{"v":2,"stop":{}}`, `{"v":1}`, `{"v":1,"stop":{},"who":{}}`, `{"v":1,"stop":{}}{}`,
		`{"v":1,"fly":{}}`, `{"v":1,"done":{}}`,
	} {
		front, rank := Pipe()
		front.Send([]byte(msg))
		if err := Serve(t.Context(), rank, &fakeEnv{world: newWorld(1)}); err == nil || !strings.HasPrefix(err.Error(), "control message: ") {
			t.Errorf("%q: got error %v, want one about the message", msg, err)
		}
	}
}

func TestPipe(t *testing.T) {
	a, b := Pipe()
	msg := []byte("x")
	a.Send(msg)
	msg[0] = 'y'
	a.Send(nil)
	a.Close()
	for _, want := range []string{"x", ""} {
		if got, err := b.Recv(t.Context()); err != nil || string(got) != want {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	for range 2 {
		if _, err := b.Recv(t.Context()); err != io.EOF {
			t.Errorf("after the end: got error %v, want EOF", err)
		}
	}
	if err := b.Send(nil); err != io.ErrClosedPipe {
		t.Errorf("Send to a closed end: got error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c, _ := Pipe()
	if _, err := c.Recv(ctx); err != context.Canceled {
		t.Errorf("got error %v, want canceled", err)
	}
}

// A byte order mark is no part of a script.
func TestReadProgramSkipsTheMark(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.star")
	if err := os.WriteFile(path, []byte("\ufeffx = 1\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if p, err := ReadProgram(path); err != nil || p.Source != "x = 1\n" {
		t.Errorf("got %q, %v, want the source without its mark", p.Source, err)
	}
}
