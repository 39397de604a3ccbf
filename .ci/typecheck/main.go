// Typecheck checks the types of a command and of all that it is made of, as they are on
// another system: go run ./.ci/typecheck SYSTEM/PROCESSOR PACKAGE. A build would find the
// same mistakes of Go, and take ten times as long. It prints what is wrong, and exits with 1
// if anything is.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// A goPackage is what go list says of a package.
type goPackage struct {
	Dir        string
	ImportPath string
	Standard   bool // Go's own, and so not checked within functions
	GoFiles    []string
	ImportMap  map[string]string // the path of what an import names, where it is another
}

func main() {
	if len(os.Args) != 3 || strings.Count(os.Args[1], "/") != 1 {
		fmt.Fprintln(os.Stderr, "usage: typecheck SYSTEM/PROCESSOR PACKAGE")
		os.Exit(2)
	}
	system, processor, _ := strings.Cut(os.Args[1], "/")
	if err := check(system, processor, os.Args[2]); err != nil {
		fmt.Fprintf(os.Stderr, "%s/%s: %v\n", system, processor, err)
		os.Exit(1)
	}
}

// check checks all packages that one imports, and itself, those that are imported first.
func check(system, processor, path string) error {
	list := exec.Command("go", "list", "-deps", "-json=Dir,ImportPath,Standard,GoFiles,ImportMap", path)
	list.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+processor, "CGO_ENABLED=0")
	list.Stderr = os.Stderr
	out, err := list.StdoutPipe()
	if err != nil {
		return err
	}
	if err := list.Start(); err != nil {
		return err
	}
	c := checker{
		fset:   token.NewFileSet(),
		sizes:  types.SizesFor("gc", processor),
		loaded: map[string]*types.Package{"unsafe": types.Unsafe},
	}
	for d := json.NewDecoder(out); ; {
		var p goPackage
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		if p.ImportPath != "unsafe" {
			if err := c.check(p); err != nil {
				return err
			}
		}
	}
	return list.Wait()
}

type checker struct {
	fset   *token.FileSet
	sizes  types.Sizes
	loaded map[string]*types.Package
}

func (c *checker) check(p goPackage) error {
	files := make([]*ast.File, len(p.GoFiles))
	for i, name := range p.GoFiles {
		f, err := parser.ParseFile(c.fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files[i] = f
	}
	var wrong []error
	config := types.Config{
		Importer:         imports{c.loaded, p.ImportMap},
		Sizes:            c.sizes,
		IgnoreFuncBodies: p.Standard,
		Error:            func(err error) { wrong = append(wrong, err) },
	}
	c.loaded[p.ImportPath], _ = config.Check(p.ImportPath, c.fset, files, nil) // its error is the first of them
	return errors.Join(wrong...)
}

// imports finds what a package imports among those that were loaded before it.
type imports struct {
	loaded map[string]*types.Package
	mapped map[string]string
}

func (i imports) Import(path string) (*types.Package, error) {
	if to, ok := i.mapped[path]; ok {
		path = to
	}
	if p := i.loaded[path]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("go list does not name %s", path)
}
