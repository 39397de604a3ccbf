package advice

// Elsewhere has what others call names of the language.
var Elsewhere = map[string]string{
	"xmap": "shard_map", "pmap": "shard_map", "allreduce": "all_reduce", "Allreduce": "all_reduce", "MPI_Allreduce": "all_reduce", "ncclAllReduce": "all_reduce",
	"permute_ranks": "collective_permute", "sendrecv": "collective_permute", "allgather": "all_gather", "MPI_Allgather": "all_gather", "all_gather_into_tensor": "all_gather", "all_gather_tensor": "all_gather", "reduce_scatter_tensor": "reduce_scatter", "alltoall": "all_to_all", "all_to_all_single": "all_to_all", "bcast": "broadcast", "MPI_Bcast": "broadcast", "isend": "send", "irecv": "recv", "MPI_Send": "send", "MPI_Recv": "recv",
	"with_sharding_constraint": "DTensor.redistribute", "Mesh": "DeviceMesh", "make_mesh": "init_device_mesh", "einops": "einsum", "rearrange": "Tensor.reshape", "FSDP": "fully_shard", "FullyShardedDataParallel": "fully_shard", "DDP": "replicate", "DistributedDataParallel": "replicate", "ZeRO": "fully_shard", "value_and_grad": "grad", "jvp": "grad", "remat": "checkpoint", "get_rank": "rank", "get_world_size": "world_size", "axis_index": "rank", "concatenate": "cat", "concat": "cat", "array": "tensor", "argparse": "flag", "sys.argv": "args", "try": "attempt", "clip_grad_norm": "optim.clip_grad_norm_", "_Partial": "Partial", "Variable": "tensor",
}
