package source

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"go.starlark.net/syntax"

	"tpsh/lang/source/sourcetest"
)

// dialect is that of tpsh.
var dialect = &syntax.FileOptions{Set: true, While: true, TopLevelControl: true, GlobalReassign: true, Recursion: true}

// dump writes a tree out, with every position.
func dump(n any) string {
	var b strings.Builder
	dumpValue(&b, reflect.ValueOf(n), 0)
	return b.String()
}

func dumpValue(b *strings.Builder, v reflect.Value, depth int) {
	if !v.IsValid() {
		b.WriteString("nil\n")
		return
	}
	if p, ok := v.Interface().(syntax.Position); ok {
		fmt.Fprintf(b, "%d:%d\n", p.Line, p.Col)
		return
	}
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() {
			b.WriteString("nil\n")
			return
		}
		dumpValue(b, v.Elem(), depth)
	case reflect.Slice:
		fmt.Fprintf(b, "%d\n", v.Len())
		for i := range v.Len() {
			b.WriteString(strings.Repeat(" ", depth))
			dumpValue(b, v.Index(i), depth+1)
		}
	case reflect.Struct:
		if v.Type().PkgPath() != "go.starlark.net/syntax" {
			fmt.Fprintln(b, v.Interface())
			return
		}
		b.WriteString(v.Type().Name() + "\n")
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if !f.IsExported() || f.Name == "Options" || f.Name == "Module" || f.Name == "Function" || f.Name == "Binding" {
				continue
			}
			b.WriteString(strings.Repeat(" ", depth+1) + f.Name + " ")
			dumpValue(b, v.Field(i), depth+1)
		}
	default:
		fmt.Fprintf(b, "%#v\n", v.Interface())
	}
}

// starlarkTree returns what Starlark's own parser makes of a source.
func starlarkTree(text string) (string, error) {
	f, err := dialect.Parse("f.star", text, 0)
	if err != nil {
		return "", err
	}
	return dump(f), nil
}

// ownTree returns the surface tree of a source.
func ownTree(text string) (string, error) {
	f, err := Parse("f.star", text, Options{Dialect: dialect})
	if err != nil {
		return "", err
	}
	return dump(f.File), nil
}

// Programs in Starlark have the tree that Starlark's parser gives them.
func TestAsStarlark(t *testing.T) {
	for path, text := range sourcetest.Programs(t, "../..") {
		want, err := starlarkTree(text)
		if err != nil {
			continue // it is in our own dialect
		}
		got, err := ownTree(text)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if d := difference(got, want); d != "" {
			t.Errorf("%s: %s", path, d)
		}
	}
	for _, text := range small {
		want, err := starlarkTree(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		got, err := ownTree(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
		} else if d := difference(got, want); d != "" {
			t.Errorf("%q: %s", text, d)
		}
	}
}

// difference returns the first line in which got and want differ, with those
// before it.
func difference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(g), len(w)) {
		if i >= len(g) || i >= len(w) || g[i] != w[i] {
			from := max(0, i-8)
			return fmt.Sprintf("got\n%s\nwant\n%s", strings.Join(g[from:min(i+1, len(g))], "\n"), strings.Join(w[from:min(i+1, len(w))], "\n"))
		}
	}
	return ""
}

// small are programs that try the corners of the grammar.
var small = []string{
	"", "\n", "# only this", "x", "x\n\n", "x;y", "x;", "x = 1; y = 2\n", "  \n\t\nx\n",
	"x = 1 + 2 * 3 - -4 // 5 % 6", "x = not a in b or c and not d", "x = a not in b", "x = a if b else c if d else e", "x = ~a | b ^ c & d << e >> f",
	"f()", "f(1, 2,)", "f(a=1, *b, **c)", "f(*a)", "f(g(h(1)))", "a.b.c(d).e[f].g", "a[1]", "a[1, 2]", "a[1:2]", "a[:]", "a[::]", "a[1::2]", "a[::2]", "a[:1]", "a[1:]", "a[b:c:d]",
	"[]", "[1]", "[1,]", "[1, 2]", "()", "(1)", "(1,)", "(1, 2)", "(1, 2,)", "{}", "{1: 2}", "{1: 2,}", "{1: 2, 3: 4}", "[x for x in y]", "[x for x in y if z for a, b in c]", "{x: y for x, y in z if w}",
	"[x for x in y if lambda: z]", "x = lambda: 1", "x = lambda a, b=1, *c, **d: a", "lambda *, a: a", "x = lambda a: lambda b: a",
	"def f(): pass", "def f(a, b=1, *args, c, d=2, **kw):\n  return", "def f():\n  return 1, 2\n", "def f():\n\tif x:\n\t\treturn\n\treturn 2", "def f():\n  # c\n  pass\n  # d\n# e\n",
	"if a: b", "if a:\n  b\nelif c:\n  d\nelse:\n  e", "if a: b\nelif c: d\nelse: e\n", "for x in y: z", "for x, y in z:\n  break\n  continue", "for (x, y), z in w: pass", "for x.y in z: pass", "for x in y, z: pass",
	"while a:\n  b\n\n\nc", "load(\"a\", \"b\")", "load(\"a\", \"b\", c=\"d\",)", "x = 'a'", `x = "a\n\"\\\u00e9"`, "x = '''a\n'b'\n'''", `x = r"\d"`, `x = b"a\xff"`, `x = rb"\d"`, `x = ""`, `x = """"""`, "x = \"a\\\nb\"",
	"x = 0", "x = 00", "x = 0x1F", "x = 0o17", "x = 0b11", "x = 1.5", "x = .5", "x = 5.", "x = 1e5", "x = 1E-5", "x = 1.5e+5", "x = 123456789012345678901234567890", "x = 0.", "x = 0e1", "x = 00.5",
	"x += 1", "x -= y", "x *= 2", "x /= 2", "x //= 2", "x %= 2", "x &= 2", "x |= 2", "x ^= 2", "x <<= 2", "x >>= 2", "x, y = 1, 2", "(x, y) = z", "[x, y] = z", "a[0], b.c = d",
	"x = (1 +\n  2)\ny", "x = [\n  1,\n  # c\n  2,\n]", "x = 1 + \\\n  2", "f(\n)\n", "if a:\r\n  b\r\nc\r\n", "x = 'a\\\r\nb'", "x = '''a\r\nb'''", "a\rb", "é = 1", "x = 'é' + y", "f('日本', x)",
	"x = a == b", "x = a < b", "x = (a < b) < c", "a = -b.c", "a = - -b", "a = -b[0] * c", "x = 1if y else 2", "return 1", "x=-1", "x = [-y for y in z]", "pass", "if x:\n  pass\n  pass;pass\npass",
	"x = [a,\nb]  # c\n", "def f(\n  a,\n  b\n):\n  pass\n", "if (a and\n    b):\n  c\n", "assert.eq(1, 2)", "assert % x", "assert[0] - x", "assert if a else b", "assert not in x", "x = {\n 'a': 1, # b\n}",
}

// Mistakes have the position of the text that is wrong.
func TestErrorsHaveThePlace(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"x = 1\ny = = 2", `f.star:2:5: = assigns, and cannot stand in an expression: write == to compare`},
		{"é = 'é' é", `f.star:1:9: the statement should end here, and there is the name é: put one statement on a line, or an operator or a comma between two values`},
		{"f(x for x in y, 1)", `f.star:1:15: a comprehension has no comma behind it or in what it goes through: write [x for x in xs] or [x for x in (a, b)] in brackets of its own`},
		{"[x for x in y z]", `f.star:1:15: behind a comprehension stands "]", or another for or if: here is the name z`},
		{"x = (a, b for a in c)", `f.star:1:11: a comprehension of pairs needs brackets: [(a, b) for ...]`},
		{"x = {*a: 1}", `f.star:1:6: a * stands before no key of a dict: write **d for the entries of d`},
		{"for None in x: pass", `f.star:1:5: None is a value, and cannot be assigned to`},
		{"x = [1 for a, (b, True) in y]", `f.star:1:19: True is a value, and cannot be assigned to`},
		{"def f(None): pass", `f.star:1:7: None is a value, and cannot be a parameter's name`},
		{"x = 1e", `f.star:1:5: 1e is no number`},
		{"f(1,\n  2", `f.star:1:2: the ( that opens here is never closed`},
	} {
		_, err := Parse("f.star", c.text, Options{})
		if err == nil || err.Error() != c.want {
			t.Errorf("%q\ngot  %v\nwant %s", c.text, err, c.want)
		}
	}
	_, err := Parse("f.star", "x = )", Options{FirstLine: 7})
	var e *Error
	if !errors.As(err, &e) || e.Pos.Line != 7 || e.Pos.Col != 5 {
		t.Errorf("got %v, want an error at 7:5", err)
	}
}
