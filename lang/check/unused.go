package check

import (
	"slices"
	"strings"

	"go.starlark.net/syntax"

	"tpsh/lang/analysis"
)

// unused reports names that nothing uses: variables and functions inside functions;
// and, of a file that runs and that no other loads, those of the file. A result of a call may be bound for the
// call alone, and a name that begins with _ says that nothing uses it.
func (c *checker) unused() {
	for _, s := range c.Scopes() {
		if _, ok := s.Node.(*syntax.Comprehension); !ok {
			c.unusedIn(s)
		}
	}
	if c.runs() && !c.isTest() && len(c.lang.Users(c.File)) == 0 {
		c.unusedIn(c.Scope)
	}
}

func (c *checker) isTest() bool {
	for _, s := range c.Tree.Stmts {
		if d, ok := s.(*syntax.DefStmt); ok && (strings.HasPrefix(d.Name.Name, "test_") || strings.HasPrefix(d.Name.Name, "bench_")) {
			return true
		}
	}
	return strings.HasSuffix(c.Path, "_test.star")
}

func (c *checker) unusedIn(s *analysis.Scope) {
	for _, sym := range s.Order {
		if len(sym.Uses) > 0 || strings.HasPrefix(sym.Name, "_") || sym.Kind != analysis.Variable && sym.Kind != analysis.Func {
			continue
		}
		if s.IsFile() && strings.ToUpper(sym.Name) == sym.Name {
			continue // a constant, which other files and the tools may read
		}
		for _, b := range sym.Binds {
			if c.idle(b) {
				c.report(b.Ident.NamePos, "unused", "%s is bound, and nothing uses it", sym.Name)
			}
		}
	}
}

// idle reports whether a binding does nothing but to bind: no call, of which the
// binding could be all but the purpose.
func (c *checker) idle(b analysis.Binding) bool {
	switch by := b.By.(type) {
	case *syntax.DefStmt:
		return by.Name == b.Ident && !c.guarded[by]
	case *syntax.AssignStmt:
		_, alone := by.LHS.(*syntax.Ident)
		return alone && by.Op == syntax.EQ && !c.acts(by.RHS)
	}
	return false
}

// acts reports whether an expression may do more than to have a value: it calls, it
// assigns (b = x of a = b = x), or it may fail on purpose, as an index does.
func (c *checker) acts(x syntax.Expr) bool {
	acts := false
	c.Tree.WalkNode(x, func(n syntax.Node) bool {
		switch n.(type) {
		case *syntax.CallExpr, *syntax.IndexExpr, *syntax.DotExpr, *syntax.BinaryExpr:
			acts = true
		case *syntax.LambdaExpr:
			return false
		}
		return !acts
	})
	return acts
}

// blocks reports statements that nothing reaches.
func (c *checker) blocks(stmts []syntax.Stmt) {
	for i, s := range stmts {
		if i > 0 && c.Ends(stmts[i-1:i]) {
			c.report(syntax.Start(s), "unreachable", "nothing reaches this statement: it stands behind %s", ending(stmts[i-1]))
			break
		}
	}
	for _, s := range stmts {
		switch s := s.(type) {
		case *syntax.DefStmt:
			if !c.guarded[s] {
				c.blocks(s.Body)
			}
		case *syntax.ForStmt:
			c.blocks(s.Body)
		case *syntax.WhileStmt:
			c.blocks(s.Body)
		case *syntax.IfStmt:
			c.blocks(s.True)
			c.blocks(s.False)
		}
	}
}

// ending names the kind of statement behind which nothing is reached.
func ending(s syntax.Stmt) string {
	switch s := s.(type) {
	case *syntax.ReturnStmt:
		return "return"
	case *syntax.BranchStmt:
		return s.Token.String()
	case *syntax.IfStmt:
		return "branches that all end"
	case *syntax.WhileStmt:
		return "a loop without an end"
	}
	return "fail"
}

// tests reports tests that assert nothing, in files of tests.
func (c *checker) tests() {
	if !strings.HasSuffix(c.Path, "_test.star") {
		return
	}
	for _, s := range c.Tree.Stmts {
		if d, ok := s.(*syntax.DefStmt); ok && strings.HasPrefix(d.Name.Name, "test_") && !c.asserts(d, map[*syntax.DefStmt]bool{}) {
			c.report(d.Name.NamePos, "no-assert", "%s asserts nothing: no assert, fail or skip is reached from it", d.Name.Name)
		}
	}
}

// asserts reports whether a function can reach an assertion: a loaded file may
// have one.
func (c *checker) asserts(d *syntax.DefStmt, seen map[*syntax.DefStmt]bool) bool {
	seen[d] = true
	found := false
	c.Tree.WalkNode(d, func(n syntax.Node) bool {
		id, ok := n.(*syntax.Ident)
		if !ok || found {
			return !found
		}
		sym := c.Symbol(id)
		if sym == nil {
			return true
		}
		switch sym.Kind {
		case analysis.Predeclared:
			found = slices.Contains([]string{"assert", "fail", "gradcheck", "skip"}, id.Name)
		case analysis.Loaded:
			found = true
		default:
			other := c.def(id)
			found = other != nil && !seen[other] && c.asserts(other, seen)
		}
		return !found
	})
	return found
}
