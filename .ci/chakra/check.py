"""Reads what tpsh plan --chakra writes with Chakra's own package, and checks it.

    python check.py TPSH FOLDER

Every trace is read twice: by chakra_jsonizer, Chakra's converter to JSON, and by the
reader and the schema of the package. Then the calls and bytes of each line are those of
plan --json; nodes depend on nodes that are there; and a simulator of our own, which knows
the traces alone, plays all ranks to their end, in the step's time.
"""
import collections
import heapq
import json
import os
import subprocess
import sys

from chakra.schema.protobuf import et_def_pb2 as et
from chakra.src.third_party.utils.protolib import decodeMessage, openFileRd

TPSH, WORK = sys.argv[1:3]

# A script with every collective and message there is, beside what examples do.
ALL = """
mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
x = distribute_tensor(randn(8, 6), mesh, [Shard(0), Shard(1)])
(x @ x.T).sum().full_tensor()
x.redistribute(placements=[Shard(1), Shard(0)])
y, w = all_reduce(ones(1 << 20), async_op=True)
z = ones(64, 64) @ ones(64, 64)
w.wait()
z = collective_permute(z, [(0, 1), (1, 2), (3, 3)])
all_gather(ones(2 + rank() // 2))
reduce_scatter(ones(8))
broadcast(ones(3), src=2)
reduce(ones(2), dst=1)
gather(ones(2), dst=1)
scatter(ones(4), src=0)
all_to_all(ones(4), 0, 0)
barrier()
all_gather_object([rank() % 2])
broadcast_object([1, 2])
for tag in [3, 4, 3]:
    send(ones(3), (rank() + 1) % 4, tag=tag)
for tag in [3, 3, 4]:
    recv((rank() - 1) % 4, tag=tag)
"""
open(WORK + "/all.star", "w").write(ALL)

# script, ranks, flags of the plan, arguments
CASES = [
    (WORK + "/all.star", 4, [], []),
    ("examples/gpt.star", 4, [], ["2"]),
    ("examples/fsdp.star", 4, [], []),
    ("examples/moe.star", 4, [], []),
    ("examples/megatron.star", 1, [], ["--steps", "2"]),
    ("examples/megatron.star", 8, [], "--steps 2 --tp 2 --pp 2 --zero 1 --hidden 1024".split()),
    ("examples/megatron.star", 16, [], "--steps 2 --tp 2 --pp 4 --chunks 2 --layers 8 --hidden 512".split()),
    ("examples/megatron.star", 20, ["--each"], "--steps 1 --tp 1 --pp 2 --batch 20".split()),
    ("examples/megatron.star", 64, [], "--steps 2 --tp 8 --pp 2 --hidden 1024 --heads 16 --batch 64".split()),
]


def values(attrs):
    return {a.name: getattr(a, a.WhichOneof("value")) for a in attrs}


def read(path):
    """The nodes of a file, by Chakra's reader, as its converter has them in JSON, too."""
    f, meta, nodes = openFileRd(path), et.GlobalMetadata(), []
    assert decodeMessage(f, meta) and meta.version, path
    node = et.Node()
    while decodeMessage(f, node):
        nodes.append(node)
        node = et.Node()
    converter = os.path.join(os.path.dirname(sys.executable), "chakra_jsonizer")
    subprocess.run([converter, "--input_filename", path, "--output_filename", WORK + "/x.json"], check=True)
    text, objects, at = open(WORK + "/x.json").read(), [], 0
    while at < len(text):
        value, at = json.JSONDecoder().raw_decode(text, at)
        objects.append(value)
    assert len(objects) == 1 + len(nodes), f"{path}: {len(objects)} objects in JSON, {len(nodes)} nodes"
    for o, n in zip(objects[1:], nodes):
        assert int(o["id"]) == n.id and o["name"] == n.name and o["type"] == et.NodeType.Name(n.type), path
    return values(meta.attr), nodes


def table(nodes):
    """(operation, line) -> calls, bytes: as a plan lists them, by who sends."""
    calls, sums = collections.Counter(), collections.Counter()
    for n in nodes:
        if n.type in (et.COMM_COLL_NODE, et.COMM_SEND_NODE, et.COMM_RECV_NODE):
            a = values(n.attr)
            key = n.name, a["where"]
            calls[key, n.type] += 1
            sums[key] += a["bytes"]
    most = collections.Counter()
    for (key, _), n in calls.items():
        most[key] = max(most[key], n)  # a permutation is a send and a receive
    return {key: (most[key], sums[key]) for key in most if key[0] != "recv"}


def received(nodes):
    """line -> calls of recv."""
    return collections.Counter(values(n.attr)["where"] for n in nodes if n.type == et.COMM_RECV_NODE and n.name == "recv")


def simulate(traces, groups, ranks):
    """The seconds until all nodes of all ranks are over. A collective begins when the
    last member has come to it, a receive ends when the message is there."""
    left = {(r, n.id): set(n.data_deps) for r, nodes in traces.items() for n in nodes}
    users, attrs, node = collections.defaultdict(list), {}, {}
    for r, nodes in traces.items():
        for n in nodes:
            attrs[r, n.id], node[r, n.id] = values(n.attr), n
            for d in n.data_deps:
                users[r, d].append((r, n.id))
    ready = [(0.0, k) for k, deps in sorted(left.items()) if not deps]
    begun, over, came, mail, wanting = dict.fromkeys(left, 0.0), {}, collections.defaultdict(list), collections.defaultdict(list), collections.defaultdict(list)

    def finish(key, t):
        over[key] = t
        for u in users[key]:
            left[u].discard(key[1])
            begun[u] = max(begun[u], t)
            if not left[u]:
                heapq.heappush(ready, (begun[u], u))

    def deliver(key):
        while mail[key] and wanting[key]:
            k, at = wanting[key].pop(0)
            finish(k, max(at, mail[key].pop(0)))

    while ready:
        t, key = heapq.heappop(ready)
        a, n = attrs[key], node[key]
        if n.type == et.COMM_COLL_NODE:
            group = a.get("pg_name", "0")
            members = groups[group] if group != "0" else list(range(ranks))
            came[group, key[0]].append((key, t))
            number = len(came[group, key[0]])
            if all(len(came[group, m]) >= number for m in members):
                together = [came[group, m][number - 1] for m in members]
                kinds = {(attrs[k]["comm_type"], attrs[k]["comm_size"]) for k, _ in together}
                assert len(kinds) == 1, f"{n.name} at {a['where']}: members disagree: {kinds}"
                begin = max(at for _, at in together)
                for k, _ in together:
                    finish(k, begin + attrs[k]["seconds"])
        elif n.type in (et.COMM_SEND_NODE, et.COMM_RECV_NODE):
            end = a["comm_src"], a["comm_dst"], a["comm_tag"], a["comm_size"]
            if n.type == et.COMM_SEND_NODE:
                assert end[0] == key[0]
                mail[end].append(t + a["seconds"])
                finish(key, t + a["seconds"])
            else:
                assert end[1] == key[0]
                wanting[end].append((key, t))
            deliver(end)
        else:
            finish(key, t + a["seconds"])
    assert len(over) == len(left), f"{len(left) - len(over)} of {len(left)} nodes never run"
    return max(over.values())


def check(script, ranks, flags, args):
    folder = WORK + "/traces"
    out = subprocess.run([TPSH, "plan", "-n", str(ranks), "--hw", "hgx-h100", "--json", "--chakra", folder] + flags + [script, "--"] + args, check=True, capture_output=True, text=True)
    figures = json.loads(out.stdout)
    name = os.path.basename(script)[: -len(".star")]
    groups, stands = json.load(open(folder + "/comm_groups.json")), json.load(open(folder + "/ranks.json"))
    assert sorted(r for rs in stands.values() for r in rs) == list(range(ranks))
    every = ranks <= 16 or "--each" in flags
    assert len(stands) == (ranks if every else figures["kinds"])
    traces = {}
    for file in stands:
        meta, nodes = read(folder + "/" + file)
        assert file == f"{name}.{meta['rank']}.et" and meta["ranks"] == ranks
        traces[meta["rank"]] = nodes
        seen = set()
        for n in nodes:
            assert set(n.data_deps) <= seen and n.id not in seen, f"{file}: node {n.id}"
            seen.add(n.id)
    want = collections.Counter(), collections.Counter()
    for row in figures["communication"]:
        if row["op"] == "recv":  # perhaps of other ranks than those that send
            assert any(received(nodes)[row["where"]] == row["calls"] for nodes in traces.values()), f"{script}: no rank receives {row}"
            continue
        want[0][row["op"], row["where"]] += row["calls"]
        want[1][row["op"], row["where"]] += row["bytes"]
    want = {k: (want[0][k], want[1][k]) for k in want[0]}
    assert any(table(nodes) == want for nodes in traces.values()), f"{script}: no rank communicates {want}: rank 0 {table(traces[0])}"
    flops = sum(values(n.attr).get("num_ops", 0) * len(stands[f"{name}.{r}.et"]) for r, nodes in traces.items() for n in nodes)
    assert abs(flops - figures["flops"]) <= 1e-9 * figures["flops"], (flops, figures["flops"])
    said = f"{len(traces)} traces, {sum(map(len, traces.values()))} nodes"
    if every:
        t = simulate(traces, groups, ranks)
        said += f", {t * 1e3:.4g} ms simulated, {figures['step_seconds'] * 1e3:.4g} ms planned"
        assert abs(t / figures["step_seconds"] - 1) < 1e-3, f"{script}: {said}"
    print(f"{script} on {ranks} ranks: {said}")


for case in CASES:
    check(*case)
