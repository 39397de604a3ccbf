package lang

import (
	"go.starlark.net/syntax"

	"tpsh/lang/source"
)

// A branch that does nothing but print need not be told apart from none:
//
//	if rank() == i:
//	    print("rank", rank())
//
// becomes, where an Env has a function of that name,
//
//	if prints(rank() == i, lambda: (print, rank), lambda: ("rank", rank()), lambda: ()):
//	    print("rank", rank())
//
// The first lambda gives what the branch names. If these are numbers, texts and functions that do nothing
// but show them, the second, which gives what would be printed, can be evaluated whether or not the
// condition holds. Of a condition "a and b" both are such a call, and the last lambda of that of a gives b,
// which is evaluated where a holds.

// PrintsFunction says whether a branch is taken, of a condition, of the names in the branch and in what is given
// last, of what the branch prints, and of the conditions that follow by "and".
const PrintsFunction = "<prints>"

// prints rewrites the condition of n if its branch does nothing but print.
func prints(n *syntax.IfStmt) {
	if len(n.False) == 0 && printedBy(n.True) != nil {
		n.Cond = printing(n.Cond, nil, n.True)
	}
}

// printsInside is prints of a statement that is "print(...) if a else None" or "a and print(...)".
func printsInside(n *syntax.ExprStmt) {
	switch x := n.X.(type) {
	case *syntax.CondExpr:
		if none, ok := x.False.(*syntax.Ident); ok && none.Name == "None" {
			if branch := []syntax.Stmt{&syntax.ExprStmt{X: x.True}}; printedBy(branch) != nil {
				x.Cond = printing(x.Cond, nil, branch)
			}
		}
	case *syntax.BinaryExpr:
		if branch := []syntax.Stmt{&syntax.ExprStmt{X: x.Y}}; x.Op == syntax.AND && printedBy(branch) != nil {
			x.X = printing(x.X, nil, branch)
		}
	}
}

// printing returns x, behind which others follow by "and", as a condition of a branch that does nothing but print.
func printing(x syntax.Expr, rest []syntax.Expr, branch []syntax.Stmt) syntax.Expr {
	if n, ok := x.(*syntax.BinaryExpr); ok && n.Op == syntax.AND {
		n.X = printing(n.X, append([]syntax.Expr{n.Y}, rest...), branch)
		n.Y = printing(n.Y, rest, branch)
		return n
	}
	p := printedBy(branch)
	later := p.list(rest)
	if later == nil {
		return x
	}
	start, _ := x.Span()
	return call(PrintsFunction, start, x, p.lambda(p.names, start), p.lambda(p.values, start), p.lambda(later, start))
}

// printedBy returns what a branch prints, nil if it does anything else.
func printedBy(branch []syntax.Stmt) *printed {
	p := &printed{}
	for _, stmt := range branch {
		if !p.statement(stmt) {
			return nil
		}
	}
	return p
}

// A printed is what a branch prints, in nodes of its own.
type printed struct {
	names  []syntax.Expr // that it mentions, and what else is evaluated with it
	values []syntax.Expr
}

// lambda returns a function of the values in list.
func (p *printed) lambda(list []syntax.Expr, at syntax.Position) syntax.Expr {
	return &syntax.LambdaExpr{Lambda: at, Body: &syntax.TupleExpr{Lparen: at, List: list, Rparen: at}}
}

// statement reports whether a statement prints, and adds what it does.
func (p *printed) statement(stmt syntax.Stmt) bool {
	s, ok := stmt.(*syntax.ExprStmt)
	if !ok {
		return false
	}
	c, ok := s.X.(*syntax.CallExpr)
	if !ok {
		return false
	}
	name, ok := c.Fn.(*syntax.Ident)
	if !ok || name.Name != "print" {
		return false
	}
	p.names = append(p.names, named(name.Name, name.NamePos))
	for _, a := range c.Args {
		if b, ok := a.(*syntax.BinaryExpr); ok && b.Op == syntax.EQ {
			a = b.Y
		}
		v := p.value(a)
		if v == nil {
			return false
		}
		p.values = append(p.values, v)
	}
	return true
}

// value returns another node for x if evaluating it does nothing but make a text or a sum of what it
// names; else nil.
func (p *printed) value(x syntax.Expr) syntax.Expr {
	switch n := x.(type) {
	case *syntax.Ident:
		p.names = append(p.names, named(n.Name, n.NamePos))
		return named(n.Name, n.NamePos)
	case *syntax.Literal:
		return &syntax.Literal{Token: n.Token, TokenPos: n.TokenPos, Raw: n.Raw, Value: n.Value}
	case *syntax.ParenExpr:
		return p.value(n.X)
	case *syntax.BinaryExpr:
		if comparing[n.Op] || n.Op == syntax.PLUS || n.Op == syntax.MINUS || n.Op == syntax.STAR || n.Op == syntax.SLASH || n.Op == syntax.SLASHSLASH {
			if a, b := p.value(n.X), p.value(n.Y); a != nil && b != nil {
				return &syntax.BinaryExpr{X: a, OpPos: n.OpPos, Op: n.Op, Y: b}
			}
		}
	case *syntax.UnaryExpr:
		if n.Op == syntax.NOT || n.Op == syntax.MINUS {
			if a := p.value(n.X); a != nil {
				return &syntax.UnaryExpr{OpPos: n.OpPos, Op: n.Op, X: a}
			}
		}
	case *syntax.TupleExpr:
		if list := p.list(n.List); list != nil {
			return &syntax.TupleExpr{Lparen: n.Lparen, List: list, Rparen: n.Rparen}
		}
	case *syntax.CallExpr:
		name, ok := n.Fn.(*syntax.Ident)
		if !ok {
			return nil
		}
		switch name.Name {
		case source.Format, source.Texts, source.Modulo:
		case source.FormatMethod:
			if _, ok := n.Args[0].(*syntax.Literal); !ok { // it may be of a tensor
				return nil
			}
		default:
			if source.IsHidden(name.Name) {
				return nil
			}
			p.names = append(p.names, named(name.Name, name.NamePos))
		}
		if list := p.list(n.Args); list != nil {
			return &syntax.CallExpr{Fn: named(name.Name, name.NamePos), Lparen: n.Lparen, Args: list, Rparen: n.Rparen}
		}
	}
	return nil
}

// list returns other nodes for a list, nil unless there is one for each.
func (p *printed) list(list []syntax.Expr) []syntax.Expr {
	out := make([]syntax.Expr, len(list))
	for i, x := range list {
		if out[i] = p.value(x); out[i] == nil {
			return nil
		}
	}
	return out
}
