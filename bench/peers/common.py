"""What the scripts of the peers share: they measure one case and print its
seconds. The case and its numbers are the arguments; TPSH_CORES is how many cores
they may use."""

import os
import sys
import time

CORES = int(os.environ.get("TPSH_CORES", "1"))
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, str(CORES))
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])

ROUND = float(os.environ.get("TPSH_ROUND", "0.1"))
ROUNDS = 5


def fastest(turn, begin=lambda: None, agree=lambda n: n):
    """Seconds of a call of turn, in the fastest of some rounds of ROUND seconds.

    begin is called before each round, and agree makes all ranks of a peer do the
    same number of turns."""
    turn()
    n, took = 1, 0.0
    while True:
        begin()
        since = time.perf_counter()
        for _ in range(n):
            turn()
        took = time.perf_counter() - since
        more = agree(0 if took >= ROUND else int(min(100 * n, max(n + 1, 1.2 * n * ROUND / max(took, 1e-9)))))
        if more == 0:
            break
        n = more
    best = None
    for _ in range(ROUNDS):
        begin()
        since = time.perf_counter()
        for _ in range(n):
            turn()
        took = (time.perf_counter() - since) / n
        best = took if best is None else min(best, took)
    return best


def arguments():
    """The case and its numbers or words."""
    return sys.argv[1], [int(a) if a.isdigit() else a for a in sys.argv[2:]]


def report(seconds):
    print("seconds", repr(seconds), flush=True)
