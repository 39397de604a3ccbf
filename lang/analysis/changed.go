package analysis

import (
	"go.starlark.net/syntax"

	"tpsh/lang/source"
)

// held returns the type of what a variable or an attribute holds whose value began as one of type t: into lists and
// dicts programs put elements. sym is the variable, or nil.
func (f *File) held(t *Type, sym *Symbol) *Type {
	if t == nil || t.Name != "list" && t.Name != "dict" && t.Name != "tuple" {
		return t
	}
	if f.changes().elements[sym] {
		return &Type{Name: t.Name}
	}
	element := f.settled
	if t.Name == "tuple" {
		element = func(t *Type) *Type { return f.held(t, nil) }
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
	return f.held(t, nil)
}

// changes are what a program puts elsewhere than into variables.
type changes struct {
	elements   map[*Symbol]bool // the lists and dicts into which it puts elements
	attributes map[string]bool  // the names of attributes that it gives to values
}

// changes returns what the program changes.
func (f *File) changes() *changes {
	if f.changed != nil {
		return f.changed
	}
	f.changed = &changes{map[*Symbol]bool{}, map[string]bool{}}
	source.Walk(f.Tree, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.AssignStmt:
			for _, x := range Targets(n) {
				f.noteChange(x)
			}
		case *syntax.CallExpr:
			if d, ok := n.Fn.(*syntax.DotExpr); ok && fills[d.Name.Name] {
				f.change(d.X)
			}
		}
		return true
	})
	return f.changed
}

// fills are the methods that put elements into a list or dict.
var fills = map[string]bool{"append": true, "extend": true, "insert": true, "setdefault": true, "update": true}

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
	case *syntax.Ident:
		sym := f.symbolOf[x]
		if sym == nil || f.changed.elements[sym] {
			return
		}
		f.changed.elements[sym] = true
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
