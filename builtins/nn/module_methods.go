package nn

import (
	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
)

// A moduleMethod carries out a method of modules, fn being its name and m its
// receiver.
type moduleMethod func(e *builtins.Env, fn string, m *Module, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error)

// ModuleRow returns a row for a method of modules.
func ModuleRow(name, doc string, do moduleMethod) *builtins.Row {
	return &builtins.Row{Name: "Module." + name, Doc: doc, Fn: func(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		return do(e, b.Name(), ModuleOf(b.Receiver()), args, kwargs)
	}}
}

func init() {
	builtins.Register(
		&builtins.Row{Name: "Module", Doc: "Module is the type of modules, as nn makes them; type(m) is the class: \"Linear\".\n" +
			"m(...) computes what the module returns. A Parameter that is assigned to an attribute\n" +
			"becomes a parameter of the module, a module a child; anything else is kept as it is.\n" +
			"str(m) shows the modules in it. Those of loaded files can be called and not changed.\n" +
			">>> m = nn.Sequential(nn.Linear(2, 3), nn.ReLU())\n" +
			">>> m.head = nn.Linear(3, 1)\n" +
			">>> m\n" +
			"Sequential(\n" +
			"  (0): Linear(in_features=2, out_features=3, bias=True)\n" +
			"  (1): ReLU()\n" +
			"  (head): Linear(in_features=3, out_features=1, bias=True)\n" +
			")"},
		&builtins.Row{Name: "Module.training", Doc: "training is whether the module trains: dropout drops only then. It can be assigned; .train() and .eval() set it for the modules in it, too.\n" +
			">>> nn.Dropout().training\nTrue",
			Get: func(_ *builtins.Env, x starlark.Value) (starlark.Value, error) {
				return starlark.Bool(ModuleOf(x).training), nil
			}},
		ModuleRow("named_parameters", "named_parameters(prefix=\"\", recurse=True) returns the parameters with their paths: a list of pairs, in the order of definition.\n"+
			"Those of a module come before those of the modules in it. A parameter that stands in\n"+
			"several places comes once, under the first. prefix begins every path; without recurse\n"+
			"the parameters of the modules in it are left out.\n"+
			">>> [name for name, p in nn.Sequential(nn.Linear(2, 3), nn.LayerNorm(3)).named_parameters()]\n"+
			"[\"0.weight\", \"0.bias\", \"1.weight\", \"1.bias\"]", namedTensors(findParameters)),
		ModuleRow("parameters", "parameters(recurse=True) returns the parameters as a list, as named_parameters orders them.\n"+
			">>> [p.shape for p in nn.Linear(2, 3).parameters()]\n[(3, 2), (3,)]", listedTensors(findParameters)),
		ModuleRow("named_modules", "named_modules(prefix=\"\") returns the module and the modules in it with their paths: a list of pairs, each module once.\n"+
			"The path of the module itself is prefix. Modules come before those in them.\n"+
			">>> [name for name, m in nn.Sequential(nn.ReLU(), nn.Sequential(nn.SiLU())).named_modules()]\n"+
			"[\"\", \"0\", \"1\", \"1.0\"]", namedModules),
		ModuleRow("train", "train(mode=True) says whether the module and the modules in it train, and returns the module.\n"+
			">>> nn.Sequential(nn.Dropout()).train(False)[0].training\nFalse", train),
		ModuleRow("eval", "eval() is train(False): dropout drops nothing. It returns the module.\n"+
			">>> nn.Dropout(0.9).eval()(ones(2)).tolist()\n[1.0, 1.0]", eval),
		ModuleRow("zero_grad", "zero_grad(set_to_none=True) forgets the gradients of the parameters; without set_to_none those that are there become zeros.\n"+
			">>> m = nn.Linear(2, 1)\n>>> m(ones(2)).backward()\n>>> m.zero_grad()\n>>> m.weight.grad == None\nTrue", zeroGrad),
	)
}

// A tensorFinder finds the parameters, or the buffers, of m and, with recurse, of the modules
// below it, for a script that asks for them.
type tensorFinder func(e *builtins.Env, m *Module, prefix string, recurse bool) []NamedTensor

// findParameters finds the parameters of m, and notes that the script has asked for them.
func findParameters(e *builtins.Env, m *Module, prefix string, recurse bool) []NamedTensor {
	builtins.Ask(e, m)
	return m.Parameters(prefix, recurse)
}

// namedTensors returns the method that lists what find finds, with paths.
func namedTensors(find tensorFinder) moduleMethod {
	return func(e *builtins.Env, fn string, m *Module, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		var (
			prefix  arg.String
			recurse = arg.Bool(true)
		)
		if err := arg.Unpack(fn, args, kwargs, "prefix?", &prefix, "recurse?", &recurse); err != nil {
			return nil, err
		}
		return listOf(find(e, m, string(prefix), bool(recurse)), func(x NamedTensor) starlark.Value {
			return starlark.Tuple{starlark.String(x.Path), x.X}
		}), nil
	}
}

// listedTensors returns the method that lists what find finds.
func listedTensors(find tensorFinder) moduleMethod {
	return func(e *builtins.Env, fn string, m *Module, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		recurse := arg.Bool(true)
		if err := arg.Unpack(fn, args, kwargs, "recurse?", &recurse); err != nil {
			return nil, err
		}
		return listOf(find(e, m, "", bool(recurse)), func(x NamedTensor) starlark.Value { return x.X }), nil
	}
}

func namedModules(_ *builtins.Env, fn string, m *Module, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var prefix arg.String
	if err := arg.Unpack(fn, args, kwargs, "prefix?", &prefix); err != nil {
		return nil, err
	}
	return listOf(m.Modules(string(prefix)), pathAndModule), nil
}

func train(_ *builtins.Env, fn string, m *Module, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	mode := arg.Bool(true)
	if err := arg.Unpack(fn, args, kwargs, "mode?", &mode); err != nil {
		return nil, err
	}
	return m.Value, m.setTraining(fn, bool(mode))
}

func eval(_ *builtins.Env, fn string, m *Module, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if err := arg.Unpack(fn, args, kwargs); err != nil {
		return nil, err
	}
	return m.Value, m.setTraining(fn, false)
}

// setTraining says for fn whether m and the modules below it train. If one of
// them is frozen nothing changes.
func (m *Module) setTraining(fn string, on bool) error {
	list := m.Modules("")
	for _, sub := range list {
		if err := sub.M.MayChange(fn); err != nil {
			return err
		}
	}
	for _, sub := range list {
		sub.M.training = on
	}
	return nil
}

func zeroGrad(e *builtins.Env, fn string, m *Module, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	toNone := arg.Bool(true)
	if err := arg.Unpack(fn, args, kwargs, "set_to_none?", &toNone); err != nil {
		return nil, err
	}
	var list []*builtins.Tensor
	for _, p := range m.Parameters("", true) {
		list = append(list, p.X)
	}
	return starlark.None, zeroGrads(e, fn, list, bool(toNone))
}

// zeroGrads forgets, for the function fn, the gradients of params, or makes
// them zeros.
func zeroGrads(e *builtins.Env, fn string, params []*builtins.Tensor, toNone bool) error {
	for _, x := range params {
		t, err := Leaf(x)
		if err != nil {
			return err
		}
		if t.RequiresGrad() {
			if err := builtins.CheckFrozen(fn, t); err != nil {
				return err
			}
		}
		switch {
		case t.Auto == nil || t.Auto.Grad == nil:
		case toNone:
			e.Runtime.Forgot(t.Auto.Grad)
			t.Auto.Forget()
		default:
			if err := zero(e, t.Auto.Grad); err != nil {
				return arg.Rename(fn, err)
			}
		}
	}
	return nil
}
