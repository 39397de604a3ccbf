package builtins

import (
	"go.starlark.net/starlark"

	"tpsh/builtins/arg"
)

func init() {
	Register(&Row{
		Name: "rank",
		Doc:  "rank() returns the number of this rank, from 0.\n>>> 0 <= rank() and rank() < world_size()\nTrue",
		Fn:   intFunction(ownRank),
	}, &Row{
		Name: "world_size",
		Doc:  "world_size() returns how many ranks there are.\n>>> len(all_gather_object(None)) == world_size()\nTrue",
		Fn:   intFunction(func(e *Env) starlark.Value { return starlark.MakeInt(e.Runtime.Size()) }),
	}, &Row{
		Name: "local_rank",
		Doc:  "local_rank() returns the number of this rank among those of its host, from 0.\n>>> local_rank() <= rank()\nTrue",
		Fn:   intFunction(ownRank),
	}, &Row{
		Name: "args",
		Doc:  "args is the list of the strings that stand after -- on the command line.\n>>> type(args)\n\"list\"",
		Own:  scriptArgs,
	})
}

// intFunction returns a function without arguments that returns an int.
func intFunction(get func(e *Env) starlark.Value) Function {
	return func(e *Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		if err := arg.Unpack(b.Name(), args, kwargs); err != nil {
			return nil, err
		}
		return get(e), nil
	}
}

// scriptArgs returns the list args.
func scriptArgs(e *Env) starlark.Value {
	list := make([]starlark.Value, len(e.Options.Args))
	for i, a := range e.Options.Args {
		list[i] = starlark.String(a)
	}
	return starlark.NewList(list)
}
