"""Prints Starlark lists of random calls of operators, with what PyTorch gives.

    cases.py SEED FIRST COUNT [FOLDER]

A case is (expression, function, inputs, value, gradients, second gradients, dtype). The
expression is one of both languages, of x and y, DTensors or plain tensors: of the lists
here, or with other numbers a line of names*.txt; y is None if it is not in it. Gradients are
those of the sum of 1.5 times the result, second ones those of the sum of the squares of the
gradients of the sum of its cubes. The same seed gives the same cases; case i does not depend
on how many are printed.

With a folder, the tensors are large, and their elements go to files there: their sizes are
about those from which operators take other ways, and the calls of lists are those of large.txt.
"""

import pathlib
import random
import re
import resource
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import values
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
# What is made of others, and of large tensors in one pass.
ONE_PASS = """x.frac() x.deg2rad() x.isinf() x.signbit() x.sinc() x.positive()*x x.sigmoid().logit() x.nan_to_num(0.5,2.0) x.rsub(y,alpha=3) x.floor_divide(y)
x.remainder(y) x.logical_and(y) x.logical_xor(y) x.logical_not() x.fmax(y) x.fmin(y) x.heaviside(y) x.xlogy(y.abs()+1) x.logaddexp2(y) x.ldexp(y) x.float_power(2)
x.clamp_min(y) x.clamp_max(0.5) x.addcmul(x,y,value=0.5) x.addcdiv(y,y.abs()+1,value=2) x.lerp(y,0.7) x.lerp(y,x) x.lerp(x,y.sigmoid()) x.isclose(y,0.1,0.5) x.clamp(y,y+1) x.clamp(-1,y)
F.celu(x,0.7) F.selu(x) F.hardtanh(x) F.hardsigmoid(x) F.hardswish(x) F.relu6(x) F.mish(x) F.softsign(x) F.logsigmoid(x) F.tanhshrink(x) F.softshrink(x,0.3) F.hardshrink(x) F.threshold(x,0.1,2.0)
F.huber_loss(x,y,delta=0.7) F.huber_loss(x,y,reduction="none") F.smooth_l1_loss(x,y,reduction="none",beta=0.3) F.smooth_l1_loss(x,y,beta=0.0,reduction="sum") F.soft_margin_loss(x,y.sign())
F.binary_cross_entropy_with_logits(x,y.sigmoid()) F.poisson_nll_loss(x,y.abs()) F.gaussian_nll_loss(x,y,x*x+1) F.hinge_embedding_loss(x,y.sign()) F.gelu(x,approximate="tanh") F.silu(x)*y
F.relu(x)*F.relu(y) x.tanh().square().lerp(y,0.5) (x*y).deg2rad().addcmul(x,x) x.flatten().square()[3:].lerp(y.flatten()[:-3],0.2) x.clone().lerp_(y,0.4) (x*1).addcmul_(x,y) x.T.lerp(y.T,0.3)
x.flatten()[1:].sigmoid() x.flatten()[::2].square() x.expand([2]+list(x.shape)).square() x.reshape(-1)[0].expand(70000).lerp(y.reshape(-1)[0].expand(70000),0.3) x.masked_fill(x.gt(0),1)
x.double()+y.float() x.bfloat16().square() x.float().lerp(y.float(),0.3) x.hypot(y) x.copysign(y) x.nextafter(y) x.fmod(y.abs()+1) x.cumprod({d}) x.cummax({d})[0] x.cummin({d})[0] x.logcumsumexp({d}) x.kthvalue({k},{d})[0]
x.unique() x.nonzero() x.masked_select(x.gt(0)) x[x.gt(0.5)] x.flatten().bincount() x.flatten().histc(9,-2,2) searchsorted(x.sort()[0],y) x.sort({d},descending=True)[0] x.argsort({d},stable=True) x.take(x.flatten().argsort()) x.index_add({d},zeros2,x.narrow({d},0,1).repeat_interleave(2,{d}))
x.scatter({d},x.argsort({d}),y) x.scatter_add({d},x.argsort({d}),y) x.tile(2) x.unfold({d},2,1) x.count_nonzero({d}) x.logcumsumexp({d}) x.nanmedian({d})[0] x.nanmean({d}) x.quantile(0.3,{d}) x.mode({d})[0] x.rot90() x.dot(y) F.pad(x,[1,2]) x.renorm(2,0,1.5)
x.std_mean({d})[0] F.layer_norm(x,x.shape[-1:]) F.rms_norm(x,x.shape[-1:]) F.glu(x,{d}) F.nll_loss(x,zeros2) F.softmin(x,{d}) F.cross_entropy(x,y.softmax(1)) F.normalize(x,1.0,{d}) x.trapz(y) x.roll(7) x.flip(0)""".split()
DTYPES = 12 * ["float64"] + ["float32", "bfloat16", "int64", "int32", "uint8", "bool"]
LARGE_DTYPES = 4 * ["float64"] + 4 * ["float32"] + ["bfloat16", "bfloat16", "int64", "int32", "uint8", "bool"]
SHAPES = [(), (4,), (5,), (1,), (0,), (2, 3), (4, 6), (1, 4), (3, 1), (5, 2), (0, 3), (2, 3, 4), (1, 2, 5), (3, 4, 2)]
ODD = [0.0, -0.0, 1.0, -1.0, 2.0, float("inf"), float("-inf"), float("nan")]
LARGE = len(sys.argv) > 4
LIST = 300  # calls that a list has: its ranks know the way of many that they have had
MOST_BYTES = 2 << 30  # who takes more refuses, and is no case
EDGES = [1 << 12, 1 << 14, 1 << 15, 1 << 16, 1 << 16, 1 << 17, 1 << 17, 1 << 18]  # elements

LISTED = [line for path in sorted(pathlib.Path(__file__).parent.glob("large.txt" if LARGE else "names*.txt")) for line in path.read_text().splitlines() if line and not line.startswith("#")]
LISTED_SHARE = 0.3 if LARGE else 0.06  # among all calls: small ones of lists cost four times what others do, and TestTorchNames has them all


def large_shape(rng):
    """A shape of about as many elements as one of EDGES."""
    n = rng.choice(EDGES) + rng.choice([-1, 0, 0, 1, 3])
    k = rng.choice([2, 3, 7, 16, 64, 257, 1000, 1024, 4097])
    return rng.choice([(n,), (1, n), (n, 1), (k, n // k), (n // k, k), (n // k + 1, k), (2, n // (2 * k) + 1, k), (n // (3 * k) + 1, 3, k), (0, n)])


def draw_large(rng, shape, odd):
    g = torch.Generator().manual_seed(rng.getrandbits(60))
    x = torch.randn(shape, dtype=torch.float64, generator=g) * 2
    if odd:
        x = torch.where(torch.rand(shape, generator=g) < 0.2, torch.tensor(ODD, dtype=torch.float64)[torch.randint(len(ODD), shape, generator=g)], x)
    return x


def draw(rng, shape, odd, digits):
    if LARGE:
        return draw_large(rng, shape, odd)
    n = 1
    for s in shape:
        n *= s
    v = [round(rng.gauss(0, 2), digits) for _ in range(n)]
    if odd:
        v = [rng.choice(ODD) if rng.random() < 0.2 else e for e in v]
    return torch.tensor(v, dtype=torch.float64).reshape(shape)


def gradients(value, inputs, second):
    """What backward leaves in inputs, and the second gradients if they are wanted, as Starlark."""
    firsts = torch.autograd.grad((value * 1.5).sum(), inputs, retain_graph=True, allow_unused=True)
    if not second:
        return shown(firsts), "None"
    cubes = torch.autograd.grad((value * value * value).sum(), inputs, create_graph=True, allow_unused=True)
    squares = [(g * g).sum() for g in cubes if g is not None and g.requires_grad]
    seconds = torch.autograd.grad(sum(squares), inputs, allow_unused=True) if squares else [None] * len(inputs)
    return shown(firsts), shown(seconds)


def shown(gradients):
    return "[%s]" % ", ".join("None" if g is None else text(g) for g in gradients)


def random_call(rng):
    """An expression, the shapes of x and y, and the dtype of both."""
    shape = large_shape(rng) if LARGE else rng.choice(SHAPES)
    d = rng.randrange(-len(shape), len(shape)) if shape else rng.choice([0, -1])
    expr = rng.choice(UNARY + 2 * ALONG + BINARY + LARGE * ONE_PASS).format(d=d, k=rng.randrange(1, max(2, shape[d] if shape else 1)))
    return expr, expr, shape, shape, rng.choice(LARGE_DTYPES if LARGE else DTYPES)


def listed_call(rng):
    """The same of a line of names*.txt: tpsh's expression and PyTorch's."""
    expr, shapes = rng.choice(LISTED).rsplit("@", 1)
    here, _, there = (e.strip() for e in expr.partition("||"))
    x, y = (eval(s) for s in (shapes.split(";") * 2)[:2])
    return here, there or here, x, y, rng.choice(["listed", "float32"]) if LARGE else "listed"


def case(seed, i):
    rng = random.Random("%d %d" % (seed, i))
    listed = rng.random() < LISTED_SHARE
    here, there, *shapes, dtype = (listed_call if listed else random_call)(rng)
    odd = not listed and rng.random() < 0.1
    if not re.search(r"\by\b", here + " " + there):
        shapes = shapes[:1]
    inputs = [draw(rng, s, odd and dtype.startswith("float"), 9 if listed else 2).to(getattr(torch, "float64" if dtype == "listed" else dtype)) for s in shapes]
    inputs = [v.requires_grad_() if v.is_floating_point() else v for v in inputs]
    x, y = (inputs + [None])[:2]
    try:
        value = eval(there, dict(NAMES, x=x, y=y, zeros2=torch.zeros(2, dtype=torch.int64)))
        if LARGE and not odd and not value.isfinite().all():  # a product that overflows: how far it goes wrong depends on its order
            return None
        # Second gradients take as long as all else; PyTorch's leave the scale of scale_grad_by_freq out,
        # and are NaN where a vector whose cosine is taken is 0.
        second = i % (3 if LARGE else 10) == 0 and "scale_grad_by_freq" not in here
        firsts, seconds = gradients(value, inputs, second) if value.requires_grad and not odd else ("None", "None")
        if "cosine_similarity" in here and "nan" in seconds:
            seconds = "None"
        if "topk" in here and x.unique().numel() < x.numel():  # of elements that are equal either may be taken
            firsts = seconds = "None"
    except Exception:  # PyTorch refuses: not a case
        return None
    return "    (%r, lambda x, y: %s, %s, %s, %s, %s, %s, %r)," % (here, here, text(x), "None" if y is None else text(y), text(value), firsts, seconds, dtype)


def main():
    seed, first, count = map(int, sys.argv[1:4])
    if LARGE:
        values.folder = sys.argv[4]
        resource.setrlimit(resource.RLIMIT_DATA, (MOST_BYTES, MOST_BYTES))
    for start in range(first, first + count, LIST):
        print("CASES = [")
        for i in range(start, min(start + LIST, first + count)):
            c = case(seed, i)
            if c:
                print(c)
        print("]", flush=True)


import warnings
warnings.simplefilter("ignore")
main()
