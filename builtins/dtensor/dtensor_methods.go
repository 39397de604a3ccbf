package dtensor

import (
	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// placedMethod returns a row for a method of distributed tensors.
func placedMethod(name, doc string, do func(e *builtins.Env, fn string, t *tensor.Tensor, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error)) *builtins.Row {
	return &builtins.Row{Name: "DTensor." + name, Doc: doc, Fn: func(_ *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		x := b.Receiver().(*builtins.Tensor)
		t, err := x.Tensor()
		if err != nil {
			return nil, err
		}
		return do(x.Env, b.Name(), t, args, kwargs)
	}}
}

// placedAttr returns a row for an attribute of distributed tensors.
func placedAttr(name, doc string, get func(e *builtins.Env, t *tensor.Tensor) starlark.Value) *builtins.Row {
	return &builtins.Row{Name: "DTensor." + name, Doc: doc, Get: func(e *builtins.Env, x starlark.Value) (starlark.Value, error) {
		t, err := x.(*builtins.Tensor).Tensor()
		if err != nil {
			return nil, err
		}
		return get(e, t), nil
	}}
}

const exampleDTensor = ">>> d = distribute_tensor(ones(2, 3), DeviceMesh(\"cpu\", [0]), [Shard(0)])\n"

func init() {
	builtins.Register(
		&builtins.Row{Name: "DTensor", Base: "Tensor", Doc: "DTensor is one logical tensor of which every rank of a mesh holds a block.\n" +
			"distribute_tensor, DTensor.from_local, DTensor.zeros and their like make such tensors; every operation\n" +
			"on tensors works on them and gives such tensors. Its shape is that of the whole. Two placements of one value\n" +
			"are equal values: what an operation gives does not depend on them. A plain tensor or a number that\n" +
			"meets one counts as replicated. A Partial that an operation had ranks reduce remembers the result, and is not\n" +
			"reduced again, until somebody writes into it: the last 8 of a mesh do, each as long as it is alive. Operations\n" +
			"then take the result instead, so that what they give is not Partial. Ranks write into their blocks together.\n" +
			exampleDTensor + ">>> (d + 1).sum().item()\n12.0",
			Fn: func(_ *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, _ starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
				return nil, &op.ArgError{Func: b.Name(), Got: "a call", Want: "distribute_tensor(x, mesh, placements) or DTensor.from_local(x, mesh, placements)"}
			}},
		&builtins.Row{Name: "DTensor.from_local", Static: true, Fn: fromLocal,
			Doc: "DTensor.from_local(x, mesh=None, placements=None, shape=None, run_check=False, grad_placements=None, stride=None) returns the distributed tensor of which this rank holds the plain tensor x.\n" +
				"It does not communicate and shares the storage of x. mesh None is all ranks in a line, placements None all\n" +
				"Replicate(). Without shape, all blocks are taken to be of one size: the global shape is that of x, times the\n" +
				"sizes of the mesh dims that cut it; blocks of different sizes need shape=. With run_check, all ranks of the\n" +
				"mesh get an error if blocks differ in dtype or requires_grad, or those of replicas in their data. The gradient reaches x: this rank's block of it,\n" +
				"when it lies as grad_placements says: None is for like the tensor, and replicated where that is Partial; Partial() for a summand.\n" +
				"Of terms of a mean each gets its share, 1/n of the mean's gradient. stride is that of the whole in row-major order, and no other.\n" +
				">>> d = DTensor.from_local(ones(2, 3), DeviceMesh(\"cpu\", [0]), [Shard(0)])\n>>> d.shape\n(2, 3)"},
		&builtins.Row{Name: "distribute_tensor", Fn: distributeTensor,
			Doc: "distribute_tensor(x, mesh=None, placements=None, src_data_rank=0) returns the tensor x cut into blocks for the ranks of mesh.\n" +
				"The data are those of the rank at place src_data_rank of the mesh, which sends each other rank its block; with\n" +
				"None every rank takes its block of its own x, and nothing is sent. mesh None is all ranks in a line, placements\n" +
				"None all Replicate(); Partial is no target. The result requires grad if x does: it is a new leaf if x is one, and\n" +
				"otherwise the gradient reaches x on every rank of the mesh, whole.\n" +
				exampleDTensor + ">>> d.placements\n(Shard(0),)"},
		creatorRow("zeros", "zeros", false, constant(0), "0.0"),
		creatorRow("empty", "elements that are not set: zeros", false, constant(0), "0.0"),
		creatorRow("ones", "ones", false, constant(1), "6.0"),
		creatorRow("full", "the number value", true, fullOf, "6.0"),
		creatorRow("rand", "random numbers in [0, 1)", false, drawnBy("rand_like"), ""),
		creatorRow("randn", "normally distributed random numbers", false, drawnBy("randn_like"), ""),
	)
	builtins.Register(placedAttr("device_mesh", "device_mesh is the mesh of the ranks that hold the tensor.\n"+exampleDTensor+">>> d.device_mesh\nDeviceMesh(\"cpu\", [0])",
		func(e *builtins.Env, t *tensor.Tensor) starlark.Value { return DeviceMeshOf(e, t.Layout().Mesh()) }),
		placedAttr("placements", "placements is the tuple of placements, one for each dim of the mesh.\n"+exampleDTensor+">>> d.placements\n(Shard(0),)",
			func(e *builtins.Env, t *tensor.Tensor) starlark.Value {
				return placementTuple(e, t.Layout().Placements())
			}),
		placedAttr("local_shape", "local_shape is the shape of this rank's block.\n"+exampleDTensor+">>> d.local_shape\n(2, 3)",
			func(_ *builtins.Env, t *tensor.Tensor) starlark.Value { return LocalShape(t) }),
		placedMethod("size_local", "size_local(dim=None) returns the size of a dim of this rank's block, or its shape.\n"+exampleDTensor+">>> d.size_local(0)\n2",
			func(e *builtins.Env, fn string, t *tensor.Tensor, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
				return builtins.TensorSize(e, fn, nil, t.Local(), args, kwargs)
			}),
		placedMethod("size_global", "size_global(dim=None) returns the size of a dim of the whole, or its shape, as size does.\n"+exampleDTensor+">>> d.size_global()\n(2, 3)",
			func(e *builtins.Env, fn string, t *tensor.Tensor, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
				return builtins.TensorSize(e, fn, nil, t, args, kwargs)
			}),
		placedMethod("to_local", "to_local(grad_placements=None) returns this rank's block as a plain tensor that shares its storage.\n"+
			"The gradient that comes back is taken for this rank's block of the gradient of the whole, which lies as\n"+
			"grad_placements says: None is for like the tensor, Partial() for summands.\n"+exampleDTensor+">>> d.to_local().shape\n(2, 3)",
			func(e *builtins.Env, fn string, t *tensor.Tensor, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
				back, err := gradLayout(e, fn, t, args, kwargs)
				if err != nil {
					return nil, err
				}
				y, err := e.Runtime.Shard.ToLocal(t, back)
				if err != nil {
					return nil, err
				}
				if e.Runtime.Typing() {
					y.SetTyped(localMark(e, t, back))
				}
				return e.Wrap(y), nil
			}),
		placedMethod("full_tensor", "full_tensor(grad_placements=None) returns the whole as a plain tensor, on every rank of the mesh.\n"+
			"Every rank of the mesh calls it; on others it is an error. grad_placements is as in to_local; None is for Replicate().\n"+
			exampleDTensor+">>> d.full_tensor().shape\n(2, 3)",
			func(e *builtins.Env, fn string, t *tensor.Tensor, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
				back, err := gradLayout(e, fn, t, args, kwargs)
				if err != nil {
					return nil, err
				}
				y, err := e.Runtime.Shard.Full(fn, t, back)
				if err != nil {
					return nil, err
				}
				return e.Wrap(y), nil
			}),
		placedMethod("redistribute", "redistribute(mesh=None, placements=None, async_op=False, forward_dtype=None, backward_dtype=None) returns the tensor in other placements, or on another mesh.\n"+
			"It moves what plan_redistribute says, and nothing where the placements are the same. Partial is no target,\n"+
			"unless it is so already. The ranks of both meshes call it. With async_op it returns (tensor, work).\n"+
			"The result is of forward_dtype, in which it is moved; gradients are moved in backward_dtype. None is for that of the tensor.\n"+
			exampleDTensor+">>> d.redistribute(placements=[Replicate()]).placements\n(Replicate(),)",
			redistribute),
	)
}

// creatorRow returns the row of a function that makes a distributed tensor of elements that the
// documentation calls contents. With value they are an argument. sum is what the elements of the
// example add up to; "" where nobody knows.
func creatorRow(name, contents string, value bool, fill filler, sum string) *builtins.Row {
	param, one := "", ""
	if value {
		param, one = "value, ", "1.0, "
	}
	example := ">>> DTensor." + name + "((2, 3), " + one + "DeviceMesh(\"cpu\", [0]), [Shard(0)])"
	if sum == "" {
		example += ".shape\n(2, 3)"
	} else {
		example += ".sum().item()\n" + sum
	}
	return &builtins.Row{Name: "DTensor." + name, Static: true, Fn: dtensorCreator(value, fill),
		Doc: "DTensor." + name + "(shape, " + param + "mesh=None, placements=None, dtype=None, requires_grad=False) returns a distributed tensor of " + contents + ".\n" +
			"Each rank makes its block alone; random numbers are those of the same elements of " + name + "(shape) on one rank. shape is that of\n" +
			"the whole. mesh None is all ranks in a line, placements None all Replicate().\n" + example}
}
