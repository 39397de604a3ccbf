package nn

import (
	"fmt"
	"strconv"
	"strings"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/runtime/op"
)

// Modules that are lists and dicts, of modules or of parameters: some of their fields
// are their elements. A list has them under numbers, "0", "1" and so on, unless a
// Sequential was made with names; a dict under names.

// elements says of a class which fields are elements, and what can be one.
type elements struct {
	of        string // what a dict of them is a dict of: "modules"
	one, many string // the parameters by which functions take one, or a list or dict of them

	// is reports whether a field is an element.
	is func(f *Field) bool

	// fits returns what is wanted instead of v in m, and the rule; "" if v can be in it.
	fits func(m *Module, v starlark.Value) (want, rule string)

	// field returns the kind and the value of the field that v becomes for the function
	// fn.
	field func(fn string, v starlark.Value) (fieldKind, starlark.Value, error)
}

// moduleElements are modules.
var moduleElements = &elements{
	of: "modules", one: "module", many: "modules",
	is: func(f *Field) bool { return f.Kind == ModuleField && f.Value != starlark.None },
	fits: func(m *Module, v starlark.Value) (want, rule string) {
		sub := ModuleOf(v)
		switch {
		case sub == nil:
			return "a module", ""
		case sub.contains(m):
			return "a module that does not contain this one", ""
		}
		return "", ""
	},
	field: func(_ string, v starlark.Value) (fieldKind, starlark.Value, error) { return ModuleField, v, nil },
}

// A container is a Module with elements.
type container struct{ Module }

// elements returns the fields that are elements, in the order of definition.
func (c *container) elements() []*Field {
	var list []*Field
	for i := range c.Fields {
		if f := &c.Fields[i]; c.Class.elements.is(f) {
			list = append(list, f)
		}
	}
	return list
}

// read returns the element f to a script. An error is left with the rank.
func (c *container) read(f *Field) starlark.Value {
	v, err := c.Module.read(f)
	if err != nil {
		c.env.Leave(err)
	}
	return v
}

// check returns an error of the function fn unless v can be an element. at says where v
// stands in the argument, and under where it would stand here; either may be "".
func (c *container) check(fn, param string, v starlark.Value, at, under string) error {
	want, rule := c.Class.elements.fits(&c.Module, v)
	if want == "" {
		return nil
	}
	return &op.ArgError{Func: fn, Param: param, Got: arg.Show(v) + at, Want: want + under, Rule: rule}
}

// Attr implements starlark.HasAttrs.
func (c *container) Attr(name string) (starlark.Value, error) {
	if c.Module.Get(name) == nil {
		if v, err := c.env.Attr(c.Class.Name, c.Value, name); v != nil || err != nil {
			return v, err
		}
	}
	return c.Module.Attr(name)
}

// String returns the module with its elements, a line each.
func (c *container) String() string {
	if c.Class.elements == moduleElements {
		return c.Module.String()
	}
	var lines []string
	for _, f := range c.Fields {
		text := arg.Show(f.Value)
		if f.Kind == ParameterField {
			text = "Parameter " + text
		}
		lines = append(lines, fmt.Sprintf("\n  (%s): %s", f.Name, text))
	}
	if lines == nil {
		return c.Class.Name + "()"
	}
	return c.Class.Name + "(" + strings.Join(lines, "") + "\n)"
}

// Len implements starlark.Sequence.
func (c *container) Len() int { return len(c.elements()) }

// Truth implements starlark.Value: without elements it is false.
func (c *container) Truth() starlark.Bool { return c.Len() > 0 }

// Hash implements starlark.Value.
func (c *container) Hash() (uint32, error) { return 0, builtins.Unhashable(c) }

// A listModule is a Module whose elements have places: a Sequential, a ModuleList or
// a ParameterList.
type listModule struct{ container }

var (
	_ starlark.HasSetIndex = (*listModule)(nil)
	_ starlark.Sliceable   = (*listModule)(nil)
	_ starlark.Sequence    = (*listModule)(nil)
	_ starlark.HasSetField = (*listModule)(nil)
)

// newList returns a module of class c without elements.
func newList(e *builtins.Env, c *class) *listModule {
	l := &listModule{container{*newModule(e, c)}}
	l.Value = l
	return l
}

// insert puts v before the i-th element, for the function fn. Those behind it that bear
// numbers are numbered anew.
func (l *listModule) insert(fn string, i int, v starlark.Value) error {
	if err := l.check(fn, l.Class.elements.one, v, "", ""); err != nil {
		return err
	}
	kind, v, err := l.Class.elements.field(fn, v)
	if err != nil {
		return err
	}
	all, after := l.elements(), []Field{{Kind: kind, Value: v}}
	for _, f := range all[i:] {
		after = append(after, *f)
	}
	for k, f := range after {
		if f.Name = strconv.Itoa(i + k); i+k < len(all) {
			f.Name = all[i+k].Name
		}
		l.Put(f)
	}
	return nil
}

// addAll puts values behind the elements, for the function fn.
func (l *listModule) addAll(fn string, values []starlark.Value) error {
	for i, v := range values {
		if err := l.check(fn, l.Class.elements.many, v, fmt.Sprintf(" at index %d", i), ""); err != nil {
			return err
		}
		if err := l.insert(fn, l.Len(), v); err != nil {
			return err
		}
	}
	return nil
}

// Index implements starlark.Indexable.
func (l *listModule) Index(i int) starlark.Value { return l.read(l.elements()[i]) }

// SetIndex implements starlark.HasSetIndex.
func (l *listModule) SetIndex(i int, v starlark.Value) error {
	fn := l.Class.Name + "[...] = v"
	if err := l.MayChange(fn); err != nil {
		return err
	}
	if err := l.check(fn, "", v, "", ""); err != nil {
		return err
	}
	kind, v, err := l.Class.elements.field(fn, v)
	if err != nil {
		return err
	}
	l.Put(Field{l.elements()[i].Name, kind, v})
	return nil
}

// Slice implements starlark.Sliceable: elements in a list of the same class. A
// Sequential keeps their names, other lists number them anew.
func (l *listModule) Slice(start, end, step int) starlark.Value {
	part := newList(l.env, l.Class)
	part.training = l.training
	all := l.elements()
	for i := start; step > 0 && i < end || step < 0 && i > end; i += step {
		f := *all[i]
		f.Value = l.read(all[i])
		if l.Class != SequentialClass {
			f.Name = strconv.Itoa(len(part.Fields))
		}
		part.Put(f)
	}
	return part
}

// Iterate implements starlark.Iterable.
func (l *listModule) Iterate() starlark.Iterator {
	var list starlark.Tuple
	for _, f := range l.elements() {
		list = append(list, l.read(f))
	}
	return list.Iterate()
}

// listRow returns a row for a method that changes a list, and returns it.
func listRow(name, doc string, change func(l *listModule, fn string, args starlark.Tuple, kwargs []starlark.Tuple) error) *builtins.Row {
	return &builtins.Row{Name: name, Doc: doc, Fn: func(_ *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		l := b.Receiver().(*listModule)
		if err := l.MayChange(b.Name()); err != nil {
			return nil, err
		}
		return l, change(l, b.Name(), args, kwargs)
	}}
}

// appendTo is the method append.
func appendTo(l *listModule, fn string, args starlark.Tuple, kwargs []starlark.Tuple) error {
	var v starlark.Value
	if err := arg.Unpack(fn, args, kwargs, l.Class.elements.one, &v); err != nil {
		return err
	}
	return l.insert(fn, l.Len(), v)
}

// extend is the method extend.
func extend(l *listModule, fn string, args starlark.Tuple, kwargs []starlark.Tuple) error {
	var list arg.List
	if err := arg.Unpack(fn, args, kwargs, l.Class.elements.many, &list); err != nil {
		return err
	}
	return l.addAll(fn, list)
}

// insertAt is the method insert.
func insertAt(l *listModule, fn string, args starlark.Tuple, kwargs []starlark.Tuple) error {
	var at arg.Int
	var v starlark.Value
	if err := arg.Unpack(fn, args, kwargs, "index", &at, l.Class.elements.one, &v); err != nil {
		return err
	}
	i, n := int(at), l.Len()
	if i < -n || i > n {
		return &op.ArgError{Func: fn, Param: "index", Got: fmt.Sprint(i), Want: fmt.Sprintf("%d..%d", -n, n)}
	}
	if i < 0 {
		i += n
	}
	return l.insert(fn, i, v)
}

// listMaker returns the function that makes a list of class c.
func listMaker(c *class) builtins.Function {
	return func(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		var list arg.List
		if err := arg.Unpack(b.Name(), args, kwargs, c.elements.many+"?", &list); err != nil {
			return nil, err
		}
		l := newList(e, c)
		return l, l.addAll(b.Name(), list)
	}
}

// cannotRun is the forward function of modules that have none.
func cannotRun(m *Module, _ *starlark.Thread, _ starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	return nil, &op.ArgError{Func: m.Class.Name, Got: "a call", Want: "a call of the modules in it", Rule: "it has no forward function"}
}
