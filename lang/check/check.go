package check

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.starlark.net/syntax"

	"tpsh/internal/lazyregexp"
	"tpsh/lang"
	"tpsh/lang/analysis"
	"tpsh/lang/source"
)

// A Finding is one mistake of a program.
type Finding struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Rule    string `json:"rule"`
	Message string `json:"message"`
}

func (f Finding) String() string {
	return fmt.Sprintf("%s:%d:%d: %s (%s)", f.File, f.Line, f.Column, f.Message, f.Rule)
}

// Rules has the mistake that each rule finds.
var Rules = map[string]string{
	"syntax":      "a source that cannot be read or compiled",
	"undefined":   "a name that nothing binds",
	"member":      "an attribute that a value has not, or that no value has",
	"arguments":   "arguments that a function does not take, or lacks",
	"choice":      "a string that is none of those that a parameter takes",
	"plan":        "a path of a plan, a dim of a mesh, or a list of placements that fits nothing",
	"format":      "a format whose values are too few or too many",
	"load":        "a load of a file or of a name that is not there, or in a circle",
	"unused-load": "a loaded name that nothing uses",
	"unused":      "a name that is bound and that nothing uses",
	"unreachable": "a statement that nothing reaches",
	"no-assert":   "a test that asserts nothing",
}

// Source returns the mistakes of a program, in the order of its lines.
func Source(path, text string, l *Language) []Finding { return File(l.Open(path, text), l) }

// File returns the mistakes of a program that was read.
func File(f *analysis.File, l *Language) []Finding {
	c := &checker{File: f, lang: l}
	c.static(lang.Static(f.Path, f.Text, l.Names))
	if f.Tree == nil {
		return c.found // static has said it
	}
	c.guard()
	c.learn()
	source.Walk(f.Tree, c.visit)
	c.blocks(f.Tree.Stmts)
	c.unused()
	c.loads()
	c.tests()
	slices.SortStableFunc(c.found, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return slices.Compact(c.found)
}

// A checker looks at one program.
type checker struct {
	*analysis.File
	lang  *Language
	found []Finding

	guarding map[*analysis.Symbol]bool // functions that keep failures of others
	guarded  map[syntax.Node]bool
	given    map[string]bool // attributes that programs give to values of theirs
	open     bool            // there may be others
	computed bool            // some are keys of dicts of the program
	keys     map[string]bool // these keys
	wild     bool            // some come from elsewhere, and may be anything
	words    map[string]int  // words of texts of the program, how often
	meshes   bool            // it makes meshes
	joined   map[string]bool // names that it gives several dims of a mesh together
	any      map[string]bool // attributes that values of the language have
	numbered map[string]bool // those with digits, without these
}

// visit reports the mistakes of one node, and whether to look into it: not if
// the program means it to fail.
func (c *checker) visit(n syntax.Node) bool {
	if n == nil || c.guarded[n] {
		return false
	}
	switch n := n.(type) {
	case *syntax.DotExpr:
		c.member(n)
	case *syntax.CallExpr:
		c.call(n)
		c.planOf(n)
	case *syntax.IndexExpr:
		c.meshDim(n)
	case *syntax.BinaryExpr:
		c.format(n)
	}
	return true
}

func (c *checker) report(pos syntax.Position, rule, format string, args ...any) {
	c.found = append(c.found, Finding{c.Path, int(pos.Line), int(pos.Col), rule, fmt.Sprintf(format, args...)})
}

var place = lazyregexp.New(`^(.*?):(\d+):(\d+): (?s:(.*))$`)

// static reports mistakes that keep the program from being compiled.
func (c *checker) static(err error) {
	var bad *lang.StaticError
	if !errors.As(err, &bad) {
		return
	}
	for _, line := range bad.Lines {
		f := Finding{File: c.Path, Line: 1, Column: 1, Rule: "syntax", Message: line}
		if m := place.Get().FindStringSubmatch(strings.TrimPrefix(line, c.Path)); m != nil {
			f.Line, _ = strconv.Atoi(m[2])
			f.Column, _ = strconv.Atoi(m[3])
			f.Message = m[4]
		}
		if strings.HasPrefix(f.Message, "undefined: ") {
			f.Rule = "undefined"
		}
		c.found = append(c.found, f)
	}
}
