package tensorfiles

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"tpsh/mesh"
	"tpsh/runtime/ckpt"
)

// layouts returns a folder in which PyTorch has saved checkpoints in many layouts,
// each with a .pt file of what it reads from there. TPSH_PYTHON names a Python that
// has PyTorch; TPSH_TORCH_LAYOUTS a folder that is there already.
func layouts(t *testing.T) string {
	t.Helper()
	if dir := os.Getenv("TPSH_TORCH_LAYOUTS"); dir != "" {
		return dir
	}
	if os.Getenv("TPSH_PYTHON") == "" {
		t.Skip("left out: checkpoints that PyTorch writes now, in 12 layouts; TPSH_PYTHON names a Python that has it")
	}
	dir, err := saved()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// saved has PyTorch save its layouts, once for all tests; TestMain removes them.
var saved = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "layouts")
	if err != nil {
		return "", err
	}
	madeDir = dir
	out, err := exec.Command(os.Getenv("TPSH_PYTHON"), "../../.ci/pytorch/dcp_layouts.py", dir).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%v\n%s", err, out)
	}
	return dir, nil
})

var madeDir string // by saved

func TestMain(m *testing.M) {
	code := m.Run()
	if madeDir != "" {
		os.RemoveAll(madeDir)
	}
	os.Exit(code)
}

// What PyTorch saves is read bit by bit as PyTorch reads it.
func TestTorchLayouts(t *testing.T) {
	dir := layouts(t)
	list, err := filepath.Glob(filepath.Join(dir, "*.pt"))
	if err != nil || len(list) != 12 {
		t.Fatalf("got %d layouts, %v", len(list), err)
	}
	for _, pt := range list {
		name := strings.TrimSuffix(filepath.Base(pt), ".pt")
		t.Run(name, func(t *testing.T) {
			a, b := open(t, strings.TrimSuffix(pt, ".pt")), open(t, pt)
			sameSets(t, a, b)
			copies(t, a)
		})
	}
}

func open(t *testing.T, path string) *Set {
	t.Helper()
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// sameSets fails unless two sets have the same tensors and values.
func sameSets(t *testing.T, a, b *Set) {
	t.Helper()
	if len(a.Tensors) != len(b.Tensors) {
		t.Errorf("got %d tensors, want %d", len(a.Tensors), len(b.Tensors))
	}
	for _, x := range a.Tensors {
		y := b.Tensor(x.Name)
		if y == nil || x.String() != y.String() {
			t.Errorf("%s: got %v, want %v", x.Name, x, y)
			continue
		}
		if !bytes.Equal(elements(t, a, x), elements(t, b, y)) {
			t.Errorf("%s: other elements", x.Name)
		}
	}
	if got, want := treeText(a), treeText(b); got != want {
		t.Errorf("got the tree\n%s\nwant\n%s", got, want)
	}
}

func treeText(s *Set) string {
	text, _ := s.State()
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		return err.Error()
	}
	sorted, _ := json.Marshal(v)
	return string(sorted)
}

// elements returns all elements of a tensor, read in two halves.
func elements(t *testing.T, s *Set, x *Tensor) []byte {
	t.Helper()
	var all []byte
	err := ckpt.Slabs(ckpt.Whole(x.Shape), max(1, x.Numel()/2), func(box box) error {
		b := make([]byte, box.Numel()*x.ItemSize())
		err := s.Read(b, x, box)
		all = append(all, b...)
		return err
	})
	if err != nil {
		t.Fatalf("%s: %v", x.Name, err)
	}
	return all
}

// copies copies a set into every format, cut in several ways, and compares.
func copies(t *testing.T, s *Set) {
	for _, format := range []string{Own, DCP, Safetensors} {
		for _, layout := range []string{"", "a=3:*=flat", "a=2,b=2:*[02].weight=S(0),S(1);*bias=S(0)"} {
			if format == Safetensors && strings.Contains(layout, "flat") {
				continue
			}
			o := &Options{Format: format, MaxMem: 64 << 20}
			if layout != "" {
				var err error
				if o.Target, err = ckpt.ParseTarget(layout); err != nil {
					t.Fatal(err)
				}
				if o.Target.CheckRules(s.names()) != nil {
					continue // a layout for the others
				}
			}
			dst := filepath.Join(t.TempDir(), "out")
			if _, err := Copy(s, dst, o); err != nil {
				if format != DCP && strings.Contains(err.Error(), ", which ") {
					continue // a dtype that the format does not have
				}
				t.Errorf("%s %s: %v", format, layout, err)
				continue
			}
			c := open(t, dst)
			for _, x := range s.Tensors {
				y := c.Tensor(x.Name)
				if y == nil || x.String() != y.String() || !bytes.Equal(elements(t, s, x), elements(t, c, y)) {
					t.Errorf("%s %s: %s differs", format, layout, x.Name)
				}
			}
			if got, want := treeText(c), treeText(s); format != Safetensors && got != want {
				t.Errorf("%s %s: got the tree\n%s\nwant\n%s", format, layout, got, want)
			}
			if wrong := c.Verify(1<<20, nil); len(wrong) > 0 {
				t.Errorf("%s %s: %v", format, layout, wrong)
			}
		}
	}
}

type box = mesh.Box

// What is written PyTorch and safetensors load, bit by bit.
func TestTorchLoads(t *testing.T) {
	dir, python := layouts(t), os.Getenv("TPSH_PYTHON")
	if python == "" {
		t.Skip("left out: PyTorch loads what is written; TPSH_PYTHON names a Python that has it")
	}
	args := []string{"../../.ci/pytorch/dcp_load.py"}
	for _, name := range []string{"fsdp_uneven_4", "fsdp_bf16_2", "buffers_4", "two_d_4", "dtypes_3"} {
		s := open(t, filepath.Join(dir, name))
		args = append(args, filepath.Join(dir, name+".pt"))
		grid, rows := "a=2,b=2:*[02].weight=S(0),S(1);*bias=S(0)", "n=2:*weight=S(0)"
		switch name { // of those of no layers
		case "two_d_4":
			grid, rows = "a=2,b=2:*=S(0),S(1)", "n=2:*=S(0)"
		case "dtypes_3":
			grid, rows = "a=2,b=2:*_cut=S(0),S(1);transposed=S(0)", "n=2:*_cut=S(0)"
		}
		for i, o := range []*Options{
			{Format: DCP}, {Format: DCP, Target: cutAs(t, grid)}, {Format: DCP, Target: cutAs(t, "n=3:*=flat")},
			{Format: Safetensors}, {Format: Safetensors, FileSize: 1000}, {Format: Safetensors, Target: cutAs(t, rows)},
		} {
			if name == "dtypes_3" && o.Format == Safetensors {
				continue // it has complex128
			}
			o.MaxMem = 1 << 24
			dst := filepath.Join(t.TempDir(), fmt.Sprint(i))
			if _, err := Copy(s, dst, o); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			args = append(args, dst)
		}
	}
	if out, err := exec.Command(python, args...).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func cutAs(t *testing.T, text string) *ckpt.Target {
	t.Helper()
	g, err := ckpt.ParseTarget(text)
	if err != nil {
		t.Fatal(err)
	}
	return g
}
