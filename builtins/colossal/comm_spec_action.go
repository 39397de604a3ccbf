package colossal

import (
	"fmt"
	"slices"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/internal/units"
	"tpsh/mesh"
	"tpsh/runtime"
	"tpsh/runtime/op"
	"tpsh/runtime/shard"
	"tpsh/runtime/tensor"
)

// commPatterns are the kinds of steps, by the costs and actions of ColossalAI's
// CommSpec (colossalai/tensor/comm_spec.py, v0.2.8); but a pure split costs
// nothing, as its documentation says.
var commPatterns = []*commPattern{
	{
		name: "GATHER_FWD_SPLIT_BWD", gather: true,
		doc:  "an all-gather along gather_dim, whose gradient is this rank's block of the result's, with no sum.",
		cost: func(m *mesh.Mesh, size float64) (float64, float64) { return m.AllGatherCost(size, 0), 0 },
		act: func(c *CommSpec, g *runtime.Group, x *tensor.Tensor) (*tensor.Tensor, error) {
			return c.env.Runtime.RecordPair("all_gather", x, c.gatherAlong(g, c.gather[0]), c.splitAlong(g, c.gather[0]))
		},
	}, {
		name: "SPLIT_FWD_GATHER_BWD", shard: true,
		doc:  "this rank's block along shard_dim, whose gradient is an all-gather. A dim is cut as x.chunk(n, dim) cuts it.",
		cost: func(m *mesh.Mesh, size float64) (float64, float64) { return 0, m.AllGatherCost(size, 0) },
		act: func(c *CommSpec, g *runtime.Group, x *tensor.Tensor) (*tensor.Tensor, error) {
			return c.env.Runtime.RecordPair("split", x, c.splitAlong(g, c.shard[0]), c.gatherAlong(g, c.shard[0]))
		},
	}, {
		name: "ALL2ALL_FWD_ALL2ALL_BWD", gather: true, shard: true,
		doc: "an all-to-all that cuts shard_dim and joins gather_dim, whose gradient is one with the dims exchanged.",
		cost: func(m *mesh.Mesh, size float64) (float64, float64) {
			return m.AllToAllCost(size, 0), m.AllToAllCost(size, 0)
		},
		act: func(c *CommSpec, g *runtime.Group, x *tensor.Tensor) (*tensor.Tensor, error) {
			return c.env.Runtime.Run(g, runtime.Collective{Op: "all_to_all", Dim: c.shard[0], Concat: c.gather[0]}, x)
		},
	}, {
		name: "ALLREDUCE_FWD_IDENTITY_BWD",
		doc:  "a sum over the ranks, whose gradient is the result's, with no sum.",
		cost: func(m *mesh.Mesh, size float64) (float64, float64) { return m.AllReduceCost(size, 0), 0 },
		act: func(c *CommSpec, g *runtime.Group, x *tensor.Tensor) (*tensor.Tensor, error) {
			return c.env.Runtime.RecordPair("all_reduce", x, c.sum(g), c.copy)
		},
	}, {
		name: "IDENTITY_FWD_ALLREDUCE_BWD",
		doc:  "a copy, whose gradient is the sum of the result's over the ranks.",
		cost: func(m *mesh.Mesh, size float64) (float64, float64) { return 0, m.AllReduceCost(size, 0) },
		act: func(c *CommSpec, g *runtime.Group, x *tensor.Tensor) (*tensor.Tensor, error) {
			return c.env.Runtime.RecordPair("identity", x, c.copy, c.sum(g))
		},
	}, {
		name: "MIXGATHER_FWD_SPLIT_BWD", mixed: true,
		doc:  "an all-gather along all the dims that the sharding spec cuts at once, whose gradient is this rank's block.",
		cost: func(m *mesh.Mesh, size float64) (float64, float64) { return m.MixGatherCost(size), 0 },
	},
}

// gatherAlong is the action that joins the ranks' tensors along dim.
func (c *CommSpec) gatherAlong(g *runtime.Group, dim int) runtime.Action {
	return func(x *tensor.Tensor) (*tensor.Tensor, error) {
		return c.env.Runtime.Run(g, runtime.Collective{Op: "all_gather", Dim: dim}, x)
	}
}

// splitAlong is the action that keeps this rank's block along dim.
func (c *CommSpec) splitAlong(g *runtime.Group, dim int) runtime.Action {
	return func(x *tensor.Tensor) (*tensor.Tensor, error) {
		k := &builtins.OpChain{E: c.env, Fn: convertFn}
		blocks := k.All("chunk", []*tensor.Tensor{x}, g.Size(), op.Int1(g.Size()), op.Int1(dim))
		if k.Err != nil {
			return nil, k.Err
		}
		runtime.AskedPlace(c.env.Runtime, g, func(place int) string { return fmt.Sprint(blocks[place].Shape()) })
		y := k.Do("clone", []*tensor.Tensor{blocks[g.Place()]})
		return y, k.Err
	}
}

// sum is the action that adds up the ranks' tensors.
func (c *CommSpec) sum(g *runtime.Group) runtime.Action {
	return func(x *tensor.Tensor) (*tensor.Tensor, error) {
		return c.env.Runtime.Run(g, runtime.Collective{Op: "all_reduce", Reduce: "sum"}, x)
	}
}

// copy is the action that copies.
func (c *CommSpec) copy(x *tensor.Tensor) (*tensor.Tensor, error) {
	return c.env.Runtime.Do("clone", []*tensor.Tensor{x})
}

// mixGather gathers all that the sharding spec cuts, at once. What the ranks
// hold is a tensor placed as the spec says, and the whole of it what they get.
func (c *CommSpec) mixGather(x *tensor.Tensor) (*tensor.Tensor, error) {
	l, err := c.spec.layout(c.spec.order())
	if err != nil {
		return nil, err
	}
	me := c.env.Runtime.Self()
	c.env.Runtime.Part(c.spec.mesh.M, func(rank int) string { return fmt.Sprint(l.LocalShape(rank)) })
	if !slices.Equal(x.Shape(), l.LocalShape(me)) {
		return nil, &op.ArgError{Func: convertFn, Param: "x", Got: op.Describe(x), Want: "shape " + mesh.Tuple(l.LocalShape(me)), Rule: "what this rank holds of " + c.spec.Describe()}
	}
	engine := c.env.Runtime.Shard
	join := func(x *tensor.Tensor) (*tensor.Tensor, error) {
		placed, err := engine.FromLocal(x, l)
		if err != nil {
			return nil, err
		}
		y, err := engine.Full(convertFn, placed, nil)
		if err != nil || y.Buffer() != x.Buffer() {
			return y, err
		}
		return c.copy(y) // nothing had to move
	}
	own := func(x *tensor.Tensor) (*tensor.Tensor, error) {
		placed, err := engine.Block(x, l)
		if err != nil {
			return nil, err
		}
		return placed.Local(), nil
	}
	return c.env.Runtime.RecordPair("all_gather", x, join, own)
}

// convertFn is the name of the method that carries out a CommSpec.
const convertFn = "convert_spec_to_action"

// convertSpec carries out CommSpec.convert_spec_to_action.
func convertSpec(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var x builtins.OneTensor
	if err := arg.Unpack(b.Name(), args, kwargs, "x|tensor", &x); err != nil {
		return nil, err
	}
	y, err := b.Receiver().(*CommSpec).convert(b.Name(), x.T)
	if err != nil {
		return nil, err
	}
	return e.WrapOrNone(y), nil
}

// convert carries out c on x for the method fn: nil outside the mesh.
func (c *CommSpec) convert(fn string, x *tensor.Tensor) (*tensor.Tensor, error) {
	if !c.env.Runtime.Member(c.spec.mesh.M) {
		return nil, nil
	}
	if x.Placed() {
		return nil, &op.ArgError{Func: fn, Param: "x", Got: shard.Describe(x), Want: "a plain tensor", Rule: ".to_local() gives this rank's block"}
	}
	if n := len(c.spec.shape); (c.pattern.gather || c.pattern.shard) && x.Ndim() != n {
		return nil, &op.ArgError{Func: fn, Param: "x", Got: op.Describe(x), Want: "a tensor of " + units.Count(n, "dim"), Rule: "as the sharding spec has"}
	}
	if c.pattern.mixed {
		return c.mixGather(x)
	}
	m, dims := c.permuted()
	g, err := c.env.Runtime.LineGroup(m, dims...)
	if err != nil {
		return nil, err
	}
	return c.pattern.act(c, g, x)
}
