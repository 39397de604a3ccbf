package dtensor

import (
	"fmt"
	"slices"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/internal/units"
	"tpsh/mesh"
	"tpsh/runtime/op"
	"tpsh/runtime/shard"
)

// joinedDims are what a rank's programs have called several dims of a mesh together, by _flatten: mesh["dp_cp"]
// then is the mesh along them, as mesh["dp"] is that along one.
type joinedDims struct {
	named map[*mesh.Mesh]map[string][]int // the dims of a mesh by their common name
	parts map[*mesh.Mesh]meshPart         // where a mesh lies that was cut out of another
}

// A meshPart is a mesh cut out of another: along which dims of that each of its own is.
type meshPart struct {
	of   *mesh.Mesh
	dims [][]int
}

// part returns where m lies in the mesh that it was cut out of, or in itself.
func (j *joinedDims) part(m *mesh.Mesh) meshPart {
	if p, ok := j.parts[m]; ok {
		return p
	}
	p := meshPart{of: m}
	for _, dim := range allDims(m) {
		p.dims = append(p.dims, []int{dim})
	}
	return p
}

// cut notes that sub was cut out of m, each of its dims along some of m's.
func (j *joinedDims) cut(sub, m *mesh.Mesh, dims [][]int) {
	if sub == m {
		return
	}
	if j.parts == nil {
		j.parts = map[*mesh.Mesh]meshPart{}
	}
	from := j.part(m)
	p := meshPart{of: from.of}
	for _, list := range dims {
		var along []int
		for _, d := range list {
			along = append(along, from.dims[d]...)
		}
		p.dims = append(p.dims, along)
	}
	j.parts[sub] = p
}

// call gives all dims of d a common name in the mesh that it was cut out of. fn is the function that does.
func (j *joinedDims) call(fn string, d *DeviceMesh, name string) error {
	p := j.part(d.M)
	dims := slices.Concat(p.dims...)
	bad := func(want string) error {
		return &op.ArgError{Func: fn, Param: "mesh_dim_name", Got: arg.Show(starlark.String(name)), Want: want, Rule: "the mesh is " + p.of.Short()}
	}
	if _, ok := p.of.Dim(name); ok && len(dims) > 1 {
		return bad("another name than those of the dims")
	}
	if was, ok := j.named[p.of][name]; ok && !slices.Equal(was, dims) {
		return bad("another name than other dims have together")
	}
	j.name(p.of, name, dims)
	if d.M != p.of {
		j.name(d.M, name, allDims(d.M)) // which a program may also have made by itself
	}
	return nil
}

func (j *joinedDims) name(m *mesh.Mesh, name string, dims []int) {
	if j.named == nil {
		j.named = map[*mesh.Mesh]map[string][]int{}
	}
	if j.named[m] == nil {
		j.named[m] = map[string][]int{}
	}
	j.named[m][name] = dims
}

func allDims(m *mesh.Mesh) []int {
	all := make([]int, m.NDim())
	for i := range all {
		all[i] = i
	}
	return all
}

// along returns the dims of d that a key of mesh[key] says: one, or those that a program has named together.
func (d *DeviceMesh) along(fn, param string, key starlark.Value) (dims []int, name string, err error) {
	if name, ok := starlark.AsString(key); ok {
		joined := builtins.StateOf[joinedDims](d.env).named[d.M]
		if _, own := d.M.Dim(name); !own && joined != nil {
			if dims, ok := joined[name]; ok {
				return dims, name, nil
			}
			return nil, "", d.unknownName(fn, param, arg.Show(key), name, d.KeyNames())
		}
	}
	dim, err := d.Dim(fn, param, key)
	if err != nil {
		return nil, "", err
	}
	if names := d.M.Names(); names != nil {
		name = names[dim]
	}
	return []int{dim}, name, nil
}

// sub returns the mesh along some dims of d that holds the rank. Each of lists becomes one of its dims, of those names;
// "" is of a dim that has none.
func (d *DeviceMesh) sub(lists [][]int, names []string) *DeviceMesh {
	r := d.env.Runtime
	m := r.SubMesh(d.M, slices.Concat(lists...)...)
	if slices.ContainsFunc(lists, func(list []int) bool { return len(list) > 1 }) {
		counts := make([]int, len(lists))
		for i, list := range lists {
			counts[i] = len(list)
		}
		if slices.Contains(names, "") {
			names = nil
		}
		m = r.SameRanks(m, m.Join(counts, names))
	}
	builtins.StateOf[joinedDims](d.env).cut(m, d.M, lists)
	return &DeviceMesh{d.env, m}
}

// flattenNamed is DeviceMesh._flatten.
func flattenNamed(_ *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var given arg.Opt[arg.String, *arg.String]
	if err := arg.Unpack(b.Name(), args, kwargs, "mesh_dim_name?", &given); err != nil {
		return nil, err
	}
	d := b.Receiver().(*DeviceMesh)
	flat := d.M.Flatten()
	if given.Set {
		var err error
		if flat, err = flat.Named(string(given.V)); err != nil {
			return nil, shard.OfMesh(b.Name(), err)
		}
	}
	joined := builtins.StateOf[joinedDims](d.env)
	if names := flat.Names(); names != nil {
		if err := joined.call(b.Name(), d, names[0]); err != nil {
			return nil, err
		}
	}
	flat = d.env.Runtime.SameRanks(d.M, flat)
	joined.cut(flat, d.M, [][]int{allDims(d.M)})
	return &DeviceMesh{d.env, flat}, nil
}

// unflatten is DeviceMesh._unflatten.
func unflatten(_ *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		v     starlark.Value
		sizes arg.Shape
		names arg.Strings
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "dim", &v, "mesh_sizes", &sizes, "mesh_dim_names", &names); err != nil {
		return nil, err
	}
	d := b.Receiver().(*DeviceMesh)
	dim, err := d.Dim(b.Name(), "dim", v)
	if err != nil {
		return nil, err
	}
	size := d.M.Shape()[dim]
	left := size
	for _, n := range sizes {
		if n == 0 || left%n != 0 {
			left = 0 // their product, which may be past 64 bits, is another
			break
		}
		left /= n
	}
	if left != 1 {
		return nil, &op.ArgError{Func: b.Name(), Param: "mesh_sizes", Got: mesh.Tuple(sizes), Want: fmt.Sprintf("sizes whose product is %d", size), Rule: "the mesh is " + d.M.Short()}
	}
	if len(names) != len(sizes) {
		return nil, &op.ArgError{Func: b.Name(), Param: "mesh_dim_names", Got: units.Count(len(names), "name"), Want: fmt.Sprint(len(sizes)), Rule: "one for each of mesh_sizes"}
	}
	if d.M.NDim() > 1 {
		if d.M.Names() == nil {
			return nil, &op.ArgError{Func: b.Name(), Param: "mesh_dim_names", Got: quoted(names), Want: "a mesh whose other dims have names", Rule: "the mesh is " + d.M.Short()}
		}
		names = slices.Replace(slices.Clone(d.M.Names()), dim, dim+1, names...)
	}
	m, err := d.M.Split(dim, sizes).Named(names...)
	if err != nil {
		return nil, shard.OfMesh(b.Name(), err)
	}
	return &DeviceMesh{d.env, d.env.Runtime.SameRanks(d.M, m)}, nil
}
