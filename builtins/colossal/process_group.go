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
	"tpsh/builtins/dtensor"
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
	line := p.line(tpDim)
	if line == nil {
		return nil, arg.Bad(p, fmt.Sprintf("a group with rank %d in it", p.env.Runtime.ID()), "")
	}
	return p.env.Runtime.SharedGroup(line)
}

// line returns the ranks along a dim that hold the caller; nil if it is not in
// the group.
func (p *ProcessGroup) line(dim int) []int { return p.m.Line(p.env.Runtime.ID(), dim) }

// group returns the Group along a dim that holds the caller, for the method fn.
func (p *ProcessGroup) group(fn string, dim int) (starlark.Value, error) {
	line := p.line(dim)
	if line == nil {
		return nil, &op.ArgError{Func: fn, Got: arg.Show(p), Want: fmt.Sprintf("a group with rank %d in it", p.env.Runtime.ID())}
	}
	return dtensor.SharedGroup(p.env, line)
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
		rank   = arg.Int(e.Runtime.ID())
		list   starlark.Value
		tp, dp collective.Degree
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "rank??", &rank, "ranks??", &list, "tp_degree??", &tp, "dp_degree??", &dp); err != nil {
		return nil, err
	}
	if int(rank) != e.Runtime.ID() {
		return nil, &op.ArgError{Func: b.Name(), Param: "rank", Got: fmt.Sprint(rank), Want: fmt.Sprint(e.Runtime.ID()), Rule: "the caller's rank"}
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
	rule := "the group has " + builtins.CountWord(n, "rank")
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
