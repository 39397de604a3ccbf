package source

import (
	"slices"

	"go.starlark.net/syntax"
)

// Names of the functions that core trees call, and of the value of "...". No
// source can write them. Package lang/operator has these functions.
const (
	MatMul        = "@"        // @(a, b) is a @ b
	Power         = "**"       // **(a, b) is a ** b
	Modulo        = "%"        // %(a, b) is a % b
	Format        = `f""`      // f""(x, conv, spec) is the text of a field of an f-string
	FormatMethod  = ".format"  // .format(x, ...) is x.format(...)
	ReplaceMethod = ".replace" // .replace(x, ...) is x.replace(...)
	Append        = ".append"  // .append(x.append, v) is x.append(v), when there is room for it in x, and so is that which follows
	Insert        = ".insert"  // .insert(x.insert, i, v) is x.insert(i, v)
	Add           = ".add"
	SetDefault    = ".setdefault"
	Union         = "|"       // |(a, b) is b, when there is room for a | b
	Times         = "*"       // *(a, b) is a * b, where one may be a text, a list or a tuple
	Grow          = "+"       // +(a, b) is b, when there is room for a + b
	GrowBy        = "+="      // +=(a, b) is b, when there is room for b in a, as in those that follow
	Extend        = ".extend" // .extend(x, y) is y
	Update        = ".update"
	Pace          = "[for if]" // [for if](x, keyed, nested) is x, whose elements ask, as they come, for the room of a list or a dict that some are for
	Elements      = "[for]"    // [for](x) is x, when there is room for a list of as many elements
	Join          = ".join"    // .join(x, y) is y, when there is room for x.join(y)
	Split         = ".split"   // .split(x, y) is y, when there is room for x.split(y)
	Texts         = `""`       // ""(a, b, c) is a + b + c, all of which are texts
	Slice         = "[:]"      // [:](lo, hi, step) is lo:hi:step among the elements of an index
	SetSlice      = "[:]="     // [:]=(v, x, lo, hi, step) is x[lo:hi:step] = v
	Sliced        = "[=]"      // [=](x) is what takes x[lo:hi:step] = v by an index
	Spread        = "*[]"      // *[](x, y) is [*x, *y]
	SpreadTuple   = "*()"      // *()(x, y) is (*x, *y)
	JoinDicts     = "**{}"     // **{}(x, y) is {**x, **y}
	JoinKeywords  = "**()"     // **()(x, y) is **x, **y among arguments
	MakeSet       = "{}"       // {}([x, y]) is {x, y}
	Unpack        = "*="       // *=(x, n, m) is the list of values for n names, one with a *, and m names
	Repeat        = "=="       // ==(x, n) is x, n times
	Ellipsis      = "..."
)

// IsHidden reports whether no source can write a name.
func IsHidden(name string) bool {
	return name != "" && !isLetter(rune(name[0])) && name[0] < 0x80 || name == Format
}

// Lower returns the core tree of f, whose nodes it takes over. Its error is an
// *Error.
func Lower(f *File) (core *syntax.File, err error) {
	defer func() {
		if e, ok := recover().(*Error); ok {
			core, err = nil, e
		} else if e != nil {
			panic(e)
		}
	}()
	l := &lowerer{marks: f, sequences: sequenceNames(f.File), tables: tableNames(f.File)}
	l.stmts(f.Stmts)
	return f.File, nil
}

// A lowerer turns a surface tree into a core tree.
type lowerer struct {
	marks     *File
	sequences map[string]bool // names of texts, lists and tuples
	tables    map[string]bool // of dicts and sets
	bound     int             // how many values chains of comparisons have bound
}

func (l *lowerer) stmts(list []syntax.Stmt) {
	for i, s := range list {
		list[i] = l.stmt(s)
	}
}

func (l *lowerer) stmt(s syntax.Stmt) syntax.Stmt {
	switch s := s.(type) {
	case *syntax.AssignStmt:
		return l.assign(s)
	case *syntax.DefStmt:
		l.params(s.Params)
		l.stmts(s.Body)
	case *syntax.ExprStmt:
		s.X = l.expr(s.X)
	case *syntax.ForStmt:
		s.Vars, s.X = l.target(s.Vars), l.expr(s.X)
		l.stmts(s.Body)
	case *syntax.WhileStmt:
		s.Cond = l.expr(s.Cond)
		l.stmts(s.Body)
	case *syntax.IfStmt:
		s.Cond = l.expr(s.Cond)
		l.stmts(s.True)
		l.stmts(s.False)
	case *syntax.ReturnStmt:
		s.Result = l.expr(s.Result)
	}
	return s
}

// assign lowers an assignment: that to a slice alone is a call, as lists have no
// such assignment in Starlark.
func (l *lowerer) assign(s *syntax.AssignStmt) syntax.Stmt {
	switch s.Op {
	case AT_EQ:
		return l.assignOp(s, AT, MatMul)
	case STARSTAR_EQ:
		return l.assignOp(s, syntax.STARSTAR, Power)
	case syntax.STAR_EQ:
		if _, name := s.LHS.(*syntax.Ident); name && l.repeats(s.LHS, s.RHS) {
			return l.assignOp(s, syntax.STAR, Times)
		}
	case syntax.PLUS_EQ:
		if x, name := s.LHS.(*syntax.Ident); name && l.grows(x, s.RHS) {
			s.RHS = call(GrowBy, s.OpPos, syntax.End(s.RHS), again(x), l.expr(s.RHS))
			return s
		}
	case syntax.PIPE_EQ:
		if x, name := s.LHS.(*syntax.Ident); name && l.unites(x, s.RHS) {
			s.RHS = call(Union, s.OpPos, syntax.End(s.RHS), again(x), l.expr(s.RHS))
			return s
		}
	}
	slice, ok := s.LHS.(*syntax.SliceExpr)
	if ok && s.Op == syntax.EQ && !isChain(s.RHS) {
		args := []syntax.Expr{l.expr(s.RHS), l.expr(slice.X), l.orNone(slice.Lo, slice), l.orNone(slice.Hi, slice), l.orNone(slice.Step, slice)}
		return &syntax.ExprStmt{X: call(SetSlice, slice.Lbrack, syntax.End(s.RHS), args...)}
	}
	l.chained(s)
	if names := elements(s.LHS); hasStar(names, syntax.STAR) {
		l.unpack(s, names)
	}
	s.LHS, s.RHS = l.target(s.LHS), l.expr(s.RHS)
	return s
}

// assignOp lowers x op= y to a call of the function of op.
func (l *lowerer) assignOp(s *syntax.AssignStmt, op Token, name string) syntax.Stmt {
	id, ok := s.LHS.(*syntax.Ident)
	if !ok {
		fail(s.OpPos, "%s assigns to a name alone: write x[i] = x[i] %s y", Text(s.Op), Text(op))
	}
	return &syntax.AssignStmt{LHS: id, Op: syntax.EQ, OpPos: s.OpPos, RHS: call(name, s.OpPos, syntax.End(s.RHS), again(id), l.expr(s.RHS))}
}

// target lowers the target of an assignment.
func (l *lowerer) target(x syntax.Expr) syntax.Expr {
	switch x := x.(type) {
	case *syntax.SliceExpr:
		return &syntax.IndexExpr{X: call(Sliced, x.Lbrack, x.Lbrack, l.expr(x.X)), Lbrack: x.Lbrack, Y: l.slice(x), Rbrack: x.Rbrack}
	case *syntax.TupleExpr:
		l.targets(x.List)
	case *syntax.ListExpr:
		l.targets(x.List)
	case *syntax.ParenExpr:
		x.X = l.target(x.X)
	default:
		return l.expr(x)
	}
	return x
}

func (l *lowerer) targets(list []syntax.Expr) {
	for i, x := range list {
		list[i] = l.target(x)
	}
}

func (l *lowerer) params(list []syntax.Expr) {
	for _, x := range list {
		if b, ok := x.(*syntax.BinaryExpr); ok {
			b.Y = l.expr(b.Y)
		}
	}
}

func (l *lowerer) exprs(list []syntax.Expr) {
	for i, x := range list {
		list[i] = l.expr(x)
	}
}

// expr lowers an expression, which may be nil.
func (l *lowerer) expr(x syntax.Expr) syntax.Expr {
	switch x := x.(type) {
	case *syntax.BinaryExpr:
		return l.binary(x)
	case *syntax.CallExpr:
		return l.call(x)
	case *syntax.Literal:
		if fs := l.marks.FStrings[x]; fs != nil {
			return l.fstring(x, fs)
		}
	case *syntax.SliceExpr:
		if isOpen(x) {
			return l.slice(x)
		}
		x.X, x.Lo, x.Hi, x.Step = l.expr(x.X), l.expr(x.Lo), l.expr(x.Hi), l.expr(x.Step)
	case *syntax.Comprehension:
		return l.comprehension(x)
	case *syntax.CondExpr:
		x.Cond, x.True, x.False = l.expr(x.Cond), l.expr(x.True), l.expr(x.False)
	case *syntax.DictEntry:
		x.Key, x.Value = l.expr(x.Key), l.expr(x.Value)
	case *syntax.DictExpr:
		return l.dict(x)
	case *syntax.DotExpr:
		x.X = l.expr(x.X)
	case *syntax.IndexExpr:
		x.X, x.Y = l.expr(x.X), l.expr(x.Y)
	case *syntax.LambdaExpr:
		l.params(x.Params)
		x.Body = l.expr(x.Body)
	case *syntax.ListExpr:
		l.exprs(x.List)
		if hasStar(x.List, syntax.STAR) {
			return join(x.List, x.Lbrack, x.Rbrack)
		}
	case *syntax.ParenExpr:
		x.X = l.expr(x.X)
	case *syntax.TupleExpr:
		l.exprs(x.List)
		if hasStar(x.List, syntax.STAR) {
			at, end := syntax.Start(x), syntax.End(x)
			return call(SpreadTuple, at, end, parts(x.List)...)
		}
	case *syntax.UnaryExpr:
		if x.X != nil {
			x.X = l.expr(x.X)
		}
	}
	return x
}

func (l *lowerer) comprehension(c *syntax.Comprehension) syntax.Expr {
	c.Body = l.expr(c.Body)
	_, entry := c.Body.(*syntax.DictEntry)
	for i, clause := range c.Clauses {
		switch clause := clause.(type) {
		case *syntax.ForClause:
			clause.Vars, clause.X = l.target(clause.Vars), l.expr(clause.X)
			if i > 0 || !mayBeLong(clause.X) {
				continue
			}
			end := syntax.End(clause.X)
			if !entry && len(c.Clauses) == 1 {
				clause.X = call(Elements, clause.In, end, clause.X)
			} else {
				clause.X = call(Pace, clause.In, end, clause.X, truth(clause.In, entry), truth(clause.In, slices.ContainsFunc(c.Clauses[1:], isLoop)))
			}
		case *syntax.IfClause:
			clause.Cond = l.expr(clause.Cond)
		}
	}
	if c.Curly && !entry {
		c.Curly = false
		return call(MakeSet, c.Lbrack, c.Rbrack, c)
	}
	return c
}

// isLoop reports whether a clause of a comprehension is a loop.
func isLoop(n syntax.Node) bool {
	_, ok := n.(*syntax.ForClause)
	return ok
}

// truth returns True or False at a place of the source.
func truth(pos syntax.Position, is bool) *syntax.Ident {
	return &syntax.Ident{Name: map[bool]string{true: "True", false: "False"}[is], NamePos: pos}
}

// mayBeLong reports whether nothing in the source says that x has few elements.
func mayBeLong(x syntax.Expr) bool {
	switch x := x.(type) {
	case *syntax.ListExpr, *syntax.TupleExpr, *syntax.DictExpr:
		return false
	case *syntax.ParenExpr:
		return mayBeLong(x.X)
	case *syntax.CallExpr:
		name, ok := x.Fn.(*syntax.Ident)
		return !ok || name.Name != "range" || slices.ContainsFunc(x.Args, isLong)
	}
	return true
}

// isLong reports whether x may be a number of more than five digits, or is none of the source.
func isLong(x syntax.Expr) bool {
	lit, ok := x.(*syntax.Literal)
	return !ok || len(lit.Raw) > 5
}

// functions are called by the operators that Starlark has not, or not in full.
var functions = map[Token]string{AT: MatMul, syntax.STARSTAR: Power, syntax.PERCENT: Modulo}

func (l *lowerer) binary(b *syntax.BinaryExpr) syntax.Expr {
	if name := functions[b.Op]; name != "" {
		return call(name, b.OpPos, syntax.End(b), l.expr(b.X), l.expr(b.Y))
	}
	if b.Op == syntax.STAR && l.repeats(b.X, b.Y) {
		return call(Times, b.OpPos, syntax.End(b), l.expr(b.X), l.expr(b.Y))
	}
	if x, name := b.X.(*syntax.Ident); name && b.Op == syntax.PLUS && l.grows(x, b.Y) {
		b.Y = call(Grow, b.OpPos, syntax.End(b), again(x), l.expr(b.Y))
		return b
	}
	if x, name := b.X.(*syntax.Ident); name && b.Op == syntax.PIPE && l.unites(x, b.Y) {
		b.Y = call(Union, b.OpPos, syntax.End(b), again(x), l.expr(b.Y))
		return b
	}
	if levelOf[b.Op] == comparisons {
		if left, ok := b.X.(*syntax.BinaryExpr); ok && isComparison(left) {
			return l.chain(b)
		}
		l.identity(b)
	}
	if b.Op != syntax.EQ { // else the name of an argument
		b.X = l.expr(b.X)
	}
	b.Y = l.expr(b.Y)
	return b
}

func isComparison(b *syntax.BinaryExpr) bool {
	n, ok := levelOf[b.Op]
	return ok && n == comparisons
}

// identity turns is into ==, where that is the same.
func (l *lowerer) identity(b *syntax.BinaryExpr) {
	if b.Op != syntax.IS && b.Op != ISNOT {
		return
	}
	if !isSingleton(b.X) && !isSingleton(b.Y) {
		fail(b.OpPos, "is compares with None, True or False alone: write == to compare values")
	}
	was := b.Op
	if b.Op = syntax.EQL; was == ISNOT {
		b.Op = syntax.NEQ
	}
}

func isSingleton(x syntax.Expr) bool {
	id, ok := x.(*syntax.Ident)
	return ok && (id.Name == "None" || id.Name == "True" || id.Name == "False")
}
