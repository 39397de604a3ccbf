package nn

import (
	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
)

var (
	SequentialClass = &class{Name: "Sequential", forward: runInTurn, elements: moduleElements}
	ModuleListClass = &class{Name: "ModuleList", forward: cannotRun, elements: moduleElements}
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
		Fn: listMaker(ModuleListClass),
	})
}

func newSequential(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if err := arg.Unpack(b.Name(), nil, kwargs); err != nil {
		return nil, err
	}
	l := newList(e, SequentialClass)
	if len(args) == 1 {
		if d, ok := args[0].(*starlark.Dict); ok {
			return l, l.addNamed(b.Name(), d)
		}
	}
	return l, l.addAll(b.Name(), args)
}

// init registers what lists of modules have besides: of both classes alike.
func init() {
	for _, of := range []string{"ModuleList", "Sequential"} {
		made := map[string]string{"ModuleList": "nn.ModuleList([nn.ReLU()])", "Sequential": "nn.Sequential(nn.ReLU())"}[of]
		builtins.Register(
			&builtins.Row{Name: of, Base: "Module", Doc: of + " is the type of what nn." + of + " makes: a module with methods of a list."},
			listRow(of+".append", "append(module) adds a module behind the others, and returns the whole.\n>>> len("+made+".append(nn.Tanh()))\n2", appendTo),
			listRow(of+".extend", "extend(modules) adds the modules of a list behind the others, and returns the whole.\n>>> len("+made+".extend([nn.Tanh(), nn.ReLU()]))\n3", extend),
			listRow(of+".insert", "insert(index, module) puts a module before the one of an index, and returns the whole. The modules behind it get other numbers.\n>>> "+made+".insert(0, nn.Tanh())[0]\nTanh()", insertAt),
		)
	}
}

// addNamed adds the modules of a dict under its keys, for the function fn.
func (l *listModule) addNamed(fn string, d *starlark.Dict) error {
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

// runInTurn is the forward function of a Sequential.
func runInTurn(m *Module, thread *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var x starlark.Value
	if err := arg.Unpack(m.Class.Name, args, kwargs, "input", &x); err != nil {
		return nil, err
	}
	for sub := range starlark.Elements(m.Value.(*listModule)) {
		y, err := starlark.Call(thread, sub, starlark.Tuple{x}, nil)
		if err != nil {
			return nil, err
		}
		x = y
	}
	return x, nil
}
