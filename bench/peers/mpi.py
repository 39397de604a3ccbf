"""Collectives of Open MPI by mpi4py, on numpy's arrays. Started by mpirun."""

import common

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
case, rest = common.arguments()
x = np.ones(max(1, rest[0] // 4) if rest else 1, np.float32)
y = np.empty_like(x)
turn = {
    "all_reduce": lambda: world.Allreduce(x, y),
    "barrier": world.Barrier,
}[case]
seconds = common.fastest(turn, world.Barrier, lambda n: world.bcast(n))
slowest = world.reduce(seconds, op=MPI.MAX)
if world.rank == 0:
    common.report(slowest)
