package builtins_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/builtinstest"
)

var update = flag.Bool("update", false, "write what tests compare with")

const referencePath = "../docs/reference.md"

func TestReferenceIsUpToDate(t *testing.T) {
	var b bytes.Buffer
	if err := builtins.WriteReference(&b); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.MkdirAll("../docs", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(referencePath, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(referencePath)
	if err != nil {
		t.Fatal(err)
	}
	if d := firstDifference(b.String(), string(want)); d != "" {
		t.Errorf("%s differs from the tables: %s\nrun: go test ./builtins -run Reference -update", referencePath, d)
	}
}

// firstDifference describes the first line in which got and want differ; "" if
// none does.
func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(g), len(w)) {
		var a, b string
		if i < len(g) {
			a = g[i]
		}
		if i < len(w) {
			b = w[i]
		}
		if a != b {
			return fmt.Sprintf("line %d:\n+%s\n-%s", i+1, a, b)
		}
	}
	return ""
}

// A name is that of an operator or of a builtin: of two of one name the page would have
// both, and scripts one.
func TestNamesAreUnique(t *testing.T) {
	names := builtins.Names()
	for i, name := range names[1:] {
		if name == names[i] {
			t.Errorf("%s is the name of two: of an operator and of a builtin, or of two operators", name)
		}
	}
}

// TestDocs checks the form of every documentation.
func TestDocs(t *testing.T) {
	for _, e := range builtins.Entries() {
		first, _, _ := strings.Cut(e.Doc(), "\n")
		_, name := builtins.Split(e.Name())
		switch {
		case first == "":
			t.Errorf("%s has no documentation", e.Name())
		case strings.HasPrefix(first, name+" is "), strings.HasPrefix(first, e.Name()+" is "),
			strings.HasPrefix(first, name+"("), strings.HasPrefix(first, e.Name()+"("), strings.HasPrefix(first, name+" holds "):
		case e.Params() != nil: // under another name
		default:
			t.Errorf("%s: the documentation begins with %q", e.Name(), first)
		}
		for _, p := range e.Params() {
			if builtins.DescribeParam(&p) == "" {
				t.Errorf("%s: parameter %s has no documentation", e.Name(), p.Name)
			}
		}
	}
}

// TestExamples runs the example of every documentation, on one rank.
func TestExamples(t *testing.T) {
	for _, e := range builtins.Entries() {
		if example := e.Example(); example != "" {
			t.Run(e.Name(), func(t *testing.T) { builtinstest.Example(t, example) })
		}
	}
}

// TestPinnedNames checks that the names that the language page pins for
// tensors, autograd and random numbers are there.
func TestPinnedNames(t *testing.T) {
	pinned := strings.Fields(`
		float32 float64 float16 bfloat16 int64 int32 uint8 bool float int json math struct module
		tensor zeros ones full empty eye arange linspace rand randn randint randperm
		zeros_like ones_like full_like empty_like rand_like randn_like manual_seed set_default_dtype
		rng_state set_rng_state with_seed multinomial
		where cat stack matmul addmm einsum outer dot maximum minimum
		grad no_grad checkpoint regather custom_vjp gradcheck F
		F.linear F.relu F.gelu F.silu F.softmax F.log_softmax F.cross_entropy F.nll_loss F.mse_loss
		F.binary_cross_entropy_with_logits F.layer_norm F.rms_norm F.batch_norm F.embedding F.embedding_bag
		F.dropout F.scaled_dot_product_attention F.one_hot`)
	for _, name := range strings.Fields(`
		shape dtype ndim numel requires_grad grad T size item tolist to clone contiguous detach backward requires_grad_
		register_hook eq ne lt le gt ge equal allclose slice narrow index_select gather scatter_add masked_fill reshape view
		flatten squeeze unsqueeze transpose permute expand repeat split chunk pad flip roll tril triu sum mean prod max min
		argmax argmin any all var std norm logsumexp cumsum topk sort abs neg exp log sqrt rsqrt sin cos tanh sigmoid erf
		pow clamp maximum minimum round floor ceil sign reciprocal isnan isfinite matmul outer dot zero_ fill_ copy_ add_
		sub_ mul_ div_ clamp_ dim at relu index_copy masked_select nonzero addmm einsum`) {
		pinned = append(pinned, "Tensor."+name)
	}
	for _, name := range pinned {
		if _, ok := builtins.Doc(name); !ok {
			t.Errorf("no documentation of %s", name)
		}
	}
}

// TestDocFindsNames looks names up in full and without their owner.
func TestDocFindsNames(t *testing.T) {
	for _, test := range []struct{ name, begins string }{
		{"matmul", "matmul("},
		{"F.softmax", "softmax("},
		{"softmax", "softmax("},
		{"Tensor.view", "reshape("},
		{"sum", "sum("},
		{"gather", "gather(x, dst"}, // the function, not the method
		{"Tensor.gather", "gather(x, dim"},
		{"shape", "shape is "},
		{"assert.eq", "eq("},
		{"ColoTensor.shape", "shape is "}, // a member of every tensor
		{"ColoParameter.dist_spec", "dist_spec is "},
		{"DTensor.size", "size("},
	} {
		if got, ok := builtins.Doc(test.name); !ok || !strings.HasPrefix(got, test.begins) {
			t.Errorf("builtins.Doc(%q) = %.20q, %v, want it to begin with %q", test.name, got, ok, test.begins)
		}
	}
	for _, name := range []string{"nothing", "ColoTensor.nothing"} {
		if got, ok := builtins.Doc(name); ok {
			t.Errorf("builtins.Doc(%s) = %q", name, got)
		}
	}
	names := builtins.Names()
	if !slices.IsSorted(names) || !slices.Contains(names, "Tensor.sum") || slices.Contains(names, "getitem") {
		t.Errorf("builtins.Names() = %q", names)
	}
}

// TestParameters checks what completion knows of calls.
func TestParameters(t *testing.T) {
	builtinstest.OnRank(t, func(env *builtins.Env, thread *starlark.Thread) {
		for expr, want := range map[string]string{
			"zeros":                "shape dtype requires_grad device",
			"zeros(2).sum":         "dim keepdim dtype",
			"zeros(2).einsum":      "spec",
			"F.gelu":               "x approximate",
			"zeros(2).size":        "dim",
			"zeros(2).backward":    "grad create_graph",
			"tensor":               "data dtype requires_grad device",
			"gradcheck":            "fn inputs eps atol",
			"checkpoint":           "fn",
			"regather":             "fn",
			"assert.close":         "got want rtol atol equal_nan msg",
			"lambda a, b=1: a":     "a b",
			"new_group([0]).ranks": "",

			"flat.ShardedFlatTensor":                   "data requires_grad",
			"ShardedFlatTensor.shard(zeros(2)).gather": "dtype rank0_only",
			"zeros(2).gather":                          "dim index",
			"5":                                        "",
		} {
			v, err := starlark.EvalOptions(builtinstest.FileOptions, thread, "test", expr, env.Predeclared())
			if err != nil {
				t.Errorf("%s: %v", expr, err)
				continue
			}
			if got := strings.Join(env.Parameters(v), " "); got != want {
				t.Errorf("parameters of %s: got %q, want %q", expr, got, want)
			}
		}
	})
}

// TestDescribe checks what a shell shows of variables.
func TestDescribe(t *testing.T) {
	builtinstest.OnRank(t, func(env *builtins.Env, thread *starlark.Thread) {
		for expr, want := range map[string]string{
			"zeros(2, 3)":             "float32[2, 3], 24 bytes",
			"tensor(1)":               "int64[], 8 bytes",
			"zeros(2, dtype=float16)": "float16[2], 4 bytes",
			"5":                       "",
			"[zeros(2)]":              "",
		} {
			v, err := starlark.EvalOptions(builtinstest.FileOptions, thread, "test", expr, env.Predeclared())
			if err != nil {
				t.Fatal(err)
			}
			if got := env.Describe(v); got != want {
				t.Errorf("Describe(%s) = %q, want %q", expr, got, want)
			}
		}
	})
}
