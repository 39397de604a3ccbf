package lang

import (
	"cmp"
	"slices"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"tpsh/lang/halt"
)

// A Described is the value of a variable when a place of the source last bound it, as
// Env.Describe says it.
type Described struct {
	Path      string
	Line, Col int // of the name
	Name      string
	Text      string
}

// describeName is the name in programs of the function that notes variables. No source can write it.
const describeName = "<describe>"

// A notebook holds descriptions of variables, by their places.
type notebook map[Described]string

// watch puts among names the function that notes variables. Programs that are compiled
// with it call it.
func (n notebook) watch(names starlark.StringDict, describe func(starlark.Value) string) {
	names[describeName] = starlark.NewBuiltin("describe", func(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
		if text := describe(args[4]); text != "" {
			line, _ := starlark.AsInt32(args[1])
			col, _ := starlark.AsInt32(args[2])
			n[Described{Path: string(args[0].(starlark.String)), Line: line, Col: col, Name: string(args[3].(starlark.String))}] = text
		}
		return starlark.None, nil
	})
}

// list returns the notes, by place.
func (n notebook) list() []Described {
	var list []Described
	for d, text := range n {
		d.Text = text
		list = append(list, d)
	}
	slices.SortFunc(list, func(a, b Described) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
	return list
}

// noted puts behind every statement of a file that binds names a call that notes them,
// and one for the parameters where a function begins.
func noted(file *syntax.File) { noteBlock(&file.Stmts, file.Path) }

func noteBlock(list *[]syntax.Stmt, path string) {
	var out []syntax.Stmt
	for _, s := range *list {
		for _, block := range halt.Blocks(s) {
			noteBlock(block, path)
		}
		out = append(out, s)
		switch s := s.(type) {
		case *syntax.AssignStmt:
			out = append(out, noteCalls(s.LHS, path)...)
		case *syntax.ForStmt:
			s.Body = append(noteCalls(s.Vars, path), s.Body...)
		case *syntax.DefStmt:
			var calls []syntax.Stmt
			for _, p := range s.Params {
				if b, ok := p.(*syntax.BinaryExpr); ok {
					p = b.X
				}
				calls = append(calls, noteCalls(p, path)...)
			}
			s.Body = append(calls, s.Body...)
		}
	}
	*list = out
}

// noteCalls returns the calls that note the names in the target of an assignment.
func noteCalls(x syntax.Expr, path string) []syntax.Stmt {
	switch x := x.(type) {
	case *syntax.Ident:
		return []syntax.Stmt{noteCall(x, path)}
	case *syntax.ParenExpr:
		return noteCalls(x.X, path)
	case *syntax.TupleExpr:
		return noteAll(x.List, path)
	case *syntax.ListExpr:
		return noteAll(x.List, path)
	}
	return nil
}

func noteAll(list []syntax.Expr, path string) []syntax.Stmt {
	var calls []syntax.Stmt
	for _, x := range list {
		calls = append(calls, noteCalls(x, path)...)
	}
	return calls
}

func noteCall(id *syntax.Ident, path string) syntax.Stmt {
	pos := id.NamePos
	return &syntax.ExprStmt{X: call(describeName, pos,
		quoted(path, pos), number(pos.Line, pos), number(pos.Col, pos), quoted(id.Name, pos), named(id.Name, pos))}
}
