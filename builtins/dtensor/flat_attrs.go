package dtensor

import (
	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// flatAttr returns a row for an attribute of flat tensors.
func flatAttr(name, doc string, get func(x flatTensor) (starlark.Value, error)) *builtins.Row {
	return &builtins.Row{Name: "ShardedFlatTensor." + name, Doc: doc, Get: func(_ *builtins.Env, x starlark.Value) (starlark.Value, error) {
		return get(asFlat(x.(*builtins.Tensor)))
	}}
}

// flatSpecAttr returns a row for an attribute that the spec of flat tensors says.
func flatSpecAttr(name, doc string, get func(v *flatView) starlark.Value) *builtins.Row {
	return flatAttr(name, doc, func(x flatTensor) (starlark.Value, error) {
		if err := x.mustBeKnown(name); err != nil {
			return nil, err
		}
		return get(x.flatView), nil
	})
}

// wrapShared returns t as scripts have it, on its storage, without its gradient.
func wrapShared(e *builtins.Env, t *tensor.Tensor) starlark.Value {
	if t == nil {
		return starlark.None
	}
	return e.Wrap(t.Detach())
}

// flatStateRows returns the attributes of flat tensors that are their state.
func flatStateRows() []*builtins.Row {
	return []*builtins.Row{
		flatAttr("is_sharded", "is_sharded is whether the tensor stands for this rank's data, and not for the whole.\n"+exampleFlat+">>> t.is_sharded\nTrue",
			func(x flatTensor) (starlark.Value, error) { return starlark.Bool(x.whole == nil), nil }),
		flatAttr("metadata_set", "metadata_set is whether it is known which elements the data is.\n>>> ShardedFlatTensor(zeros(6)).metadata_set\nFalse",
			func(x flatTensor) (starlark.Value, error) { return starlark.Bool(x.spec != nil), nil }),
		flatAttr("process_group", "process_group is the group whose ranks store the tensor, as it was given; None for all.\n"+exampleFlat+">>> t.process_group == None\nTrue",
			func(x flatTensor) (starlark.Value, error) {
				if x.pg == nil {
					return starlark.None, nil
				}
				return x.pg, nil
			}),
		flatAttr("data", "data is what the tensor stands for, on its storage, without its part in differentiation. What fills this rank's data with random numbers draws the whole.\n"+
			exampleFlat+">>> t.data.requires_grad\nFalse",
			func(x flatTensor) (starlark.Value, error) {
				t, err := x.Tensor.Tensor()
				if err != nil {
					return nil, err
				}
				y := x.Env.Wrap(t.Detach())
				if x.whole == nil && x.spec != nil {
					y.Lens = &dataView{of: x.flatView}
				}
				return y, nil
			}),
		flatAttr("sharded_data", "sharded_data is this rank's data, on its storage, or None. It can be assigned: a tensor of the same shape takes its place.\n"+
			exampleFlat+">>> t.sharded_data = zeros(6)\n>>> t.gather().sum().item()\n0.0",
			func(x flatTensor) (starlark.Value, error) { return wrapShared(x.Env, x.local), nil }),
		flatAttr("unsharded_data", "unsharded_data is the whole, on its storage, or None if the tensor is sharded.\n"+exampleFlat+">>> t.unshard_()\n>>> t.unsharded_data.shape\n(2, 3)",
			func(x flatTensor) (starlark.Value, error) { return wrapShared(x.Env, x.whole), nil }),
		flatAttr("sharded_shape", "sharded_shape is the shape of this rank's data: of one dim.\n"+exampleFlat+">>> t.sharded_shape\n(6,)",
			func(x flatTensor) (starlark.Value, error) {
				return builtins.ShapeTuple(shape.Shape{x.numel()}), nil
			}),
		flatAttr("sharded_numel", "sharded_numel is the number of elements of this rank's data.\n"+exampleFlat+">>> t.sharded_numel\n6",
			func(x flatTensor) (starlark.Value, error) { return starlark.MakeInt(x.numel()), nil }),
	}
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
