package check

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"tpsh/lang"
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

// A Language is what programs have without a load.
type Language struct {
	Names starlark.StringDict
	// Signature returns the parameters of a function of the language.
	Signature func(path string, v starlark.Value) (Signature, bool)
	// Lib holds the folders in which load looks after the program's.
	Lib []string
}

// A Signature says what calls of a function may look like.
type Signature struct {
	Params   []string        // those by position, in order
	Required []string        // those of Params, and of Keywords, that have no default
	Keywords map[string]bool // what may be passed by name; nil for anything
	Rest     bool            // any number of arguments by position
}

// Source returns what is wrong with a program, in the order of its lines.
func Source(path, text string, l *Language) []Finding {
	c := &checker{lang: l, path: path}
	c.static(lang.Static(path, text, l.Names))
	file, err := lang.Parse(path, text, 1)
	if err != nil {
		return c.found // static has said it
	}
	c.file = file
	c.learn()
	c.walk()
	c.blocks(file.Stmts)
	c.loads()
	c.tests()
	slices.SortStableFunc(c.found, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return slices.Compact(c.found)
}

// A checker looks at one program.
type checker struct {
	lang  *Language
	path  string
	file  *source.File
	found []Finding

	bound    map[string]int // how often the program binds a name
	defs     map[string]*syntax.DefStmt
	uses     map[string]int  // how often a name stands for its value
	loaded   map[string]bool // names that load binds
	guarding map[string]bool // functions that keep failures of others
	guarded  map[syntax.Node]bool
}

func (c *checker) report(pos syntax.Position, rule, format string, args ...any) {
	c.found = append(c.found, Finding{c.path, int(pos.Line), int(pos.Col), rule, fmt.Sprintf(format, args...)})
}

var place = regexp.MustCompile(`^(.*?):(\d+):(\d+): (?s:(.*))$`)

// static reports what keeps the program from being compiled.
func (c *checker) static(err error) {
	var bad *lang.StaticError
	if !errors.As(err, &bad) {
		return
	}
	for _, line := range bad.Lines {
		f := Finding{File: c.path, Line: 1, Column: 1, Rule: "syntax", Message: line}
		if m := place.FindStringSubmatch(strings.TrimPrefix(line, c.path)); m != nil {
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

// learn notes which names the program binds and uses.
func (c *checker) learn() {
	c.bound, c.uses, c.defs = map[string]int{}, map[string]int{}, map[string]*syntax.DefStmt{}
	c.loaded = map[string]bool{}
	source.Walk(c.file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.DefStmt:
			c.bound[n.Name.Name]++
			c.defs[n.Name.Name] = n
			c.params(n.Params)
		case *syntax.LambdaExpr:
			c.params(n.Params)
		case *syntax.AssignStmt:
			c.bind(n.LHS)
			for x, ok := n.RHS.(*syntax.BinaryExpr); ok && x.Op == syntax.EQ; x, ok = x.Y.(*syntax.BinaryExpr) {
				c.bind(x.X)
			}
		case *syntax.ForStmt:
			c.bind(n.Vars)
		case *syntax.ForClause:
			c.bind(n.Vars)
		case *syntax.LoadStmt:
			for _, id := range n.To {
				c.bound[id.Name]++
				c.loaded[id.Name] = true
			}
			return false
		case *syntax.Ident:
			c.uses[n.Name]++
		}
		return true
	})
}

func (c *checker) params(list []syntax.Expr) {
	for _, p := range list {
		switch p := p.(type) {
		case *syntax.BinaryExpr:
			c.bind(p.X)
		case *syntax.UnaryExpr:
			c.bind(p.X)
		default:
			c.bind(p)
		}
	}
}

// bind notes the names among what is assigned to.
func (c *checker) bind(x syntax.Expr) {
	switch x := x.(type) {
	case *syntax.Ident:
		c.bound[x.Name]++
	case *syntax.ParenExpr:
		c.bind(x.X)
	case *syntax.UnaryExpr: // *rest
		c.bind(x.X)
	case *syntax.TupleExpr:
		for _, e := range x.List {
			c.bind(e)
		}
	case *syntax.ListExpr:
		for _, e := range x.List {
			c.bind(e)
		}
	}
}

// blocks reports statements that nothing reaches.
func (c *checker) blocks(stmts []syntax.Stmt) {
	ended := ""
	for _, s := range stmts {
		if ended != "" {
			c.report(syntax.Start(s), "unreachable", "nothing reaches this statement: it stands behind %s", ended)
			ended = ""
		}
		switch s := s.(type) {
		case *syntax.ReturnStmt:
			ended = "return"
		case *syntax.BranchStmt:
			if s.Token != syntax.PASS {
				ended = s.Token.String()
			}
		case *syntax.DefStmt:
			c.blocks(s.Body)
		case *syntax.ForStmt:
			c.blocks(s.Body)
		case *syntax.WhileStmt:
			c.blocks(s.Body)
		case *syntax.IfStmt:
			c.blocks(s.True)
			c.blocks(s.False)
		}
	}
}
