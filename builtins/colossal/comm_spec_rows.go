package colossal

import (
	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
)

// commSpecExample begins the examples of what a CommSpec has.
const commSpecExample = ">>> mesh = DeviceMesh(\"cpu\", [[0]])\n" +
	">>> spec = ShardingSpec(mesh, (4, 2), {0: [1]})\n" +
	">>> c = CommSpec(CollectiveCommPattern.GATHER_FWD_SPLIT_BWD, spec, gather_dim=0, logical_process_axis=1)\n"

// commSpecRow returns the row of an attribute of CommSpecs.
func commSpecRow(name, doc, want string, get func(c *CommSpec) starlark.Value) *builtins.Row {
	return &builtins.Row{Name: "CommSpec." + name, Doc: name + " is " + doc + "\n" + commSpecExample + ">>> c." + name + "\n" + want,
		Get: func(_ *builtins.Env, x starlark.Value) (starlark.Value, error) { return get(x.(*CommSpec)), nil }}
}

func init() {
	builtins.Register(&builtins.Row{
		Name: "CommSpec",
		Doc: "CommSpec(comm_pattern, sharding_spec, gather_dim=None, shard_dim=None, logical_process_axis=None, forward_only=False, mix_gather=False) returns a step that takes a tensor from one ShardingSpec to another, with its gradient.\n" +
			"comm_pattern is a member of CollectiveCommPattern, sharding_spec that of the tensor before\n" +
			"the step. gather_dim is joined and shard_dim is cut; where the pattern has one dim, either\n" +
			"name will do. logical_process_axis is the mesh dim along which ranks communicate, or a list:\n" +
			"then those along all of these together. forward_only leaves the gradient out of the cost.\n" +
			"A mixed gather joins all that the sharding spec cuts: its dims and mesh dims may be left\n" +
			"out, or are lists, and logical_process_axis then has the mesh dims of gather_dim or, for one\n" +
			"dim, [1, 1] where it is cut row by row, [0, 0] column by column.\n" +
			commSpecExample + ">>> c.convert_spec_to_action(ones(4, 2)).shape\n(4, 2)",
		Fn: makeCommSpec,
	}, &builtins.Row{
		Name: "CommSpec.get_comm_cost",
		Doc: "get_comm_cost() returns a dict of what the step costs: \"forward\", \"backward\", and \"total\", their sum.\n" +
			"The costs are those of the mesh's cost methods, for the number of elements that a device\n" +
			"holds before the step. What moves nothing costs 0.\n" +
			commSpecExample + ">>> c.get_comm_cost()\n{\"forward\": 1.1, \"backward\": 0.0, \"total\": 1.1}",
		Fn: commCost,
	}, &builtins.Row{
		Name: "CommSpec.convert_spec_to_action",
		Doc: "convert_spec_to_action(x) returns what the step makes of x, what this rank holds before it.\n" +
			"Every rank along logical_process_axis calls it. Outside the mesh the result is None. The\n" +
			"gradient is as the pattern says: it takes the ranks to have one loss together. Dims that do\n" +
			"not divide evenly are cut as x.chunk(n, dim) cuts them. The result has a storage of its own.\n" +
			commSpecExample + ">>> c.convert_spec_to_action(ones(4, 2)).shape\n(4, 2)",
		Fn: convertSpec,
	}, &builtins.Row{
		Name: "CommSpec.covert_spec_to_action",
		Doc: "covert_spec_to_action(x) returns convert_spec_to_action(x), in ColossalAI's spelling.\n" +
			commSpecExample + ">>> c.covert_spec_to_action(ones(4, 2)).shape\n(4, 2)",
		Fn: convertSpec,
	},
		commSpecRow("comm_pattern", "the member of CollectiveCommPattern.", "CollectiveCommPattern.GATHER_FWD_SPLIT_BWD",
			func(c *CommSpec) starlark.Value {
				return builtins.Enum{Typ: "CollectiveCommPattern", Name: c.pattern.name}
			}),
		commSpecRow("sharding_spec", "the ShardingSpec of the tensor before the step.", "[S1, R]",
			func(c *CommSpec) starlark.Value { return c.spec }),
		commSpecRow("gather_dim", "the dim that is joined, or None; of a mixed gather, the list of them.", "0",
			func(c *CommSpec) starlark.Value { return c.dimsValue(c.gather) }),
		commSpecRow("shard_dim", "the dim that is cut, or None; of a mixed gather, the list of those that its gradient cuts.", "0",
			func(c *CommSpec) starlark.Value { return c.dimsValue(c.shard) }),
		commSpecRow("logical_process_axis", "the mesh dim along which ranks communicate, the list of them, or None.", "1",
			(*CommSpec).axisValue),
		commSpecRow("forward_only", "whether the gradient is left out of the cost.", "False",
			func(c *CommSpec) starlark.Value { return starlark.Bool(c.forwardOnly) }),
		commSpecRow("mix_gather", "whether mix_gather was given.", "False",
			func(c *CommSpec) starlark.Value { return starlark.Bool(c.mix) }),
	)
	var members []builtins.EnumMember
	for _, p := range commPatterns {
		members = append(members, builtins.EnumMember{Name: p.name, Doc: p.doc})
	}
	builtins.RegisterEnum("CollectiveCommPattern", "CollectiveCommPattern holds the kinds of steps of a CommSpec. FWD says what a step does, BWD what its gradient does.\n"+
		">>> CollectiveCommPattern.ALL2ALL_FWD_ALL2ALL_BWD\nCollectiveCommPattern.ALL2ALL_FWD_ALL2ALL_BWD", members)
}

// commCost carries out CommSpec.get_comm_cost.
func commCost(_ *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if err := arg.Unpack(b.Name(), args, kwargs); err != nil {
		return nil, err
	}
	forward, backward := b.Receiver().(*CommSpec).cost()
	dict := starlark.NewDict(3)
	for _, c := range []struct {
		name string
		cost float64
	}{{"forward", forward}, {"backward", backward}, {"total", forward + backward}} {
		if err := dict.SetKey(starlark.String(c.name), starlark.Float(c.cost)); err != nil {
			return nil, err
		}
	}
	return dict, nil
}
