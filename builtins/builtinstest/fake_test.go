package builtinstest_test

import (
	"testing"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/builtins/builtinstest"
)

// A vocabulary is a package that registers rows. This one has a function, which
// counts its calls on each rank; no other is imported here.
func init() {
	builtins.Register(&builtins.Row{Name: "greet", Fn: greet,
		Doc: "greet(name) returns a greeting, and how often the rank has greeted.\n>>> greet(\"Ada\")\n(\"hello, Ada\", 1)"})
}

type greeted struct{ n int }

func greet(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var name arg.String
	if err := arg.Unpack(b.Name(), args, kwargs, "name", &name); err != nil {
		return nil, err
	}
	state := builtins.StateOf[greeted](e)
	state.n++
	return starlark.Tuple{"hello, " + starlark.String(name), starlark.MakeInt(state.n)}, nil
}

// TestFakeVocabulary has a script call a function of a vocabulary that the host does
// not know, and the host's own functions without any other vocabulary.
func TestFakeVocabulary(t *testing.T) {
	s := builtinstest.Script{Name: "fake.star", Source: `
greet("Ada")
assert.eq(greet(name="Bob"), ("hello, Bob", 2))
assert.fails(lambda: greet(1), '^greet: for parameter "name": got 1, want a string')
assert.eq((tensor([1.0, 2.0]) * 2).tolist(), [2.0, 4.0])
x = tensor(3.0, requires_grad=True)
(x * x).backward()
assert.eq(x.grad.item(), 6.0)
`}
	for _, transport := range builtinstest.Transports {
		builtinstest.Check(t, s.Run(t, transport, 2))
	}
	for name, want := range map[string]bool{"greet": true, "assert.eq": true, "all_reduce": false, "nn.Linear": false, "DeviceMesh": false, "ColoTensor": false, "read_text": false} {
		if _, ok := builtins.Doc(name); ok != want {
			t.Errorf("Doc(%q): got %v, want %v", name, ok, want)
		}
	}
	text, _ := builtins.Doc("greet")
	builtinstest.Example(t, text[len("greet(name) returns a greeting, and how often the rank has greeted.\n"):])
}
