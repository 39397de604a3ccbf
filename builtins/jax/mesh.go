package jax

import (
	"errors"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/runtime/op"
)

// makeMesh is jax.make_mesh.
func makeMesh(_ *builtins.Env, thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	return meshNamed(thread, b, "init_device_mesh", "axis_shapes", args, kwargs)
}

// meshOf is jax.sharding.Mesh.
func meshOf(_ *builtins.Env, thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	return meshNamed(thread, b, "DeviceMesh", "devices", args, kwargs)
}

// meshNamed returns the mesh that the function called maker makes of the argument called of and of names of axes.
func meshNamed(thread *starlark.Thread, b *starlark.Builtin, maker, of string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var what, names, types starlark.Value
	if err := arg.Unpack(b.Name(), args, kwargs, of, &what, "axis_names", &names, "axis_types??", &types); err != nil {
		return nil, err
	}
	if name, ok := names.(starlark.String); ok {
		names = starlark.Tuple{name}
	}
	v, err := builtins.Lookup(maker).(starlark.Callable).CallInternal(thread, starlark.Tuple{starlark.String("cpu"), what, names}, nil)
	var bad *op.ArgError
	if errors.As(err, &bad) {
		switch bad.Param {
		case "mesh_shape", "mesh":
			bad.Param = of
		case "mesh_dim_names":
			bad.Param = "axis_names"
		}
	}
	return v, arg.Rename(b.Name(), err)
}
