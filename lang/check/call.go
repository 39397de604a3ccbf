package check

import (
	"fmt"
	"slices"
	"strings"

	"go.starlark.net/syntax"

	"tpsh/internal/spell"
	"tpsh/lang/analysis"
)

// nearest returns the end of a message about a misspelt name, or "" if none of names is near.
func nearest(name string, names []string) string {
	if n := spell.Nearest(name, names); n != "" {
		return fmt.Sprintf(" (did you mean %s?)", n)
	}
	return ""
}

// call reports arguments that none of the functions takes which a call may be of, and
// those that they lack.
func (c *checker) call(call *syntax.CallExpr) {
	list := c.Callees(call)
	dot, isMember := call.Fn.(*syntax.DotExpr)
	guessed := c.TypeOf(call.Fn) == nil || len(list) > 1
	if len(list) == 0 || guessed && isMember && (c.given[dot.Name.Name] || c.undefined(dot.X)) {
		return
	}
	var told []Finding // of the method that all tensors have, if it is among them, else of the first
	for i, callee := range list {
		saved := c.found
		c.found = nil
		c.arguments(call, callee)
		found := c.found
		c.found = saved
		if len(found) == 0 {
			return
		}
		if i == 0 || strings.HasPrefix(callee.Path, "Tensor.") {
			told = found
		}
	}
	c.found = append(c.found, told...)
}

// undefined reports whether an expression begins with a name that is not defined, which is
// reported as such.
func (c *checker) undefined(x syntax.Expr) bool {
	for {
		switch v := x.(type) {
		case *syntax.DotExpr:
			x = v.X
			continue
		case *syntax.Ident:
			sym := c.Symbol(v)
			return sym == nil || sym.Kind == analysis.Unknown
		}
		return false
	}
}

// arguments reports mistakes in a call of one function.
func (c *checker) arguments(call *syntax.CallExpr, fn analysis.Callee) {
	given, positional, open := map[string]bool{}, 0, false
	for _, a := range call.Args {
		if u, ok := a.(*syntax.UnaryExpr); ok && (u.Op == syntax.STAR || u.Op == syntax.STARSTAR) {
			open = true
			continue
		}
		if name, v := analysis.Keyword(a); name != "" {
			c.keyword(fn, a.(*syntax.BinaryExpr).X.(*syntax.Ident), given)
			c.literal(fn, name, v)
			continue
		}
		if positional < len(fn.Params) && !open {
			if param := fn.Params[positional]; !fn.Rest || param != "dtype" { // else it is one more of any number: the 3 of zeros(2, 3)
				c.literal(fn, param, a)
			}
		}
		positional++
	}
	if positional > len(fn.Params) && !fn.Rest {
		c.report(syntax.Start(call), "arguments", "%s: got %d arguments by position, want at most %d", fn.Name, positional, len(fn.Params))
	}
	for name := range given {
		// It may be another name of one that is required.
		open = open || !slices.Contains(fn.Params, name) && !slices.Contains(fn.Required, name)
	}
	before := len(c.found)
	for _, name := range fn.Required {
		at := slices.Index(fn.Params, name)
		if !open && !given[name] && (at < 0 || at >= positional) {
			c.report(syntax.Start(call), "arguments", "%s: the argument %s is missing", fn.Name, name)
		}
	}
	if n := positional + len(given); !open && n < fn.Least && len(c.found) == before {
		c.report(syntax.Start(call), "arguments", "%s: got %d arguments, want at least %d", fn.Name, n, fn.Least)
	}
	for i, name := range fn.Params {
		if given[name] && i < positional && !fn.Rest {
			c.report(syntax.Start(call), "arguments", "%s: the argument %s is given by position and by name", fn.Name, name)
		}
	}
}

// keyword reports a keyword that a function does not take.
func (c *checker) keyword(fn analysis.Callee, id *syntax.Ident, given map[string]bool) {
	given[id.Name] = true
	if fn.Keywords != nil && !fn.Keywords[id.Name] {
		hint := nearest(id.Name, fn.Known())
		if c.lang.Instead != nil && fn.Func == nil && c.lang.Instead(id.Name) != "" {
			hint = " (" + c.lang.Instead(id.Name) + ")"
		}
		c.report(id.NamePos, "arguments", "%s: takes no keyword %s%s", fn.Name, id.Name, hint)
	}
}

// refusals are the literals that parameters refuse, by the types that these want.
var refusals = map[string]struct{ kinds, want string }{
	"tensor": {"string int float list", "a tensor"}, "operand": {"string list", "a tensor or a number"},
	"int": {"string float list", "an int"}, "ints": {"string float", "an int or a list of ints"}, "number": {"string list", "a number"},
	"dtype": {"int float", "a dtype"}, "string": {"int float list", "a string"},
}

// wrongLiteral reports a literal of a type that a parameter refuses.
func (c *checker) wrongLiteral(fn analysis.Callee, param string, v syntax.Expr) {
	if c.lang.Wants == nil {
		return
	}
	no, got := refusals[c.lang.Wants(fn.Path, param)], ""
	switch x := v.(type) {
	case *syntax.Literal:
		if t := c.TypeOf(x); t != nil {
			got = t.Name
		}
	case *syntax.ListExpr:
		got = "list"
	}
	if got != "" && strings.Contains(no.kinds, got) {
		c.report(syntax.Start(v), "arguments", "%s: for parameter %q: got a %s, want %s", fn.Name, param, strings.Replace(got, "int", "number", 1), no.want)
	}
}

// literal reports a string that a parameter of the language does not take.
func (c *checker) literal(fn analysis.Callee, param string, v syntax.Expr) {
	c.wrongLiteral(fn, param, v)
	text, ok := analysis.Text(v)
	if !ok || fn.Path == "" {
		return
	}
	of := c.lang.Choices[fn.Path+"."+param]
	if param == "reduce_op" && of == nil {
		of = c.lang.Choices[fn.Path+".op"]
	}
	switch {
	case param == "dtype":
		of = c.lang.DTypes
	case param == "device" && fn.Keywords[param]:
		of = c.lang.Devices
	}
	if of != nil && !slices.Contains(of, text) {
		c.report(syntax.Start(v), "choice", "%s: for parameter %q: got %q, want %s%s", fn.Name, param, text, oneOf(of), nearest(text, of))
	}
}

// oneOf lists the strings that a parameter takes.
func oneOf(list []string) string {
	if len(list) == 1 {
		return fmt.Sprintf("%q", list[0])
	}
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = fmt.Sprintf("%q", s)
	}
	return "one of " + strings.Join(quoted, ", ")
}
