"""Collectives of Open MPI by mpi4py, on numpy's arrays. Started by mpirun."""

import grid

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
rank, ranks = world.rank, world.size


def calls(kind, size):
    whole, part = grid.lengths(size, ranks)
    if kind in ("all_reduce", "all_reduce_exact"):
        x, y = np.ones(whole, np.float32), np.ones(whole, np.float32)
        return lambda: world.Allreduce(x, y)
    if kind == "all_gather":
        x, y = np.ones(whole, np.float32), np.ones(ranks * whole, np.float32)
        return lambda: world.Allgather(x, y)
    if kind == "reduce_scatter":
        x, y = np.ones(ranks * part, np.float32), np.ones(part, np.float32)
        return lambda: world.Reduce_scatter_block(x, y)
    if kind == "broadcast":
        x = np.ones(whole, np.float32)
        return lambda: world.Bcast(x)
    if kind == "all_to_all":
        x, y = np.ones(ranks * part, np.float32), np.ones(ranks * part, np.float32)
        return lambda: world.Alltoall(x, y)
    x, y, peer = np.ones(whole, np.float32), np.ones(whole, np.float32), rank ^ 1
    if peer >= ranks:
        return lambda: None
    if rank % 2 == 0:
        return lambda: (world.Send(x, peer), world.Recv(y, peer))
    return lambda: (world.Recv(y, peer), world.Send(x, peer))


grid.run(calls, rank, ranks, world.Barrier, lambda seconds: world.allreduce(seconds, MPI.MAX))
