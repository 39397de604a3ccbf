package source

import "go.starlark.net/syntax"

// exprs reads an expression, or several with commas between them, which are a
// tuple.
func (p *parser) exprs() syntax.Expr {
	x := p.item()
	if p.kind != syntax.COMMA {
		if _, ok := star(x, syntax.STAR); ok {
			fail(syntax.Start(x), "a * stands for the elements of a list among others: write list(x) for a list of them alone")
		}
		return x
	}
	list := []syntax.Expr{x}
	for p.kind == syntax.COMMA {
		p.advance()
		if p.endsList() {
			break
		}
		list = append(list, p.item())
	}
	return &syntax.TupleExpr{List: list}
}

// endsList reports whether the parser is behind the last element of a list.
func (p *parser) endsList() bool {
	return p.at(syntax.EOF, syntax.NEWLINE, syntax.EQ, syntax.RBRACE, syntax.RBRACK, syntax.RPAREN, syntax.SEMI, syntax.COLON) || assigns[p.kind]
}

// test reads an expression that is no tuple.
func (p *parser) test() syntax.Expr {
	defer p.deeper()()
	if p.kind == syntax.LAMBDA {
		return p.lambda(p.test)
	}
	x := p.or()
	if p.kind == WALRUS && p.inField == 0 {
		fail(p.token.pos, ":= is not there: assign on a line of its own, with =")
	}
	if p.kind != syntax.IF {
		return x
	}
	c := &syntax.CondExpr{True: x, If: p.advance()}
	c.Cond = p.or()
	if p.kind != syntax.ELSE {
		p.noElse(c.If)
	}
	c.ElsePos = p.advance()
	c.False = p.test()
	return c
}

// lambda reads a function without a name, whose body is read by body.
func (p *parser) lambda(body func() syntax.Expr) syntax.Expr {
	defer p.deeper()()
	l := &syntax.LambdaExpr{Lambda: p.advance()}
	l.Params = p.params(syntax.COLON)
	if p.kind != syntax.COLON {
		p.misplaced("a lambda has a : behind its parameters")
	}
	p.advance()
	if p.kind == syntax.RETURN {
		fail(p.token.pos, "a lambda returns its expression: leave return out")
	}
	l.Body = body()
	return l
}

func (p *parser) or() syntax.Expr { return p.level(0) }

// levels are the operators between two operands, the loosest first. All
// associate to the left.
var levels = [][]Token{
	{syntax.OR},
	{syntax.AND},
	{}, // not x
	{syntax.EQL, syntax.NEQ, syntax.LT, syntax.GT, syntax.LE, syntax.GE, syntax.IN, syntax.NOT_IN, syntax.IS, ISNOT},
	{syntax.PIPE},
	{syntax.CIRCUMFLEX},
	{syntax.AMP},
	{syntax.LTLT, syntax.GTGT},
	{syntax.MINUS, syntax.PLUS},
	{syntax.STAR, syntax.PERCENT, syntax.SLASH, syntax.SLASHSLASH, AT},
}

// notLevel and comparisons are the levels of not and of comparisons.
const (
	notLevel    = 2
	comparisons = 3
)

// levelOf holds the level of each operator.
var levelOf = func() map[Token]int {
	m := make(map[Token]int)
	for n, list := range levels {
		for _, t := range list {
			m[t] = n
		}
	}
	return m
}()

// level reads operands with operators of the level n or tighter between them.
func (p *parser) level(n int) syntax.Expr {
	defer p.deeper()()
	var x syntax.Expr
	switch {
	case n <= notLevel && p.kind == syntax.NOT:
		u := &syntax.UnaryExpr{Op: syntax.NOT, OpPos: p.advance()}
		u.X = p.level(notLevel)
		x = u
	default:
		x = p.unary()
	}
	for {
		op, pos := p.binary()
		at, ok := levelOf[op]
		if !ok || at < n {
			return x
		}
		if op == syntax.NOT_IN || op == ISNOT {
			p.advance()
		}
		if op == syntax.NOT_IN {
			pos = p.token.pos // Starlark's parser has it there
		}
		p.advance()
		x = &syntax.BinaryExpr{X: x, Op: op, OpPos: pos, Y: p.operand(at + 1)}
	}
}

// operand reads the right side of an operator, of the level n or tighter.
func (p *parser) operand(n int) syntax.Expr {
	if p.kind == syntax.NOT && n > notLevel {
		fail(p.token.pos, "not binds looser than the operator before it: write (not ...) in brackets")
	}
	return p.level(n)
}

// binary returns the operator at which the parser is, of which not in and is
// not have two tokens, the first of which is taken only with the second.
func (p *parser) binary() (Token, syntax.Position) {
	switch p.kind {
	case syntax.NOT:
		if p.nextWord() == "in" {
			return syntax.NOT_IN, p.token.pos
		}
	case syntax.IS:
		if p.nextWord() == "not" {
			return ISNOT, p.token.pos
		}
	}
	return p.kind, p.token.pos
}

// nextWord returns the word that follows the token at which the parser is, or
// "" if it is none.
func (p *parser) nextWord() string {
	ahead := p.scanner // the scanner is a value: this one goes on by itself
	return ahead.tryNext().raw
}

// tryNext is next, but for a text that cannot be cut, which gives no token.
func (s *scanner) tryNext() (t token) {
	s.open = append([]bracket(nil), s.open...)
	s.indents = append([]int(nil), s.indents...)
	defer func() {
		if recover() != nil {
			t = token{}
		}
	}()
	return s.next()
}

// unary reads -x, +x, ~x and operators that bind tighter.
func (p *parser) unary() syntax.Expr {
	if !p.at(syntax.MINUS, syntax.PLUS, syntax.TILDE) {
		return p.power()
	}
	defer p.deeper()()
	u := new(syntax.UnaryExpr)
	u.Op, u.OpPos = p.op()
	u.X = p.unary()
	return u
}

// power reads x ** y, which associates to the right: its right side may have a
// sign, its left side has none.
func (p *parser) power() syntax.Expr {
	x := p.postfix()
	if p.kind != syntax.STARSTAR {
		return x
	}
	defer p.deeper()()
	b := &syntax.BinaryExpr{X: x, Op: syntax.STARSTAR, OpPos: p.advance()}
	b.Y = p.unary()
	return b
}

// postfix reads an operand with its suffixes: .name, [...], (...).
func (p *parser) postfix() syntax.Expr {
	x := p.primary()
	for {
		switch p.kind {
		case syntax.DOT:
			d := &syntax.DotExpr{X: x, Dot: p.advance()}
			d.Name = p.ident("an attribute's name")
			x = d
		case syntax.LBRACK:
			x = p.index(x)
		case syntax.LPAREN:
			c := &syntax.CallExpr{Fn: x, Lparen: p.advance()}
			c.Args = p.args()
			c.Rparen = p.expect(syntax.RPAREN, "the arguments")
			x = c
		default:
			return x
		}
	}
}

// args reads the arguments of a call.
func (p *parser) args() []syntax.Expr {
	var args []syntax.Expr
	for !p.at(syntax.RPAREN, syntax.EOF) {
		if len(args) > 0 {
			p.comma("arguments", syntax.RPAREN)
			if p.kind == syntax.RPAREN {
				break
			}
		}
		args = append(args, p.argument())
	}
	return args
}

func (p *parser) argument() syntax.Expr {
	if p.at(syntax.STAR, syntax.STARSTAR) {
		u := new(syntax.UnaryExpr)
		u.Op, u.OpPos = p.op()
		u.X = p.test()
		return u
	}
	x := p.test()
	switch p.kind {
	case syntax.FOR:
		return p.generator(x)
	case syntax.EQ:
		if _, ok := x.(*syntax.Ident); !ok {
			fail(p.token.pos, "= names an argument, and what stands before it is no name: write == to compare")
		}
		b := &syntax.BinaryExpr{X: x, Op: syntax.EQ, OpPos: p.advance()}
		b.Y = p.test()
		return b
	}
	return x
}

// generator reads the clauses behind the element of a comprehension that has no
// brackets of its own. It is a list.
func (p *parser) generator(x syntax.Expr) syntax.Expr {
	c := &syntax.Comprehension{Lbrack: syntax.Start(x), Body: x, Clauses: p.clauses(syntax.RPAREN)}
	c.Rbrack = p.token.pos
	p.marks.Generators[c] = true
	return c
}

// index reads the index in the brackets behind x.
func (p *parser) index(x syntax.Expr) syntax.Expr {
	lbrack := p.advance()
	if p.kind == syntax.RBRACK {
		fail(p.token.pos, "the index is missing: write x[0], x[1:], or x[:] for all")
	}
	list := []syntax.Expr{p.subscript(lbrack)}
	tuple := p.kind == syntax.COMMA
	for p.kind == syntax.COMMA {
		p.advance()
		if p.kind == syntax.RBRACK {
			break
		}
		list = append(list, p.subscript(p.token.pos))
	}
	rbrack := p.expect(syntax.RBRACK, "the index")
	if s, ok := list[0].(*syntax.SliceExpr); ok && !tuple && isOpen(s) {
		s.X, s.Lbrack, s.Rbrack = x, lbrack, rbrack
		return s
	}
	y := list[0]
	if tuple {
		y = &syntax.TupleExpr{List: list}
	}
	return &syntax.IndexExpr{X: x, Lbrack: lbrack, Y: y, Rbrack: rbrack}
}

// openName is the name of the value that the slices of an index are of. It is no node of
// the source.
const openName = ""

// isOpen reports whether x is a slice among the elements of an index.
func isOpen(x syntax.Expr) bool {
	s, ok := x.(*syntax.SliceExpr)
	if !ok {
		return false
	}
	id, ok := s.X.(*syntax.Ident)
	return ok && id.Name == openName
}

// subscript reads one element of an index: an expression, or a slice, whose X
// is a name without letters.
func (p *parser) subscript(start syntax.Position) syntax.Expr {
	s := &syntax.SliceExpr{X: &syntax.Ident{Name: openName, NamePos: start}, Lbrack: start}
	if p.kind != syntax.COLON {
		s.Lo = p.test()
		if p.kind != syntax.COLON {
			return s.Lo
		}
	}
	p.advance()
	if !p.at(syntax.COLON, syntax.RBRACK, syntax.COMMA) {
		s.Hi = p.test()
	}
	if p.kind == syntax.COLON {
		p.advance()
		if !p.at(syntax.RBRACK, syntax.COMMA) {
			s.Step = p.test()
		}
	}
	s.Rbrack = p.token.pos
	return s
}
