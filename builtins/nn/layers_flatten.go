package nn

import (
	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
)

var flattenClass = &class{Name: "Flatten", forward: runFlatten, shows: []string{"start_dim", "end_dim"}}

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
}

// runFlatten is the forward function of a Flatten.
func runFlatten(m *Module, thread *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var x starlark.Value
	if err := arg.Unpack(m.Class.Name, args, kwargs, "input", &x); err != nil {
		return nil, err
	}
	t, ok := x.(*builtins.Tensor)
	if !ok {
		return nil, arg.In(m.Class.Name, "input", arg.Bad(x, "a tensor", ""))
	}
	flatten, err := t.Attr("flatten")
	if err != nil {
		return nil, err
	}
	return starlark.Call(thread, flatten, starlark.Tuple{m.Get("start_dim"), m.Get("end_dim")}, nil)
}
