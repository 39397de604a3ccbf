package nn

import (
	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
)

var flattenClass = &class{Name: "Flatten", forward: callsMethod("flatten", "start_dim", "end_dim"), shows: []string{"start_dim", "end_dim"}}

func init() {
	builtins.Register(&builtins.Row{
		Name: "nn.Flatten",
		Doc: "Flatten(start_dim=1, end_dim=-1) returns a module that makes one dim of those from start_dim to end_dim.\n" +
			">>> nn.Flatten()(ones(2, 3, 4)).shape\n(2, 12)",
		Fn: func(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
			start, end := arg.Int(1), arg.Int(-1)
			if err := arg.Unpack(b.Name(), args, kwargs, "start_dim?", &start, "end_dim?", &end); err != nil {
				return nil, err
			}
			m := newModule(e, flattenClass)
			m.plain("start_dim", starlark.MakeInt(int(start)), "end_dim", starlark.MakeInt(int(end)))
			return m, nil
		},
	})
	unflatten := &layer{name: "Unflatten", fields: layerFields("dim, unflattened_size"),
		doc: "Unflatten(dim, unflattened_size) returns a module that makes several dims, of the sizes given, of one.\n" +
			">>> nn.Unflatten(1, [3, 4])(ones(2, 12)).shape\n(2, 3, 4)"}
	builtins.Register(unflatten.rowOf(callsMethod("unflatten", "dim", "unflattened_size")))
}

// callsMethod returns the forward function that calls the method called name of the
// tensor it is given, with fields of the module.
func callsMethod(name string, fields ...string) forwardFunc {
	return func(m *Module, thread *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		var x starlark.Value
		if err := arg.Unpack(m.Class.Name, args, kwargs, "input", &x); err != nil {
			return nil, err
		}
		t, ok := x.(*builtins.Tensor)
		if !ok {
			return nil, arg.In(m.Class.Name, "input", arg.Bad(x, "a tensor", ""))
		}
		method, err := t.Attr(name)
		if err != nil {
			return nil, err
		}
		values := make(starlark.Tuple, len(fields))
		for i, f := range fields {
			values[i] = m.Get(f)
		}
		return starlark.Call(thread, method, values, nil)
	}
}
