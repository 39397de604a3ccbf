package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
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

// mostVague is how often comments may say "what" and "who", in a thousand lines of
// comments, where a noun is meant: the message, the peer, the waiting call.
var mostVague = map[string]int{"what": 20, "who": 5}

// namesThings are the folders, each with or without those below it, whose comments are
// held to that.
var namesThings = []string{"comm/...", "runtime", "runtime/shard", "lang/..."}

var vagueWord = regexp.MustCompile(`(?i)\b(what|who)\b`)

// Comments name the things that they speak of.
func TestArchitectureCommentsNameThings(t *testing.T) {
	lines, vague := map[string]int{}, map[string]map[string]int{}
	eachSource(t, parser.ParseComments|parser.SkipObjectResolution, func(file string, f *ast.File) {
		for _, folder := range namesThings {
			below, all := strings.CutSuffix(folder, "/...")
			if path.Dir(file) != folder && !(all && strings.HasPrefix(file, below+"/")) {
				continue
			}
			if vague[folder] == nil {
				vague[folder] = map[string]int{}
			}
			for _, group := range f.Comments {
				text := group.Text()
				lines[folder] += strings.Count(text, "\n")
				for _, found := range vagueWord.FindAllString(text, -1) {
					vague[folder][strings.ToLower(found)]++
				}
			}
		}
	})
	for _, folder := range namesThings {
		if lines[folder] < 100 {
			t.Errorf("%s has %d lines of comments; is it still there?", folder, lines[folder])
		}
		for word, most := range mostVague {
			got := vague[folder][word]
			t.Logf("%s: %q stands %d times in %d lines of comments", folder, word, got, lines[folder])
			if got*1000 > most*lines[folder] {
				t.Errorf("comments of %s say %q %d times in %d lines, want at most %d in 1000: name the thing", folder, word, got, lines[folder], most)
			}
		}
	}
}

// camelName finds what can only be the name of something in Go: newCall.
var camelName = regexp.MustCompile(`\b[a-z]+[A-Z][A-Za-z0-9]*\b`)

// namedElsewhere are names in comments that are others': of systems, papers and protocols.
var namedElsewhere = map[string]bool{
	"arXiv": true, "macOS": true, "uPlot": true, "vM": true,
	"configurationDone": true, "frameId": true, "singleThread": true, "untilCollective": true, // of debug adapters
}

// Comments keep up with names: those that they name are in the sources, and the one that a
// comment of a function, type, constant or variable begins with is declared there.
func TestArchitectureCommentsKeepUp(t *testing.T) {
	known := map[string]bool{}
	files := map[string]*ast.File{}
	eachSource(t, parser.ParseComments|parser.SkipObjectResolution, func(file string, f *ast.File) {
		files[file] = f
		ast.Inspect(f, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				known[id.Name] = true
			}
			return true
		})
	})
	for _, file := range slices.Sorted(maps.Keys(files)) {
		f := files[file]
		for _, group := range f.Comments {
			for line := range strings.Lines(group.Text()) {
				if strings.HasPrefix(line, "\t") { // an example
					continue
				}
				for _, name := range camelName.FindAllString(line, -1) {
					if !known[name] && !namedElsewhere[name] {
						t.Errorf("%s: a comment names %s, which is declared nowhere: %s", file, name, line)
					}
				}
			}
		}
		for _, d := range f.Decls {
			doc, names := documented(d)
			word := firstWord.FindStringSubmatch(doc.Text())
			if word == nil || len(names) == 0 || slices.Contains(names, word[1]) {
				continue
			}
			if camelName.MatchString(word[1]) || word[2] != "" {
				t.Errorf("%s: the comment of %s begins with %s", file, names[0], word[1])
			}
		}
	}
}

// firstWord finds the name that a comment begins with, and whether it says what a function
// of that name does.
var firstWord = regexp.MustCompile(`^(?:An? )?(\w+)\b( returns| reports)?`)

// documented returns the comment of a declaration, and what it declares.
func documented(d ast.Decl) (doc *ast.CommentGroup, names []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		return d.Doc, []string{d.Name.Name}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			for _, id := range namesOf(s) {
				names = append(names, id.Name)
			}
		}
		return d.Doc, names
	}
	return nil, nil
}

// onePlace are things that are done in few places, so that who looks for them finds them.
var onePlace = []struct {
	folder, pattern string
	most            int
	why             string
}{
	{"runtime/", `comm\.Desc\{`, 2, "a call begins in runtime/call.go, or with a contract of runtime/shard"},
	{"runtime/", `\.replayed = `, 2, "runtime.Rank.replay alone says whose gradient runs, and ends it"},
	{"runtime/", `\.traced\(`, 3, "calls, sends and receives are noted"},
	{"runtime/shard/", `\.Name (==|!=) "`, 0, "an operator says of itself what sets it apart: op.Def"},
	{"runtime/grad/", `\.Name (==|!=) "`, 0, "an operator says of itself what sets it apart: op.Def"},
	{"builtins/", `strings\.Contains\(\w+\.Doc\b`, 0, "a row says what is to be known of it in fields, not in prose"},
}

func TestArchitectureOnePlace(t *testing.T) {
	found := make([][]string, len(onePlace))
	eachSource(t, parser.PackageClauseOnly, func(file string, _ *ast.File) {
		text, err := os.ReadFile("../../" + file)
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range onePlace {
			if !strings.HasPrefix(file, p.folder) {
				continue
			}
			for range regexp.MustCompile(p.pattern).FindAllIndex(text, -1) {
				found[i] = append(found[i], file)
			}
		}
	})
	for i, p := range onePlace {
		if len(found[i]) > p.most {
			t.Errorf("%s: %s stands %d times, want at most %d: %s (%s)", p.folder, p.pattern, len(found[i]), p.most, p.why, strings.Join(found[i], " "))
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
