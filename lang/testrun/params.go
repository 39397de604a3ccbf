package testrun

import (
	"fmt"
	"slices"
	"strings"

	"go.starlark.net/syntax"
)

// readParams returns the cases of PARAMS, as they are written: those of a list for
// every test that has parameters, under "", or those of a dict by the names of
// tests.
func (f *file) readParams(x syntax.Expr) (map[string][]string, bool) {
	params := make(map[string][]string)
	if d, ok := x.(*syntax.DictExpr); ok {
		for _, e := range d.List {
			entry, ok := e.(*syntax.DictEntry)
			if !ok {
				return nil, false
			}
			name, ok := entry.Key.(*syntax.Literal)
			if !ok || name.Token != syntax.STRING {
				return nil, false
			}
			cases, ok := f.cases(entry.Value)
			if !ok {
				return nil, false
			}
			params[name.Value.(string)] = cases
		}
		return params, true
	}
	cases, ok := f.cases(x)
	params[""] = cases
	return params, ok
}

// cases returns the elements of a list, as they are written.
func (f *file) cases(x syntax.Expr) ([]string, bool) {
	var elems []syntax.Expr
	switch x := x.(type) {
	case *syntax.ListExpr:
		elems = x.List
	case *syntax.ParenExpr:
		return f.cases(x.X)
	case *syntax.TupleExpr:
		elems = x.List
	default:
		return nil, false
	}
	var texts []string
	for i, e := range elems {
		text := f.text(e)
		if len(text) > maxCase || slices.Contains(texts, text) {
			text = fmt.Sprintf("#%d", i+1)
		}
		texts = append(texts, text)
	}
	return texts, len(texts) > 0
}

// maxCase is how long the text of a case may be that names it.
const maxCase = 40

// text returns an expression as the file has it, without the brackets of a tuple.
func (f *file) text(x syntax.Expr) string {
	if paren, ok := x.(*syntax.ParenExpr); ok {
		x = paren.X
	}
	start, end := x.Span()
	lines := strings.Split(f.program.Source, "\n")
	if start.Line != end.Line || int(start.Line) > len(lines) {
		return strings.Repeat(" ", maxCase+1)
	}
	line := []rune(lines[start.Line-1])
	return string(line[start.Col-1 : min(int(end.Col)-1, len(line))])
}

// checkParams makes a test of each case. Its error is of a test that has parameters
// and no cases, or of cases for no test.
func (f *file) checkParams() error {
	var all []*test
	used := map[string]bool{"": true}
	for _, t := range f.tests {
		t.timeout = f.timeout
		cases, ok := f.params[t.name]
		used[t.name] = true
		if !ok && t.params > 0 {
			cases, ok = f.params[""]
		}
		switch {
		case !ok && t.params > 0:
			return fmt.Errorf("%s:%d: %s has parameters, and PARAMS has no cases for it", f.path, t.line, t.name)
		case !ok:
			all = append(all, t)
		}
		for i, text := range cases {
			one := *t
			one.number, one.label = i+1, fmt.Sprintf("%s[%s]", t.name, text)
			all = append(all, &one)
		}
	}
	for name := range f.params {
		if !used[name] {
			return fmt.Errorf("%s: PARAMS has cases for %s, and there is no such test", f.path, name)
		}
	}
	f.tests = all
	return nil
}
