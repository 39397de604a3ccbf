"""Writes checkpoints of torch.distributed.checkpoint in twelve layouts.

    python dcp_layouts.py OUT

OUT/NAME is the folder that ranks (gloo, processes of this machine) have saved;
OUT/NAME.pt is the same as PyTorch reads it, whole. The tests of tpsh compare
what tpsh reads from the folders with the files, bit by bit.
"""
import os
import sys
import warnings

import ranks
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.checkpoint.format_utils import dcp_to_torch_save
from torch.distributed.checkpoint.state_dict import get_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Replicate, Shard
from torch.distributed.tensor import distribute_tensor as distribute
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

warnings.filterwarnings("ignore")


def distribute_tensor(x, mesh, placements):
    """Every rank has all of x: nothing is sent, and so no dtype is refused."""
    return distribute(x, mesh, placements, src_data_rank=None)


def block(dtype=torch.float32):
    torch.manual_seed(7)
    return nn.Sequential(nn.Linear(7, 10), nn.GELU(), nn.Linear(10, 5), nn.LayerNorm(5)).to(dtype)


def trained(model, dtype=torch.float32):
    """The model and an Adam that has taken a step, as one state dict."""
    optim = torch.optim.AdamW(model.parameters(), lr=1e-2, betas=(0.9, 0.95))
    torch.manual_seed(11)
    model(torch.randn(6, 7, dtype=dtype)).float().square().sum().backward()
    optim.step()
    params, state = get_state_dict(model, optim)
    return {"model": params, "optim": state, "step": 1, "note": "é", "lr": 0.01, "betas": (0.9, 0.95), "none": None}


def tp_plan():
    return {"0": ColwiseParallel(), "2": RowwiseParallel()}


def fsdp_uneven(n):
    m = block()
    fully_shard(m, mesh=init_device_mesh("cpu", (n,)))
    return trained(m)


def fsdp_by_layer(n):
    m = block()
    mesh = init_device_mesh("cpu", (n,))
    for layer in m:
        if list(layer.parameters()):
            fully_shard(layer, mesh=mesh)
    fully_shard(m, mesh=mesh)
    return trained(m)


def fsdp_bf16(n):
    m = block(torch.bfloat16)
    fully_shard(m, mesh=init_device_mesh("cpu", (n,)))
    return trained(m, torch.bfloat16)


def hybrid(n):
    m = block()
    fully_shard(m, mesh=init_device_mesh("cpu", (2, n // 2), mesh_dim_names=("dp", "shard")))
    return trained(m)


def tp(n):
    m = parallelize_module(block(), init_device_mesh("cpu", (n,)), tp_plan())
    return {"model": m.state_dict(), "step": 3}


def fsdp_tp(n):
    mesh = init_device_mesh("cpu", (2, n // 2), mesh_dim_names=("dp", "tp"))
    m = parallelize_module(block(), mesh["tp"], tp_plan())
    fully_shard(m, mesh=mesh["dp"])
    return {"model": m.state_dict(), "step": 4}


def replicated(n):
    mesh = init_device_mesh("cpu", (n,))
    w = torch.arange(30.0).reshape(5, 6)
    return {"plain": w + 1, "dtensor": distribute_tensor(w, mesh, [Replicate()]), "nested": {"list": [1, 2.5, {"x": w[:2]}]}}


def two_d(n):
    mesh = init_device_mesh("cpu", (2, n // 2), mesh_dim_names=("a", "b"))
    w = torch.arange(7 * 9).reshape(7, 9)
    return {"both": distribute_tensor(w, mesh, [Shard(0), Shard(1)]), "same": distribute_tensor(w, mesh, [Shard(0), Shard(0)]), "half": distribute_tensor(w, mesh, [Replicate(), Shard(1)])}


def columns(n):
    mesh = init_device_mesh("cpu", (n,))
    w = torch.arange(5.0 * 3 * 6).reshape(5, 3, 6)
    return {"d1": distribute_tensor(w, mesh, [Shard(1)]), "d2": distribute_tensor(w, mesh, [Shard(2)]), "few": distribute_tensor(w[:1], mesh, [Shard(0)])}


def dtypes(n):
    mesh = init_device_mesh("cpu", (n,))
    g = torch.Generator().manual_seed(1)
    x = torch.randn(9, 4, generator=g) * 40
    out = {}
    for d in ["float64", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "uint16", "bool", "complex64", "complex128", "float8_e4m3fn"]:
        v = (x > 0) if d == "bool" else x.abs() if d.startswith("u") else x
        out[d] = v.to(getattr(torch, d))
        if not d.startswith(("float8", "uint16")):
            out[d + "_cut"] = distribute_tensor(out[d], mesh, [Shard(0)])
    out["scalar"], out["empty"], out["transposed"] = torch.tensor(3.5), torch.zeros(0, 4), x.t()
    return out


def buffers(n):
    torch.manual_seed(3)
    m = nn.Sequential(nn.Linear(7, 10), nn.BatchNorm1d(10), nn.Embedding(11, 4))
    m.register_buffer("steps", torch.tensor([2**40 + 1, -5]))
    fully_shard(m, mesh=init_device_mesh("cpu", (n,)))
    return {"model": m.state_dict(), "rng": torch.get_rng_state()}


LAYOUTS = [(fsdp_uneven, 4), (fsdp_by_layer, 3), (fsdp_bf16, 2), (hybrid, 4), (tp, 2), (fsdp_tp, 4), (replicated, 4), (two_d, 4), (columns, 4), (dtypes, 3), (buffers, 4), (fsdp_uneven, 2)]


def run(rank, world, out):
    for make, n in LAYOUTS:
        if n != world:
            continue
        path = os.path.join(out, f"{make.__name__}_{n}")
        dcp.save(make(n), checkpoint_id=path)
        dist.barrier()
        if rank == 0:
            dcp_to_torch_save(path, path + ".pt")
        dist.barrier()


def main():
    out = sys.argv[1]
    os.makedirs(out, exist_ok=True)
    for world in sorted({n for _, n in LAYOUTS}):
        ranks.fork(run, world, out)


if __name__ == "__main__":
    main()
