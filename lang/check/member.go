package check

import (
	"slices"
	"strings"
	"unicode"

	"go.starlark.net/syntax"

	"tpsh/lang/analysis"
	"tpsh/lang/source"
)

// member reports an attribute that a value has not: of values of which it is known which those
// are; of others if no value has it at all.
func (c *checker) member(x *syntax.DotExpr) {
	name := x.Name.Name
	t := c.TypeOf(x.X)
	if t.IsAny() {
		return
	}
	if names, all := c.Members(t); all {
		if slices.Contains(names, name) || c.given[name] && !fixed(t) {
			return
		}
		c.report(x.Name.NamePos, "member", "%s has no .%s%s", describe(x.X, t), name, nearest(name, names))
		return
	}
	if c.wild || c.any[name] || c.given[name] || c.isNumbered(name) {
		return
	}
	if hint := nearest(name, c.attributes()); hint != "" || !c.open {
		c.report(x.Name.NamePos, "member", "no value has .%s%s", name, hint)
	}
}

// unnumbered returns a name without its digits: a value that has weight_l0 may have weight_l7.
func unnumbered(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return -1
		}
		return r
	}, name)
}

// isNumbered reports whether a name is one that values have, but for its number and
// the text behind that: weight_l7 and weight_l7_reverse.
func (c *checker) isNumbered(name string) bool {
	short := unnumbered(name)
	for of := range c.numbered {
		if short != name && strings.HasPrefix(short, of) {
			return true
		}
	}
	return false
}

// fixed reports whether programs cannot give attributes to values of a type.
func fixed(t *analysis.Type) bool {
	return t.Name != "Module" && t.Name != "struct" && t.Name != "Tensor" && t.Name != "Optimizer"
}

// describe names a value: by its path, or by its type.
func describe(x syntax.Expr, t *analysis.Type) string {
	if t.Path != "" {
		return t.Path
	}
	of := t.Name
	switch {
	case t.Name == "Tensor", t.Name == "Module" && t.Class == "":
		of = strings.ToLower(t.Name)
	case t.Name == "Module":
		of = strings.TrimPrefix(t.Class, "nn.")
	}
	if strings.ContainsAny(of[:1], "AEIOUaeiou") {
		of = "an " + of
	} else {
		of = "a " + of
	}
	if id, ok := x.(*syntax.Ident); ok {
		return id.Name + ", " + of + ","
	}
	return of
}

// attributes lists those that values have, of the language and of the program.
func (c *checker) attributes() []string {
	var names []string
	for _, of := range []map[string]bool{c.any, c.given} {
		for name := range of {
			if len(name) > 2 {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// learn notes which attributes the values of the program may have. A file that does
// nothing but define is used by others, from which its values come: those beside it
// and in the folder above are looked at.
func (c *checker) learn() {
	c.any, c.given, c.keys, c.words = c.lang.allMembers(), map[string]bool{}, map[string]bool{}, map[string]int{}
	c.numbered, c.joined = map[string]bool{}, map[string]bool{}
	seen := map[*analysis.File]bool{}
	c.learnFrom(c.File, seen)
	if !c.runs() {
		users := c.lang.Users(c.File)
		for _, f := range users {
			c.learnFrom(f, seen)
		}
		c.open = c.open || len(users) == 0
		if len(users) == 0 {
			c.learnUsed()
		}
	}
	for name := range c.any {
		if short := unnumbered(name); short != name && len(short) > 2 {
			c.numbered[short] = true
		}
	}
	if c.computed {
		c.open = true
		for name := range c.keys {
			c.given[name] = true
		}
		for word := range c.words {
			c.given[word] = true
		}
	}
}

// learnUsed takes every attribute of the file for one that some value has: nothing is
// known of where its values come from.
func (c *checker) learnUsed() {
	source.Walk(c.Tree, func(n syntax.Node) bool {
		if d, ok := n.(*syntax.DotExpr); ok {
			c.given[d.Name.Name] = true
		}
		return true
	})
}

// runs reports whether the file does more than to define names.
func (c *checker) runs() bool {
	if strings.HasSuffix(c.Path, "_test.star") {
		return true
	}
	return slices.ContainsFunc(c.Tree.Stmts, func(s syntax.Stmt) bool {
		switch s := s.(type) {
		case *syntax.ExprStmt:
			_, isCall := s.X.(*syntax.CallExpr)
			return isCall
		case *syntax.ForStmt, *syntax.WhileStmt, *syntax.IfStmt:
			return true
		case *syntax.DefStmt:
			return strings.HasPrefix(s.Name.Name, "test_") || strings.HasPrefix(s.Name.Name, "bench_")
		}
		return false
	})
}

// learnFrom notes the attributes that a file gives, and those that it loads.
func (c *checker) learnFrom(f *analysis.File, seen map[*analysis.File]bool) {
	if f == nil || f.Tree == nil || seen[f] {
		c.open = c.open || f == nil
		return
	}
	seen[f] = true
	source.Walk(f.Tree, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.AssignStmt:
			for _, x := range analysis.Targets(n) {
				c.learnTarget(x)
			}
		case *syntax.DictEntry:
			c.learnKey(n.Key)
		case *syntax.CallExpr:
			c.learnCall(f, n)
		case *syntax.Literal:
			if text, ok := n.Value.(string); ok && !strings.Contains(n.Raw, `"""`) {
				c.learnText(text)
			}
		}
		return true
	})
	for _, l := range f.Loads() {
		c.learnFrom(f.Load(l.Module.Value.(string)), seen)
	}
}

// learnText notes the words of a text: names of dims are among them, and where
// attributes are computed these are, too.
func (c *checker) learnText(text string) {
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		c.words[word]++
	}
}

// learnName notes an attribute that a call gives by its name.
func (c *checker) learnName(x syntax.Expr) {
	if name, ok := analysis.Text(x); ok {
		c.given[name] = true
	}
}

// learnKey notes a key of a dict, which may become an attribute.
func (c *checker) learnKey(x syntax.Expr) {
	if name, ok := analysis.Text(x); ok && analysis.IsName(name) {
		c.keys[name] = true
	}
}

func (c *checker) learnTarget(x syntax.Expr) {
	switch x := x.(type) {
	case *syntax.DotExpr:
		c.given[x.Name.Name] = true
	case *syntax.IndexExpr:
		c.learnKey(x.Y)
	case *syntax.ParenExpr:
		c.learnTarget(x.X)
	case *syntax.TupleExpr:
		for _, e := range x.List {
			c.learnTarget(e)
		}
	}
}

// learnJoined notes the name that mesh._flatten gives several dims together; "" is one that is not known.
func (c *checker) learnJoined(call *syntax.CallExpr) {
	name := ""
	if x := argument(call, 0, "mesh_dim_name"); x != nil {
		name, _ = analysis.Text(x)
	}
	c.joined[name] = true
}

// learnCall notes keywords that become attributes, and that some are computed.
func (c *checker) learnCall(f *analysis.File, call *syntax.CallExpr) {
	if d, ok := call.Fn.(*syntax.DotExpr); ok && d.Name.Name == "_flatten" {
		c.learnJoined(call)
	}
	makes := makes(f, call)
	if d, ok := call.Fn.(*syntax.DotExpr); ok && strings.HasPrefix(d.Name.Name, "register_") && len(call.Args) > 0 {
		c.learnName(call.Args[0])
	}
	for _, a := range call.Args {
		name, _ := analysis.Keyword(a)
		if makes && name != "" {
			c.given[name] = true
		}
		if u, ok := a.(*syntax.UnaryExpr); ok && u.Op == syntax.STARSTAR && makes {
			c.computed = true
			c.wild = c.wild || !builtHere(f, u.X)
		}
		if id, ok := call.Fn.(*syntax.Ident); ok && id.Name == "dict" && name != "" {
			c.keys[name] = true
		}
	}
	t := f.TypeOf(call.Fn)
	c.meshes = c.meshes || t != nil && t.Path == "init_device_mesh"
	if t != nil && (t.Path == "getattr" || t.Path == "hasattr") && len(call.Args) > 1 {
		if name, ok := analysis.Text(call.Args[1]); ok {
			c.given[name] = true
		}
	}
}

// builtHere reports whether the keys of a dict are among those that the program writes:
// the dict is written out, or a variable that begins so, or the dict that a function was given
// by keywords.
func builtHere(f *analysis.File, x syntax.Expr) bool {
	switch x := x.(type) {
	case *syntax.ParenExpr:
		return builtHere(f, x.X)
	case *syntax.DictExpr, *syntax.Comprehension:
		return true
	case *syntax.BinaryExpr:
		return builtHere(f, x.X) && builtHere(f, x.Y)
	case *syntax.CondExpr:
		return builtHere(f, x.True) && builtHere(f, x.False)
	case *syntax.CallExpr:
		id, ok := x.Fn.(*syntax.Ident)
		return ok && id.Name == "dict"
	case *syntax.Ident:
		sym := f.Symbol(x)
		return sym != nil && len(sym.Binds) > 0 && !slices.ContainsFunc(sym.Binds, func(b analysis.Binding) bool { return !bindsDict(f, b) })
	}
	return false
}

func bindsDict(f *analysis.File, b analysis.Binding) bool {
	switch by := b.By.(type) {
	case *syntax.AssignStmt:
		if _, alone := by.LHS.(*syntax.Ident); alone {
			return builtHere(f, analysis.Value(by))
		}
		names, _ := analysis.Elements(by.LHS)
		values, _ := analysis.Elements(analysis.Value(by))
		at := slices.IndexFunc(names, func(x syntax.Expr) bool { return x == syntax.Expr(b.Ident) })
		return at >= 0 && len(values) == len(names) && builtHere(f, values[at])
	case *syntax.DefStmt:
		return slices.ContainsFunc(by.Params, func(p syntax.Expr) bool {
			u, ok := p.(*syntax.UnaryExpr)
			return ok && u.Op == syntax.STARSTAR && analysis.ParamIdent(p) == b.Ident
		})
	}
	return false
}

// makes reports whether a call may make a value with the attributes that it is given:
// struct, nn.Module, or a function that takes any keyword and may hand them on.
func makes(f *analysis.File, call *syntax.CallExpr) bool {
	t := f.TypeOf(call.Fn)
	switch {
	case t == nil:
		_, method := call.Fn.(*syntax.DotExpr)
		return !method
	case t.Func != nil:
		return t.Func.Signature().Keywords == nil
	}
	return t.Path == "struct" || t.Path == "module" || t.Path == "nn.Module"
}
