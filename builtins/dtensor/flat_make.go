package dtensor

import (
	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/mesh"
	"tpsh/runtime"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// newFlatTensor carries out the constructor of flat tensors, or with param that of
// flat parameters, whose data may be None.
func newFlatTensor(param bool) builtins.Function {
	return func(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		var data starlark.Value = starlark.None
		requires, name := arg.Bool(param), "data"
		if param {
			name = "data?"
		}
		if err := arg.Unpack(b.Name(), args, kwargs, name, &data, "requires_grad?", &requires); err != nil {
			return nil, err
		}
		v := &flatView{param: param}
		if param && data == starlark.None {
			return newFlat(e, b.Name(), v, nil, bool(requires))
		}
		t, err := e.PlainArg(b.Name(), "data", data)
		if err != nil {
			return nil, err
		}
		if from := flatOf(data.(*builtins.Tensor)); from != nil {
			t = from.local
			v.spec, v.pg, v.group = from.spec, from.pg, from.group
		}
		if t != nil && t.Ndim() != 1 {
			return nil, &op.ArgError{Func: b.Name(), Param: "data", Got: op.Describe(t), Want: "a tensor of one dim", Rule: b.Name() + ".shard(t) cuts one of any shape"}
		}
		return newFlat(e, b.Name(), v, t, bool(requires))
	}
}

// A flatSharding is the arguments of shard.
type flatSharding struct {
	fn          string
	data        starlark.Value
	spec        arg.Opt[flatSpecArg, *flatSpecArg]
	pg          starlark.Value
	synchronize arg.Bool
	requires    arg.Opt[arg.Bool, *arg.Bool]
}

// flatShard carries out shard of flat tensors, or of flat parameters.
func flatShard(param bool) builtins.Function {
	return func(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		s := flatSharding{fn: b.Name(), synchronize: true}
		if err := arg.Unpack(s.fn, args, kwargs, "tensor", &s.data, "sharding_spec?", &s.spec, "process_group?", &s.pg,
			"synchronize?", &s.synchronize, "device?", builtins.Device{}, "requires_grad?", &s.requires); err != nil {
			return nil, err
		}
		return shardFlat(e, &s, param)
	}
}

// shardFlat returns this rank's part of the tensor that s has.
func shardFlat(e *builtins.Env, s *flatSharding, param bool) (starlark.Value, error) {
	t, err := e.PlainArg(s.fn, "tensor", s.data)
	if err != nil {
		return nil, err
	}
	g, err := flatGroup(e, s.fn, s.pg)
	if err != nil {
		return nil, err
	}
	spec := s.spec.V.FlatShardingSpec
	if !s.spec.Set {
		spec, err = flatSpec(e, s.fn, t.Shape(), mesh.EvenRanges(t.Numel(), g.Size()))
	} else if err = mustHaveShape(s.fn, "tensor", t, spec.f.Shape(), "the shape of sharding_spec"); err == nil {
		err = spec.fits(s.fn, "sharding_spec", g)
	}
	if err != nil {
		return nil, err
	}
	requires := t.RequiresGrad()
	if s.requires.Set {
		requires = bool(s.requires.V)
	}
	defer e.Runtime.Tape.SetEnabled(false)()
	if s.synchronize {
		if t, err = flatFromFirst(e, g, t); err != nil {
			return nil, err
		}
	}
	v := &flatView{param: param, spec: spec, pg: s.pg, group: g}
	part, err := v.part(e, t.Detach(), true)
	if err != nil {
		return nil, err
	}
	return newFlat(e, s.fn, v, part, requires)
}

// flatFromFirst returns what the first member of g has in t, and stores it in t
// where that may be written.
func flatFromFirst(e *builtins.Env, g *runtime.Group, t *tensor.Tensor) (*tensor.Tensor, error) {
	first, err := e.Runtime.Run(g, runtime.Collective{Op: "broadcast"}, t.Detach())
	if err != nil || g.Rank() == 0 || !t.Contiguous() || t.Buffer().Frozen() {
		return first, err
	}
	_, err = e.Runtime.Do("copy_", []*tensor.Tensor{t, first})
	return first, err
}

// flatShardDoc documents shard of the type called name.
func flatShardDoc(name string) string {
	return name + ".shard(tensor, sharding_spec=None, process_group=None, synchronize=True, device=None, requires_grad=None) returns what this rank stores of a tensor, as a " + name + ".\n" +
		"sharding_spec says which elements; None is blocks of ceil(numel / ranks) elements in row-major order, the last ones\n" +
		"shorter or empty. Every rank of the group, None for all, calls it with a tensor of one shape and dtype: the first one's\n" +
		"counts, which the others are sent and which is stored in theirs; with synchronize=False each takes its part of its\n" +
		"own, and nothing is sent. requires_grad None is as the tensor has it.\n" +
		">>> " + name + ".shard(arange(6.0).reshape(2, 3)).sharded_data.tolist()\n[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]"
}

const (
	flatTensorDoc = "ShardedFlatTensor(data, requires_grad=False) returns a tensor of which each rank of a group stores some ranges of the elements in row-major order, one after another.\n" +
		"data is this rank's part, of one dim, whose storage it shares; or another flat tensor, whose spec and group it takes, too.\n" +
		"Until mark_as_sharded says which elements these are, it is as good as data. Operators, .shape and .dtype see this\n" +
		"rank's part, or between unshard_() and reshard_() the whole, and give plain tensors; empty_like, zeros_like and\n" +
		"ones_like give flat ones. The gradient has the shape of what was computed with, and keeps it.\n" +
		">>> t = ShardedFlatTensor.shard(arange(6.0).reshape(2, 3))\n>>> t.shape\n(6,)\n>>> t.unshard_()\n>>> t.shape\n(2, 3)"
	flatParameterDoc = "ShardedFlatParameter(data=None, requires_grad=True) returns a ShardedFlatTensor that a module takes for a parameter when it is assigned.\n" +
		"data None is for no data.\n" +
		">>> ShardedFlatParameter(zeros(3)).requires_grad\nTrue"
	exampleFlat = ">>> t = ShardedFlatTensor.shard(arange(6.0).reshape(2, 3))\n"
)

func init() {
	builtins.Register(
		&builtins.Row{Name: "flat", Namespace: true, Doc: "flat is the module of flat tensors, as OLMo-core has them: of each, a rank stores ranges of the elements in row-major order."},
		&builtins.Row{Name: "ShardedFlatTensor", Base: "Tensor", Doc: flatTensorDoc, Fn: newFlatTensor(false)},
		&builtins.Row{Name: "ShardedFlatParameter", Base: "ShardedFlatTensor", Doc: flatParameterDoc, Fn: newFlatTensor(true)},
		&builtins.Row{Name: "flat.ShardedFlatTensor", Doc: flatTensorDoc, Value: func() starlark.Value { return builtins.ConstructorOf("ShardedFlatTensor") }},
		&builtins.Row{Name: "flat.ShardedFlatParameter", Doc: flatParameterDoc, Value: func() starlark.Value { return builtins.ConstructorOf("ShardedFlatParameter") }},
		&builtins.Row{Name: "ShardedFlatTensor.shard", Static: true, Doc: flatShardDoc("ShardedFlatTensor"), Fn: flatShard(false)},
		&builtins.Row{Name: "ShardedFlatParameter.shard", Static: true, Doc: flatShardDoc("ShardedFlatParameter"), Fn: flatShard(true)},
	)
	builtins.Register(flatMethodRows()...)
	builtins.Register(flatStateRows()...)
	builtins.Register(flatSpecRows()...)
}
