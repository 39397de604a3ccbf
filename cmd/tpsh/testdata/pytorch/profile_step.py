import time
import torch, torch.distributed as dist
from torch.profiler import profile, ProfilerActivity

def load(rank):
    if rank == 1:
        time.sleep(0.03)  # a slow disk
    return torch.randn(64, 256)

def step(model, rank):
    model(load(rank)).sum().backward()
    for p in model.parameters():
        dist.all_reduce(p.grad)
    total = torch.ones(1 << 20)
    work = dist.all_reduce(total, async_op=True)
    torch.randn(512, 512) @ torch.randn(512, 512)
    work.wait()

dist.init_process_group("gloo")
torch.manual_seed(0)
model, rank = torch.nn.Linear(256, 16), dist.get_rank()
step(model, rank)
dist.barrier()
with profile(activities=[ProfilerActivity.CPU], with_stack=True, record_shapes=True) as p:
    for _ in range(2):
        step(model, rank)
p.export_chrome_trace(f"traces/rank{rank}.json")
dist.barrier()
