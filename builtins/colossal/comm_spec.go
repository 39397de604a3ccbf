package colossal

import (
	"fmt"
	"slices"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/mesh"
	"tpsh/runtime"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// A CommSpec is one step that takes a tensor from a ShardingSpec to another, as
// ColossalAI has it, with its gradient.
type CommSpec struct {
	env         *builtins.Env
	pattern     *commPattern
	spec        *ShardingSpec // before the step
	gather      []int         // the dims that are joined, from the front; nil where none is
	shard       []int         // the dims that are cut
	axes        []int         // the mesh dims along which ranks communicate
	axis        []int         // logical_process_axis as it was given, or nil
	listed      bool          // it was given as a list
	forwardOnly bool
	mix         bool
}

var (
	_ starlark.HasAttrs   = (*CommSpec)(nil)
	_ starlark.Comparable = (*CommSpec)(nil)
	_ arg.Described       = (*CommSpec)(nil)
)

// String returns c as a script writes it, but for the ShardingSpec, of which
// the sequence stands there.
func (c *CommSpec) String() string {
	text := fmt.Sprintf("CommSpec(CollectiveCommPattern.%s, %v", c.pattern.name, c.spec)
	for _, p := range []struct {
		name string
		dims []int
	}{{"gather_dim", c.gather}, {"shard_dim", c.shard}} {
		if p.dims != nil {
			text += fmt.Sprintf(", %s=%v", p.name, c.dimsValue(p.dims))
		}
	}
	text += fmt.Sprintf(", logical_process_axis=%v", c.axisValue())
	if c.forwardOnly {
		text += ", forward_only=True"
	}
	if c.mix {
		text += ", mix_gather=True"
	}
	return text + ")"
}

func (c *CommSpec) Describe() string      { return "a CommSpec of " + c.pattern.name }
func (c *CommSpec) Type() string          { return "CommSpec" }
func (c *CommSpec) Freeze()               {} // it cannot be changed
func (c *CommSpec) Truth() starlark.Bool  { return true }
func (c *CommSpec) Hash() (uint32, error) { return starlark.String(c.String()).Hash() }
func (c *CommSpec) AttrNames() []string   { return builtins.AttrNames("CommSpec") }
func (c *CommSpec) Attr(name string) (starlark.Value, error) {
	return c.env.Attr("CommSpec", c, name)
}

// CompareSameType implements starlark.Comparable. CommSpecs are equal if their
// attributes are.
func (c *CommSpec) CompareSameType(cmp syntax.Token, v starlark.Value, _ int) (bool, error) {
	o := v.(*CommSpec)
	return builtins.Equality("CommSpec", cmp, c.spec.equals(o.spec) && c.String() == o.String())
}

// dimsValue returns dims as scripts have them: a list where the step is a mixed
// gather, else the one that there is, or None.
func (c *CommSpec) dimsValue(dims []int) starlark.Value {
	switch {
	case dims == nil:
		return starlark.None
	case c.pattern.mixed:
		return builtins.IntList(dims)
	}
	return starlark.MakeInt(dims[0])
}

// axisValue returns logical_process_axis as scripts have it.
func (c *CommSpec) axisValue() starlark.Value {
	switch {
	case c.listed:
		return builtins.IntList(c.axis)
	case c.axis == nil:
		return starlark.None
	}
	return starlark.MakeInt(c.axis[0])
}

// A commPattern is a kind of step.
type commPattern struct {
	name, doc     string
	gather, shard bool // joins a dim, cuts a dim
	mixed         bool // takes several dims
	// cost returns what the step and its gradient cost, on the mesh of the
	// ranks that communicate, which has one dim unless the pattern is mixed.
	cost func(m *mesh.Mesh, size float64) (forward, backward float64)
	// act carries out the step among the ranks of g, of which the caller is
	// one, and records its gradient; nil for a mixed one.
	act func(c *CommSpec, g *runtime.Group, x *tensor.Tensor) (*tensor.Tensor, error)
}

// commPatternArg is an argument that is a member of CollectiveCommPattern.
type commPatternArg struct{ *commPattern }

// Unpack implements starlark.Unpacker.
func (p *commPatternArg) Unpack(v starlark.Value) error {
	m, err := builtins.ToEnum("CollectiveCommPattern", v)
	if err != nil {
		return err
	}
	p.commPattern = findPattern(m.Name)
	return nil
}

// findPattern returns the pattern called name.
func findPattern(name string) *commPattern {
	return commPatterns[slices.IndexFunc(commPatterns, func(p *commPattern) bool { return p.name == name })]
}

func makeCommSpec(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		pattern             commPatternArg
		spec                shardingSpecArg
		gather, shard, axis starlark.Value
		forwardOnly, mix    arg.Bool
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "comm_pattern", &pattern, "sharding_spec", &spec, "gather_dim??", &gather, "shard_dim??", &shard,
		"logical_process_axis??", &axis, "forward_only?", &forwardOnly, "mix_gather?", &mix); err != nil {
		return nil, err
	}
	c := &CommSpec{env: e, pattern: pattern.commPattern, spec: spec.ShardingSpec, forwardOnly: bool(forwardOnly), mix: bool(mix)}
	if c.mix && !c.pattern.mixed {
		return nil, &op.ArgError{Func: b.Name(), Param: "mix_gather", Got: "True with " + c.pattern.name, Want: "MIXGATHER_FWD_SPLIT_BWD"}
	}
	var err error
	if c.gather, err = c.dims(b.Name(), "gather_dim", gather); err != nil {
		return nil, err
	}
	if c.shard, err = c.dims(b.Name(), "shard_dim", shard); err != nil {
		return nil, err
	}
	if err := c.setAxes(b.Name(), axis); err != nil {
		return nil, err
	}
	return c, c.complete(b.Name())
}

// permuted returns the mesh with the axes in front, in their order, and those dims of it.
func (c *CommSpec) permuted() (m *mesh.Mesh, dims []int) {
	d := c.spec.mesh.Mesh()
	order := slices.Clone(c.axes)
	for a := range d.NDim() {
		if !slices.Contains(order, a) {
			order = append(order, a)
		}
	}
	dims = make([]int, len(c.axes))
	for i := range dims {
		dims[i] = i
	}
	p := d.Permute(order...)
	if slices.Equal(p.Ranks(), d.Ranks()) && slices.Equal(order[:len(dims)], dims) {
		return d, dims
	}
	return c.env.Runtime.SameRanks(d, p), dims
}

// submesh returns the mesh of the ranks that communicate with the caller, or if
// it is not in the mesh, with the first one. Its dims are in the order of the
// axes, of which there is at least one.
func (c *CommSpec) submesh() *mesh.Mesh {
	m, dims := c.permuted()
	return c.env.Runtime.SubMesh(m, dims...)
}

// cost returns what c and its gradient cost. The size counts elements of what a
// device holds.
func (c *CommSpec) cost() (forward, backward float64) {
	size := shape.Shape(c.spec.deviceShape()).Numel()
	if len(c.axes) > 0 { // else it is a mixed gather of what is whole
		m := c.submesh()
		if !c.pattern.mixed {
			m = m.Flatten()
		}
		forward, backward = c.pattern.cost(m, float64(size))
	}
	if c.forwardOnly {
		backward = 0
	}
	return forward, backward
}

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
