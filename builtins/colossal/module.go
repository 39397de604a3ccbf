package colossal

import (
	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/builtins/dtensor"
	"tpsh/builtins/nn"
	"tpsh/runtime/op"
)

func init() {
	builtins.Register(&builtins.Row{
		Name: "convert_parameter",
		Doc: "convert_parameter(module, name) returns None and puts a ColoTensor in the place of the parameter called name of module.\n" +
			"It is replicated on ProcessGroup(), on the storage of the parameter, a contiguous tensor. It is\n" +
			"an attribute of the module that its functions use, and no parameter: named_params_with_colotensor\n" +
			"finds it.\n" +
			">>> m = nn.Linear(2, 1)\n>>> convert_parameter(m, \"weight\")\n>>> type(m.weight)\n\"ColoTensor\"",
		Fn: convertParameter,
	}, &builtins.Row{
		Name: "named_params_with_colotensor",
		Doc: "named_params_with_colotensor(module, prefix=\"\", recurse=True) returns a list of pairs of paths and tensors: first the ColoTensors that are attributes of modules and no parameters, then the parameters.\n" +
			"Each tensor comes once. prefix begins every path; without recurse the modules in module are left out.\n" +
			">>> m = nn.Linear(2, 1)\n>>> convert_parameter(m, \"weight\")\n" +
			">>> [name for name, t in named_params_with_colotensor(m, prefix=\"fc\")]\n[\"fc.weight\", \"fc.bias\"]",
		Fn: namedParamsWithColo,
	})
}

func convertParameter(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		fn   = b.Name()
		mod  dtensor.ModuleArg
		name arg.String
	)
	if err := arg.Unpack(fn, args, kwargs, "module", &mod, "name|param_name", &name); err != nil {
		return nil, err
	}
	if err := mod.M.MayChange(fn); err != nil {
		return nil, err
	}
	x, err := tensorCalled(mod.M, fn, string(name))
	if err != nil {
		return nil, err
	}
	if x, err = converted(e, fn, x); err != nil {
		return nil, err
	}
	mod.M.Put(nn.Field{Name: string(name), Kind: nn.PlainField, Value: x})
	return starlark.None, nil
}

// tensorCalled returns the tensor that m has under name, for the function fn,
// whose parameter is called so, too.
func tensorCalled(m *nn.Module, fn, name string) (*builtins.Tensor, error) {
	v := m.Get(name)
	if x, ok := v.(*builtins.Tensor); ok {
		return x, nil
	}
	bad := &op.ArgError{Func: fn, Param: "name", Got: starlark.String(name).String(), Want: "a parameter of " + m.Describe(), Rule: "it has none of that name"}
	if v != nil {
		bad.Rule = "that is " + arg.Show(v)
	}
	return nil, bad
}

// converted returns the parameter x as a ColoTensor on its storage: x itself if
// it is one.
func converted(e *builtins.Env, fn string, x *builtins.Tensor) (*builtins.Tensor, error) {
	t, err := x.Tensor()
	if err != nil || isColo(t) {
		return x, err
	}
	if err := builtins.PlainOnly(fn, "name", t); err != nil {
		return nil, err
	}
	if !t.Contiguous() {
		return nil, &op.ArgError{Func: fn, Param: "name", Got: "a tensor whose elements do not lie in order", Want: "a contiguous one", Rule: ".contiguous() makes it"}
	}
	y, err := newColo(e, fn, "name", t.Detach(), &specArgs{})
	if err != nil {
		return nil, err
	}
	if t.RequiresGrad() {
		if err := builtins.RequireGrad(fn, y); err != nil {
			return nil, err
		}
	}
	return e.Wrap(y), nil
}

func namedParamsWithColo(_ *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		mod     dtensor.ModuleArg
		prefix  arg.String
		recurse = arg.Bool(true)
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "module", &mod, "prefix?", &prefix, "recurse?", &recurse); err != nil {
		return nil, err
	}
	m := mod.M
	list := attributeTensors(m, string(prefix), bool(recurse))
	var pairs []starlark.Value
	for _, p := range append(list, m.Parameters(string(prefix), bool(recurse))...) {
		pairs = append(pairs, starlark.Tuple{starlark.String(p.Path), p.X})
	}
	return starlark.NewList(pairs), nil
}

// attributeTensors returns the ColoTensors among the attributes of m that are no
// parameters and, with recurse, of the modules below it, each once.
func attributeTensors(m *nn.Module, prefix string, recurse bool) []nn.NamedTensor {
	var list []nn.NamedTensor
	seen := map[*builtins.Tensor]bool{}
	for _, sub := range m.Modules(prefix) {
		if sub.M != m && !recurse {
			continue
		}
		for _, f := range sub.M.Fields {
			if x, ok := f.Value.(*builtins.Tensor); ok && f.Kind == nn.PlainField && isColo(x.T) && !seen[x] {
				seen[x] = true
				list = append(list, nn.NamedTensor{Path: builtins.JoinPath(sub.Path, f.Name), X: x})
			}
		}
	}
	return list
}
