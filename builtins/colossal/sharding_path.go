package colossal

import (
	"slices"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/mesh"
	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
)

// A specPath is a way from one ShardingSpec to another in CommSpecs. Each of
// them moves mesh dims at the ends of the lists that cut dims of the tensor: it
// drops the last of a list, adds one, or takes the last ones to another list.
type specPath struct {
	spec  *ShardingSpec // where it begins
	at    [][]int       // the axes where it has come to
	goal  [][]int       // the axes where it ends
	steps []*CommSpec

	// detours says that an axis was gathered that cuts another dim in the end.
	detours bool
}

// pathTo returns a path from s to the spec with the given axes. What costs
// nothing comes first and what makes the tensor larger last, so that the others
// move less.
func (s *ShardingSpec) pathTo(axes [][]int) *specPath {
	p := &specPath{spec: s, at: slices.Clone(s.axes), goal: axes}
	for p.split() || p.move() || p.gatherAll() || p.gather() {
	}
	return p
}

// needed returns the axes that dim still wants at its end; nil if it wants none
// or has some that must go first.
func (p *specPath) needed(dim int) []int {
	if p.surplus(dim) > 0 {
		return nil
	}
	return p.goal[dim][len(p.at[dim]):]
}

// surplus returns how many axes must go from the end of dim.
func (p *specPath) surplus(dim int) int {
	have, want := p.at[dim], p.goal[dim]
	same := 0
	for same < min(len(have), len(want)) && have[same] == want[same] {
		same++
	}
	return len(have) - same
}

// cuts reports whether an axis is in one of the lists.
func cuts(lists [][]int, axis int) bool {
	return slices.ContainsFunc(lists, func(list []int) bool { return slices.Contains(list, axis) })
}

// split cuts a dim along the axis that it wants next, if that cuts no other.
func (p *specPath) split() bool {
	for dim := range p.at {
		if want := p.needed(dim); len(want) > 0 && !cuts(p.at, want[0]) {
			p.take("SPLIT_FWD_GATHER_BWD", -1, dim, want[:1])
			return true
		}
	}
	return false
}

// move takes the axes at the end of one dim to the end of another that wants
// them.
func (p *specPath) move() bool {
	for from := range p.at {
		for n := p.surplus(from); n > 0; n-- {
			axes := p.at[from][len(p.at[from])-n:]
			for to := range p.at {
				want := p.needed(to)
				fits := len(want) >= n && slices.Equal(want[:n], axes)
				if fits && (n == 1 || p.even(from, p.at[from]) && p.even(to, slices.Concat(p.at[to], axes))) {
					p.take("ALL2ALL_FWD_ALL2ALL_BWD", from, to, axes)
					return true
				}
			}
		}
	}
	return false
}

// even reports whether all devices hold as much of dim when axes cut it. They
// then cut it as one axis does.
func (p *specPath) even(dim int, axes []int) bool {
	parts := 1
	for _, a := range axes {
		parts *= p.spec.mesh.Mesh().Shape()[a]
	}
	return p.spec.shape[dim]%parts == 0
}

// gatherAll joins all dims at once, if none is cut in the end and more than one
// axis cuts them.
func (p *specPath) gatherAll() bool {
	n := 0
	for dim, axes := range p.at {
		if len(p.goal[dim]) > 0 {
			return false
		}
		n += len(axes)
	}
	if n < 2 {
		return false
	}
	c := &CommSpec{env: p.spec.env, pattern: findPattern("MIXGATHER_FWD_SPLIT_BWD"), spec: p.spec.with(slices.Clone(p.at)), mix: true}
	c.fillMixed()
	p.steps = append(p.steps, c)
	p.at = make([][]int, len(p.at))
	return true
}

// gather joins the blocks of a dim along its last axis: one that cuts nothing in
// the end, or if there is none, one that would have to be moved.
func (p *specPath) gather() bool {
	dim := -1
	for d := range p.at {
		if p.surplus(d) == 0 {
			continue
		}
		if !cuts(p.goal, p.at[d][len(p.at[d])-1]) {
			dim = d
			break
		}
		if dim < 0 {
			dim = d
		}
	}
	if dim < 0 {
		return false
	}
	last := p.at[dim][len(p.at[dim])-1:]
	p.detours = p.detours || cuts(p.goal, last[0])
	p.take("GATHER_FWD_SPLIT_BWD", dim, -1, last)
	return true
}

// take adds the step that takes axes from the end of the dim from to the end of
// the dim to; -1 stands for none.
func (p *specPath) take(pattern string, from, to int, axes []int) {
	axes = slices.Clone(axes)
	c := &CommSpec{env: p.spec.env, pattern: findPattern(pattern), spec: p.spec.with(slices.Clone(p.at)), axes: axes, axis: axes, listed: len(axes) > 1}
	if from >= 0 {
		c.gather = []int{from}
		p.at[from] = slices.Clone(p.at[from][:len(p.at[from])-len(axes)])
	}
	if to >= 0 {
		c.shard = []int{to}
		p.at[to] = slices.Concat(p.at[to], axes)
	}
	c.fillDims()
	p.steps = append(p.steps, c)
}

// pathsTo returns ways from s to a spec of the same mesh and shape: first those
// that the planner of redistributions considers for elements of itemSize bytes,
// cheapest first, as far as they can be said in CommSpecs; then the one of
// pathTo; then those that the planner refuses since they move too much.
func (s *ShardingSpec) pathsTo(target *ShardingSpec, itemSize int) ([]*specPath, error) {
	var good, refused []*specPath
	order, ok := axisOrder(s.mesh.Mesh().NDim(), s.axes, target.axes)
	if ok {
		src, err := s.layout(order)
		if err != nil {
			return nil, err
		}
		dst, err := target.layout(order)
		if err != nil {
			return nil, err
		}
		plans, err := mesh.Explain(src, dst, itemSize)
		if err != nil {
			return nil, err
		}
		for _, plan := range plans {
			p := s.follow(plan.Plan, order)
			if p != nil && plan.Refused == "" {
				good = append(good, p)
			} else if p != nil {
				refused = append(refused, p)
			}
		}
	}
	all := slices.Concat(good, []*specPath{s.pathTo(target.axes)}, refused)
	var distinct []*specPath
	for _, p := range all {
		if !slices.ContainsFunc(distinct, p.equals) {
			distinct = append(distinct, p)
		}
	}
	return distinct, nil
}

// equals reports whether p and q have the same steps.
func (p *specPath) equals(q *specPath) bool {
	return slices.EqualFunc(p.steps, q.steps, func(a, b *CommSpec) bool { return a.String() == b.String() })
}

// follow returns the path that does what plan does, a plan on the mesh with its
// dims in the given order; nil if CommSpecs cannot say a step of it.
func (s *ShardingSpec) follow(plan *mesh.Plan, order []int) *specPath {
	all := &specPath{spec: s, at: s.axes}
	for _, step := range plan.Steps {
		axes := make([][]int, len(s.shape))
		for i, placement := range step.Dst.Placements() {
			if dim, ok := placement.Shard(); ok {
				axes[dim] = append(axes[dim], order[i])
			}
		}
		p := s.with(all.at).pathTo(axes)
		if step.Op == mesh.Direct || p.detours {
			return nil
		}
		all.steps = append(all.steps, p.steps...)
		all.at = p.at
	}
	return all
}

// unpackTarget takes the arguments of path_to and paths_to and returns the
// paths.
func unpackTarget(b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) ([]*specPath, error) {
	var target shardingSpecArg
	dt := arg.DType{D: dtype.Float32}
	if err := arg.Unpack(b.Name(), args, kwargs, "target", &target, "dtype?", &dt); err != nil {
		return nil, err
	}
	s := b.Receiver().(*ShardingSpec)
	if !slices.Equal(s.shape, target.shape) || !s.mesh.Equals(target.mesh) {
		return nil, &op.ArgError{Func: b.Name(), Param: "target", Got: target.Describe(), Want: "one of the shape and the mesh of " + s.Describe()}
	}
	return s.pathsTo(s.with(target.axes), dt.D.Size()) // on one mesh, whatever the names of its dims
}

// commSpecs returns the steps of a path as scripts have them.
func (p *specPath) commSpecs() *starlark.List {
	list := make([]starlark.Value, len(p.steps))
	for i, c := range p.steps {
		list[i] = c
	}
	return starlark.NewList(list)
}

func init() {
	const example = shardingSpecExample + ">>> whole = ShardingSpec(mesh, (8, 4), {})\n"
	builtins.Register(&builtins.Row{
		Name: "ShardingSpec.path_to",
		Doc: "path_to(target, dtype=float32) returns the list of CommSpecs that take a tensor from this spec to another of its mesh and shape, one after another.\n" +
			"It is the first of paths_to. Equal specs have an empty path.\n" +
			example + ">>> [c.comm_pattern for c in whole.path_to(ShardingSpec(mesh, (8, 4), {1: [0]}))]\n[CollectiveCommPattern.SPLIT_FWD_GATHER_BWD]",
		Fn: func(_ *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
			paths, err := unpackTarget(b, args, kwargs)
			if err != nil {
				return nil, err
			}
			return paths[0].commSpecs(), nil
		},
	}, &builtins.Row{
		Name: "ShardingSpec.paths_to",
		Doc: "paths_to(target, dtype=float32) returns a list of the ways to take a tensor from this spec to another of its mesh and shape, each a list of CommSpecs.\n" +
			"They are those that plan_redistribute considers for elements of the dtype, cheapest first,\n" +
			"as far as CommSpecs can say them; then one that moves mesh dims from list to list and\n" +
			"gathers where it must; then to gather everything, if that moves more than is lacking.\n" +
			example + ">>> len(spec.paths_to(spec)[0])\n0",
		Fn: func(_ *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
			paths, err := unpackTarget(b, args, kwargs)
			if err != nil {
				return nil, err
			}
			list := make([]starlark.Value, len(paths))
			for i, p := range paths {
				list[i] = p.commSpecs()
			}
			return starlark.NewList(list), nil
		},
	})
}
