package lang

import (
	"fmt"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"tpsh/lang/halt"
)

// globals holds the globals that chunks share. They are alive: a function
// sees the values of its globals now, not those of when it was defined.
//
// Starlark gives each compiled file globals of its own. So a chunk is compiled
// statement by statement with every global as a predeclared name, which the
// interpreter looks up in names when it meets it, and assignments to globals
// are rewritten as assignments to items of the session: x = 1 becomes
// session["x"] = 1, and def f(): ... is followed by session["f"] = f.
type globals struct {
	names   starlark.StringDict // predeclared, universal, and assigned
	defined map[string]bool     // the assigned ones
}

// globalsName is the name of the session in rewritten chunks. No source can write it.
const globalsName = "<session>"

var (
	_ starlark.Mapping   = (*globals)(nil)
	_ starlark.HasSetKey = (*globals)(nil)
)

func newGlobals(predeclared starlark.StringDict) *globals {
	s := &globals{make(starlark.StringDict), make(map[string]bool)}
	for _, dict := range []starlark.StringDict{starlark.Universe, predeclared} {
		for name, v := range dict {
			s.names[name] = v
		}
	}
	s.names[globalsName], s.names[halt.MarkName] = s, starlark.True
	return s
}

func (s *globals) String() string        { return globalsName }
func (s *globals) Type() string          { return "session" }
func (s *globals) Freeze()               {}
func (s *globals) Truth() starlark.Bool  { return true }
func (s *globals) Hash() (uint32, error) { return 0, fmt.Errorf("unhashable: session") }

// Get returns a global. The interpreter asks for it in x += 1.
func (s *globals) Get(key starlark.Value) (starlark.Value, bool, error) {
	name := string(key.(starlark.String))
	if v, ok := s.names[name]; ok {
		return v, true, nil
	}
	return nil, false, fmt.Errorf("global variable %s referenced before assignment", name)
}

// SetKey assigns a global.
func (s *globals) SetKey(key, v starlark.Value) error {
	s.set(string(key.(starlark.String)), v)
	return nil
}

// own returns the globals that chunks have assigned.
func (s *globals) own() starlark.StringDict {
	all := make(starlark.StringDict, len(s.defined))
	for name := range s.defined {
		if name != "_" {
			all[name] = s.names[name]
		}
	}
	return all
}

func (s *globals) set(name string, v starlark.Value) {
	s.names[name] = v
	s.defined[name] = true
}

// run runs a chunk. If its last statement is an expression, run returns the value of that, which
// becomes the global _ as well; else nil.
func (s *globals) run(t *starlark.Thread, p *runMsg) (starlark.Value, error) {
	file, err := parseCore(string(p.Path), string(p.Source), p.FirstLine)
	if err != nil {
		return nil, err
	}
	if err := checkGlobals(file, func(name string) bool { return s.defined[name] }); err != nil {
		return nil, err
	}
	if x := soleExpr(file); x != nil {
		return s.eval(t, x)
	}
	last := s.keepLast(file)
	if p.Marked {
		halt.Mark(file, false) // a later statement may set a breakpoint in it
	}
	programs, err := s.compile(file)
	if err != nil {
		return nil, err
	}
	for _, prog := range programs {
		if _, err := prog.Init(t, s.names); err != nil {
			return nil, err
		}
	}
	if last {
		return s.names["_"], nil
	}
	return nil, nil
}

// keepLast has the file assign its last statement to _, if that is an expression.
func (s *globals) keepLast(f *syntax.File) bool {
	if len(f.Stmts) == 0 {
		return false
	}
	at := len(f.Stmts) - 1
	stmt, ok := f.Stmts[at].(*syntax.ExprStmt)
	if ok {
		f.Stmts[at] = s.assignLast(stmt.X)
	}
	return ok
}

// assignLast returns the statement session["_"] = x.
func (s *globals) assignLast(x syntax.Expr) syntax.Stmt {
	pos := syntax.Start(x)
	return &syntax.AssignStmt{Op: syntax.EQ, OpPos: pos, LHS: s.item("_", pos), RHS: x}
}

// soleExpr returns the expression that is all of the file, or nil.
func soleExpr(f *syntax.File) syntax.Expr {
	if len(f.Stmts) == 1 {
		if stmt, ok := f.Stmts[0].(*syntax.ExprStmt); ok {
			return stmt.X
		}
	}
	return nil
}

func (s *globals) eval(t *starlark.Thread, x syntax.Expr) (v starlark.Value, err error) {
	f := &syntax.File{Path: syntax.Start(x).Filename(), Options: FileOptions}
	f.Stmts = []syntax.Stmt{s.assignLast(x)}
	prog, err := resolveFile(f, s.names, nil)
	if err != nil {
		return nil, err
	}
	if _, err := prog.Init(t, s.names); err != nil {
		return nil, err
	}
	return s.names["_"], nil
}

// compile returns the programs of a file's statements. All of them are
// compiled before any runs.
func (s *globals) compile(file *syntax.File) ([]*starlark.Program, error) {
	w := &rewriter{globals: s, bound: make(map[string]bool)}
	var files []*syntax.File
	for _, stmt := range file.Stmts {
		files = append(files, &syntax.File{
			Path:    file.Path,
			Options: FileOptions,
			Stmts:   w.stmts([]syntax.Stmt{stmt}),
		})
	}
	var programs []*starlark.Program
	var mistakes StaticError
	for _, f := range files {
		prog, err := resolveFile(f, s.names, w.bound)
		if e, ok := err.(*StaticError); ok {
			mistakes.Lines = append(mistakes.Lines, e.Lines...)
		}
		programs = append(programs, prog)
	}
	if len(mistakes.Lines) > 0 {
		return nil, &mistakes
	}
	return programs, nil
}

// A rewriter turns assignments to globals into assignments to items of the
// session.
type rewriter struct {
	globals *globals
	bound   map[string]bool // the globals that the chunk assigns
}

// stmts rewrites a block that is in no function.
func (w *rewriter) stmts(block []syntax.Stmt) []syntax.Stmt {
	var out []syntax.Stmt
	for _, stmt := range block {
		out = append(out, stmt)
		switch stmt := stmt.(type) {
		case *syntax.AssignStmt:
			stmt.LHS = w.target(stmt.LHS)
		case *syntax.DefStmt:
			out = append(out, w.publish(stmt.Name))
		case *syntax.LoadStmt:
			for _, id := range stmt.To {
				out = append(out, w.publish(id))
			}
		case *syntax.ForStmt:
			stmt.Vars = w.target(stmt.Vars)
			stmt.Body = w.stmts(stmt.Body)
		case *syntax.WhileStmt:
			stmt.Body = w.stmts(stmt.Body)
		case *syntax.IfStmt:
			stmt.True = w.stmts(stmt.True)
			stmt.False = w.stmts(stmt.False)
		}
	}
	return out
}

// target rewrites the left side of an assignment.
func (w *rewriter) target(x syntax.Expr) syntax.Expr {
	switch x := x.(type) {
	case *syntax.Ident:
		w.bound[x.Name] = true
		return w.globals.item(x.Name, x.NamePos)
	case *syntax.ParenExpr:
		x.X = w.target(x.X)
	case *syntax.TupleExpr:
		w.targets(x.List)
	case *syntax.ListExpr:
		w.targets(x.List)
	}
	return x
}

func (w *rewriter) targets(list []syntax.Expr) {
	for i := range list {
		list[i] = w.target(list[i])
	}
}

// publish returns the statement session["name"] = name.
func (w *rewriter) publish(id *syntax.Ident) syntax.Stmt {
	w.bound[id.Name] = true
	return &syntax.AssignStmt{
		Op:    syntax.EQ,
		OpPos: id.NamePos,
		LHS:   w.globals.item(id.Name, id.NamePos),
		RHS:   named(id.Name, id.NamePos),
	}
}

// item returns the expression session["name"].
func (s *globals) item(name string, pos syntax.Position) syntax.Expr {
	return &syntax.IndexExpr{
		X:      named(globalsName, pos),
		Lbrack: pos,
		Y:      quoted(name, pos),
		Rbrack: pos,
	}
}
