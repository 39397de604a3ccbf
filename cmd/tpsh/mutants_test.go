package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.starlark.net/syntax"

	"tpsh/lang"
	"tpsh/lang/analysis"
	static "tpsh/lang/check"
	"tpsh/lang/source"
)

// A mutation is one slip in a program: text[start:end] becomes with.
type mutation struct {
	kind       string
	start, end int
	with       string
}

// mutantsSeed is that of the mutants of which 200 are made: another number makes
// others, of which as many must be found.
const mutantsSeed = 1

// Of 200 slips in the examples at least nine in ten are found. A slip that is not
// found counts only if it matters: the examples that run the file are run with it on
// four ranks, and if each ends well and prints what it does without, nobody could
// have found it by what the program does. Once enough are found of those that are left,
// no more are run.
func TestCheckFindsMutantsOfExamples(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(exampleDir, "*.star"))
	libs, _ := filepath.Glob(filepath.Join(exampleDir, "lib", "*.star"))
	files = append(files, libs...)
	language := languageOf(t)
	rnd := rand.New(rand.NewPCG(mutantsSeed, 0))
	const made = 200
	found := 0
	var missed []mutant
	kinds := map[string][2]int{}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(exampleDir)); err != nil {
		t.Fatal(err)
	}
	for n := range made {
		kind := mutationKinds[n%len(mutationKinds)]
		file, text, m := someMutant(t, language, rnd, files, kind)
		changed, score := text[:m.start]+m.with+text[m.end:], kinds[kind]
		score[1]++
		if len(static.Source(file, changed, language)) > 0 {
			found++
			score[0]++
		} else {
			what := fmt.Sprintf("%s:%d: %s %q becomes %q", file, 1+strings.Count(text[:m.start], "\n"), kind, text[m.start:m.end], m.with)
			missed = append(missed, mutant{file, changed, what})
		}
		kinds[kind] = score
	}
	counted := made
	for _, m := range missed {
		if found*10 >= counted*9 {
			break
		}
		if matters(t, dir, m.file, m.text) {
			t.Logf("not found: %s", m.what)
		} else {
			counted--
		}
	}
	t.Logf("%d of %d mutants that may matter are found; by kind, of all: %v", found, counted, kinds)
	if counted < 150 || found*10 < counted*9 {
		t.Errorf("%d of %d mutants that matter are found, want nine in ten of at least 150", found, counted)
	}
}

// A mutant is a file with another text: what says which slip is in it.
type mutant struct{ file, text, what string }

var mutationKinds = []string{"name", "attribute", "keyword", "count", "path", "dtype"}

// someMutant returns a mutation of a kind of one of the files.
func someMutant(t *testing.T, language *static.Language, rnd *rand.Rand, files []string, kind string) (file, text string, m mutation) {
	for range 1000 {
		file := files[rnd.IntN(len(files))]
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		program := language.Open(file, string(data))
		if program.Err != nil {
			t.Fatal(program.Err)
		}
		if all := mutationsOf(rnd, program, kind); len(all) > 0 {
			return file, string(data), all[rnd.IntN(len(all))]
		}
	}
	t.Fatalf("no file has a mutation of %s", kind)
	return
}

// mutationsOf returns all mutations of a kind of a program.
func mutationsOf(rnd *rand.Rand, program *analysis.File, kind string) []mutation {
	text := program.Text
	at := offsets(text)
	var all []mutation
	misspell := func(pos syntax.Position, word string) {
		start := at(pos)
		if strings.HasPrefix(text[start:], word) && len(word) > 1 {
			all = append(all, mutation{kind, start, start + len(word), misspelt(rnd, word)})
		}
	}
	inText := func(l *syntax.Literal) {
		if word, ok := l.Value.(string); ok && word != "" && len(l.Raw) == len(word)+2 && len(word) > 1 {
			start := at(l.TokenPos) + 1
			all = append(all, mutation{kind, start, start + len(word), misspelt(rnd, word)})
		}
	}
	notUses := map[syntax.Node]bool{}
	source.Walk(program.Tree, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.DefStmt:
			notUses[n.Name] = true
		case *syntax.DotExpr:
			notUses[n.Name] = true
			if kind == "attribute" {
				misspell(n.Name.NamePos, n.Name.Name)
			}
		case *syntax.LoadStmt:
			if kind == "path" {
				inText(n.Module)
			}
			return false
		case *syntax.CallExpr:
			if callees := program.Callees(n); kind == "count" && (len(callees) == 0 || !callees[0].Rest) {
				all = append(all, recounted(n, at)...)
			}
			mutateArgs(n, kind, notUses, misspell, inText)
		case *syntax.IndexExpr:
			if l, ok := n.Y.(*syntax.Literal); ok && kind == "path" && slices.Contains([]string{"mesh", "tp"}, baseName(n.X)) {
				inText(l)
			}
		case *syntax.Ident:
			if isDType(n.Name) && kind == "dtype" || kind == "name" && !notUses[n] {
				misspell(n.NamePos, n.Name)
			}
		}
		return true
	})
	return all
}

// recounted returns the mutations of how many arguments a call has: the last one lost,
// or one more. Of functions that take any number nobody could say what is wrong.
func recounted(n *syntax.CallExpr, at func(syntax.Position) int) []mutation {
	last := len(n.Args) - 1
	if last < 1 {
		return nil
	}
	for _, a := range n.Args {
		if name, _ := analysis.Keyword(a); name != "" {
			return nil
		}
	}
	_, before := n.Args[last-1].Span()
	_, end := n.Args[last].Span()
	return []mutation{{"count", at(before), at(end), ""}, {"count", at(end), at(end), ", 1"}}
}

// mutateArgs adds the mutations of keywords, of the paths of a plan and of the names of
// dtypes and reductions.
func mutateArgs(n *syntax.CallExpr, kind string, notUses map[syntax.Node]bool, misspell func(syntax.Position, string), inText func(*syntax.Literal)) {
	for _, a := range n.Args {
		name, v := analysis.Keyword(a)
		if name != "" {
			notUses[a.(*syntax.BinaryExpr).X] = true
			if kind == "keyword" {
				misspell(syntax.Start(a), name)
			}
			if l, ok := v.(*syntax.Literal); ok && kind == "dtype" && slices.Contains([]string{"dtype", "op", "schedule", "approximate"}, name) {
				inText(l)
			}
		}
		d, isPlan := a.(*syntax.DictExpr)
		if kind == "path" && isPlan && baseName(n.Fn) == "parallelize_module" {
			for _, e := range d.List {
				if l, ok := e.(*syntax.DictEntry).Key.(*syntax.Literal); ok {
					inText(l)
				}
			}
		}
	}
}

func baseName(x syntax.Expr) string {
	switch x := x.(type) {
	case *syntax.Ident:
		return x.Name
	case *syntax.DotExpr:
		return x.Name.Name
	}
	return ""
}

func isDType(name string) bool {
	return slices.Contains([]string{"float16", "float32", "float64", "bfloat16", "int32", "int64", "uint8"}, name)
}

// misspelt returns a word with a letter lost, doubled, or exchanged with the next.
func misspelt(rnd *rand.Rand, word string) string {
	for {
		i := rnd.IntN(len(word) - 1)
		out := word
		switch rnd.IntN(3) {
		case 0:
			out = word[:i] + word[i+1:]
		case 1:
			out = word[:i+1] + word[i:]
		case 2:
			out = word[:i] + word[i+1:i+2] + word[i:i+1] + word[i+2:]
		}
		if out != word && (out[0] < '0' || out[0] > '9') {
			return out
		}
	}
}

// offsets returns what turns positions into offsets of a text.
func offsets(text string) func(syntax.Position) int {
	lines := strings.SplitAfter(text, "\n")
	starts := make([]int, len(lines)+1)
	for i, line := range lines {
		starts[i+1] = starts[i] + len(line)
	}
	return func(p syntax.Position) int {
		line := lines[p.Line-1]
		runes := []rune(line)
		return starts[p.Line-1] + len(string(runes[:min(int(p.Col)-1, len(runes))]))
	}
}

// matters reports whether a program with another text ends or prints differently: it
// and what loads it are run, in dir, a copy of the examples that is as it was afterwards.
func matters(t *testing.T, dir, file, text string) bool {
	in, err := filepath.Rel(exampleDir, file)
	if err != nil {
		t.Fatal(err)
	}
	usual, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	write := func(text []byte) {
		if err := os.WriteFile(filepath.Join(dir, in), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write([]byte(text))
	defer write(usual)
	scripts := []string{filepath.Join(dir, in)}
	if strings.HasPrefix(in, "lib") {
		scripts = loadersOf(t, dir, filepath.ToSlash(in))
	}
	for _, script := range scripts {
		want, err := os.ReadFile(strings.TrimSuffix(script, ".star") + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		code := run(&stdio{strings.NewReader(""), &out, new(bytes.Buffer)}, []string{"run", "-n", "4", "--quiet", "--timeout", "20s", script})
		if code != lang.StatusOK || out.String() != string(want) {
			return true
		}
	}
	return false
}

// loadersOf returns the examples that load a file of the library.
func loadersOf(t *testing.T, dir, lib string) []string {
	var list []string
	scripts, _ := filepath.Glob(filepath.Join(dir, "*.star"))
	for _, script := range scripts {
		text, err := os.ReadFile(script)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(text, []byte(fmt.Sprintf("load(%q", lib))) {
			list = append(list, script)
		}
	}
	return list
}
