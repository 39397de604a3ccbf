package builtins_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/builtinstest"
)

var (
	torchSeed  = flag.Int("torch-seed", 1, "the seed of TestTorchCases")
	torchCases = flag.Int("torch-cases", 2000, "how many random calls TestTorchCases makes")
	torchLarge = flag.Int("torch-large", 40, "how many random calls of large tensors TestTorchLarge makes")
)

// What random calls of operators give, plain and on every placement of their inputs,
// and their gradients, is what PyTorch gives. TPSH_PYTHON names a Python that has it.
func TestTorchCases(t *testing.T) {
	python, check := torchPython(t)
	var jobs sync.WaitGroup
	defer jobs.Wait()
	running := make(chan struct{}, goruntime.GOMAXPROCS(0)) // several, for ranks of one wait for each other
	i := 0
	for cases := range torchLists(t, python, "testdata/torch/cases.py", strconv.Itoa(*torchSeed), "0", strconv.Itoa(*torchCases)) {
		ranks := 2 + i%3
		name := fmt.Sprintf("%d on %d ranks", i, ranks)
		i++
		running <- struct{}{}
		jobs.Go(func() {
			defer func() { <-running }()
			t.Run(name, func(t *testing.T) { compareTorch(t, cases, check, "", ranks) })
		})
	}
}

// The same of large tensors, with which operators take other ways, and other cores some of it.
func TestTorchLarge(t *testing.T) {
	python, check := torchPython(t)
	const chunk = 20 // whose tensors the disk has at a time
	for first := 0; first < *torchLarge; first += chunk {
		folder := t.TempDir()
		for cases := range torchLists(t, python, "testdata/torch/cases.py", strconv.Itoa(*torchSeed), strconv.Itoa(first), strconv.Itoa(min(chunk, *torchLarge-first)), folder) {
			compareTorch(t, cases, check, folder, 1+first/chunk%4)
		}
		if err := os.RemoveAll(folder); err != nil {
			t.Fatal(err)
		}
	}
}

// The calls of testdata/torch/names*.txt, one or more of each operator that the random
// ones leave out, give what PyTorch gives, too.
func TestTorchNames(t *testing.T) {
	python, check := torchPython(t)
	files, err := filepath.Glob("testdata/torch/names*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no lists of calls: %v", err)
	}
	lists := slices.Collect(torchLists(t, python, append([]string{"testdata/torch/names.py"}, files...)...))
	if len(lists) != len(files) {
		t.Fatalf("got %d lists of %d files", len(lists), len(files))
	}
	for i, cases := range lists {
		t.Run(filepath.Base(files[i]), func(t *testing.T) {
			compareTorch(t, cases, check, "", 2)
			if strings.Contains(files[i], "embedding") {
				compareTorch(t, cases, check, "", 4)
			}
		})
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

// torchLists returns the lists of cases that a program of Python prints, each the text of a
// script, as they come. One process prints them all: PyTorch takes seconds to import.
func torchLists(t *testing.T, python string, program ...string) iter.Seq[string] {
	t.Helper()
	return func(yield func(string) bool) {
		cmd := exec.CommandContext(t.Context(), python, program...)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatalf("%v: %v", program, err)
		}
		var list strings.Builder
		lines := bufio.NewReader(out)
		for err == nil {
			var line string
			line, err = lines.ReadString('\n')
			list.WriteString(line)
			if line == "]\n" {
				if !yield(list.String()) {
					return // the end of the test ends the process
				}
				list.Reset()
			}
		}
		if err := cmd.Wait(); err != nil || list.Len() > 0 {
			t.Fatalf("%v: %v, and %d bytes of a list that does not end", program, err, list.Len())
		}
	}
}

// compareTorch runs a list of cases and the script that compares them, on so many ranks.
// Their tensors are in a folder, "" for in the text.
func compareTorch(t *testing.T, cases, check, folder string, ranks int) {
	t.Helper()
	s := &builtinstest.Script{Name: "torch_cases.star", Source: cases + "\n" + check, Dir: folder}
	builtinstest.Check(t, s.Run(t, "inproc", ranks))
}

var tableEntries = flag.String("torch-entries", "", "the entries of PyTorch's table that TestTorchTable tries, separated by commas; all if empty")

// A tableEntry is an entry of PyTorch's table of operators, as testdata/torch/table.py
// prints it.
type tableEntry struct {
	Entry string
	Name  string // by which scripts call it; "" if they do not
	Cases string
	Count int
	Why   string // what kept samples from being cases, if anything
}

// tableLeft lists the entries of PyTorch's table of which not all calls give what PyTorch gives,
// with the first difference, and those that scripts do not have: docs/operators.md says why, and
// whyLeft of others.
// `go test ./builtins -run TorchTable -update` writes it.
const tableLeft = "testdata/torch/table_left.txt"

// whyLeft says of entries that are in tableLeft to stay, and have a name in scripts, why.
var whyLeft = map[string]string{
	"as_strided_scatter":     "PyTorch gives x the gradient of what src replaces, and what stays of x none: its own gradcheck refuses it",
	"nn.functional.ctc_loss": "PyTorch's gradient is that of logits whose log_softmax log_probs is, as names_nn.txt has it, and not of log_probs",
}

// because is the reason of whyLeft for an entry, as it stands behind what differs.
func because(entry string) string {
	if why := whyLeft[entry]; why != "" {
		return "; by choice: " + why
	}
	return ""
}

// Entries of the table by which PyTorch tests its operators, and its DTensor, answer under
// their names, and PyTorch's own samples give what they give there, plain and cut, with
// gradients; but for those that tableLeft lists. The log has the counts:
// go test ./builtins -run TorchTable -v.
func TestTorchTable(t *testing.T) {
	python, _ := torchPython(t)
	if exec.Command(python, "-c", "import expecttest").Run() != nil {
		t.Skip("left out: PyTorch's table of operators needs the package expecttest, which TPSH_PYTHON lacks")
	}
	check, err := os.ReadFile("testdata/torch/table.star")
	if err != nil {
		t.Fatal(err)
	}
	entries := torchTable(t, python)
	var left []string
	var named, calls int
	var right [3]int
	for _, e := range entries {
		if e.Name == "" {
			left = append(left, e.Entry+": no name in scripts")
			continue
		}
		named, calls = named+1, calls+e.Count
		counts, said := e.try(t, string(check))
		for i, n := range counts {
			right[i] += n
		}
		if counts != [3]int{e.Count, e.Count, e.Count} {
			left = append(left, fmt.Sprintf("%s: %d, %d, %d of %d calls; %s", e.Entry, counts[0], counts[1], counts[2], e.Count, said+because(e.Entry)))
		}
		if e.Why != "" {
			t.Logf("%s: %d calls; the last sample that is no call: %s", e.Entry, e.Count, e.Why)
		}
	}
	t.Logf("of %d entries of PyTorch's table %d answer under their names, and %d with what PyTorch gives, in all of their calls: of %d calls %d do plain, %d cut along the first dim, %d along the last",
		len(entries), named, len(entries)-len(left), calls, right[0], right[1], right[2])
	if *tableEntries == "" {
		checkTableLeft(t, left)
	}
}

// try runs the calls of an entry, and returns how many are as in PyTorch in each placement,
// and the first difference.
func (e *tableEntry) try(t *testing.T, check string) (counts [3]int, said string) {
	s := &builtinstest.Script{Name: "table.star", Source: e.Cases + check}
	res := s.Run(t, "inproc", 2)[0]
	if res.Err != nil {
		return counts, strings.ReplaceAll(res.Err.Error(), "\n", " ")
	}
	list := res.Globals["right"].(*starlark.List)
	for i := range counts {
		counts[i], _ = starlark.AsInt32(list.Index(i))
	}
	if len(res.Printed) > 0 {
		said = res.Printed[0]
	}
	if *tableEntries != "" {
		t.Logf("%s: %v of %d\n\t%s", e.Entry, counts, e.Count, strings.Join(res.Printed, "\n\t"))
	}
	return counts, said
}

// checkTableLeft compares the entries that are left with those that the list has.
func checkTableLeft(t *testing.T, left []string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(tableLeft, []byte(strings.Join(left, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	text, err := os.ReadFile(tableLeft)
	if err != nil {
		t.Fatal(err)
	}
	entryOf := func(line string) string { return line[:max(0, strings.Index(line, ": "))] }
	listed, found := map[string]bool{}, map[string]bool{}
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		listed[entryOf(line)] = true
	}
	for _, line := range left {
		found[entryOf(line)] = true
		if !listed[entryOf(line)] {
			t.Errorf("not as in PyTorch: %s", line)
		}
	}
	for entry := range whyLeft {
		if !found[entry] {
			t.Errorf("%s is as in PyTorch, and whyLeft says why it is not", entry)
		}
	}
	for entry := range listed {
		if !found[entry] {
			t.Errorf("%s is as in PyTorch, and in %s: -update takes it out", entry, tableLeft)
		}
	}
}

// torchTable returns the entries of PyTorch's table.
func torchTable(t *testing.T, python string) []tableEntry {
	t.Helper()
	names := filepath.Join(t.TempDir(), "names")
	if err := os.WriteFile(names, []byte(strings.Join(builtins.Names(), "\n")), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(python, "testdata/torch/table.py", names, *tableEntries)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("table.py: %v", err)
	}
	var entries []tableEntry
	for dec := json.NewDecoder(bytes.NewReader(out)); dec.More(); {
		var e tableEntry
		if err := dec.Decode(&e); err != nil {
			t.Fatalf("table.py: %v", err)
		}
		entries = append(entries, e)
	}
	return entries
}
