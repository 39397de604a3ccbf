package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.starlark.net/syntax"

	"tpsh/builtins"
	"tpsh/lang/analysis"
)

// What is said of results is of names that there are, and of types that there are.
func TestResultsName(t *testing.T) {
	l := languageOf(t)
	for path, of := range l.Results {
		name := strings.TrimSuffix(path, "()")
		owner, member, _ := strings.Cut(name, ".")
		_, documented := builtins.Doc(name)
		if !documented && !slices.Contains(l.Types[owner], member) && l.Classes[name] == nil {
			t.Errorf("%s has a result, and is no name of the language", path)
		}
		special := of == "" || of == "self" || strings.ContainsAny(of[:1], "=@") || of == "dtype"
		if !special && !isType(of, l.Types) {
			t.Errorf("%s: the result %q is no type of the language", path, of)
		}
	}
	for _, path := range l.Paths {
		class, ok := strings.CutPrefix(path, "nn.")
		if ok && !strings.Contains(class, ".") && class != "init" && class != "utils" && !slices.Contains(holders, class) && l.Classes[path] == nil {
			t.Errorf("no arguments of samples make a module of class %s", class)
		}
	}
}

// The examples of the documentation give what is said of results: each call of a
// function in its own example has the type.
func TestResultsOfExamples(t *testing.T) {
	l := languageOf(t)
	checked := 0
	var script strings.Builder
	var want []string
	for _, path := range l.Paths {
		before, call := exampleOf(path)
		if call == "" {
			continue
		}
		f := analysis.New("example.star", before+"result = "+call+"\n", l.Language, nil)
		if f.Tree == nil {
			continue
		}
		got := f.TypeOfSymbol(f.Scope.Symbols["result"])
		if got == nil || got.Name == "function" || got.IsAny() {
			continue
		}
		checked++
		fmt.Fprintf(&script, "def example_%d():\n", checked)
		for line := range strings.Lines(before + "print(" + fmt.Sprintf("%q", path+" ") + ", type(" + call + "))\n") {
			script.WriteString("    " + line)
		}
		fmt.Fprintf(&script, "attempt(example_%d)\n", checked)
		want = append(want, path+" "+got.Name)
	}
	file := filepath.Join(t.TempDir(), "examples.star")
	if err := os.WriteFile(file, []byte(script.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	run(&stdio{strings.NewReader(""), &out, &errs}, []string{"run", "-n", "1", "--quiet", file})
	seen := 0
	for line := range strings.Lines(out.String()) {
		path, of, found := strings.Cut(strings.TrimSpace(line), "  ")
		at := slices.IndexFunc(want, func(w string) bool { return strings.HasPrefix(w, path+" ") })
		if !found || at < 0 {
			continue
		}
		seen++
		if name := strings.TrimPrefix(want[at], path+" "); !isOf(strings.TrimSpace(of), name) {
			t.Errorf("%s: its example gives a %s, and results say %s", path, of, name)
		}
	}
	t.Logf("%d examples of %d", seen, checked)
	if seen < 300 {
		t.Errorf("%d examples ran, want at least 300\n%s", seen, &errs)
	}
}

// isOf reports whether a value is of a type of results; got is what type says of it.
func isOf(got, want string) bool {
	switch want {
	case "Tensor":
		return slices.Contains([]string{"tensor", "DTensor", "ColoTensor", "ColoParameter", "ShardedFlatTensor", "ShardedFlatParameter", "Parameter"}, got)
	case "Module", "Optimizer":
		return got != "" && strings.ToUpper(got[:1]) == got[:1]
	case "Attempt", "CommTrace":
		return got == "struct" || got == want
	}
	return got == want
}

// exampleOf returns the first call of a function in its own example, and what stands
// before it; "" if it has none that is a line of its own.
func exampleOf(path string) (before, call string) {
	text, _ := builtins.Doc(path)
	for line := range strings.Lines(text) {
		statement, ok := strings.CutPrefix(line, ">>> ")
		if !ok {
			continue
		}
		x, err := syntax.ParseExpr("example", strings.TrimSpace(statement), 0)
		if c := callOf(strings.TrimSpace(statement), x, path); err == nil && c != "" {
			return before, c
		}
		before += statement
	}
	return "", ""
}

// callOf returns the text of the call of a function from which an expression starts:
// that of ones(2) in ones(2).tolist().
func callOf(text string, x syntax.Expr, path string) string {
	switch x := x.(type) {
	case *syntax.CallExpr:
		if name := dottedName(x.Fn); name == path || strings.HasPrefix(path, "Tensor.") && strings.HasSuffix(name, "."+path[len("Tensor."):]) {
			_, end := x.Span()
			return string([]rune(text)[:end.Col-1])
		}
		return callOf(text, x.Fn, path)
	case *syntax.DotExpr:
		return callOf(text, x.X, path)
	case *syntax.IndexExpr:
		return callOf(text, x.X, path)
	}
	return ""
}

func dottedName(x syntax.Expr) string {
	switch x := x.(type) {
	case *syntax.Ident:
		return x.Name
	case *syntax.DotExpr:
		if owner := dottedName(x.X); owner != "" {
			return owner + "." + x.Name.Name
		}
		return "." + x.Name.Name
	}
	return ""
}
