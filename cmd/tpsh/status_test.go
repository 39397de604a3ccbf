package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// The exit status says what kind of thing went wrong.
func TestExitStatus(t *testing.T) {
	tests := []struct {
		name   string
		source string
		flags  []string
		want   int
	}{
		{"done", `all_reduce(ones(2))`, nil, 0},
		{"a caught error", `attempt(fail, "no")`, nil, 0},
		{"a caught deadlock", `attempt(recv, 1 - rank())`, nil, 0},
		{"a failure", `fail("no")`, nil, 1},
		{"a failure of one rank", "if rank() == 1:\n    1 // 0\nbarrier()", nil, 1},
		{"a mismatch", `all_reduce(ones(2 + rank()))`, nil, 1},
		{"a message left", `send(ones(2), rank())`, nil, 1},
		{"steps", "while True:\n    pass", []string{"--max-steps", "10000"}, 1},
		{"memory", `attempt(zeros, 1 << 26)`, []string{"--max-mem", "16M"}, 1},
		{"no such name", `all_reduse(ones(2))`, nil, 1},
		{"bad flag", ``, []string{"--transport", "pigeon"}, 2},
		{"bad number", ``, []string{"-n", "many"}, 2},
		{"a deadlock", `recv(1 - rank())`, nil, 3},
		{"a rank that has ended", "if rank() == 0:\n    barrier()", nil, 3},
		{"a deadlock at the end", "if rank() == 0:\n    all_reduce(ones(2), async_op=True)", nil, 3},
		{"a death", "faults.kill(1, \"barrier#1\")\nbarrier()", nil, 3},
		{"a death that others caught", "faults.kill(1, \"barrier#1\")\nattempt(barrier)", nil, 3},
		{"a timeout", "while True:\n    pass", []string{"--timeout", "50ms"}, 3},
	}
	for _, test := range tests {
		for _, transport := range distinctTransports() {
			t.Run(test.name+"/"+transport, func(t *testing.T) {
				args := append([]string{"run", "-n", "2", "--transport", transport}, test.flags...)
				wantStatus(t, test.source, args, test.want)
			})
		}
	}
}

// A plan ends as the run that it is a plan of.
func TestExitStatusOfPlan(t *testing.T) {
	for source, want := range map[string]int{
		`all_reduce(ones(2))`:          0,
		`fail("no")`:                   1,
		`all_reduce(ones(2 + rank()))`: 1,
		`send(ones(2), rank())`:        1,
		`recv(1 - rank())`:             3,
	} {
		for _, each := range []string{"--each", "--each=false"} {
			wantStatus(t, source, []string{"plan", "-n", "2", "--hw", "hgx-h100", each}, want)
		}
	}
}

// wantStatus runs source as a script with args before its name.
func wantStatus(t *testing.T, source string, args []string, want int) {
	t.Helper()
	script := filepath.Join(t.TempDir(), "main.star")
	if err := os.WriteFile(script, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	got := run(&stdio{strings.NewReader(""), &out, &errs}, append(args, script))
	if got != want {
		t.Errorf("got exit status %d, want %d\n%s", got, want, &errs)
	}
	if quiet := errs.Len() == 0; quiet != (want == 0) {
		t.Errorf("exit status %d with this on standard error:\n%s", got, &errs)
	}
}

// Other commands use the same statuses.
func TestExitStatusOfCommands(t *testing.T) {
	dir := t.TempDir()
	for name, source := range map[string]string{
		"good_test.star": "def test_good():\n    barrier()",
		"bad_test.star":  "def test_bad():\n    fail('no')",
		"none_test.star": "x = 1",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(source), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	tests := []struct {
		args []string
		want int
	}{
		{[]string{"version"}, 0},
		{[]string{"help"}, 0},
		{[]string{"run", "--help"}, 0},
		{[]string{"doc", "all_reduce"}, 0},
		{[]string{"doc", "all_reduse"}, 1},
		{[]string{"run", in("absent.star")}, 2},
		{[]string{"frobnicate"}, 2},
		{[]string{"test", in("good_test.star")}, 0},
		{[]string{"test", in("bad_test.star")}, 1},
		{[]string{"test", dir}, 1},
		{[]string{"test", in("none_test.star")}, 1},
		{[]string{"test", "--run", "nothing", in("good_test.star")}, 2},
		{[]string{"test", "--run", "(", in("good_test.star")}, 2},
		{[]string{"test", in("absent_test.star")}, 2},
		{[]string{"diff", in("absent"), in("absent")}, 2},
		{[]string{"ckpt", "ls", in("absent")}, 2},
		{[]string{"ckpt", "diff", in("absent"), in("absent")}, 2},
	}
	for _, test := range tests {
		var out, errs bytes.Buffer
		if got := run(&stdio{strings.NewReader(""), &out, &errs}, test.args); got != test.want {
			t.Errorf("tpsh %s: got exit status %d, want %d\n%s%s", strings.Join(test.args, " "), got, test.want, &out, &errs)
		}
	}
}

// An interrupt ends a run, also one in which all ranks wait.
func TestExitStatusInterrupted(t *testing.T) {
	self, err := os.FindProcess(os.Getpid())
	if err != nil || goruntime.GOOS == "windows" { // where a process cannot interrupt itself
		return
	}
	caught := make(chan os.Signal, 1) // so that no signal ends the test itself
	signal.Notify(caught, os.Interrupt)
	defer signal.Stop(caught)
	for name, source := range map[string]string{
		"loop":       "while True:\n    pass",
		"collective": "if rank() == 0:\n    barrier()\nwhile True:\n    pass",
		"attempt":    "def f():\n    while True:\n        pass\nwhile True:\n    attempt(f)",
	} {
		t.Run(name, func(t *testing.T) {
			begun := filepath.Join(t.TempDir(), "begun")
			var interrupt sync.WaitGroup
			interrupt.Go(func() {
				for _, err := os.Stat(begun); err != nil && t.Context().Err() == nil; _, err = os.Stat(begun) {
					time.Sleep(time.Millisecond)
				}
				time.Sleep(50 * time.Millisecond) // into the loop
				self.Signal(os.Interrupt)
			})
			wantStatus(t, fmt.Sprintf("write_text(%q, '')\n%s", begun, source), []string{"run", "-n", "2", "--timeout", "2m", "--allow", filepath.Dir(begun)}, 130)
			interrupt.Wait()
		})
	}
}

// However early an interrupt comes, whoever hears it says so in a line. Before the
// process has begun to hear, the signal itself ends it.
func TestEarlyInterrupts(t *testing.T) {
	script := filepath.Join(t.TempDir(), "main.star")
	if err := os.WriteFile(script, []byte("while True:\n    barrier()"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		for after := 5 * time.Millisecond; after < 50*time.Millisecond; after += 5 * time.Millisecond {
			p := exec.Command(os.Args[0], "run", "-n", "2", "--transport", "tcp", script)
			p.Env = append(os.Environ(), commandVariable+"=1", "TMPDIR="+t.TempDir())
			var errs bytes.Buffer
			p.Stderr = &errs
			if err := p.Start(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(after)
			if err := p.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			p.Wait() // its status is looked at
			ended := p.ProcessState.Sys().(syscall.WaitStatus).Signaled()
			if got := p.ProcessState.ExitCode(); !ended && (got != 130 || !strings.Contains(errs.String(), "interrupted")) {
				t.Errorf("%v after %v: exit status %d, want 130 and a line that says so:\n%s", sig, after, got, &errs)
			}
		}
	}
}
