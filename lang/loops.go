package lang

import (
	"go.starlark.net/syntax"

	"tpsh/lang/halt"
)

// placeLoops puts before each loop of a list that has a constant for its condition, such as while True, a statement
// that does nothing and has the loop's position. The compiler gives such a condition none: a program that is ended
// there would be told to be at what comes before the loop, or where its function begins.
func placeLoops(list *[]syntax.Stmt) {
	var out []syntax.Stmt
	for _, s := range *list {
		for _, block := range halt.Blocks(s) {
			placeLoops(block)
		}
		if w, ok := s.(*syntax.WhileStmt); ok && isConstant(w.Cond) {
			out = append(out, &syntax.ExprStmt{X: &syntax.UnaryExpr{Op: syntax.NOT, OpPos: w.While, X: number(0, w.While)}})
		}
		out = append(out, s)
	}
	*list = out
}

// isConstant reports whether the value of x hangs on nothing.
func isConstant(x syntax.Expr) bool {
	switch x := x.(type) {
	case *syntax.ParenExpr:
		return isConstant(x.X)
	case *syntax.UnaryExpr:
		return isConstant(x.X)
	case *syntax.Literal:
		return true
	case *syntax.Ident:
		return x.Name == "True" || x.Name == "False" || x.Name == "None"
	}
	return false
}
