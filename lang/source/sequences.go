package source

import "go.starlark.net/syntax"

// sequenceNames returns the names that some assignment of a file gives a text, a
// list or a tuple: x * n of these may be large.
func sequenceNames(f *syntax.File) map[string]bool {
	names := map[string]bool{}
	syntax.Walk(f, func(n syntax.Node) bool {
		if s, ok := n.(*syntax.AssignStmt); ok {
			if id, ok := s.LHS.(*syntax.Ident); ok && isSequence(s.RHS, names) {
				names[id.Name] = true
			}
		}
		return true
	})
	return names
}

// tableNames returns the names that some assignment of a file gives a dict or a set.
func tableNames(f *syntax.File) map[string]bool {
	names := map[string]bool{}
	syntax.Walk(f, func(n syntax.Node) bool {
		if s, ok := n.(*syntax.AssignStmt); ok {
			if id, ok := s.LHS.(*syntax.Ident); ok && isTable(s.RHS, names) {
				names[id.Name] = true
			}
		}
		return true
	})
	return names
}

// isTable reports whether an expression shows that its value is a dict or a set, or is one of the
// names.
func isTable(x syntax.Expr, names map[string]bool) bool {
	switch x := x.(type) {
	case *syntax.DictExpr:
		return true
	case *syntax.Comprehension:
		return x.Curly
	case *syntax.ParenExpr:
		return isTable(x.X, names)
	case *syntax.Ident:
		return names[x.Name]
	case *syntax.CallExpr:
		id, ok := x.Fn.(*syntax.Ident)
		return ok && (id.Name == "dict" || id.Name == "set")
	case *syntax.BinaryExpr:
		return x.Op == syntax.PIPE && (isTable(x.X, names) || isTable(x.Y, names))
	}
	return false
}

// makers are the functions of Starlark that return a text, a list or a tuple.
var makers = map[string]bool{"str": true, "repr": true, "list": true, "tuple": true, "bytes": true, "sorted": true, "reversed": true}

// isSequence reports whether an expression shows that its value is a text, a list
// or a tuple, or is one of the names.
func isSequence(x syntax.Expr, names map[string]bool) bool {
	switch x := x.(type) {
	case *syntax.Literal:
		return x.Token == syntax.STRING || x.Token == syntax.BYTES
	case *syntax.ListExpr, *syntax.TupleExpr:
		return true
	case *syntax.Comprehension:
		return !x.Curly
	case *syntax.ParenExpr:
		return isSequence(x.X, names)
	case *syntax.Ident:
		return names[x.Name]
	case *syntax.CallExpr:
		id, ok := x.Fn.(*syntax.Ident)
		return ok && makers[id.Name]
	case *syntax.BinaryExpr:
		return (x.Op == syntax.STAR || x.Op == syntax.PLUS) && (isSequence(x.X, names) || isSequence(x.Y, names))
	}
	return false
}

// repeats reports whether x * y may repeat the elements of a text, a list or a
// tuple so often that it has to be asked whether there is room for them.
func (l *lowerer) repeats(x, y syntax.Expr) bool {
	return !(isFew(x) || isFew(y)) && (isSequence(x, l.sequences) || isSequence(y, l.sequences))
}

// grows reports whether x + y may be a text, a list or a tuple so much longer than x and y
// that it has to be asked whether there is room for it.
func (l *lowerer) grows(x, y syntax.Expr) bool {
	return !(l.isShort(x) || l.isShort(y)) && (isSequence(x, l.sequences) || isSequence(y, l.sequences))
}

// unites reports whether x | y may be a dict or a set.
func (l *lowerer) unites(x, y syntax.Expr) bool { return isTable(x, l.tables) || isTable(y, l.tables) }

// isShort reports whether x is a text, a list or a tuple that is written out.
func (l *lowerer) isShort(x syntax.Expr) bool {
	switch x := x.(type) {
	case *syntax.Literal:
		return l.marks.FStrings[x] == nil
	case *syntax.ListExpr:
		return !hasStar(x.List, syntax.STAR)
	case *syntax.TupleExpr:
		return !hasStar(x.List, syntax.STAR)
	case *syntax.ParenExpr:
		return l.isShort(x.X)
	}
	return false
}

// few is up to how often something is repeated without much room.
const few = 100

// isFew reports whether x is a small number, as it is written.
func isFew(x syntax.Expr) bool {
	lit, ok := x.(*syntax.Literal)
	if !ok {
		return false
	}
	n, ok := lit.Value.(int64)
	return ok && n <= few
}
