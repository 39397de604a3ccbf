package source

import (
	"go.starlark.net/syntax"
)

func (p *parser) def() syntax.Stmt {
	s := &syntax.DefStmt{Def: p.advance()}
	s.Name = p.ident("a function's name")
	if p.kind != syntax.LPAREN {
		p.misplaced("def %s has no parameters, where () stand for none", s.Name.Name)
	}
	s.Lparen = p.advance()
	s.Params = p.params(syntax.RPAREN)
	s.Rparen = p.expect(syntax.RPAREN, "the parameters of "+s.Name.Name)
	if p.kind == ARROW {
		fail(p.token.pos, "there are no annotations: write def %s(...): without the -> and the type", s.Name.Name)
	}
	s.Body = p.suite("def", s.Def)
	return s
}

// params reads the parameters of a function.
func (p *parser) params(end Token) []syntax.Expr {
	var params []syntax.Expr
	for !p.at(end, syntax.EOF) {
		if len(params) > 0 {
			p.comma("parameters", end)
			if p.kind == end {
				break
			}
		}
		params = append(params, p.param(end))
	}
	return params
}

func (p *parser) param(end Token) syntax.Expr {
	if p.at(syntax.STAR, syntax.STARSTAR) {
		u := new(syntax.UnaryExpr)
		u.Op, u.OpPos = p.op()
		if u.Op == syntax.STARSTAR || p.kind == syntax.IDENT {
			u.X = p.ident("a parameter's name")
		}
		return u
	}
	if p.kind == syntax.SLASH {
		fail(p.token.pos, "there are no parameters by position alone: leave the / out")
	}
	if p.kind == syntax.COLON && end == syntax.RPAREN {
		fail(p.token.pos, "%s is missing behind the parameters", quoted(end))
	}
	id := p.ident("a parameter's name")
	if p.kind == syntax.COLON && end == syntax.RPAREN {
		fail(p.token.pos, "there are no annotations: write %s without the : and the type", id.Name)
	}
	if p.kind != syntax.EQ {
		return id
	}
	b := &syntax.BinaryExpr{X: id, Op: syntax.EQ, OpPos: p.advance()}
	b.Y = p.test()
	return b
}

// comma takes the comma between the elements of a list of things.
func (p *parser) comma(of string, end Token) {
	if p.kind != syntax.COMMA {
		p.notInList(of, end)
	}
	p.advance()
}

// ident reads a name.
func (p *parser) ident(what string) *syntax.Ident {
	if p.kind != syntax.IDENT {
		if _, word := words[p.raw]; word {
			fail(p.token.pos, "%s is a word of the language, and cannot be %s", p.raw, what)
		}
		p.misplaced("%s is missing", what)
	}
	if constants[p.raw] {
		fail(p.token.pos, "%s is a value, and cannot be %s", p.raw, what)
	}
	id := &syntax.Ident{Name: p.raw}
	id.NamePos = p.advance()
	return id
}

// load reads a load statement.
func (p *parser) load() syntax.Stmt {
	s := &syntax.LoadStmt{Load: p.advance()}
	const form = `load("file.star", "name") or load("file.star", mine="name")`
	if p.kind != syntax.LPAREN {
		p.misplaced("load is written %s", form)
	}
	lparen := p.advance()
	if p.kind != syntax.STRING {
		p.misplaced("load is written %s, with the file as a text", form)
	}
	s.Module = p.literal()
	for !p.at(syntax.RPAREN, syntax.EOF) {
		p.comma("names of load", syntax.RPAREN)
		if p.kind == syntax.RPAREN {
			break
		}
		var to *syntax.Ident
		if p.kind == syntax.IDENT {
			to = p.ident("a name")
			if p.kind != syntax.EQ {
				fail(to.NamePos, `names are loaded as texts: write "%s", or %s="its name there"`, to.Name, to.Name)
			}
			p.advance()
		}
		if p.kind != syntax.STRING {
			p.misplaced("load is written %s", form)
		}
		lit := p.literal()
		pos := lit.TokenPos
		pos.Col++
		from := &syntax.Ident{NamePos: pos, Name: lit.Value.(string)}
		if to == nil {
			to = from
		}
		s.To, s.From = append(s.To, to), append(s.From, from)
	}
	s.Rparen = p.expect(syntax.RPAREN, "the names of load")
	if len(s.To) == 0 {
		fail(lparen, `load takes the names to load, too: load("file.star", "name")`)
	}
	return s
}
