"""PyTorch: eager on one rank, processes that talk by gloo on several."""

import torch_ranks
from torch_ranks import ranks

import torch
import torch.distributed as dist
import torch.nn.functional as F


class Copy(torch.autograd.Function):
    """Megatron's f: the identity forward, an all-reduce backward."""

    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, grad):
        dist.all_reduce(grad)
        return grad


class Reduce(torch.autograd.Function):
    """Megatron's g: an all-reduce forward, the identity backward."""

    @staticmethod
    def forward(ctx, x):
        if ranks > 1:
            dist.all_reduce(x)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad


def matmul(dtype, m, k, n):
    x, y = torch.ones(m, k, dtype=getattr(torch, dtype)), torch.ones(k, n, dtype=getattr(torch, dtype))
    return lambda: torch.matmul(x, y)


def vector(name):
    x = torch.rand(4096, 1024)
    if name == "adam":
        x.requires_grad_(True)
        x.grad = torch.rand_like(x)
        return torch.optim.Adam([x]).step
    return {"gelu": lambda: F.gelu(x), "softmax": lambda: F.softmax(x, -1), "layer_norm": lambda: F.layer_norm(x, (1024,))}[name]


def add():
    x, y = torch.rand(8, 8), torch.rand(8, 8)
    return lambda: x + y


def layer(inner, outer, window, stride, padding, groups, side, images):
    x, w = torch.randn(images, inner, side, side), torch.randn(outer, inner // groups, window, window)
    return x, w, lambda: F.conv2d(x, w, None, stride, padding, 1, groups)


def conv2d(*sizes):
    return layer(*sizes)[2]


def conv2d_grad(*sizes):
    x, w, call = layer(*sizes)
    x.requires_grad_(True)
    w.requires_grad_(True)
    dy = torch.ones_like(call())
    return lambda: torch.autograd.grad(call(), [x, w], dy)


def linalg(name, n):
    x, b = torch.randn(n, n, dtype=torch.float64), torch.randn(n, n, dtype=torch.float64)
    s, la = x @ x.T + n * torch.eye(n, dtype=torch.float64), torch.linalg
    return {
        "solve": lambda: la.solve(x, b),
        "lstsq": lambda: la.lstsq(x, b),
        "cholesky": lambda: la.cholesky(s),
        "svd": lambda: la.svd(x, full_matrices=False),
        "eigh": lambda: la.eigh(s),
        "eigvalsh": lambda: la.eigvalsh(s),
        "matrix_exp": lambda: la.matrix_exp(x / 64),
        "matrix_power": lambda: la.matrix_power(x, 5),
        "norm2": lambda: la.norm(x, 2),
    }.get(name) or (lambda: getattr(la, name)(x))


def all_reduce(size):
    x = torch.zeros(max(1, size // 4))
    return lambda: dist.all_reduce(x)


def step(batch, inner, hidden, outer):
    torch.manual_seed(0)
    own = hidden // ranks
    first, second = torch.nn.Linear(inner, own), torch.nn.Linear(own, outer)
    optimizer = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.01)
    x, target = torch.randn(batch, inner), torch.randn(batch, outer)

    def turn():
        h = F.relu(first(x))
        loss = F.mse_loss(Reduce.apply(F.linear(h, second.weight)) + second.bias, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return turn


if __name__ == "__main__":
    torch_ranks.start(globals())
