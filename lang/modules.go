package lang

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"go.starlark.net/starlark"
)

// A loader executes the modules that one program loads, each once, and
// freezes them.
type loader struct {
	dir         string // absolute path of the script's folder
	display     string // the same folder as positions show it
	predeclared starlark.StringDict
	modules     map[string]starlark.StringDict // by path below dir
	loading     []string                       // paths below dir, outermost first
}

// newLoader returns the loader of a program.
func newLoader(p *runMsg, predeclared starlark.StringDict) *loader {
	return &loader{
		dir:         string(p.Dir),
		display:     filepath.Dir(string(p.Path)),
		predeclared: predeclared,
		modules:     make(map[string]starlark.StringDict),
		loading:     []string{filepath.Base(string(p.Path))},
	}
}

// load is the Load function of a thread. The module runs on the thread that
// loads it, so that a traceback shows both.
func (l *loader) load(t *starlark.Thread, module string) (starlark.StringDict, error) {
	name, err := l.resolve(module)
	if err != nil {
		return nil, err
	}
	if globals, ok := l.modules[name]; ok {
		return globals, nil
	}
	source, err := l.read(name)
	if err != nil {
		return nil, err
	}
	l.loading = append(l.loading, name)
	defer func() { l.loading = l.loading[:len(l.loading)-1] }()

	prog, err := compile(filepath.Join(l.display, filepath.FromSlash(name)), source, l.predeclared)
	if err != nil {
		return nil, err
	}
	globals, err := prog.Init(t, l.predeclared)
	globals.Freeze()
	if err != nil {
		return nil, err
	}
	l.modules[name] = globals
	return globals, nil
}

// resolve returns the path below dir of a module that the innermost module
// being loaded names.
func (l *loader) resolve(module string) (string, error) {
	if module == "" || path.IsAbs(module) || filepath.IsAbs(module) || strings.Contains(module, `\`) {
		return "", errors.New("want a path with slashes, relative to the loading file")
	}
	from := l.loading[len(l.loading)-1]
	name := path.Join(path.Dir(from), module)
	if name == ".." || strings.HasPrefix(name, "../") {
		return "", errOutside
	}
	for i, above := range l.loading {
		if above == name {
			cycle := append(l.loading[i:len(l.loading):len(l.loading)], name)
			return "", fmt.Errorf("cycle of loads: %s", strings.Join(cycle, " -> "))
		}
	}
	return name, nil
}

var errOutside = errors.New("the file is outside of the script's folder")

// read returns the source of the module at a path below dir. Links that lead
// out of dir are not followed.
func (l *loader) read(name string) (string, error) {
	root, err := os.OpenRoot(l.dir)
	if err != nil {
		return "", pathless(err)
	}
	defer root.Close()
	source, err := readRegular(root.FS(), name)
	if err != nil && strings.Contains(err.Error(), "escapes") {
		return "", errOutside
	}
	return source, err
}

// readRegular returns the source in a file that is neither a folder nor a
// device or pipe, reading from which might never end.
func readRegular(fsys fs.FS, name string) (string, error) {
	info, err := fs.Stat(fsys, name)
	if err != nil {
		return "", pathless(err)
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("not a regular file")
	}
	data, err := fs.ReadFile(fsys, name)
	return WithoutMark(string(data)), pathless(err)
}

// pathless takes the operation and the path, which the caller names, from a
// file error.
func pathless(err error) error {
	if e := (*fs.PathError)(nil); errors.As(err, &e) {
		return e.Err
	}
	return err
}
