package dtensor

import (
	"fmt"
	"slices"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/internal/units"
	"tpsh/runtime/op"
)

// A Partition is an entry of a dim_partition_dict: a dim of a tensor and the
// mesh dims that cut it.
type Partition struct {
	Dim  int
	Axes []int
}

// ToPartition returns the entries of v, the argument dim_partition_dict of fn,
// in their order.
func ToPartition(fn string, v starlark.Value) ([]Partition, error) {
	bad := func(got, want string) error {
		return &op.ArgError{Func: fn, Param: "dim_partition_dict", Got: got, Want: want, Rule: "a dim of the tensor, and the mesh dims that cut it"}
	}
	dict, ok := v.(*starlark.Dict)
	if !ok {
		return nil, bad(arg.Show(v), "a dict of lists of ints")
	}
	var parts []Partition
	for key, value := range dict.Entries() {
		dim, err := arg.ToInt(key)
		if err != nil {
			return nil, bad("the key "+arg.Show(key), "an int")
		}
		var axes IntsArg
		if err := axes.Unpack(value); err != nil {
			return nil, bad(arg.Show(value)+" for dim "+fmt.Sprint(dim), "a list of ints")
		}
		parts = append(parts, Partition{dim, axes})
	}
	return parts, nil
}

// PartitionDict returns entries as a dict with lists of its own.
func PartitionDict(parts []Partition) (*starlark.Dict, error) {
	dict := starlark.NewDict(len(parts))
	for _, p := range parts {
		if err := dict.SetKey(starlark.MakeInt(p.Dim), builtins.IntList(p.Axes)); err != nil {
			return nil, err
		}
	}
	return dict, nil
}

// FromFront returns dim, a key of the argument dim_partition_dict of fn,
// counted from the front of a tensor of size dims.
func FromFront(fn string, dim, size int) (int, error) {
	if dim < -size || dim >= size {
		want := fmt.Sprintf("%d..%d", -size, size-1)
		if size == 0 {
			want = "no dim"
		}
		return 0, &op.ArgError{Func: fn, Param: "dim_partition_dict", Got: fmt.Sprintf("dim %d", dim),
			Want: want, Rule: "the tensor has " + units.Count(size, "dim")}
	}
	if dim < 0 {
		dim += size
	}
	return dim, nil
}

func init() {
	builtins.Register(&builtins.Row{
		Name: "convert_dim_partition_dict",
		Doc: "convert_dim_partition_dict(dim_size, dim_partition_dict) returns the dict, in which it has made the keys count from the front.\n" +
			"dim_size is the number of dims of the tensor. The dict itself is changed; the keys that\n" +
			"were negative come last. Where a dim is there in both forms, that is an error:\n" +
			"merge_same_dim_mesh_list joins them.\n" +
			">>> convert_dim_partition_dict(3, {-2: [1], 0: [0]})\n{0: [0], 1: [1]}",
		Fn: convertPartition,
	}, &builtins.Row{
		Name: "merge_same_dim_mesh_list",
		Doc: "merge_same_dim_mesh_list(dim_size, dim_partition_dict) returns a new dict whose keys count from the front, with the lists of keys of one dim joined in their order.\n" +
			"dim_size is the number of dims of the tensor.\n" +
			">>> merge_same_dim_mesh_list(2, {-1: [1], 1: [0]})\n{1: [1, 0]}",
		Fn: mergePartition,
	})
}

// unpackPartition takes the arguments of the functions of partition dicts.
func unpackPartition(fn string, args starlark.Tuple, kwargs []starlark.Tuple) (size int, dict starlark.Value, parts []Partition, err error) {
	var n arg.Int
	if err := arg.Unpack(fn, args, kwargs, "dim_size", &n, "dim_partition_dict", &dict); err != nil {
		return 0, nil, nil, err
	}
	if n < 0 {
		return 0, nil, nil, &op.ArgError{Func: fn, Param: "dim_size", Got: fmt.Sprint(n), Want: "a non-negative int"}
	}
	parts, err = ToPartition(fn, dict)
	return int(n), dict, parts, err
}

func convertPartition(_ *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	size, v, parts, err := unpackPartition(b.Name(), args, kwargs)
	if err != nil {
		return nil, err
	}
	seen := map[int]bool{}
	for _, p := range parts {
		dim, err := FromFront(b.Name(), p.Dim, size)
		if err != nil {
			return nil, err
		}
		if seen[dim] {
			return nil, &op.ArgError{Func: b.Name(), Param: "dim_partition_dict", Got: fmt.Sprintf("dim %d as %d and %d", dim, dim, dim-size),
				Want: "each dim once", Rule: "merge_same_dim_mesh_list joins them"}
		}
		seen[dim] = true
	}
	dict := v.(*starlark.Dict)
	for _, p := range parts {
		if p.Dim >= 0 {
			continue
		}
		list, _, err := dict.Delete(starlark.MakeInt(p.Dim))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", b.Name(), err)
		}
		if err := dict.SetKey(starlark.MakeInt(p.Dim+size), list); err != nil {
			return nil, fmt.Errorf("%s: %w", b.Name(), err)
		}
	}
	return dict, nil
}

func mergePartition(_ *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	size, _, parts, err := unpackPartition(b.Name(), args, kwargs)
	if err != nil {
		return nil, err
	}
	var merged []Partition
	for _, p := range parts {
		dim, err := FromFront(b.Name(), p.Dim, size)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(merged, func(q Partition) bool { return q.Dim == dim })
		if i < 0 {
			i = len(merged)
			merged = append(merged, Partition{Dim: dim})
		}
		merged[i].Axes = append(merged[i].Axes, p.Axes...)
	}
	return PartitionDict(merged)
}

// IntsArg is an argument that is a list or tuple of ints, and not one int.
type IntsArg []int

// Unpack implements starlark.Unpacker.
func (p *IntsArg) Unpack(v starlark.Value) error {
	if _, single := v.(starlark.Int); single {
		return arg.Bad(v, "a list of ints", "")
	}
	list, err := arg.ToInts(v)
	*p = list
	return err
}
