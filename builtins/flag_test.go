package builtins_test

import (
	"strings"
	"testing"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/builtinstest"
)

// TestFlagWords reads flags of every type from words behind --.
func TestFlagWords(t *testing.T) {
	for _, c := range []struct{ words, call, want string }{
		{"--layers 8", `flag("layers", 4)`, "8"},
		{"--layers=8", `flag("layers", 4)`, "8"},
		{"--layers 8 --layers 9", `flag("layers", 4)`, "9"},
		{"--layers -8", `flag("layers", 4)`, "-8"},
		{"--layers 1_000", `flag("layers", 4)`, "1000"},
		{"-- --layers 8", `flag("layers", 4)`, "4"},
		{"--micro-batch 8", `flag("micro_batch", 4)`, "8"},
		{"--micro_batch 8", `flag("micro-batch", 4)`, "8"},
		{"--lr 1e-3", `flag("lr", 0.1)`, "0.001"},
		{"--lr 1", `flag("lr", 0.1)`, "1.0"},
		{"--tied", `flag("tied", False)`, "True"},
		{"--no-tied", `flag("tied", True)`, "False"},
		{"--tied=false", `flag("tied", True)`, "False"},
		{"--data x=y", `flag("data", "d")`, `"x=y"`},
		{"--data=", `flag("data", "d")`, `""`},
		{"--data d", `flag("data", None)`, `"d"`},
		{"--dtype bfloat16", `flag("dtype", float32)`, "bfloat16"},
		{"--sizes 1,2", `flag("sizes", [3])`, "[1, 2]"},
		{"--sizes 1,2", `flag("sizes", (3.5,))`, "(1.0, 2.0)"},
		{"--sizes=", `flag("sizes", [3])`, "[]"},
		{"--names a,b", `flag("names", [])`, `["a", "b"]`},
		{"--layers", `flag("layers", 4)`, "flag: for flag --layers: got nothing, want a value behind it (one that begins with -- is written --layers=VALUE)"},
		{"--layers --tied", `flag("layers", 4)`, "flag: for flag --layers: got nothing, want a value behind it (one that begins with -- is written --layers=VALUE)"},
		{"--layers many", `flag("layers", 4)`, `flag: for flag --layers: got "many", want an int`},
		{"--layers 1.5", `flag("layers", 4)`, `flag: for flag --layers: got "1.5", want an int`},
		{"--lr x", `flag("lr", 0.1)`, `flag: for flag --lr: got "x", want a number`},
		{"--tied=maybe", `flag("tied", True)`, `flag: for flag --tied: got "maybe", want true or false`},
		{"--dtype foo", `flag("dtype", float32)`, `flag: for flag --dtype: got "foo", want a dtype`},
		{"--sizes 1,x", `flag("sizes", [3])`, `flag: for flag --sizes: got "1,x", want an int, or several with commas`},
		// What is unknown shows in the end.
		{"--layers 8 --lr 1", `flag("layers", 4)`, "flag: the script has no flag --lr"},
		{"--layrs 8", `flag("layers", 4)`, "flag: the script has no flag --layrs: did you mean --layers?"},
		{"--verbose", `flag("layers", 4)`, "4"}, // the source shows it
		{"--other 8", `args`, `["--other", "8"]`},
	} {
		s := builtinstest.Script{Name: "flag.star", Source: "x = repr(" + c.call + ")", Options: builtins.Options{Args: strings.Fields(c.words), Flags: []string{"verbose"}}}
		res := s.Run(t, "inproc", 1)[0]
		got := ""
		if res.Err != nil {
			got = res.Err.Error()
		} else {
			got, _ = starlark.AsString(res.Globals["x"])
		}
		if got != c.want {
			t.Errorf("%s with %s\ngot  %s\nwant %s", c.call, c.words, got, c.want)
		}
	}
}
