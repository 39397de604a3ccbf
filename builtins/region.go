package builtins

import (
	"go.starlark.net/starlark"

	"tpsh/builtins/arg"
	"tpsh/internal/units"
	"tpsh/runtime/op"
)

func init() {
	Register(&Row{
		Name: "region",
		Doc: "region(name, fn, *args, **kwargs) returns fn(*args, **kwargs), which traces, reports and plans know as the part of the program called name.\n" +
			"A region inside another is told after it: \"step/loss\". What a backward pass computes\n" +
			"belongs where the forward computation was. Modules are told apart by themselves.\n" +
			">>> region(\"sum\", lambda x, y: x + y, 1, y=2)\n3",
		Fn: regionCall,
	}, &Row{
		Name: "mark_step",
		Doc: "mark_step() says that a step of training has ended: traces, reports and plans count by it.\n" +
			">>> mark_step()",
		Fn: markStep,
	})
}

func regionCall(e *Env, thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (v starlark.Value, err error) {
	if len(args) < 2 {
		return nil, &op.ArgError{Func: b.Name(), Got: units.Count(len(args), "argument") + " by position", Want: "a name and a function"}
	}
	var (
		name arg.String
		fn   arg.Callable
	)
	if err := arg.Unpack(b.Name(), args[:2], nil, "name", &name, "fn", &fn); err != nil {
		return nil, err
	}
	if name == "" {
		return nil, &op.ArgError{Func: b.Name(), Param: "name", Got: `""`, Want: "a name"}
	}
	err = e.Runtime.InRegion(string(name), func() (err error) {
		v, err = starlark.Call(thread, fn.Fn, args[2:], kwargs)
		return err
	})
	return v, err
}

func markStep(e *Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if err := arg.Unpack(b.Name(), args, kwargs); err != nil {
		return nil, err
	}
	e.Runtime.MarkStep()
	return starlark.None, nil
}
