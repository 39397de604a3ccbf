package colossal

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"go.starlark.net/starlark"
	"pgregory.net/rapid"

	"tpsh/builtins"
	"tpsh/builtins/builtinstest"
	"tpsh/builtins/dtensor"
	"tpsh/mesh"
	"tpsh/runtime/op"
)

// TestPinnedNamesOfMeshes checks that the names that the language page pins for
// meshes, placements, process groups and specs are there.
func TestPinnedNamesOfMeshes(t *testing.T) {
	for _, name := range strings.Fields(`
		DeviceMesh init_device_mesh Replicate Shard Partial _Partial
		DeviceMesh.shape DeviceMesh.ndim DeviceMesh.size DeviceMesh.get_rank DeviceMesh.get_coordinate DeviceMesh.get_local_rank
		DeviceMesh.get_group DeviceMesh.get_dim_groups DeviceMesh.flatten DeviceMesh.all_gather_cost DeviceMesh.all_reduce_cost
		DeviceMesh.reduce_scatter_cost DeviceMesh.all_to_all_cost DeviceMesh.mix_gather_cost
		plan_redistribute compute_local_shape_and_global_offset Plan.steps Plan.bytes Plan.seconds
		Step.op Step.mesh_dim Step.src Step.dst Step.bytes Step.seconds
		ProcessGroup ProcessGroup.rank ProcessGroup.ranks_in_group ProcessGroup.world_size ProcessGroup.tp_rank_list
		ProcessGroup.dp_rank_list ProcessGroup.tp_world_size ProcessGroup.dp_world_size ProcessGroup.tp_local_rank
		ProcessGroup.dp_local_rank ProcessGroup.tp_process_group ProcessGroup.dp_process_group ProcessGroup.cpu_tp_process_group
		ProcessGroup.cpu_dp_process_group ProcessGroup.has_cpu_groups ProcessGroup.set_cpu_groups ProcessGroup.get_ranks_in_tp
		ProcessGroup.get_ranks_in_dp
		ShardSpec ShardSpec.dims ShardSpec.num_partitions ReplicaSpec DistPlacementPattern.REPLICATE DistPlacementPattern.SHARD
		ComputeSpec ComputeSpec.compute_pattern ComputeSpec.output_replicate ComputeSpec.set_output_replicate
		ComputePattern ComputePattern.TP1D ComputePattern.TP2D ComputePattern.TP2P5D ComputePattern.TP3D TensorType
		ColoTensorSpec ColoTensorSpec.pg ColoTensorSpec.dist_attr ColoTensorSpec.compute_attr
		ShardingSpec ShardingSpec.get_sharded_shape_per_device CommSpec CommSpec.get_comm_cost CommSpec.convert_spec_to_action
		CommSpec.covert_spec_to_action CollectiveCommPattern CollectiveCommPattern.GATHER_FWD_SPLIT_BWD
		CollectiveCommPattern.SPLIT_FWD_GATHER_BWD CollectiveCommPattern.ALL2ALL_FWD_ALL2ALL_BWD
		CollectiveCommPattern.ALLREDUCE_FWD_IDENTITY_BWD CollectiveCommPattern.IDENTITY_FWD_ALLREDUCE_BWD
		CollectiveCommPattern.MIXGATHER_FWD_SPLIT_BWD convert_dim_partition_dict merge_same_dim_mesh_list`) {
		if _, ok := builtins.Doc(name); !ok {
			t.Errorf("no documentation of %s", name)
		}
	}
}

// TestPlaceSpec lays tensors out by ProcessGroups and specs; want is what the
// ranks of the group hold, one after another.
func TestPlaceSpec(t *testing.T) {
	builtinstest.OnRank(t, func(e *builtins.Env, _ *starlark.Thread) {
		four := []int{0, 1, 2, 3}
		for _, test := range []struct {
			name  string
			ranks []int
			tp    int
			spec  *DistSpec
			shape []int
			want  string // boxes, or the error after its function and parameter
		}{
			{"replicated", four, 4, replicaSpec(e), []int{8, 6}, "[0:8, 0:6] [0:8, 0:6] [0:8, 0:6] [0:8, 0:6]"},
			{"rows", four, 4, shardSpec(e, []int{0}, []int{4}), []int{8, 6}, "[0:2, 0:6] [2:4, 0:6] [4:6, 0:6] [6:8, 0:6]"},
			{"uneven columns", four, 4, shardSpec(e, []int{-1}, []int{4}), []int{8, 6}, "[0:8, 0:2] [0:8, 2:4] [0:8, 4:6] [0:8, 6:6]"},
			{"a grid", four, 4, shardSpec(e, []int{0, 1}, []int{2, 2}), []int{8, 8}, "[0:4, 0:4] [0:4, 4:8] [4:8, 0:4] [4:8, 4:8]"},
			{"a grid, columns first", four, 4, shardSpec(e, []int{1, 0}, []int{2, 2}), []int{8, 8}, "[0:4, 0:4] [4:8, 0:4] [0:4, 4:8] [4:8, 4:8]"},
			{"data parallel", four, 2, shardSpec(e, []int{1}, []int{2}), []int{8, 6}, "[0:8, 0:3] [0:8, 3:6] [0:8, 0:3] [0:8, 3:6]"},
			{"other ranks", []int{1, 3, 5, 7}, 2, shardSpec(e, []int{0}, []int{2}), []int{3}, "[0:2] [2:3] [0:2] [2:3]"},
			{"one partition", four, 1, shardSpec(e, []int{0}, []int{1}), []int{8}, "[0:8] [0:8] [0:8] [0:8]"},
			{"no dims", four, 4, replicaSpec(e), nil, "[] [] [] []"},
			{"too many blocks", four, 2, shardSpec(e, []int{0}, []int{4}), []int{8}, "num_partitions with a product of 2"},
			{"too few blocks", four, 4, shardSpec(e, []int{0}, []int{2}), []int{8}, "num_partitions with a product of 4"},
			{"a dim too far", four, 4, shardSpec(e, []int{2}, []int{4}), []int{8, 8}, "dims in -2..1"},
			{"a dim of none", four, 4, shardSpec(e, []int{0}, []int{4}), nil, "ReplicaSpec()"},
			{"a dim under two names", four, 4, shardSpec(e, []int{1, -1}, []int{2, 2}), []int{8, 8}, "each dim once"},
		} {
			t.Run(test.name, func(t *testing.T) {
				pg, err := newProcessGroup(e, test.ranks, test.tp)
				if err != nil {
					t.Fatal(err)
				}
				if got := placeText(e, pg, test.spec, test.shape); got != test.want {
					t.Errorf("%v of %v on %v: got %s, want %s", test.spec, test.shape, pg, got, test.want)
				}
			})
		}
	})
}

// placeText returns the boxes that the ranks of pg hold by placeSpec, or what
// its error wants.
func placeText(e *builtins.Env, pg *ProcessGroup, s *DistSpec, shape []int) string {
	l, err := placeSpec(e, "f", "dist_spec", pg, s, shape)
	var bad *op.ArgError
	if errors.As(err, &bad) && bad.Func == "f" && bad.Param == "dist_spec" {
		return bad.Want
	}
	if err != nil {
		return err.Error()
	}
	var boxes []string
	for _, r := range pg.Mesh().Ranks() {
		b, _ := l.Box(r)
		boxes = append(boxes, b.String())
	}
	return strings.Join(boxes, " ")
}

// TestPlaceSpecKeepsTheMesh checks that layouts that cut one dim are on the
// mesh of the group itself, and that equal ones are one.
func TestPlaceSpecKeepsTheMesh(t *testing.T) {
	builtinstest.OnRank(t, func(e *builtins.Env, _ *starlark.Thread) {
		var meshes []*mesh.Mesh
		var grids []*mesh.Placed
		for range 2 {
			pg, err := newProcessGroup(e, []int{0, 1, 2, 3}, 4)
			if err != nil {
				t.Fatal(err)
			}
			l, err := placeSpec(e, "f", "spec", pg, shardSpec(e, []int{0}, []int{4}), []int{8, 8})
			if err != nil || l.Mesh() != pg.Mesh() {
				t.Errorf("got a layout on %v, %v, want one on %v", l.Mesh(), err, pg.Mesh())
			}
			grid, err := placeSpec(e, "f", "spec", pg, shardSpec(e, []int{0, 1}, []int{2, 2}), []int{8, 8})
			if err != nil {
				t.Fatal(err)
			}
			meshes, grids = append(meshes, pg.Mesh()), append(grids, grid)
		}
		if meshes[0] != meshes[1] || grids[0] != grids[1] {
			t.Error("equal groups have different meshes or layouts")
		}
	})
}

// An order of axes has every list in its order, where there is such an order.
func TestAxisOrder(t *testing.T) {
	for _, test := range []struct {
		lists, want string // "01 2" is the lists [0, 1] and [2]
	}{
		{"", "0123"}, {"01", "0123"}, {"10", "1023"}, {"3", "0123"}, {"30 2", "1230"}, {"21 03", "0213"}, {"32 21 10", "3210"},
		{"01 10", ""}, {"01 12 20", ""},
	} {
		got, ok := axisOrder(4, digitLists(test.lists))
		want := slices.Concat(digitLists(test.want)...)
		if !slices.Equal(got, want) || ok != (test.want != "") {
			t.Errorf("axisOrder(4, %q) = %v, %v, want %v", test.lists, got, ok, want)
		}
	}
}

// digitLists returns lists of digits as lists of ints.
func digitLists(text string) [][]int {
	var lists [][]int
	for _, word := range strings.Fields(text) {
		var list []int
		for _, c := range word {
			list = append(list, int(c-'0'))
		}
		lists = append(lists, list)
	}
	return lists
}

// A path ends where it is to, whatever the mesh and the specs, and each step
// begins where the one before has ended.
func TestPathsArrive(t *testing.T) {
	builtinstest.OnRank(t, func(e *builtins.Env, _ *starlark.Thread) {
		rapid.Check(t, func(t *rapid.T) {
			shape := rapid.SliceOfN(rapid.IntRange(1, 3), 1, 4).Draw(t, "mesh")
			m, err := mesh.New(shape, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			sizes := rapid.SliceOfN(rapid.IntRange(0, 30), 1, 4).Draw(t, "shape")
			draw := func(name string) *ShardingSpec {
				axes := make([][]int, len(sizes))
				for _, a := range rapid.Permutation(rangeTo(len(shape))).Draw(t, name+" axes") {
					if d := rapid.IntRange(-1, len(sizes)-1).Draw(t, name+" dim"); d >= 0 {
						axes[d] = append(axes[d], a)
					}
				}
				s, err := newShardingSpec(e, "f", dtensor.DeviceMeshOf(e, m), sizes, axes)
				if err != nil {
					t.Fatal(err)
				}
				return s
			}
			from, to := draw("from"), draw("to")
			paths, err := from.pathsTo(to, 4)
			if err != nil || len(paths) == 0 {
				t.Fatalf("%v to %v: got %d paths, %v", from, to, len(paths), err)
			}
			for _, p := range append(paths, from.pathTo(to.axes)) {
				checkPath(t, p, from, to)
			}
		})
	})
}

// rangeTo returns the integers below n.
func rangeTo(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// checkPath follows the steps of p from one spec to another.
func checkPath(t *rapid.T, p *specPath, from, to *ShardingSpec) {
	at := slices.Clone(from.axes)
	for _, c := range p.steps {
		if !slices.EqualFunc(c.spec.axes, at, slices.Equal) {
			t.Fatalf("%v to %v: %v begins at %v, want %v", from, to, c, c.spec, from.with(at))
		}
		if c.pattern.mixed {
			at = make([][]int, len(at))
			continue
		}
		if c.pattern.gather {
			list := at[c.gather[0]]
			keep := len(list) - len(c.axes)
			if keep < 0 || !slices.Equal(list[keep:], c.axes) {
				t.Fatalf("%v to %v: %v gathers what does not come last", from, to, c)
			}
			at[c.gather[0]] = slices.Clone(list[:keep])
		}
		if c.pattern.shard {
			at[c.shard[0]] = slices.Concat(at[c.shard[0]], c.axes)
		}
	}
	if !slices.EqualFunc(at, to.axes, slices.Equal) {
		t.Fatalf("%v to %v: the path ends at %v", from, to, from.with(at))
	}
}

// TestFrozenSpecs changes values of a frozen module.
func TestFrozenSpecs(t *testing.T) {
	builtinstest.OnRank(t, func(e *builtins.Env, _ *starlark.Thread) {
		pg, err := newProcessGroup(e, []int{0}, 1)
		if err != nil {
			t.Fatal(err)
		}
		compute := &ComputeSpec{env: e, pattern: builtins.Enum{Typ: "ComputePattern", Name: "TP1D"}, replicate: true}
		spec := &ColoTensorSpec{env: e, pg: pg, dist: replicaSpec(e), compute: compute}
		spec.Freeze()
		if err := compute.setReplicate(true); err != nil {
			t.Errorf("what changes nothing fails: %v", err)
		}
		if err := compute.setReplicate(false); err == nil || !compute.replicate {
			t.Error("a frozen ComputeSpec has been changed")
		}
		if _, err := setCPUGroups(pg, "set_cpu_groups"); err == nil || pg.cpu {
			t.Error("a frozen ProcessGroup has been changed")
		}
	})
}
