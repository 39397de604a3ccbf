package analysis

import (
	"strconv"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"tpsh/lang/source"
)

// A Type is all that is known of a value; nil is for nothing.
type Type struct {
	// Name is as `type` and the reference have it: "Tensor" of every kind of
	// tensors, "Module" of every class of modules, "string", "list", "DeviceMesh";
	// Any of structs that the language makes and whose attributes are nowhere said.
	// A namespace is a "module" and a dtype a "dtype", as in Starlark.
	Name string
	Path string // of a name of the language: "F", "matmul"; of a method: "Tensor.sum"
	Func *Function
	Elem *Type // of each element of a list, a tuple, a dict's values
	// Items are the elements of a tuple or list that is written out.
	Items []*Type
	// Class is the class of a module: "nn.Linear".
	Class string
	// Fields are attributes that the program gave to a module or struct. All says
	// that it has no others.
	Fields map[string]*Type
	All    bool
	// Dims are the names of the dims of a mesh, nil if not known.
	Dims []string
	Rank int // the number of dims of a mesh, 0 if not known
}

// A Function is one of a program.
type Function struct {
	File   *File
	Node   syntax.Node // a DefStmt or a LambdaExpr
	Name   string
	Params []syntax.Expr
	Body   []syntax.Stmt // of a def
	Result syntax.Expr   // of a lambda
}

// Any is the name of the type of values that may have any attribute.
const Any = "any"

func anything() *Type { return &Type{Name: Any} }

// IsAny reports whether a value may have any attribute.
func (t *Type) IsAny() bool { return t != nil && t.Name == Any }

func isUniversal(name string) bool { return starlark.Universe.Has(name) }

// TypeOf returns the type of the value of an expression of the file.
func (f *File) TypeOf(x syntax.Expr) *Type {
	if t, ok := f.types[x]; ok {
		return t
	}
	var t *Type
	if f.guarded(x, func() { t = f.infer(x) }) {
		f.types[x] = t
	}
	return t
}

// guarded calls look, which is for the thing that key stands for, unless that is being looked
// for already. It reports whether its result may be kept: it does not hang on
// something that is being looked for.
func (f *File) guarded(key any, look func()) bool {
	if f.busy[key] || len(f.busy) > maxDepth {
		f.circles++
		return false
	}
	before := f.circles
	f.busy[key] = true
	look()
	delete(f.busy, key)
	return len(f.busy) == 0 || f.circles == before
}

// maxDepth is how many expressions deep types are looked for.
const maxDepth = 200

func (f *File) infer(x syntax.Expr) *Type {
	switch x := x.(type) {
	case *syntax.Ident:
		return f.typeOfIdent(x)
	case *syntax.Literal:
		return typeOfLiteral(x)
	case *syntax.ParenExpr:
		return f.TypeOf(x.X)
	case *syntax.DotExpr:
		return f.typeOfMember(f.TypeOf(x.X), x.Name.Name)
	case *syntax.CallExpr:
		return f.typeOfCall(x)
	case *syntax.IndexExpr:
		return f.typeOfIndex(x)
	case *syntax.SliceExpr:
		return f.typeOfSlice(x)
	case *syntax.BinaryExpr:
		return f.typeOfBinary(x)
	case *syntax.UnaryExpr:
		return f.typeOfUnary(x)
	case *syntax.CondExpr:
		return join(f.TypeOf(x.True), f.TypeOf(x.False))
	case *syntax.ListExpr:
		return f.typeOfItems("list", x.List)
	case *syntax.TupleExpr:
		return f.typeOfItems("tuple", x.List)
	case *syntax.DictExpr:
		return f.typeOfDict(x)
	case *syntax.Comprehension:
		return f.typeOfComprehension(x)
	case *syntax.LambdaExpr:
		return &Type{Name: "function", Func: &Function{File: f, Node: x, Params: x.Params, Result: x.Body}}
	}
	return nil
}

func typeOfLiteral(x *syntax.Literal) *Type {
	switch x.Token {
	case syntax.STRING:
		return &Type{Name: "string"}
	case syntax.INT:
		return &Type{Name: "int"}
	case syntax.FLOAT:
		return &Type{Name: "float"}
	case syntax.BYTES:
		return &Type{Name: "bytes"}
	}
	return nil
}

// join returns the type of a value that is of either type.
func join(a, b *Type) *Type {
	if a.IsAny() || b.IsAny() {
		return anything()
	}
	if a == nil || b == nil || a.Name != b.Name || a.Name == "function" || a.Name == "module" || a.Name == "struct" || a.Class != b.Class {
		return nil
	}
	out := &Type{Name: a.Name, Class: a.Class, Elem: join(a.Elem, b.Elem), All: a.All && b.All && len(a.Fields) == len(b.Fields)}
	if len(a.Items) == len(b.Items) {
		for i := range a.Items {
			out.Items = append(out.Items, join(a.Items[i], b.Items[i]))
		}
	}
	if a.Rank == b.Rank && strings.Join(a.Dims, ",") == strings.Join(b.Dims, ",") {
		out.Rank, out.Dims = a.Rank, a.Dims
	}
	for name, t := range a.Fields {
		other, ok := b.Fields[name]
		if !ok {
			out.All = false
			continue
		}
		if out.Fields == nil {
			out.Fields = map[string]*Type{}
		}
		out.Fields[name] = join(t, other)
	}
	return out
}

// typeOfIdent returns that of the symbol that a name stands for.
func (f *File) typeOfIdent(id *syntax.Ident) *Type {
	sym := f.symbolOf[id]
	if sym == nil {
		return nil
	}
	return f.TypeOfSymbol(sym)
}

// TypeOfSymbol returns the type of the value of a symbol, wherever it is used.
func (f *File) TypeOfSymbol(sym *Symbol) *Type {
	if t, ok := f.symbols[sym]; ok {
		return t
	}
	var t *Type
	if f.guarded(sym, func() { t = f.symbolType(sym) }) {
		f.symbols[sym] = t
	}
	return t
}

func (f *File) symbolType(sym *Symbol) *Type {
	switch sym.Kind {
	case Predeclared:
		return f.Lang.typeOfName(sym.Name)
	case Unknown:
		return nil
	case Loaded:
		if other, there := f.Loaded(sym); there != nil {
			return other.TypeOfSymbol(there)
		}
		return nil
	}
	var all *Type
	for i, b := range sym.Binds {
		t := f.typeOfBinding(b)
		if i > 0 {
			t = join(all, t)
		}
		if t == nil {
			return nil
		}
		all = t
	}
	return f.held(all, f.changes().elements[sym])
}

// typeOfBinding returns the type that a binding gives to its name.
func (f *File) typeOfBinding(b Binding) *Type {
	switch by := b.By.(type) {
	case *syntax.DefStmt:
		if by.Name != b.Ident {
			return nil // a parameter
		}
		return &Type{Name: "function", Func: &Function{File: f, Node: by, Name: by.Name.Name, Params: by.Params, Body: by.Body}}
	case *syntax.AssignStmt:
		if by.Op != syntax.EQ {
			return f.operate(operatorOf(by.Op), f.symbolBefore(by), f.TypeOf(by.RHS))
		}
		for _, x := range Targets(by) {
			if holds(x, b.Ident) {
				return f.part(x, b.Ident, f.TypeOf(Value(by)))
			}
		}
	case *syntax.ForStmt:
		return f.part(by.Vars, b.Ident, elemOf(f.TypeOf(by.X)))
	case *syntax.ForClause:
		return f.part(by.Vars, b.Ident, elemOf(f.TypeOf(by.X)))
	}
	return nil
}

// operatorOf returns the operator of an assignment: + of +=.
func operatorOf(assign syntax.Token) syntax.Token {
	switch assign {
	case source.AT_EQ:
		return source.AT
	case source.STARSTAR_EQ:
		return syntax.STARSTAR
	}
	return assign - syntax.PLUS_EQ + syntax.PLUS // as Starlark itself counts them
}

// symbolBefore returns the type of the left side of x += y, but for the type that x += y
// gives it.
func (f *File) symbolBefore(s *syntax.AssignStmt) *Type {
	id, ok := s.LHS.(*syntax.Ident)
	if !ok {
		return nil
	}
	sym := f.symbolOf[id]
	if sym == nil {
		return nil
	}
	for _, b := range sym.Binds {
		if by, ok := b.By.(*syntax.AssignStmt); ok && by.Op == syntax.EQ {
			return f.typeOfBinding(b)
		}
	}
	return nil
}

// part returns the type of a name in the target that a value is assigned to.
func (f *File) part(target syntax.Expr, id *syntax.Ident, t *Type) *Type {
	var list []syntax.Expr
	switch x := target.(type) {
	case *syntax.Ident:
		return t
	case *syntax.ParenExpr:
		return f.part(x.X, id, t)
	case *syntax.TupleExpr:
		list = x.List
	case *syntax.ListExpr:
		list = x.List
	}
	for i, e := range list {
		if u, ok := e.(*syntax.UnaryExpr); ok && u.Op == syntax.STAR {
			return nil // and how many names stand before it is not how many values do
		}
		if !holds(e, id) {
			continue
		}
		if t != nil && len(t.Items) == len(list) {
			return f.part(e, id, t.Items[i])
		}
		return f.part(e, id, elemOf(t))
	}
	return nil
}

func holds(x syntax.Expr, id *syntax.Ident) bool {
	found := false
	syntax.Walk(x, func(n syntax.Node) bool {
		found = found || n == syntax.Node(id)
		return !found
	})
	return found
}

// elemOf returns the type of the elements that iteration goes over.
func elemOf(t *Type) *Type {
	if t == nil {
		return nil
	}
	switch t.Name {
	case "range":
		return &Type{Name: "int"}
	case "Tensor", Any:
		return t
	case "list", "tuple", "set":
		return t.Elem
	}
	return nil
}

// typeOfItems returns the type of a list or tuple that is written out.
func (f *File) typeOfItems(name string, list []syntax.Expr) *Type {
	t := &Type{Name: name}
	for i, e := range list {
		if u, ok := e.(*syntax.UnaryExpr); ok && u.Op == syntax.STAR {
			return &Type{Name: name}
		}
		item := f.TypeOf(e)
		t.Items = append(t.Items, item)
		if i == 0 {
			t.Elem = item
		} else {
			t.Elem = join(t.Elem, item)
		}
	}
	return t
}

func (f *File) typeOfDict(x *syntax.DictExpr) *Type {
	t := &Type{Name: "dict"}
	for i, e := range x.List {
		entry, ok := e.(*syntax.DictEntry)
		if u, star := e.(*syntax.UnaryExpr); star && u.Op == syntax.STARSTAR {
			return t
		}
		if !ok {
			return &Type{Name: "set"}
		}
		v := f.TypeOf(entry.Value)
		if i == 0 {
			t.Elem = v
		} else {
			t.Elem = join(t.Elem, v)
		}
	}
	return t
}

func (f *File) typeOfComprehension(x *syntax.Comprehension) *Type {
	if e, ok := x.Body.(*syntax.DictEntry); ok {
		return &Type{Name: "dict", Elem: f.TypeOf(e.Value)}
	}
	if x.Curly {
		return &Type{Name: "set", Elem: f.TypeOf(x.Body.(syntax.Expr))}
	}
	return &Type{Name: "list", Elem: f.TypeOf(x.Body.(syntax.Expr))}
}

// number returns the value of a literal int, or of minus one.
func number(x syntax.Expr) (int, bool) {
	switch x := x.(type) {
	case *syntax.Literal:
		n, ok := x.Value.(int64)
		return int(n), ok && x.Token == syntax.INT
	case *syntax.UnaryExpr:
		n, ok := number(x.X)
		return -n, ok && x.Op == syntax.MINUS
	}
	return 0, false
}

// Text returns the value of a literal string.
func Text(x syntax.Expr) (string, bool) {
	if p, ok := x.(*syntax.ParenExpr); ok {
		return Text(p.X)
	}
	l, ok := x.(*syntax.Literal)
	if !ok || l.Token != syntax.STRING || strings.HasPrefix(strings.ToLower(l.Raw), "f") {
		return "", false
	}
	s, ok := l.Value.(string)
	return s, ok
}

// index is the name of an element of a list of modules.
func index(i int) string { return strconv.Itoa(i) }
