package halt

import "go.starlark.net/syntax"

// TrapName is what programs call the function that stops them at a breakpoint, which
// they had when they were compiled. No source can.
const TrapName = "<stop>"

// Mark gives every statement of a file an instruction that has its position, as most
// have: x = 1 has none by itself, and so becomes None; x = 1. Statements that begin on
// one of the lines of traps begin with a call of TrapName with the line.
func Mark(f *syntax.File, traps map[int32]bool) { markBlock(&f.Stmts, traps) }

func markBlock(list *[]syntax.Stmt, traps map[int32]bool) {
	var out []syntax.Stmt
	for i, s := range *list {
		switch s := s.(type) {
		case *syntax.DefStmt:
			markBlock(&s.Body, traps)
		case *syntax.ForStmt:
			markBlock(&s.Body, traps)
		case *syntax.WhileStmt:
			markBlock(&s.Body, traps)
		case *syntax.IfStmt:
			markBlock(&s.True, traps)
			markBlock(&s.False, traps)
		}
		pos := syntax.Start(s)
		if traps[pos.Line] {
			out = append(out, trap(pos))
		} else if !placed(s) && !(i == 0 && isText(s)) {
			out = append(out, &syntax.ExprStmt{X: &syntax.Ident{Name: "None", NamePos: pos}})
		}
		out = append(out, s)
	}
	*list = out
}

// trap returns the call of TrapName at a position.
func trap(pos syntax.Position) syntax.Stmt {
	return &syntax.ExprStmt{X: &syntax.CallExpr{
		Fn: &syntax.Ident{Name: TrapName, NamePos: pos}, Lparen: pos, Rparen: pos,
		Args: []syntax.Expr{&syntax.Literal{Token: syntax.INT, TokenPos: pos, Raw: "0", Value: int64(pos.Line)}},
	}}
}

// isText reports whether a statement is a docstring.
func isText(s syntax.Stmt) bool {
	x, ok := s.(*syntax.ExprStmt)
	if !ok {
		return false
	}
	l, ok := x.X.(*syntax.Literal)
	return ok && l.Token == syntax.STRING
}

// placed reports whether the first instructions of a statement have its position.
func placed(s syntax.Stmt) bool {
	switch s := s.(type) {
	case *syntax.AssignStmt:
		_, name := s.LHS.(*syntax.Ident)
		return s.Op != syntax.EQ || !name || valued(s.RHS)
	case *syntax.ExprStmt:
		return valued(s.X)
	case *syntax.ReturnStmt:
		return s.Result != nil && valued(s.Result)
	case *syntax.IfStmt:
		return valued(s.Cond)
	case *syntax.WhileStmt:
		return valued(s.Cond)
	case *syntax.BranchStmt, *syntax.DefStmt:
		return false
	}
	return true
}

// valued reports whether the instructions of an expression have positions.
func valued(x syntax.Expr) bool {
	switch x := x.(type) {
	case *syntax.Literal, *syntax.LambdaExpr:
		return false
	case *syntax.ParenExpr:
		return valued(x.X)
	case *syntax.TupleExpr:
		return anyValued(x.List)
	case *syntax.ListExpr:
		return anyValued(x.List)
	case *syntax.DictExpr:
		return len(x.List) > 0
	}
	return true
}

func anyValued(list []syntax.Expr) bool {
	for _, x := range list {
		if valued(x) {
			return true
		}
	}
	return false
}
