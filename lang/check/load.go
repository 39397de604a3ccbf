package check

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.starlark.net/syntax"

	"tpsh/lang"
	"tpsh/lang/analysis"
)

// A Language is all that programs have without a load, and the files that they load.
// One is used by one goroutine at a time.
type Language struct {
	*analysis.Language
	// Lib holds the folders in which load looks after the program's.
	Lib []string
	// Read returns the text of a file; nil is os.ReadFile.
	Read func(path string) ([]byte, error)

	files map[string]*analysis.File // by path and text
	all   map[string]bool

	keeping map[*analysis.Symbol]bool                    // the symbols that loadedKeeps looks at
	circles int                                          // loads in a circle that it met
	kept    map[*analysis.File]map[*analysis.Symbol]bool // its results, by loaded file
}

// Open returns a program, which loads files beside it. A text that was opened is
// not read again.
func (l *Language) Open(path, text string) *analysis.File {
	key := clean(path)
	if l.keeping == nil {
		l.keeping = map[*analysis.Symbol]bool{}
	}
	if f := l.files[key]; f != nil && f.Text == text && f.Path == path {
		return f
	}
	f := analysis.New(path, text, l.Language, nil)
	f.Load = func(name string) *analysis.File {
		at, text, ok := l.Find(path, name)
		if !ok {
			return nil
		}
		if clean(at) == key {
			return f
		}
		return l.Open(at, text)
	}
	if l.files == nil || len(l.files) > maxFiles {
		l.Forget()
		l.files = map[string]*analysis.File{}
	}
	l.files[key] = f
	return f
}

// maxFiles is how many files are remembered.
const maxFiles = 500

// Forget forgets the files that were read: they have changed, and so may the types of those
// that load them.
func (l *Language) Forget() { l.files, l.kept = nil, nil }

func (l *Language) allMembers() map[string]bool {
	if l.all == nil {
		l.all = l.AllMembers()
	}
	return l.all
}

func clean(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return filepath.Clean(path)
}

// Find returns the file that a program loads by a name, and its text.
func (l *Language) Find(from, name string) (path, text string, ok bool) {
	places := []string{filepath.Join(filepath.Dir(clean(from)), filepath.FromSlash(name))}
	if filepath.IsAbs(name) {
		places = []string{name}
	}
	for _, lib := range l.Lib {
		places = append(places, filepath.Join(lib, filepath.FromSlash(name)))
	}
	for _, p := range places {
		if text, ok := l.read(p); ok {
			return p, text, true
		}
	}
	return "", "", false
}

func (l *Language) read(path string) (string, bool) {
	read := l.Read
	if read == nil {
		read = os.ReadFile
	}
	data, err := read(path)
	return lang.WithoutMark(string(data)), err == nil
}

// Users returns the programs beside a file, and in the folder above, that load it.
func (l *Language) Users(f *analysis.File) []*analysis.File {
	var list []*analysis.File
	base, dir := filepath.Base(f.Path), filepath.Dir(clean(f.Path))
	for _, in := range []string{dir, filepath.Dir(dir)} {
		entries, _ := os.ReadDir(in)
		for _, e := range entries[:min(len(entries), maxFiles)] {
			if e.IsDir() || !strings.HasSuffix(e.Name(), ".star") {
				continue
			}
			path := filepath.Join(in, e.Name())
			text, ok := l.read(path)
			if !ok || clean(path) == clean(f.Path) || !strings.Contains(text, base) {
				continue
			}
			list = append(list, l.Open(path, text))
		}
	}
	return list
}

// loads reports loads of files that are not there, of names that they do not
// have, in a circle, and of names that nothing uses.
func (c *checker) loads() {
	for _, l := range c.Loads() {
		c.load(l)
		for _, id := range l.To {
			if sym := c.Symbol(id); sym != nil && len(sym.Uses) == 0 {
				c.report(id.NamePos, "unused-load", "%s is loaded, and nothing uses it", id.Name)
			}
		}
	}
}

func (c *checker) load(l *syntax.LoadStmt) {
	name := l.Module.Value.(string)
	other := c.Load(name)
	if other == nil {
		c.report(l.Module.TokenPos, "load", "there is no file %s to load", name)
		return
	}
	if cycle := cycle(other, clean(c.Path), nil); cycle != nil {
		c.report(l.Module.TokenPos, "load", "cycle of loads: %s", strings.Join(append([]string{filepath.Base(c.Path)}, cycle...), " -> "))
		return
	}
	if other.Tree == nil {
		return // it is told where that file is checked
	}
	var names []string
	for _, sym := range other.Scope.Order {
		if sym.Kind != analysis.Loaded {
			names = append(names, sym.Name)
		}
	}
	for _, id := range l.From {
		if other.Scope.Symbols[id.Name] == nil {
			c.report(id.NamePos, "load", "%s has no %s%s", name, id.Name, nearest(id.Name, names))
		}
	}
}

// cycle returns the files by which one leads back to the start, or nil.
func cycle(f *analysis.File, start string, seen []*analysis.File) []string {
	if clean(f.Path) == start {
		return []string{filepath.Base(f.Path)}
	}
	if slices.Contains(seen, f) {
		return nil
	}
	for _, l := range f.Loads() {
		next := f.Load(l.Module.Value.(string))
		if next == nil {
			continue
		}
		if rest := cycle(next, start, append(seen, f)); rest != nil {
			return append([]string{filepath.Base(f.Path)}, rest...)
		}
	}
	return nil
}
