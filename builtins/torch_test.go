package builtins_test

import (
	"flag"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"tpsh/builtins/builtinstest"
)

var (
	torchSeed  = flag.Int("torch-seed", 1, "the seed of TestTorchCases")
	torchCases = flag.Int("torch-cases", 2000, "how many random calls TestTorchCases makes")
)

// torchChunk is how many cases a script has.
const torchChunk = 1000

// What random calls of operators give, plain and on every placement of their inputs,
// and their gradients, is what PyTorch gives. TPSH_PYTHON names a Python that has it.
func TestTorchCases(t *testing.T) {
	python := os.Getenv("TPSH_PYTHON")
	if python == "" {
		t.Skip("left out: random calls compared with PyTorch's; TPSH_PYTHON names a Python that has it")
	}
	check, err := os.ReadFile("testdata/torch/check.star")
	if err != nil {
		t.Fatal(err)
	}
	for first := 0; first < *torchCases; first += torchChunk {
		count := min(torchChunk, *torchCases-first)
		cmd := exec.Command(python, "testdata/torch/cases.py", strconv.Itoa(*torchSeed), strconv.Itoa(first), strconv.Itoa(count))
		cmd.Stderr = os.Stderr
		cases, err := cmd.Output()
		if err != nil {
			t.Fatalf("cases %d to %d: %v", first, first+count, err)
		}
		s := &builtinstest.Script{Name: "torch_cases.star", Source: string(cases) + string(check)}
		builtinstest.Check(t, s.Run(t, "inproc", 2+first/torchChunk%3))
	}
}
