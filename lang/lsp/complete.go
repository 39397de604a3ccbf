package lsp

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"tpsh/lang/analysis"
	"tpsh/lang/source"
)

// A completer finds the words that may stand at a cursor.
type completer struct {
	s     *Server
	d     *document
	c     *analysis.Cursor
	items []completionItem
	seen  map[string]bool
}

// completion lists the words that may stand at a place, whether the text can be read or not.
func (s *Server) completion(d *document, p *documentParams) (any, error) {
	m := &completer{s: s, d: d, c: analysis.CursorAt(d.text.body, d.text.offset(p.Position)), seen: map[string]bool{}}
	switch {
	case m.c.Comment:
	case m.c.Quoted:
		m.inText()
	case m.c.HasDot:
		m.members()
	default:
		m.keywords()
		m.names()
	}
	if m.items == nil {
		m.items = []completionItem{}
	}
	return completionList{Items: m.items}, nil
}

// look reads the program with an expression in place of the statement at the cursor.
func (m *completer) look(expr string) *analysis.View {
	return m.c.Look(m.d.path, m.s.opts.Language, m.s.loader(m.d), expr)
}

// typeOf returns the type of an expression at the cursor.
func (m *completer) typeOf(expr string) (*analysis.View, *analysis.Type) {
	v := m.look(expr)
	if v.Tree == nil || v.Probe == nil {
		return v, nil
	}
	return v, v.TypeOf(v.Probe)
}

func (m *completer) add(i completionItem) {
	if !m.seen[i.Label] && (m.c.Quoted || strings.HasPrefix(strings.ToLower(i.Label), strings.ToLower(m.c.Word))) {
		m.seen[i.Label] = true
		m.items = append(m.items, i)
	}
}

// documented returns an item for a path of the language.
func (m *completer) documented(label, path string, kind int) completionItem {
	i := completionItem{Label: label, Kind: kind, Data: path}
	if text, ok := m.s.opts.Language.Doc(path); ok {
		i.Detail, _, _ = strings.Cut(text, "\n")
	}
	return i
}

// members adds the names behind a dot.
func (m *completer) members() {
	v, t := m.typeOf(m.c.Receiver)
	if v.Tree == nil {
		return
	}
	names, all := v.Members(t)
	for _, name := range names {
		m.add(m.member(t, name))
	}
	if all || len(names) > 0 && t.Name != "Module" && t.Name != "struct" {
		return
	}
	// Of unknown values: the attributes that the program itself gives to values, and those of tensors.
	for _, name := range given(v.File) {
		m.add(completionItem{Label: name, Kind: kindField, SortText: "1" + name})
	}
	if t == nil {
		for _, name := range m.s.opts.Language.Types["Tensor"] {
			i := m.documented(name, "Tensor."+name, kindMethod)
			i.SortText = "2" + name
			m.add(i)
		}
	}
}

// member returns the item of an attribute of a type.
func (m *completer) member(t *analysis.Type, name string) completionItem {
	kind, path := kindField, t.Name+"."+name
	if t.Path != "" {
		kind, path = kindFunction, t.Path+"."+name
	} else if _, ok := m.s.opts.Language.Signature(path); ok {
		kind = kindMethod
	}
	if field := t.Fields[name]; field != nil && field.Name != "" {
		return completionItem{Label: name, Kind: kindField, Detail: typeText(field)}
	}
	return m.documented(name, path, kind)
}

// given lists attributes that a program gives to values.
func given(f *analysis.File) []string {
	all := map[string]bool{}
	source.Walk(f.Tree, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.AssignStmt:
			if d, ok := n.LHS.(*syntax.DotExpr); ok {
				all[d.Name.Name] = true
			}
		case *syntax.CallExpr:
			t := f.TypeOf(n.Fn)
			if t == nil || t.Path != "struct" && t.Path != "nn.Module" {
				return true
			}
			for _, a := range n.Args {
				if name, _ := analysis.Keyword(a); name != "" {
					all[name] = true
				}
			}
		}
		return true
	})
	names := make([]string, 0, len(all))
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// keywords adds the parameters of the function whose call the cursor is in.
func (m *completer) keywords() {
	call := m.c.Innermost()
	if call == nil || call.Char != '(' || call.Before == "" {
		return
	}
	last := call.Args[len(call.Args)-1]
	if last.Key != "" || last.Text != m.c.Word && last.Text != "" {
		return
	}
	fn := m.callee(call.Before)
	if fn == nil {
		return
	}
	given := map[string]bool{}
	for i, a := range call.Args[:len(call.Args)-1] {
		given[a.Key] = true
		if a.Key == "" && i < len(fn.Params) {
			given[fn.Params[i]] = true
		}
	}
	for _, name := range keywordsOf(fn) {
		if !given[name] {
			m.add(completionItem{Label: name + "=", Kind: kindField, Detail: "parameter of " + fn.Name, SortText: "0" + name, Data: fn.Path})
		}
	}
}

// keywordsOf lists the keywords of a function, in the order of its parameters first.
func keywordsOf(fn *analysis.Callee) []string {
	var names []string
	for _, name := range append(slices.Clone(fn.Params), fn.Known()...) {
		if fn.Keywords[name] && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// callee returns the function that an expression at the cursor stands for, or nil.
func (m *completer) callee(expr string) *analysis.Callee {
	v := m.look(expr + "()")
	if v.Tree == nil || v.Probe == nil {
		return nil
	}
	x := v.Probe
	for {
		p, ok := x.(*syntax.ParenExpr)
		if !ok {
			break
		}
		x = p.X
	}
	call, ok := x.(*syntax.CallExpr)
	if !ok {
		return nil
	}
	list := v.Callees(call)
	if len(list) == 0 {
		return nil
	}
	return &list[0]
}

// names adds the names that can be used at the cursor.
func (m *completer) names() {
	v := m.look("")
	if v.Tree == nil {
		return
	}
	for s := v.Scope; s != nil; s = s.Parent {
		for _, sym := range s.Order {
			m.add(completionItem{Label: sym.Name, Kind: kindOf(sym), Detail: typeText(v.TypeOfSymbol(sym)), SortText: "1" + sym.Name})
		}
	}
	names := m.s.opts.Language.Names
	for _, name := range names.Keys() {
		if source.IsHidden(name) {
			continue
		}
		i := m.documented(name, name, valueKind(names[name]))
		i.SortText = "2" + name
		m.add(i)
	}
	for _, name := range starlark.Universe.Keys() {
		i := m.documented(name, name, valueKind(starlark.Universe[name]))
		i.SortText = "2" + name
		m.add(i)
	}
	for _, word := range analysis.Keywords() {
		m.add(completionItem{Label: word, Kind: kindKeyword, SortText: "3" + word})
	}
}

func kindOf(sym *analysis.Symbol) int {
	switch sym.Kind {
	case analysis.Func, analysis.Loaded:
		return kindFunction
	}
	return kindVariable
}

func valueKind(v starlark.Value) int {
	if _, ok := v.(starlark.Callable); ok {
		return kindFunction
	}
	if _, ok := v.(starlark.HasAttrs); ok {
		return kindModule
	}
	return kindConstant
}

// resolve adds the documentation to an item.
func (s *Server) resolve(params json.RawMessage) (any, error) {
	var i completionItem
	if err := json.Unmarshal(params, &i); err != nil {
		return nil, invalid(err)
	}
	if text, ok := s.docOf(i.Data); ok && i.Data != "" {
		i.Documentation = markdown(docMarkdown(text))
	}
	return i, nil
}

// typeText returns a type as an editor shows it.
func typeText(t *analysis.Type) string {
	switch {
	case t == nil:
		return ""
	case t.Func != nil:
		return fmt.Sprintf("function(%s)", strings.Join(paramTexts(t.Func), ", "))
	case t.Path != "":
		return t.Name + " " + t.Path
	case t.Class != "":
		return t.Class
	case t.Elem != nil && t.Elem.Name != "" && t.Name != "function":
		return t.Name + " of " + t.Elem.Name
	}
	return t.Name
}
