"""What the scripts of collectives share: they measure many cases, each the name
of a call, a slash and the bytes that every rank puts in. They do what the Go
program bench/ranks does, on the same sizes."""

import sys
import time

import common

LEAST = 2  # rounds, however long they take
SHARE = 6  # times the time of a round that a case may take


def lengths(size, ranks):
    """Elements that a rank puts in, and of one of the equal parts of it."""
    return size // 4, max(1, size // ranks // 4)


def measure(turn, barrier, slowest):
    """Seconds of a call of turn on the slowest rank, in the fastest round."""

    def took(n):
        barrier()
        since = time.perf_counter()
        for _ in range(n):
            turn()
        return slowest(time.perf_counter() - since)

    took(1)
    n, best, total = 1, 0.0, 0.0
    for _ in range(LEAST):
        best = took(n) / n
        n = max(1, min(100 * n, int(common.ROUND / best)))
    for i in range(common.ROUNDS):
        if i >= LEAST and total >= SHARE * common.ROUND:
            break
        seconds = took(n)
        best = min(best, seconds / n)
        total += seconds
    return best


def run(calls, rank, ranks, barrier, slowest):
    """Measures the cases of the command line. calls(kind, size) returns what
    makes a call."""
    for case in sys.argv[1:]:
        kind, size = case.split("/")
        seconds = measure(calls(kind, int(size)), barrier, slowest)
        if rank == 0:
            print("seconds", case, seconds * (0.5 if kind == "ping_pong" else 1), flush=True)
