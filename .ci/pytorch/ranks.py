"""Ranks of a PyTorch job on gloo, as processes of this machine.

    ranks.fork(run, world, *args)

calls run(rank, world, *args) in `world` processes that have a process group. They are
forked, for PyTorch takes seconds to import: what calls this must not have computed
gradients before, whose threads a fork does not have. They meet
at a file, so that no port can be taken, and end together and at once: a gloo process
that tears its threads down while its peers still run may be aborted for it ("terminate
called without an active exception"), though all its work is done. A job of which a
process was killed all the same is run again, at most twice; an exception is not.
"""
import os
import sys
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.multiprocessing.spawn import ProcessExitedException

TRIES = 3


def member(rank, world, store, all_done, run, args):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", store=dist.FileStore(store, world), rank=rank, world_size=world)
    run(rank, world, *args)
    all_done.wait(600)
    sys.stdout.flush()
    os._exit(0)


def fork(run, world, *args):
    for left in reversed(range(TRIES)):
        with tempfile.TemporaryDirectory() as folder:
            all_done = mp.get_context("fork").Barrier(world)
            try:
                member_args = (world, os.path.join(folder, "store"), all_done, run, args)
                return mp.start_processes(member, member_args, nprocs=world, start_method="fork")
            except ProcessExitedException as e:
                if left == 0:
                    raise
                print(f"{e}: once more", file=sys.stderr)
