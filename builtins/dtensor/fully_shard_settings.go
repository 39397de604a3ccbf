package dtensor

import (
	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/builtins/nn"
	"tpsh/runtime/op"
)

func init() {
	builtins.Register(
		shardSetting("set_requires_gradient_sync", "requires_gradient_sync",
			"says whether a backward pass reduces the gradients of a module that fully_shard was given.\n"+
				"With False they are kept whole on each rank, in the dtype in which they are reduced, and added to by the next one; the first pass with True reduces the sum.\n"+
				"zero_grad() does not forget them. no_sync(module, fn) sets it for fn(). All ranks set it alike.",
			">>> m.set_requires_gradient_sync(False)\n>>> m(ones(4, 2)).sum().backward()\n>>> m.bias.grad == None\nTrue\n"+
				">>> m.set_requires_gradient_sync(True)\n>>> m(ones(4, 2)).sum().backward()\n>>> m.bias.grad.tolist()\n[8.0, 8.0, 8.0]",
			(*shardUnit).setSync),
		shardSetting("set_requires_all_reduce", "requires_all_reduce",
			"says whether a backward pass averages the gradients of a module that fully_shard was given over the copies, of a mesh of two dims.\n"+
				"With False each copy adds up its own; the first pass with True averages the sums.",
			">>> m.set_requires_all_reduce(False)",
			func(u *shardUnit, on bool) {
				if c := u.sharding.copies; c != nil {
					c.sync = on
				}
			}),
		shardSetting("set_reshard_after_forward", "reshard_after_forward",
			"says whether the parameters of a module that fully_shard was given are forgotten after each call, as the argument of fully_shard does.",
			">>> m.set_reshard_after_forward(False)",
			func(u *shardUnit, on bool) { u.early = on }),
		shardSetting("set_reshard_after_backward", "reshard_after_backward",
			"says whether the parameters of a module that fully_shard was given are forgotten when a backward pass has been through them.\n"+
				"With False the next call finds them, unless they have changed.",
			">>> m.set_reshard_after_backward(False)\n>>> m(ones(4, 2)).sum().backward()\n>>> comm_counts(lambda: m(ones(4, 2)))\n{}",
			(*shardUnit).setReshardAfterBackward),
		shardSetting("set_is_last_backward", "is_last_backward",
			"is taken as PyTorch's is and changes nothing: a backward pass has reduced the gradients that it is to reduce when it ends, whether it is the last or not.",
			">>> m.set_is_last_backward(False)",
			func(*shardUnit, bool) {}),
		prefetchSetting("forward", "while a call of this one computes, in place of the one that came next in the call before",
			func(u *shardUnit, next []*shardUnit) { u.ahead = next }),
		prefetchSetting("backward", "while backward goes through this one, in place of the one that was called before it",
			func(u *shardUnit, next []*shardUnit) { u.behind = next }),
	)
}

func (u *shardUnit) setSync(on bool) {
	u.unsynced = !on
	for _, g := range u.paramGroups {
		g.Unsynced = u.unsynced
	}
}

func (u *shardUnit) setReshardAfterBackward(on bool) {
	u.kept = !on
	for _, g := range u.paramGroups {
		g.Kept = u.kept
	}
}

// ownUnits returns the unit of m, which fully_shard was given, and those that were made of its children then.
func ownUnits(fn string, m *nn.Module) ([]*shardUnit, error) {
	u := unitOf(m)
	if u == nil {
		return nil, &op.ArgError{Func: fn, Got: m.Describe(), Want: "a module that fully_shard was given"}
	}
	list := []*shardUnit{u.now()}
	for _, v := range u.now().made {
		list = append(list, v.now())
	}
	return list, nil
}

// shardSetting returns a row for a method that sets something of units, of m alone or of all that are in it.
func shardSetting(name, param, doc, example string, set func(u *shardUnit, on bool)) *builtins.Row {
	return nn.ModuleRow(name, name+"("+param+", recurse=True) "+doc+"\nWithout recurse the modules in it that fully_shard was given stay as they are.\n"+exampleFullyShard+example,
		func(_ *builtins.Env, fn string, m *nn.Module, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
			on, recurse := arg.Bool(true), arg.Bool(true)
			if err := arg.Unpack(fn, args, kwargs, param, &on, "recurse?", &recurse); err != nil {
				return nil, err
			}
			find := unitsOf
			if !recurse {
				find = ownUnits
			}
			units, err := find(fn, m)
			if err != nil {
				return nil, err
			}
			for _, u := range units {
				set(u, bool(on))
			}
			return starlark.None, nil
		})
}

// prefetchSetting returns a row for a method that says what is gathered while a pass is in m.
func prefetchSetting(pass, when string, set func(u *shardUnit, next []*shardUnit)) *builtins.Row {
	name := "set_modules_to_" + pass + "_prefetch"
	return nn.ModuleRow(name, name+"(modules) says which modules that fully_shard was given are gathered "+when+".\n"+
		"An empty list is for none.\n"+
		">>> mesh = DeviceMesh(\"cpu\", [0])\n>>> m = nn.Sequential(*[fully_shard(nn.Linear(2, 2), mesh) for _ in range(3)])\n"+
		">>> m[0]."+name+"([m[1], m[2]])",
		func(_ *builtins.Env, fn string, m *nn.Module, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
			var list arg.List
			if err := arg.Unpack(fn, args, kwargs, "modules", &list); err != nil {
				return nil, err
			}
			units, err := ownUnits(fn, m)
			if err != nil {
				return nil, err
			}
			next := []*shardUnit{}
			for i, v := range list {
				sub := nn.ModuleOf(v)
				if sub == nil || unitOf(sub) == nil {
					return nil, arg.In(fn, "modules", arg.BadItem(v, i, "a module that fully_shard was given"))
				}
				more, err := ownUnits(fn, sub)
				if err != nil {
					return nil, err
				}
				next = append(next, more...)
			}
			set(units[0], next)
			return starlark.None, nil
		})
}
