package analysis

import (
	"go.starlark.net/syntax"

	"tpsh/lang/source"
)

// held returns the type of what a variable or an attribute holds whose value began as one of type t: into lists,
// dicts and modules programs put elements. filled says that this one does.
func (f *File) held(t *Type, filled bool) *Type {
	if t == nil || t.Name != "list" && t.Name != "dict" && t.Name != "tuple" && t.Name != "Module" {
		return t
	}
	if filled {
		return &Type{Name: t.Name, Class: t.Class}
	}
	if t.Name == "Module" {
		return t
	}
	element := f.settled
	if t.Name == "tuple" {
		element = func(t *Type) *Type { return f.held(t, false) }
	}
	out := &Type{Name: t.Name, Elem: element(t.Elem)}
	for _, item := range t.Items {
		out.Items = append(out.Items, element(item))
	}
	return out
}

// settled returns the type that an element of a list or dict keeps: nothing is known of those that begin as None, a bool
// or a number, whose places programs fill later.
func (f *File) settled(t *Type) *Type {
	if t == nil {
		return nil
	}
	switch t.Name {
	case "NoneType", "bool", "int", "float":
		return nil
	}
	return f.held(t, false)
}

// changes are what a program puts elsewhere than into variables.
type changes struct {
	elements   map[*Symbol]bool // the variables into whose values it puts elements
	within     map[string]bool  // the names of attributes into whose values it does
	attributes map[string]bool  // the names of attributes that it gives to values; "" of any
	parameters bool             // whether any of the variables is a parameter
}

func (c *changes) count() int { return len(c.elements) + len(c.within) }

// changes returns what the program changes.
func (f *File) changes() *changes {
	if f.changed != nil {
		return f.changed
	}
	f.changed = &changes{elements: map[*Symbol]bool{}, within: map[string]bool{}, attributes: map[string]bool{}}
	var calls []*syntax.CallExpr
	source.Walk(f.Tree, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.AssignStmt:
			for _, x := range Targets(n) {
				f.noteChange(x)
			}
		case *syntax.CallExpr:
			calls = append(calls, n)
			if d, ok := n.Fn.(*syntax.DotExpr); ok && fills[d.Name.Name] {
				f.change(d.X)
			}
			if f.isPredeclared(n.Fn, "setattr") && len(n.Args) > 1 {
				name, _ := Text(n.Args[1])
				f.changed.attributes[name] = true
			}
		}
		return true
	})
	for before := -1; before < f.changed.count(); {
		before = f.changed.count()
		for _, call := range calls {
			f.changeArguments(call)
		}
	}
	return f.changed
}

// isPredeclared reports whether x is that name of the language.
func (f *File) isPredeclared(x syntax.Expr, name string) bool {
	id, ok := x.(*syntax.Ident)
	return ok && id.Name == name && f.symbolOf[id] != nil && f.symbolOf[id].Kind == Predeclared
}

// changeArguments notes the arguments of a call whose elements the called function changes, or may, and those that
// become attributes whose elements change.
func (f *File) changeArguments(call *syntax.CallExpr) {
	id, named := call.Fn.(*syntax.Ident)
	var sym *Symbol
	if named {
		sym = f.symbolOf[id]
	}
	known := sym != nil && (sym.Kind == Predeclared || sym.Kind == Unknown)
	unseen := sym != nil && sym.Kind == Loaded
	file, def := f.definition(sym)
	spread := false // behind *x nobody knows to which parameter an argument goes
	for i, a := range call.Args {
		name, v := Keyword(a)
		if name == "" {
			v = a
		}
		if u, ok := a.(*syntax.UnaryExpr); ok && (u.Op == syntax.STAR || u.Op == syntax.STARSTAR) {
			spread = true
		}
		switch {
		case name != "" && f.changed.within[name],
			def == nil && !known && (unseen || f.changed.parameters),
			def != nil && spread && file.changes().parameters,
			def != nil && file.changesParameter(def, i, name):
			f.change(v)
		}
	}
}

// definition returns the function that a symbol stands for, which is bound once, and the file it is in; else nil.
func (f *File) definition(sym *Symbol) (*File, *syntax.DefStmt) {
	if sym != nil && sym.Kind == Loaded {
		f, sym = f.Loaded(sym)
	}
	if sym == nil || len(sym.Binds) != 1 {
		return nil, nil
	}
	def, ok := sym.Binds[0].By.(*syntax.DefStmt)
	if !ok || def.Name != sym.Binds[0].Ident {
		return nil, nil
	}
	return f, def
}

// changesParameter reports whether a function of the file changes elements of the parameter to which argument i of a
// call goes, or the one that a keyword names; or may, where that is not known.
func (f *File) changesParameter(def *syntax.DefStmt, i int, keyword string) bool {
	changed := f.changes()
	for k, p := range def.Params {
		id := ParamIdent(p)
		if _, star := p.(*syntax.UnaryExpr); star || id == nil {
			return changed.parameters
		}
		if k == i && keyword == "" || id.Name == keyword {
			return changed.elements[f.symbolOf[id]]
		}
	}
	return changed.parameters
}

// fills are the methods that put elements into a list, a dict or a module, or to other places in it.
var fills = map[string]bool{"append": true, "extend": true, "insert": true, "pop": true, "remove": true, "setdefault": true, "update": true}

// noteChange notes what the target x of an assignment changes.
func (f *File) noteChange(x syntax.Expr) {
	switch x := x.(type) {
	case *syntax.ParenExpr:
		f.noteChange(x.X)
	case *syntax.TupleExpr:
		for _, e := range x.List {
			f.noteChange(e)
		}
	case *syntax.ListExpr:
		for _, e := range x.List {
			f.noteChange(e)
		}
	case *syntax.DotExpr:
		f.changed.attributes[x.Name.Name] = true
	case *syntax.IndexExpr:
		f.change(x.X)
	case *syntax.SliceExpr:
		f.change(x.X)
	}
}

// change notes that elements of x change, and of what x is an element of or another name for.
func (f *File) change(x syntax.Expr) {
	switch x := x.(type) {
	case *syntax.ParenExpr:
		f.change(x.X)
	case *syntax.IndexExpr:
		f.change(x.X)
	case *syntax.UnaryExpr: // *x
		f.change(x.X)
	case *syntax.DotExpr:
		f.changed.within[x.Name.Name] = true
	case *syntax.Ident:
		sym := f.symbolOf[x]
		if sym == nil || f.changed.elements[sym] {
			return
		}
		f.changed.elements[sym] = true
		f.changed.parameters = f.changed.parameters || sym.Kind == Parameter
		for _, b := range sym.Binds {
			switch by := b.By.(type) {
			case *syntax.AssignStmt:
				f.change(Value(by))
			case *syntax.ForStmt:
				f.change(by.X)
			}
		}
	}
}
