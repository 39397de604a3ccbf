package nn

import (
	"strconv"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/runtime/op"
)

// A moduleList is a Module whose modules are its elements, too: a Sequential
// or a ModuleList. Their names are "0", "1" and so on, unless a Sequential was
// made with names.
type moduleList struct{ Module }

var (
	_ starlark.HasSetIndex = (*moduleList)(nil)
	_ starlark.Sliceable   = (*moduleList)(nil)
	_ starlark.Sequence    = (*moduleList)(nil)
)

var (
	SequentialClass = &class{Name: "Sequential", forward: runInTurn}
	ModuleListClass = &class{Name: "ModuleList", forward: cannotRun}
)

func init() {
	builtins.Register(&builtins.Row{
		Name: "nn.Sequential",
		Doc: "Sequential(*modules) returns a module that calls modules in turn, each with what the one before returned.\n" +
			"It can be indexed, sliced, assigned to by index, counted by len() and looped over. The\n" +
			"modules are called \"0\", \"1\", ...; a dict of modules gives them names of its own.\n" +
			">>> nn.Sequential(nn.ReLU(), nn.Linear(2, 3))(ones(4, 2)).shape\n(4, 3)",
		Fn: newSequential,
	}, &builtins.Row{
		Name: "nn.ModuleList",
		Doc: "ModuleList(modules=[]) returns a module that holds a list of modules, for another module to call.\n" +
			"It can be indexed, sliced, assigned to by index, counted by len() and looped over. The\n" +
			"modules are called \"0\", \"1\", ...\n" +
			">>> m = nn.ModuleList([nn.Linear(2, 2) for _ in range(3)])\n" +
			">>> len(m), m[-1].weight.shape\n(3, (2, 2))",
		Fn: newModuleList,
	})
}

// newModules returns a module of class c that holds no modules yet.
func newModules(e *builtins.Env, c *class) *moduleList {
	l := &moduleList{*newModule(e, c)}
	l.Value = l
	return l
}

func newSequential(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if err := arg.Unpack(b.Name(), nil, kwargs); err != nil {
		return nil, err
	}
	l := newModules(e, SequentialClass)
	if len(args) == 1 {
		if d, ok := args[0].(*starlark.Dict); ok {
			return l, l.addNamed(b.Name(), d)
		}
	}
	return l, l.addAll(b.Name(), args)
}

func newModuleList(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var modules arg.List
	if err := arg.Unpack(b.Name(), args, kwargs, "modules?", &modules); err != nil {
		return nil, err
	}
	l := newModules(e, ModuleListClass)
	return l, l.addAll(b.Name(), modules)
}

// addAll adds modules under their numbers, for the function fn.
func (l *moduleList) addAll(fn string, modules []starlark.Value) error {
	for i, v := range modules {
		if ModuleOf(v) == nil {
			return arg.In(fn, "modules", arg.BadItem(v, i, "a module"))
		}
		l.Put(Field{strconv.Itoa(i), ModuleField, v})
	}
	return nil
}

// addNamed adds the modules of a dict under its keys, for the function fn.
func (l *moduleList) addNamed(fn string, d *starlark.Dict) error {
	for key, v := range d.Entries() {
		name, ok := starlark.AsString(key)
		if !ok || ModuleOf(v) == nil {
			return arg.In(fn, "modules", arg.Bad(d, "a dict of names and modules", ""))
		}
		if err := l.assign(name, v); err != nil {
			return arg.In(fn, name, err)
		}
	}
	return nil
}

// elements returns the fields that are modules.
func (l *moduleList) elements() []*Field { return l.children() }

// Len implements starlark.Sequence.
func (l *moduleList) Len() int { return len(l.elements()) }

// Truth implements starlark.Value: a list without modules is false.
func (l *moduleList) Truth() starlark.Bool { return l.Len() > 0 }

// Hash implements starlark.Value.
func (l *moduleList) Hash() (uint32, error) { return 0, builtins.Unhashable(l) }

// Index implements starlark.Indexable.
func (l *moduleList) Index(i int) starlark.Value { return l.elements()[i].Value }

// SetIndex implements starlark.HasSetIndex.
func (l *moduleList) SetIndex(i int, v starlark.Value) error {
	f := l.elements()[i]
	if ModuleOf(v) == nil {
		return arg.In(l.Class.Name+"[...] = v", "", arg.Bad(v, "a module", ""))
	}
	return l.SetField(f.Name, v)
}

// Slice implements starlark.Sliceable: the modules in a list of the same class.
// A Sequential keeps their names, a ModuleList numbers them anew.
func (l *moduleList) Slice(start, end, step int) starlark.Value {
	part := newModules(l.env, l.Class)
	part.training = l.training
	all := l.elements()
	for i := start; step > 0 && i < end || step < 0 && i > end; i += step {
		name := all[i].Name
		if l.Class == ModuleListClass {
			name = strconv.Itoa(len(part.Fields))
		}
		part.Put(Field{name, ModuleField, all[i].Value})
	}
	return part
}

// Iterate implements starlark.Iterable.
func (l *moduleList) Iterate() starlark.Iterator {
	var list starlark.Tuple
	for _, f := range l.elements() {
		list = append(list, f.Value)
	}
	return list.Iterate()
}

// runInTurn is the forward function of a Sequential.
func runInTurn(m *Module, thread *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var x starlark.Value
	if err := arg.Unpack(m.Class.Name, args, kwargs, "input", &x); err != nil {
		return nil, err
	}
	for sub := range starlark.Elements(m.Value.(*moduleList)) {
		y, err := starlark.Call(thread, sub, starlark.Tuple{x}, nil)
		if err != nil {
			return nil, err
		}
		x = y
	}
	return x, nil
}

// cannotRun is the forward function of modules that have none.
func cannotRun(m *Module, _ *starlark.Thread, _ starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	return nil, &op.ArgError{Func: m.Class.Name, Got: "a call", Want: "a call of the modules in it", Rule: "it has no forward function"}
}
