package nn

import (
	"fmt"
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

// init registers what lists of modules have besides: of both classes alike.
func init() {
	for _, of := range []string{"ModuleList", "Sequential"} {
		made := map[string]string{"ModuleList": "nn.ModuleList([nn.ReLU()])", "Sequential": "nn.Sequential(nn.ReLU())"}[of]
		builtins.Register(
			&builtins.Row{Name: of, Base: "Module", Doc: of + " is the type of what nn." + of + " makes: a module with methods of a list."},
			listRow(of+".append", "append(module) adds a module behind the others, and returns the whole.\n>>> len("+made+".append(nn.Tanh()))\n2",
				func(l *moduleList, fn string, args starlark.Tuple, kwargs []starlark.Tuple) error {
					var v starlark.Value
					if err := arg.Unpack(fn, args, kwargs, "module", &v); err != nil {
						return err
					}
					return l.insert(fn, l.Len(), v)
				}),
			listRow(of+".extend", "extend(modules) adds the modules of a list behind the others, and returns the whole.\n>>> len("+made+".extend([nn.Tanh(), nn.ReLU()]))\n3",
				func(l *moduleList, fn string, args starlark.Tuple, kwargs []starlark.Tuple) error {
					var list arg.List
					if err := arg.Unpack(fn, args, kwargs, "modules", &list); err != nil {
						return err
					}
					return l.addAll(fn, list)
				}),
			listRow(of+".insert", "insert(index, module) puts a module before the one of an index, and returns the whole. The modules behind it get other numbers.\n>>> "+made+".insert(0, nn.Tanh())[0]\nTanh()",
				func(l *moduleList, fn string, args starlark.Tuple, kwargs []starlark.Tuple) error {
					var at arg.Int
					var v starlark.Value
					if err := arg.Unpack(fn, args, kwargs, "index", &at, "module", &v); err != nil {
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
				}),
		)
	}
}

// listRow returns a row for a method that changes a list of modules, and returns it.
func listRow(name, doc string, change func(l *moduleList, fn string, args starlark.Tuple, kwargs []starlark.Tuple) error) *builtins.Row {
	return &builtins.Row{Name: name, Doc: doc, Fn: func(_ *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		l := b.Receiver().(*moduleList)
		if err := l.MayChange(b.Name()); err != nil {
			return nil, err
		}
		return l, change(l, b.Name(), args, kwargs)
	}}
}

// insert puts v before the i-th module, for the function fn. Those behind it that bear
// numbers are numbered anew.
func (l *moduleList) insert(fn string, i int, v starlark.Value) error {
	if sub := ModuleOf(v); sub == nil || sub.contains(&l.Module) {
		return arg.In(fn, "module", arg.Bad(v, "a module that does not contain this one", ""))
	}
	all := l.elements()
	after := make([]starlark.Value, 0, len(all)-i+1)
	after = append(after, v)
	for _, f := range all[i:] {
		after = append(after, f.Value)
	}
	for k, w := range after {
		name := strconv.Itoa(i + k)
		if i+k < len(all) {
			name = all[i+k].Name
		}
		l.Put(Field{name, ModuleField, w})
	}
	return nil
}

// Attr implements starlark.HasAttrs.
func (l *moduleList) Attr(name string) (starlark.Value, error) {
	if v := l.Module.Get(name); v == nil {
		if v, err := l.env.Attr(l.Class.Name, l, name); v != nil || err != nil {
			return v, err
		}
	}
	return l.Module.Attr(name)
}

// addAll adds modules behind the others under their numbers, for the function fn.
func (l *moduleList) addAll(fn string, modules []starlark.Value) error {
	for i, v := range modules {
		if ModuleOf(v) == nil {
			return arg.In(fn, "modules", arg.BadItem(v, i, "a module"))
		}
		if err := l.insert(fn, l.Len(), v); err != nil {
			return err
		}
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
