package colossal

import (
	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/builtins/dtensor"
)

// shardingSpecExample begins the examples of what a ShardingSpec has.
const shardingSpecExample = ">>> mesh = DeviceMesh(\"cpu\", [[0]])\n" +
	">>> spec = ShardingSpec(mesh, (8, 4), {0: [0, 1]})\n"

// shardingSpecRow returns the row of an attribute of ShardingSpecs.
func shardingSpecRow(name, doc string, get func(s *ShardingSpec) (starlark.Value, error)) *builtins.Row {
	return &builtins.Row{Name: "ShardingSpec." + name, Doc: doc, Get: func(_ *builtins.Env, x starlark.Value) (starlark.Value, error) {
		return get(x.(*ShardingSpec))
	}}
}

func init() {
	builtins.Register(&builtins.Row{
		Name: "ShardingSpec",
		Doc: "ShardingSpec(device_mesh, entire_shape, dim_partition_dict) returns which dims of a mesh cut which dims of a tensor of a shape.\n" +
			"The dict has for dims of the tensor lists of mesh dims: {0: [0, 1]} cuts dim 0 along mesh\n" +
			"dim 0 and each block along mesh dim 1, and prints as [S01, R]. A mesh dim is used at most\n" +
			"once. Dims need not divide evenly: blocks are of ceil(n/parts), the last ones shorter or\n" +
			"empty. Specs are equal if their attributes are.\n" +
			shardingSpecExample + ">>> spec\n[S01, R]",
		Fn: makeShardingSpec,
	}, shardingSpecRow("device_mesh", "device_mesh is the DeviceMesh.\n"+shardingSpecExample+">>> spec.device_mesh == mesh\nTrue",
		func(s *ShardingSpec) (starlark.Value, error) { return s.mesh, nil },
	), shardingSpecRow("entire_shape", "entire_shape is the shape of the whole tensor, as a tuple.\n"+shardingSpecExample+">>> spec.entire_shape\n(8, 4)",
		func(s *ShardingSpec) (starlark.Value, error) { return builtins.ShapeTuple(s.shape), nil },
	), shardingSpecRow("dim_partition_dict", "dim_partition_dict is a dict of the lists of mesh dims that cut dims of the tensor.\n"+shardingSpecExample+">>> spec.dim_partition_dict\n{0: [0, 1]}",
		func(s *ShardingSpec) (starlark.Value, error) {
			var parts []dtensor.Partition
			for d, axes := range s.axes {
				if len(axes) > 0 {
					parts = append(parts, dtensor.Partition{Dim: d, Axes: axes})
				}
			}
			return dtensor.PartitionDict(parts)
		},
	), shardingSpecRow("sharding_sequence", "sharding_sequence is a list of what cuts each dim of the tensor: \"R\", or \"S\" and mesh dims.\n"+shardingSpecExample+">>> spec.sharding_sequence\n[\"S01\", \"R\"]",
		func(s *ShardingSpec) (starlark.Value, error) {
			var list []starlark.Value
			for _, text := range s.sequence() {
				list = append(list, starlark.String(text))
			}
			return starlark.NewList(list), nil
		},
	), &builtins.Row{
		Name: "ShardingSpec.get_sharded_shape_per_device",
		Doc: "get_sharded_shape_per_device() returns the shape of what a device holds, as a tuple: where dims do not divide evenly, the most that any does.\n" +
			shardingSpecExample + ">>> spec.get_sharded_shape_per_device()\n(8, 4)",
		Fn: func(_ *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
			return builtins.ShapeTuple(b.Receiver().(*ShardingSpec).deviceShape()), arg.Unpack(b.Name(), args, kwargs)
		},
	})
}
