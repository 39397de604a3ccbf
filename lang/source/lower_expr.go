package source

import (
	"fmt"
	"slices"

	"go.starlark.net/syntax"
)

// call returns a call, at a place of the source, of a function that core trees
// have.
func call(name string, at, end syntax.Position, args ...syntax.Expr) *syntax.CallExpr {
	return &syntax.CallExpr{Fn: &syntax.Ident{Name: name, NamePos: at}, Lparen: at, Args: args, Rparen: end}
}

// methods are functions that stand for methods of texts: one that knows all
// formats, and one that asks whether there is room for its result.
var methods = map[string]string{"format": FormatMethod, "replace": ReplaceMethod}

// adding are functions that call a method, with so many arguments, when there is room for an
// element more.
var adding = map[string]struct {
	name  string
	count int
}{"append": {Append, 1}, "insert": {Insert, 2}, "add": {Add, 1}, "setdefault": {SetDefault, 2}}

// growing are functions that return the argument of a method when there is room for what the
// method makes of it.
var growing = map[string]string{"extend": Extend, "join": Join, "split": Split, "update": Update}

// grow puts such a function around the only argument of a method of a name or a literal, if c is
// a call of one.
func (l *lowerer) grow(c *syntax.CallExpr) {
	d, ok := c.Fn.(*syntax.DotExpr)
	if !ok || growing[d.Name.Name] == "" || len(c.Args) != 1 {
		return
	}
	if x, lit := d.X.(*syntax.Literal); lit && l.marks.FStrings[x] != nil {
		return
	} else if _, name := d.X.(*syntax.Ident); !lit && !name {
		return
	}
	if !isPositional(c.Args[0]) {
		return
	}
	c.Args[0] = call(growing[d.Name.Name], d.Name.NamePos, c.Rparen, again(d.X), c.Args[0])
}

// isPositional reports whether x is an argument of its own, without a name.
func isPositional(x syntax.Expr) bool {
	switch x := x.(type) {
	case *syntax.UnaryExpr:
		return x.Op != syntax.STAR && x.Op != syntax.STARSTAR
	case *syntax.BinaryExpr:
		return x.Op != syntax.EQ
	}
	return true
}

// call lowers a call: x.format(...) becomes a call of a function.
func (l *lowerer) call(c *syntax.CallExpr) syntax.Expr {
	l.exprs(c.Args)
	c.Args = arguments(c.Args)
	if d, ok := c.Fn.(*syntax.DotExpr); ok && methods[d.Name.Name] != "" {
		return &syntax.CallExpr{
			Fn:     &syntax.Ident{Name: methods[d.Name.Name], NamePos: d.Name.NamePos},
			Lparen: c.Lparen, Args: append([]syntax.Expr{l.expr(d.X)}, c.Args...), Rparen: c.Rparen,
		}
	}
	l.grow(c)
	c.Fn = l.expr(c.Fn)
	if d, ok := c.Fn.(*syntax.DotExpr); ok {
		if f := adding[d.Name.Name]; f.count > 0 && f.count == len(c.Args) && !slices.ContainsFunc(c.Args, func(x syntax.Expr) bool { return !isPositional(x) }) {
			c.Fn, c.Args = &syntax.Ident{Name: f.name, NamePos: d.Name.NamePos}, append([]syntax.Expr{d}, c.Args...)
		}
	}
	return c
}

// slice lowers lo:hi:step among the elements of an index.
func (l *lowerer) slice(s *syntax.SliceExpr) syntax.Expr {
	return call(Slice, s.Lbrack, s.Rbrack, l.orNone(s.Lo, s), l.orNone(s.Hi, s), l.orNone(s.Step, s))
}

// orNone lowers x, a part of s that may be left out.
func (l *lowerer) orNone(x syntax.Expr, s *syntax.SliceExpr) syntax.Expr {
	if x == nil {
		return &syntax.Ident{Name: "None", NamePos: s.Lbrack}
	}
	return l.expr(x)
}

// fstring lowers an f-string to the sum of its parts.
func (l *lowerer) fstring(lit *syntax.Literal, fs *FString) syntax.Expr {
	var sum syntax.Expr
	parts, fields := make([]syntax.Expr, len(fs.Parts)), 0
	for i, part := range fs.Parts {
		parts[i] = l.part(lit, part)
		if part.X != nil {
			fields++
		}
	}
	if fields > 1 {
		return call(Texts, lit.TokenPos, lit.TokenPos, parts...)
	}
	for _, x := range parts {
		if sum == nil {
			sum = x
			continue
		}
		sum = &syntax.BinaryExpr{X: sum, Op: syntax.PLUS, OpPos: syntax.Start(x), Y: x}
	}
	if sum == nil {
		return text(lit.TokenPos, "")
	}
	return &syntax.ParenExpr{Lparen: lit.TokenPos, X: sum, Rparen: lit.TokenPos}
}

func (l *lowerer) part(lit *syntax.Literal, part Part) syntax.Expr {
	if part.X == nil {
		return text(lit.TokenPos, part.Text)
	}
	args := []syntax.Expr{l.expr(part.X)}
	if part.Conv != 0 || part.Spec != nil {
		conv := ""
		if part.Conv != 0 {
			conv = string(part.Conv)
		}
		args = append(args, text(part.Open, conv))
	}
	if part.Spec != nil {
		args = append(args, l.fstring(&syntax.Literal{TokenPos: part.Open}, part.Spec))
	}
	return call(Format, part.Open, part.Close, args...)
}

// text returns a literal at a place of the source.
func text(pos syntax.Position, value string) *syntax.Literal {
	return &syntax.Literal{Token: syntax.STRING, TokenPos: pos, Raw: `""`, Value: value}
}

// chain lowers a < b < c, in which b is evaluated once, and c only if a < b. It
// is a < b and b < c where b is a name or a literal, and else
// [x < y and y < c for x in [a] for y in [b]][0].
func (l *lowerer) chain(b *syntax.BinaryExpr) syntax.Expr {
	links := []*syntax.BinaryExpr{b}
	for {
		left, ok := links[0].X.(*syntax.BinaryExpr)
		if !ok || !isComparison(left) {
			break
		}
		links = append([]*syntax.BinaryExpr{left}, links...)
	}
	first := l.expr(links[0].X)
	if isSimple(links[0].Y) {
		return l.links(first, links)
	}
	x := l.fresh(syntax.Start(first))
	rest := l.links(x, links).(*syntax.IndexExpr)
	c := rest.X.(*syntax.Comprehension)
	c.Clauses = append([]syntax.Node{bind(x, first)}, c.Clauses...)
	return rest
}

// links lowers comparisons of a chain, the first of which is between left and
// its Y.
func (l *lowerer) links(left syntax.Expr, list []*syntax.BinaryExpr) syntax.Expr {
	link := list[0]
	y := l.expr(link.Y)
	if len(list) == 1 {
		return l.compare(link, left, y)
	}
	if isSimple(y) {
		return &syntax.BinaryExpr{X: l.compare(link, left, y), Op: syntax.AND, OpPos: list[1].OpPos, Y: l.links(again(y), list[1:])}
	}
	name := l.fresh(syntax.Start(y))
	test := l.compare(link, left, name)
	body := &syntax.BinaryExpr{X: test, Op: syntax.AND, OpPos: list[1].OpPos, Y: l.links(again(name), list[1:])}
	start, end := link.OpPos, syntax.End(list[len(list)-1])
	c := &syntax.Comprehension{Lbrack: start, Body: body, Clauses: []syntax.Node{bind(name, y)}, Rbrack: end}
	return &syntax.IndexExpr{X: c, Lbrack: start, Y: &syntax.Literal{Token: syntax.INT, TokenPos: start, Raw: "0", Value: int64(0)}, Rbrack: end}
}

// compare returns the comparison of a link between lowered operands.
func (l *lowerer) compare(link *syntax.BinaryExpr, x, y syntax.Expr) syntax.Expr {
	b := &syntax.BinaryExpr{X: x, Op: link.Op, OpPos: link.OpPos, Y: y}
	l.identity(b)
	return b
}

// fresh returns a name for a value that a chain binds.
func (l *lowerer) fresh(pos syntax.Position) *syntax.Ident {
	l.bound++
	return &syntax.Ident{Name: fmt.Sprintf("<%d>", l.bound), NamePos: pos}
}

// bind returns the clause of a comprehension that gives x a name.
func bind(name *syntax.Ident, x syntax.Expr) *syntax.ForClause {
	pos := name.NamePos
	list := &syntax.ListExpr{Lbrack: pos, List: []syntax.Expr{x}, Rbrack: pos}
	return &syntax.ForClause{For: pos, Vars: again(name), In: pos, X: list}
}

// isSimple reports whether evaluating x twice is as evaluating it once.
func isSimple(x syntax.Expr) bool {
	switch x := x.(type) {
	case *syntax.Ident:
		return true
	case *syntax.Literal:
		return x.Value != "" // else it may be an f-string
	case *syntax.UnaryExpr:
		return x.X != nil && x.Op != syntax.NOT && isLiteral(x.X)
	}
	return false
}

func isLiteral(x syntax.Expr) bool {
	_, ok := x.(*syntax.Literal)
	return ok && isSimple(x)
}

// again returns another node for a simple expression: the resolver notes the variable that
// each is bound to.
func again(x syntax.Expr) syntax.Expr {
	switch x := x.(type) {
	case *syntax.Ident:
		return &syntax.Ident{Name: x.Name, NamePos: x.NamePos}
	case *syntax.UnaryExpr:
		return &syntax.UnaryExpr{OpPos: x.OpPos, Op: x.Op, X: again(x.X)}
	case *syntax.Literal:
		return &syntax.Literal{Token: x.Token, TokenPos: x.TokenPos, Raw: x.Raw, Value: x.Value}
	}
	return x
}
