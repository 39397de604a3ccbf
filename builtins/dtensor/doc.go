// Package dtensor is the vocabulary of distributed tensors as PyTorch has them:
// meshes, placements, tensors that lie on a mesh, and modules made of them.
//
//	mesh = init_device_mesh("cpu", (2, 4), mesh_dim_names=("dp", "tp"))
//	d = distribute_tensor(x, mesh, [Replicate(), Shard(0)]); d.redistribute(placements=[Shard(0), Shard(1)])
//	parallelize_module(m, mesh["tp"], {"0": ColwiseParallel(), "2": RowwiseParallel()})
//	replicate(m, mesh["dp"]); fully_shard(m, mesh["dp"])
//
// A DeviceMesh is a mesh.Mesh, a Placement one of package mesh, and a distributed
// tensor a tensor of the runtime whose layout is known: operators on it are decided
// and carried out in runtime/shard. Here are the functions that make and move them
// (dtensor.go), what shows them (inspect.go, plan.go), and functions of blocks
// (map.go).
//
// A style (style.go, style_apply.go) says which parameters of a module are cut and
// what happens to what goes in and comes out. replicate averages gradients;
// fully_shard has each rank keep a part of every parameter and gathers them where
// modules compute (fully_shard_pass.go), by way of nn.Module.Outside and nn.Store.
//
// Flat tensors (flat.go), as OLMo-core has them, are those of which a rank keeps
// ranges of the elements in row-major order; what fully_shard cuts is made of them.
// A flatView is their lens.
package dtensor
