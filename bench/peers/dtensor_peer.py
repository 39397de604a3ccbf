"""PyTorch's distributed tensors, on processes that talk by gloo."""

import torch_ranks
from torch_ranks import ranks

import torch
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard, distribute_tensor
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module


def placed_add():
    mesh = init_device_mesh("cpu", (ranks,))
    x, y = (distribute_tensor(torch.rand(8, 8), mesh, [Shard(0)]) for _ in range(2))
    return lambda: x + y


def step(batch, inner, hidden, outer):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(inner, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, outer))
    parallelize_module(model, init_device_mesh("cpu", (ranks,)), {"0": ColwiseParallel(), "2": RowwiseParallel()})
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x, target = torch.randn(batch, inner), torch.randn(batch, outer)

    def turn():
        loss = F.mse_loss(model(x), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return turn


if __name__ == "__main__":
    torch_ranks.start(globals(), joined=True)
