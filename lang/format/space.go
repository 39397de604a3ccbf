package format

import (
	"strings"

	"go.starlark.net/syntax"

	"tpsh/lang/source"
)

type kinds = map[source.Token]bool

var (
	opens  = kinds{syntax.LPAREN: true, syntax.LBRACK: true, syntax.LBRACE: true}
	closes = kinds{syntax.RPAREN: true, syntax.RBRACK: true, syntax.RBRACE: true}

	// signs are the operators that may stand before an operand alone.
	signs = kinds{syntax.PLUS: true, syntax.MINUS: true, syntax.TILDE: true, syntax.STAR: true, syntax.STARSTAR: true}

	// endsOperand are the lexemes behind which an operator has two operands, and
	// a bracket is a call or an index.
	endsOperand = kinds{
		syntax.IDENT: true, syntax.INT: true, syntax.FLOAT: true, syntax.STRING: true, syntax.BYTES: true, source.FSTRING: true,
		source.ELLIPSIS: true, syntax.RPAREN: true, syntax.RBRACK: true, syntax.RBRACE: true,
	}
)

// spaced reports whether a space stands between the last lexeme and the next,
// on one line.
func (p *printer) spaced(next source.Token, tight bool) bool {
	number := p.last == syntax.INT || p.last == syntax.FLOAT
	switch {
	case p.unary, opens[p.last], closes[next], p.last == syntax.DOT, next == syntax.COMMA, next == syntax.SEMI:
		return false
	case next == syntax.DOT:
		return number // 1.x would be another number
	case p.last == syntax.COMMA, p.last == syntax.SEMI:
		return true
	case p.tight, tight, next == syntax.COLON:
		return false
	case next == syntax.LPAREN, next == syntax.LBRACK:
		return !endsOperand[p.last] && p.last != syntax.LOAD
	}
	return true
}

// quoted returns the text of a lexeme, a string with double quotes where
// nothing in it has to be escaped for that.
func quoted(kind source.Token, raw string) string {
	if kind != syntax.STRING && kind != syntax.BYTES && kind != source.FSTRING {
		return raw
	}
	at := strings.IndexAny(raw, `'"`)
	if raw[at] == '"' || strings.ContainsAny(raw, `"\`) {
		return raw
	}
	n := 1
	if strings.HasPrefix(raw[at:], "'''") {
		n = 3
	}
	quotes := strings.Repeat(`"`, n)
	return raw[:at] + quotes + raw[at+n:len(raw)-n] + quotes
}
