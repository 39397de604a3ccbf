package lang

import (
	"slices"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"tpsh/lang/halt"
)

// A Cover says how often lines of files were run: counts by path and line.
// Statements that were not run are not in it; see Statements.
type Cover map[string]map[int]int

// add returns the sum of two covers, which is c unless that is nil.
func (c Cover) add(more Cover) Cover {
	if c == nil && more != nil {
		c = make(Cover)
	}
	for path, lines := range more {
		if c[path] == nil {
			c[path] = make(map[int]int)
		}
		for line, n := range lines {
			c[path][line] += n
		}
	}
	return c
}

// Add adds the counts of more.
func (c Cover) Add(more Cover) { c.add(more) }

// Statements returns the lines of a source on which a statement begins that can be
// run, ascending. A source that cannot be parsed has none.
func Statements(path, text string) []int {
	file, err := Parse(path, text, 1)
	if err != nil {
		return nil
	}
	var lines []int
	eachStatement(file.Stmts, func(s syntax.Stmt) { lines = append(lines, int(syntax.Start(s).Line)) })
	slices.Sort(lines)
	return slices.Compact(lines)
}

// eachStatement calls visit for every statement that does something.
func eachStatement(list []syntax.Stmt, visit func(syntax.Stmt)) {
	for _, s := range list {
		if !isText(s) {
			visit(s)
		}
		for _, block := range halt.Blocks(s) {
			eachStatement(*block, visit)
		}
	}
}

// isText reports whether a statement is a literal alone, as a docstring is.
func isText(s syntax.Stmt) bool {
	x, ok := s.(*syntax.ExprStmt)
	if !ok {
		return false
	}
	_, ok = x.X.(*syntax.Literal)
	return ok
}

// coverName is the name in programs of the function that counts their lines. No source
// can write it.
const coverName = "<cover>"

// watch puts the function that counts lines in c among names. Programs that are
// compiled with it call it.
func (c Cover) watch(names starlark.StringDict) {
	names[coverName] = starlark.NewBuiltin("cover", func(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
		path := string(args[0].(starlark.String))
		line, _ := starlark.AsInt32(args[1])
		if c[path] == nil {
			c[path] = make(map[int]int)
		}
		c[path][line]++
		return starlark.None, nil
	})
}

// counted puts before every statement of a file a call that counts its line.
func counted(file *syntax.File) { countBlock(&file.Stmts, file.Path) }

func countBlock(list *[]syntax.Stmt, path string) {
	var out []syntax.Stmt
	for _, s := range *list {
		for _, block := range halt.Blocks(s) {
			countBlock(block, path)
		}
		if !isText(s) {
			out = append(out, countCall(path, syntax.Start(s)))
		}
		out = append(out, s)
	}
	*list = out
}

func countCall(path string, pos syntax.Position) syntax.Stmt {
	return &syntax.ExprStmt{X: call(coverName, pos, quoted(path, pos), number(pos.Line, pos))}
}
