package lsp

import (
	"fmt"
	"strings"

	"go.starlark.net/syntax"

	"tpsh/lang"
)

// inlayHints shows behind names the description by the last plan of the tensors that they were
// bound to: shapes, dtypes and placements. Nothing is shown of lines that have changed.
func (s *Server) inlayHints(d *document, p *documentParams) (any, error) {
	list := []inlayHint{}
	for _, sight := range d.sights {
		if sight.Path != d.path || !stillThere(d, sight) {
			continue
		}
		at := d.text.ofTree(sight.Line, sight.Col+len([]rune(sight.Name)))
		if at.Line < p.Range.Start.Line || at.Line > p.Range.End.Line {
			continue
		}
		list = append(list, inlayHint{Position: at, Label: ": " + short(sight.Text), Kind: 1, Tooltip: sight.Text})
	}
	return list, nil
}

// stillThere reports whether the line of a sight is as it was when the plan ran.
func stillThere(d *document, sight lang.Described) bool {
	return d.sightsOf != nil && d.text.line(sight.Line-1) == d.sightsOf.line(sight.Line-1)
}

// short returns a description without its bytes.
func short(text string) string {
	if i := strings.LastIndex(text, ", "); i > 0 && strings.Contains(text[i:], " byte") {
		return text[:i]
	}
	return text
}

// codeLenses offers to run a file on as many ranks as it says, to plan it, and to run
// one of its tests.
func (s *Server) codeLenses(d *document, _ *documentParams) (any, error) {
	list := []codeLens{}
	f := s.file(d)
	if f.Tree == nil {
		return list, nil
	}
	n := ranksOf(d.text.body)
	tests := false
	for _, stmt := range f.Tree.Stmts {
		if def, ok := stmt.(*syntax.DefStmt); ok && strings.HasPrefix(def.Name.Name, "test_") {
			tests = true
			at := d.text.ofTree(int(def.Def.Line), 1)
			list = append(list, codeLens{span{at, at}, command{"Run test", "tpsh.test", []any{d.uri, def.Name.Name}}})
		}
	}
	if !tests {
		list = append(list,
			codeLens{Command: command{fmt.Sprintf("Run with %d ranks", n), "tpsh.run", []any{d.uri, n}}},
			codeLens{Command: command{"Run with ... ranks", "tpsh.run", []any{d.uri}}},
			codeLens{Command: command{"Plan", "tpsh.plan", []any{d.uri, n}}})
	}
	return list, nil
}
