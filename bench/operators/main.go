// Operators measures calls of operators on one core beside PyTorch's, and prints those first
// that take longest beside it.
//
//	go run ./bench/operators -python python3
//	go run ./bench/operators -python python3 'softmax|norm'
//
// A row has how many times as long tpsh takes, the microseconds of both, and the call. Each
// call is repeated for a tenth of a second, and the fastest counts. The calls are those of
// operators.txt, of matrices of 1,024 by 1,024 for the most part; arguments are regular
// expressions of which one is to match the call.
package main

import (
	"cmp"
	_ "embed"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

//go:embed operators.txt
var operators string

// tensors is what calls are of, in both languages.
const tensors = `x, y, v = rand(1024, 1024) + 0.01, rand(1024, 1024) + 0.01, rand(1024)
d, b, x3, x4, q = x.to(float64), x.to(bfloat16), rand(16, 128, 128), rand(8, 32, 56, 56), rand(2, 8, 256, 64)
m, i, g, i0, e = x.gt(0.5), randint(0, 1000, (65536,)), randint(0, 1024, (1024, 1024)), randint(0, 1024, (1024,)), rand(1000, 64)
i64, yy, i2 = randint(0, 100000, (1024, 1024)), rand(1024, 1024), randint(0, 1000, (4096, 16))
x1, w1, w4 = rand(8, 64, 256), rand(64, 64, 3), rand(32, 32, 3, 3)
`

// leaves has those get gradients.
const leaves = `for t in [x, v, x3, x4, q, e, x1, w1, w4]:
    t.requires_grad_()
`

// measure measures a call, in both languages, given a clock.
const measure = `def measure(name, f):
    fastest, total = 1e9, 0
    for n in range(400):
        t = clock()
        f()
        t = clock() - t
        fastest, total = min(fastest, t), total + t
        if total > 0.1 and n >= 3:
            break
    print("timed", name, fastest)
`

const python = `import builtins, time
import torch
import torch.nn.functional as F
from torch import *
from torch import fft
range, min, print, sum = builtins.range, builtins.min, builtins.print, builtins.sum
clock = time.perf_counter
torch.set_num_threads(1)
`

func main() {
	tpsh := flag.String("tpsh", "", "the `COMMAND` that is measured; by itself it is built")
	peer := flag.String("python", "python3", "a Python that has PyTorch")
	flag.Parse()
	if err := run(*tpsh, *peer, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "operators:", err)
		os.Exit(1)
	}
}

func run(tpsh, peer string, patterns []string) error {
	calls, gradients, err := chosen(patterns)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "operators")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if tpsh == "" {
		tpsh = filepath.Join(dir, "tpsh")
		if out, err := exec.Command("go", "build", "-o", tpsh, "./cmd/tpsh").CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
	}
	ours, err := times(filepath.Join(dir, "operators.star"), "clock = time\n"+program(calls, gradients), tpsh, "run", "-n", "1")
	if err != nil {
		return err
	}
	theirs, err := times(filepath.Join(dir, "operators.py"), python+program(calls, gradients), peer)
	if err != nil {
		return err
	}
	calls = append(calls, named(gradients)...)
	slices.SortStableFunc(calls, func(a, b string) int { return cmp.Compare(ours[b]/theirs[b], ours[a]/theirs[a]) })
	fmt.Println("| times as long | tpsh, us | PyTorch, us | call |\n| --- | --- | --- | --- |")
	for _, c := range calls {
		fmt.Printf("| %.2f | %.1f | %.1f | `%s` |\n", ours[c]/theirs[c], 1e6*ours[c], 1e6*theirs[c], c)
	}
	return nil
}

// chosen returns the calls that one of patterns matches, all if there is none, and those of
// which gradients are taken.
func chosen(patterns []string) (calls, gradients []string, err error) {
	list := &calls
	which, err := regexp.Compile(strings.Join(patterns, "|"))
	if err != nil {
		return nil, nil, err
	}
	for line := range strings.Lines(operators) {
		switch line = strings.TrimSpace(line); {
		case line == "backward":
			list = &gradients
		case line == "" || line[0] == '#' || !which.MatchString(line):
		default:
			*list = append(*list, line)
		}
	}
	return calls, gradients, nil
}

// named returns the names under which gradients are measured.
func named(gradients []string) []string {
	out := make([]string, len(gradients))
	for i, g := range gradients {
		out[i] = g + ", and its gradient"
	}
	return out
}

// program returns the part of a program that is the same in both languages.
func program(calls, gradients []string) string {
	var s strings.Builder
	s.WriteString(tensors + measure + "def main():\n    pass\n")
	for _, c := range calls {
		fmt.Fprintf(&s, "    measure(%q, lambda: %s)\n", c, c)
	}
	s.WriteString("main()\ndef differentiate():\n    " + strings.ReplaceAll(strings.TrimSpace(leaves), "\n", "\n    ") + "\n")
	for i, name := range named(gradients) {
		fmt.Fprintf(&s, "    measure(%q, lambda: (%s).sum().backward())\n", name, gradients[i])
	}
	s.WriteString("differentiate()\n")
	return s.String()
}

// times runs a program, kept in a file, and returns the seconds of each call.
func times(file, text string, command ...string) (map[string]float64, error) {
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		return nil, err
	}
	c := exec.Command(command[0], append(command[1:], file)...)
	c.Env = append(os.Environ(), "GOMAXPROCS=1")
	out, err := c.Output()
	if err != nil {
		if e, ok := err.(*exec.ExitError); ok {
			err = fmt.Errorf("%w: %s", err, e.Stderr)
		}
		return nil, fmt.Errorf("%s: %w", command[0], err)
	}
	seconds := map[string]float64{}
	for line := range strings.Lines(string(out)) {
		text, ok := strings.CutPrefix(strings.TrimSpace(line), "timed ")
		if !ok {
			continue
		}
		at := strings.LastIndexByte(text, ' ')
		if seconds[text[:at]], err = strconv.ParseFloat(text[at+1:], 64); err != nil {
			return nil, fmt.Errorf("%s printed %q: %w", command[0], line, err)
		}
	}
	return seconds, nil
}
