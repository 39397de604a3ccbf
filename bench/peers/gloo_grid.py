"""Collectives of gloo by PyTorch, between processes."""

import os

import common
import grid

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

ranks = int(os.environ["TPSH_RANKS"])


def calls(kind, size):
    rank = dist.get_rank()
    whole, part = grid.lengths(size, ranks)
    x, y = torch.ones(whole), torch.ones(whole)
    if kind in ("all_reduce", "all_reduce_exact"):
        return lambda: dist.all_reduce(x)
    if kind == "all_gather":
        each = [torch.ones(whole) for _ in range(ranks)]
        return lambda: dist.all_gather(each, x)
    if kind == "reduce_scatter":
        x, y = torch.ones(ranks * part), torch.ones(part)
        return lambda: dist.reduce_scatter_tensor(y, x)
    if kind == "broadcast":
        return lambda: dist.broadcast(x, 0)
    if kind == "all_to_all":
        x, y = torch.ones(ranks * part), torch.ones(ranks * part)
        return lambda: dist.all_to_all_single(y, x)
    peer = rank ^ 1
    if peer >= ranks:
        return lambda: None
    if rank % 2 == 0:
        return lambda: (dist.send(x, peer), dist.recv(y, peer))
    return lambda: (dist.recv(y, peer), dist.send(x, peer))


def slowest(seconds):
    t = torch.tensor([seconds], dtype=torch.float64)
    dist.all_reduce(t, dist.ReduceOp.MAX)
    return float(t)


def run(rank, port):
    torch.set_num_threads(max(1, common.CORES // ranks))
    dist.init_process_group("gloo", init_method="tcp://127.0.0.1:%d" % port, rank=rank, world_size=ranks)
    grid.run(calls, rank, ranks, dist.barrier, slowest)
    dist.destroy_process_group()


if __name__ == "__main__":
    import socket

    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    mp.start_processes(run, args=(port,), nprocs=ranks, start_method="fork")
