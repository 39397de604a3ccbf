package check

import (
	"slices"

	"go.starlark.net/syntax"

	"tpsh/lang/analysis"
	"tpsh/lang/source"
)

// guard finds the guarded expressions. A function keeps failures if it gives an argument
// to attempt or assert.fails, or to one that does; the argument is guarded. In
// a program with such functions a lambda is guarded, and a function that is a value,
// unless it goes straight to a function of the language: it may get there by other ways.
func (c *checker) guard() {
	c.guarded, c.guarding = map[syntax.Node]bool{}, map[*analysis.Symbol]bool{}
	for grown := true; grown; {
		grown = false
		for _, sym := range c.Scope.Order {
			if !c.guarding[sym] && c.keeps(sym) {
				c.guarding[sym], grown = true, true
			}
		}
	}
	if len(c.guarding) == 0 && !c.mentionsKeeper() {
		return
	}
	called := map[syntax.Node]bool{}
	source.Walk(c.Tree, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CallExpr:
			called[n.Fn] = true
			c.guardArgs(n, called)
		case *syntax.LambdaExpr:
			c.guarded[n] = c.guarded[n] || !called[n]
		case *syntax.Ident:
			if d := c.def(n); d != nil && d.Name != n && !called[n] {
				c.guarded[d] = true
			}
		}
		return true
	})
}

// mentionsKeeper reports whether attempt or assert.fails is in the program.
func (c *checker) mentionsKeeper() bool {
	found := false
	source.Walk(c.Tree, func(n syntax.Node) bool {
		x, ok := n.(syntax.Expr)
		found = found || ok && c.keepsFailures(x)
		return !found
	})
	return found
}

// def returns the function of the program that a name stands for, or nil.
func (c *checker) def(id *syntax.Ident) *syntax.DefStmt {
	sym := c.Symbol(id)
	if sym == nil || len(sym.Binds) != 1 {
		return nil
	}
	d, _ := sym.Binds[0].By.(*syntax.DefStmt)
	if d != nil && d.Name.Name != id.Name {
		return nil // a parameter of it
	}
	return d
}

// guardArgs guards arguments of a function that keeps failures. What goes to another of
// the language is called by it.
func (c *checker) guardArgs(call *syntax.CallExpr, called map[syntax.Node]bool) {
	keeps := c.keepsFailures(call.Fn)
	t := c.TypeOf(call.Fn)
	for _, a := range call.Args {
		if keeps {
			c.guarded[a] = true
			continue
		}
		if _, v := analysis.Keyword(a); v != nil {
			a = v
		}
		if t != nil && t.Path != "" && t.Path != "nn.Module" && t.Path != "struct" {
			called[a] = true
		}
	}
}

// keepsFailures reports whether a function keeps failures of its arguments.
func (c *checker) keepsFailures(fn syntax.Node) bool {
	switch fn := fn.(type) {
	case *syntax.Ident:
		sym := c.Symbol(fn)
		return sym != nil && (c.guarding[sym] || sym.Kind == analysis.Predeclared && fn.Name == "attempt")
	case *syntax.DotExpr:
		id, ok := fn.X.(*syntax.Ident)
		return ok && id.Name == "assert" && fn.Name.Name == "fails" || c.keepsFailures(fn.X)
	}
	return false
}

// keeps reports whether a symbol of the file is a function that keeps failures.
func (c *checker) keeps(sym *analysis.Symbol) bool {
	for _, b := range sym.Binds {
		switch by := b.By.(type) {
		case *syntax.DefStmt:
			if c.keepsGiven(by, by.Params) {
				return true
			}
		case *syntax.LoadStmt:
			return c.lang.loadedKeeps(c.File, sym)
		case *syntax.AssignStmt:
			if l, ok := analysis.Value(by).(*syntax.LambdaExpr); ok && c.keepsGiven(l, l.Params) || c.handsOn(analysis.Value(by)) {
				return true
			}
		}
	}
	return false
}

// handsOn reports whether a value is a function that keeps failures: assert.fails as
// it is, or the result of a call with it.
func (c *checker) handsOn(x syntax.Expr) bool {
	if c.keepsFailures(x) {
		return true
	}
	call, ok := x.(*syntax.CallExpr)
	return ok && slices.ContainsFunc(call.Args, c.handsOn)
}

// keepsGiven reports whether a function calls its argument inside a function that keeps
// failures, or hands it on to that.
func (c *checker) keepsGiven(fn syntax.Node, params []syntax.Expr) bool {
	given := map[*analysis.Symbol]bool{}
	for _, p := range params {
		if id := analysis.ParamIdent(p); id != nil {
			given[c.Symbol(id)] = true
		}
	}
	found := false
	c.Tree.WalkNode(fn, func(n syntax.Node) bool {
		call, ok := n.(*syntax.CallExpr)
		if ok && c.keepsFailures(call.Fn) {
			for _, a := range call.Args {
				found = found || c.calls(a, given)
			}
		}
		return !found
	})
	return found
}

// calls reports whether an argument of a function that keeps failures may call one of some
// parameters: it is one, or calls it, or gives it to a function to call.
func (c *checker) calls(a syntax.Expr, given map[*analysis.Symbol]bool) bool {
	isGiven := func(x syntax.Expr) bool {
		if u, ok := x.(*syntax.UnaryExpr); ok && u.X != nil {
			x = u.X
		}
		id, ok := x.(*syntax.Ident)
		return ok && given[c.Symbol(id)]
	}
	if _, v := analysis.Keyword(a); v != nil {
		a = v
	}
	found := isGiven(a)
	c.Tree.WalkNode(a, func(n syntax.Node) bool {
		if call, ok := n.(*syntax.CallExpr); ok {
			found = found || isGiven(call.Fn) || slices.ContainsFunc(call.Args, isGiven)
		}
		return !found
	})
	return found
}

// loadedKeeps reports whether a loaded name is a function that keeps failures, or
// cannot be looked at.
func (l *Language) loadedKeeps(from *analysis.File, sym *analysis.Symbol) bool {
	other, there := from.Loaded(sym)
	if there == nil {
		return true
	}
	if kept, ok := l.kept[other]; ok {
		return kept[there]
	}
	if l.keeping[there] {
		l.circles++
		return false
	}
	l.keeping[there] = true
	defer delete(l.keeping, there)
	circles := l.circles
	in := &checker{File: other, lang: l}
	in.guard()
	if l.circles == circles { // else some of it was not looked at
		if l.kept == nil {
			l.kept = map[*analysis.File]map[*analysis.Symbol]bool{}
		}
		l.kept[other] = in.guarding
	}
	return in.guarding[there]
}
