package builtins_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// parseDir parses the files of a folder that are no tests.
func parseDir(t *testing.T, dir string) map[string]*ast.File {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]*ast.File{}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files[path] = f
	}
	return files
}

// Env is what a rank's programs find of it, and no place for what a function needs:
// its methods are few, in few files.
func TestEnvIsSmall(t *testing.T) {
	methods, in := 0, map[string]bool{}
	for path, f := range parseDir(t, ".") {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv == nil {
				continue
			}
			if star, ok := fn.Recv.List[0].Type.(*ast.StarExpr); ok && star.X.(*ast.Ident).Name == "Env" {
				methods++
				in[path] = true
			}
		}
	}
	if methods > 40 || len(in) > 8 {
		t.Errorf("Env has %d methods in %d files, want at most 40 in 8", methods, len(in))
	}
}

// Each vocabulary says what it is: a package comment of at least 10 lines with an
// example, which is indented.
func TestVocabulariesSayWhatTheyAre(t *testing.T) {
	dirs := []string{"."}
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() && isVocabulary(t, e.Name()) {
			dirs = append(dirs, e.Name())
		}
	}
	if len(dirs) < 6 {
		t.Errorf("got the vocabularies %q, want five at least", dirs[1:])
	}
	for _, dir := range dirs {
		text := ""
		for _, f := range parseDir(t, dir) {
			text += f.Doc.Text()
		}
		if strings.Count(text, "\n") < 10 || !strings.Contains(text, "\n\t") {
			t.Errorf("%s has a package comment of %d lines, want 10 at least with an example", dir, strings.Count(text, "\n"))
		}
	}
}

// isVocabulary reports whether the package in dir imports the host, and is none for
// tests.
func isVocabulary(t *testing.T, dir string) bool {
	for _, f := range parseDir(t, dir) {
		for _, i := range f.Imports {
			if i.Path.Value == `"tpsh/builtins"` && f.Name.Name != "builtinstest" {
				return true
			}
		}
	}
	return false
}
