package builtins

import (
	"go.starlark.net/starlark"

	"tpsh/builtins/arg"
)

// setattr is Python's x.name = value for a name that is a value.
func init() {
	Register(&Row{
		Name: "setattr",
		Doc: "setattr(x, name, value) returns None and assigns value to the attribute of x that a string names, as x.name = value does.\n" +
			">>> m = nn.Linear(2, 2)\n>>> setattr(m, \"weight\", nn.Parameter(eye(2)))\n>>> m.weight.trace().item()\n2.0",
		Fn: setAttr,
	})
}

func setAttr(_ *Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		x, v starlark.Value
		name arg.String
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "x", &x, "name", &name, "value", &v); err != nil {
		return nil, err
	}
	y, ok := x.(starlark.HasSetField)
	if !ok {
		return nil, arg.In(b.Name(), "x", arg.Bad(x, "a value whose attributes can be assigned", "a module, a tensor, an optimizer"))
	}
	return starlark.None, y.SetField(string(name), v)
}
