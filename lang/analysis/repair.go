package analysis

import (
	"errors"
	"strings"

	"go.starlark.net/syntax"

	"tpsh/lang/source"
)

// probe is the name to which an expression is bound that is asked about.
const probe = "_tpsh_probe_"

// A View is a program as it would be if the statement at a cursor were another.
type View struct {
	*File
	Probe syntax.Expr // the expression asked about, or nil
	Scope *Scope      // around the cursor
}

// Look reads the program with the statement at a cursor replaced by one that binds an
// expression, or by nothing if that is "". Lines elsewhere that cannot be read are left out,
// so that it works on half of a text, too.
func (c *Cursor) Look(path string, l *Language, load func(string) *File, expr string) *View {
	head, tail := c.around()
	line := strings.Count(head, "\n") + 1
	indent := indentation(c.Text[c.Statement:])
	statement := indent + "pass\n"
	if expr != "" {
		statement = indent + probe + " = (" + strings.ReplaceAll(expr, "\n", " ") + ")\n"
	}
	f := readable(path, head, statement, tail, l, load)
	v := &View{File: f}
	if f.Tree == nil {
		return v
	}
	v.Scope = f.scopeAt(line, len(indent)+1)
	source.Walk(f.Tree, func(n syntax.Node) bool {
		if s, ok := n.(*syntax.AssignStmt); ok {
			if id, ok := s.LHS.(*syntax.Ident); ok && id.Name == probe {
				v.Probe = s.RHS
				if sym := f.symbolOf[id]; sym != nil {
					v.Scope = sym.Scope
				}
			}
		}
		return v.Probe == nil
	})
	return v
}

// around returns the text before the statement at the cursor and behind it.
func (c *Cursor) around() (head, tail string) {
	rest := c.Text[c.Offset:]
	end := strings.IndexByte(rest, '\n')
	if end < 0 {
		return c.Text[:c.Statement], ""
	}
	return c.Text[:c.Statement], rest[end+1:]
}

// indentation returns the space with which a text begins.
func indentation(text string) string {
	return text[:len(text)-len(strings.TrimLeft(text, " \t"))]
}

// maxRepairs is how many lines are left out of a text that cannot be read.
const maxRepairs = 25

// readable reads a program, and leaves out lines where it cannot be read.
func readable(path, head, statement, tail string, l *Language, load func(string) *File) *File {
	text := head + statement + tail
	kept := strings.Count(head, "\n") // the line that must stay, from 0
	lines := strings.SplitAfter(text, "\n")
	last := -1
	for range maxRepairs {
		_, err := source.Parse(path, strings.Join(lines, ""), source.Options{})
		var bad *source.Error
		if !errors.As(err, &bad) {
			return New(path, strings.Join(lines, ""), l, load)
		}
		at := min(int(bad.Pos.Line)-1, len(lines)-1)
		for at >= 0 && (at == kept || at == last && lines[at] == "\n" || strings.TrimSpace(lines[at]) == "pass" || strings.TrimSpace(lines[at]) == "") {
			at--
		}
		if at < 0 {
			break
		}
		lines[at] = indentation(lines[at]) + "pass\n"
		last = at
	}
	f := New(path, head+statement, l, load)
	if f.Tree == nil {
		f = New(path, strings.TrimLeft(statement, " \t"), l, load)
	}
	return f
}

// Readable reads a program of which unreadable lines are left out, line by line.
func Readable(path, text string, l *Language, load func(string) *File) *File {
	return readable(path, text, "", "", l, load)
}
