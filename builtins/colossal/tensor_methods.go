package colossal

import (
	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/builtins/dtensor"
	"tpsh/runtime/tensor"
)

// exampleColo begins the examples of what ColoTensors have.
const exampleColo = ">>> pg = ProcessGroup(tp_degree=1)\n>>> t = ColoTensor(ones(2, 3), ColoTensorSpec(pg, ShardSpec([0], [1])))\n"

// methodRow returns a row for a method of ColoTensors.
func methodRow(name, doc string, do func(e *builtins.Env, fn string, x *builtins.Tensor, t *tensor.Tensor, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error)) *builtins.Row {
	return &builtins.Row{Name: "ColoTensor." + name, Doc: doc, Fn: func(_ *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		x := b.Receiver().(*builtins.Tensor)
		t, err := x.Tensor()
		if err != nil {
			return nil, err
		}
		return do(x.Env, b.Name(), x, t, args, kwargs)
	}}
}

// getterRow returns a row for a method of ColoTensors without arguments.
func getterRow(name, doc, want string, get func(e *builtins.Env, t *tensor.Tensor) starlark.Value) *builtins.Row {
	return methodRow(name, name+"() returns "+doc+"\n"+exampleColo+">>> t."+name+"()\n"+want,
		func(e *builtins.Env, fn string, _ *builtins.Tensor, t *tensor.Tensor, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
			if err := arg.Unpack(fn, args, kwargs); err != nil {
				return nil, err
			}
			return get(e, t), nil
		})
}

// attrRow returns a row for an attribute of ColoTensors.
func attrRow(name, doc, want string, get func(e *builtins.Env, t *tensor.Tensor) starlark.Value) *builtins.Row {
	return &builtins.Row{Name: "ColoTensor." + name, Doc: doc + exampleColo + ">>> t." + name + "\n" + want, Get: func(e *builtins.Env, x starlark.Value) (starlark.Value, error) {
		t, err := x.(*builtins.Tensor).Tensor()
		if err != nil {
			return nil, err
		}
		return get(e, t), nil
	}}
}

func init() {
	builtins.Register(
		&builtins.Row{Name: "ColoTensor", Base: "DTensor", Fn: newColoTensor,
			Doc: "ColoTensor(data, spec=None, shape=None) returns the leaf of which this rank's payload is the plain tensor data: a distributed tensor seen through a ProcessGroup and specs.\n" +
				"data is what this rank holds, cut already; it is not communicated, and its storage is shared.\n" +
				"spec is a ColoTensorSpec. None is for ReplicaSpec() on ProcessGroup(), and such a tensor joins\n" +
				"the group of any other that it meets, as plain tensors do. The shape of the whole is that of\n" +
				"data times the numbers of blocks; blocks of different sizes need shape=. The result requires\n" +
				"grad if data does; None for data is a tensor without elements.\n" +
				"Every operation on tensors works on ColoTensors, and gives such of the same group: sums of\n" +
				"summands are added up at once, and how a result is cut follows from the operands. The specs of\n" +
				"a weight say how linear, addmm, embedding and embedding_bag compute; what they do not cover is\n" +
				"refused. Operands of two groups are an error, but a weight has the others join its own.\n" +
				exampleColo + ">>> t.shape, t.dist_spec\n((2, 3), ShardSpec([0], [1]))"},
		&builtins.Row{Name: "ColoTensor.from_torch_tensor", Static: true, Fn: fromTorch,
			Doc: "ColoTensor.from_torch_tensor(tensor, spec=None, shape=None) returns ColoTensor(tensor, spec, shape), on the same storage.\n" +
				"It is no leaf if tensor requires grad: the gradient reaches tensor, as this rank's block of it.\n" +
				">>> ColoTensor.from_torch_tensor(ones(2, 3)).shape\n(2, 3)"},
		&builtins.Row{Name: "ColoParameter", Base: "ColoTensor", Fn: newColoParameter("data", true),
			Doc: "ColoParameter(data=None, requires_grad=True, spec=None, shape=None) returns a ColoTensor that is a parameter: assigned to a module, it is one of the module's.\n" +
				"data, spec and shape are as for ColoTensor. Hooks see the operators that it is an operand of.\n" +
				"A gradient, and what an optimiser keeps for it, are cut like the parameter.\n" +
				">>> m = nn.Linear(2, 1, bias=False)\n>>> m.weight = ColoParameter(ones(1, 2))\n" +
				">>> m(tensor([3.0, 4.0])).tolist()\n[7.0]"},
		&builtins.Row{Name: "ColoParameter.from_torch_tensor", Static: true, Fn: newColoParameter("tensor", false),
			Doc: "ColoParameter.from_torch_tensor(tensor, requires_grad=True, spec=None, shape=None) returns ColoParameter(tensor, requires_grad, spec, shape), on the same storage.\n" +
				">>> ColoParameter.from_torch_tensor(ones(2)).is_model_data()\nTrue"},
	)
	builtins.Register(
		methodRow("set_process_group", "set_process_group(pg) returns None and makes pg the group of the tensor, in place. No data move.\n"+
			"The tensor is a leaf that is not cut, and its group is all tensor parallel or all data parallel;\n"+
			"pg has the same ranks. Ranks that become one tensor-parallel group and hold different data are an error.\n"+
			">>> t = ColoTensor(ones(2))\n>>> t.set_process_group(ProcessGroup(tp_degree=1))", setProcessGroupMethod),
		methodRow("set_dist_spec", "set_dist_spec(dist_spec) returns None and cuts the tensor, a leaf, as dist_spec says, in place.\n"+
			"It is not differentiated. A gradient that has been accumulated is cut likewise; views keep what they show.\n"+
			exampleColo+">>> t.set_dist_spec(ReplicaSpec())\n>>> t.dist_spec\nReplicaSpec()", setDistSpecMethod),
		methodRow("set_tensor_spec", "set_tensor_spec(dist_spec=None, compute_spec=None) returns None and sets the specs that are not None, as set_dist_spec does and compute_spec.\n"+
			exampleColo+">>> t.set_tensor_spec(None, ComputeSpec(ComputePattern.TP1D))\n>>> t.has_compute_spec()\nTrue", setTensorSpecMethod),
		methodRow("redistribute", "redistribute(dist_spec, pg=None) returns the tensor cut as dist_spec says by the groups of pg, without compute spec.\n"+
			"With pg None or the same, it moves inside the tensor-parallel group: to be cut takes no communication,\n"+
			"to be whole an all-gather, to be cut along another dim an all-to-all. To another pg it is gathered in\n"+
			"the old groups and then cut by the new ones; ranks that become one tensor-parallel group and hold\n"+
			"different data are an error. The gradient goes the way back: that of a gather is a slice.\n"+
			exampleColo+">>> t.redistribute(ShardSpec([-1], [1])).dist_spec\nShardSpec([1], [1])", redistributeMethod),
		methodRow("to_replicate", "to_replicate() returns redistribute(ReplicaSpec()).\n"+
			exampleColo+">>> t.to_replicate().dist_spec\nReplicaSpec()", toReplicateMethod),
		methodRow("to_replicate_", "to_replicate_() is set_dist_spec(ReplicaSpec()).\n"+
			exampleColo+">>> t.to_replicate_()\n>>> t.dist_spec\nReplicaSpec()", toReplicateInPlaceMethod),
		methodRow("to_local", "to_local(grad_placements=None) returns this rank's payload as a plain tensor that shares its storage.\n"+
			"The gradient that comes back is taken for this rank's block of the gradient of the whole.\n"+
			exampleColo+">>> t.to_local().shape\n(2, 3)", shared("to_local")),
		methodRow("full_tensor", "full_tensor(grad_placements=None) returns the whole as a plain tensor, on every rank of the group.\n"+
			"Every rank of the group calls it; on others it is an error.\n"+
			exampleColo+">>> t.full_tensor().shape\n(2, 3)", shared("full_tensor")),
		methodRow("size_global", "size_global(dim=None) returns the size of a dim of the whole, or its shape, as size does.\n"+exampleColo+">>> t.size_global()\n(2, 3)", shared("size_global")),
		methodRow("size_local", "size_local(dim=None) returns the size of a dim of this rank's payload, or its shape.\n"+exampleColo+">>> t.size_local(0)\n2", shared("size_local")),
		attrRow("local_shape", "local_shape is the shape of this rank's payload.\n", "(2, 3)",
			func(_ *builtins.Env, t *tensor.Tensor) starlark.Value { return dtensor.LocalShape(t) }),
		attrRow("dist_spec", "dist_spec is the ShardSpec or ReplicaSpec: how the tensor-parallel group holds the tensor. Dims count from the front.\n", "ShardSpec([0], [1])",
			func(e *builtins.Env, t *tensor.Tensor) starlark.Value { return specOf(e, t) }),
		attrRow("compute_spec", "compute_spec is the ComputeSpec, how operators compute with the tensor as weight, or None. It can be assigned.\n"+
			"Results of operators have none, but those of a weight with output_replicate False, which stay cut and have its.\n", "",
			func(_ *builtins.Env, t *tensor.Tensor) starlark.Value { return computeOrNone(viewOf(t)) }),
	)
	registerColoPredicates()
}

// registerColoPredicates adds the methods of ColoTensors that ask.
func registerColoPredicates() {
	truth := func(name, doc, want string, is func(e *builtins.Env, t *tensor.Tensor) bool) *builtins.Row {
		return getterRow(name, "whether "+doc, want, func(e *builtins.Env, t *tensor.Tensor) starlark.Value { return starlark.Bool(is(e, t)) })
	}
	builtins.Register(
		getterRow("get_process_group", "the ProcessGroup.", "ProcessGroup(ranks=[0], tp_degree=1, dp_degree=1)",
			func(_ *builtins.Env, t *tensor.Tensor) starlark.Value { return viewOf(t).pg }),
		getterRow("get_tp_world_size", "the number of ranks of a tensor-parallel group.", "1",
			func(_ *builtins.Env, t *tensor.Tensor) starlark.Value {
				return starlark.MakeInt(viewOf(t).pg.degree(tpDim))
			}),
		getterRow("get_dp_world_size", "the number of ranks of a data-parallel group.", "1",
			func(_ *builtins.Env, t *tensor.Tensor) starlark.Value {
				return starlark.MakeInt(viewOf(t).pg.degree(dpDim))
			}),
		getterRow("numel_global", "the number of elements of the whole.", "6",
			func(_ *builtins.Env, t *tensor.Tensor) starlark.Value { return starlark.MakeInt(t.Numel()) }),
		truth("is_replicate", "every rank of a tensor-parallel group holds all of the tensor: it is not cut, or into one part.", "True",
			func(_ *builtins.Env, t *tensor.Tensor) bool { return isWhole(t) }),
		truth("is_sharded", "the dist spec is a ShardSpec, into one part or several.", "True",
			func(e *builtins.Env, t *tensor.Tensor) bool { return specOf(e, t).isShard() }),
		truth("is_shard_1drow", "the tensor is cut along dim 0 and no other.", "True",
			func(_ *builtins.Env, t *tensor.Tensor) bool { dim, one := oneCut(t); return one && dim == 0 }),
		truth("is_shard_1dcol", "the tensor is cut along its last dim and no other, however the spec was written.", "False",
			func(_ *builtins.Env, t *tensor.Tensor) bool { dim, one := oneCut(t); return one && dim == t.Ndim()-1 }),
		truth("is_model_data", "the tensor is a ColoParameter.", "False",
			func(_ *builtins.Env, t *tensor.Tensor) bool { return viewOf(t).model }),
		truth("has_compute_spec", "the tensor has a ComputeSpec.", "False",
			func(_ *builtins.Env, t *tensor.Tensor) bool { return viewOf(t).compute != nil }),
		methodRow("has_compute_pattern", "has_compute_pattern(pattern) returns whether the compute spec of the tensor has that pattern; without a compute spec it has none.\n"+
			exampleColo+">>> t.has_compute_pattern(ComputePattern.TP1D)\nFalse",
			func(_ *builtins.Env, fn string, _ *builtins.Tensor, t *tensor.Tensor, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
				var p patternArg
				if err := arg.Unpack(fn, args, kwargs, "pattern|compute_pattern", &p); err != nil {
					return nil, err
				}
				c := viewOf(t).compute
				return starlark.Bool(c != nil && c.pattern == p.Enum), nil
			}),
	)
}

// shared returns a method that ColoTensors share with other distributed tensors.
func shared(name string) func(*builtins.Env, string, *builtins.Tensor, *tensor.Tensor, starlark.Tuple, []starlark.Tuple) (starlark.Value, error) {
	return func(e *builtins.Env, _ string, x *builtins.Tensor, _ *tensor.Tensor, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		method, err := e.Attr("DTensor", x, name)
		if err != nil {
			return nil, err
		}
		return starlark.Call(e.Thread, method, args, kwargs)
	}
}

// computeOrNone returns the compute spec of v, or None.
func computeOrNone(v *specView) starlark.Value {
	if v.compute == nil {
		return starlark.None
	}
	return v.compute
}

// setComputeSpec makes v, a ComputeSpec or None, the compute spec of t.
func setComputeSpec(t *tensor.Tensor, fn string, v starlark.Value) error {
	if err := builtins.CheckFrozen(fn, t); err != nil {
		return err
	}
	next := *viewOf(t)
	next.compute = nil
	if v != starlark.None {
		var spec computeSpecArg
		if err := arg.Set(fn, "", &spec, v); err != nil {
			return err
		}
		next.compute = spec.ComputeSpec
	}
	t.Lens = &next
	return nil
}

func setProcessGroupMethod(e *builtins.Env, fn string, _ *builtins.Tensor, t *tensor.Tensor, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var pg processGroupArg
	if err := arg.Unpack(fn, args, kwargs, "pg", &pg); err != nil {
		return nil, err
	}
	return starlark.None, setProcessGroup(e, fn, t, pg.ProcessGroup)
}

func setDistSpecMethod(e *builtins.Env, fn string, _ *builtins.Tensor, t *tensor.Tensor, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var spec distSpecArg
	if err := arg.Unpack(fn, args, kwargs, "dist_spec", &spec); err != nil {
		return nil, err
	}
	return starlark.None, setDistSpec(e, fn, t, spec.DistSpec)
}

func setTensorSpecMethod(e *builtins.Env, fn string, _ *builtins.Tensor, t *tensor.Tensor, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		spec    distSpecArg
		compute computeSpecArg
	)
	if err := arg.Unpack(fn, args, kwargs, "dist_spec??", &spec, "compute_spec??", &compute); err != nil {
		return nil, err
	}
	if spec.DistSpec != nil {
		if err := setDistSpec(e, fn, t, spec.DistSpec); err != nil {
			return nil, err
		}
	}
	if compute.ComputeSpec == nil {
		return starlark.None, nil
	}
	return starlark.None, setComputeSpec(t, fn, compute.ComputeSpec)
}

func redistributeMethod(e *builtins.Env, fn string, _ *builtins.Tensor, t *tensor.Tensor, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		spec distSpecArg
		pg   processGroupArg
	)
	if err := arg.Unpack(fn, args, kwargs, "dist_spec", &spec, "pg??", &pg); err != nil {
		return nil, err
	}
	y, err := redistributed(e, fn, t, pg.ProcessGroup, spec.DistSpec)
	if err != nil {
		return nil, err
	}
	return e.Wrap(y), nil
}

func toReplicateMethod(e *builtins.Env, fn string, _ *builtins.Tensor, t *tensor.Tensor, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if err := arg.Unpack(fn, args, kwargs); err != nil {
		return nil, err
	}
	y, err := redistributed(e, fn, t, nil, replicaSpec(e))
	if err != nil {
		return nil, err
	}
	return e.Wrap(y), nil
}

func toReplicateInPlaceMethod(e *builtins.Env, fn string, _ *builtins.Tensor, t *tensor.Tensor, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if err := arg.Unpack(fn, args, kwargs); err != nil {
		return nil, err
	}
	return starlark.None, setDistSpec(e, fn, t, replicaSpec(e))
}
