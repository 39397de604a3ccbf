package builtins_test

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"tpsh/builtins/builtinstest"
)

var (
	torchSeed  = flag.Int("torch-seed", 1, "the seed of TestTorchCases")
	torchCases = flag.Int("torch-cases", 2000, "how many random calls TestTorchCases makes")
)

// torchChunk is how many cases a script has.
const torchChunk = 200

// What random calls of operators give, plain and on every placement of their inputs,
// and their gradients, is what PyTorch gives. TPSH_PYTHON names a Python that has it.
func TestTorchCases(t *testing.T) {
	python, check := torchPython(t)
	for first := 0; first < *torchCases; first += torchChunk {
		count := min(torchChunk, *torchCases-first)
		compareTorch(t, check, 2+first/torchChunk%3, python, "testdata/torch/cases.py", strconv.Itoa(*torchSeed), strconv.Itoa(first), strconv.Itoa(count))
	}
}

// The calls of testdata/torch/names*.txt, one or more of each operator that the random
// ones leave out, give what PyTorch gives, too.
func TestTorchNames(t *testing.T) {
	python, check := torchPython(t)
	lists, err := filepath.Glob("testdata/torch/names*.txt")
	if err != nil || len(lists) == 0 {
		t.Fatalf("no lists of calls: %v", err)
	}
	for _, list := range lists {
		t.Run(filepath.Base(list), func(t *testing.T) { compareTorch(t, check, 2, python, "testdata/torch/names.py", list) })
	}
}

// torchPython returns a Python that has PyTorch, and the script that compares; it skips
// the test if there is none.
func torchPython(t *testing.T) (python, check string) {
	python = os.Getenv("TPSH_PYTHON")
	if python == "" {
		t.Skip("left out: calls compared with PyTorch's; TPSH_PYTHON names a Python that has it")
	}
	text, err := os.ReadFile("testdata/torch/check.star")
	if err != nil {
		t.Fatal(err)
	}
	return python, string(text)
}

// compareTorch runs what a program prints, a list of cases, and the script that
// compares them, on so many ranks.
func compareTorch(t *testing.T, check string, ranks int, program ...string) {
	t.Helper()
	cmd := exec.Command(program[0], program[1:]...)
	cmd.Stderr = os.Stderr
	cases, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v", program[1:], err)
	}
	s := &builtinstest.Script{Name: "torch_cases.star", Source: string(cases) + check}
	builtinstest.Check(t, s.Run(t, "inproc", ranks))
}
