"""Prints a Starlark list of calls of operators by their names, with what PyTorch gives.

    names.py FILE

The calls are those of a file as names.txt is: an expression of x and y of both languages, and their
shapes; after "|", PyTorch's where it is another. check.star compares.
"""

import pathlib
import sys
import warnings

import torch
import torch.nn.functional as F

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from values import text

warnings.simplefilter("ignore")
torch.set_num_threads(1)


def filled(m):
    """m in float64, its parameters with numbers that check.star gives those of tpsh, too."""
    m = m.double()
    for i, p in enumerate(m.parameters()):
        p.data.copy_((torch.arange(p.numel()).double() * 0.7 + i).sin().reshape(p.shape) * 0.5)
    return m


NAMES = {name: getattr(torch, name) for name in dir(torch) if not name.startswith("__")}
NAMES.update(filled=filled, signal=torch.signal, masked=torch.masked, F=F, nn=torch.nn, torch=torch, linalg=torch.linalg, special=torch.special, fft=torch.fft, float=float, sum=sum)


def case(i, line):
    expr, shapes = line.rsplit("@", 1)
    here, _, there = (e.strip() for e in expr.partition("||"))
    generator = torch.Generator().manual_seed(i)
    draw = lambda s: torch.randn(eval(s), dtype=torch.float64, generator=generator).requires_grad_()
    x, y = (draw(s) for s in (shapes.split(";") * 2)[:2])
    value = eval(there or here, dict(NAMES, x=x, y=y))
    grads = "None"
    if value.requires_grad:
        (value * 1.5).sum().backward()
        grads = "[%s]" % ", ".join("None" if v.grad is None else text(v.grad) for v in (x, y))
    return "    (%r, lambda x, y: %s, %s, %s, %s, %s)," % (here, here, text(x), text(y), text(value), grads)


def main():
    print("CASES = [")
    lines = pathlib.Path(sys.argv[1]).read_text().splitlines()
    for i, line in enumerate(lines):
        if line and not line.startswith("#"):
            try:
                print(case(i, line))
            except Exception as e:
                raise SystemExit("%s:%d: %s: %s" % (sys.argv[1], i + 1, line, e))
    print("]")


main()
