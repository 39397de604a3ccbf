"""Prints Starlark lists of calls of operators by their names, with what PyTorch gives.

    names.py FILE...

A list has the calls of a file as names.txt is: an expression of x and y of both languages, and their
shapes; after "|", PyTorch's where it is another. check.star compares.
"""

import pathlib
import sys
import warnings

import torch

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from values import NAMES, text

warnings.simplefilter("ignore")
torch.set_num_threads(1)


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
    return "    (%r, lambda x, y: %s, %s, %s, %s, %s, None, 'listed')," % (here, here, text(x), text(y), text(value), grads)


def main():
    for path in sys.argv[1:]:
        print("CASES = [")
        for i, line in enumerate(pathlib.Path(path).read_text().splitlines()):
            if line and not line.startswith("#"):
                try:
                    print(case(i, line))
                except Exception as e:
                    raise SystemExit("%s:%d: %s: %s" % (path, i + 1, line, e))
        print("]")


main()
