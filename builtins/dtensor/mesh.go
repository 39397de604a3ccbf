package dtensor

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/builtins/collective"
	"tpsh/mesh"
	"tpsh/runtime"
	"tpsh/runtime/op"
)

// A DeviceMesh is an n-dimensional array of ranks as scripts have it. Its mesh
// is one of the rank's Layouts, so that equal ones are one pointer.
type DeviceMesh struct {
	env *builtins.Env
	M   *mesh.Mesh
}

var (
	_ collective.Grouped  = (*DeviceMesh)(nil)
	_ starlark.HasAttrs   = (*DeviceMesh)(nil)
	_ starlark.Mapping    = (*DeviceMesh)(nil)
	_ starlark.Comparable = (*DeviceMesh)(nil)
	_ arg.Described       = (*DeviceMesh)(nil)
)

// DeviceMeshOf returns m as scripts have it.
func DeviceMeshOf(e *builtins.Env, m *mesh.Mesh) *DeviceMesh {
	return &DeviceMesh{e, e.Runtime.Layouts().Mesh(m)}
}

// Mesh returns the mesh that d stands for.
func (d *DeviceMesh) Mesh() *mesh.Mesh { return d.M }

// String returns d as a script writes it:
// DeviceMesh("cpu", [[0, 1], [2, 3]], mesh_dim_names=("dp", "tp")).
func (d *DeviceMesh) String() string {
	return `DeviceMesh("cpu", ` + strings.TrimPrefix(d.M.String(), "DeviceMesh(")
}

func (d *DeviceMesh) Describe() string     { return "a DeviceMesh of " + d.M.Short() }
func (d *DeviceMesh) Type() string         { return "DeviceMesh" }
func (d *DeviceMesh) Freeze()              {} // it cannot be changed
func (d *DeviceMesh) Truth() starlark.Bool { return true }
func (d *DeviceMesh) AttrNames() []string  { return builtins.AttrNames("DeviceMesh") }
func (d *DeviceMesh) Attr(name string) (starlark.Value, error) {
	return d.env.Attr("DeviceMesh", d, name)
}

// Hash implements starlark.Value: equal meshes have one hash.
func (d *DeviceMesh) Hash() (uint32, error) {
	return starlark.String(fmt.Sprint(d.M.Shape(), d.M.Ranks())).Hash()
}

// CompareSameType implements starlark.Comparable.
func (d *DeviceMesh) CompareSameType(cmp syntax.Token, v starlark.Value, _ int) (bool, error) {
	return builtins.Equality("DeviceMesh", cmp, d.Equals(v.(*DeviceMesh)))
}

// Equals reports whether two meshes hold the same ranks in the same shape; names
// and costs do not count.
func (d *DeviceMesh) Equals(o *DeviceMesh) bool {
	return d.M == o.M || slices.Equal(d.M.Shape(), o.M.Shape()) && d.env.Runtime.EqualRanks(d.M, o.M)
}

// CommGroup implements collective.Grouped: a mesh of one dim is the group of its ranks.
func (d *DeviceMesh) CommGroup() (*runtime.Group, error) {
	if d.M.NDim() != 1 {
		return nil, arg.Bad(d, "a mesh of one dim", `mesh["name"] and mesh.get_group(dim) give the part along a dim`)
	}
	return d.env.Runtime.MeshGroup(d.M)
}

// Get implements starlark.Mapping: mesh["tp"] and mesh["dp", "tp"] are the
// meshes along these dims that hold the rank. A name may be of several dims, see joinedDims.
func (d *DeviceMesh) Get(k starlark.Value) (starlark.Value, bool, error) {
	keys, ok := k.(starlark.Tuple)
	if list, isList := k.(*starlark.List); isList { // as PyTorch takes them, too
		for v := range list.Elements() {
			keys = append(keys, v)
		}
	} else if !ok {
		keys = starlark.Tuple{k}
	}
	lists, names, last := make([][]int, len(keys)), make([]string, len(keys)), -1
	for i, key := range keys {
		var err error
		if lists[i], names[i], err = d.along("DeviceMesh", "", key); err != nil {
			return nil, false, err
		}
		for _, dim := range lists[i] {
			if dim <= last {
				return nil, false, &op.ArgError{Func: "DeviceMesh", Got: "dims " + arg.Show(k), Want: "dims in the order of the mesh, each once", Rule: "the mesh is " + d.M.Short()}
			}
			last = dim
		}
	}
	if len(keys) == 0 {
		return nil, false, &op.ArgError{Func: "DeviceMesh", Got: "no dims", Want: "at least one"}
	}
	return d.sub(lists, names), true, nil
}

// Dim returns the dim of the mesh that v, the argument called param of fn,
// says by its name or its number, which may count from the back.
func (d *DeviceMesh) Dim(fn, param string, v starlark.Value) (int, error) {
	bad := func(want string) error {
		return &op.ArgError{Func: fn, Param: param, Got: arg.Show(v), Want: want, Rule: "the mesh is " + d.M.Short()}
	}
	if name, ok := starlark.AsString(v); ok {
		if dim, ok := d.M.Dim(name); ok {
			return dim, nil
		}
		if d.M.Names() == nil {
			return 0, bad("the number of a dim, since the dims have no names")
		}
		return 0, d.UnknownDim(fn, param, arg.Show(v), name)
	}
	n := d.M.NDim()
	dim, err := arg.ToInt(v)
	if err != nil || dim < -n || dim >= n {
		return 0, bad(fmt.Sprintf("the name of a dim, or %d..%d", -n, n-1))
	}
	return (dim + n) % n, nil
}

// UnknownDim returns the error of got, an argument of fn that names a dim, or an
// axis, that d does not have. The dims of d have names.
func (d *DeviceMesh) UnknownDim(fn, param, got, name string) error {
	return d.unknownName(fn, param, got, name, d.M.Names())
}

// unknownName is UnknownDim of an argument that wants one of names.
func (d *DeviceMesh) unknownName(fn, param, got, name string, names []string) error {
	rule := "the mesh is " + d.M.Short()
	if near := arg.Nearest(name, names); near != "" {
		rule = near + " " + rule
	}
	return &op.ArgError{Func: fn, Param: param, Got: got, Want: "one of " + quoted(names), Rule: rule}
}

// quoted returns names as a script writes them, with commas between them.
func quoted(names []string) string {
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = starlark.String(name).String()
	}
	return strings.Join(list, ", ")
}

// MeshArg is an argument that is a DeviceMesh.
type MeshArg struct{ *DeviceMesh }

// Unpack implements starlark.Unpacker.
func (p *MeshArg) Unpack(v starlark.Value) error {
	d, ok := v.(*DeviceMesh)
	if !ok {
		return arg.Bad(v, "a DeviceMesh", "")
	}
	p.DeviceMesh = d
	return nil
}

// optMesh is an argument that is a DeviceMesh or None; Set tells which.
type optMesh = arg.Opt[MeshArg, *MeshArg]

// KeyNames implements builtins.Keyed: the names of the dims, and of those that have one together.
func (d *DeviceMesh) KeyNames() []string {
	return append(slices.Clip(d.M.Names()), slices.Sorted(maps.Keys(builtins.StateOf[joinedDims](d.env).named[d.M]))...)
}
