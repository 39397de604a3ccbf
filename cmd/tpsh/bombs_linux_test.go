package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// bombs are programs that fill memory, with the line on which they do. Each has
// the path to it that the interpreter takes: values, one call of a builtin
// function, what is caught on the way, small tensors.
var bombs = []struct {
	name, source string
	line         int
}{
	{"a string", "s = \"x\"\nwhile True:\n    s += s", 3},
	{"a list", "l = [1]\nwhile True:\n    l = l + l", 3},
	{"a list extended", "l = []\nwhile True:\n    l.extend(range(1000000))", 3},
	{"one extension", "l = []\nl.extend(range(1 << 40))", 2},
	{"a dict", "d = {}\ni = 0\nwhile True:\n    d[i] = str(i)\n    i += 1", 0},
	{"join", "l = [\"x\" * 1000000] * 1000\nwhile True:\n    l.append(\",\".join(l))", 3},
	{"format", "s = \"x\" * 1000000\nl = []\nwhile True:\n    l.append(\"{}{}\".format(s, s))", 4},
	{"percent", "s = \"x\" * 1000000\nl = []\nwhile True:\n    l.append(\"%s%s\" % (s, s))", 4},
	{"json", "l = []\nwhile True:\n    l.append(json.indent(json.encode([\"a\" * 1000] * 10000)))", 3},
	{"caught", "def grow():\n    s = \"x\"\n    while True:\n        s += s\nattempt(grow)\nprint(\"caught\")", 4},
	{"small tensors", "l = []\nwhile True:\n    l.append(zeros(1000))", 3},
	{"one rank", "if rank() == 1:\n    s = \"x\"\n    while True:\n        s += s\nbarrier()", 4},
}

// A program that fills memory ends with the limit and its line, and nobody kills
// it; ranks that wait for the one that does are told.
func TestBombs(t *testing.T) {
	dir := t.TempDir()
	for i, bomb := range bombs {
		transport := []string{"inproc", "shm"}[i%2]
		t.Run(bomb.name+"/"+transport, func(t *testing.T) {
			script := filepath.Join(dir, fmt.Sprintf("bomb%d.star", i))
			if err := os.WriteFile(script, []byte(bomb.source), 0o644); err != nil {
				t.Fatal(err)
			}
			p := exec.Command(os.Args[0], "run", "-n", "2", "--transport", transport, "--max-mem", "64M", script)
			p.Env = append(os.Environ(), commandVariable+"=1", "TMPDIR="+t.TempDir())
			out, _ := p.CombinedOutput() // its status is looked at
			if code := p.ProcessState.ExitCode(); code != 1 && code != 3 {
				t.Errorf("exit status %d, want 1 or 3", code)
			}
			line := ""
			if bomb.line > 0 {
				line = fmt.Sprint(bomb.line)
			}
			for _, want := range []string{`memory limit of 64 MiB reached`, fmt.Sprintf(`bomb%d\.star:%s`, i, line)} {
				if !regexp.MustCompile(want).Match(out) {
					t.Errorf("no %q in\n%.2000s", want, out)
				}
			}
			if strings.Contains(string(out), "caught") || strings.Contains(string(out), "goroutine") {
				t.Errorf("it went on, or crashed:\n%.2000s", out)
			}
		})
	}
}

// What cannot be printed at once is refused where it is printed.
func TestPrintBomb(t *testing.T) {
	for _, transport := range []string{"inproc", "shm"} {
		var errs strings.Builder
		script := filepath.Join(t.TempDir(), "print.star")
		if err := os.WriteFile(script, []byte("x = 1\nprint(\"x\" * 100000000)"), 0o644); err != nil {
			t.Fatal(err)
		}
		got := run(&stdio{strings.NewReader(""), new(strings.Builder), &errs}, []string{"run", "-n", "2", "--transport", transport, script})
		if want := "print.star:2:6"; got != 1 || !strings.Contains(errs.String(), want) || !strings.Contains(errs.String(), "got 100000000 bytes to print at once") {
			t.Errorf("%s: exit status %d, want 1, and %q, and the bytes, in\n%s", transport, got, want, errs.String())
		}
	}
}
