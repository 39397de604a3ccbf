package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// breakpoint() stops all ranks at a terminal, where the same prompt takes the lines of
// the debugger: of run, of test, and of a statement in the shell.
func TestBreakpointAtTerminal(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	run := write("a.star", "x = rank() + 1\nbreakpoint()\ny = x\nprint(y * 10)\n")
	test := write("a_test.star", "def test_a():\n    x = 5\n    breakpoint()\n    assert.eq(x, 5)\n")
	for name, tt := range map[string]struct {
		args []string
		want []string
	}{
		"run":  {[]string{"run", "-n", "2", "--timeout", "5s", run}, []string{"breakpoint() at " + run + ":2 in <toplevel>", "[0] 1", "[1] 2", "[0] 10"}},
		"test": {[]string{"test", "-n", "2", "-v", test}, []string{"breakpoint() at " + test + ":3 in test_a", "5", "PASS"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := startTypist(t, 150, 40, tt.args...)
			p.prompt = "debug> "
			p.wait()
			p.do("x")
			io.WriteString(p.keys, "c\r")
			p.cmd.Wait()
			<-p.read
			all := p.screen.All()
			for _, want := range tt.want {
				if !strings.Contains(all, want) {
					t.Errorf("got:\n%s\nwant it to contain %q", all, want)
				}
			}
		})
	}
	p := newTypist(t, 100, 40, "-n", "2")
	p.prompt = "debug> "
	p.do("def f(a):\rb = a + 1\rbreakpoint()\rreturn b\r\rf(2)")
	p.do(":locals")
	p.prompt = "tpsh[2]> "
	p.do(":continue")
	if got := p.screen.String(); !strings.Contains(got, "\na = 2\nb = 3\ndebug> :continue\n3\ntpsh[2]>") {
		t.Errorf("shell: got:\n%s", got)
	}
}
