package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Scripts of TestUnwritten, by file.
var unwrittenScripts = map[string]string{
	"loop.star":   "i = 0\nwhile True:\n    print('a line of an endless loop', i)\n    barrier()\n    i += 1\n",
	"short.star":  "print('a line')\n",
	"fails.star":  "fail('no')\n",
	"save.star":   "x = zeros(100000)\nsave_checkpoint('ck', {'x': x})\n",
	"write.star":  "x = 'x' * 100000\nwrite_text('big.txt', x)\n",
	"a_test.star": "def test_first():\n    pass\n\ndef test_loop():\n    while True:\n        print('a line of an endless loop')\n        barrier()\n",
}

// What cannot be written ends a command soon, with a line that says what, and one
// exit status; a run and a test also say where.
func TestUnwritten(t *testing.T) {
	const full, small, stdout = "exec \"$@\" >/dev/full", "ulimit -f 20; exec \"$@\" >out", "cannot write standard output: "
	tests := []struct {
		how, args string // what is done in a shell, to this command
		want      string // in what it says
		status    int
	}{
		{full, "version", stdout, 3},
		{full, "help", stdout, 3},
		{full, "help run", stdout, 3},
		{full, "doc zeros", stdout, 3},
		{full, "fmt short.star", stdout, 3},
		{full, "check --json short.star", stdout, 3},
		{full, "completion bash", stdout, 3},
		{full, "plan -n 2 short.star", stdout, 3},
		{full, "plan -n 2 --json short.star", stdout, 3},
		{full, "test --list a_test.star", stdout, 3},
		{full, "run -n 2 short.star", "tpsh: " + stdout + "no space left on device", 3},
		{full, "run -n 2 loop.star", stdout + "no space left on device; rank ", 3},
		{full, "run -n 2 --output raw loop.star", "was stopped in ", 3},
		{full, "run -n 2 --transport tcp loop.star", "; rank ", 3},
		{full, "test -v -n 2 a_test.star", stdout + "no space left on device; it was about test_first (n=2, inproc) of a_test.star", 3},
		{full, "test --json -n 2 --run first a_test.star", "; it was about test_first (n=2, inproc) of a_test.star", 3},
		{small, "run -n 2 loop.star", "loop.star:", 3},
		{small, "run -n 2 --transport tcp loop.star", stdout + "file too large; rank ", 3},
		{small, "test -v -n 2 --transport tcp a_test.star", "; it was about test_loop (n=2, tcp) of a_test.star", 3},
		{"exec \"$@\"", "run -n 2 --trace /dev/full short.star", "tpsh: cannot write the trace to /dev/full: no space left on device\n", 3},
		{"exec \"$@\"", "run -n 2 --report /dev/full short.star", "tpsh: cannot write the report to /dev/full: no space left on device\n", 3},
		{"exec \"$@\"", "run -n 2 --failure /dev/full --trace /dev/full fails.star", "tpsh: cannot write the trace to /dev/full: no space left on device\ntpsh: cannot write the failure to /dev/full: no space left on device\n", 1},
		{"exec \"$@\"", "test -n 2 --run first --junit /dev/full a_test.star", "cannot write /dev/full: no space left on device\n", 3},
		{"exec \"$@\"", "test -n 2 --run first --cover /dev/full a_test.star", "cannot write /dev/full: no space left on device\n", 3},
		{small, "run -n 2 save.star", "save.star:2:16: in <toplevel>\nError in save_checkpoint: to \"ck\": file too large", 1},
		{small, "run -n 2 --transport tcp save.star", "save.star:2:16: in <toplevel>\nError in save_checkpoint: to \"ck\": file too large", 1},
		{small, "run -n 2 --transport tcp write.star", "write.star:2:11: in <toplevel>\nError in write_text", 1},
		{small, "run -n 2 --transport shm write.star", "shared memory: 9482240 bytes: truncate shared memory: file too large (ulimit -f lets files have ", 3},
		{"echo 'print(1)' | \"$@\" >/dev/full", "repl -n 2", "tpsh: " + stdout + "no space left on device\n", 3},
		{"echo 'print(1)' | \"$@\" >/dev/full", "repl -n 2 --transport shm", "tpsh: " + stdout + "no space left on device\n", 3},
		{"{ \"$@\"; echo $? >code; } | head -c 1 >out; exit $(cat code)", "run -n 2 loop.star", "", 141},
		{"{ \"$@\"; echo $? >code; } | head -c 1 >out; exit $(cat code)", "test -v -n 2 a_test.star", "", 141},
		{"{ (echo 'print(1)'; until [ -s out ]; do sleep 0.1; done; sleep 0.1; echo 'print(2)') | \"$@\"; echo $? >code; } | head -c 1 >out; exit $(cat code)", "repl -n 2", "", 141},
	}
	for _, test := range tests {
		t.Run(test.args+"/"+test.how, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for name, source := range unwrittenScripts {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(source), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			c := exec.CommandContext(t.Context(), "sh", append([]string{"-c", test.how, "sh", os.Args[0]}, strings.Fields(test.args)...)...)
			c.Dir, c.WaitDelay = dir, 5*time.Second
			c.Env = append(os.Environ(), commandVariable+"=1", "TMPDIR="+dir)
			var errs strings.Builder
			c.Stderr = &errs
			err := c.Run()
			if got := c.ProcessState.ExitCode(); got != test.status || err != nil && !errors.As(err, new(*exec.ExitError)) {
				t.Errorf("exit status %d (%v), want %d, and\n%s", got, err, test.status, &errs)
			}
			if !strings.Contains(errs.String(), test.want) || test.want == "" && errs.Len() > 0 {
				t.Errorf("said %q, want %q in it", &errs, test.want)
			}
		})
	}
}
