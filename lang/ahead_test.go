package lang

import (
	"testing"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// A program with much in use is ended for a dict that has no room to move to, wherever a variable leads to it,
// before it moves; not for one that has, nor for one that does not move soon.
func TestLookAhead(t *testing.T) {
	const full, free = 106_000, 60_000 // of 16,384 buckets, which hold 106,496
	for _, c := range []struct {
		source string
		n      int
		room   int
		ended  bool
	}{
		{"def f(d):\n    look()\nf(d)", full, 1 << 20, true},
		{"def f(d):\n    look()\nf(d)", full, 1 << 30, false},
		{"def f(d):\n    look()\nf(d)", free, 1 << 20, false},
		{"look()", full, 1 << 20, true},
		{"def f(d):\n    def g():\n        look(d)\n    g()\nf(d)", full, 1 << 20, true},
		{"def f(s):\n    look()\nf([{'a': struct(d = d)}])", full, 1 << 20, true},
		{"def f(s):\n    look()\nf([[[[[d]]]]])", full, 1 << 20, false},
	} {
		d := new(starlark.Dict)
		for i := range c.n {
			d.SetKey(starlark.MakeInt(i), starlark.None)
		}
		w := &Watch{Limit: 64 << 20, Room: func() int { return c.room }, GiveBack: func() {}}
		look := starlark.NewBuiltin("look", func(t *starlark.Thread, _ *starlark.Builtin, _ starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
			w.lookAhead(t)
			return starlark.None, nil
		})
		names := starlark.StringDict{"look": look, "struct": library["struct"]}
		source := c.source
		if names["d"] = d; source == "look()" {
			source, names["make"] = "x = make()\nlook()", starlark.NewBuiltin("make", func(*starlark.Thread, *starlark.Builtin, starlark.Tuple, []starlark.Tuple) (starlark.Value, error) {
				return d, nil
			})
		}
		if _, err := starlark.ExecFileOptions(&syntax.FileOptions{}, new(starlark.Thread), "a.star", source, names); err != nil {
			t.Fatalf("%s: %v", source, err)
		}
		if ended := !w.over.IsZero(); ended != c.ended {
			t.Errorf("%s, of %d elements, with room for %d bytes: ended %v, want %v", source, c.n, c.room, ended, c.ended)
		}
	}
}
