package check

import (
	"go.starlark.net/syntax"

	"tpsh/lang/source"
)

// inPlace are the collectives that in PyTorch write into their first argument.
var inPlace = map[string]bool{"all_reduce": true, "broadcast": true, "reduce": true}

// dropped reports a statement that calls such a collective for a variable or an attribute and
// keeps nothing, where the same is read again further down: it was meant to hold the
// result then.
func (c *checker) dropped(stmt *syntax.ExprStmt) {
	call, ok := stmt.X.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 || c.guarded[call] {
		return
	}
	t, path := c.TypeOf(call.Fn), dotted(call.Args[0])
	if t == nil || t.Name != "function" || !inPlace[t.Path] || path == "" || !c.readBehind(stmt, path) {
		return
	}
	c.report(syntax.Start(call), "dropped", "%s returns the result and leaves %s as it is", t.Path, path)
}

// dotted returns the text of a name and attributes behind it, or "" for what is neither.
func dotted(x syntax.Expr) string {
	switch x := x.(type) {
	case *syntax.Ident:
		return x.Name
	case *syntax.DotExpr:
		if of := dotted(x.X); of != "" {
			return of + "." + x.Name.Name
		}
	}
	return ""
}

// readBehind reports whether an expression is read behind a statement, and the first statement
// that has it there does not give it a value. An attribute is read by whoever has the
// value that it is of.
func (c *checker) readBehind(stmt *syntax.ExprStmt, path string) bool {
	if _, name := stmt.X.(*syntax.CallExpr).Args[0].(*syntax.Ident); !name {
		return true
	}
	_, end := stmt.Span()
	found, given := false, false
	source.Walk(c.Tree, func(n syntax.Node) bool {
		if n == nil || found || given {
			return false
		}
		switch n := n.(type) {
		case *syntax.AssignStmt:
			if start := syntax.Start(n); start.Line > end.Line && n.Op == syntax.EQ && dotted(n.LHS) == path {
				given = !c.mentions(n.RHS, path)
			}
		case *syntax.Ident:
			found = n.Name == path && n.NamePos.Line > end.Line && c.sameSymbol(n, stmt)
		}
		return !found && !given
	})
	return found && !given
}

// mentions reports whether an expression holds a name.
func (c *checker) mentions(x syntax.Expr, name string) bool {
	found := false
	c.Tree.WalkNode(x, func(n syntax.Node) bool {
		id, ok := n.(*syntax.Ident)
		found = found || ok && id.Name == name
		return !found
	})
	return found
}

// sameSymbol reports whether a name stands for what the argument of the statement's call does.
func (c *checker) sameSymbol(id *syntax.Ident, stmt *syntax.ExprStmt) bool {
	return c.Symbol(id) != nil && c.Symbol(id) == c.Symbol(stmt.X.(*syntax.CallExpr).Args[0].(*syntax.Ident))
}
