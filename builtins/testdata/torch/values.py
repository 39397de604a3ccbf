"""Tensors of PyTorch as Starlark, and the names that expressions use."""

import itertools

import numpy
import torch
import torch.nn.functional as F


def number(v):
    if v != v:
        return 'float("nan")'
    if v in (float("inf"), float("-inf")):
        return 'float("%sinf")' % ("-" if v < 0 else "")
    return repr(v)


folder = None  # where elements go, each tensor's in a file; None for into the text
files = itertools.count()


def text(t):
    """t as (elements, shape, dtype)."""
    if folder:
        path = "%d.npy" % next(files)
        numpy.save("%s/%s" % (folder, path), t.detach().double().reshape(-1).numpy())
        return "(%r, %s, %r)" % (path, list(t.shape), str(t.dtype).removeprefix("torch."))
    return "([%s], %s, %r)" % (", ".join(number(float(v)) for v in t.detach().reshape(-1).tolist()), list(t.shape), str(t.dtype).removeprefix("torch."))


def filled(m):
    """m in float64, its parameters with numbers that check.star gives those of tpsh, too."""
    m = m.double()
    for i, p in enumerate(m.parameters()):
        p.data.copy_((torch.arange(p.numel()).double() * 0.7 + i).sin().reshape(p.shape) * 0.5)
    return m


NAMES = {name: getattr(torch, name) for name in dir(torch) if not name.startswith("__")}
NAMES.update(filled=filled, inf=float("inf"), signal=torch.signal, masked=torch.masked, F=F, nn=torch.nn, torch=torch, linalg=torch.linalg, special=torch.special, fft=torch.fft, float=float, sum=sum)
