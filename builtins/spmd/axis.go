package spmd

import (
	"fmt"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/builtins/collective"
	"tpsh/builtins/dtensor"
	"tpsh/runtime"
	"tpsh/runtime/op"
)

// sizeOf returns how many ranks an axis has; 0 if that is not known.
func sizeOf(e *builtins.Env) func(axis string) int {
	return func(axis string) int {
		if d := dtensor.CurrentMesh(e); d != nil {
			if dim, ok := d.M.Dim(axis); ok {
				return d.M.Shape()[dim]
			}
		}
		return 0
	}
}

// Within calls f with axes those of d, and types on or, unless they are already, off.
func Within(e *builtins.Env, d *dtensor.DeviceMesh, types bool, f func() (starlark.Value, error)) (starlark.Value, error) {
	defer dtensor.Enter(e, d)()
	if types {
		defer e.Runtime.Types(sizeOf(e))()
	}
	return f()
}

// Axes returns the axes that v, the argument called param of fn, says: one, or a tuple of them.
func Axes(e *builtins.Env, fn, param string, v starlark.Value) ([]Axis, error) {
	items := []starlark.Value{v}
	if builtins.IsList(v) {
		var list arg.List
		if err := list.Unpack(v); err != nil {
			return nil, arg.In(fn, param, err)
		}
		items = list
	}
	axes := make([]Axis, len(items))
	for i, item := range items {
		var err error
		if axes[i], err = axisOf(e, fn, param, item); err != nil {
			return nil, err
		}
	}
	return axes, nil
}

// An Axis is a dim of a mesh, and the group of the ranks along it that this rank is in.
type Axis struct {
	name string // "" for a group that lies along no dim of the mesh
	g    *runtime.Group
}

// Name returns the name of the axis; "" for a group that lies along no dim of the mesh.
func (a Axis) Name() string { return a.name }

// Group returns the ranks of the axis.
func (a Axis) Group() *runtime.Group { return a.g }

// nameOf returns the name of the axis that v, the argument called param of fn, says.
func nameOf(fn, param string, v starlark.Value, d *dtensor.DeviceMesh) (string, error) {
	name, ok := starlark.AsString(v)
	if !ok {
		if sub, isMesh := v.(*dtensor.DeviceMesh); isMesh && sub.M.NDim() == 1 && sub.M.Names() != nil {
			return sub.M.Names()[0], nil
		}
		return "", &op.ArgError{Func: fn, Param: param, Got: arg.Show(v), Want: "the name of an axis"}
	}
	if d != nil {
		if _, ok := d.M.Dim(name); !ok {
			got := fmt.Sprintf("axis %q", name)
			if len(d.M.Names()) == 0 {
				return "", &op.ArgError{Func: fn, Param: param, Got: got, Want: "an axis of the mesh, whose dims have no names", Rule: "the mesh is " + d.M.Short()}
			}
			return "", d.UnknownDim(fn, param, got, name)
		}
	}
	return name, nil
}

// axisOf returns the axis that v, the argument called param of fn, says: a name, a mesh of one dim, or a group.
func axisOf(e *builtins.Env, fn, param string, v starlark.Value) (Axis, error) {
	d := dtensor.CurrentMesh(e)
	if _, ok := starlark.AsString(v); ok {
		if d == nil {
			return Axis{}, &op.ArgError{Func: fn, Param: param, Got: arg.Show(v), Want: "an axis of a mesh", Rule: `no mesh has been made: init_device_mesh("cpu", (2, 4), mesh_dim_names=("dp", "tp")) makes one`}
		}
		name, err := nameOf(fn, param, v, d)
		if err != nil {
			return Axis{}, err
		}
		dim, _ := d.M.Dim(name)
		if !e.Runtime.Member(d.M) {
			return Axis{}, &op.ArgError{Func: fn, Param: param, Got: arg.Show(v), Want: "a mesh with this rank in it", Rule: "the mesh is " + d.M.Short()}
		}
		g, err := e.Runtime.LineGroup(d.M, dim)
		return Axis{name, g}, err
	}
	if v == nil || v == starlark.None {
		g := e.Runtime.World()
		return Axis{lineName(e, d, g), g}, nil
	}
	if _, ok := v.(collective.Grouped); !ok {
		return Axis{}, &op.ArgError{Func: fn, Param: param, Got: arg.Show(v), Want: `the name of an axis, a mesh of one dim such as mesh["tp"], or a group`}
	}
	g, err := collective.GroupOf(e, fn, v)
	if err != nil {
		return Axis{}, err
	}
	if sub, ok := v.(*dtensor.DeviceMesh); ok && sub.M.Names() != nil {
		return Axis{sub.M.Names()[0], g}, nil
	}
	return Axis{lineName(e, d, g), g}, nil
}

// lineName returns the name of the dim of d along which g lies; "" if it lies along none.
func lineName(e *builtins.Env, d *dtensor.DeviceMesh, g *runtime.Group) string {
	if d == nil || d.M.Names() == nil || !e.Runtime.Member(d.M) {
		return ""
	}
	for dim, name := range d.M.Names() {
		if line, err := e.Runtime.LineGroup(d.M, dim); err == nil && line == g {
			return name
		}
	}
	return ""
}
