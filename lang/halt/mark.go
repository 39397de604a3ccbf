package halt

import (
	"slices"

	"go.starlark.net/syntax"
)

// TrapName is what programs call the function that stops them at a breakpoint, which
// they had when they were compiled. No source can.
const TrapName = "<stop>"

// markColumn is the column of the instructions that begin statements. No other has it.
const markColumn = 0

// Mark gives every statement of a file an instruction at its first line and markColumn,
// by which an Engine knows that a thread arrives there: the interpreter knows of its
// instructions where they are only if they may fail. It is before a loop, and before
// each of its rounds. Statements that begin on one of the lines of traps begin with a call of
// TrapName with the line; and functions, if entries is set, with a call of it with 0.
func Mark(f *syntax.File, traps map[int32]bool, entries bool) {
	markBlock(&f.Stmts, traps)
	if len(f.Stmts) > 0 {
		begin(&f.Stmts, syntax.Start(f.Stmts[0]), false)
	}
	syntax.Walk(f, func(n syntax.Node) bool {
		if d, ok := n.(*syntax.DefStmt); ok {
			begin(&d.Body, d.Def, entries)
		}
		return true
	})
}

// begin has a function begin with a call of TrapName, or with what does nothing, behind
// what it says of itself. An Engine is shown the first instruction of a function twice,
// which so is that of no statement.
func begin(body *[]syntax.Stmt, pos syntax.Position, entry bool) {
	at := 0
	if len(*body) > 1 && isText((*body)[0]) {
		at = 1
	}
	name := &syntax.Ident{Name: TrapName, NamePos: pos}
	var s syntax.Stmt = &syntax.ExprStmt{X: name}
	if entry {
		s = call(name, pos, 0)
	}
	*body = slices.Insert(*body, at, s)
}

func markBlock(list *[]syntax.Stmt, traps map[int32]bool) {
	var out []syntax.Stmt
	for i, s := range *list {
		for _, block := range blocks(s) {
			markBlock(block, traps)
		}
		pos := syntax.Start(s)
		if i > 0 || !isText(s) {
			out = append(out, mark(pos, traps[pos.Line]))
		}
		if body := loopBody(s); body != nil {
			*body = slices.Insert(*body, 0, mark(pos, traps[pos.Line]))
		}
		out = append(out, s)
	}
	*list = out
}

// mark returns a statement that begins at the line of pos and markColumn: a call if it
// is to be a trap, else one that does nothing. Its last position is pos itself, for what
// follows and has none.
func mark(pos syntax.Position, trap bool) syntax.Stmt {
	at := pos
	at.Col = markColumn
	name := &syntax.Ident{Name: TrapName, NamePos: at}
	if trap {
		return call(name, pos, pos.Line)
	}
	return &syntax.ExprStmt{X: &syntax.UnaryExpr{Op: syntax.NOT, OpPos: pos, X: name}}
}

// call returns a call of TrapName, which stands at pos.
func call(name *syntax.Ident, pos syntax.Position, line int32) syntax.Stmt {
	return &syntax.ExprStmt{X: &syntax.CallExpr{
		Fn: name, Lparen: pos, Rparen: pos,
		Args: []syntax.Expr{&syntax.Literal{Token: syntax.INT, TokenPos: pos, Raw: "0", Value: int64(line)}},
	}}
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
