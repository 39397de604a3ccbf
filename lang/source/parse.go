package source

import (
	"fmt"

	"go.starlark.net/syntax"
)

// A File is the surface tree of a source, with the marks of notations that its nodes do
// not tell.
type File struct {
	*syntax.File
	Comments []syntax.Comment // in order

	// FStrings are the literals that are f-strings.
	FStrings map[*syntax.Literal]*FString
	// Joined are the sums that are written as texts side by side.
	Joined map[*syntax.BinaryExpr]bool
	// Generators are the comprehensions that are written in no brackets of their
	// own.
	Generators map[*syntax.Comprehension]bool

	// Lexemes are the tokens that have a text, in order, if Options.Lexemes is set.
	Lexemes []Lexeme
}

// A Lexeme is a token of a source: text[Start:End]. A whole f-string is one.
type Lexeme struct {
	Kind       Token
	Start, End int
}

// Options say how a source is read. The zero value is for files.
type Options struct {
	FirstLine int // the number of the first line; 0 counts as 1
	// Dialect is kept in the tree, for the resolver.
	Dialect *syntax.FileOptions
	// Lexemes says that the tokens are kept, for formatters.
	Lexemes bool
}

// Parse returns the surface tree of a source. Its error is an *Error.
func Parse(name, text string, opts Options) (f *File, err error) {
	line := int32(max(1, opts.FirstLine))
	p := &parser{
		keep:    opts.Lexemes,
		scanner: scanner{file: &name, src: text, line: line, col: 1, indents: []int{0}, lineStart: true},
		marks: &File{
			FStrings:   make(map[*syntax.Literal]*FString),
			Joined:     make(map[*syntax.BinaryExpr]bool),
			Generators: make(map[*syntax.Comprehension]bool),
		},
	}
	defer func() {
		switch e := recover().(type) {
		case nil:
		case *Error:
			f, err = nil, p.stillOpen(e)
		default:
			panic(e)
		}
	}()
	p.advance()
	f = p.marks
	f.File = &syntax.File{Path: name, Options: opts.Dialect, Stmts: p.fileStmts()}
	f.Comments = p.comments
	return f, nil
}

// stillOpen adds to a mistake the bracket of an earlier line inside which it is:
// the one that is missing may be there.
func (p *parser) stillOpen(e *Error) *Error {
	if n := len(p.open); n > 0 && !e.Incomplete {
		if b := p.open[n-1]; b.pos.Line < e.Pos.Line {
			e.Msg += fmt.Sprintf(" (the %c of line %d, column %d is still open)", b.char, b.pos.Line, b.pos.Col)
		}
	}
	return e
}

// A parser reads the grammar of a source from left to right, one token ahead.
type parser struct {
	scanner
	token
	before  token // the one before
	depth   int   // of blocks and expressions
	inField int   // how many fields of f-strings are open
	marks   *File
	keep    bool // keep the lexemes
}

// advance goes to the next token, and returns the position of the one before.
func (p *parser) advance() syntax.Position {
	p.before = p.token
	p.token = p.next()
	if p.keep && p.inField == 0 {
		p.marks.Lexemes = append(p.marks.Lexemes, Lexeme{p.kind, p.off - len(p.raw), p.off})
	}
	return p.before.pos
}

// op takes an operator.
func (p *parser) op() (Token, syntax.Position) {
	kind := p.kind
	return kind, p.advance()
}

// deeper counts a block or an expression inside another. Its result ends it.
func (p *parser) deeper() func() {
	if p.depth++; p.depth > maxNesting {
		fail(p.token.pos, "this is nested more than %d deep: use more statements", maxNesting)
	}
	return func() { p.depth-- }
}

// at reports whether the parser is at one of some tokens.
func (p *parser) at(kinds ...Token) bool {
	for _, k := range kinds {
		if p.kind == k {
			return true
		}
	}
	return false
}

// expect takes a token of the kind, behind the text it belongs to.
func (p *parser) expect(kind Token, behind string) syntax.Position {
	if p.kind != kind {
		p.misplaced("%s is missing behind %s", quoted(kind), behind)
	}
	return p.advance()
}

// fileStmts reads statements to the end of the source.
func (p *parser) fileStmts() []syntax.Stmt {
	var stmts []syntax.Stmt
	for p.kind != syntax.EOF {
		switch p.kind {
		case syntax.NEWLINE:
			p.advance()
		case syntax.INDENT:
			fail(p.token.pos, "this line is indented, and no line above begins a block (if, for, while, def, each with a : at its end)")
		default:
			stmts = p.stmt(stmts)
		}
	}
	return stmts
}

// stmt reads a compound statement, or a line of simple ones, and appends it.
func (p *parser) stmt(stmts []syntax.Stmt) []syntax.Stmt {
	p.refuseStmt()
	switch p.kind {
	case syntax.DEF:
		return append(stmts, p.def())
	case syntax.IF:
		return append(stmts, p.ifStmt())
	case syntax.FOR:
		return append(stmts, p.forStmt())
	case syntax.WHILE:
		return append(stmts, p.whileStmt())
	}
	return p.line(stmts)
}

// line reads simple statements, to the end of the line.
func (p *parser) line(stmts []syntax.Stmt) []syntax.Stmt {
	for {
		stmts = append(stmts, p.simple())
		if p.kind != syntax.SEMI {
			break
		}
		p.advance()
		if p.at(syntax.NEWLINE, syntax.EOF) {
			break
		}
	}
	if p.kind != syntax.EOF {
		if p.kind != syntax.NEWLINE {
			p.refuseAfter(stmts[len(stmts)-1])
		}
		p.advance()
	}
	return stmts
}

// simple reads a statement that is no block.
func (p *parser) simple() syntax.Stmt {
	p.refuseStmt()
	switch p.kind {
	case syntax.RETURN:
		s := &syntax.ReturnStmt{Return: p.advance()}
		if !p.at(syntax.EOF, syntax.NEWLINE, syntax.SEMI) {
			s.Result = p.exprs()
		}
		return s
	case syntax.BREAK, syntax.CONTINUE, syntax.PASS:
		kind, pos := p.op()
		return &syntax.BranchStmt{Token: kind, TokenPos: pos}
	case syntax.LOAD:
		return p.load()
	}
	x := p.exprs()
	if !assigns[p.kind] {
		return &syntax.ExprStmt{X: x}
	}
	p.checkTarget(x)
	s := &syntax.AssignStmt{LHS: x}
	s.Op, s.OpPos = p.op()
	s.RHS = p.exprs()
	if p.kind == syntax.EQ && s.Op == syntax.EQ {
		s.RHS = p.chain(s.RHS)
	}
	return s
}

// chain reads the rest of an assignment to several: = y = 0.
func (p *parser) chain(x syntax.Expr) syntax.Expr {
	defer p.deeper()()
	p.checkTarget(x)
	b := &syntax.BinaryExpr{X: x, Op: syntax.EQ, OpPos: p.advance()}
	b.Y = p.exprs()
	if p.kind == syntax.EQ {
		b.Y = p.chain(b.Y)
	}
	return b
}

// assigns are the tokens of assignments.
var assigns = map[Token]bool{
	syntax.EQ: true, syntax.PLUS_EQ: true, syntax.MINUS_EQ: true, syntax.STAR_EQ: true, syntax.SLASH_EQ: true, syntax.SLASHSLASH_EQ: true,
	syntax.PERCENT_EQ: true, syntax.AMP_EQ: true, syntax.PIPE_EQ: true, syntax.CIRCUMFLEX_EQ: true, syntax.LTLT_EQ: true, syntax.GTGT_EQ: true,
	AT_EQ: true, STARSTAR_EQ: true,
}

// suite reads the : and the block of a statement.
func (p *parser) suite(of string, head syntax.Position) []syntax.Stmt {
	defer p.deeper()()
	if p.kind != syntax.COLON {
		p.missingColon(of)
	}
	p.advance()
	if p.kind != syntax.NEWLINE {
		if p.at(syntax.IF, syntax.FOR, syntax.WHILE, syntax.DEF) {
			fail(p.token.pos, "%s begins a block: write it on a line of its own, indented below the %s", quoted(p.kind), of)
		}
		if p.kind == syntax.EOF {
			p.noBlock(of, head)
		}
		return p.line(nil)
	}
	p.advance()
	if p.kind != syntax.INDENT {
		p.noBlock(of, head)
	}
	p.advance()
	var stmts []syntax.Stmt
	for !p.at(syntax.OUTDENT, syntax.EOF) {
		if p.kind == syntax.INDENT {
			fail(p.token.pos, "this line is indented more than those above it, and none of them begins a block (if, for, while, def, each with a : at its end)")
		}
		stmts = p.stmt(stmts)
	}
	if p.kind == syntax.OUTDENT {
		p.advance()
	}
	return stmts
}

func (p *parser) ifStmt() syntax.Stmt {
	pos := p.advance()
	first := &syntax.IfStmt{If: pos, Cond: p.cond()}
	first.True = p.suite("if", pos)
	last := first
	for p.kind == syntax.ELIF {
		last.ElsePos = p.advance()
		next := &syntax.IfStmt{If: last.ElsePos, Cond: p.cond()}
		next.True = p.suite("elif", next.If)
		last.False = []syntax.Stmt{next}
		last = next
	}
	if p.kind == syntax.ELSE {
		last.ElsePos = p.advance()
		if p.kind == syntax.IF {
			fail(last.ElsePos, "else if is written elif")
		}
		last.False = p.suite("else", last.ElsePos)
	}
	return first
}

func (p *parser) whileStmt() syntax.Stmt {
	s := &syntax.WhileStmt{While: p.advance()}
	s.Cond = p.cond()
	s.Body = p.suite("while", s.While)
	p.refuseLoopElse()
	return s
}

func (p *parser) forStmt() syntax.Stmt {
	s := &syntax.ForStmt{For: p.advance()}
	s.Vars = p.loopVars()
	p.expect(syntax.IN, "the variables of for")
	s.X = p.exprs()
	s.Body = p.suite("for", s.For)
	p.refuseLoopElse()
	return s
}

// cond reads a condition.
func (p *parser) cond() syntax.Expr {
	x := p.test()
	if p.kind == syntax.EQ {
		fail(p.token.pos, "= assigns: write == to compare")
	}
	return x
}

// loopVars reads the variables of a loop.
func (p *parser) loopVars() syntax.Expr {
	first := p.target()
	if p.kind != syntax.COMMA {
		return first
	}
	list := []syntax.Expr{first}
	for p.kind == syntax.COMMA {
		p.advance()
		if p.kind == syntax.IN {
			break
		}
		list = append(list, p.target())
	}
	return &syntax.TupleExpr{List: list}
}

// target reads one variable of a loop, or several in brackets.
func (p *parser) target() syntax.Expr {
	p.refuseStar()
	x := p.postfix()
	checkVariables(x)
	return x
}

// checkVariables refuses variables of a loop that are values of the language.
func checkVariables(x syntax.Expr) {
	if id, ok := x.(*syntax.Ident); ok {
		checkName(id)
	}
	for _, e := range elements(x) {
		checkVariables(e)
	}
}
