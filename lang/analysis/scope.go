package analysis

import (
	"go.starlark.net/syntax"

	"tpsh/lang/source"
)

// A Kind says by what a symbol is bound.
type Kind string

// The kinds of symbols.
const (
	Predeclared Kind = "predeclared" // by the language
	Variable    Kind = "variable"
	Parameter   Kind = "parameter"
	Func        Kind = "function"
	Loaded      Kind = "loaded"
	Unknown     Kind = "unknown" // by nothing
)

// A Symbol is one name of one scope.
type Symbol struct {
	Name  string
	Kind  Kind // of the first binding
	Scope *Scope
	Binds []Binding
	Uses  []*syntax.Ident // where it stands for its value
}

// A Binding is one place that gives a symbol a value.
type Binding struct {
	Ident *syntax.Ident
	// By is the statement, clause or function that binds: an AssignStmt, a
	// DefStmt, a ForStmt, a ForClause, a LoadStmt; of parameters the function.
	By syntax.Node
}

// A Scope is where names are bound: the file, a function, a comprehension.
type Scope struct {
	Node    syntax.Node // nil of the file
	Parent  *Scope
	Symbols map[string]*Symbol
	Order   []*Symbol // as they are bound in the text
	owner   *Scope    // of a comprehension, the function around it; else itself
}

func newScope(parent *Scope, node syntax.Node) *Scope {
	s := &Scope{Node: node, Parent: parent, Symbols: map[string]*Symbol{}}
	s.owner = s
	if _, ok := node.(*syntax.Comprehension); ok {
		s.owner = parent.owner
	}
	return s
}

// IsFile reports whether the scope is that of the file.
func (s *Scope) IsFile() bool { return s.Node == nil }

// bind adds a binding of a name.
func (s *Scope) bind(id *syntax.Ident, kind Kind, by syntax.Node) {
	sym := s.Symbols[id.Name]
	if sym == nil {
		sym = &Symbol{Name: id.Name, Kind: kind, Scope: s}
		s.Symbols[id.Name] = sym
		s.Order = append(s.Order, sym)
	}
	sym.Binds = append(sym.Binds, Binding{id, by})
}

// lookup returns the symbol that a name stands for, from the scope outwards.
func (s *Scope) lookup(name string) *Symbol {
	for ; s != nil; s = s.Parent {
		if sym := s.Symbols[name]; sym != nil {
			return sym
		}
	}
	return nil
}

// A resolver makes scopes and symbols of a tree.
type resolver struct {
	file  *File
	scope *Scope
	later *[]func() // bodies of functions: they see names that are bound below them
}

// resolve finds the symbols of a file.
func (f *File) resolve() {
	r := &resolver{file: f, scope: f.Scope, later: new([]func())}
	r.bindBlock(f.Tree.Stmts)
	for _, s := range f.Tree.Stmts {
		r.stmt(s)
	}
	for len(*r.later) > 0 {
		next := (*r.later)[0]
		*r.later = (*r.later)[1:]
		next()
	}
}

// bindBlock binds the names that statements bind in the function they are in.
func (r *resolver) bindBlock(stmts []syntax.Stmt) {
	for _, s := range stmts {
		switch s := s.(type) {
		case *syntax.AssignStmt:
			for _, x := range Targets(s) {
				r.target(x, s)
			}
		case *syntax.DefStmt:
			r.scope.bind(s.Name, Func, s)
			r.file.symbolOf[s.Name] = r.scope.Symbols[s.Name.Name]
		case *syntax.ForStmt:
			r.target(s.Vars, s)
			r.bindBlock(s.Body)
		case *syntax.WhileStmt:
			r.bindBlock(s.Body)
		case *syntax.IfStmt:
			r.bindBlock(s.True)
			r.bindBlock(s.False)
		case *syntax.LoadStmt:
			for _, id := range s.To {
				r.scope.bind(id, Loaded, s)
				r.file.symbolOf[id] = r.scope.Symbols[id.Name]
			}
		}
	}
}

// Targets returns the targets of an assignment: of a = b = x both a and b.
func Targets(s *syntax.AssignStmt) []syntax.Expr {
	list := []syntax.Expr{s.LHS}
	for x, ok := s.RHS.(*syntax.BinaryExpr); ok && x.Op == syntax.EQ; x, ok = x.Y.(*syntax.BinaryExpr) {
		list = append(list, x.X)
	}
	return list
}

// Value returns the value that is assigned.
func Value(s *syntax.AssignStmt) syntax.Expr {
	v := s.RHS
	for x, ok := v.(*syntax.BinaryExpr); ok && x.Op == syntax.EQ; x, ok = v.(*syntax.BinaryExpr) {
		v = x.Y
	}
	return v
}

// target binds the names in the target of an assignment.
func (r *resolver) target(x syntax.Expr, by syntax.Node) {
	switch x := x.(type) {
	case *syntax.Ident:
		r.scope.bind(x, Variable, by)
		r.file.symbolOf[x] = r.scope.Symbols[x.Name]
	case *syntax.ParenExpr:
		r.target(x.X, by)
	case *syntax.TupleExpr:
		for _, e := range x.List {
			r.target(e, by)
		}
	case *syntax.ListExpr:
		for _, e := range x.List {
			r.target(e, by)
		}
	case *syntax.UnaryExpr:
		if x.X != nil {
			r.target(x.X, by)
		}
	}
}

// stmt resolves the names that a statement uses.
func (r *resolver) stmt(s syntax.Stmt) {
	switch s := s.(type) {
	case *syntax.AssignStmt:
		r.expr(Value(s))
		r.assigned(s)
	case *syntax.DefStmt:
		r.function(s, s.Params, s.Body, nil)
	case *syntax.ForStmt:
		r.expr(s.X)
		r.places(s.Vars)
		r.stmts(s.Body)
	case *syntax.WhileStmt:
		r.expr(s.Cond)
		r.stmts(s.Body)
	case *syntax.IfStmt:
		r.expr(s.Cond)
		r.stmts(s.True)
		r.stmts(s.False)
	case *syntax.ExprStmt:
		r.expr(s.X)
	case *syntax.ReturnStmt:
		if s.Result != nil {
			r.expr(s.Result)
		}
	}
}

func (r *resolver) stmts(list []syntax.Stmt) {
	for _, s := range list {
		r.stmt(s)
	}
}

// assigned resolves the left side of an assignment: x += 1 uses x, too.
func (r *resolver) assigned(s *syntax.AssignStmt) {
	if id, ok := s.LHS.(*syntax.Ident); ok && s.Op != syntax.EQ {
		r.use(id)
		return
	}
	for _, x := range Targets(s) {
		r.places(x)
	}
}

// places resolves the expressions in a target besides names: x of x[0] and x.a.
func (r *resolver) places(x syntax.Expr) {
	switch x := x.(type) {
	case *syntax.Ident:
	case *syntax.ParenExpr:
		r.places(x.X)
	case *syntax.TupleExpr:
		for _, e := range x.List {
			r.places(e)
		}
	case *syntax.ListExpr:
		for _, e := range x.List {
			r.places(e)
		}
	default:
		r.expr(x)
	}
}

// expr resolves the names that an expression uses.
func (r *resolver) expr(x syntax.Expr) {
	r.file.Tree.WalkNode(x, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Ident:
			r.use(n)
		case *syntax.DotExpr:
			r.expr(n.X)
			return false
		case *syntax.CallExpr:
			r.expr(n.Fn)
			for _, a := range n.Args {
				r.arg(a)
			}
			return false
		case *syntax.LambdaExpr:
			r.function(n, n.Params, nil, n.Body)
			return false
		case *syntax.Comprehension:
			r.comprehension(n)
			return false
		}
		return true
	})
}

// arg resolves an argument: the name of a keyword is no use.
func (r *resolver) arg(a syntax.Expr) {
	if b, ok := a.(*syntax.BinaryExpr); ok && b.Op == syntax.EQ {
		r.expr(b.Y)
		return
	}
	r.expr(a)
}

func (r *resolver) use(id *syntax.Ident) {
	if source.IsHidden(id.Name) {
		return // the ... of an index
	}
	sym := r.scope.lookup(id.Name)
	if sym == nil {
		sym = r.file.outside(id.Name)
	}
	sym.Uses = append(sym.Uses, id)
	r.file.symbolOf[id] = sym
}

// function opens the scope of a function. Its body is resolved when all names of
// the scopes around it are bound.
func (r *resolver) function(node syntax.Node, params []syntax.Expr, body []syntax.Stmt, result syntax.Expr) {
	for _, p := range params {
		if b, ok := p.(*syntax.BinaryExpr); ok {
			r.expr(b.Y)
		}
	}
	inner := newScope(r.scope, node)
	r.file.scopes = append(r.file.scopes, inner)
	*r.later = append(*r.later, func() {
		in := &resolver{file: r.file, scope: inner, later: r.later}
		for _, p := range params {
			if id := ParamIdent(p); id != nil {
				inner.bind(id, Parameter, node)
				r.file.symbolOf[id] = inner.Symbols[id.Name]
			}
		}
		in.bindBlock(body)
		in.stmts(body)
		if result != nil {
			in.expr(result)
		}
	})
}

// ParamIdent returns the name of a parameter as it is written: x, x=1, *x; nil for
// a bare star.
func ParamIdent(p syntax.Expr) *syntax.Ident {
	switch p := p.(type) {
	case *syntax.Ident:
		return p
	case *syntax.BinaryExpr:
		id, _ := p.X.(*syntax.Ident)
		return id
	case *syntax.UnaryExpr:
		id, _ := p.X.(*syntax.Ident)
		return id
	}
	return nil
}

// comprehension resolves a comprehension, whose first iterable belongs to the scope
// around it.
func (r *resolver) comprehension(n *syntax.Comprehension) {
	outer := r.scope
	r.scope = newScope(outer, n)
	r.file.scopes = append(r.file.scopes, r.scope)
	for i, clause := range n.Clauses {
		switch clause := clause.(type) {
		case *syntax.ForClause:
			if i == 0 {
				inner := r.scope
				r.scope = outer
				r.expr(clause.X)
				r.scope = inner
			} else {
				r.expr(clause.X)
			}
			r.target(clause.Vars, clause)
		case *syntax.IfClause:
			r.expr(clause.Cond)
		}
	}
	if e, ok := n.Body.(*syntax.DictEntry); ok {
		r.expr(e.Key)
		r.expr(e.Value)
	} else {
		r.expr(n.Body)
	}
	r.scope = outer
}
