"""Loads what tpsh has written with PyTorch and with safetensors, and compares.

    python dcp_load.py WANT.pt FOLDER... [WANT.pt FOLDER...]...

FOLDER is of torch.distributed.checkpoint or of safetensors. Says what differs
from the WANT.pt before it, bit by bit, and ends with status 1 if anything does.
"""
import os
import sys
import tempfile
import warnings

import torch
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint import HuggingFaceStorageReader
from torch.distributed.checkpoint.format_utils import dcp_to_torch_save

warnings.filterwarnings("ignore")


def leaves(v, path=()):
    """The leaves of nested dicts, and of lists that hold tensors."""
    if isinstance(v, dict) and v:
        return {k: x for key in v for k, x in leaves(v[key], path + (str(key),)).items()}
    if isinstance(v, (list, tuple)) and any(isinstance(x, (dict, torch.Tensor)) for x in v):
        return {k: x for i, item in enumerate(v) for k, x in leaves(item, path + (str(i),)).items()}
    return {".".join(path): v}


def bits(x):
    return x.contiguous().reshape(-1).view(torch.uint8)


def same(a, b):
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        return a.dtype == b.dtype and a.shape == b.shape and torch.equal(bits(a), bits(b))
    return type(a) is type(b) and a == b


def load(path, want):
    if os.path.exists(os.path.join(path, ".metadata")):
        with tempfile.TemporaryDirectory() as tmp:
            dcp_to_torch_save(path, tmp + "/x.pt")
            return leaves(torch.load(tmp + "/x.pt", weights_only=False))
    if any(name.startswith("shard-") for name in os.listdir(path)):
        state = {k: torch.empty_like(v) for k, v in want.items() if isinstance(v, torch.Tensor)}
        dcp.load(state, storage_reader=HuggingFaceStorageReader(path), no_dist=True)
        return state
    from safetensors.torch import load_file

    state = {}
    for name in os.listdir(path):
        if name.endswith(".safetensors"):
            state.update(load_file(os.path.join(path, name)))
    return state


def main():
    bad = 0
    for path in sys.argv[1:]:
        if path.endswith(".pt"):
            want = leaves(torch.load(path, weights_only=False))
            continue
        got = load(path, want)
        is_dcp = os.path.exists(os.path.join(path, ".metadata"))
        for name, v in want.items():
            if not isinstance(v, torch.Tensor) and not is_dcp:
                continue
            if name not in got or not same(v, got[name]):
                print(f"{path}: {name}: got {got.get(name)!r:.60}, want {v!r:.60}")
                bad += 1
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
