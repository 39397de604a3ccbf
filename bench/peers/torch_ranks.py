"""What the scripts of PyTorch share: a case on ranks that are processes and talk by
gloo."""

import os

import common

case, rest = common.arguments()
ranks = int(os.environ.get("TPSH_RANKS", "1"))

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def agree(n):
    """The number of turns that rank 0 is to do, on all ranks."""
    if ranks == 1:
        return n
    t = torch.tensor([n])
    dist.broadcast(t, 0)
    return int(t)


def run(rank, make, joined):
    torch.set_num_threads(max(1, common.CORES // ranks))
    if joined:
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=os.environ.get("TPSH_PORT", "29511"))
        dist.init_process_group("gloo", rank=rank, world_size=ranks)
    seconds = common.fastest(make(*rest), dist.barrier if ranks > 1 else lambda: None, agree)
    if rank == 0:
        common.report(seconds)
    if joined:
        dist.barrier()  # who leaves early may abort the others
        dist.destroy_process_group()


def start(cases, joined=ranks > 1):
    """Measures the case of the command line, of those that a script defines. Only
    ranks that are joined have a process group."""
    make = cases[case]
    if ranks == 1:
        run(0, make, joined)
    else:
        mp.spawn(run, (make, joined), nprocs=ranks)
