package lang

import (
	"slices"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"tpsh/lang/source"
)

// Where a program runs on shapes alone, values may be unknown, or differ among the
// ranks that it is run for. Starlark decides comparisons of values of different
// types, and indices, without asking the values. So if an Env has functions of these
// names, comparisons, indices and slices are calls of them: compare("<", x, y), "in" among
// its operators, index(x, y), and slice(x, lo, hi, step) with None for a bound that is not
// there; the bounds of slices that are assigned to, the keys of dicts, and arguments of methods of
// Starlark's own types, are given to bound, as an index in x[index] = y is, and x with it;
// and [x for y in z if a and b] is kept([(x, a, b) for y in z]), where x and b cannot fail.
// Of methods that only look something up, x.get is method(x.get), which is given the arguments as they are.
const (
	CompareFunction = "<compare>"
	IndexFunction   = "<index>"
	SliceFunction   = "<slice>"
	BoundFunction   = "<bound>"
	KeptFunction    = "<kept>"
	MethodFunction  = "<method>"
)

// A shaper rewrites a file for these functions, as far as they are there.
type shaper struct{ compare, index, slice, bound, kept, method, prints bool }

// newShaper returns the shaper for those of the functions that are among names.
func newShaper(names starlark.StringDict) shaper {
	return shaper{
		compare: names.Has(CompareFunction),
		index:   names.Has(IndexFunction),
		slice:   names.Has(SliceFunction),
		bound:   names.Has(BoundFunction),
		kept:    names.Has(KeptFunction),
		method:  names.Has(MethodFunction),
		prints:  names.Has(PrintsFunction),
	}
}

// comparing are the operators that become calls.
var comparing = map[syntax.Token]bool{
	syntax.EQL: true, syntax.NEQ: true, syntax.LT: true, syntax.LE: true, syntax.GT: true, syntax.GE: true,
	syntax.IN: true, syntax.NOT_IN: true,
}

// file rewrites f in place.
func (s *shaper) file(f *syntax.File) { s.stmts(f.Stmts) }

func (s *shaper) stmts(list []syntax.Stmt) {
	for _, stmt := range list {
		s.stmt(stmt)
	}
}

func (s *shaper) stmt(stmt syntax.Stmt) {
	switch n := stmt.(type) {
	case *syntax.AssignStmt:
		s.target(n.LHS)
		s.expr(&n.RHS)
	case *syntax.DefStmt:
		s.exprs(n.Params)
		s.stmts(n.Body)
	case *syntax.ExprStmt:
		if s.prints {
			printsInside(n)
		}
		s.expr(&n.X)
	case *syntax.ForStmt:
		s.target(n.Vars)
		s.expr(&n.X)
		s.stmts(n.Body)
	case *syntax.WhileStmt:
		s.expr(&n.Cond)
		s.stmts(n.Body)
	case *syntax.IfStmt:
		if s.prints {
			prints(n)
		}
		s.expr(&n.Cond)
		s.stmts(n.True)
		s.stmts(n.False)
	case *syntax.ReturnStmt:
		if n.Result != nil {
			s.expr(&n.Result)
		}
	}
}

// target rewrites the expressions in an assignment's target, and leaves the target.
func (s *shaper) target(e syntax.Expr) {
	switch n := e.(type) {
	case *syntax.IndexExpr:
		s.expr(&n.X)
		s.expr(&n.Y)
		if x, ok := n.X.(*syntax.Ident); ok && s.bound {
			n.Y = bound(n.Y, named(x.Name, x.NamePos))
		}
	case *syntax.DotExpr:
		s.expr(&n.X)
	case *syntax.SliceExpr:
		s.sliceTarget(n)
	case *syntax.ParenExpr:
		s.target(n.X)
	case *syntax.TupleExpr:
		for _, x := range n.List {
			s.target(x)
		}
	case *syntax.ListExpr:
		for _, x := range n.List {
			s.target(x)
		}
	}
}

func (s *shaper) exprs(list []syntax.Expr) {
	for i := range list {
		s.expr(&list[i])
	}
}

// expr rewrites *p, and its parts.
func (s *shaper) expr(p *syntax.Expr) {
	switch n := (*p).(type) {
	case *syntax.BinaryExpr:
		if n.Op != syntax.EQ { // else the name of an argument or a parameter
			s.expr(&n.X)
		}
		s.expr(&n.Y)
		if s.compare && comparing[n.Op] {
			*p = call(CompareFunction, n.OpPos, quoted(n.Op.String(), n.OpPos), n.X, n.Y)
		}
	case *syntax.IndexExpr:
		s.expr(&n.X)
		s.expr(&n.Y)
		if s.index {
			*p = call(IndexFunction, n.Lbrack, n.X, n.Y)
		}
	case *syntax.CallExpr:
		s.expr(&n.Fn)
		s.exprs(n.Args)
		name, args := method(n)
		if dot, ok := n.Fn.(*syntax.DotExpr); ok && s.method && finding[name] {
			n.Fn = call(MethodFunction, dot.Dot, dot)
		} else if s.bound && looking[name] {
			s.known(args)
		}
	case *syntax.Comprehension:
		keeps := s.kept && liftFilter(n)
		s.comprehension(n)
		if keeps {
			*p = call(KeptFunction, n.Lbrack, n)
		}
	case *syntax.CondExpr:
		s.expr(&n.Cond)
		s.expr(&n.True)
		s.expr(&n.False)
	case *syntax.DictEntry:
		s.expr(&n.Key)
		s.expr(&n.Value)
		if s.bound {
			n.Key = bound(n.Key)
		}
	case *syntax.DictExpr:
		s.exprs(n.List)
	case *syntax.DotExpr:
		s.expr(&n.X)
	case *syntax.LambdaExpr:
		s.exprs(n.Params)
		s.expr(&n.Body)
	case *syntax.ListExpr:
		s.exprs(n.List)
	case *syntax.ParenExpr:
		s.expr(&n.X)
	case *syntax.SliceExpr:
		*p = s.sliced(n)
	case *syntax.TupleExpr:
		s.exprs(n.List)
	case *syntax.UnaryExpr:
		if n.X != nil {
			s.expr(&n.X)
		}
	}
}

// sliced returns n, rewritten.
func (s *shaper) sliced(n *syntax.SliceExpr) syntax.Expr {
	if !s.slice {
		s.sliceTarget(n)
		return n
	}
	pos := n.Lbrack
	args := []syntax.Expr{n.X, n.Lo, n.Hi, n.Step}
	for i, e := range args {
		if e == nil {
			args[i] = &syntax.Ident{NamePos: n.Lbrack, Name: "None"}
		} else {
			s.expr(&args[i])
			pos = evaluatedAt(args[i], pos)
		}
	}
	return call(SliceFunction, pos, args...)
}

// evaluatedAt returns the position at which the interpreter is once it has evaluated e,
// where it was at from before: a slice has none of its own.
func evaluatedAt(e syntax.Expr, from syntax.Position) syntax.Position {
	switch n := e.(type) {
	case *syntax.Ident:
		return n.NamePos
	case *syntax.ParenExpr:
		return evaluatedAt(n.X, from)
	case *syntax.UnaryExpr:
		return n.OpPos
	case *syntax.BinaryExpr:
		if n.Op == syntax.AND || n.Op == syntax.OR {
			return evaluatedAt(n.Y, from)
		}
		return n.OpPos
	case *syntax.DotExpr:
		return n.Dot
	case *syntax.IndexExpr:
		return n.Lbrack
	case *syntax.CallExpr:
		return n.Lparen
	}
	return from
}

// sliceTarget rewrites the parts of a slice that is assigned to.
func (s *shaper) sliceTarget(n *syntax.SliceExpr) {
	s.expr(&n.X)
	for _, e := range []*syntax.Expr{&n.Lo, &n.Hi, &n.Step} {
		if *e != nil {
			s.expr(e)
			if s.bound {
				*e = bound(*e)
			}
		}
	}
}

// looking are the methods of Starlark's own types that look at their arguments.
var looking = map[string]bool{
	"count": true, "difference": true, "discard": true, "endswith": true, "find": true, "get": true, "index": true, "insert": true,
	"intersection": true, "issubset": true, "issuperset": true, "join": true, "lstrip": true, "partition": true, "pop": true,
	"remove": true, "removeprefix": true, "removesuffix": true, "replace": true, "rfind": true, "rindex": true, "rpartition": true,
	"rsplit": true, "rstrip": true, "setdefault": true, "split": true, "splitlines": true, "startswith": true, "strip": true,
	"symmetric_difference": true, "union": true, "update": true,
}

// finding are those that look something up, and do nothing else.
var finding = map[string]bool{"count": true, "endswith": true, "find": true, "get": true, "index": true, "rfind": true, "rindex": true, "startswith": true}

// method returns the name of the method that c calls, by itself or by a function that asks for room
// first, and its arguments; "" if it calls none.
func method(c *syntax.CallExpr) (name string, args []syntax.Expr) {
	switch fn := c.Fn.(type) {
	case *syntax.DotExpr:
		return fn.Name.Name, c.Args
	case *syntax.Ident:
		switch fn.Name {
		case source.Insert, source.SetDefault, source.ReplaceMethod:
			return fn.Name[1:], c.Args[1:]
		}
	}
	return "", nil
}

// known has BoundFunction state the arguments of a call, as far as they are
// given one by one.
func (s *shaper) known(args []syntax.Expr) {
	for i, a := range args {
		switch n := a.(type) {
		case *syntax.UnaryExpr:
			if n.Op != syntax.STAR && n.Op != syntax.STARSTAR {
				args[i] = bound(a)
			}
		case *syntax.BinaryExpr:
			if n.Op == syntax.EQ {
				n.Y = bound(n.Y)
			} else {
				args[i] = bound(a)
			}
		default:
			args[i] = bound(a)
		}
	}
}

// bound returns a call of BoundFunction, or e if it is a literal.
func bound(e syntax.Expr, of ...syntax.Expr) syntax.Expr {
	if _, ok := e.(*syntax.Literal); ok {
		return e
	}
	start, _ := e.Span()
	return call(BoundFunction, start, append([]syntax.Expr{e}, of...)...)
}

func (s *shaper) comprehension(n *syntax.Comprehension) {
	for _, clause := range n.Clauses {
		switch c := clause.(type) {
		case *syntax.ForClause:
			s.target(c.Vars)
			s.expr(&c.X)
		case *syntax.IfClause:
			s.expr(&c.Cond)
		}
	}
	s.expr(&n.Body)
}

// liftFilter makes [(x, a) for y in z] of n if that is [x for y in z if a] or the like, where x is as
// well known before a is asked, and reports whether it has.
func liftFilter(n *syntax.Comprehension) bool {
	last, ok := n.Clauses[len(n.Clauses)-1].(*syntax.IfClause)
	if !ok || n.Curly || !isName(n.Body) {
		return false
	}
	n.Clauses = n.Clauses[:len(n.Clauses)-1]
	start, end := n.Body.Span()
	n.Body = &syntax.TupleExpr{Lparen: start, List: append([]syntax.Expr{n.Body}, conjuncts(last.Cond)...), Rparen: end}
	return true
}

// conjuncts returns a and b of a condition "a and b" where b cannot fail, and so on; else the
// condition alone.
func conjuncts(x syntax.Expr) []syntax.Expr {
	switch n := x.(type) {
	case *syntax.ParenExpr:
		return conjuncts(n.X)
	case *syntax.BinaryExpr:
		if n.Op == syntax.AND && isSum(n.Y) {
			return append(conjuncts(n.X), n.Y)
		}
	}
	return []syntax.Expr{x}
}

// isName reports whether x is a name, a literal, or a tuple of such.
func isName(x syntax.Expr) bool {
	switch n := x.(type) {
	case *syntax.Ident, *syntax.Literal:
		return true
	case *syntax.ParenExpr:
		return isName(n.X)
	case *syntax.TupleExpr:
		return !slices.ContainsFunc(n.List, func(x syntax.Expr) bool { return !isName(x) })
	}
	return false
}

// sums are the operators of isSum.
var sums = map[syntax.Token]bool{syntax.PLUS: true, syntax.MINUS: true, syntax.STAR: true, syntax.EQL: true, syntax.NEQ: true,
	syntax.LT: true, syntax.LE: true, syntax.GT: true, syntax.GE: true}

// isSum reports whether x compares or adds names and literals, which does nothing else.
func isSum(x syntax.Expr) bool {
	switch n := x.(type) {
	case *syntax.Ident, *syntax.Literal:
		return true
	case *syntax.ParenExpr:
		return isSum(n.X)
	case *syntax.BinaryExpr:
		return sums[n.Op] && isSum(n.X) && isSum(n.Y)
	}
	return false
}
