package colossal

import (
	"errors"
	"fmt"
	"slices"

	"tpsh/builtins"
	"tpsh/mesh"
	"tpsh/runtime/grad"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// How ColoTensors are moved: inside a tensor-parallel group by the planner, and
// between groups, or between a group in a line and the same seen as a grid, by
// way of the whole, as the three rules of redistribute have it.

// replicated returns t on its own mesh with all of it on every rank.
func replicated(e *builtins.Env, t *tensor.Tensor) (*tensor.Tensor, error) {
	return e.Runtime.Shard.Move(t, e.Runtime.Shard.Replicated(t.Layout().Mesh(), t.Shape()))
}

// settled returns t, a result of operators on ColoTensors, as a spec can say it
// lies: a sum of summands is added up at once.
func settled(e *builtins.Env, t *tensor.Tensor) (*tensor.Tensor, error) {
	if t == nil || !t.Placed() {
		return t, nil
	}
	if _, _, ok := layoutDims(t.Layout()); ok {
		return t, nil
	}
	return replicated(e, t)
}

// Grad returns g, the gradient of a ColoTensor seen through v, as one. It is
// settled.
func (v *specView) Grad(e *builtins.Env, g *tensor.Tensor) (*tensor.Tensor, error) {
	if isColo(g) || !g.Placed() {
		return g, nil
	}
	g, err := settled(e, g)
	if err != nil || isColo(g) {
		return g, err
	}
	g.Lens = v.of()
	return g, nil
}

// recut returns t cut as spec says by the groups of pg, recorded, for the
// function fn. It may share the storage of t, and is no ColoTensor yet.
func recut(e *builtins.Env, fn string, t *tensor.Tensor, pg *ProcessGroup, spec *DistSpec) (*tensor.Tensor, error) {
	l, err := placeSpec(e, fn, "dist_spec", pg, spec, t.Shape())
	if err != nil {
		return nil, err
	}
	if t.Layout().Mesh() == l.Mesh() {
		return e.Runtime.Shard.Move(t, l)
	}
	from := viewOf(t).pg
	y, err := replicated(e, t)
	if err != nil {
		return nil, err
	}
	if slices.Equal(from.m.Ranks(), pg.m.Ranks()) {
		if err := checkSwitch(e, fn, y, from, pg); err != nil {
			return nil, err
		}
		y = e.Runtime.Shard.Reinterpret(y, e.Runtime.Shard.Replicated(l.Mesh(), t.Shape()))
	}
	return e.Runtime.Shard.Move(y, l)
}

// checkSwitch returns an error if the ranks of the caller's tensor-parallel group
// of pg hold different data of t, which is whole on each rank of a group of from.
// Inside such a group they hold the same.
func checkSwitch(e *builtins.Env, fn string, t *tensor.Tensor, from, pg *ProcessGroup) error {
	line, old := pg.line(tpDim), from.line(tpDim)
	inside := true
	for _, r := range line {
		inside = inside && slices.Contains(old, r)
	}
	if inside {
		return nil
	}
	err := e.Runtime.Shard.CheckLine(fn, t, line)
	var bad *op.ArgError
	if errors.As(err, &bad) {
		bad.Param = "pg"
		bad.Want = fmt.Sprintf("the same data on ranks %v", builtins.IntList(line))
		bad.Rule = "they become one tensor-parallel group, and came from several of " + from.Describe()
	}
	return err
}

// redistributed carries out ColoTensor.redistribute. The result shares no storage
// with t, and has no compute spec.
func redistributed(e *builtins.Env, fn string, t *tensor.Tensor, pg *ProcessGroup, spec *DistSpec) (*tensor.Tensor, error) {
	if pg == nil {
		pg = viewOf(t).pg
	}
	y, err := recut(e, fn, t, pg, spec)
	if err != nil {
		return nil, err
	}
	if y == t || y.Buffer() != nil && y.Buffer() == t.Buffer() {
		if y, err = e.Runtime.Do("clone", []*tensor.Tensor{y}); err != nil {
			return nil, err
		}
	}
	y.Lens = &specView{pg: pg}
	return y, nil
}

// setDistSpec carries out ColoTensor.set_dist_spec: in place, and unrecorded.
func setDistSpec(e *builtins.Env, fn string, t *tensor.Tensor, spec *DistSpec) error {
	if !grad.IsLeaf(t) {
		return &op.ArgError{Func: fn, Got: "the result of a recorded operation, " + builtins.DescribeTensor(e, t), Want: "a leaf", Rule: ".redistribute(dist_spec) returns a new tensor, and .detach() a leaf"}
	}
	if err := builtins.CheckFrozen(fn, t); err != nil {
		return err
	}
	v := viewOf(t)
	if l, err := placeSpec(e, fn, "dist_spec", v.pg, spec, t.Shape()); err != nil || l == t.Layout() {
		return err
	}
	defer e.Runtime.Tape.SetEnabled(false)()
	y, err := redistributed(e, fn, t, v.pg, spec)
	if err != nil {
		return err
	}
	if g := gradOfLeaf(t); g != nil {
		if g, err = v.Grad(e, g); err == nil {
			g, err = redistributed(e, fn, g, v.pg, spec)
		}
		if err != nil {
			return err
		}
		t.Auto.Grad, t.Auto.Sole = g, false
	}
	t.Relay(y.Layout(), y.Local())
	if t.Base != nil { // it is no view any more
		t.Base, t.Changes = nil, 0
	}
	t.Copied = false
	return nil
}

// gradOfLeaf returns the gradient that t has accumulated, or nil.
func gradOfLeaf(t *tensor.Tensor) *tensor.Tensor {
	if t.Auto == nil {
		return nil
	}
	return t.Auto.Grad
}

// setProcessGroup carries out ColoTensor.set_process_group: nothing is moved.
func setProcessGroup(e *builtins.Env, fn string, t *tensor.Tensor, pg *ProcessGroup) error {
	v := viewOf(t)
	if v.pg.m == pg.m {
		return nil
	}
	if err := builtins.CheckFrozen(fn, t); err != nil {
		return err
	}
	bad := func(param, got, want, rule string) error {
		return &op.ArgError{Func: fn, Param: param, Got: got, Want: want, Rule: rule}
	}
	switch {
	case v.pg.degree(tpDim) != 1 && v.pg.degree(dpDim) != 1:
		return bad("", "a tensor on "+v.pg.Describe(), "one whose group is all tensor parallel or all data parallel", ".redistribute(dist_spec, pg) changes the group of any")
	case specOf(e, t).isShard():
		return bad("", builtins.DescribeTensor(e, t), "a tensor that is not cut", "call set_dist_spec(ReplicaSpec()) first")
	case !slices.Equal(v.pg.m.Ranks(), pg.m.Ranks()):
		return bad("pg", pg.Describe(), fmt.Sprintf("a group of the ranks %v", builtins.IntList(v.pg.m.Ranks())), "nothing is moved: .redistribute(dist_spec, pg) does that")
	case !grad.IsLeaf(t):
		return bad("", "the result of a recorded operation, "+builtins.DescribeTensor(e, t), "a leaf", ".redistribute(dist_spec, pg) returns a new tensor")
	}
	if err := checkSwitch(e, fn, t, v.pg, pg); err != nil {
		return err
	}
	l := e.Runtime.Shard.Replicated(pg.m, t.Shape())
	if g := gradOfLeaf(t); g != nil {
		t.Auto.Grad, t.Auto.Sole = tensor.NewPlaced(l, g.Local()), false
	}
	t.Relay(l, t.Local())
	next := *v
	next.pg, next.free = pg, false
	t.Lens = &next
	return nil
}

// meet brings the inputs of c to the group of c.in[leader], a ColoTensor, and to
// one mesh.
func meet(e *builtins.Env, c *opCall, leader int) error {
	lead := c.in[leader]
	pg := viewOf(lead).pg
	for i, x := range c.in {
		v := viewOf(x)
		if v == nil || v.pg.m == pg.m {
			continue
		}
		y, err := joinGroup(e, c, i, pg)
		if err != nil {
			return err
		}
		c.in[i] = y
	}
	m := c.meshOf(lead)
	for i, x := range c.in {
		if !isColo(x) || x.Layout().Mesh() == m {
			continue
		}
		y, err := replicated(e, x)
		if err != nil {
			return err
		}
		c.in[i] = e.Runtime.Shard.Reinterpret(y, e.Runtime.Shard.Replicated(m, x.Shape()))
		c.in[i].Lens = x.Lens
	}
	c.view = viewOf(lead)
	return nil
}

// joinGroup returns c.in[i], a tensor of another group, whole in the groups of
// pg. One without a group of its own, as plain tensors are, joins any; others
// only if the operator converts them.
func joinGroup(e *builtins.Env, c *opCall, i int, pg *ProcessGroup) (*tensor.Tensor, error) {
	x := c.in[i]
	v := viewOf(x)
	fn := c.def.Name
	if c.def.Changes(i) || !v.free && !c.converts {
		call := &op.Call{Def: c.def}
		return nil, &op.ArgError{Func: fn, Param: call.InName(i), Got: builtins.DescribeTensor(e, x), Want: "a tensor on " + pg.Describe(), Rule: "operands are of one group: .redistribute(dist_spec, pg) moves between two"}
	}
	var y *tensor.Tensor
	var err error
	if v.free {
		if y, err = e.Runtime.Shard.ToLocal(x, nil); err == nil {
			y, err = e.Runtime.Shard.FromLocal(y, e.Runtime.Shard.Replicated(pg.m, x.Shape()))
		}
	} else {
		y, err = recut(e, fn, x, pg, replicaSpec(e))
	}
	if err != nil {
		return nil, err
	}
	y.Lens = &specView{pg: pg, compute: v.compute, model: v.model}
	return y, nil
}

// meshOf returns the mesh on which the operator runs: of the first tensor that
// is cut, lead before others, or else of lead.
func (c *opCall) meshOf(lead *tensor.Tensor) *mesh.Mesh {
	m := lead.Layout().Mesh()
	if c.def.InPlace || len(specOf(c.env, lead).dims) > 0 {
		return m
	}
	for _, x := range c.in {
		if isColo(x) && viewOf(x).pg.m == viewOf(lead).pg.m && len(specOf(c.env, x).dims) > 0 {
			return x.Layout().Mesh()
		}
	}
	return m
}
