package halt

import (
	"slices"

	"go.starlark.net/syntax"
)

// MarkName is the name in marked programs of a value that no source can name: before each
// statement they ask for its truth, and if they are to say where they begin, functions
// call it.
const MarkName = "<stop>"

// Mark has every statement of a file begin with one that asks for the truth of MarkName
// at its position: the cheapest instruction in which the interpreter calls a method of the
// value. It is before a loop, and behind each of its rounds. The expression of a lambda
// asks for it, too: lambda: x becomes lambda: x if MarkName else MarkName. If entries is set,
// functions begin with a call of MarkName.
func Mark(f *syntax.File, entries bool) {
	markBlock(&f.Stmts)
	syntax.Walk(f, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.DefStmt:
			if entries {
				enter(n)
			}
		case *syntax.LambdaExpr:
			markLambda(n, entries)
		}
		return true
	})
}

// markLambda marks the expression of a lambda.
func markLambda(l *syntax.LambdaExpr, entries bool) {
	pos := syntax.Start(l.Body)
	cond := nameAt(pos)
	if entries { // which is None
		cond = &syntax.BinaryExpr{X: called(pos), Op: syntax.OR, OpPos: pos, Y: cond}
	}
	l.Body = &syntax.CondExpr{If: pos, Cond: cond, True: l.Body, ElsePos: pos, False: nameAt(pos)}
}

func markBlock(list *[]syntax.Stmt) {
	var out []syntax.Stmt
	for i, s := range *list {
		for _, block := range Blocks(s) {
			markBlock(block)
		}
		if i > 0 || !isText(s) {
			out = append(out, mark(syntax.Start(s)))
		}
		if body := loopBody(s); body != nil {
			markRounds(body, syntax.Start(s))
			*body = append(*body, mark(syntax.Start(s)))
		}
		out = append(out, s)
	}
	*list = out
}

// markRounds marks, at the head of a loop, that rounds end: before each continue in its body that is not of a loop within.
func markRounds(body *[]syntax.Stmt, head syntax.Position) {
	var out []syntax.Stmt
	for _, s := range *body {
		if b, ok := s.(*syntax.BranchStmt); ok && b.Token == syntax.CONTINUE {
			out = append(out, mark(head))
		}
		if c, ok := s.(*syntax.IfStmt); ok {
			for _, block := range Blocks(c) {
				markRounds(block, head)
			}
		}
		out = append(out, s)
	}
	*body = out
}

// mark returns the statement that asks for the truth of MarkName at pos.
func mark(pos syntax.Position) syntax.Stmt {
	return &syntax.ExprStmt{X: &syntax.UnaryExpr{Op: syntax.NOT, OpPos: pos, X: nameAt(pos)}}
}

// nameAt returns MarkName at pos.
func nameAt(pos syntax.Position) syntax.Expr {
	return &syntax.Ident{Name: MarkName, NamePos: pos}
}

// called returns the call of MarkName at pos.
func called(pos syntax.Position) syntax.Expr {
	return &syntax.CallExpr{Fn: nameAt(pos), Lparen: pos, Rparen: pos}
}

// enter has a function begin with a call of MarkName, behind its documentation.
func enter(d *syntax.DefStmt) {
	at := 0
	if len(d.Body) > 1 && isText(d.Body[0]) {
		at = 1
	}
	d.Body = slices.Insert(d.Body, at, syntax.Stmt(&syntax.ExprStmt{X: called(d.Def)}))
}

// loopBody returns the statements of a loop; nil if s is none.
func loopBody(s syntax.Stmt) *[]syntax.Stmt {
	switch s := s.(type) {
	case *syntax.ForStmt:
		return &s.Body
	case *syntax.WhileStmt:
		return &s.Body
	}
	return nil
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
