package lang

import (
	"slices"
	"strings"

	"go.starlark.net/syntax"

	"tpsh/lang/source"
)

// A Flag is a call of the function flag, as the source shows it.
type Flag struct {
	Name    string // with - for _
	Kind    string // of the value: int, number, string, "" for a bool, value if the source does not tell
	Default string // as it is written
	Doc     string
	Where   string // file:line:col
}

// Flags is the command line of a program as far as its source shows it.
type Flags struct {
	// Doc is the docstring of the script.
	Doc string
	// List holds the flags, each once, in the order of the source; those of
	// loaded files come after.
	List []Flag
	// Computed says that some flags have names that the source does not show.
	Computed bool
	// Words says that the program may read the arguments behind -- by itself: it
	// mentions args.
	Words bool
	// Stops says that the program may ask whether it is to end soon: it
	// mentions should_stop.
	Stops bool
}

// ReadFlags looks through the source of a program, and of the files that it
// loads, for calls of flag. A file that cannot be read or parsed shows nothing: whoever
// runs it says why.
func (p Program) ReadFlags() *Flags {
	s := &flagScan{flags: new(Flags), seen: make(map[module]bool)}
	s.loader = newLoader(p.Path, p.Dir, p.Folders)
	s.source(p.Path, p.Source, true)
	return s.flags
}

// Names returns the names of the flags.
func (f *Flags) Names() []string {
	var names []string
	for _, one := range f.List {
		names = append(names, one.Name)
	}
	return names
}

// Find returns the flag called name, or nil.
func (f *Flags) Find(name string) *Flag {
	for i := range f.List {
		if f.List[i].Name == name {
			return &f.List[i]
		}
	}
	return nil
}

// Names in a program: of the function that reads a flag, of the list of words, and
// of the function that tells whether to end soon.
const (
	flagFunction = "flag"
	argsList     = "args"
	stopFunction = "should_stop"
)

// A flagScan is one ReadFlags.
type flagScan struct {
	flags  *Flags
	loader *loader
	seen   map[module]bool
}

// source looks through one file.
func (s *flagScan) source(name, text string, script bool) {
	file, err := Parse(name, text, 1)
	if err != nil {
		s.flags.Computed, s.flags.Words = true, true
		return
	}
	if script {
		s.flags.Doc = docstring(file.Stmts)
	}
	own := assignedNames(file.Stmts)
	var modules []string
	source.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.LoadStmt:
			modules = append(modules, n.ModuleName())
			return false
		case *syntax.CallExpr:
			if id, ok := n.Fn.(*syntax.Ident); ok && id.Name == flagFunction && !own[flagFunction] {
				s.call(n, text)
			}
		case *syntax.Ident:
			s.flags.Words = s.flags.Words || n.Name == argsList
			s.flags.Stops = s.flags.Stops || n.Name == stopFunction
		}
		return true
	})
	for _, m := range modules {
		s.module(m)
	}
}

// module looks through a file that is loaded.
func (s *flagScan) module(path string) {
	m, err := s.loader.resolve(path)
	if err != nil || s.seen[m] {
		return
	}
	s.seen[m] = true
	text, err := s.loader.read(m)
	if err != nil {
		return
	}
	defer s.loader.enter(m)()
	s.source(s.loader.shown(m), text, false)
}

// docstring returns the text of a string that is the first of some statements.
func docstring(stmts []syntax.Stmt) string {
	if len(stmts) > 0 {
		if stmt, ok := stmts[0].(*syntax.ExprStmt); ok {
			text, _ := literalString(stmt.X)
			return strings.TrimSpace(text)
		}
	}
	return ""
}

// assignedNames returns the names that statements at the top level define.
func assignedNames(stmts []syntax.Stmt) map[string]bool {
	names := make(map[string]bool)
	for _, stmt := range stmts {
		switch stmt := stmt.(type) {
		case *syntax.DefStmt:
			names[stmt.Name.Name] = true
		case *syntax.AssignStmt:
			if id, ok := stmt.LHS.(*syntax.Ident); ok {
				names[id.Name] = true
			}
		case *syntax.LoadStmt:
			for _, id := range stmt.To {
				names[id.Name] = true
			}
		}
	}
	return names
}

// call notes a call of flag.
func (s *flagScan) call(c *syntax.CallExpr, text string) {
	args := callArgs(c, "name", "default", "doc")
	name, ok := literalString(args["name"])
	if !ok {
		s.flags.Computed = true
		return
	}
	name = strings.ReplaceAll(name, "_", "-")
	doc, _ := literalString(args["doc"])
	f := Flag{Name: name, Kind: flagKind(args["default"]), Doc: doc, Where: c.Lparen.String()}
	if x := args["default"]; x != nil {
		f.Default = sourceOf(x, text)
	}
	if s.flags.Find(name) == nil {
		s.flags.List = append(s.flags.List, f)
	}
}

// callArgs returns the arguments of a call, by the names of its parameters.
func callArgs(c *syntax.CallExpr, params ...string) map[string]syntax.Expr {
	args := make(map[string]syntax.Expr)
	for i, x := range c.Args {
		if b, ok := x.(*syntax.BinaryExpr); ok && b.Op == syntax.EQ {
			if id, ok := b.X.(*syntax.Ident); ok {
				args[id.Name] = b.Y
			}
		} else if i < len(params) {
			args[params[i]] = x
		}
	}
	return args
}

func literalString(x syntax.Expr) (string, bool) {
	switch x := x.(type) {
	case *syntax.Literal:
		s, ok := x.Value.(string)
		return s, ok && x.Token == syntax.STRING
	case *syntax.ParenExpr:
		return literalString(x.X)
	case *syntax.BinaryExpr:
		a, ok1 := literalString(x.X)
		b, ok2 := literalString(x.Y)
		return a + b, ok1 && ok2 && x.Op == syntax.PLUS
	}
	return "", false
}

// flagKind names the kind of value of a flag whose default is x; "" for nothing.
func flagKind(x syntax.Expr) string {
	switch x := x.(type) {
	case *syntax.Literal:
		switch x.Token {
		case syntax.INT:
			return "int"
		case syntax.FLOAT:
			return "number"
		case syntax.STRING:
			return "string"
		}
	case *syntax.UnaryExpr:
		if x.Op == syntax.MINUS {
			return flagKind(x.X)
		}
	case *syntax.Ident:
		switch x.Name {
		case "True", "False":
			return ""
		case "None":
			return "string"
		}
	case *syntax.ListExpr, *syntax.TupleExpr:
		return "list"
	case *syntax.ParenExpr:
		return flagKind(x.X)
	case *syntax.CondExpr:
		if kind := flagKind(x.True); kind == flagKind(x.False) {
			return kind
		}
	}
	return "value"
}

// sourceOf returns the text of an expression, on one line.
func sourceOf(x syntax.Expr, text string) string {
	start, end := x.Span()
	lines := strings.Split(text, "\n")
	var words []string
	for n := start.Line; n <= end.Line && int(n) <= len(lines); n++ {
		line := []rune(lines[n-1])
		from, to := 0, len(line)
		if n == start.Line {
			from = min(int(start.Col)-1, len(line))
		}
		if n == end.Line {
			to = min(int(end.Col)-1, len(line))
		}
		words = append(words, strings.TrimSpace(string(line[from:max(from, to)])))
	}
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " ")
}
