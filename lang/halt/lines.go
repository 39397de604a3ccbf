package halt

import (
	"path/filepath"
	"slices"
	"strings"

	"go.starlark.net/syntax"
)

// A Map says to which statement, and to which function, the lines of a source
// belong.
type Map struct {
	statements map[int32]int32 // by line: the first line of its innermost statement, or lambda's expression
	owners     map[int32]int32 // by line: that of the innermost function around it, or 0
	lambdas    map[place]int32 // the first line of the expression of each
	inner      map[place]bool  // the variables of comprehensions
}

// A place is where something begins.
type place struct{ line, col int32 }

// NewMap returns the Map of files, which are of one path.
func NewMap(files ...*syntax.File) *Map {
	m := &Map{map[int32]int32{}, map[int32]int32{}, map[place]int32{}, map[place]bool{}}
	for _, f := range files {
		m.add(f)
	}
	return m
}

// add adds a file, which lies behind those that are there.
func (m *Map) add(f *syntax.File) { m.block(f.Stmts, 0) }

func (m *Map) block(list []syntax.Stmt, owner int32) {
	for _, s := range list {
		m.statement(s, owner)
	}
}

// statement adds a statement: first all of its lines, then over these its blocks.
func (m *Map) statement(s syntax.Stmt, owner int32) {
	begin, end := s.Span()
	if list := Blocks(s); len(list) > 0 { // its head alone
		first, _ := (*list[0])[0].Span()
		end.Line = max(begin.Line, first.Line-1)
	}
	for line := begin.Line; line <= end.Line; line++ {
		m.statements[line], m.owners[line] = begin.Line, owner
	}
	m.expressions(s)
	inner := owner
	if _, ok := s.(*syntax.DefStmt); ok {
		inner = begin.Line
	}
	for _, list := range Blocks(s) {
		m.block(*list, inner)
	}
}

// ofLambda is the owner of lines that are a lambda's alone.
const ofLambda = -1

// expressions adds the lambdas and comprehensions of a statement, but for those in its blocks. The lines
// below the first that the expression of one takes are its own.
func (m *Map) expressions(s syntax.Stmt) {
	top, _ := s.Span()
	syntax.Walk(s, func(n syntax.Node) bool {
		if inner, ok := n.(syntax.Stmt); ok {
			return inner == s
		}
		if l, ok := n.(*syntax.LambdaExpr); ok {
			begin, end := l.Body.Span()
			m.lambdas[place{l.Lambda.Line, l.Lambda.Col}] = begin.Line
			for line := max(begin.Line, top.Line+1); line <= end.Line; line++ {
				m.statements[line], m.owners[line] = begin.Line, ofLambda
			}
		}
		if c, ok := n.(*syntax.ForClause); ok {
			m.variables(c.Vars)
		}
		return true
	})
}

// variables adds those that a clause of a comprehension binds.
func (m *Map) variables(x syntax.Expr) {
	syntax.Walk(x, func(n syntax.Node) bool {
		if id, ok := n.(*syntax.Ident); ok {
			m.inner[place{id.NamePos.Line, id.NamePos.Col}] = true
		}
		return true
	})
}

// Inner reports whether a variable that is first assigned at pos is a comprehension's,
// and not one of the function around it. A nil Map knows of none.
func (m *Map) Inner(pos syntax.Position) bool {
	return m != nil && m.inner[place{pos.Line, pos.Col}]
}

// Blocks returns the blocks of a statement that are not empty.
func Blocks(s syntax.Stmt) (list []*[]syntax.Stmt) {
	switch s := s.(type) {
	case *syntax.DefStmt:
		list = []*[]syntax.Stmt{&s.Body}
	case *syntax.ForStmt:
		list = []*[]syntax.Stmt{&s.Body}
	case *syntax.WhileStmt:
		list = []*[]syntax.Stmt{&s.Body}
	case *syntax.IfStmt:
		list = []*[]syntax.Stmt{&s.True, &s.False}
	}
	return slices.DeleteFunc(list, func(b *[]syntax.Stmt) bool { return len(*b) == 0 })
}

// first returns the first line of the statement of a line; the line itself if
// nothing is known of it.
func (m *Map) first(line int32) int32 {
	if first, ok := m.statements[line]; ok {
		return first
	}
	return line
}

// Stop returns the line on which a thread stops for a breakpoint on a line: that of
// the statement there, or of the next below it. It is 0 if there is none.
func (m *Map) Stop(line int) int {
	last := int32(0)
	for l := range m.statements {
		last = max(last, l)
	}
	for l := int32(line); l <= last; l++ {
		if first, ok := m.statements[l]; ok && (first >= int32(line) || first == m.first(int32(line))) {
			return int(first)
		}
	}
	return 0
}

// SameFile reports whether a name, as a user gives it, means the file at path as
// positions show it, in the folder dir: by the whole path, or its last parts.
func SameFile(name, path, dir string) bool {
	name, path = filepath.ToSlash(filepath.Clean(name)), filepath.ToSlash(filepath.Clean(path))
	if name == path || strings.HasSuffix(path, "/"+name) {
		return true
	}
	whole := path
	if !filepath.IsAbs(path) {
		whole = filepath.ToSlash(filepath.Join(dir, path))
	}
	return name == whole || strings.HasSuffix(whole, "/"+name)
}
