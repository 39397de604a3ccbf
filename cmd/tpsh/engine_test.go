package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// blockArithmetic are the names of package mesh that compute with blocks: what
// uses them decides who sends what to whom, or who holds what.
var blockArithmetic = []string{"NewExchange", "NewPlan", "NewWindow", "Intersect", "Pieces", "Sends", "Lacks"}

// engines are the folders, and files, that may compute with blocks, and why.
var engines = map[string]string{
	"mesh":                          "it is what they are made of",
	"runtime/shard":                 "the one engine of tensors that ranks hold together",
	"runtime/ckpt":                  "a checkpoint is a layout on a disk, and is read and written by it",
	"runtime/collective_shapes.go":  "collectives of plain tensors cut a dim as chunk does",
	"runtime/transition.go":         "so do transitions between types of plain tensors",
	"builtins/tensorfiles":          "formats of files hold tensors in pieces of their own",
	"runtime/op/shape_split.go":     "chunk is the rule",
	"runtime/op/shape_subtensor.go": "it says which box ranks are to exchange, and the engine does it",
}

// There is one engine: who else computes with blocks builds a second one beside
// it.
func TestOneEngine(t *testing.T) {
	root := filepath.Join("..", "..")
	files := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if name = filepath.ToSlash(name); engines[name] != "" || engines[filepath.ToSlash(filepath.Dir(name))] != "" {
			return nil
		}
		files++
		return noBlockArithmetic(t, path, name)
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 100 {
		t.Errorf("looked at %d files, want all of them", files)
	}
}

// noBlockArithmetic fails the test if the file at path, called name, imports
// package mesh and uses one of blockArithmetic.
func noBlockArithmetic(t *testing.T, path, name string) error {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	imports := slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == `"tpsh/mesh"` })
	if !imports {
		return nil
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && (slices.Contains(blockArithmetic, s.Sel.Name) || isMeshBlock(s)) {
			t.Errorf("%s:%d computes with blocks (%s): that belongs to package mesh or runtime/shard", name, fset.Position(s.Pos()).Line, s.Sel.Name)
		}
		return true
	})
	return nil
}

// isMeshBlock reports whether s is mesh.Block.
func isMeshBlock(s *ast.SelectorExpr) bool {
	pkg, ok := s.X.(*ast.Ident)
	return ok && pkg.Name == "mesh" && s.Sel.Name == "Block"
}
