package source

import "go.starlark.net/syntax"

// item reads an element of a list or a tuple: an expression, or *x, which stands
// for the elements of x.
func (p *parser) item() syntax.Expr {
	if p.kind != syntax.STAR {
		return p.test()
	}
	u := &syntax.UnaryExpr{Op: syntax.STAR, OpPos: p.advance()}
	u.X = p.or()
	return u
}

// star returns the x of *x or **x.
func star(x syntax.Expr, op Token) (syntax.Expr, bool) {
	u, ok := x.(*syntax.UnaryExpr)
	if !ok || u.Op != op {
		return nil, false
	}
	return u.X, true
}

// hasStar reports whether one of list is *x or **x.
func hasStar(list []syntax.Expr, op Token) bool {
	for _, x := range list {
		if _, ok := star(x, op); ok {
			return true
		}
	}
	return false
}

// parts returns lowered expressions among which are *x as lists to be joined: x
// itself, and lists of the elements in between.
func parts(list []syntax.Expr) []syntax.Expr {
	var out []syntax.Expr
	var open *syntax.ListExpr
	for _, x := range list {
		if y, ok := star(x, syntax.STAR); ok {
			out, open = append(out, y), nil
			continue
		}
		if open == nil {
			open = &syntax.ListExpr{Lbrack: syntax.Start(x)}
			out = append(out, open)
		}
		open.List, open.Rbrack = append(open.List, x), syntax.End(x)
	}
	return out
}

// join returns the list that lowered elements make, some of which are *x.
func join(list []syntax.Expr, at, end syntax.Position) syntax.Expr {
	return call(Spread, at, end, parts(list)...)
}

// dict lowers {...}: the entries of dicts, **x among them, or the elements of a
// set.
func (l *lowerer) dict(d *syntax.DictExpr) syntax.Expr {
	l.exprs(d.List)
	if isSet(d) {
		return call(MakeSet, d.Lbrace, d.Rbrace, join(d.List, d.Lbrace, d.Rbrace))
	}
	if !hasStar(d.List, syntax.STARSTAR) {
		return d
	}
	return call(JoinDicts, d.Lbrace, d.Rbrace, dicts(d.List)...)
}

// isSet reports whether {...} has elements, and no entries.
func isSet(d *syntax.DictExpr) bool {
	if len(d.List) == 0 {
		return false
	}
	_, entry := d.List[0].(*syntax.DictEntry)
	_, spread := star(d.List[0], syntax.STARSTAR)
	return !entry && !spread
}

// dicts returns lowered entries among which are **x as dicts to be joined.
func dicts(list []syntax.Expr) []syntax.Expr {
	var out []syntax.Expr
	var open *syntax.DictExpr
	for _, x := range list {
		if y, ok := star(x, syntax.STARSTAR); ok {
			out, open = append(out, y), nil
			continue
		}
		if open == nil {
			open = &syntax.DictExpr{Lbrace: syntax.Start(x)}
			out = append(out, open)
		}
		open.List, open.Rbrace = append(open.List, x), syntax.End(x)
	}
	return out
}

// arguments lowers those of a call, each lowered, to the order that Starlark
// has: by position, by name, *x, **x. They are evaluated as they are written.
func arguments(args []syntax.Expr) []syntax.Expr {
	first := len(args)
	for i, x := range args {
		_, list := star(x, syntax.STAR)
		_, dict := star(x, syntax.STARSTAR)
		if list || dict {
			first = i
			break
		}
	}
	positional, named := sortArguments(args[first:])
	out := args[:first:first]
	if len(positional) == 1 {
		out = append(out, positional[0])
	} else if len(positional) > 1 {
		at, end := syntax.Start(positional[0]), syntax.End(positional[len(positional)-1])
		out = append(out, &syntax.UnaryExpr{Op: syntax.STAR, OpPos: at, X: join(positional, at, end)})
	}
	if len(named) == 0 {
		return out
	}
	checkNames(args)
	var entries []syntax.Expr
	for _, x := range named {
		entries = append(entries, entryOf(x))
	}
	at, end := syntax.Start(named[0]), syntax.End(named[len(named)-1])
	list := dicts(entries)
	if len(list) > 1 {
		list = []syntax.Expr{call(JoinKeywords, at, end, list...)}
	}
	return append(out, &syntax.UnaryExpr{Op: syntax.STARSTAR, OpPos: at, X: list[0]})
}

// sortArguments returns those of args that are given by position, *x among
// them, and those that are given by name, **x among them.
func sortArguments(args []syntax.Expr) (positional, named []syntax.Expr) {
	spread := false // whether a **x was there
	for _, x := range args {
		_, list := star(x, syntax.STAR)
		_, dict := star(x, syntax.STARSTAR)
		switch {
		case dict:
			named, spread = append(named, x), true
		case nameOf(x) != nil:
			named = append(named, x)
		case list && spread:
			fail(syntax.Start(x), "*x stands before **x among arguments")
		case !list && len(named) > 0:
			fail(syntax.Start(x), "an argument by position stands before those by name")
		default:
			positional = append(positional, x)
		}
	}
	return positional, named
}

// nameOf returns the name of an argument, or nil if it is given by position.
func nameOf(x syntax.Expr) *syntax.Ident {
	if b, ok := x.(*syntax.BinaryExpr); ok && b.Op == syntax.EQ {
		return b.X.(*syntax.Ident)
	}
	return nil
}

// checkNames refuses a name that two arguments have.
func checkNames(args []syntax.Expr) {
	seen := make(map[string]bool)
	for _, x := range args {
		if id := nameOf(x); id != nil {
			if seen[id.Name] {
				fail(id.NamePos, "the argument %s is given twice", id.Name)
			}
			seen[id.Name] = true
		}
	}
}

// entryOf returns an argument by name as the entry of a dict; **x is one.
func entryOf(x syntax.Expr) syntax.Expr {
	id := nameOf(x)
	if id == nil {
		return x
	}
	b := x.(*syntax.BinaryExpr)
	return &syntax.DictEntry{Key: text(id.NamePos, id.Name), Colon: b.OpPos, Value: b.Y}
}

// unpack lowers a, *b, c = x: x is cut into as many values as there are names.
func (l *lowerer) unpack(s *syntax.AssignStmt, names []syntax.Expr) {
	at := 0
	for i, x := range names {
		if y, ok := star(x, syntax.STAR); ok {
			at, names[i] = i, y
		}
	}
	pos, end := s.OpPos, syntax.End(s.RHS)
	s.RHS = call(Unpack, pos, end, s.RHS, number(pos, at), number(pos, len(names)-1-at))
}

// chained lowers x = y = v: both are assigned the value of v.
func (l *lowerer) chained(s *syntax.AssignStmt) {
	list := []syntax.Expr{s.LHS}
	value := s.RHS
	for isChain(value) {
		b := value.(*syntax.BinaryExpr)
		list, value = append(list, b.X), b.Y
	}
	if len(list) == 1 {
		return
	}
	for _, x := range list {
		if hasStar(elements(x), syntax.STAR) {
			fail(syntax.Start(x), "names with a * are assigned in a line of their own")
		}
	}
	s.LHS = &syntax.TupleExpr{List: list}
	s.RHS = call(Repeat, s.OpPos, syntax.End(value), value, number(s.OpPos, len(list)))
}

// isChain reports whether the right side of an assignment assigns, too: y = v of x = y = v.
func isChain(x syntax.Expr) bool {
	b, ok := x.(*syntax.BinaryExpr)
	return ok && b.Op == syntax.EQ
}

// elements returns the names of a, b or [a, b] on the left of an assignment.
func elements(x syntax.Expr) []syntax.Expr {
	switch x := x.(type) {
	case *syntax.TupleExpr:
		return x.List
	case *syntax.ListExpr:
		return x.List
	case *syntax.ParenExpr:
		return elements(x.X)
	}
	return nil
}

// number returns a literal at a place of the source.
func number(pos syntax.Position, n int) *syntax.Literal {
	return &syntax.Literal{Token: syntax.INT, TokenPos: pos, Raw: "0", Value: int64(n)}
}
