package builtins_test

import (
	"fmt"
	"strings"
	"testing"

	"tpsh/builtins"
	"tpsh/builtins/builtinstest"
	"tpsh/lang/advice"
)

// TestPinnedNamesOfModules checks that the names that the language page pins
// for modules and optimisers are there.
func TestPinnedNamesOfModules(t *testing.T) {
	for _, name := range strings.Fields(`
		nn nn.Module nn.Linear nn.Embedding nn.LayerNorm nn.RMSNorm nn.Dropout nn.ReLU nn.GELU nn.SiLU nn.Sequential
		nn.ModuleList nn.MultiheadAttention nn.TransformerEncoderLayer nn.TransformerDecoderLayer nn.CrossEntropyLoss
		nn.MSELoss nn.Parameter
		Module.named_parameters Module.parameters Module.named_modules Module.state_dict Module.load_state_dict
		Module.train Module.eval Module.zero_grad Module.register_forward_hook
		optim optim.SGD optim.Adam optim.AdamW optim.clip_grad_norm_
		Optimizer.step Optimizer.zero_grad Optimizer.state_dict Optimizer.load_state_dict Optimizer.lr`) {
		if _, ok := builtins.Doc(name); !ok {
			t.Errorf("no documentation of %s", name)
		}
	}
}

// TestAdvisedMethods checks that what scripts are told are methods of tensors are.
func TestAdvisedMethods(t *testing.T) {
	for _, name := range advice.Methods {
		if _, ok := builtins.Doc("Tensor." + name); !ok {
			t.Errorf("tensors have no method %s", name)
		}
	}
}

// TestConstructorDocs checks that the functions of nn and optim take the
// parameters that their documentation names, which completion offers.
func TestConstructorDocs(t *testing.T) {
	source := "def take(fn, name):\n    assert.true(\"unexpected\" not in str(attempt(fn, **{name: None}).error), \"%s: %s\" % (fn, name))\n"
	n := 0
	for _, r := range builtins.Rows() {
		if owner, _ := builtins.Split(r.Name); owner == "nn" || owner == "optim" {
			for _, p := range builtins.ParametersOf(r) {
				source += fmt.Sprintf("take(%s, %q)\n", r.Name, p)
				n++
			}
		}
	}
	if n < 50 {
		t.Errorf("got %d parameters, want more than 50", n)
	}
	s := builtinstest.Script{Name: "take", Source: source}
	builtinstest.Check(t, s.Run(t, "inproc", 1))
}

// TestMethodParameters checks what completion offers inside the parentheses of
// a method whose values are not called what the tables call their type.
func TestMethodParameters(t *testing.T) {
	s := builtinstest.Script{Name: "methods", Source: "m = nn.Linear(2, 3).named_parameters\no = optim.SGD([ones(1, requires_grad=True)]).zero_grad\n"}
	results := s.Run(t, "inproc", 1)
	builtinstest.Check(t, results)
	for name, want := range map[string]string{"m": "prefix recurse", "o": "set_to_none"} {
		if got := strings.Join((&builtins.Env{}).Parameters(results[0].Globals[name]), " "); got != want {
			t.Errorf("%s: got the parameters %q, want %q", name, got, want)
		}
	}
}
