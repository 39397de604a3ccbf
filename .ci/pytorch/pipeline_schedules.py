"""Prints the orders in which PyTorch's schedules of pipelines compute.

    python pipeline_schedules.py > runtime/pipeline/testdata/torch.txt

A line is a schedule's name, its ranks, micro-batches and chunks, a rank, and what
this does: 3I0 is the gradient of the inputs (F the forward pass, W the gradients
of the weights, B both gradients) of position 3 of the model for micro-batch 0.
tpsh's schedules of the same names are held to it.
"""
from torch.distributed.pipelining import schedules

CASES = [
    ("interleaved", schedules.ScheduleInterleaved1F1B, 2, [(2, 4), (4, 8)]),
    ("zb1p", schedules.ScheduleInterleavedZeroBubble, 1, [(2, 4), (4, 4), (4, 8), (3, 9)]),
    ("zbv", schedules.ScheduleZBVZeroBubble, 2, [(2, 4), (4, 8), (4, 3), (3, 5)]),
    ("dualpipev", schedules.ScheduleDualPipeV, 2, [(2, 4), (3, 6), (4, 10)]),
]


def passes(actions):
    """The passes of a rank; those that PyTorch overlaps come one after the other."""
    for action in actions:
        for a in (action.sub_actions or [action]) if action else []:
            yield f"{a.stage_index}{a.computation_type.value}{a.microbatch_index}"


def orders(cls, ranks, micro, chunks):
    """By rank, what a schedule does. It needs no processes: only the sizes are set."""
    s = cls.__new__(cls)
    s.pp_group_size, s._n_microbatches, s.n_local_stages = ranks, micro, chunks
    s.num_stages = s._num_stages = ranks * chunks
    s.number_of_rounds = max(1, micro // ranks)
    s.microbatches_per_round = micro // s.number_of_rounds
    return [list(passes(s._calculate_single_rank_operations(rank))) for rank in range(ranks)]


for name, cls, chunks, sizes in CASES:
    for ranks, micro in sizes:
        for rank, order in enumerate(orders(cls, ranks, micro, chunks)):
            print(name, ranks, micro, chunks, rank, *order)
