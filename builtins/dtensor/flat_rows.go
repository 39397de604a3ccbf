package dtensor

import (
	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// A flatMethod carries out a method of flat tensors, fn being its name and x its
// receiver.
type flatMethod func(x *builtins.Tensor, fn string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error)

// flatRow returns a row for a method of flat tensors.
func flatRow(name, doc string, do flatMethod) *builtins.Row {
	return &builtins.Row{Name: "ShardedFlatTensor." + name, Doc: doc, Fn: func(_ *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		return do(b.Receiver().(*builtins.Tensor), b.Name(), args, kwargs)
	}}
}

// flatAttr returns a row for an attribute of flat tensors.
func flatAttr(name, doc string, get func(x *builtins.Tensor) (starlark.Value, error)) *builtins.Row {
	return &builtins.Row{Name: "ShardedFlatTensor." + name, Doc: doc, Get: func(_ *builtins.Env, x starlark.Value) (starlark.Value, error) {
		return get(x.(*builtins.Tensor))
	}}
}

// flatSpecAttr returns a row for an attribute that the spec of flat tensors says.
func flatSpecAttr(name, doc string, get func(v *flatView) starlark.Value) *builtins.Row {
	return flatAttr(name, doc, func(x *builtins.Tensor) (starlark.Value, error) {
		if err := flatKnown(x, name); err != nil {
			return nil, err
		}
		return get(flatOf(x)), nil
	})
}

// wrapShared returns t as scripts have it, on its storage, without its gradient.
func wrapShared(e *builtins.Env, t *tensor.Tensor) starlark.Value {
	if t == nil {
		return starlark.None
	}
	return e.Wrap(t.Detach())
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

// flatMethodRows returns the methods of flat tensors.
func flatMethodRows() []*builtins.Row {
	return []*builtins.Row{
		flatRow("gather", "gather(dtype=None, rank0_only=False) returns the whole as a plain tensor, on every rank of the group: one all_gather.\n"+
			"dtype is what the data is converted to before. With rank0_only it is one gather, and ranks but the first of the group\n"+
			"get a tensor of shape (0,). The gradient goes back to the ranks. Unsharded, it returns the whole that there is.\n"+
			exampleFlat+">>> t.gather().shape\n(2, 3)", flatGather),
		flatRow("unshard_", "unshard_(unsharded_data=None, dtype=None, rank0_only=False) makes the tensor stand for its whole, until reshard_().\n"+
			"The whole is gathered as gather does, or is unsharded_data, on whose storage it then is, and nothing is sent; of a tensor\n"+
			"that is unsharded it stays. With rank0_only other ranks than the first of the group have no elements. This rank's data\n"+
			"is kept as it is.\n"+
			exampleFlat+">>> t.unshard_()\n>>> t.sum(dim=0).tolist()\n[3.0, 5.0, 7.0]", flatUnshard),
		flatRow("reshard_", "reshard_(writeback=False) makes the tensor stand for this rank's data again, and forgets the whole with the changes made in it.\n"+
			"With writeback the first rank of the group sends its whole, in one broadcast, and each stores its part as its data, in\n"+
			"the dtype of the data; every rank of the group calls it. The gradient stays as it is.\n"+
			exampleFlat+">>> t.unshard_()\n>>> t.unsharded_data.mul_(2.0)[0].tolist()\n[0.0, 2.0, 4.0]\n>>> t.reshard_(writeback=True)\n>>> t.gather()[0].tolist()\n[0.0, 2.0, 4.0]", flatReshard),
		flatRow("wrap", "wrap(tensor, requires_grad=None) returns another tensor as a ShardedFlatTensor with the same spec, group and state.\n"+
			"tensor is its data on this rank while this one is sharded, and else its whole. requires_grad None is as tensor has it.\n"+
			exampleFlat+">>> t.wrap(zeros(6)).gather().shape\n(2, 3)", flatWrap),
		flatRow("chunk_unsharded", "chunk_unsharded(tensor, pad=False) returns what each rank of the group would store of a tensor of the whole's shape: a list of tensors of one dim.\n"+
			"With pad zeros follow, so that they are equally long.\n"+
			exampleFlat+">>> [c.shape for c in t.chunk_unsharded(ones(2, 3))]\n[(6,)]", flatChunks),
		flatRow("sharded_chunk", "sharded_chunk(tensor) returns what this rank would store of a tensor of the whole's shape. It may share its storage.\n"+
			exampleFlat+">>> t.sharded_chunk(ones(2, 3)).shape\n(6,)", flatChunk),
		flatRow("mark_as_sharded", "mark_as_sharded(sharding_spec, process_group=None) says which elements of a whole the data of each rank of a group is.\n"+
			"process_group None is all ranks.\n"+
			">>> t = ShardedFlatTensor(zeros(6))\n>>> t.mark_as_sharded(flat.ShardingSpec((2, 3), (((0, 6),),)))\n>>> t.unsharded_shape\n(2, 3)", markAsSharded),
	}
}

// flatStateRows returns the attributes of flat tensors that are their state.
func flatStateRows() []*builtins.Row {
	return []*builtins.Row{
		flatAttr("is_sharded", "is_sharded is whether the tensor stands for this rank's data, and not for the whole.\n"+exampleFlat+">>> t.is_sharded\nTrue",
			func(x *builtins.Tensor) (starlark.Value, error) { return starlark.Bool(flatOf(x).whole == nil), nil }),
		flatAttr("metadata_set", "metadata_set is whether it is known which elements the data is.\n>>> ShardedFlatTensor(zeros(6)).metadata_set\nFalse",
			func(x *builtins.Tensor) (starlark.Value, error) { return starlark.Bool(flatOf(x).spec != nil), nil }),
		flatAttr("process_group", "process_group is the group whose ranks store the tensor, as it was given; None for all.\n"+exampleFlat+">>> t.process_group == None\nTrue",
			func(x *builtins.Tensor) (starlark.Value, error) {
				if flatOf(x).pg == nil {
					return starlark.None, nil
				}
				return flatOf(x).pg, nil
			}),
		flatAttr("sharded_data", "sharded_data is this rank's data, on its storage, or None. It can be assigned: a tensor of the same shape takes its place.\n"+
			exampleFlat+">>> t.sharded_data = zeros(6)\n>>> t.gather().sum().item()\n0.0",
			func(x *builtins.Tensor) (starlark.Value, error) { return wrapShared(x.Env, flatOf(x).local), nil }),
		flatAttr("unsharded_data", "unsharded_data is the whole, on its storage, or None if the tensor is sharded.\n"+exampleFlat+">>> t.unshard_()\n>>> t.unsharded_data.shape\n(2, 3)",
			func(x *builtins.Tensor) (starlark.Value, error) { return wrapShared(x.Env, flatOf(x).whole), nil }),
		flatAttr("sharded_shape", "sharded_shape is the shape of this rank's data: of one dim.\n"+exampleFlat+">>> t.sharded_shape\n(6,)",
			func(x *builtins.Tensor) (starlark.Value, error) {
				return builtins.ShapeTuple(shape.Shape{flatNumel(x)}), nil
			}),
		flatAttr("sharded_numel", "sharded_numel is the number of elements of this rank's data.\n"+exampleFlat+">>> t.sharded_numel\n6",
			func(x *builtins.Tensor) (starlark.Value, error) { return starlark.MakeInt(flatNumel(x)), nil }),
	}
}

// flatNumel returns the number of elements of this rank's data.
func flatNumel(x *builtins.Tensor) int {
	if flatOf(x).local == nil {
		return 0
	}
	return flatOf(x).local.Numel()
}

// flatSpecRows returns the attributes of flat tensors that their spec says.
func flatSpecRows() []*builtins.Row {
	return []*builtins.Row{
		flatSpecAttr("sharding_spec", "sharding_spec is the flat.ShardingSpec that says which elements each rank of the group stores.\n"+
			exampleFlat+">>> t.sharding_spec\nShardingSpec(unsharded_shape=(2, 3), unsharded_flattened_offsets=(((0, 6),),))",
			func(v *flatView) starlark.Value { return v.spec }),
		flatSpecAttr("unsharded_shape", "unsharded_shape is the shape of the whole.\n"+exampleFlat+">>> t.unsharded_shape\n(2, 3)",
			func(v *flatView) starlark.Value { return builtins.ShapeTuple(v.spec.f.Shape()) }),
		flatSpecAttr("unsharded_numel", "unsharded_numel is the number of elements of the whole.\n"+exampleFlat+">>> t.unsharded_numel\n6",
			func(v *flatView) starlark.Value { return starlark.MakeInt(v.spec.numel()) }),
		flatSpecAttr("unsharded_flattened_offsets", "unsharded_flattened_offsets is the tuple of the ranges (start, end) of the whole, in row-major order, that this rank stores.\n"+
			exampleFlat+">>> t.unsharded_flattened_offsets\n((0, 6),)",
			func(v *flatView) starlark.Value { return rangeTuple(v.spec.f.Ranges(v.group.Rank())) }),
	}
}
