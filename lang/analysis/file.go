package analysis

import (
	"strings"

	"go.starlark.net/syntax"

	"tpsh/lang"
	"tpsh/lang/source"
)

// A File is a program that was read.
type File struct {
	Path, Text string
	Lang       *Language
	Tree       *source.File // nil if the text cannot be parsed
	Err        error        // why; a *lang.StaticError
	Scope      *Scope       // of the file

	// Load returns the file that a load of this one names, or nil. It is the
	// caller's; nil where loads are not followed.
	Load func(name string) *File

	scopes   []*Scope // but for that of the file
	symbolOf map[*syntax.Ident]*Symbol
	used     map[string]*Symbol // names from outside: the language's names, and unbound ones
	types    map[syntax.Node]*Type
	changed  *changes // nil until they are asked for
	symbols  map[*Symbol]*Type
	busy     map[any]bool // the things that are being looked for, so that no circle is gone round
	circles  int          // how often one was met
}

// New reads a program. load may be nil.
func New(path, text string, l *Language, load func(name string) *File) *File {
	f := &File{Path: path, Text: text, Lang: l, Load: load, Scope: newScope(nil, nil), symbolOf: map[*syntax.Ident]*Symbol{}, used: map[string]*Symbol{}, types: map[syntax.Node]*Type{}, symbols: map[*Symbol]*Type{}, busy: map[any]bool{}}
	if f.Tree, f.Err = lang.Parse(path, text, 1); f.Err == nil {
		f.resolve()
	}
	return f
}

// outside returns the symbol of a name that the file does not bind.
func (f *File) outside(name string) *Symbol {
	sym := f.used[name]
	if sym == nil {
		sym = &Symbol{Name: name, Kind: Unknown}
		if f.Lang.Names.Has(name) || isUniversal(name) {
			sym.Kind = Predeclared
		}
		f.used[name] = sym
	}
	return sym
}

// Symbol returns the symbol that an identifier binds or uses, or nil.
func (f *File) Symbol(id *syntax.Ident) *Symbol { return f.symbolOf[id] }

// Scopes returns the scopes of functions and comprehensions, as they stand.
func (f *File) Scopes() []*Scope { return f.scopes }

// SymbolAt returns the symbol of the identifier at a line and a column, which count
// from 1, in runes, and the identifier; nil if there is none.
func (f *File) SymbolAt(line, col int) (*Symbol, *syntax.Ident) {
	for id, sym := range f.symbolOf {
		start := int(id.NamePos.Col)
		if int(id.NamePos.Line) == line && start <= col && col <= start+len([]rune(id.Name)) {
			return sym, id
		}
	}
	return nil, nil
}

// scopeAt returns the innermost scope around a place.
func (f *File) scopeAt(line, col int) *Scope {
	best := f.Scope
	for _, s := range f.scopes {
		start, end := s.Node.Span()
		if before(start, line, col) && !before(end, line, col) && (best.IsFile() || within(s, best)) {
			best = s
		}
	}
	return best
}

// within reports whether a scope is inside another.
func within(s, outer *Scope) bool {
	for ; s != nil; s = s.Parent {
		if s == outer {
			return true
		}
	}
	return false
}

// before reports whether a position stands before a place or at it.
func before(p syntax.Position, line, col int) bool {
	return int(p.Line) < line || int(p.Line) == line && int(p.Col) <= col
}

// Loaded returns the file and the symbol of it that a loaded symbol stands for; nil
// if they are not to be had.
func (f *File) Loaded(sym *Symbol) (*File, *Symbol) {
	if f.Load == nil || len(sym.Binds) != 1 {
		return nil, nil
	}
	l, ok := sym.Binds[0].By.(*syntax.LoadStmt)
	if !ok {
		return nil, nil
	}
	other := f.Load(l.Module.Value.(string))
	if other == nil || other.Tree == nil {
		return nil, nil
	}
	for i, to := range l.To {
		if to == sym.Binds[0].Ident {
			return other, other.Scope.Symbols[l.From[i].Name]
		}
	}
	return nil, nil
}

// Loads returns the load statements of the file.
func (f *File) Loads() []*syntax.LoadStmt {
	var list []*syntax.LoadStmt
	if f.Tree == nil {
		return nil
	}
	for _, s := range f.Tree.Stmts {
		if l, ok := s.(*syntax.LoadStmt); ok {
			list = append(list, l)
		}
	}
	return list
}

// Source returns the text of a node of the file.
func (f *File) Source(n syntax.Node) string {
	start, end := n.Span()
	lines := strings.SplitAfter(f.Text, "\n")
	if int(end.Line) > len(lines) || start.Line < 1 {
		return ""
	}
	text := strings.Join(lines[start.Line-1:end.Line], "")
	runes, last := []rune(text), []rune(lines[end.Line-1])
	stop := len(runes) - len(last) + min(int(end.Col)-1, len(last))
	return strings.TrimSpace(string(runes[min(int(start.Col)-1, stop):stop]))
}

// Docstring returns the text with which a block begins, or "".
func Docstring(stmts []syntax.Stmt) string {
	if len(stmts) == 0 {
		return ""
	}
	x, ok := stmts[0].(*syntax.ExprStmt)
	if !ok {
		return ""
	}
	l, ok := x.X.(*syntax.Literal)
	if !ok || l.Token != syntax.STRING {
		return ""
	}
	text, _ := l.Value.(string)
	return strings.TrimSpace(text)
}
