package rundiff

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// runs returns a folder of runs that PyTorch has made, of what: "" with faults or "clean".
// TPSH_PYTHON names a Python that has PyTorch, TPSH_TORCH_RUNS a folder in which faults and
// clean are there already.
func runs(t *testing.T, what string) string {
	t.Helper()
	if dir := os.Getenv("TPSH_TORCH_RUNS"); dir != "" {
		return filepath.Join(dir, map[string]string{"": "faults", "clean": "clean"}[what])
	}
	python := os.Getenv("TPSH_PYTHON")
	if python == "" {
		t.Skip("left out: runs that PyTorch makes now, 16 with planted faults and 50 without; TPSH_PYTHON names a Python that has it")
	}
	dir := t.TempDir()
	if out, err := exec.Command(python, "../../.ci/pytorch/diff_faults.py", dir, what).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dir
}

// Faults that were planted in a small transformer are named.
func TestTorchFaults(t *testing.T) {
	dir := runs(t, "")
	data, err := os.ReadFile(filepath.Join(dir, "faults.json"))
	if err != nil {
		t.Fatal(err)
	}
	var faults map[string][2]string
	if err := json.Unmarshal(data, &faults); err != nil {
		t.Fatal(err)
	}
	for name, want := range faults {
		r, err := Compare(filepath.Join(dir, want[0]), filepath.Join(dir, name), &Options{})
		if err != nil || r.Equal || *r.Kind != want[1] {
			t.Errorf("%s: got %v %v, want %s", name, r, err, want[1])
		}
	}
}

// Runs without a fault, in other precisions and on other meshes, are not flagged.
func TestTorchClean(t *testing.T) {
	dir := runs(t, "clean")
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	name, n := regexp.MustCompile(`^(\w+)-\dx\d-(\w+-\w+)$`), 0
	for _, e := range list {
		m := name.FindStringSubmatch(e.Name())
		if m == nil {
			continue
		}
		n++
		r, err := Compare(filepath.Join(dir, "ref-"+m[1]+"-"+m[2]), filepath.Join(dir, e.Name()), &Options{})
		if err != nil || !r.Equal {
			t.Errorf("%s: %v %+v", e.Name(), err, r)
		}
	}
	if n != 50 {
		t.Errorf("got %d runs, want 50", n)
	}
}
