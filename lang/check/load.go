package check

import (
	"os"
	"path/filepath"
	"strings"

	"go.starlark.net/syntax"

	"tpsh/lang"
	"tpsh/lang/source"
)

// loads reports loads of files that are not there, of names that they do not
// have, in a circle, and of names that nothing uses.
func (c *checker) loads() {
	for _, s := range c.file.Stmts {
		l, ok := s.(*syntax.LoadStmt)
		if !ok {
			continue
		}
		c.load(l)
		for _, id := range l.To {
			if c.uses[id.Name] == 0 {
				c.report(id.NamePos, "unused-load", "%s is loaded, and nothing uses it", id.Name)
			}
		}
	}
}

func (c *checker) load(l *syntax.LoadStmt) {
	name := l.Module.Value.(string)
	path, text := c.lang.find(c.path, name)
	if path == "" {
		c.report(l.Module.TokenPos, "load", "there is no file %s to load", name)
		return
	}
	if cycle := c.lang.cycle(path, clean(c.path), nil); cycle != nil {
		c.report(l.Module.TokenPos, "load", "cycle of loads: %s", strings.Join(append([]string{filepath.Base(c.path)}, cycle...), " -> "))
		return
	}
	file, err := lang.Parse(path, text, 1)
	if err != nil {
		return // it is told where that file is checked
	}
	other := &checker{lang: c.lang, path: path, file: file}
	other.learn()
	var names []string
	for name := range other.bound {
		names = append(names, name)
	}
	for _, id := range l.From {
		if other.bound[id.Name] == 0 {
			c.report(id.NamePos, "load", "%s has no %s%s", name, id.Name, nearest(id.Name, names))
		}
	}
}

func clean(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return filepath.Clean(path)
}

// find returns the file that a program loads by a name, and its text.
func (l *Language) find(from, name string) (path, text string) {
	places := []string{filepath.Join(filepath.Dir(clean(from)), filepath.FromSlash(name))}
	if filepath.IsAbs(name) {
		places = []string{name}
	}
	for _, lib := range l.Lib {
		places = append(places, filepath.Join(lib, filepath.FromSlash(name)))
	}
	for _, p := range places {
		if data, err := os.ReadFile(p); err == nil {
			return p, lang.WithoutMark(string(data))
		}
	}
	return "", ""
}

// cycle returns the files by which one leads back to the start, or nil.
func (l *Language) cycle(path, start string, seen []string) []string {
	if path == start {
		return []string{filepath.Base(path)}
	}
	for _, s := range seen {
		if s == path {
			return nil
		}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	file, err := source.Parse(path, lang.WithoutMark(string(data)), source.Options{})
	if err != nil {
		return nil
	}
	for _, s := range file.Stmts {
		load, ok := s.(*syntax.LoadStmt)
		if !ok {
			continue
		}
		next, _ := l.find(path, load.Module.Value.(string))
		if next == "" {
			continue
		}
		if rest := l.cycle(next, start, append(seen, path)); rest != nil {
			return append([]string{filepath.Base(path)}, rest...)
		}
	}
	return nil
}

// tests reports tests that assert nothing, in files of tests.
func (c *checker) tests() {
	if !strings.HasSuffix(c.path, "_test.star") {
		return
	}
	for _, s := range c.file.Stmts {
		if d, ok := s.(*syntax.DefStmt); ok && strings.HasPrefix(d.Name.Name, "test_") && !c.asserts(d, map[string]bool{}) {
			c.report(d.Name.NamePos, "no-assert", "%s asserts nothing: no assert and no fail is reached from it", d.Name.Name)
		}
	}
}

// asserts reports whether a function can reach an assertion: what is loaded may
// have one.
func (c *checker) asserts(d *syntax.DefStmt, seen map[string]bool) bool {
	seen[d.Name.Name] = true
	found := false
	syntax.Walk(d, func(n syntax.Node) bool {
		id, ok := n.(*syntax.Ident)
		if !ok || found {
			return !found
		}
		other := c.defs[id.Name]
		found = id.Name == "assert" || id.Name == "fail" || id.Name == "gradcheck" || c.loaded[id.Name] || other != nil && !seen[id.Name] && c.asserts(other, seen)
		return !found
	})
	return found
}
