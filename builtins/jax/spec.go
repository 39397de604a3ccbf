package jax

import (
	"fmt"
	"slices"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/builtins/dtensor"
	"tpsh/internal/units"
	"tpsh/mesh"
	"tpsh/runtime/op"
	"tpsh/runtime/shard"
	"tpsh/runtime/tensor"
)

// A Spec is P("dp", None, ("pp", "tp")): for each dim of a tensor, the axes that cut it.
type Spec struct {
	env  *builtins.Env
	dims [][]string
}

var (
	_ dtensor.Spec  = (*Spec)(nil)
	_ arg.Described = (*Spec)(nil)
)

// String returns s as a script writes it.
func (s *Spec) String() string {
	texts := make([]string, len(s.dims))
	for i, axes := range s.dims {
		switch len(axes) {
		case 0:
			texts[i] = "None"
		case 1:
			texts[i] = fmt.Sprintf("%q", axes[0])
		default:
			texts[i] = `("` + strings.Join(axes, `", "`) + `")`
		}
	}
	return "P(" + strings.Join(texts, ", ") + ")"
}

func (s *Spec) Describe() string      { return s.String() }
func (s *Spec) Type() string          { return "PartitionSpec" }
func (s *Spec) Freeze()               {} // it cannot be changed
func (s *Spec) Truth() starlark.Bool  { return true }
func (s *Spec) Hash() (uint32, error) { return starlark.String(fmt.Sprint(s.cut())).Hash() }

// cut returns the axes of each dim, up to the last dim that is cut.
func (s *Spec) cut() [][]string {
	n := len(s.dims)
	for n > 0 && len(s.dims[n-1]) == 0 {
		n--
	}
	return s.dims[:n]
}

// CompareSameType implements starlark.Comparable: specs that cut alike are equal, as P("dp")
// and P("dp", None) are in JAX.
func (s *Spec) CompareSameType(cmp syntax.Token, v starlark.Value, _ int) (bool, error) {
	return builtins.Equality("PartitionSpec", cmp, slices.EqualFunc(s.cut(), v.(*Spec).cut(), slices.Equal))
}

// Mesh implements dtensor.Spec: the mesh that axes are dims of here.
func (s *Spec) Mesh() (m *mesh.Mesh, alone bool) {
	if d := dtensor.CurrentMesh(s.env); d != nil {
		return d.M, false
	}
	return nil, false
}

// On implements dtensor.Spec. As in JAX, s has no more entries than the tensor dims, be they None.
func (s *Spec) On(m *mesh.Mesh, ndim int) ([]mesh.Placement, error) {
	if ndim != dtensor.AnyDims && len(s.dims) > ndim {
		return nil, arg.Bad(s, fmt.Sprintf("one of at most %s", units.Count(ndim, "dim")), "the tensor has no more")
	}
	list := make([]mesh.Placement, m.NDim())
	var order []int
	for dim, axes := range s.dims {
		for _, name := range axes {
			at, ok := m.Dim(name)
			if !ok {
				rule := "the mesh is " + m.Short()
				if near := arg.Nearest(name, m.Names()); near != "" {
					rule = near + " " + rule
				}
				return nil, arg.Bad(s, fmt.Sprintf("axes of the mesh, which has no %q", name), rule)
			}
			if !list[at].IsReplicate() {
				return nil, arg.Bad(s, fmt.Sprintf("%q once", name), "an axis cuts one dim")
			}
			list[at], order = mesh.Shard(dim), append(order, at)
		}
	}
	return mesh.InOrder(m, list, order), nil
}

// A Sharding is NamedSharding(mesh, P(...)).
type Sharding struct {
	env  *builtins.Env
	mesh *dtensor.DeviceMesh
	spec *Spec
}

var _ dtensor.Spec = (*Sharding)(nil)

func (s *Sharding) String() string {
	return fmt.Sprintf("NamedSharding(mesh=%s, spec=%v)", s.mesh.M.Short(), s.spec)
}
func (s *Sharding) Describe() string                 { return s.String() }
func (s *Sharding) Type() string                     { return "NamedSharding" }
func (s *Sharding) Freeze()                          {} // it cannot be changed
func (s *Sharding) Truth() starlark.Bool             { return true }
func (s *Sharding) Hash() (uint32, error)            { return s.spec.Hash() }
func (s *Sharding) Mesh() (m *mesh.Mesh, alone bool) { return s.mesh.M, true }

// CompareSameType implements starlark.Comparable: equal are equal specs on equal meshes.
func (s *Sharding) CompareSameType(cmp syntax.Token, v starlark.Value, depth int) (bool, error) {
	o := v.(*Sharding)
	same, err := starlark.EqualDepth(s.spec, o.spec, depth)
	if err != nil {
		return false, err
	}
	return builtins.Equality("NamedSharding", cmp, same && s.mesh.M.Equal(o.mesh.M))
}

// On implements dtensor.Spec: m is to be the mesh of s.
func (s *Sharding) On(m *mesh.Mesh, ndim int) ([]mesh.Placement, error) {
	if !m.Equal(s.mesh.M) {
		return nil, arg.Bad(s, "one on the mesh "+m.Short(), "P(...) is on any that has its axes")
	}
	return s.spec.On(m, ndim)
}

func (s *Sharding) Attr(name string) (starlark.Value, error) {
	return s.env.Attr("NamedSharding", s, name)
}
func (s *Sharding) AttrNames() []string { return builtins.AttrNames("NamedSharding") }

// newSpec carries out P.
func newSpec(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if len(kwargs) > 0 {
		return nil, arg.Unexpected(b.Name(), string(kwargs[0][0].(starlark.String)), nil)
	}
	s := &Spec{env: e}
	for i, v := range args {
		axes, err := axesOf(v)
		if err != nil {
			return nil, &op.ArgError{Func: b.Name(), Got: fmt.Sprintf("%s at index %d", arg.Show(v), i), Want: "the name of an axis, a tuple of such, or None"}
		}
		s.dims = append(s.dims, axes)
	}
	return s, nil
}

// axesOf returns the names that an argument of P says.
func axesOf(v starlark.Value) ([]string, error) {
	if v == starlark.None {
		return nil, nil
	}
	if name, ok := starlark.AsString(v); ok {
		return []string{name}, nil
	}
	var list arg.List
	if err := list.Unpack(v); err != nil {
		return nil, err
	}
	var axes []string
	for _, item := range list {
		name, ok := starlark.AsString(item)
		if !ok {
			return nil, arg.Bad(item, "a string", "")
		}
		axes = append(axes, name)
	}
	return axes, nil
}

// specOf returns the placements on m of a tensor of ndim dims that v, the argument called param of fn, says;
// nil for None.
func specOf(fn, param string, v starlark.Value, m *mesh.Mesh, ndim int) ([]mesh.Placement, error) {
	switch s := v.(type) {
	case starlark.NoneType:
		return nil, nil
	case *Spec:
		list, err := s.On(m, ndim)
		return list, arg.In(fn, param, err)
	case *Sharding:
		list, err := s.On(m, ndim)
		return list, arg.In(fn, param, err)
	}
	return nil, &op.ArgError{Func: fn, Param: param, Got: arg.Show(v), Want: `P("axis", None, ...) or None`}
}

// reshard carries out reshard: of a plain tensor, which all ranks have alike, it takes blocks.
func reshard(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var x, spec starlark.Value
	if err := arg.Unpack(b.Name(), args, kwargs, "x|xs", &x, "sharding|out_shardings", &spec); err != nil {
		return nil, err
	}
	return each(b.Name(), spec, x, "x", func(spec, leaf starlark.Value, _ string) (starlark.Value, error) {
		var x builtins.OneTensor
		if err := x.Unpack(leaf); err != nil {
			return nil, arg.In(b.Name(), "x", err)
		}
		y, err := reshardOne(e, b.Name(), x.T, spec)
		if err != nil {
			return nil, err
		}
		return e.Wrap(y), nil
	})
}

// reshardOne returns x as spec places it.
func reshardOne(e *builtins.Env, fn string, x *tensor.Tensor, spec starlark.Value) (*tensor.Tensor, error) {
	var m *mesh.Mesh
	if s, ok := spec.(*Sharding); ok {
		m = s.mesh.M
	} else if x.Placed() {
		m = x.Layout().Mesh()
	} else if d := dtensor.CurrentMesh(e); d != nil {
		m = d.M
	}
	if m == nil {
		return nil, &op.ArgError{Func: fn, Param: "sharding", Got: arg.Show(spec), Want: "a NamedSharding", Rule: "no mesh has been made"}
	}
	list, err := specOf(fn, "sharding", spec, m, x.Ndim())
	if err != nil {
		return nil, err
	}
	if list == nil {
		list = make([]mesh.Placement, m.NDim())
	}
	l, err := e.Runtime.Layouts().Place(m, x.Shape(), list)
	if err != nil {
		return nil, shard.OfMesh(fn, err)
	}
	if !x.Placed() {
		if x, err = e.Runtime.Shard.FromLocal(x, e.Runtime.Shard.Replicated(m, x.Shape())); err != nil {
			return nil, arg.Rename(fn, err)
		}
	}
	return e.Runtime.Shard.Redistribute(fn, x, l)
}
