package analysis

import (
	"cmp"
	"slices"
	"strings"

	"go.starlark.net/syntax"

	"tpsh/lang/source"
)

// typeOfCall returns the type of the result of a call.
func (f *File) typeOfCall(call *syntax.CallExpr) *Type {
	fn := f.TypeOf(call.Fn)
	switch {
	case fn == nil || fn.IsAny():
		return fn
	case fn.Func != nil:
		return fn.Func.returns()
	case fn.Name == "Module":
		return ofName(f.Lang.Results[fn.Class+"()"])
	case fn.Path == "" || fn.Name != "function":
		return nil
	}
	if t := f.made(fn.Path, call); t != nil {
		return t
	}
	for _, a := range call.Args {
		if name, _ := Keyword(a); name == "async_op" {
			return nil
		}
	}
	switch of := f.Lang.Results[fn.Path]; {
	case strings.HasPrefix(of, "="):
		return f.argument(call, of[1:])
	case strings.HasPrefix(of, "@"):
		if t := f.argument(call, of[1:]); t != nil && t.Func != nil {
			return t.Func.returns()
		}
		return nil
	case strings.HasPrefix(fn.Path, "nn.") && of == "Module":
		return &Type{Name: "Module", Class: fn.Path}
	case of == "self":
		return fn.Elem
	default:
		return ofName(of)
	}
}

// argument returns the type of an argument by position.
func (f *File) argument(call *syntax.CallExpr, at string) *Type {
	i := int(at[0] - '0')
	if i >= len(call.Args) {
		return nil
	}
	if name, _ := Keyword(call.Args[i]); name != "" {
		return nil
	}
	return f.TypeOf(call.Args[i])
}

// returns returns the type of the result of a function of a program.
func (fn *Function) returns() *Type {
	if fn.Result != nil {
		return fn.File.TypeOf(fn.Result)
	}
	if !fn.File.Ends(fn.Body) {
		return nil // it may return None
	}
	var t *Type
	fn.File.guarded(fn.Node, func() {
		first := true
		eachReturn(fn.Body, func(r *syntax.ReturnStmt) {
			var one *Type
			if r.Result != nil {
				one = fn.File.TypeOf(r.Result)
			}
			if first {
				t, first = one, false
			} else {
				t = join(t, one)
			}
		})
	})
	return t
}

// Ends reports whether the code behind statements is never reached from them: they
// end with a return, a fail, a loop without an end, or a choice of such.
func (f *File) Ends(stmts []syntax.Stmt) bool {
	return slices.ContainsFunc(stmts, f.ends)
}

func (f *File) ends(s syntax.Stmt) bool {
	switch s := s.(type) {
	case *syntax.ReturnStmt:
		return true
	case *syntax.BranchStmt:
		return s.Token != syntax.PASS
	case *syntax.IfStmt:
		return f.Ends(s.True) && f.Ends(s.False)
	case *syntax.WhileStmt:
		return isTrue(s.Cond) && !breaks(s.Body)
	case *syntax.ExprStmt:
		call, ok := s.X.(*syntax.CallExpr)
		if !ok {
			return false
		}
		id, ok := call.Fn.(*syntax.Ident)
		return ok && id.Name == "fail" && f.symbolOf[id] != nil && f.symbolOf[id].Kind == Predeclared
	}
	return false
}

func isTrue(x syntax.Expr) bool {
	id, ok := x.(*syntax.Ident)
	return ok && id.Name == "True"
}

// breaks reports whether a loop with these statements may be left by break.
func breaks(stmts []syntax.Stmt) bool {
	return slices.ContainsFunc(stmts, func(s syntax.Stmt) bool {
		switch s := s.(type) {
		case *syntax.BranchStmt:
			return s.Token == syntax.BREAK
		case *syntax.IfStmt:
			return breaks(s.True) || breaks(s.False)
		}
		return false
	})
}

// eachReturn calls visit for the return statements of a function.
func eachReturn(stmts []syntax.Stmt, visit func(*syntax.ReturnStmt)) {
	for _, s := range stmts {
		switch s := s.(type) {
		case *syntax.ReturnStmt:
			visit(s)
		case *syntax.ForStmt:
			eachReturn(s.Body, visit)
		case *syntax.WhileStmt:
			eachReturn(s.Body, visit)
		case *syntax.IfStmt:
			eachReturn(s.True, visit)
			eachReturn(s.False, visit)
		}
	}
}

// typeOfIndex returns the type of x[y].
func (f *File) typeOfIndex(x *syntax.IndexExpr) *Type {
	t := f.TypeOf(x.X)
	if t == nil {
		return nil
	}
	switch t.Name {
	case "Tensor", "string", Any:
		return &Type{Name: t.Name}
	case "DeviceMesh":
		return subMesh(x.Y)
	case "list", "tuple":
		if n, ok := number(x.Y); ok && len(t.Items) > 0 && n < len(t.Items) && n >= -len(t.Items) {
			return t.Items[(n+len(t.Items))%len(t.Items)]
		}
		return t.Elem
	case "dict":
		return t.Elem
	case "Module":
		if n, ok := number(x.Y); ok && n >= 0 {
			return t.Fields[index(n)]
		}
	}
	return nil
}

// subMesh returns the type of mesh["a"] and mesh["a", "b"].
func subMesh(y syntax.Expr) *Type {
	if name, ok := Text(y); ok {
		return &Type{Name: "DeviceMesh", Dims: []string{name}, Rank: 1}
	}
	if names, ok := texts(y); ok {
		return &Type{Name: "DeviceMesh", Dims: names, Rank: len(names)}
	}
	return &Type{Name: "DeviceMesh"}
}

func (f *File) typeOfSlice(x *syntax.SliceExpr) *Type {
	t := f.TypeOf(x.X)
	if t == nil {
		return nil
	}
	switch t.Name {
	case "list", "tuple":
		return &Type{Name: t.Name, Elem: t.Elem}
	case "Tensor", "string", "bytes", Any:
		return &Type{Name: t.Name}
	}
	return nil
}

func (f *File) typeOfUnary(x *syntax.UnaryExpr) *Type {
	if x.Op == syntax.NOT {
		return &Type{Name: "bool"}
	}
	t := f.TypeOf(x.X)
	if t == nil || !slices.Contains([]string{"Tensor", "int", "float", Any}, t.Name) {
		return nil
	}
	return &Type{Name: t.Name}
}

func (f *File) typeOfBinary(x *syntax.BinaryExpr) *Type {
	a, b := f.TypeOf(x.X), f.TypeOf(x.Y)
	switch x.Op {
	case syntax.AND, syntax.OR:
		return join(a, b)
	case syntax.EQL, syntax.NEQ, syntax.LT, syntax.LE, syntax.GT, syntax.GE, syntax.IN, syntax.NOT_IN, syntax.IS, source.ISNOT:
		return &Type{Name: "bool"}
	}
	return f.operate(x.Op, a, b)
}

// operate returns the type of a op b.
func (f *File) operate(op syntax.Token, a, b *Type) *Type {
	if a.IsAny() || b.IsAny() {
		return anything()
	}
	if a == nil || b == nil {
		// A tensor with whatever it takes is a tensor; but a text may be filled with it.
		if known := cmp.Or(a, b); known != nil && known.Name == "Tensor" && (op != syntax.PERCENT || known == a) {
			return known
		}
		if a != nil && a.Name == "string" && op == syntax.PERCENT {
			return &Type{Name: "string"}
		}
		return nil
	}
	switch {
	case a.Name == "string" && op == syntax.PERCENT:
		return &Type{Name: "string"}
	case a.Name == "Tensor" || b.Name == "Tensor":
		return &Type{Name: "Tensor"}
	case a.Name == "string" && (op == syntax.PLUS && b.Name == "string" || op == syntax.STAR):
		return &Type{Name: "string"}
	case a.Name == "list" && b.Name == "list" && op == syntax.PLUS, a.Name == "tuple" && b.Name == "tuple" && op == syntax.PLUS:
		return &Type{Name: a.Name, Elem: join(a.Elem, b.Elem)}
	case (a.Name == "list" || a.Name == "tuple") && b.Name == "int" && op == syntax.STAR:
		return &Type{Name: a.Name, Elem: a.Elem}
	case a.Name == "dict" && b.Name == "dict" && op == syntax.PIPE:
		return &Type{Name: "dict", Elem: join(a.Elem, b.Elem)}
	}
	return numeric(op, a, b)
}

// numeric returns the type of a op b of numbers.
func numeric(op syntax.Token, a, b *Type) *Type {
	isNumber := func(t *Type) bool { return t.Name == "int" || t.Name == "float" }
	switch {
	case !isNumber(a) || !isNumber(b) || op == syntax.STARSTAR:
		return nil
	case op == syntax.SLASH || a.Name == "float" || b.Name == "float":
		return &Type{Name: "float"}
	}
	return &Type{Name: "int"}
}
