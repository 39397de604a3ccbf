package check

import (
	"fmt"
	"slices"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"tpsh/internal/spell"
	"tpsh/lang/source"
)

// walk reports wrong members and arguments, but for those of guarded expressions.
func (c *checker) walk() {
	c.guard()
	source.Walk(c.file, func(n syntax.Node) bool {
		if n == nil || c.guarded[n] {
			return false
		}
		switch n := n.(type) {
		case *syntax.DotExpr:
			c.member(n)
		case *syntax.CallExpr:
			c.call(n)
		}
		return true
	})
}

// guard finds the guarded expressions.
func (c *checker) guard() {
	c.guarded, c.guarding = map[syntax.Node]bool{}, map[string]bool{"attempt": true, "assert": true}
	for name := range c.loaded {
		c.guarding[name] = true
	}
	used := c.guardsAnything()
	for grown := true; grown; {
		grown = false
		for name, d := range c.defs {
			if !c.guarding[name] && c.guardsIn(d) {
				c.guarding[name], grown = true, true
			}
		}
	}
	if !used {
		return
	}
	callees := map[syntax.Node]bool{}
	source.Walk(c.file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CallExpr:
			callees[n.Fn] = true
			c.guardArgs(n)
		case *syntax.LambdaExpr:
			c.guarded[n] = true
		case *syntax.Ident:
			if d := c.defs[n.Name]; d != nil && d.Name != n && !callees[n] {
				c.guarded[d] = true
			}
		}
		return true
	})
}

// guardArgs guards what goes to a function that keeps failures.
func (c *checker) guardArgs(call *syntax.CallExpr) {
	path := dotted(call.Fn)
	name, _, _ := strings.Cut(path, ".")
	if path == "" || name == "assert" && path != "assert.fails" || !c.guarding[name] {
		return
	}
	for _, a := range call.Args {
		c.guarded[a] = true
	}
}

// guardsAnything reports whether the program keeps failures, or may.
func (c *checker) guardsAnything() bool {
	return len(c.loaded) > 0 || c.guardsIn(c.file.File)
}

// guardsIn reports whether a function keeps failures of others.
func (c *checker) guardsIn(n syntax.Node) bool {
	found := false
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.DotExpr:
			found = found || dotted(n) == "assert.fails"
			return !found && dotted(n) == ""
		case *syntax.Ident:
			found = found || n.Name != "assert" && c.guarding[n.Name]
		}
		return !found
	})
	return found
}

// dotted returns the path of names that x is, or "".
func dotted(x syntax.Node) string {
	switch x := x.(type) {
	case *syntax.Ident:
		return x.Name
	case *syntax.DotExpr:
		if p := dotted(x.X); p != "" {
			return p + "." + x.Name.Name
		}
	}
	return ""
}

// value returns the value of a path of names, if it is the language's.
func (c *checker) value(path string) starlark.Value {
	parts := strings.Split(path, ".")
	if path == "" || c.bound[parts[0]] > 0 {
		return nil
	}
	v := c.lang.Names[parts[0]]
	for _, part := range parts[1:] {
		h, ok := v.(starlark.HasAttrs)
		if !ok {
			return nil
		}
		if v, _ = h.Attr(part); v == nil {
			return nil
		}
	}
	return v
}

// member reports an attribute that a value of the language has not.
func (c *checker) member(x *syntax.DotExpr) {
	owner := dotted(x.X)
	h, ok := c.value(owner).(starlark.HasAttrs)
	if !ok {
		return
	}
	names := h.AttrNames()
	if v, _ := h.Attr(x.Name.Name); v == nil && !slices.Contains(names, x.Name.Name) {
		c.report(x.Name.NamePos, "member", "%s has no .%s%s", owner, x.Name.Name, nearest(x.Name.Name, names))
	}
}

func nearest(name string, names []string) string {
	if n := spell.Nearest(name, names); n != "" {
		return fmt.Sprintf(" (did you mean %s?)", n)
	}
	return ""
}

// call reports arguments that a function does not take, and those that it lacks.
func (c *checker) call(call *syntax.CallExpr) {
	path := dotted(call.Fn)
	sig, ok := c.signature(path)
	if !ok {
		return
	}
	given, positional, open := map[string]bool{}, 0, false
	for _, a := range call.Args {
		switch a := a.(type) {
		case *syntax.UnaryExpr:
			if a.Op == syntax.STAR || a.Op == syntax.STARSTAR {
				open = true
				continue
			}
		case *syntax.BinaryExpr:
			if id, ok := a.X.(*syntax.Ident); ok && a.Op == syntax.EQ {
				c.keyword(path, sig, id, given)
				continue
			}
		}
		positional++
	}
	if positional > len(sig.Params) && !sig.Rest {
		c.report(syntax.Start(call), "arguments", "%s: got %d arguments by position, want at most %d", path, positional, len(sig.Params))
	}
	for name := range given {
		// It may be another name of one that is required.
		open = open || !slices.Contains(sig.Params, name) && !slices.Contains(sig.Required, name)
	}
	for _, name := range sig.Required {
		at := slices.Index(sig.Params, name)
		if !open && !given[name] && (at < 0 || at >= positional) {
			c.report(syntax.Start(call), "arguments", "%s: the argument %s is missing", path, name)
		}
	}
	for i, name := range sig.Params {
		if given[name] && i < positional && !sig.Rest {
			c.report(syntax.Start(call), "arguments", "%s: the argument %s is given by position and by name", path, name)
		}
	}
}

// keyword reports a keyword that a function does not take.
func (c *checker) keyword(path string, sig Signature, id *syntax.Ident, given map[string]bool) {
	given[id.Name] = true
	if sig.Keywords == nil || sig.Keywords[id.Name] {
		return
	}
	var names []string
	for name := range sig.Keywords {
		names = append(names, name)
	}
	slices.Sort(names)
	c.report(id.NamePos, "arguments", "%s: takes no keyword %s%s", path, id.Name, nearest(id.Name, names))
}

// signature returns that of a function of the language, or of one that the
// program binds once.
func (c *checker) signature(path string) (Signature, bool) {
	if d := c.defs[path]; d != nil && c.bound[path] == 1 {
		return signatureOf(d.Params), true
	}
	v := c.value(path)
	if v == nil || c.lang.Signature == nil {
		return Signature{}, false
	}
	return c.lang.Signature(path, v)
}

// signatureOf returns the signature of a function of a program.
func signatureOf(params []syntax.Expr) Signature {
	sig := Signature{Keywords: map[string]bool{}}
	named, anything := false, false
	add := func(name string, required bool) {
		sig.Keywords[name] = true
		if !named {
			sig.Params = append(sig.Params, name)
		}
		if required {
			sig.Required = append(sig.Required, name)
		}
	}
	for _, p := range params {
		switch p := p.(type) {
		case *syntax.Ident:
			add(p.Name, true)
		case *syntax.BinaryExpr:
			add(p.X.(*syntax.Ident).Name, false)
		case *syntax.UnaryExpr:
			sig.Rest = sig.Rest || p.Op == syntax.STAR && p.X != nil
			anything = anything || p.Op == syntax.STARSTAR
			named = true
		}
	}
	if anything {
		sig.Keywords = nil
	}
	return sig
}
