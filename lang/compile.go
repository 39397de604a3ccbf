package lang

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"sync"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"tpsh/internal/spell"
	"tpsh/lang/halt"
	"tpsh/lang/source"
)

// A StaticError says why a source cannot be compiled: one line for each
// mistake, with its position.
type StaticError struct {
	Lines []string
}

func (e *StaticError) Error() string { return strings.Join(e.Lines, "\n") }

// Parse returns the surface tree of a source (see package source), whose first
// line has the number firstLine; 0 counts as 1. Its error is a *StaticError.
func Parse(path, text string, firstLine int) (file *source.File, err error) {
	defer recoverCompiler(path, &err)
	file, err = source.Parse(path, text, source.Options{FirstLine: firstLine, Dialect: FileOptions})
	if err != nil {
		return nil, &StaticError{[]string{err.Error()}}
	}
	return file, nil
}

// parseCore returns the core tree of a source.
func parseCore(path, text string, firstLine int) (*syntax.File, error) {
	surface, err := Parse(path, text, firstLine)
	if err != nil {
		return nil, err
	}
	core, err := source.Lower(surface)
	if err != nil {
		return nil, &StaticError{[]string{err.Error()}}
	}
	return core, nil
}

// resolveFile compiles a parsed file. names are the names that it can use.
func resolveFile(file *syntax.File, names starlark.StringDict, also map[string]bool) (prog *starlark.Program, err error) {
	defer recoverCompiler(file.Path, &err)
	placeLoops(&file.Stmts)
	known := func(name string) bool { return names.Has(name) || also[name] }
	prog, err = starlark.FileProgram(file, known)
	if err != nil {
		return nil, staticError(err, &adviser{file: file, names: names})
	}
	return prog, nil
}

// recoverCompiler makes an error of a panic in the compiler, so that no
// source can end a process.
func recoverCompiler(path string, err *error) {
	if p := recover(); p != nil {
		*err = &StaticError{[]string{fmt.Sprintf("%s: cannot be compiled: %v", path, p)}}
	}
}

// staticError lists the mistakes that the resolver found, and the advice for
// names that are not there.
func staticError(err error, a *adviser) *StaticError {
	var list resolve.ErrorList
	if !errors.As(err, &list) {
		return &StaticError{[]string{err.Error()}}
	}
	slices.SortStableFunc(list, func(a, b resolve.Error) int {
		return cmp.Or(cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Col, b.Pos.Col))
	})
	e := new(StaticError)
	for _, one := range list {
		e.Lines = append(e.Lines, fmt.Sprintf("%s: %s", one.Pos, a.complete(one)))
	}
	return e
}

// complete completes the resolver's "undefined: x", which proposes names of the
// file alone.
func (a *adviser) complete(e resolve.Error) string {
	name, ok := strings.CutPrefix(e.Msg, "undefined: ")
	name, guess, _ := strings.Cut(name, " ")
	if !ok {
		return e.Msg
	}
	if text := a.undefined(name, e.Pos); text != "" {
		return fmt.Sprintf("undefined: %s (%s)", name, text)
	}
	if guess != "" {
		return e.Msg
	}
	known := slices.DeleteFunc(slices.Concat(a.names.Keys(), starlark.Universe.Keys()), source.IsHidden)
	if n := spell.Nearest(name, known); n != "" {
		return fmt.Sprintf("%s (did you mean %s?)", e.Msg, n)
	}
	return e.Msg
}

// A programKey says all that a compiled program depends on.
type programKey struct {
	path   string
	source [sha256.Size]byte
	names  uint64 // see fingerprint
	marks  string // those that a debugger wants
}

// A programCache holds compiled programs, which are immutable, so that the
// ranks of a process and the tests of a file compile a source once.
type programCache struct {
	mu       sync.Mutex
	programs map[programKey]*compilation
}

type compilation struct {
	once sync.Once
	prog *starlark.Program
	err  error
}

// programs is a memory of compile's results, and so no state of any run.
var programs programCache

const maxPrograms = 64

func (c *programCache) entry(key programKey) *compilation {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.programs[key]
	if e == nil {
		if c.programs == nil || len(c.programs) >= maxPrograms {
			c.programs = make(map[programKey]*compilation)
		}
		e = new(compilation)
		c.programs[key] = e
	}
	return e
}

// compile returns the program of a source. names are the names that it can use. A debugger
// marks the program, unless m is nil. The error is a *StaticError.
func compile(m *marking, path, text string, names starlark.StringDict) (*starlark.Program, error) {
	key := programKey{path, sha256.Sum256([]byte(text)), fingerprint(names), ""}
	if m.wants(text) {
		key.marks = fmt.Sprint("debug ", m.entries)
	}
	e := programs.entry(key)
	e.once.Do(func() {
		var file *syntax.File
		if file, e.err = parseCore(path, text, 1); e.err == nil {
			e.err = checkGlobals(file, func(string) bool { return false })
		}
		if e.err == nil {
			if s := newShaper(names); s != (shaper{}) {
				s.file(file)
			}
			if names.Has(coverName) {
				counted(file)
			}
			if names.Has(describeName) {
				noted(file)
			}
			if m.wants(text) {
				halt.Mark(file, m.entries)
			}
			e.prog, e.err = resolveFile(file, names, nil)
		}
	})
	return e.prog, e.err
}

// fingerprint identifies a set of names: by the sum of their hashes, for which
// they need not be sorted.
func fingerprint(names starlark.StringDict) uint64 {
	var sum uint64
	for name := range names {
		sum += maphash.String(nameSeed, name)
	}
	return sum
}

var nameSeed = maphash.MakeSeed()

// Static returns the error that keeps a source from being compiled, or nil; it is a
// *StaticError. names are the names that it can use.
func Static(path, text string, names starlark.StringDict) error {
	file, err := parseCore(path, text, 1)
	if err == nil {
		err = checkGlobals(file, func(string) bool { return false })
	}
	if err == nil {
		_, err = resolveFile(file, names, nil)
	}
	return err
}
