package testrun

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.starlark.net/syntax"

	"tpsh/lang"
)

// A file is a test file.
type file struct {
	path    string
	program lang.Program
	tests   []string // in order of definition
	ranks   []int    // what RANKS says; nil if it says nothing
	mistake string   // why the file cannot be run, or ""
}

// readFile reads a test file. Its error is that the file cannot be read.
func readFile(path string) (*file, error) {
	program, err := lang.ReadProgram(path)
	if err != nil {
		return nil, err
	}
	f := &file{path: path, program: program}
	if err := f.scan(); err != nil {
		f.mistake = err.Error()
	}
	return f, nil
}

// scan finds the tests and RANKS at the top level of the source.
func (f *file) scan() error {
	parsed, err := lang.Parse(f.path, f.program.Source, 1)
	if err != nil {
		return err
	}
	for _, stmt := range parsed.Stmts {
		switch stmt := stmt.(type) {
		case *syntax.DefStmt:
			if name := stmt.Name.Name; strings.HasPrefix(name, "test_") && !slices.Contains(f.tests, name) {
				f.tests = append(f.tests, name)
			}
		case *syntax.AssignStmt:
			if id, ok := stmt.LHS.(*syntax.Ident); ok && id.Name == "RANKS" {
				if f.ranks, ok = intList(stmt.RHS); !ok {
					return fmt.Errorf("%s: RANKS: want numbers of ranks written out, such as [1, 2, 4]", id.NamePos)
				}
			}
		}
	}
	if len(f.tests) == 0 {
		return fmt.Errorf("%s: no test_* function", f.path)
	}
	return nil
}

// intList returns the elements of a list or tuple of positive ints, of which
// there must be some, each once.
func intList(x syntax.Expr) ([]int, bool) {
	var elems []syntax.Expr
	switch x := x.(type) {
	case *syntax.ListExpr:
		elems = x.List
	case *syntax.TupleExpr:
		elems = x.List
	case *syntax.ParenExpr:
		return intList(x.X)
	}
	var ints []int
	for _, e := range elems {
		lit, ok := e.(*syntax.Literal)
		if !ok {
			return nil, false
		}
		n, ok := lit.Value.(int64)
		if !ok || n < 1 || int64(int(n)) != n {
			return nil, false
		}
		if !slices.Contains(ints, int(n)) {
			ints = append(ints, int(n))
		}
	}
	return ints, len(ints) > 0
}

// allowed returns the numbers of ranks to run the file on: those asked for
// that it allows, or if none are asked for, its own.
func (f *file) allowed(asked []int) []int {
	switch {
	case f.ranks == nil && asked == nil:
		return defaultRanks
	case f.ranks == nil:
		return asked
	case asked == nil:
		return f.ranks
	}
	var both []int
	for _, n := range asked {
		if slices.Contains(f.ranks, n) {
			both = append(both, n)
		}
	}
	return both
}

// matching returns the tests whose names match; all if match is nil.
func (f *file) matching(match *regexp.Regexp) []string {
	if match == nil {
		return f.tests
	}
	var names []string
	for _, name := range f.tests {
		if match.MatchString(name) {
			names = append(names, name)
		}
	}
	return names
}

// list returns ints as a script writes them.
func list(ints []int) string {
	words := make([]string, len(ints))
	for i, n := range ints {
		words[i] = strconv.Itoa(n)
	}
	return "[" + strings.Join(words, ", ") + "]"
}
