package optest

import (
	"fmt"
	"os"
	"slices"
	"sort"
	"strings"
	"testing"

	"tpsh/runtime/op"
)

// docs/operators.md lists the operators by PyTorch's names. `go test
// ./runtime/op/optest -run OperatorsPage -update` writes it.
const operatorsPath = "../../../docs/operators.md"

// A pageLine is an operator on one of its surfaces.
type pageLine struct{ pytorch, script, sharding, gathers string }

// pageLines returns the lines of the page, by PyTorch's name.
func pageLines() []pageLine {
	var lines []pageLine
	for _, d := range slices.Concat(op.All(), op.Composites()) {
		sharding, gathers := "a rule of its own", ""
		if d.Make != nil {
			sharding = "made of others, with their rules"
		} else if d.Shard == nil {
			sharding, gathers = "on whole tensors", "every input"
		}
		if why := mayGather[d.Name]; why != "" && d.Make == nil {
			gathers = why
		}
		for _, name := range append([]string{d.Name}, d.Aliases...) {
			if d.Surface&op.Function != 0 {
				lines = append(lines, pageLine{"torch." + name, name, sharding, gathers})
			}
			if d.Surface&op.Method != 0 {
				lines = append(lines, pageLine{"torch.Tensor." + name, "Tensor." + name, sharding, gathers})
			}
			for _, s := range op.Spaces {
				if d.Surface&s.Surface != 0 {
					lines = append(lines, pageLine{s.Python + "." + name, s.Script + "." + name, sharding, gathers})
				}
			}
		}
	}
	sort.Slice(lines, func(i, j int) bool { return lines[i].pytorch < lines[j].pytorch })
	return lines
}

// absent are names of PyTorch's table of operators that scripts do not have, with why.
var absent = []struct{ names, why string }{
	{"`torch.jiterator_*` (`torch.cuda.jiterator`)", "compiles kernels for GPUs: there are none here"},
	{"`torch._scaled_mm`, `torch._scaled_mm_v2`", "products of float8 matrices on GPUs: float8 is for storage here"},
	{"`torch.Tensor.chalf`", "complex32: complex numbers are of two float32 or two float64 here"},
	{"`torch.sparse.mm`, `torch.sparse.sampled_addmm`, `torch.Tensor.to_sparse`", "sparse tensors: all tensors here are dense, and do not know which of their zeros count as there"},
	{"`torch.ops.aten._flash_attention_forward`, `_efficient_attention_forward`, `_scaled_dot_product_flash_attention_for_cpu`", "steps of scaled_dot_product_attention, which is one operator here"},
}

func TestOperatorsPage(t *testing.T) {
	lines := pageLines()
	names := map[string]bool{}
	for _, l := range lines {
		if names[l.pytorch] {
			t.Errorf("%s twice", l.pytorch)
		}
		names[l.pytorch] = true
	}
	var page strings.Builder
	fmt.Fprintf(&page, "# Operators by PyTorch's names\n\nThe %d names under which scripts call operators, beside the place where PyTorch has them, and what happens to inputs\n"+
		"that are cut. Where PyTorch has a name, it stands for the same; a few are tpsh's own, such as `at`.\n"+
		"An operator that is made of others has their gradients and their rules; [sharding.md](sharding.md) shows what the rules\n"+
		"do with each placement. The last column says where every rank receives all of an input that is cut. A test makes this page.\n\n"+
		"| PyTorch | here | sharding | gathers |\n| --- | --- | --- | --- |\n", len(lines))
	for _, l := range lines {
		fmt.Fprintf(&page, "| `%s` | `%s` | %s | %s |\n", l.pytorch, l.script, l.sharding, l.gathers)
	}
	page.WriteString("\n## Names that are not here\n\nOf PyTorch's table of operators, by which it tests them, these have no place here, or none yet.\n\n| PyTorch | why |\n| --- | --- |\n")
	for _, a := range absent {
		for name := range names {
			if strings.Contains(a.names, "`"+name+"`") {
				t.Errorf("%s is here, and among the names that are not", name)
			}
		}
		fmt.Fprintf(&page, "| %s | %s |\n", a.names, a.why)
	}
	if *update {
		if err := os.WriteFile(operatorsPath, []byte(page.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(operatorsPath)
	if err != nil || string(want) != page.String() {
		t.Errorf("%s is not what the table says (%v)\nrun: go test ./runtime/op/optest -run OperatorsPage -update", operatorsPath, err)
	}
}
