package analysis

import (
	"slices"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// Members returns the names of the attributes of a type, and whether those are all.
func (f *File) Members(t *Type) (names []string, all bool) {
	switch {
	case t == nil:
		return nil, false
	case t.Name == "module" && t.Path != "" || t.Name == "function" && t.Path != "":
		if h, ok := f.Lang.value(t.Path).(starlark.HasAttrs); ok {
			return h.AttrNames(), true
		}
		return nil, t.Name == "function" && f.Lang.value(t.Path) != nil
	}
	list, known := f.Lang.Types[t.Name]
	names = slices.Clone(list)
	for name := range t.Fields {
		names = append(names, name)
	}
	for name := range f.Lang.Classes[t.Class] {
		if t.Name == "Module" && name != Others {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	switch t.Name {
	case "struct":
		return slices.Compact(names), t.All
	case "Module":
		return slices.Compact(names), f.Lang.closed(t)
	case "function", "module":
		return names, t.Func != nil
	}
	return slices.Compact(names), known
}

// typeOfMember returns the type of an attribute.
func (f *File) typeOfMember(t *Type, name string) *Type {
	switch {
	case t == nil || t.IsAny():
		return t
	case t.Name == "module" && t.Path != "":
		return f.Lang.typeOfName(t.Path + "." + name)
	case t.Name == "function" && t.Path != "":
		return f.Lang.typeOfName(t.Path + "." + name)
	}
	if field, ok := t.Fields[name]; ok {
		if changed := f.changes().attributes; t.Name == "Module" && (changed[name] || changed[""]) {
			return nil
		}
		return f.held(field, f.changes().within[name])
	}
	if t.Name == "Module" {
		if of := f.Lang.Classes[t.Class][name]; of != "" {
			return ofName(of)
		}
	}
	if !slices.Contains(f.Lang.Types[t.Name], name) {
		return nil
	}
	path := t.Name + "." + name
	if r := f.Lang.result(path); r != nil && !f.isMethod(path) {
		return r
	}
	if f.isMethod(path) {
		return &Type{Name: "function", Path: path, Elem: t}
	}
	return nil
}

// isMethod reports whether a member of a type is called.
func (f *File) isMethod(path string) bool {
	if f.Lang.Signature == nil {
		return false
	}
	owner, member, _ := strings.Cut(path, ".")
	return slices.ContainsFunc(f.Lang.kinds(owner, member), func(kind string) bool {
		_, ok := f.Lang.Signature(kind + "." + member)
		return ok
	})
}

// children returns the attributes of a module of a type with their types, and whether
// those are all.
func (f *File) children(t *Type) (map[string]*Type, bool) {
	if t == nil || t.Name != "Module" {
		return nil, false
	}
	out := map[string]*Type{}
	for name, of := range f.Lang.Classes[t.Class] {
		if x := ofName(of); x != nil {
			out[name] = x
		}
	}
	for name, field := range t.Fields {
		out[name] = field
	}
	return out, f.Lang.closed(t)
}

// closed reports whether the attributes of a module are all known.
func (l *Language) closed(t *Type) bool {
	fields, sampled := l.Classes[t.Class]
	_, others := fields[Others]
	return (sampled || t.All) && !others
}

// A Path is one that leads to a module below another, as plans have it.
type Path struct {
	Name  string
	Class string
}

// Paths returns the paths of the modules below one of a type, and whether those are
// all that there are.
func (f *File) Paths(t *Type) (list []Path, all bool) {
	all = true
	var walk func(prefix string, t *Type, depth int)
	walk = func(prefix string, t *Type, depth int) {
		below, known := f.children(t)
		all = all && known && depth < maxPath
		if depth >= maxPath {
			return
		}
		names := make([]string, 0, len(below))
		for name := range below {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			child := below[name]
			switch {
			case child == nil:
				all = false // it may be a module
			case child.Name == "Module":
				list = append(list, Path{prefix + name, child.Class})
				walk(prefix+name+".", child, depth+1)
			}
		}
	}
	walk("", t, 0)
	return list, all
}

// maxPath is how many names a path has at most.
const maxPath = 12

// made returns the type of a module or struct that a call makes.
func (f *File) made(path string, call *syntax.CallExpr) *Type {
	switch path {
	case "nn.Module":
		return f.withFields(&Type{Name: "Module", Class: path, All: true}, call, "forward")
	case "struct":
		return f.withFields(&Type{Name: "struct", All: true}, call)
	case "nn.Sequential":
		return f.numbered(&Type{Name: "Module", Class: path, All: true}, call.Args)
	case "nn.ModuleList":
		t := &Type{Name: "Module", Class: path, All: true}
		if len(call.Args) != 1 {
			return t
		}
		if list, ok := call.Args[0].(*syntax.ListExpr); ok {
			return f.numbered(t, list.List)
		}
		t.All = false
		return t
	case "init_device_mesh", "DeviceMesh":
		return f.mesh(call, path)
	}
	return nil
}

// withFields gives a type the keywords of a call as attributes.
func (f *File) withFields(t *Type, call *syntax.CallExpr, but ...string) *Type {
	t.Fields = map[string]*Type{}
	for _, a := range call.Args {
		if u, ok := a.(*syntax.UnaryExpr); ok && u.Op == syntax.STARSTAR {
			t.All = false
		}
		if name, v := Keyword(a); name != "" && !slices.Contains(but, name) {
			t.Fields[name] = f.TypeOf(v)
		}
	}
	return t
}

// numbered gives a type modules under numbers.
func (f *File) numbered(t *Type, list []syntax.Expr) *Type {
	t.Fields = map[string]*Type{}
	for i, e := range list {
		if u, ok := e.(*syntax.UnaryExpr); ok && (u.Op == syntax.STAR || u.Op == syntax.STARSTAR) {
			t.All, t.Fields = false, nil
			return t
		}
		t.Fields[index(i)] = f.TypeOf(e)
	}
	return t
}

// mesh returns the type of a mesh with the dims that its call names.
func (f *File) mesh(call *syntax.CallExpr, path string) *Type {
	t := &Type{Name: "DeviceMesh"}
	for i, a := range call.Args {
		name, v := Keyword(a)
		if name == "" {
			v = a
		}
		switch {
		case name == "mesh_dim_names" || name == "" && i == 2:
			if names, ok := texts(v); ok {
				t.Dims, t.Rank = names, len(names)
			}
		case path == "init_device_mesh" && (name == "mesh_shape" || name == "" && i == 1):
			if list, ok := Elements(v); ok && t.Rank == 0 {
				t.Rank = len(list)
			}
		}
	}
	return t
}

// Elements returns the elements of a list or tuple that is written out.
func Elements(x syntax.Expr) ([]syntax.Expr, bool) {
	switch x := x.(type) {
	case *syntax.ParenExpr:
		return Elements(x.X)
	case *syntax.ListExpr:
		return x.List, plain(x.List)
	case *syntax.TupleExpr:
		return x.List, plain(x.List)
	}
	return nil, false
}

func plain(list []syntax.Expr) bool {
	for _, e := range list {
		if u, ok := e.(*syntax.UnaryExpr); ok && u.Op == syntax.STAR {
			return false
		}
	}
	return true
}

// texts returns the strings of a list or tuple that is written out.
func texts(x syntax.Expr) ([]string, bool) {
	list, ok := Elements(x)
	if !ok {
		return nil, false
	}
	out := make([]string, len(list))
	for i, e := range list {
		if out[i], ok = Text(e); !ok {
			return nil, false
		}
	}
	return out, true
}

// Keyword returns the name and the value of an argument that is given by name, or
// "" and nil.
func Keyword(a syntax.Expr) (string, syntax.Expr) {
	if b, ok := a.(*syntax.BinaryExpr); ok && b.Op == syntax.EQ {
		if id, ok := b.X.(*syntax.Ident); ok {
			return id.Name, b.Y
		}
	}
	return "", nil
}
