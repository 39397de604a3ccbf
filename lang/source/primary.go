package source

import "go.starlark.net/syntax"

// primary reads an operand.
func (p *parser) primary() syntax.Expr {
	defer p.deeper()()
	switch p.kind {
	case syntax.IDENT:
		id := &syntax.Ident{Name: p.raw}
		id.NamePos = p.advance()
		return id
	case syntax.INT, syntax.FLOAT:
		return p.literal()
	case syntax.STRING, syntax.BYTES, FSTRING:
		return p.strings()
	case ELLIPSIS:
		return &syntax.Ident{Name: Ellipsis, NamePos: p.advance()}
	case syntax.LBRACK:
		return p.list()
	case syntax.LBRACE:
		return p.dict()
	case syntax.LPAREN:
		return p.paren()
	case syntax.MINUS, syntax.PLUS, syntax.TILDE: // where no level is: in the variables of a loop
		return p.unary()
	}
	p.refuseStar()
	p.noExpr()
	return nil
}

// literal reads a number or a text.
func (p *parser) literal() *syntax.Literal {
	l := &syntax.Literal{Token: p.kind, TokenPos: p.token.pos, Raw: oneLine(p.raw)}
	if p.at(syntax.STRING, syntax.BYTES) {
		l.Value = unquote(p.token)
	} else {
		l.Value = numberValue(p.token)
	}
	p.advance()
	return l
}

// strings reads texts that stand side by side, which are joined.
func (p *parser) strings() syntax.Expr {
	x := p.text()
	for p.at(syntax.STRING, syntax.BYTES, FSTRING) {
		b := &syntax.BinaryExpr{X: x, Op: syntax.PLUS, OpPos: p.token.pos}
		b.Y = p.text()
		p.marks.Joined[b] = true
		x = b
	}
	return x
}

// text reads one text.
func (p *parser) text() syntax.Expr {
	if p.kind == FSTRING {
		return p.fstring()
	}
	return p.literal()
}

// paren reads an expression in brackets, a tuple, or a generator.
func (p *parser) paren() syntax.Expr {
	lparen := p.advance()
	if p.kind == syntax.RPAREN {
		return &syntax.TupleExpr{Lparen: lparen, Rparen: p.advance()}
	}
	x := p.exprs()
	if _, tuple := x.(*syntax.TupleExpr); p.kind == syntax.FOR && !tuple {
		x = p.generator(x)
	}
	if p.kind != syntax.RPAREN {
		p.notInList("elements", syntax.RPAREN)
	}
	return &syntax.ParenExpr{Lparen: lparen, X: x, Rparen: p.advance()}
}

// list reads a list or a comprehension.
func (p *parser) list() syntax.Expr {
	lbrack := p.advance()
	if p.kind == syntax.RBRACK {
		return &syntax.ListExpr{Lbrack: lbrack, Rbrack: p.advance()}
	}
	x := p.item()
	if p.kind == syntax.FOR {
		return p.comprehension(lbrack, x, syntax.RBRACK)
	}
	list := []syntax.Expr{x}
	for p.kind == syntax.COMMA {
		p.advance()
		if p.endsList() {
			break
		}
		list = append(list, p.item())
	}
	if p.kind != syntax.RBRACK {
		p.notInList("elements", syntax.RBRACK)
	}
	return &syntax.ListExpr{Lbrack: lbrack, List: list, Rbrack: p.advance()}
}

// dict reads a dict, a set, or a comprehension of one.
func (p *parser) dict() syntax.Expr {
	lbrace := p.advance()
	if p.kind == syntax.RBRACE {
		return &syntax.DictExpr{Lbrace: lbrace, Rbrace: p.advance()}
	}
	x := p.entry(true)
	if p.kind == syntax.FOR {
		return p.comprehension(lbrace, x, syntax.RBRACE)
	}
	d := &syntax.DictExpr{Lbrace: lbrace, List: []syntax.Expr{x}}
	set := isSet(d)
	for p.kind == syntax.COMMA {
		p.advance()
		if p.kind == syntax.RBRACE {
			break
		}
		if set {
			d.List = append(d.List, p.item())
		} else {
			d.List = append(d.List, p.entry(false))
		}
	}
	if p.kind != syntax.RBRACE {
		of := "entries"
		if set {
			of = "elements"
		}
		p.notInList(of, syntax.RBRACE)
	}
	d.Rbrace = p.advance()
	return d
}

// entry reads one key: value or **x of a dict, or the first element of a display that may
// be a set.
func (p *parser) entry(first bool) syntax.Expr {
	if p.kind == syntax.STARSTAR {
		u := &syntax.UnaryExpr{Op: syntax.STARSTAR, OpPos: p.advance()}
		u.X = p.or()
		return u
	}
	key := p.item()
	if first && p.kind != syntax.COLON {
		return key
	}
	if u, ok := key.(*syntax.UnaryExpr); ok && u.Op == syntax.STAR {
		fail(u.OpPos, "a * stands before no key of a dict: write **d for the entries of d")
	}
	e := &syntax.DictEntry{Key: key}
	if p.kind != syntax.COLON {
		p.misplaced("a : is missing behind the key of a dict")
	}
	e.Colon = p.advance()
	e.Value = p.test()
	return e
}

// comprehension reads the clauses behind the element of a comprehension.
func (p *parser) comprehension(open syntax.Position, body syntax.Expr, end Token) syntax.Expr {
	if u, ok := body.(*syntax.UnaryExpr); ok && (u.Op == syntax.STAR || u.Op == syntax.STARSTAR) {
		fail(u.OpPos, "a %s stands before no element of a comprehension: write [y for x in xs for y in x]", Text(u.Op))
	}
	c := &syntax.Comprehension{Curly: end == syntax.RBRACE, Lbrack: open, Body: body, Clauses: p.clauses(end)}
	c.Rbrack = p.advance()
	return c
}

// clauses reads the for and if of a comprehension, up to the bracket that ends
// it.
func (p *parser) clauses(end Token) []syntax.Node {
	var clauses []syntax.Node
	for p.kind != end {
		switch p.kind {
		case syntax.FOR:
			c := &syntax.ForClause{For: p.advance()}
			c.Vars = p.loopVars()
			c.In = p.expect(syntax.IN, "the variables of for")
			c.X = p.or()
			clauses = append(clauses, c)
		case syntax.IF:
			c := &syntax.IfClause{If: p.advance()}
			c.Cond = p.clauseCond()
			clauses = append(clauses, c)
		default:
			p.notClause(end)
		}
	}
	return clauses
}

// clauseCond reads the condition of a clause, which is no if-expression.
func (p *parser) clauseCond() syntax.Expr {
	if p.kind == syntax.LAMBDA {
		return p.lambda(p.clauseCond)
	}
	x := p.or()
	if p.kind == syntax.ELSE {
		fail(p.token.pos, "the if behind for takes no else: choose between values before it, as in [a if c else b for x in xs]")
	}
	return x
}
