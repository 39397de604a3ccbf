package nn

import (
	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// Methods of modules that walk over what is in them, and change all of it.

func init() {
	builtins.Register(
		ModuleRow("children", "children() returns the modules that are attributes of the module, as a list, each once.\n"+
			">>> nn.Sequential(nn.ReLU(), nn.Tanh()).children()\n[ReLU(), Tanh()]",
			func(_ *builtins.Env, fn string, m *Module, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
				return listOf(m.ownModules(), onlyModule), arg.Unpack(fn, args, kwargs)
			}),
		ModuleRow("named_children", "named_children() returns the modules that are attributes of the module with their names: a list of pairs, each module once.\n"+
			">>> nn.Sequential(nn.ReLU(), nn.Tanh()).named_children()\n[(\"0\", ReLU()), (\"1\", Tanh())]",
			func(_ *builtins.Env, fn string, m *Module, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
				return listOf(m.ownModules(), pathAndModule), arg.Unpack(fn, args, kwargs)
			}),
		ModuleRow("modules", "modules() returns the module and the modules in it as a list, as named_modules orders them.\n"+
			">>> len(nn.Sequential(nn.ReLU(), nn.Tanh()).modules())\n3",
			func(_ *builtins.Env, fn string, m *Module, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
				return listOf(m.Modules(""), onlyModule), arg.Unpack(fn, args, kwargs)
			}),
		&builtins.Row{Name: "Module.apply", Fn: applyToModules, Doc: "apply(fn) calls fn with every module in the module, those below before those above, and last with itself; it returns the module.\n" +
			">>> names = []\n>>> m = nn.Sequential(nn.ReLU(), nn.Tanh()).apply(lambda m: names.append(type(m)))\n>>> names\n[\"ReLU\", \"Tanh\", \"Sequential\"]"},
		ModuleRow("get_submodule", "get_submodule(target) returns the module of a path, \"\" for the module itself.\n"+
			">>> nn.Sequential(nn.Sequential(nn.Tanh())).get_submodule(\"0.0\")\nTanh()", getSubmodule),
		ModuleRow("get_parameter", "get_parameter(target) returns the parameter of a path.\n"+
			">>> nn.Sequential(nn.LayerNorm(2)).get_parameter(\"0.weight\")\n[1. 1.]",
			func(_ *builtins.Env, fn string, m *Module, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
				return named(fn, m.Parameters("", true), "a parameter", args, kwargs)
			}),
		ModuleRow("register_parameter", "register_parameter(name, param) gives the module a parameter: a Parameter, or None.\n"+
			">>> m = nn.Identity()\n>>> m.register_parameter(\"w\", nn.Parameter(ones(2)))\n>>> m.w\n[1. 1.]", registerParameter),
		ModuleRow("requires_grad_", "requires_grad_(requires_grad=True) says of every parameter whether gradients are wanted in it, and returns the module.\n"+
			">>> nn.LayerNorm(2).requires_grad_(False).weight.requires_grad\nFalse", requireGrads),
		ModuleRow("to", "to(dtype) converts the parameters and buffers that are floats to a float dtype, and returns the module. The device \"cpu\", before the dtype, alone or as device=, changes nothing.\n"+
			">>> nn.Linear(2, 2).to(bfloat16).weight.dtype\nbfloat16", convertModule),
	)
	for name, d := range map[string]dtype.DType{"float": dtype.Float32, "double": dtype.Float64, "half": dtype.Float16, "bfloat16": dtype.BFloat16} {
		builtins.Register(ModuleRow(name, name+"() is to("+d.String()+").\n>>> nn.Linear(2, 2)."+name+"().weight.dtype\n"+d.String(),
			func(e *builtins.Env, fn string, m *Module, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
				if err := arg.Unpack(fn, args, kwargs); err != nil {
					return nil, err
				}
				return m.Value, m.convert(e, fn, d)
			}))
	}
}

// ownModules returns the modules that are attributes of m, each once.
func (m *Module) ownModules() []NamedModule {
	var list []NamedModule
	seen := map[*Module]bool{}
	for _, f := range m.children() {
		if sub := ModuleOf(f.Value); !seen[sub] {
			seen[sub] = true
			list = append(list, NamedModule{f.Name, sub})
		}
	}
	return list
}

// onlyModule and pathAndModule return a module as lists of modules have it.
func onlyModule(s NamedModule) starlark.Value { return s.M.Value }

func pathAndModule(s NamedModule) starlark.Value {
	return starlark.Tuple{starlark.String(s.Path), s.M.Value}
}

// listOf returns the list of value(x) for each element x of list.
func listOf[T any](list []T, value func(x T) starlark.Value) *starlark.List {
	values := make([]starlark.Value, len(list))
	for i, x := range list {
		values[i] = value(x)
	}
	return starlark.NewList(values)
}

func applyToModules(_ *builtins.Env, thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var fn arg.Callable
	if err := arg.Unpack(b.Name(), args, kwargs, "fn", &fn); err != nil {
		return nil, err
	}
	m := ModuleOf(b.Receiver())
	return m.Value, m.each(func(sub *Module) error {
		_, err := starlark.Call(thread, fn.Fn, starlark.Tuple{sub.Value}, nil)
		return err
	})
}

// each calls f with the modules below m, those further down first, and with m.
func (m *Module) each(f func(m *Module) error) error {
	for _, sub := range m.ownModules() {
		if err := sub.M.each(f); err != nil {
			return err
		}
	}
	return f(m)
}

func getSubmodule(_ *builtins.Env, fn string, m *Module, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var target arg.String
	if err := arg.Unpack(fn, args, kwargs, "target", &target); err != nil {
		return nil, err
	}
	var found starlark.Value
	var paths []string
	m.walk("", func(path string, sub *Module) {
		if paths = append(paths, path); path == string(target) {
			found = sub.Value
		}
	})
	if found == nil {
		return nil, arg.In(fn, "target", arg.Bad(starlark.String(target), "the path of a module", "there are "+builtins.QuotedNames(paths)))
	}
	return found, nil
}

func registerParameter(_ *builtins.Env, fn string, m *Module, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		name arg.String
		v    starlark.Value
	)
	if err := arg.Unpack(fn, args, kwargs, "name", &name, "param", &v); err != nil {
		return nil, err
	}
	if err := m.MayChange(fn); err != nil {
		return nil, err
	}
	if x, ok := v.(*builtins.Tensor); v != starlark.None && !(ok && x.Parameter) {
		return nil, arg.In(fn, "param", arg.Bad(v, "a Parameter or None", "nn.Parameter(t) makes one"))
	}
	if i, ok := m.at[string(name)]; ok && m.Fields[i].Kind == ComputedField {
		return nil, arg.In(fn, "name", arg.Bad(starlark.String(name), "another name", "the module has a parameter of that name, which is computed"))
	}
	if err := m.assign(string(name), v); err != nil {
		return nil, arg.In(fn, "name", err)
	}
	m.Put(Field{string(name), ParameterField, v})
	return starlark.None, nil
}

func requireGrads(_ *builtins.Env, fn string, m *Module, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	on := arg.Bool(true)
	if err := arg.Unpack(fn, args, kwargs, "requires_grad?", &on); err != nil {
		return nil, err
	}
	for _, p := range m.Parameters("", true) {
		if err := p.X.SetField("requires_grad", starlark.Bool(on)); err != nil {
			return nil, arg.Rename(fn, err)
		}
	}
	return m.Value, nil
}

func convertModule(e *builtins.Env, fn string, m *Module, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	given := len(args) + len(kwargs)
	args, kwargs, err := builtins.WithoutDevice(fn, args, kwargs)
	if err != nil {
		return nil, err
	}
	if given > 0 && len(args)+len(kwargs) == 0 {
		return m.Value, nil
	}
	var d arg.DType
	if err := arg.Unpack(fn, args, kwargs, "dtype", &d); err != nil {
		return nil, err
	}
	if !d.D.IsFloat() {
		return nil, &op.ArgError{Func: fn, Param: "dtype", Got: d.D.String(), Want: "a float dtype"}
	}
	return m.Value, m.convert(e, fn, d.D)
}

// convert gives the parameters and buffers of m and of the modules below it, those
// that are floats, the dtype d. They stay the tensors that optimisers know.
func (m *Module) convert(e *builtins.Env, fn string, d dtype.DType) error {
	for _, sub := range m.Modules("") {
		if err := sub.M.MayChange(fn); err != nil {
			return err
		}
	}
	for _, x := range append(m.Parameters("", true), m.Buffers("", true)...) {
		if _, plain := storeOf(x.X).(PlainStore); !plain {
			return &op.ArgError{Func: fn, Got: "the parameter " + x.Path + ", of which this rank stores a part", Want: "a whole one", Rule: "convert before fully_shard"}
		}
		if err := convertTensor(e, fn, x.X, d); err != nil {
			return err
		}
	}
	return nil
}

// convertTensor gives x the dtype d. It keeps what is called with its gradients,
// and forgets the gradient.
func convertTensor(e *builtins.Env, fn string, x *builtins.Tensor, d dtype.DType) error {
	t, err := x.Tensor()
	if err != nil || !t.DType().IsFloat() || t.DType() == d {
		return err
	}
	restore := e.Runtime.Tape.SetEnabled(false)
	y, err := e.Runtime.Do("to", []*tensor.Tensor{t.Detach()}, op.Int1(int(d)))
	restore()
	if err != nil {
		return arg.Rename(fn, err)
	}
	y.Lens = t.Lens
	return builtins.ReplaceParameter(fn, x, y)
}
