"""Makes jobs of PyTorch that hang, on gloo, and keeps their Flight Recorder dumps.

    python jobs.py OUT [--jobs 30] [--seed 1] [--wait 1.5] [--at-once 4]

Each job is a folder of OUT: fr_0, fr_1, ... (pickle) and truth.json, which says
what was done to it: the fault, the ranks that are its cause, and the kind that
`tpsh hang` has for it. `.ci/hang` makes thirty and holds tpsh to them.
"""

import argparse
import datetime
import json
import mmap
import os
import random
import shutil
import sys
import threading
import time

os.environ.setdefault("TORCH_FR_BUFFER_SIZE", "2000")

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import _dump_fr_trace
from torch._C._profiler import gather_traceback, symbolize_tracebacks

FAULTS = ["none", "never calls", "skips", "other shape", "other dtype", "other order",
          "two groups crossed", "group call left out", "ring of receives", "sleeps", "dies", "dump missing"]


def step(x, gather):
    dist.all_reduce(x)
    dist.all_gather(gather, x)
    dist.broadcast(x, src=0)


def body(rank, job, forever):
    n, fault, victim = job["ranks"], job["fault"], rank == job["victim"]
    members = job["members"]
    one, two = dist.new_group(members), dist.new_group(members)
    x = torch.ones(4, 8)
    gather = [torch.empty(4, 8) for _ in range(n)]
    if job["warm"] and rank in members:
        for group in (one, two):
            dist.all_reduce(x, group=group)
    for i in range(job["steps"]):
        step(x, gather)  # steps
    if fault in ("never calls", "dump missing") and victim:
        forever.wait()
    if fault == "dies" and victim:
        os._exit(1)
    if fault == "sleeps" and victim:
        time.sleep(1000)
    if fault == "other shape":
        dist.all_reduce(torch.ones(5, 8) if victim else x)  # other shape
    elif fault == "other dtype":
        dist.all_reduce(x.double() if victim else x)  # other dtype
    elif fault == "other order" and victim:
        dist.barrier()  # other order
        dist.all_reduce(x)
    elif fault == "other order":
        dist.all_reduce(x)
        dist.barrier()
    elif fault == "two groups crossed" and rank in members:
        first, second = (two, one) if victim else (one, two)
        dist.all_reduce(x, group=first)  # two groups crossed
        dist.all_reduce(x, group=second)
    elif fault == "group call left out" and rank in members:
        dist.all_reduce(x, group=one)
        if not victim:
            dist.all_reduce(x, group=two)
        else:
            forever.wait()
    elif fault == "ring of receives":
        dist.recv(x, src=(rank + 1) % n)
    if not (fault == "skips" and victim):
        dist.all_reduce(x)  # after
    dist.all_gather(gather, x)  # skips
    dist.barrier()


def settled(thread, moved, rank, wait):
    """Wait until no rank has got on for so many seconds. moved has, for each rank, when
    it was last seen at another line than before; 0 before it has begun."""
    seen = None
    while True:
        frame, lines = sys._current_frames().get(thread.ident), []
        while frame:
            lines.append((frame.f_code.co_filename, frame.f_lineno))
            frame = frame.f_back
        if lines != seen:
            seen, moved[rank] = lines, time.monotonic()
        if min(moved) > 0 and time.monotonic() - max(moved) > wait:
            return
        time.sleep(0.05)


def rank_main(rank, job, folder, moved, written):
    store = dist.FileStore(os.path.join(folder, "store"), job["ranks"])
    dist.init_process_group("gloo", store=store, rank=rank, world_size=job["ranks"], timeout=datetime.timedelta(seconds=300))
    forever = threading.Event()

    def quiet():
        try:
            body(rank, job, forever)
        except Exception as e:  # a peer has gone
            with open(os.path.join(folder, f"error_{rank}.txt"), "w") as f:
                f.write(str(e))

    thread = threading.Thread(target=quiet, daemon=True)
    moved[rank] = time.monotonic()
    thread.start()
    settled(thread, moved, rank, job["wait"])
    with open(os.path.join(folder, f"fr_{rank}"), "wb") as f:
        f.write(_dump_fr_trace())
    # Nobody leaves before all have written theirs or ended, however long a busy
    # machine takes for it: a call that fails for a peer's end hides who was late.
    written[rank] = 1
    while min(written) == 0:
        time.sleep(0.02)
    os._exit(0)


def line(tag):
    """The line of this file that ends in the comment tag."""
    with open(__file__) as f:
        return next(i for i, text in enumerate(f, 1) if text.rstrip().endswith("# " + tag))


def truth(job):
    n, fault, victim = job["ranks"], job["fault"], job["victim"]
    if fault in ("none", "ring of receives"):
        return {"verdict": "nothing wrong" if fault == "none" else "cannot tell", "culprits": [], "kind": None, "line": None}
    if fault == "dies":
        # What its peers' recorders say does not tell it from a lost dump.
        return {"verdict": "cannot tell", "culprits": [], "kind": None, "line": None}
    kind = {"skips": "calls differ", "other shape": "calls differ", "other dtype": "calls differ", "other order": "calls differ",
            "two groups crossed": "cycle"}.get(fault, "never called")
    there = [r for r in range(n) if r not in job["lost"]]
    if victim not in there or kind == "calls differ" and len(there) < 2:
        return {"verdict": "cannot tell", "culprits": [], "kind": None, "line": None}
    # One against one is a tie, unless what came before tells which is odd.
    tie = kind == "calls differ" and len(there) == 2 and not (fault in ("other shape", "other dtype") and job["steps"] > 0)
    everyone = there if tie else job["members"] if kind == "cycle" else [victim]
    at = {"never called": "steps"}.get(kind, fault)
    known = kind != "never called" or job["steps"] > 0 and fault != "group call left out"
    return {"verdict": "culprits", "culprits": list(everyone), "kind": kind, "line": line(at) if known else None}


def make(job, folder):
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    moved = memoryview(mmap.mmap(-1, 8 * job["ranks"])).cast("d")  # of all ranks
    written = memoryview(mmap.mmap(-1, job["ranks"])).cast("b")  # by whom, or who has ended
    children = {}
    for rank in range(job["ranks"]):
        pid = os.fork()
        if pid == 0:
            try:
                rank_main(rank, job, folder, moved, written)
            finally:
                os._exit(2)
        children[pid] = rank
    while children:
        written[children.pop(os.wait()[0])] = 1
    os.remove(os.path.join(folder, "store"))
    for rank in job["lost"]:
        path = os.path.join(folder, f"fr_{rank}")
        if os.path.exists(path):
            os.remove(path)
    # gloo ends a process whose peer sends more than it expects.
    job["lost"] = [r for r in range(job["ranks"]) if not os.path.exists(os.path.join(folder, f"fr_{r}"))]
    with open(os.path.join(folder, "truth.json"), "w") as f:
        json.dump({**job, **truth(job)}, f, indent=1)


def draw(rnd, i, args):
    fault = FAULTS[i % len(FAULTS)]
    n = rnd.randint(2, 8)
    victim = rnd.randrange(n)
    lost = [rnd.choice([r for r in range(n) if r != victim])] if fault == "dump missing" and n > 2 else []
    some = {victim, *rnd.sample([r for r in range(n) if r != victim], rnd.randint(1, n - 1))}
    return {"fault": fault, "ranks": n, "victim": victim, "members": sorted(some), "warm": rnd.random() < 0.5, "steps": rnd.randint(0, 4),
            "lost": lost, "wait": args.wait}


def main():
    p = argparse.ArgumentParser()
    p.add_argument("out")
    p.add_argument("--jobs", type=int, default=30)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--wait", type=float, default=1.5, help="for how many seconds no rank has got on when they write their dumps")
    p.add_argument("--at-once", type=int, default=4, help="jobs at one time")
    args = p.parse_args()
    # What a process needs for its first dump takes a second or two: the ranks inherit it.
    symbolize_tracebacks([gather_traceback(python=True, script=True, cpp=False)])
    rnd = random.Random(args.seed)
    jobs = [draw(rnd, i, args) for i in range(args.jobs)]
    running = set()
    for i, job in enumerate(jobs):
        if len(running) == args.at_once:
            running.discard(os.wait()[0])
        folder = os.path.join(args.out, f"{i:02d}_{job['fault'].replace(' ', '_')}_{job['ranks']}")
        pid = os.fork()
        if pid == 0:
            make(job, folder)
            print(folder, flush=True)
            os._exit(0)
        running.add(pid)
    for pid in running:
        os.waitpid(pid, 0)


if __name__ == "__main__":
    main()
