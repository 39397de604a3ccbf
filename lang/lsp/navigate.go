package lsp

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sourcegraph/jsonrpc2"
	"go.starlark.net/syntax"

	"tpsh/lang/analysis"
	"tpsh/lang/format"
	"tpsh/lang/source"
)

// A place is an identifier of a file.
type place struct {
	f  *analysis.File
	id *syntax.Ident
}

// symbolAt returns the symbol at a place: that of a keyword is the parameter of the
// function of the program that is called.
func (s *Server) symbolAt(d *document, p position) (*analysis.File, *analysis.Symbol, *syntax.Ident) {
	f := s.file(d)
	if f.Tree == nil {
		return nil, nil, nil
	}
	line, col := d.text.toTree(p)
	n := nodeAt(f, line, col)
	switch {
	case n.id == nil || n.dot != nil:
		return f, nil, nil
	case n.keyword != nil:
		for _, fn := range f.Callees(n.keyword) {
			if fn.Func != nil {
				return fn.Func.File, parameterOf(fn.Func, n.id.Name), n.id
			}
		}
		return f, nil, nil
	}
	return f, f.Symbol(n.id), n.id
}

// parameterOf returns the symbol of a parameter of a function of a program, or nil.
func parameterOf(fn *analysis.Function, name string) *analysis.Symbol {
	for _, p := range fn.Params {
		if id := analysis.ParamIdent(p); id != nil && id.Name == name {
			return fn.File.Symbol(id)
		}
	}
	return nil
}

// home returns the file that binds a symbol, and the symbol there.
func home(f *analysis.File, sym *analysis.Symbol) (*analysis.File, *analysis.Symbol) {
	for range 20 {
		if sym.Kind != analysis.Loaded {
			break
		}
		other, there := f.Loaded(sym)
		if there == nil {
			break
		}
		f, sym = other, there
	}
	return f, sym
}

// textOf returns the text of a file.
func (s *Server) textOf(f *analysis.File) *text {
	for _, d := range s.docs {
		if d.path == f.Path {
			return d.text
		}
	}
	return newText(f.Text)
}

func (s *Server) uriFor(f *analysis.File) string {
	for _, d := range s.docs {
		if d.path == f.Path {
			return d.uri
		}
	}
	return uriOf(f.Path)
}

func (s *Server) locate(p place) location {
	return location{s.uriFor(p.f), s.textOf(p.f).word(int(p.id.NamePos.Line), int(p.id.NamePos.Col))}
}

// definition goes to where a name is bound, also in a loaded file; from the path in a
// load to that file.
func (s *Server) definition(d *document, p *documentParams) (any, error) {
	if to := s.loadedFile(d, p.Position); to != nil {
		return to, nil
	}
	f, sym, _ := s.symbolAt(d, p.Position)
	if sym == nil || sym.Kind == analysis.Predeclared || sym.Kind == analysis.Unknown {
		return nil, nil
	}
	f, sym = home(f, sym)
	list := []location{}
	for _, b := range sym.Binds {
		list = append(list, s.locate(place{f, b.Ident}))
	}
	return list, nil
}

// loadedFile returns the beginning of the file that the path at a place names, or nil.
func (s *Server) loadedFile(d *document, p position) []location {
	f := s.file(d)
	line, col := d.text.toTree(p)
	for _, l := range f.Loads() {
		pos := l.Module.TokenPos
		if int(pos.Line) == line && int(pos.Col) <= col && col <= int(pos.Col)+len([]rune(l.Module.Raw)) {
			if to := s.loader(d)(l.Module.Value.(string)); to != nil {
				return []location{{URI: s.uriFor(to)}}
			}
		}
	}
	return nil
}

// occurrences returns all places of a symbol: of one of a file also those in files that
// load it, of a parameter also the keywords of calls.
func (s *Server) occurrences(f *analysis.File, sym *analysis.Symbol) (binds, uses []place) {
	f, sym = home(f, sym)
	for _, b := range sym.Binds {
		binds = append(binds, place{f, b.Ident})
	}
	for _, id := range sym.Uses {
		uses = append(uses, place{f, id})
	}
	files := []*analysis.File{f}
	if sym.Scope != nil && (sym.Scope.IsFile() || sym.Kind == analysis.Parameter) {
		for _, other := range s.users(f) {
			files = append(files, other)
			if sym.Scope.IsFile() {
				uses = append(uses, loadedUses(other, f, sym)...)
			}
		}
	}
	if sym.Kind == analysis.Parameter {
		for _, in := range files {
			uses = append(uses, keywordUses(in, sym)...)
		}
	}
	return binds, uses
}

// users returns the files that load a file: those beside it and above, and those that
// are open.
func (s *Server) users(f *analysis.File) []*analysis.File {
	list := s.language.Users(f)
	for _, d := range s.docs {
		if other := s.file(d); other.Tree != nil && other.Path != f.Path && !slices.ContainsFunc(list, func(in *analysis.File) bool { return in.Path == other.Path }) {
			list = append(list, other)
		}
	}
	return list
}

// loadedUses returns the places of a symbol in a file that loads it.
func loadedUses(in, from *analysis.File, sym *analysis.Symbol) []place {
	var list []place
	for _, l := range in.Loads() {
		for i, id := range l.To {
			loaded := in.Symbol(id)
			if loaded == nil {
				continue
			}
			other, there := in.Loaded(loaded)
			if there == nil || other.Path != from.Path || there.Name != sym.Name {
				continue
			}
			list = append(list, place{in, l.From[i]})
			if id.Name == sym.Name {
				for _, use := range loaded.Uses {
					list = append(list, place{in, use})
				}
			}
		}
	}
	return list
}

// keywordUses returns the keywords by which calls name a parameter.
func keywordUses(f *analysis.File, sym *analysis.Symbol) []place {
	var list []place
	source.Walk(f.Tree, func(n syntax.Node) bool {
		call, ok := n.(*syntax.CallExpr)
		if !ok {
			return true
		}
		for _, a := range call.Args {
			name, _ := analysis.Keyword(a)
			if name != sym.Name {
				continue
			}
			for _, fn := range f.Callees(call) {
				if fn.Func != nil && len(sym.Binds) > 0 && fn.Func.Node == sym.Binds[0].By {
					list = append(list, place{f, a.(*syntax.BinaryExpr).X.(*syntax.Ident)})
				}
			}
		}
		return true
	})
	return list
}

// references lists where a name is used.
func (s *Server) references(d *document, p *documentParams) (any, error) {
	f, sym, _ := s.symbolAt(d, p.Position)
	if sym == nil {
		return nil, nil
	}
	binds, uses := s.occurrences(f, sym)
	if p.Context.IncludeDeclaration {
		uses = append(binds, uses...)
	}
	return s.locations(uses), nil
}

// locations returns places in their order, each once.
func (s *Server) locations(places []place) []location {
	list := []location{}
	for _, p := range places {
		list = append(list, s.locate(p))
	}
	slices.SortFunc(list, func(a, b location) int {
		return cmp.Or(cmp.Compare(a.URI, b.URI), cmp.Compare(a.Range.Start.Line, b.Range.Start.Line), cmp.Compare(a.Range.Start.Character, b.Range.Start.Character))
	})
	return slices.Compact(list)
}

// prepareRename returns the name that would be changed.
func (s *Server) prepareRename(d *document, p *documentParams) (any, error) {
	_, sym, id := s.symbolAt(d, p.Position)
	if sym == nil || len(sym.Binds) == 0 {
		return nil, nil
	}
	return map[string]any{"range": d.text.word(int(id.NamePos.Line), int(id.NamePos.Col)), "placeholder": sym.Name}, nil
}

// rename gives a name another, wherever it stands.
func (s *Server) rename(d *document, p *documentParams) (any, error) {
	f, sym, _ := s.symbolAt(d, p.Position)
	if sym == nil || len(sym.Binds) == 0 {
		return nil, nil
	}
	if !analysis.IsName(p.NewName) || slices.Contains(analysis.Keywords(), p.NewName) {
		return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeInvalidParams, Message: fmt.Sprintf("rename: got %q, want a name: letters, digits and _, no digit first", p.NewName)}
	}
	binds, uses := s.occurrences(f, sym)
	changes := map[string][]textEdit{}
	for _, l := range s.locations(append(binds, uses...)) {
		changes[l.URI] = append(changes[l.URI], textEdit{l.Range, p.NewName})
	}
	return workspaceEdit{changes}, nil
}

// documentSymbols lists the functions of a file, and the variables of its top level.
func (s *Server) documentSymbols(d *document, _ *documentParams) (any, error) {
	f := s.file(d)
	if f.Tree == nil {
		return []documentSymbol{}, nil
	}
	list := symbolsOf(d.text, f, f.Tree.Stmts, map[string]bool{}, true)
	if list == nil {
		list = []documentSymbol{}
	}
	return list, nil
}

func symbolsOf(t *text, f *analysis.File, stmts []syntax.Stmt, seen map[string]bool, variables bool) []documentSymbol {
	var list []documentSymbol
	for _, stmt := range stmts {
		start, end := stmt.Span()
		whole := span{t.ofTree(int(start.Line), int(start.Col)), t.ofTree(int(end.Line), int(end.Col))}
		switch stmt := stmt.(type) {
		case *syntax.DefStmt:
			list = append(list, documentSymbol{
				Name: stmt.Name.Name, Kind: symbolFunction, Range: whole,
				SelectionRange: t.word(int(stmt.Name.NamePos.Line), int(stmt.Name.NamePos.Col)),
				Children:       symbolsOf(t, f, stmt.Body, map[string]bool{}, false),
			})
		case *syntax.AssignStmt:
			id, ok := stmt.LHS.(*syntax.Ident)
			if ok && variables && !seen[id.Name] {
				seen[id.Name] = true
				list = append(list, documentSymbol{Name: id.Name, Kind: symbolVariable, Detail: typeText(f.TypeOf(stmt.RHS)), Range: whole, SelectionRange: t.word(int(id.NamePos.Line), int(id.NamePos.Col))})
			}
		}
	}
	return list
}

// formatting returns the document in the one style, as one edit.
func (s *Server) formatting(d *document, _ *documentParams) (any, error) {
	out, err := format.Source(d.path, d.text.body)
	if err != nil || out == d.text.body {
		return []textEdit{}, nil // the mistakes are among the diagnostics
	}
	return []textEdit{{span{position{}, d.text.position(len(d.text.body))}, out}}, nil
}
