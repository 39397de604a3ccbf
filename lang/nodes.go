package lang

import (
	"strconv"

	"go.starlark.net/syntax"
)

// Nodes that are put into the syntax trees of programs. The position of one is where errors
// in it are reported.

// call returns a call of the function called name.
func call(name string, pos syntax.Position, args ...syntax.Expr) *syntax.CallExpr {
	return &syntax.CallExpr{Fn: named(name, pos), Lparen: pos, Args: args, Rparen: pos}
}

// named returns the variable called name.
func named(name string, pos syntax.Position) *syntax.Ident {
	return &syntax.Ident{NamePos: pos, Name: name}
}

// quoted returns a literal of a string.
func quoted(s string, pos syntax.Position) *syntax.Literal {
	return &syntax.Literal{Token: syntax.STRING, TokenPos: pos, Raw: strconv.Quote(s), Value: s}
}

// number returns a literal of an integer.
func number(n int32, pos syntax.Position) *syntax.Literal {
	return &syntax.Literal{Token: syntax.INT, TokenPos: pos, Raw: "0", Value: int64(n)}
}
