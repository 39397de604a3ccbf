package analysis_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"tpsh/lang/analysis"
	"tpsh/lang/source"
)

// language is one of a few names, with what the tests want of it.
func language() *analysis.Language {
	fn := func(name string) starlark.Value { return starlark.NewBuiltin(name, nil) }
	signatures := map[string]analysis.Signature{
		"ones": {Params: []string{"n"}}, "Tensor.sum": {Params: []string{"dim"}}, "init_device_mesh": {}, "twice": {Params: []string{"fn"}}, "same": {Params: []string{"x"}},
	}
	return &analysis.Language{
		Names:     starlark.StringDict{"ones": fn("ones"), "init_device_mesh": fn("init_device_mesh"), "twice": fn("twice"), "same": fn("same")},
		Signature: func(path string) (analysis.Signature, bool) { s, ok := signatures[path]; return s, ok },
		Doc:       func(string) (string, bool) { return "", false },
		Types:     map[string][]string{"Tensor": {"shape", "sum"}, "DeviceMesh": {"size"}, "string": {"upper"}, "list": {"append"}},
		Results:   map[string]string{"ones": "Tensor", "Tensor.sum": "Tensor", "Tensor.shape": "tuple:int", "twice": "@0", "same": "=0", "range": "range"},
	}
}

// What is known of x at the end of a program; "" is nothing.
func TestTypes(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"x = 1", "int"}, {"x = 1.5 + 2", "float"}, {"x = 3 // 2", "int"}, {"x = 3 / 2", "float"}, {"x = 'a' % 1", "string"}, {"x = f'{1}'", "string"},
		{"x = ones(2)", "Tensor"}, {"x = 2 * ones(2)", "Tensor"}, {"x = -ones(2)[0]", "Tensor"}, {"x = ones(2).shape[0]", "int"}, {"x = ones(2).sum().sum()", "Tensor"},
		{"a, x = 1, ones(2)", "Tensor"}, {"a, *x = 1, 2, 3", ""}, {"y = x = ones(2)", "Tensor"}, {"for x in range(3):\n    pass", "int"}, {"for i, x in [(1, 'a'), (2, 'b')]:\n    pass", "string"},
		{"x = [ones(2) for i in range(3)][1]", "Tensor"}, {"x = {'a': 1}['a']", "int"}, {"x = (1, 'a')[-1]", "string"}, {"x = {1, 2}", "set"}, {"x = {}", "dict"},
		{"def f(a):\n    return ones(a)\nx = f(2)", "Tensor"}, {"def f(a):\n    if a:\n        return 1\n    return 2\nx = f(2)", "int"}, {"def f(a):\n    if a:\n        return 1\nx = f(2)", ""},
		{"def f(n):\n    return f(n - 1)\nx = f(2)", ""}, {"x = (lambda a: 1)(2)", "int"}, {"x = twice(lambda: ones(2))", "Tensor"}, {"x = same(ones(2))", "Tensor"},
		{"x = 1\nx = 'a'", ""}, {"x = 1\nx += 2", "int"}, {"x = 1 if True else 'a'", ""}, {"x = 1 == 2", "bool"}, {"x = unknown()", ""}, {"def x():\n    pass", "function"},
		{"x = init_device_mesh('cpu', (2, 2), mesh_dim_names=('a', 'b'))['a']", "DeviceMesh"}, {"def f(x):\n    return x\nx = f", "function"},
		// Programs put elements into lists and dicts, of any type.
		{"y = [1]\nx = y[0]", ""}, {"y = ['a']\nx = y[0]", "string"}, {"y = ['a']\ny[0] = ones(1)\nx = y[0]", ""}, {"y = ['a']\nz = y\nz.append(1)\nx = y[0]", ""},
		{"y = [['a']]\nfor z in y:\n    z[0] = 1\nx = y[0][0]", ""}, {"y = {'a': ones(1)}\nx = y['a']", "Tensor"}, {"y = ({'a': 1},)\nx = y[0]['a']", ""},
		{"y = [ones(1), 'a']\ny.pop(0)\nx = y[0]", ""},
		{"def f(n, l):\n    l[0] = n\ny = ['a']\nf(1, y)\nx = y[0]", ""}, {"def f(n, l):\n    l[0] = n\ny = ['a']\nf(1, l=y)\nx = y[0]", ""}, {"def f(n, l):\n    l[0] = n\ny = ['a']\nf(y, [1])\nx = y[0]", "string"},
		{"def g(l):\n    f(l)\ndef f(l):\n    l.append(1)\ny = ['a']\ng(y)\nx = y[0]", ""}, {"def f(l):\n    l[0] = 1\ng = f\ny = ['a']\ng(y)\nx = y[0]", ""},
		{"def f(l, n):\n    l[0] = n\ny, z = ['a'], []\nf(*z, y)\nx = y[0]", ""}, {"def f(n, l, m):\n    l[0] = n\ny = ['a']\nf(-1, [], y)\nx = y[0]", "string"}, {"load('none.star', 'f')\ny = ['a']\nf(y)\nx = y[0]", ""},
		// A text may be filled with a tensor.
		{"x = '%s' % ones(1)", "string"}, {"def f(s):\n    y = s % ones(1)\n    return y\nx = f('%s')", ""}, {"x = ones(1) % 2", "Tensor"},
	} {
		f := analysis.New("t.star", test.text+"\n", language(), nil)
		if f.Err != nil {
			t.Fatalf("%q: %v", test.text, f.Err)
		}
		got := ""
		if x := f.TypeOfSymbol(f.Scope.Symbols["x"]); x != nil {
			got = x.Name
		}
		if got != test.want {
			t.Errorf("%q: x is %q, want %q", test.text, got, test.want)
		}
	}
}

// Types of a program whose names hang on each other in many ways are found in time.
func TestTypesEnd(t *testing.T) {
	var b strings.Builder
	b.WriteString("x0 = y\ny = x0\n")
	for i := range 60 {
		b.WriteString("x" + number(i+1) + " = x" + number(i) + " + x" + number(i) + "\n")
	}
	begin := time.Now()
	f := analysis.New("t.star", b.String(), language(), nil)
	source.Walk(f.Tree, func(n syntax.Node) bool {
		if x, ok := n.(syntax.Expr); ok {
			f.TypeOf(x)
		}
		return true
	})
	if took := time.Since(begin); took > time.Minute {
		t.Errorf("took %v, want less than seconds", took)
	}
}

func number(n int) string { return string(rune('a'+n/26)) + string(rune('a'+n%26)) }

// A name is the same symbol wherever it stands for the same value, and no other.
func TestSymbols(t *testing.T) {
	text := `a = 1
def f(a, b=a):
    c = a
    def g():
        return c + d
    return [a for a in [c] if a], g
d = f(a, b=2)
print(f"{a} {d!r}")
`
	f := analysis.New("t.star", text, language(), nil)
	for _, test := range []struct{ line, col, binds, uses int }{
		{1, 1, 1, 3}, // a of the file: the default of b, the argument, the f-string
		{2, 7, 1, 1}, // the parameter a: c = a; the comprehension has an a of its own
		{3, 5, 1, 2}, // c: in g, and what the comprehension goes over
		{7, 1, 1, 2}, // d: in g, which is above, and in the f-string
		{6, 13, 1, 2},
	} {
		sym, _ := f.SymbolAt(test.line, test.col)
		if sym == nil || len(sym.Binds) != test.binds || len(sym.Uses) != test.uses {
			t.Errorf("%d:%d: got %+v, want %d bindings and %d uses", test.line, test.col, sym, test.binds, test.uses)
		}
	}
}

// Half of a text is looked at as the whole of one: at every place of every example
// a cursor is found, and the program around it is read.
func TestCursorAnywhere(t *testing.T) {
	files, err := filepath.Glob("../../examples/*.star")
	if err != nil || len(files) < 5 {
		t.Fatalf("found %d examples, %v", len(files), err)
	}
	l := language()
	for _, file := range files[:4] {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text := string(data)
		for offset := 0; offset < len(text); offset += 37 {
			c := analysis.CursorAt(text[:offset], offset)
			if v := c.Look(file, l, nil, c.Receiver); v.Tree == nil {
				t.Fatalf("%s: nothing can be read around offset %d: %v", file, offset, v.Err)
			}
		}
	}
}

func TestCursor(t *testing.T) {
	for _, test := range []struct{ text, receiver, word, call, key string }{
		{"x.su|", "x", "su", "", ""}, {"f(a)[0].b.|", "f(a)[0].b", "", "", ""}, {"y = (a + b).|", "(a + b)", "", "", ""}, {"'a'.join(|", "", "", "'a'.join", ""},
		{"f(g(1), k=|", "", "", "f", "k"}, {"f(g(1, |", "", "", "g", ""}, {"if x.|", "x", "", "", ""}, {"f(\n    a,\n    b.|", "b", "", "f", ""}, {"f([1, 2], a == |", "", "", "f", ""},
		{"bad = (1,\ndef f():\n    x.|", "x", "", "", ""}, {"# f(x.|", "", "", "", ""}, {"return self.a.|", "self.a", "", "", ""},
	} {
		before, _, _ := strings.Cut(test.text, "|")
		c := analysis.CursorAt(before, len(before))
		call, key := "", ""
		if b := c.Call(); b != nil {
			call, key = b.Before, b.Args[len(b.Args)-1].Key
		}
		if c.Comment {
			continue
		}
		if c.Receiver != test.receiver || c.Word != test.word || call != test.call || key != test.key {
			t.Errorf("%q: got receiver %q, word %q, call %q, keyword %q, want %q", test.text, c.Receiver, c.Word, call, key, test)
		}
	}
}

// Whatever stands in a text, a cursor in it is found and the rest of it read.
func FuzzCursor(f *testing.F) {
	for _, seed := range []string{"x = f(a, [b.c", "'''", "f\"{x.", "load(\"", "def f(:\n  x\n", ")]}", "a\\\n.b", "\xff(", "x.\n.y", "if\n\tx\n y"} {
		f.Add(seed, len(seed))
	}
	l := language()
	f.Fuzz(func(t *testing.T, text string, offset int) {
		c := analysis.CursorAt(text, offset)
		if c.Statement > c.Offset || c.Offset > len(text) {
			t.Fatalf("the statement begins at %d, the cursor is at %d of %d", c.Statement, c.Offset, len(text))
		}
		if v := c.Look("t.star", l, nil, ""); v.Tree == nil {
			t.Errorf("nothing can be read: %v", v.Err)
		}
		file := analysis.New("t.star", text, l, nil)
		if file.Tree != nil {
			source.Walk(file.Tree, func(n syntax.Node) bool {
				if x, ok := n.(syntax.Expr); ok && !slices.Contains([]string{""}, file.Source(n)) {
					file.TypeOf(x)
				}
				return true
			})
		}
	})
}
