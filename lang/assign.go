package lang

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"unsafe"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"tpsh/lang/halt"
)

// IsAssignment reports whether a line is a single assignment, as a debugger takes one.
func IsAssignment(line string) bool {
	surface, err := Parse("<debug>", line, 1)
	if err != nil || len(surface.Stmts) != 1 {
		return false
	}
	_, ok := surface.Stmts[0].(*syntax.AssignStmt)
	return ok
}

// assign carries out an assignment with the names of a frame of the thread, which stands
// still or waits, and returns the variables that have new values. It changes variables
// that there are, items and attributes, and makes no new ones.
func (h *halts) assign(s *snapshot, n int, line string) ([]Value, error) {
	if !IsAssignment(line) {
		return nil, errors.New("want one assignment, as x = 1")
	}
	f, err := s.frameOf(n)
	if err != nil {
		return nil, err
	}
	file, err := parseCore("<debug>", line, 1)
	if err != nil {
		return nil, err
	}
	g := newGlobals(h.namesOf(f))
	err = protect(func() error {
		programs, err := g.compile(file)
		if err != nil {
			return err
		}
		_, err = h.aside(func(t *starlark.Thread) (starlark.Value, error) {
			for _, p := range programs {
				if _, err := p.Init(t, g.names); err != nil {
					return nil, err
				}
			}
			return starlark.None, nil
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	var places []*starlark.Value
	names := slices.Sorted(maps.Keys(g.defined))
	for _, name := range names { // all are looked for before one is changed
		at, err := h.place(f, name)
		if err != nil {
			return nil, err
		}
		places = append(places, at)
	}
	var changed []Value
	for i, name := range names {
		v := g.names[name]
		if at := places[i]; at != nil {
			*at = v
		} else {
			h.s.globals.set(name, v)
		}
		f.locals[name] = v
		changed = append(changed, h.show(name, name, v))
	}
	return changed, nil
}

// place returns where the variable of a name has its value, as a frame sees it; nil for
// a global of a shell, which is set by name.
func (h *halts) place(f *frame, name string) (*starlark.Value, error) {
	if !f.alive(h.thread) {
		return nil, errors.New("the call has ended by the error: its variables can be seen, and not changed")
	}
	if at := f.local(h.thread, name, h.Lines(string(f.spot.Path))); at != nil {
		return at, nil
	}
	if at := freeVar(f.fn, name); at != nil {
		return at, nil
	}
	if at := moduleGlobal(f.fn.Module(), name); at != nil {
		return at, nil
	}
	if g := h.s.globals; g != nil && g.defined[name] {
		return nil, nil
	}
	return nil, fmt.Errorf("there is no variable %s here to change", name)
}

// alive reports whether the call of a frame goes on.
func (f *frame) alive(t *starlark.Thread) bool {
	return f.depth < t.CallStackDepth() && t.DebugFrame(t.CallStackDepth()-1-f.depth).Callable() == starlark.Callable(f.fn)
}

// local returns where a local variable has its value, in its cell if functions within
// share it; nil if there is none.
func (f *frame) local(t *starlark.Thread, name string, m *halt.Map) (at *starlark.Value) {
	fr := t.DebugFrame(t.CallStackDepth() - 1 - f.depth)
	locals := localsOf(fr)
	if locals == nil {
		return nil
	}
	for _, i := range localsIn(fr, m) {
		if b, v := fr.Local(i); b.Name == name && (at == nil || *at == nil && v != nil) {
			at = &(*locals)[i]
		}
	}
	if at != nil {
		if inner := inCell(*at); inner != nil {
			return inner
		}
	}
	return at
}

// inCell returns where a cell has its value; nil of a value that is no cell.
func inCell(v starlark.Value) *starlark.Value {
	if v == nil || v.Type() != "cell" {
		return nil
	}
	r := reflect.ValueOf(v)
	if r.Kind() != reflect.Pointer || r.Elem().Kind() != reflect.Struct || r.Elem().NumField() != 1 || r.Elem().Field(0).Type() != reflect.TypeFor[starlark.Value]() {
		return nil
	}
	return (*starlark.Value)(unsafe.Pointer(r.Elem().Field(0).UnsafeAddr()))
}

// freeVar returns where a variable of a function around fn has its value; nil if fn
// shares none of that name, or the interpreter's functions are not as they were.
func freeVar(fn *starlark.Function, name string) *starlark.Value {
	cells, ok := fieldOf[starlark.Tuple](fn, "freevars")
	for i := range fn.NumFreeVars() {
		if b, _ := fn.FreeVar(i); ok && b.Name == name {
			return inCell((*cells)[i])
		}
	}
	return nil
}

// moduleGlobal returns where a global of a file has its value; nil if there is none.
func moduleGlobal(m *starlark.Module, name string) *starlark.Value {
	values, ok := fieldOf[[]starlark.Value](m, "globals")
	compiled := reflect.ValueOf(m.Program()).Elem().FieldByName("compiled")
	if !ok || compiled.Kind() != reflect.Pointer {
		return nil
	}
	list := compiled.Elem().FieldByName("Globals")
	for i := range min(list.Len(), len(*values)) {
		if list.Index(i).FieldByName("Name").String() == name {
			return &(*values)[i]
		}
	}
	return nil
}

// fieldOf returns where a struct of the interpreter has a field, if it has one of that
// name and type.
func fieldOf[T, S any](of *S, name string) (*T, bool) {
	f := reflect.ValueOf(of).Elem().FieldByName(name)
	if !f.IsValid() || f.Type() != reflect.TypeFor[T]() {
		return nil, false
	}
	return (*T)(unsafe.Pointer(f.UnsafeAddr())), true
}
