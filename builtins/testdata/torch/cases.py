"""Prints a Starlark list of random calls of operators, with what PyTorch gives.

    cases.py SEED FIRST COUNT

A case is (expression, function, inputs, value, gradients, second gradients, dtype). The
expression is one of both languages, of x and y, DTensors or plain tensors: of the lists
here, or with other numbers a line of names*.txt. Gradients are those of the sum of 1.5
times the result, second ones those of the sum of the squares of the gradients of the sum
of its cubes. The same seed gives the same cases; case i does not depend on how many are
printed.
"""

import pathlib
import random
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from values import NAMES, text

torch.set_num_threads(1)

UNARY = """x.abs() x.exp() x.sin() x.cos() x.tanh() x.sigmoid() x.sqrt() x.log() x.log1p() x.expm1() x.square() x.erf()
F.relu(x) F.gelu(x) F.silu(x) F.softplus(x) F.elu(x) F.leaky_relu(x) x.neg() x.floor() x.round() x.sign() x.reciprocal()
x.rsqrt() x.sinh() x.atan() x.isnan() x.isfinite() x.isinf() x.tril() x.triu(1) x.flatten() x.norm() x.std() x.var()
x.logsumexp(dim=0) x.sum() x.mean() x.prod() x.amax() x.amin() x.T x.clamp(min=-0.5) x.clamp(max=0.5) x*x x+x x/2 x/0 x*inf""".split()
ALONG = """x.sum({d}) x.mean({d},keepdim=True) x.var({d}) x.std({d},correction=0) x.std({d},correction=2) x.norm(2,{d}) x.norm(1,{d})
x.norm(3,{d}) x.cumsum({d}) x.sort({d})[0] x.topk({k},{d})[0] x.argmax({d}) x.amax({d}) x.max({d})[0] x.min({d})[1] x.logsumexp({d}) x.prod({d})
F.softmax(x,dim={d}) F.log_softmax(x,dim={d}) x.flip([{d}]) x.roll({k},{d}) x.unsqueeze({d}) x.squeeze({d}) x.narrow({d},0,{k})
x.index_select({d},zeros2) x.gather({d},x.argsort({d})) F.normalize(x,dim={d}) x.repeat_interleave(2,{d}) x.diff(1,{d})
x.transpose({d},0) x.chunk(2,{d})[0] x.nansum({d}) x.any({d}) x.all({d}) x.median({d})[0] x.aminmax(dim={d})[1]""".split()
BINARY = """x+y x-y x*y x/y x.maximum(y) x.minimum(y) x.eq(y) x.lt(y) x.pow(2)*y x.atan2(y) cat([x,y],{d}) stack([x,y],{d})
where(x.gt(y),x,y) (x*y).sum({d}) F.mse_loss(x,y) F.l1_loss(x,y) F.smooth_l1_loss(x,y) x.lerp(y,0.3) x.addcmul(x,y) x.logaddexp(y)
x.matmul(y.T) einsum("...i,...i->...",x,y) F.cosine_similarity(x,y,dim={d}) F.kl_div(x,F.softmax(y,dim={d}),reduction="sum")""".split()
DTYPES = 12 * ["float64"] + ["float32", "bfloat16", "int64", "int32", "uint8", "bool"]
SHAPES = [(), (4,), (5,), (1,), (0,), (2, 3), (4, 6), (1, 4), (3, 1), (5, 2), (0, 3), (2, 3, 4), (1, 2, 5), (3, 4, 2)]
ODD = [0.0, -0.0, 1.0, -1.0, 2.0, float("inf"), float("-inf"), float("nan")]


LISTED = [line for path in sorted(pathlib.Path(__file__).parent.glob("names*.txt")) for line in path.read_text().splitlines() if line and not line.startswith("#")]
LISTED_SHARE = 0.3  # among all calls


def draw(rng, shape, odd, digits):
    n = 1
    for s in shape:
        n *= s
    v = [round(rng.gauss(0, 2), digits) for _ in range(n)]
    if odd:
        v = [rng.choice(ODD) if rng.random() < 0.2 else e for e in v]
    return torch.tensor(v, dtype=torch.float64).reshape(shape)


def gradients(value, inputs):
    """What backward leaves in inputs, and the second gradients, as Starlark."""
    firsts = torch.autograd.grad((value * 1.5).sum(), inputs, retain_graph=True, allow_unused=True)
    cubes = torch.autograd.grad((value * value * value).sum(), inputs, create_graph=True, allow_unused=True)
    squares = [(g * g).sum() for g in cubes if g is not None and g.requires_grad]
    seconds = torch.autograd.grad(sum(squares), inputs, allow_unused=True) if squares else [None] * len(inputs)
    return tuple("[%s]" % ", ".join("None" if g is None else text(g) for g in list) for list in (firsts, seconds))


def random_call(rng):
    """An expression, the shapes of x and y, and the dtype of both."""
    shape = rng.choice(SHAPES)
    d = rng.randrange(-len(shape), len(shape)) if shape else rng.choice([0, -1])
    expr = rng.choice(UNARY + 2 * ALONG + BINARY).format(d=d, k=rng.randrange(1, max(2, shape[d] if shape else 1)))
    return expr, expr, shape, shape, rng.choice(DTYPES)


def listed_call(rng):
    """The same of a line of names*.txt: tpsh's expression and PyTorch's."""
    expr, shapes = rng.choice(LISTED).rsplit("@", 1)
    here, _, there = (e.strip() for e in expr.partition("||"))
    x, y = (eval(s) for s in (shapes.split(";") * 2)[:2])
    return here, there or here, x, y, "listed"


def case(seed, i):
    rng = random.Random("%d %d" % (seed, i))
    listed = rng.random() < LISTED_SHARE
    here, there, *shapes, dtype = (listed_call if listed else random_call)(rng)
    odd = not listed and rng.random() < 0.1
    x, y = (draw(rng, s, odd and dtype.startswith("float"), 9 if listed else 2).to(getattr(torch, "float64" if listed else dtype)) for s in shapes)
    inputs = [v.requires_grad_() if v.is_floating_point() else v for v in (x, y)]
    try:
        value = eval(there, dict(NAMES, x=x, y=y, zeros2=torch.zeros(2, dtype=torch.int64)))
        firsts, seconds = gradients(value, inputs) if value.requires_grad and not odd else ("None", "None")
        # They take the most time; and PyTorch's leave the scale of scale_grad_by_freq out.
        seconds = seconds if i % 3 == 0 and "scale_grad_by_freq" not in here else "None"
    except Exception:  # PyTorch refuses: not a case
        return None
    return "    (%r, lambda x, y: %s, %s, %s, %s, %s, %s, %r)," % (here, here, text(x), text(y), text(value), firsts, seconds, dtype)


def main():
    seed, first, count = map(int, sys.argv[1:])
    print("CASES = [")
    for i in range(first, first + count):
        c = case(seed, i)
        if c:
            print(c)
    print("]")


import warnings
warnings.simplefilter("ignore")
main()
