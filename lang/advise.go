package lang

import (
	"fmt"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"tpsh/lang/advice"
	"tpsh/lang/source"
)

// An adviser adds advice to errors of names that are not defined.
type adviser struct {
	file  *syntax.File
	names starlark.StringDict
	paths map[position][]string // of attributes behind names; nil before it is asked for
}

// A position is a place in a file.
type position struct{ line, col int32 }

// undefined returns advice on a name that is not defined, or "".
func (a *adviser) undefined(name string, pos syntax.Position) string {
	if a.file == nil {
		return ""
	}
	if a.paths == nil {
		a.readPaths()
	}
	return advice.Undefined(name, a.paths[position{pos.Line, pos.Col}], a.known)
}

// readPaths notes the attributes behind every name of the file.
func (a *adviser) readPaths() {
	a.paths = make(map[position][]string)
	syntax.Walk(a.file, func(n syntax.Node) bool {
		var path []string
		for {
			d, ok := n.(*syntax.DotExpr)
			if !ok {
				break
			}
			path = append([]string{d.Name.Name}, path...)
			n = d.X
		}
		if id, ok := n.(*syntax.Ident); ok && len(path) > 0 {
			at := position{id.NamePos.Line, id.NamePos.Col}
			if len(a.paths[at]) < len(path) {
				a.paths[at] = path
			}
		}
		return true
	})
}

// known reports whether a name, perhaps of a module, is there.
func (a *adviser) known(name string) bool {
	return valueAt(a.names, strings.Split(name, ".")) != nil
}

// checkGlobals returns an error if a function of the file assigns a global with
// += and the like alone: it would have a name of its own then, without a value.
func checkGlobals(file *syntax.File, more func(name string) bool) error {
	globals := make(map[string]bool)
	bindings(file.Stmts, func(id *syntax.Ident, _ bool) { globals[id.Name] = true })
	var found error
	syntax.Walk(file, func(n syntax.Node) bool {
		def, ok := n.(*syntax.DefStmt)
		if !ok || found != nil {
			return found == nil
		}
		found = checkFunction(def, func(name string) bool { return globals[name] || more(name) })
		return true
	})
	return found
}

func checkFunction(def *syntax.DefStmt, global func(name string) bool) error {
	own := make(map[string]bool)
	for _, p := range def.Params {
		if id := paramName(p); id != nil {
			own[id.Name] = true
		}
	}
	var first *syntax.Ident
	bindings(def.Body, func(id *syntax.Ident, only bool) {
		if only && !own[id.Name] && first == nil && global(id.Name) {
			first = id
		} else if !only {
			own[id.Name] = true
		}
	})
	if first == nil || own[first.Name] {
		return nil
	}
	return &StaticError{[]string{fmt.Sprintf("%s: %s is global, and a function cannot assign it: keep what changes in a list or a dict (%s = [0], then %s[0] += 1), or return it", first.NamePos, first.Name, first.Name, first.Name)}}
}

func paramName(x syntax.Expr) *syntax.Ident {
	switch x := x.(type) {
	case *syntax.Ident:
		return x
	case *syntax.BinaryExpr:
		return paramName(x.X)
	case *syntax.UnaryExpr:
		return paramName(x.X)
	}
	return nil
}

// bindings calls visit for every name that statements bind, but for those of the
// functions in them. augmented says that x += 1 and the like bind it.
func bindings(stmts []syntax.Stmt, visit func(id *syntax.Ident, augmented bool)) {
	for _, s := range stmts {
		switch s := s.(type) {
		case *syntax.AssignStmt:
			targets(s.LHS, func(id *syntax.Ident) { visit(id, s.Op != syntax.EQ) })
		case *syntax.DefStmt:
			visit(s.Name, false)
		case *syntax.LoadStmt:
			for _, id := range s.To {
				visit(id, false)
			}
		case *syntax.ForStmt:
			targets(s.Vars, func(id *syntax.Ident) { visit(id, false) })
			bindings(s.Body, visit)
		case *syntax.WhileStmt:
			bindings(s.Body, visit)
		case *syntax.IfStmt:
			bindings(s.True, visit)
			bindings(s.False, visit)
		}
	}
}

// targets calls visit for every name among the targets of an assignment.
func targets(x syntax.Expr, visit func(*syntax.Ident)) {
	switch x := x.(type) {
	case *syntax.Ident:
		if !source.IsHidden(x.Name) {
			visit(x)
		}
	case *syntax.ParenExpr:
		targets(x.X, visit)
	case *syntax.TupleExpr:
		for _, e := range x.List {
			targets(e, visit)
		}
	case *syntax.ListExpr:
		for _, e := range x.List {
			targets(e, visit)
		}
	}
}
