package collective

import (
	"fmt"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/runtime"
	"tpsh/runtime/op"
)

// A Grouped value stands for a group of ranks wherever a parameter group=
// takes one.
type Grouped interface {
	starlark.Value
	CommGroup() (*runtime.Group, error)
}

// A Group is a group of ranks as new_group makes it.
type Group struct {
	env *builtins.Env
	g   *runtime.Group
}

var (
	_ Grouped             = (*Group)(nil)
	_ starlark.HasAttrs   = (*Group)(nil)
	_ starlark.Comparable = (*Group)(nil)
	_ arg.Described       = (*Group)(nil)
)

func (g *Group) CommGroup() (*runtime.Group, error)       { return g.g, nil }
func (g *Group) String() string                           { return "Group(" + builtins.IntList(g.g.Ranks()).String() + ")" }
func (g *Group) Describe() string                         { return g.String() }
func (g *Group) Type() string                             { return "Group" }
func (g *Group) Freeze()                                  {} // it cannot be changed
func (g *Group) Truth() starlark.Bool                     { return true }
func (g *Group) Hash() (uint32, error)                    { return starlark.String(g.g.String()).Hash() }
func (g *Group) Attr(name string) (starlark.Value, error) { return g.env.Attr("Group", g, name) }
func (g *Group) AttrNames() []string                      { return builtins.AttrNames("Group") }

// CompareSameType implements starlark.Comparable: values are equal that stand
// for one group.
func (g *Group) CompareSameType(cmp syntax.Token, v starlark.Value, _ int) (bool, error) {
	return builtins.Equality("Group", cmp, g.g == v.(*Group).g)
}

// GroupOf returns the group that v, the argument group of fn, stands for: the
// world if v is nil. The rank must be in it.
func GroupOf(e *builtins.Env, fn string, v starlark.Value) (*runtime.Group, error) {
	if v == nil {
		return e.Runtime.World(), nil
	}
	s, ok := v.(Grouped)
	if !ok {
		return nil, &op.ArgError{Func: fn, Param: "group", Got: arg.Show(v), Want: "a Group, a ProcessGroup, a DeviceMesh of one dim, a ParallelMode or None"}
	}
	g, err := s.CommGroup()
	if err != nil {
		return nil, arg.In(fn, "group", err)
	}
	if !g.Holds() {
		return nil, &op.ArgError{Func: fn, Param: "group", Got: arg.Show(v), Want: fmt.Sprintf("a group with rank %d in it", e.Runtime.Self())}
	}
	return g, nil
}

// groupWith returns the group that v, an argument of fn, stands for, as GroupOf
// does, and checks that rank, the argument called name, is a rank in it.
func groupWith(e *builtins.Env, fn string, v starlark.Value, name string, rank int) (*runtime.Group, error) {
	g, err := GroupOf(e, fn, v)
	if err != nil {
		return nil, err
	}
	return g, member(fn, name, rank, g)
}

// member checks that rank, the argument called name of fn, is a rank in g.
func member(fn, name string, rank int, g *runtime.Group) error {
	if rank < 0 || rank >= g.Size() {
		return &op.ArgError{Func: fn, Param: name, Got: fmt.Sprint(rank), Want: fmt.Sprintf("0..%d", g.Size()-1), Rule: "a rank in the group"}
	}
	return nil
}

func init() {
	builtins.Register(&builtins.Row{
		Name: "new_group",
		Doc: "new_group(ranks=None) returns a Group of the given ranks, in that order, or of all: their ranks in the group are 0, 1, ...\n" +
			"Each call makes a group of its own, which the calls of its members have in common: the n-th\n" +
			"one of the same ranks is the same group on all of them. Making one does not communicate.\n" +
			">>> all_reduce(tensor([1.0]), group=new_group([rank()])).tolist()\n[1.0]",
		Fn: newGroup,
	}, &builtins.Row{
		Name: "Group.rank",
		Doc: "rank() returns the rank of the caller in the group, or None outside it.\n" +
			">>> new_group([rank()]).rank()\n0",
		Fn: groupMethod(func(g *Group) starlark.Value {
			if !g.g.Holds() {
				return starlark.None
			}
			return builtins.Place(g.env, g.g)
		}),
	}, &builtins.Row{
		Name: "Group.size",
		Doc: "size() returns the number of members.\n" +
			">>> new_group([0]).size()\n1",
		Fn: groupMethod(func(g *Group) starlark.Value { return starlark.MakeInt(g.g.Size()) }),
	}, &builtins.Row{
		Name: "Group.ranks",
		Doc: "ranks() returns the list of the members' global ranks, in the order of the group.\n" +
			">>> new_group([0]).ranks()\n[0]",
		Fn: groupMethod(func(g *Group) starlark.Value { return builtins.IntList(g.env.Runtime.RanksOf(g.g)) }),
	}, &builtins.Row{
		Name: "Group.global_rank",
		Doc: "global_rank(i) returns the global rank of member i.\n" +
			">>> new_group([rank()]).global_rank(0) == rank()\nTrue",
		Fn: globalRank,
	})
}

// groupMethod returns a method of groups that takes no arguments.
func groupMethod(get func(g *Group) starlark.Value) builtins.Function {
	return func(_ *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		if err := arg.Unpack(b.Name(), args, kwargs); err != nil {
			return nil, err
		}
		return get(b.Receiver().(*Group)), nil
	}
}

func globalRank(_ *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var i arg.Int
	if err := arg.Unpack(b.Name(), args, kwargs, "i", &i); err != nil {
		return nil, err
	}
	g := b.Receiver().(*Group).g
	if err := member(b.Name(), "i", int(i), g); err != nil {
		return nil, err
	}
	return starlark.MakeInt(b.Receiver().(*Group).env.Runtime.RanksOf(g)[i]), nil
}

func newGroup(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var list starlark.Value
	if err := arg.Unpack(b.Name(), args, kwargs, "ranks?", &list); err != nil {
		return nil, err
	}
	if list == nil || list == starlark.None {
		list = builtins.IntList(e.Runtime.RanksOf(e.Runtime.World()))
	}
	ranks, err := RanksArg(e, b.Name(), list)
	if err != nil {
		return nil, err
	}
	g, err := e.Runtime.NewGroup(ranks)
	if err != nil {
		return nil, err
	}
	return &Group{e, g}, nil
}

// RanksArg returns v, the argument ranks of fn: a list, tuple or range of
// different ranks.
func RanksArg(e *builtins.Env, fn string, v starlark.Value) ([]int, error) {
	bad := func(got starlark.Value, at, want, rule string) error {
		return &op.ArgError{Func: fn, Param: "ranks", Got: arg.Show(got) + at, Want: want, Rule: rule}
	}
	seq, ok := v.(starlark.Sequence)
	if !ok {
		return nil, bad(v, "", "a list of ranks", "")
	}
	var ranks []int
	at := func() string { return fmt.Sprintf(" at index %d", len(ranks)) }
	there := make([]bool, e.Runtime.Size())
	for item := range starlark.Elements(seq) {
		r, err := arg.ToInt(item)
		if err != nil || r < 0 || r >= e.Runtime.Size() {
			return nil, bad(item, at(), fmt.Sprintf("0..%d", e.Runtime.Size()-1), builtins.ThereAre(e.Runtime.Size(), "rank"))
		}
		if there[r] {
			return nil, bad(item, at(), "each rank once", "")
		}
		there[r] = true
		ranks = append(ranks, r)
	}
	if len(ranks) == 0 {
		return nil, bad(v, "", "at least one rank", "")
	}
	return ranks, nil
}

// isPlace reports whether the rank's place in g is place.
func isPlace(e *builtins.Env, g *runtime.Group, place int) bool {
	return runtime.AskedPlace(e.Runtime, g, func(p int) bool { return p == place })
}

// WrapGroup returns g as scripts have it.
func WrapGroup(e *builtins.Env, g *runtime.Group) *Group { return &Group{e, g} }
