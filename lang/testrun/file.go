package testrun

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.starlark.net/syntax"

	"tpsh/lang"
)

// A file is a test file.
type file struct {
	path    string
	program lang.Program
	tests   []*test             // in order of definition
	before  string              // setup if the file defines it
	after   string              // teardown if the file defines it
	timeout time.Duration       // the value of TIMEOUT, for all tests; 0 without one
	ranks   []int               // the value of RANKS; nil without one
	params  map[string][]string // the cases of PARAMS as they are written, by test; "" for all
	mistake string              // why the file cannot be run, or ""
}

// A test is a function of a file, or one case of it.
type test struct {
	name    string
	label   string // with its case, if it has several
	line    int
	params  int           // how many parameters it has
	number  int           // of its case, from 1; 0 if it has none
	timeout time.Duration // 0 if the file does not say
}

// Names in test files that mean something.
const (
	setupName    = "setup"
	teardownName = "teardown"
	paramsName   = "PARAMS"
	timeoutName  = "TIMEOUT"
	ranksName    = "RANKS"
)

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

// scan finds the tests, and the file's settings for them, at the top level of the
// source.
func (f *file) scan() error {
	parsed, err := lang.Parse(f.path, f.program.Source, 1)
	if err != nil {
		return err
	}
	for _, stmt := range parsed.Stmts {
		switch stmt := stmt.(type) {
		case *syntax.DefStmt:
			f.function(stmt)
		case *syntax.AssignStmt:
			if id, ok := stmt.LHS.(*syntax.Ident); ok {
				if err := f.global(id, stmt.RHS); err != nil {
					return err
				}
			}
		}
	}
	if len(f.tests) == 0 {
		return fmt.Errorf("%s: no test_* function", f.path)
	}
	return f.checkParams()
}

// function notes a function of the file.
func (f *file) function(def *syntax.DefStmt) {
	switch name := def.Name.Name; {
	case name == setupName:
		f.before = name
	case name == teardownName:
		f.after = name
	case strings.HasPrefix(name, "test_") && !slices.ContainsFunc(f.tests, func(t *test) bool { return t.name == name }):
		f.tests = append(f.tests, &test{name: name, label: name, line: int(def.Def.Line), params: len(def.Params)})
	}
}

// global notes the setting of tests in an assignment.
func (f *file) global(id *syntax.Ident, x syntax.Expr) (err error) {
	ok := true
	switch id.Name {
	case ranksName:
		if f.ranks, ok = intList(x); !ok {
			return fmt.Errorf("%s: RANKS: want numbers of ranks written out, such as [1, 2, 4]", id.NamePos)
		}
	case timeoutName:
		if f.timeout, ok = seconds(x); !ok {
			return fmt.Errorf("%s: TIMEOUT: want a number of seconds written out, such as 5", id.NamePos)
		}
	case paramsName:
		if f.params, ok = f.readParams(x); !ok {
			return fmt.Errorf("%s: PARAMS: want cases written out: a list of them, or a dict of lists by the names of tests", id.NamePos)
		}
	}
	return nil
}

// seconds returns a number that is written out as a duration.
func seconds(x syntax.Expr) (time.Duration, bool) {
	lit, ok := x.(*syntax.Literal)
	if !ok {
		return 0, false
	}
	switch v := lit.Value.(type) {
	case int64:
		return time.Duration(v) * time.Second, v > 0 && v < 1<<31
	case float64:
		return time.Duration(v * float64(time.Second)), v > 0 && v < 1<<31
	}
	return 0, false
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
func (f *file) matching(match *regexp.Regexp) []*test {
	var tests []*test
	for _, t := range f.tests {
		if match == nil || match.MatchString(t.label) || match.MatchString(t.name) {
			tests = append(tests, t)
		}
	}
	return tests
}

// list returns ints as a script writes them.
func list(ints []int) string {
	words := make([]string, len(ints))
	for i, n := range ints {
		words[i] = strconv.Itoa(n)
	}
	return "[" + strings.Join(words, ", ") + "]"
}
