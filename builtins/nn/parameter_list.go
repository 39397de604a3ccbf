package nn

import (
	"strconv"

	"go.starlark.net/starlark"

	"tpsh/builtins"
)

var (
	parameterListClass = &class{Name: "ParameterList", forward: cannotRun, elements: parameterElements("value", "values", isNumbered)}
	parameterDictClass = &class{Name: "ParameterDict", forward: cannotRun, elements: parameterElements("parameter", "parameters", func(*Field) bool { return true })}
)

// parameterElements says that the fields that is tells are parameters, or other values
// that are no modules. Functions take them by the parameters one and many.
func parameterElements(one, many string, is func(f *Field) bool) *elements {
	return &elements{
		of: "tensors", one: one, many: many, is: is,
		fits: func(_ *Module, v starlark.Value) (want, rule string) {
			if ModuleOf(v) != nil {
				return "a tensor, or another value that is no module", "nn.ModuleList holds modules"
			}
			return "", ""
		},
		field: parameterField,
	}
}

// isNumbered reports whether the name of a field is a number.
func isNumbered(f *Field) bool {
	_, err := strconv.Atoi(f.Name)
	return err == nil
}

// parameterField makes a parameter of a tensor; other values are plain fields.
func parameterField(fn string, v starlark.Value) (fieldKind, starlark.Value, error) {
	x, ok := v.(*builtins.Tensor)
	switch {
	case !ok:
		return PlainField, v, nil
	case x.Parameter:
		return ParameterField, v, nil
	}
	t, err := x.Tensor()
	if err != nil {
		return 0, nil, err
	}
	v, err = asParameter(x.Env, fn, t, true)
	return ParameterField, v, err
}

func init() {
	builtins.Register(
		&builtins.Row{Name: "nn.ParameterList", Fn: listMaker(parameterListClass),
			Doc: "ParameterList(values=[]) returns a module that holds a list of parameters. Tensors among values become parameters.\n" +
				"It can be indexed, sliced, assigned to by index, counted by len() and looped over. The\n" +
				"parameters are called \"0\", \"1\", ...\n" +
				">>> m = nn.ParameterList([ones(2), zeros(3)])\n>>> len(m), m[-1].requires_grad, [name for name, p in m.named_parameters()]\n(2, True, [\"0\", \"1\"])"},
		&builtins.Row{Name: "ParameterList", Base: "Module", Doc: "ParameterList is the type of what nn.ParameterList makes: a module with methods of a list."},
		listRow("ParameterList.append", "append(value) adds a parameter behind the others, and returns the whole.\n>>> len(nn.ParameterList().append(ones(2)))\n1", appendTo),
		listRow("ParameterList.extend", "extend(values) adds the parameters of a list behind the others, and returns the whole.\n>>> len(nn.ParameterList().extend([ones(2), ones(1)]))\n2", extend),
	)
}

func init() {
	const two = ">>> m = nn.ParameterDict({\"a\": ones(2), \"b\": zeros(1)})\n"
	builtins.Register(
		&builtins.Row{Name: "nn.ParameterDict", Fn: dictMaker(parameterDictClass),
			Doc: "ParameterDict(parameters={}) returns a module that holds parameters under names. Tensors among the values become parameters.\n" +
				"m[name] is one of them, and can be assigned; name in m, len(m) and loops over the names\n" +
				"work as with a dict. A loop goes in the order of definition.\n" + two + ">>> m[\"a\"].tolist(), len(m), \"c\" in m\n([1.0, 1.0], 2, False)"},
		&builtins.Row{Name: "ParameterDict", Base: "Module", Doc: "ParameterDict is the type of what nn.ParameterDict makes: a module with the methods of a dict."},
		dictRow("ParameterDict.keys", "keys() returns the names as a list.\n"+two+">>> m.keys()\n[\"a\", \"b\"]", (*dictModule).names),
		dictRow("ParameterDict.values", "values() returns the parameters as a list.\n"+two+">>> [p.shape for p in m.values()]\n[(2,), (1,)]", (*dictModule).values),
		dictRow("ParameterDict.items", "items() returns pairs of names and parameters as a list.\n"+two+">>> [(name, p.shape) for name, p in m.items()]\n[(\"a\", (2,)), (\"b\", (1,))]", (*dictModule).items),
		&builtins.Row{Name: "ParameterDict.pop", Fn: popDict,
			Doc: "pop(key) takes the parameter of a name out, and returns it.\n" + two + ">>> m.pop(\"a\").shape\n(2,)\n>>> m.keys()\n[\"b\"]"},
		&builtins.Row{Name: "ParameterDict.clear", Fn: clearDict,
			Doc: "clear() takes all parameters out.\n" + two + ">>> m.clear()\n>>> len(m)\n0"},
		&builtins.Row{Name: "ParameterDict.update", Doc: "update(parameters) adds the parameters of a dict, or of another ParameterDict, in place of those of their names.\n" + two + ">>> m.update({\"b\": ones(1)})\n>>> m[\"b\"].tolist()\n[1.0]",
			Fn: updateDict},
	)
}
