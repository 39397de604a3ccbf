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

// Folders are those beside the script's that programs load files from, as
// absolute paths.
type Folders struct {
	// Lib is looked in, in turn, for files that do not lie next to the loading one.
	Lib []string
	// Allow may be reached by a path that leads out of the script's folder.
	Allow []string
}

// A loader executes the modules that one program loads, each once, and
// freezes them.
type loader struct {
	dir         string // absolute path of the script's folder
	display     string // the same folder as positions show it
	folders     Folders
	predeclared starlark.StringDict
	modules     map[module]starlark.StringDict
	loading     []module // outermost first
	halts       *halts   // nil where no module is executed
}

// A module is a file that is loaded: a path with slashes below a folder, out of
// which no link leads.
type module struct{ root, name string }

// newLoader returns the loader of the program at a path, whose folder is dir. It finds files
// and reads them; to execute them it needs predeclared and halts.
func newLoader(path, dir string, folders Folders) *loader {
	return &loader{
		dir:     dir,
		display: filepath.Dir(path),
		folders: folders,
		modules: make(map[module]starlark.StringDict),
		loading: []module{{dir, filepath.Base(path)}},
	}
}

// load is the Load function of a thread. The module runs on the thread that
// loads it, so that a traceback shows both.
func (l *loader) load(t *starlark.Thread, path string) (starlark.StringDict, error) {
	m, err := l.resolve(path)
	if err != nil {
		return nil, err
	}
	if globals, ok := l.modules[m]; ok {
		return globals, nil
	}
	source, err := l.read(m)
	if err != nil {
		return nil, err
	}
	defer l.enter(m)()
	prog, err := compile(l.halts.marking, l.shown(m), source, l.predeclared)
	if err != nil {
		return nil, err
	}
	l.halts.know(l.shown(m), source, 1)
	globals, err := prog.Init(t, namedAs(m.name, l.predeclared))
	globals.Freeze()
	if err != nil {
		return nil, err
	}
	l.modules[m] = globals
	return globals, nil
}

// enter makes m the innermost module being loaded. Its result ends that.
func (l *loader) enter(m module) func() {
	l.loading = append(l.loading, m)
	return func() { l.loading = l.loading[:len(l.loading)-1] }
}

// shown returns a module's path as positions show it.
func (l *loader) shown(m module) string {
	if m.root == l.dir {
		return filepath.Join(l.display, filepath.FromSlash(m.name))
	}
	return filepath.Join(m.root, filepath.FromSlash(m.name))
}

// resolve returns the module that the innermost module being loaded names by a
// path.
func (l *loader) resolve(path string) (module, error) {
	m, err := l.find(path)
	if err != nil {
		return m, err
	}
	for i, above := range l.loading {
		if above == m {
			var names []string
			for _, in := range append(l.loading[i:len(l.loading):len(l.loading)], m) {
				names = append(names, in.name)
			}
			return m, fmt.Errorf("cycle of loads: %s", strings.Join(names, " -> "))
		}
	}
	return m, nil
}

// find looks next to the loading file, then in the folders of the library.
func (l *loader) find(name string) (module, error) {
	if name == "" || strings.Contains(name, `\`) {
		return module{}, errNoPath
	}
	from := l.loading[len(l.loading)-1]
	if path.IsAbs(name) || filepath.IsAbs(name) {
		if m, ok := l.allowed(filepath.Clean(name)); ok {
			return m, nil
		}
		return module{}, errNoPath
	}
	near := path.Join(path.Dir(from.name), name)
	if near == ".." || strings.HasPrefix(near, "../") {
		if m, ok := l.allowed(filepath.Join(from.root, filepath.FromSlash(near))); ok {
			return m, nil
		}
		return module{}, errOutside
	}
	m := module{from.root, near}
	if strings.HasPrefix(name, "./") || strings.HasPrefix(name, "../") || exists(m) {
		return m, nil
	}
	for _, lib := range l.folders.Lib {
		if in := (module{lib, path.Clean(name)}); exists(in) {
			return in, nil
		}
	}
	return m, nil
}

var (
	errNoPath  = errors.New("want a path with slashes, relative to the loading file (an absolute one may lead into a folder of --allow)")
	errOutside = errors.New("the file is outside of the script's folder (--allow DIR lets programs read there, --lib DIR is looked in for files to load)")
)

// allowed returns the module of a file below a folder that may be reached.
func (l *loader) allowed(file string) (module, bool) {
	for _, root := range append([]string{l.dir}, append(l.folders.Allow, l.folders.Lib...)...) {
		if below, err := filepath.Rel(root, file); err == nil && filepath.IsLocal(below) {
			return module{root, filepath.ToSlash(below)}, true
		}
	}
	return module{}, false
}

func exists(m module) bool {
	_, err := os.Stat(filepath.Join(m.root, filepath.FromSlash(m.name)))
	return err == nil
}

// read returns the source of a module. Links that lead out of its folder are not
// followed.
func (l *loader) read(m module) (string, error) {
	root, err := os.OpenRoot(m.root)
	if err != nil {
		return "", pathless(err)
	}
	defer root.Close()
	source, err := readRegular(root.FS(), m.name)
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
