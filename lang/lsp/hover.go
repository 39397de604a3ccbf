package lsp

import (
	"fmt"
	"slices"
	"strings"

	"go.starlark.net/syntax"

	"tpsh/lang"
	"tpsh/lang/analysis"
	"tpsh/lang/source"
)

// docOf returns the documentation of a path; of a member of tensors that of any kind
// which has it.
func (s *Server) docOf(path string) (string, bool) {
	l := s.opts.Language
	if slices.Contains(l.Paths, path) {
		return l.Doc(path)
	}
	if owner, member, ok := strings.Cut(path, "."); ok {
		for _, kind := range l.Kinds[owner] {
			if slices.Contains(l.Paths, kind+"."+member) {
				return l.Doc(kind + "." + member)
			}
		}
	}
	return "", false
}

// docMarkdown returns a documentation as Markdown: its first line and its example as
// code.
func docMarkdown(text string) string {
	text, example, _ := strings.Cut(text, "\n>>> ")
	first, rest, _ := strings.Cut(text, "\n")
	out := first
	if i := strings.Index(first, ") "); i > 0 && strings.Contains(first[:i], "(") && !strings.Contains(first[:i], " is ") {
		out = "```python\n" + first[:i+1] + "\n```\n" + strings.TrimSpace(first[i+1:])
	}
	if rest != "" {
		out += "\n\n" + rest
	}
	if example != "" {
		out += "\n\n```python\n>>> " + example + "\n```"
	}
	return out
}

// hover explains a name: the text of tpsh doc, and of a variable what the
// last plan says of it.
func (s *Server) hover(d *document, p *documentParams) (any, error) {
	f := s.file(d)
	if f.Tree == nil {
		return nil, nil
	}
	line, col := d.text.toTree(p.Position)
	n := nodeAt(f, line, col)
	if n.id == nil {
		return nil, nil
	}
	var parts []string
	switch {
	case n.dot != nil:
		parts = s.hoverMember(f, n.dot)
	case n.keyword != nil:
		parts = s.hoverKeyword(f, n)
	default:
		parts = s.hoverName(d, f, n.id)
	}
	if len(parts) == 0 {
		return nil, nil
	}
	r := d.text.word(int(n.id.NamePos.Line), int(n.id.NamePos.Col))
	return hover{Contents: *markdown(strings.Join(parts, "\n\n---\n\n")), Range: &r}, nil
}

// A found is the node at a place of a tree.
type found struct {
	id      *syntax.Ident
	dot     *syntax.DotExpr  // whose name id is
	keyword *syntax.CallExpr // of which id is a keyword
}

// nodeAt returns the node at a line and a column.
func nodeAt(f *analysis.File, line, col int) (n found) {
	covers := func(id *syntax.Ident) bool {
		start := int(id.NamePos.Col)
		return int(id.NamePos.Line) == line && start <= col && col <= start+len([]rune(id.Name))
	}
	source.Walk(f.Tree, func(node syntax.Node) bool {
		switch x := node.(type) {
		case *syntax.DotExpr:
			if covers(x.Name) {
				n = found{id: x.Name, dot: x}
			}
		case *syntax.CallExpr:
			for _, a := range x.Args {
				if name, _ := analysis.Keyword(a); name != "" {
					if id := a.(*syntax.BinaryExpr).X.(*syntax.Ident); covers(id) {
						n = found{id: id, keyword: x}
					}
				}
			}
		case *syntax.LoadStmt:
			for i, id := range x.To {
				if covers(id) || covers(x.From[i]) {
					n = found{id: id}
				}
			}
		case *syntax.Ident:
			if n.id == nil && covers(x) {
				n = found{id: x}
			}
		}
		return true
	})
	return n
}

// hoverMember explains an attribute: of an unknown value, of whatever it may be.
func (s *Server) hoverMember(f *analysis.File, x *syntax.DotExpr) []string {
	t := f.TypeOf(x.X)
	name := x.Name.Name
	if t == nil {
		return s.hoverAny(name)
	}
	owner := t.Name
	if t.Path != "" {
		owner = t.Path
	}
	if text, ok := s.docOf(owner + "." + name); ok {
		return []string{docMarkdown(text)}
	}
	if field := f.TypeOf(x); field != nil {
		return []string{fmt.Sprintf("`%s`: %s", name, typeText(field))}
	}
	return nil
}

// maxOwners is how many types an attribute of an unknown value is explained of.
const maxOwners = 40

func (s *Server) hoverAny(name string) []string {
	var parts []string
	for _, owner := range s.opts.Language.Owners(name) {
		if text, ok := s.docOf(owner + "." + name); ok && len(parts) < maxOwners {
			parts = append(parts, "of a "+owner+":\n\n"+docMarkdown(text))
		}
	}
	return parts
}

// hoverKeyword says of which function a keyword is a parameter.
func (s *Server) hoverKeyword(f *analysis.File, n found) []string {
	for _, fn := range f.Callees(n.keyword) {
		if fn.Path != "" {
			if text, ok := s.docOf(fn.Path); ok {
				return []string{fmt.Sprintf("parameter `%s` of\n\n%s", n.id.Name, docMarkdown(text))}
			}
		}
		if fn.Func != nil {
			return []string{fmt.Sprintf("parameter `%s` of `%s`", n.id.Name, fn.Name)}
		}
	}
	return nil
}

// hoverName explains a name.
func (s *Server) hoverName(d *document, f *analysis.File, id *syntax.Ident) []string {
	sym := f.Symbol(id)
	if sym == nil {
		return nil
	}
	if sym.Kind == analysis.Predeclared || sym.Kind == analysis.Unknown {
		if text, ok := s.docOf(sym.Name); ok {
			return []string{docMarkdown(text)}
		}
		return nil
	}
	t := f.TypeOfSymbol(sym)
	text := fmt.Sprintf("`%s`: %s", sym.Name, sym.Kind)
	if t != nil {
		text += ", " + typeText(t)
	}
	var parts []string
	if t != nil && t.Func != nil {
		text = "```python\n" + functionText(t.Func, sym.Name) + "\n```"
		if doc := analysis.Docstring(t.Func.Body); doc != "" {
			text += "\n" + doc
		}
	}
	parts = append(parts, text)
	if sight := s.sightOf(d, sym, id); sight != "" {
		parts = append(parts, "in the last plan: `"+sight+"`")
	}
	return parts
}

// sightOf returns the value in a plan of the document of a symbol where it is used: of
// the place that bound it last before.
func (s *Server) sightOf(d *document, sym *analysis.Symbol, id *syntax.Ident) string {
	if d.sightsOf == nil {
		return ""
	}
	best, text := -1, ""
	for _, sight := range d.sights {
		if sight.Name != sym.Name || sight.Path != d.path || !binds(sym, sight) {
			continue
		}
		later := sight.Line > int(id.NamePos.Line)
		if best < 0 || !later && sight.Line >= best {
			best, text = sight.Line, sight.Text
		}
	}
	return text
}

// binds reports whether a sight is of a binding of a symbol. Lines may have moved since
// the plan, then the name alone must do.
func binds(sym *analysis.Symbol, sight lang.Described) bool {
	return slices.ContainsFunc(sym.Binds, func(b analysis.Binding) bool {
		return int(b.Ident.NamePos.Line) == sight.Line && int(b.Ident.NamePos.Col) == sight.Col
	})
}

// functionText returns the first line of a function of a program.
func functionText(fn *analysis.Function, name string) string {
	return "def " + name + "(" + strings.Join(paramTexts(fn), ", ") + ")"
}

// paramTexts returns the parameters of a function as they are written.
func paramTexts(fn *analysis.Function) []string {
	var list []string
	for _, p := range fn.Params {
		list = append(list, fn.File.Source(p))
	}
	return list
}
