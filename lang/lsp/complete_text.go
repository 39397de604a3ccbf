package lsp

import (
	"os"
	"path/filepath"
	"strings"

	"go.starlark.net/syntax"

	"tpsh/lang/analysis"
	"tpsh/lang/source"
)

// inText adds the words that may stand in a text: paths in load, names of a loaded file, dims of
// a mesh, paths of a plan, choices of a parameter.
func (m *completer) inText() {
	inner := m.c.Innermost()
	statement := strings.TrimSpace(m.c.Text[m.c.Statement:m.c.Offset])
	switch {
	case strings.HasPrefix(statement, "load(") || strings.HasPrefix(statement, "load ("):
		m.inLoad()
	case inner == nil:
	case inner.Char == '[' && inner.Before != "":
		m.dims(inner.Before)
	case inner.Char == '{':
		m.planPaths()
	case inner.Char == '(' && inner.Before != "":
		m.choices(inner)
	}
}

// quoted adds a text that may stand between the quotes.
func (m *completer) quoted(text, detail string, kind int) {
	if !strings.HasPrefix(text, m.c.Content) {
		return
	}
	start := m.c.Offset - len(m.c.Content)
	m.add(completionItem{Label: text, Kind: kind, Detail: detail, FilterText: text,
		TextEdit: &textEdit{Range: span{m.d.text.position(start), m.d.text.position(m.c.Offset)}, NewText: text}})
}

// inLoad adds files, or the names of the file that is loaded.
func (m *completer) inLoad() {
	call := m.c.Innermost()
	if call == nil {
		return
	}
	if len(call.Args) == 1 {
		m.files()
		return
	}
	name := strings.Trim(call.Args[0].Text, "\"'")
	f := m.s.loader(m.d)(name)
	if f == nil || f.Tree == nil {
		return
	}
	for _, sym := range f.Scope.Order {
		if !strings.HasPrefix(sym.Name, "_") && sym.Kind != analysis.Loaded {
			m.quoted(sym.Name, typeText(f.TypeOfSymbol(sym)), kindOf(sym))
		}
	}
}

// files adds the .star files, and folders, that a load may name.
func (m *completer) files() {
	below, _ := filepath.Split(filepath.FromSlash(m.c.Content))
	for _, root := range append([]string{filepath.Dir(m.d.path)}, m.s.opts.Lib...) {
		entries, err := os.ReadDir(filepath.Join(root, below))
		if err != nil {
			continue
		}
		for _, e := range entries {
			name := filepath.ToSlash(filepath.Join(below, e.Name()))
			switch {
			case strings.HasPrefix(e.Name(), ".") || filepath.Join(root, name) == m.d.path:
			case e.IsDir():
				m.quoted(name+"/", "folder", kindFile)
			case strings.HasSuffix(name, ".star"):
				m.quoted(name, "file", kindFile)
			}
		}
	}
}

// dims adds the names of the dims of a mesh.
func (m *completer) dims(receiver string) {
	v, t := m.typeOf(receiver)
	if v.Tree == nil || t != nil && t.Name != "DeviceMesh" {
		return
	}
	if t != nil {
		for _, dim := range t.Dims {
			m.quoted(dim, "dim of the mesh", kindValue)
		}
	}
	if t == nil || t.Dims == nil {
		m.anyDims(v.File)
	}
}

// anyDims adds the dims of all meshes of a program.
func (m *completer) anyDims(f *analysis.File) {
	source.Walk(f.Tree, func(n syntax.Node) bool {
		if call, ok := n.(*syntax.CallExpr); ok {
			if t := f.TypeOf(call); t != nil && t.Name == "DeviceMesh" {
				for _, dim := range t.Dims {
					m.quoted(dim, "dim of a mesh", kindValue)
				}
			}
		}
		return true
	})
}

// planPaths adds the paths of the module that a plan is for.
func (m *completer) planPaths() {
	n := len(m.c.Open)
	if n < 2 || m.c.Open[n-2].Char != '(' || !strings.HasSuffix(m.c.Open[n-2].Before, "parallelize_module") {
		return
	}
	v, t := m.typeOf(m.c.Open[n-2].Args[0].Text)
	if v.Tree == nil {
		return
	}
	paths, _ := v.Paths(t)
	for _, p := range paths {
		m.quoted(p.Name, p.Class, kindValue)
	}
}

// choices adds the strings that the parameter at the cursor takes.
func (m *completer) choices(call *analysis.Bracket) {
	fn := m.callee(call.Before)
	if fn == nil {
		return
	}
	at := len(call.Args) - 1
	param := call.Args[at].Key
	if param == "" && at < len(fn.Params) {
		param = fn.Params[at]
	}
	list := m.s.opts.Language.Choices[fn.Path+"."+param]
	if param == "dtype" {
		list = m.s.opts.Language.DTypes
	}
	for _, text := range list {
		m.quoted(text, "for "+param, kindValue)
	}
	if strings.Contains(param, "mesh_dim") {
		if i := strings.LastIndexByte(call.Before, '.'); i >= 0 {
			m.dims(call.Before[:i])
		}
	}
}
