package analysis

import (
	"strings"

	"go.starlark.net/syntax"
)

// A Callee is the function that a call calls, and how it may be called.
type Callee struct {
	Name string // as messages have it: "all_reduce", "Tensor.sum", "f"
	Signature
	Path string    // of the language, or ""
	Func *Function // of a program, or nil
}

// Callees returns the functions that a call may be of: one if that is known. For a
// method of a value of which nothing is known they are those of all types. nil says that it
// may be anything.
func (f *File) Callees(call *syntax.CallExpr) []Callee {
	t := f.TypeOf(call.Fn)
	switch {
	case t != nil && t.Func != nil:
		return []Callee{{Name: t.Func.called(call.Fn), Signature: t.Func.Signature(), Func: t.Func}}
	case f.Lang.Signature == nil:
		return nil
	case t != nil && t.Name == "function" && t.Elem != nil:
		owner, member, _ := strings.Cut(t.Path, ".")
		return f.methods(f.Lang.kinds(owner, member), member)
	case t != nil && t.Name == "function":
		return f.methods([]string{""}, t.Path)
	}
	dot, ok := call.Fn.(*syntax.DotExpr)
	if !ok || t != nil || f.TypeOf(dot.X) != nil {
		return nil
	}
	return f.methods(f.Lang.Owners(dot.Name.Name), dot.Name.Name)
}

// methods returns the methods of a name of some types; nil if anything is not known
// of one.
func (f *File) methods(owners []string, name string) []Callee {
	var list []Callee
	for _, owner := range owners {
		path := strings.TrimPrefix(owner+"."+name, ".")
		sig, ok := f.Lang.Signature(path)
		if !ok {
			return nil
		}
		list = append(list, Callee{Name: path, Signature: sig, Path: path})
	}
	return list
}

// called returns the name of a function as messages have it.
func (fn *Function) called(x syntax.Expr) string {
	if id, ok := x.(*syntax.Ident); ok && fn.Name == "" {
		return id.Name
	}
	if fn.Name == "" {
		return "the lambda"
	}
	return fn.Name
}

// Signature returns the signature of a function of a program.
func (fn *Function) Signature() Signature {
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
	for _, p := range fn.Params {
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
