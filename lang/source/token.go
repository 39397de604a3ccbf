package source

import "go.starlark.net/syntax"

// Token is a kind of token: one of Starlark's or of those below.
type Token = syntax.Token

// Tokens that Starlark has not. AT and ISNOT are the Op of binary expressions,
// AT_EQ and STARSTAR_EQ of assignments.
const (
	AT          Token = 100 + iota // @
	AT_EQ                          // @=
	STARSTAR_EQ                    // **=
	ISNOT                          // is not
	ELLIPSIS                       // ...
	ARROW                          // ->
	WALRUS                         // :=
	BANG                           // !
	FSTRING                        // the opening of an f-string
)

var ownTokens = map[Token]string{
	AT: "@", AT_EQ: "@=", STARSTAR_EQ: "**=", ISNOT: "is not", ELLIPSIS: "...", ARROW: "->", WALRUS: ":=", BANG: "!", FSTRING: "f-string",
}

// Text returns a token as a source has it.
func Text(t Token) string {
	if s, ok := ownTokens[t]; ok {
		return s
	}
	return t.String()
}

// operators holds the tokens of punctuation, by their text.
var operators = map[string]Token{
	",": syntax.COMMA, ":": syntax.COLON, ";": syntax.SEMI, "~": syntax.TILDE, ".": syntax.DOT,
	"(": syntax.LPAREN, ")": syntax.RPAREN, "[": syntax.LBRACK, "]": syntax.RBRACK, "{": syntax.LBRACE, "}": syntax.RBRACE,
	"+": syntax.PLUS, "-": syntax.MINUS, "*": syntax.STAR, "/": syntax.SLASH, "//": syntax.SLASHSLASH, "%": syntax.PERCENT,
	"&": syntax.AMP, "|": syntax.PIPE, "^": syntax.CIRCUMFLEX, "<<": syntax.LTLT, ">>": syntax.GTGT, "**": syntax.STARSTAR,
	"=": syntax.EQ, "==": syntax.EQL, "!=": syntax.NEQ, "<": syntax.LT, "<=": syntax.LE, ">": syntax.GT, ">=": syntax.GE,
	"+=": syntax.PLUS_EQ, "-=": syntax.MINUS_EQ, "*=": syntax.STAR_EQ, "/=": syntax.SLASH_EQ, "//=": syntax.SLASHSLASH_EQ,
	"%=": syntax.PERCENT_EQ, "&=": syntax.AMP_EQ, "|=": syntax.PIPE_EQ, "^=": syntax.CIRCUMFLEX_EQ, "<<=": syntax.LTLT_EQ, ">>=": syntax.GTGT_EQ,
	"@": AT, "@=": AT_EQ, "**=": STARSTAR_EQ, "...": ELLIPSIS, "->": ARROW, ":=": WALRUS, "!": BANG,
}

// longestOperator is how long the text of an operator may be.
const longestOperator = 3

// words holds the tokens of keywords and of words that are reserved.
var words = map[string]Token{
	"and": syntax.AND, "break": syntax.BREAK, "continue": syntax.CONTINUE, "def": syntax.DEF, "elif": syntax.ELIF, "else": syntax.ELSE,
	"for": syntax.FOR, "if": syntax.IF, "in": syntax.IN, "lambda": syntax.LAMBDA, "load": syntax.LOAD, "not": syntax.NOT, "or": syntax.OR,
	"pass": syntax.PASS, "return": syntax.RETURN, "while": syntax.WHILE, "is": syntax.IS,
	"as": syntax.AS, "async": syntax.ASYNC, "await": syntax.AWAIT, "class": syntax.CLASS, "del": syntax.DEL, "except": syntax.EXCEPT,
	"finally": syntax.FINALLY, "from": syntax.FROM, "global": syntax.GLOBAL, "import": syntax.IMPORT, "nonlocal": syntax.NONLOCAL,
	"raise": syntax.RAISE, "try": syntax.TRY, "with": syntax.WITH, "yield": syntax.YIELD,
}

// A token is one token of a source.
type token struct {
	kind Token
	pos  syntax.Position
	raw  string
	tied bool // nothing stands between it and the token before
}
