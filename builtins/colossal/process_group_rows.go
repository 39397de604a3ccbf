package colossal

import (
	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
)

// A groupMember is a method of ProcessGroups that takes no arguments.
type groupMember func(p *ProcessGroup, fn string) (starlark.Value, error)

// processGroupExample begins the examples of what a ProcessGroup has.
const processGroupExample = ">>> pg = ProcessGroup(tp_degree=1)\n"

func init() {
	builtins.Register(&builtins.Row{
		Name: "ProcessGroup",
		Doc: "ProcessGroup(rank=None, ranks=None, tp_degree=None, dp_degree=None) returns a list of ranks arranged in tensor-parallel groups and data-parallel groups.\n" +
			"ranks are all ranks if it is None; they are sorted. Consecutive ones make the groups of\n" +
			"tp_degree, and those with the same place in these the groups of dp_degree. The product of\n" +
			"the degrees is the number of ranks; without tp_degree it is 1, or what dp_degree leaves.\n" +
			"rank is the caller's, if given. Every rank makes the same group, those outside it too; it\n" +
			"does not communicate. As group= of a collective it stands for the tensor-parallel group.\n" +
			"Groups are equal if ranks and degrees are.\n" +
			">>> ProcessGroup(ranks=[0], tp_degree=1)\nProcessGroup(ranks=[0], tp_degree=1, dp_degree=1)",
		Fn: makeProcessGroup,
	}, &builtins.Row{
		Name: "ProcessGroup.has_cpu_groups",
		Doc: "has_cpu_groups is whether set_cpu_groups has been called.\n" +
			processGroupExample + ">>> pg.has_cpu_groups\nFalse",
		Get: func(_ *builtins.Env, x starlark.Value) (starlark.Value, error) {
			return starlark.Bool(x.(*ProcessGroup).cpu), nil
		},
	})
	const outside = "Outside the group it is None.\n"
	const shared = "Meshes, ProcessGroups and modes with the same ranks in the same order share one group.\nOutside the group it is an error.\n"
	for _, m := range []struct {
		name, doc, example string
		get                groupMember
	}{
		{"rank", "returns the caller's rank among all ranks.\n", "0",
			func(p *ProcessGroup, _ string) (starlark.Value, error) {
				return starlark.MakeInt(p.env.Runtime.ID()), nil
			}},
		{"ranks_in_group", "returns the list of all ranks of the group, ascending.\n", "[0]",
			func(p *ProcessGroup, _ string) (starlark.Value, error) { return builtins.IntList(p.m.Ranks()), nil }},
		{"world_size", "returns the number of ranks of the group.\n", "1",
			func(p *ProcessGroup, _ string) (starlark.Value, error) { return starlark.MakeInt(p.m.Size()), nil }},
		{"tp_rank_list", "returns the list of the ranks of the caller's tensor-parallel group.\n" + outside, "[0]", ranksAlong(tpDim)},
		{"dp_rank_list", "returns the list of the ranks of the caller's data-parallel group.\n" + outside, "[0]", ranksAlong(dpDim)},
		{"get_ranks_in_tp", "returns tp_rank_list().\n", "[0]", ranksAlong(tpDim)},
		{"get_ranks_in_dp", "returns dp_rank_list().\n", "[0]", ranksAlong(dpDim)},
		{"tp_world_size", "returns the number of ranks of a tensor-parallel group.\n", "1", degreeOf(tpDim)},
		{"dp_world_size", "returns the number of ranks of a data-parallel group.\n", "1", degreeOf(dpDim)},
		{"tp_local_rank", "returns the caller's place in tp_rank_list().\n" + outside, "0", localRank(tpDim)},
		{"dp_local_rank", "returns the caller's place in dp_rank_list().\n" + outside, "0", localRank(dpDim)},
		{"tp_process_group", "returns the Group of tp_rank_list().\n" + shared, "Group([0])",
			func(p *ProcessGroup, fn string) (starlark.Value, error) { return p.group(fn, tpDim) }},
		{"dp_process_group", "returns the Group of dp_rank_list().\n" + shared, "Group([0])",
			func(p *ProcessGroup, fn string) (starlark.Value, error) { return p.group(fn, dpDim) }},
	} {
		builtins.Register(groupRow(m.name, m.name+"() "+m.doc+processGroupExample+">>> pg."+m.name+"()\n"+m.example, m.get))
	}
	const cpu = "It is an error before set_cpu_groups has been called.\n"
	builtins.Register(
		groupRow("cpu_tp_process_group", "cpu_tp_process_group() returns tp_process_group(), on which tensors of the CPU communicate as all do.\n"+cpu+
			processGroupExample+">>> pg.set_cpu_groups()\n>>> pg.cpu_tp_process_group()\nGroup([0])",
			func(p *ProcessGroup, fn string) (starlark.Value, error) { return p.cpuGroup(fn, tpDim) }),
		groupRow("cpu_dp_process_group", "cpu_dp_process_group() returns dp_process_group(), on which tensors of the CPU communicate as all do.\n"+cpu+
			processGroupExample+">>> pg.set_cpu_groups()\n>>> pg.cpu_dp_process_group()\nGroup([0])",
			func(p *ProcessGroup, fn string) (starlark.Value, error) { return p.cpuGroup(fn, dpDim) }),
		groupRow("set_cpu_groups", "set_cpu_groups() returns None and makes cpu_tp_process_group and cpu_dp_process_group available. A second call changes nothing.\n"+
			processGroupExample+">>> pg.set_cpu_groups()\n>>> pg.has_cpu_groups\nTrue", setCPUGroups),
	)
}

// groupRow returns the row of a method of ProcessGroups that takes no
// arguments.
func groupRow(name, doc string, get groupMember) *builtins.Row {
	return &builtins.Row{Name: "ProcessGroup." + name, Doc: doc, Fn: func(_ *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		if err := arg.Unpack(b.Name(), args, kwargs); err != nil {
			return nil, err
		}
		return get(b.Receiver().(*ProcessGroup), b.Name())
	}}
}

// ranksAlong is a method that returns the ranks along a dim that hold the caller.
func ranksAlong(dim int) groupMember {
	return func(p *ProcessGroup, _ string) (starlark.Value, error) {
		line := p.line(dim)
		if line == nil {
			return starlark.None, nil
		}
		return builtins.IntList(line), nil
	}
}

// degreeOf is a method that returns the size of the groups along a dim.
func degreeOf(dim int) groupMember {
	return func(p *ProcessGroup, _ string) (starlark.Value, error) {
		return starlark.MakeInt(p.degree(dim)), nil
	}
}

// localRank is a method that returns the caller's index along a dim.
func localRank(dim int) groupMember {
	return func(p *ProcessGroup, _ string) (starlark.Value, error) {
		c := p.m.Coordinate(p.env.Runtime.ID())
		if c == nil {
			return starlark.None, nil
		}
		return starlark.MakeInt(c[dim]), nil
	}
}
