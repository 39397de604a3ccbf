package source

import "go.starlark.net/syntax"

// Walk is syntax.Walk that goes into the fields of f-strings, too, and leaves
// out the names without letters that slices among the elements of an index are
// of.
func Walk(f *File, visit func(syntax.Node) bool) { f.walk(f.File, visit) }

// WalkNode is Walk from a node of the file on.
func (f *File) WalkNode(n syntax.Node, visit func(syntax.Node) bool) { f.walk(n, visit) }

func (f *File) walk(root syntax.Node, visit func(syntax.Node) bool) {
	syntax.Walk(root, func(n syntax.Node) bool {
		if id, ok := n.(*syntax.Ident); ok && id.Name == openName {
			return false
		}
		if !visit(n) {
			return false
		}
		if l, ok := n.(*syntax.Literal); ok && f.FStrings[l] != nil {
			f.walkFString(f.FStrings[l], visit)
		}
		return true
	})
}

func (f *File) walkFString(fs *FString, visit func(syntax.Node) bool) {
	for _, part := range fs.Parts {
		if part.X != nil {
			f.walk(part.X, visit)
		}
		if part.Spec != nil {
			f.walkFString(part.Spec, visit)
		}
	}
}
