package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

const architecturePage = "docs/architecture.md"

// leastPackageDoc is how many lines a package comment has at least: enough to say
// what the package knows, to name its terms, and to give an example.
const leastPackageDoc = 10

// named finds what the page names in code spans: a file of the module, and mostly a
// function of it, as `file:function` or `file:Type.method`.
var named = regexp.MustCompile("`([\\w./-]+\\.go)(?::([\\w.]+))?`")

// namedFolder finds folders of the module: `comm/wire/`.
var namedFolder = regexp.MustCompile("`([\\w./-]+)/`")

// Every file, function and folder that the page names exists.
func TestArchitectureNames(t *testing.T) {
	text, err := os.ReadFile("../../" + architecturePage)
	if err != nil {
		t.Fatal(err)
	}
	found := named.FindAllStringSubmatch(string(text), -1)
	if len(found) < 80 {
		t.Errorf("%s names %d files and functions; is it still the walks?", architecturePage, len(found))
	}
	declared := map[string]map[string]bool{}
	for _, m := range found {
		file, function := m[1], m[2]
		if declared[file] == nil {
			if declared[file], err = declarations(file); err != nil {
				t.Errorf("%s names %s: %v", architecturePage, file, err)
				declared[file] = map[string]bool{}
			}
		}
		if function != "" && len(declared[file]) > 0 && !declared[file][function] {
			t.Errorf("%s names %s:%s, which is not declared there", architecturePage, file, function)
		}
	}
	for _, m := range namedFolder.FindAllStringSubmatch(string(text), -1) {
		if s, err := os.Stat("../../" + m[1]); err != nil || !s.IsDir() {
			t.Errorf("%s names the folder %s, which is not there", architecturePage, m[1])
		}
	}
}

// declarations returns what a file of the module declares at its top level: names,
// and methods both alone and after their type.
func declarations(file string) (map[string]bool, error) {
	f, err := parser.ParseFile(token.NewFileSet(), "../../"+file, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			names[d.Name.Name] = true
			if d.Recv != nil {
				names[receiver(d.Recv.List[0].Type)+"."+d.Name.Name] = true
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				for _, id := range namesOf(s) {
					names[id.Name] = true
				}
			}
		}
	}
	return names, nil
}

// receiver returns the name of a method's type, without * and type parameters.
func receiver(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.StarExpr:
		return receiver(x.X)
	case *ast.IndexExpr:
		return receiver(x.X)
	case *ast.IndexListExpr:
		return receiver(x.X)
	case *ast.Ident:
		return x.Name
	}
	return ""
}

// namesOf returns the names that a declaration of types, constants or variables makes.
func namesOf(s ast.Spec) []*ast.Ident {
	switch s := s.(type) {
	case *ast.TypeSpec:
		return []*ast.Ident{s.Name}
	case *ast.ValueSpec:
		return s.Names
	}
	return nil
}

// Every package has a comment that a stranger can start from.
func TestArchitecturePackageComments(t *testing.T) {
	lines := map[string]int{}
	eachSource(t, parser.PackageClauseOnly|parser.ParseComments, func(file string, f *ast.File) {
		n := lines[path.Dir(file)]
		if f.Doc != nil {
			n += len(strings.Split(strings.TrimSpace(f.Doc.Text()), "\n"))
		}
		lines[path.Dir(file)] = n
	})
	for pkg, n := range lines {
		if n < leastPackageDoc {
			t.Errorf("the comment of package %s has %d lines; it needs %d: what the package knows, its terms, an example", pkg, n, leastPackageDoc)
		}
	}
}

// A row of the glossary: the word, its meaning, where it holds, and the words that
// it took the place of.
var glossaryRow = regexp.MustCompile("(?m)^\\| \\*\\*.*?\\*\\* \\|[^|]*\\| ([^|]*) \\| ([^|]*) \\|$")

var codeSpan = regexp.MustCompile("`([^`]+)`")

// Words of the glossary's column "not" are declared nowhere below the folders of
// their row: as types, functions, methods, fields, constants or variables of a package.
func TestArchitectureRetiredWords(t *testing.T) {
	text, err := os.ReadFile("../../" + architecturePage)
	if err != nil {
		t.Fatal(err)
	}
	retired := map[string][]string{} // by word, the folders where it means nothing any more
	for _, m := range glossaryRow.FindAllStringSubmatch(string(text), -1) {
		for _, word := range codeSpan.FindAllStringSubmatch(m[2], -1) {
			for _, folder := range codeSpan.FindAllStringSubmatch(m[1], -1) {
				retired[word[1]] = append(retired[word[1]], folder[1])
			}
		}
	}
	if len(retired) < 20 {
		t.Fatalf("%s: found %d retired words in the glossary", architecturePage, len(retired))
	}
	eachSource(t, parser.SkipObjectResolution, func(file string, f *ast.File) {
		eachDeclared(f, func(id *ast.Ident) {
			for _, folder := range retired[id.Name] {
				if strings.HasPrefix(file, folder) {
					t.Errorf("%s declares %s, a word that the glossary of %s retired from %s", file, id.Name, architecturePage, folder)
				}
			}
		})
	})
}

// eachDeclared calls do for what a file declares for its package, and for the
// fields and methods of its types.
func eachDeclared(f *ast.File, do func(*ast.Ident)) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			do(d.Name)
		case *ast.GenDecl:
			for _, s := range d.Specs {
				for _, id := range namesOf(s) {
					do(id)
				}
				if s, ok := s.(*ast.TypeSpec); ok {
					eachMember(s.Type, do)
				}
			}
		}
	}
}

// eachMember calls do for the fields of a struct and the methods of an interface.
func eachMember(x ast.Expr, do func(*ast.Ident)) {
	var list *ast.FieldList
	switch x := x.(type) {
	case *ast.StructType:
		list = x.Fields
	case *ast.InterfaceType:
		list = x.Methods
	default:
		return
	}
	for _, field := range list.List {
		for _, id := range field.Names {
			do(id)
		}
	}
}

// eachSource parses the Go files of the module that are no tests, whatever system
// they are for, and calls do with their paths from the module's root.
func eachSource(t *testing.T, mode parser.Mode, do func(file string, f *ast.File)) {
	t.Helper()
	fset, root := token.NewFileSet(), os.DirFS("../..")
	err := fs.WalkDir(root, ".", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && file != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "shared"):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go"):
			return nil
		}
		f, err := parser.ParseFile(fset, "../../"+file, nil, mode)
		if err == nil {
			do(file, f)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
