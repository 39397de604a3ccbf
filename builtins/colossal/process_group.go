package colossal

import (
	"errors"
	"fmt"
	"slices"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/builtins/collective"
	"tpsh/internal/units"
	"tpsh/mesh"
	"tpsh/runtime"
	"tpsh/runtime/op"
)

// A ProcessGroup is a mesh of two dims, data parallel and tensor parallel,
// under ColossalAI's name.
type ProcessGroup struct {
	env    *builtins.Env
	m      *mesh.Mesh // (dp, tp), one of the rank's Layouts
	cpu    bool       // set_cpu_groups has been called
	frozen bool
}

var (
	_ collective.Grouped  = (*ProcessGroup)(nil)
	_ starlark.HasAttrs   = (*ProcessGroup)(nil)
	_ starlark.Comparable = (*ProcessGroup)(nil)
	_ arg.Described       = (*ProcessGroup)(nil)
)

// The dims of the mesh of a ProcessGroup.
const (
	dpDim = 0
	tpDim = 1
)

// Mesh returns the mesh of p, whose dims are dp and tp.
func (p *ProcessGroup) Mesh() *mesh.Mesh { return p.m }

// degree returns the size of the groups along a dim.
func (p *ProcessGroup) degree(dim int) int { return p.m.Shape()[dim] }

// String returns p as a script writes it.
func (p *ProcessGroup) String() string {
	return fmt.Sprintf("ProcessGroup(ranks=%v, tp_degree=%d, dp_degree=%d)", builtins.IntList(p.m.Ranks()), p.degree(tpDim), p.degree(dpDim))
}

func (p *ProcessGroup) Describe() string {
	if p.m.Size() > 16 {
		return fmt.Sprintf("a ProcessGroup of %d ranks, tp_degree=%d, dp_degree=%d", p.m.Size(), p.degree(tpDim), p.degree(dpDim))
	}
	return p.String()
}

func (p *ProcessGroup) Type() string         { return "ProcessGroup" }
func (p *ProcessGroup) Freeze()              { p.frozen = true }
func (p *ProcessGroup) Truth() starlark.Bool { return true }
func (p *ProcessGroup) AttrNames() []string  { return builtins.AttrNames("ProcessGroup") }
func (p *ProcessGroup) Attr(name string) (starlark.Value, error) {
	return p.env.Attr("ProcessGroup", p, name)
}

// Hash implements starlark.Value: equal groups have one hash.
func (p *ProcessGroup) Hash() (uint32, error) { return starlark.String(p.String()).Hash() }

// CompareSameType implements starlark.Comparable. Groups are equal if they have
// the same ranks and degrees.
func (p *ProcessGroup) CompareSameType(cmp syntax.Token, v starlark.Value, _ int) (bool, error) {
	return builtins.Equality("ProcessGroup", cmp, p.m == v.(*ProcessGroup).m)
}

// CommGroup implements grouped: p stands for its tensor-parallel group.
func (p *ProcessGroup) CommGroup() (*runtime.Group, error) {
	if !p.env.Runtime.Member(p.m) {
		return nil, arg.Bad(p, fmt.Sprintf("a group with rank %d in it", p.env.Runtime.Self()), "")
	}
	return p.env.Runtime.LineGroup(p.m, tpDim)
}

// line returns the ranks along a dim that hold the caller; nil if it is not in
// the group.
func (p *ProcessGroup) line(dim int) []int { return p.m.Line(p.env.Runtime.ID(), dim) }

// group returns the Group along a dim that holds the caller, for the method fn.
func (p *ProcessGroup) group(fn string, dim int) (starlark.Value, error) {
	if !p.env.Runtime.Member(p.m) {
		return nil, &op.ArgError{Func: fn, Got: arg.Show(p), Want: fmt.Sprintf("a group with rank %d in it", p.env.Runtime.Self())}
	}
	g, err := p.env.Runtime.LineGroup(p.m, dim)
	if err != nil {
		return nil, err
	}
	return collective.WrapGroup(p.env, g), nil
}

// cpuGroup is group once set_cpu_groups has been called.
func (p *ProcessGroup) cpuGroup(fn string, dim int) (starlark.Value, error) {
	if !p.cpu {
		return nil, &op.ArgError{Func: fn, Got: "a ProcessGroup without CPU groups", Want: "one with them", Rule: "call set_cpu_groups first"}
	}
	return p.group(fn, dim)
}

// newProcessGroup returns the group of ranks, which ascend, with a
// tensor-parallel degree that divides their number.
func newProcessGroup(e *builtins.Env, ranks []int, tp int) (*ProcessGroup, error) {
	m, err := mesh.New([]int{len(ranks) / tp, tp}, ranks, []string{"dp", "tp"})
	if err != nil {
		return nil, err
	}
	return &ProcessGroup{env: e, m: e.Runtime.Layouts().Mesh(m)}, nil
}

// defaultProcessGroup returns ProcessGroup(): all ranks, data parallel.
func defaultProcessGroup(e *builtins.Env) (*ProcessGroup, error) {
	return newProcessGroup(e, e.Runtime.World().Ranks(), 1)
}

// processGroupArg is an argument that is a ProcessGroup.
type processGroupArg struct{ *ProcessGroup }

// Unpack implements starlark.Unpacker.
func (p *processGroupArg) Unpack(v starlark.Value) error {
	pg, ok := v.(*ProcessGroup)
	if !ok {
		return arg.Bad(v, "a ProcessGroup", "")
	}
	p.ProcessGroup = pg
	return nil
}

func makeProcessGroup(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		rank   arg.Opt[arg.Int, *arg.Int]
		list   starlark.Value
		tp, dp collective.Degree
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "rank??", &rank, "ranks??", &list, "tp_degree??", &tp, "dp_degree??", &dp); err != nil {
		return nil, err
	}
	if rank.Set && !runtime.Asked(e.Runtime, func(r int) bool { return r == int(rank.V) }) {
		return nil, &op.ArgError{Func: b.Name(), Param: "rank", Got: fmt.Sprint(rank.V), Want: fmt.Sprint(e.Runtime.Self()), Rule: "the caller's rank"}
	}
	ranks := e.Runtime.World().Ranks()
	if list != nil {
		var err error
		if ranks, err = collective.RanksArg(e, b.Name(), list); err != nil {
			return nil, err
		}
	}
	ranks = slices.Sorted(slices.Values(ranks))
	tpDegree, err := tensorDegree(b.Name(), int(tp), int(dp), len(ranks))
	if err != nil {
		return nil, err
	}
	return newProcessGroup(e, ranks, tpDegree)
}

// tensorDegree returns the tensor-parallel degree of a group of n ranks whose
// degrees are tp and dp, 0 where they are not given, for the function fn.
func tensorDegree(fn string, tp, dp, n int) (int, error) {
	rule := "the group has " + units.Count(n, "rank")
	divides := func(param string, degree int) error {
		if n%degree != 0 {
			return &op.ArgError{Func: fn, Param: param, Got: fmt.Sprint(degree), Want: fmt.Sprintf("a divisor of %d", n), Rule: rule}
		}
		return nil
	}
	switch {
	case tp == 0 && dp == 0:
		return 1, nil
	case tp == 0:
		if err := divides("dp_degree", dp); err != nil {
			return 0, err
		}
		return n / dp, nil
	}
	if err := divides("tp_degree", tp); err != nil {
		return 0, err
	}
	if dp != 0 && dp != n/tp {
		return 0, &op.ArgError{Func: fn, Got: fmt.Sprintf("tp_degree=%d, dp_degree=%d", tp, dp), Want: fmt.Sprintf("degrees whose product is %d", n), Rule: rule}
	}
	return tp, nil
}

// errFrozenGroup is the error of a change of a frozen ProcessGroup.
var errFrozenGroup = errors.New("set_cpu_groups: cannot change a frozen ProcessGroup")

func setCPUGroups(p *ProcessGroup, _ string) (starlark.Value, error) {
	if p.frozen && !p.cpu {
		return nil, errFrozenGroup
	}
	p.cpu = true
	return starlark.None, nil
}

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
				return builtins.OwnRank(p.env), nil
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
		if !p.env.Runtime.Member(p.m) {
			return starlark.None, nil
		}
		return builtins.Coordinate(p.env, p.m, dim), nil
	}
}
