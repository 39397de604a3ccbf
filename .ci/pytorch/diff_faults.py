"""Trains a small transformer as it should be and with planted faults, and dumps both.

    python diff_faults.py OUT [clean]

OUT/ref-FORMAT/stepS.FORMAT is of one process; OUT/FAULT/stepS.rankR.FORMAT of ranks (gloo,
processes of this machine) on a mesh (dp, tp) that the table FAULTS gives. tpsh diff
OUT/ref-FORMAT OUT/FAULT is to name the kind that OUT/faults.json has. With "clean" there are
runs without a fault, in float32 and bfloat16, on several meshes:
OUT/DTYPE-DPxTP-OPTIM-FORMAT, and their references OUT/ref-DTYPE-OPTIM-FORMAT.
"""
import json
import os
import sys

import numpy as np
import ranks
import torch
import torch.distributed as dist
import torch.nn.functional as F
from safetensors.torch import save_file

D, H, L, V, T, B, E, STEPS = 32, 4, 2, 48, 8, 8, 4, 3

# fault: (dp, tp, format), and the kind that tpsh diff is to name
FAULTS = {
    "no_all_reduce": (1, 2, "npz", "missing sum"),
    "double_all_reduce": (1, 4, "npz", "double sum"),
    "mean_for_sum": (1, 4, "safetensors", "mean for sum"),
    "wrong_mesh_dim": (2, 2, "npz", "wrong dim"),
    "stale_kv": (1, 2, "npz", "stale"),
    "expert_grads_scaled": (1, 4, "npz", "factor"),
    "norm_of_one_part": (1, 2, "npz", "missing sum"),
    "transposed_block": (1, 2, "npz", "transposed"),
    "permuted_heads": (1, 2, "npz", "permuted"),
    "dropped_bias": (1, 4, "npz", "missing part"),
    "bf16_for_fp32": (1, 2, "npz", "rounded"),
    "shard_missing": (1, 4, "safetensors", "missing part"),
    "step_off_by_one": (1, 2, "npz", "stale"),
    "tied_twice": (2, 1, "npz", "double sum"),
    "no_grad_reduce": (2, 2, "npz", "missing sum"),
    "sqrt_scale": (1, 2, "npz", "factor"),
}


class Copy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        g = g.contiguous().clone()
        dist.all_reduce(g, group=ctx.group)
        return g, None


class Reduce(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, group):
        x = x.contiguous().clone()
        dist.all_reduce(x, group=group)
        return x

    @staticmethod
    def backward(ctx, g):
        return g, None


def init(dtype, seed=0):
    g = torch.Generator().manual_seed(seed)
    r = lambda *s, k=1.0: (torch.randn(*s, generator=g) * k * 0.15).to(dtype)
    p = {"emb.weight": r(V, D)}
    for i in range(L):
        n = f"layers.{i}."
        for m in "qkv":
            p[n + f"attn.{m}.weight"], p[n + f"attn.{m}.bias"] = r(D, D), r(D)
        p[n + "attn.o.weight"], p[n + "attn.o.bias"] = r(D, D), r(D)
        p[n + "norm1.weight"], p[n + "norm2.weight"] = 1 + r(D), 1 + r(D)
        p[n + "mlp.fc1.weight"], p[n + "mlp.fc1.bias"] = r(4 * D, D), r(4 * D)
        p[n + "mlp.fc2.weight"], p[n + "mlp.fc2.bias"] = r(D, 4 * D), r(D)
        p[n + "experts.weight"], p[n + "gate.weight"] = r(E, D, D), r(E, D)
    p["norm.weight"] = 1 + r(D)
    return p


CUT = {"attn.q.weight": 0, "attn.k.weight": 0, "attn.v.weight": 0, "attn.q.bias": 0, "attn.k.bias": 0, "attn.v.bias": 0, "attn.o.weight": 1, "mlp.fc1.weight": 0, "mlp.fc1.bias": 0, "mlp.fc2.weight": 1, "experts.weight": 0}


def cut(name):
    return next((d for k, d in CUT.items() if name.endswith(k)), None)


class Job:
    """A run on a mesh of dp by tp ranks, of which this is one."""

    def __init__(self, dp=1, tp=1, rank=0, groups=None, fault="", dtype=torch.float32, optim="adam", seed=0):
        self.dp, self.tp, self.rank, self.fault, self.dtype, self.optim = dp, tp, rank, fault, dtype, optim
        self.dpr, self.tpr = rank // tp, rank % tp
        self.dpg, self.tpg = groups or (None, None)
        full = init(dtype, seed)
        if fault == "transposed_block":
            w = full["layers.1.attn.v.weight"]
            w[16:, 16:] = w[16:, 16:].t().clone()
        if fault == "permuted_heads":
            w = full["layers.1.attn.q.weight"]
            w.copy_(w.reshape(H, D // H, D)[[1, 0, 3, 2]].reshape(D, D).clone())
        self.p = {}
        for n, w in full.items():
            d = cut(n)
            x = w if d is None else w.chunk(tp, d)[self.tpr]
            self.p[n] = x.clone().contiguous().requires_grad_()
        if fault == "shard_missing" and self.tpr == 1:
            self.p["layers.0.mlp.fc2.weight"].data.zero_()
        if fault == "dropped_bias" and self.tpr > 0:
            self.p["layers.1.mlp.fc1.bias"].data.zero_()
        self.m = {n: torch.zeros_like(w) for n, w in self.p.items()}
        self.v = {n: torch.zeros_like(w) for n, w in self.p.items()}
        self.kv = {}
        self.out = {}

    def keep(self, name, x):
        self.out[name] = x.detach().clone()
        return x

    def enter(self, x):
        return Copy.apply(x, self.tpg) if self.tp > 1 else x

    def leave(self, x, where=""):
        f = self.fault
        if self.tp == 1:
            return x
        if f == "no_all_reduce" and where == "layers.1.attn":
            return x
        if f == "wrong_mesh_dim" and where == "layers.0.mlp":
            return Reduce.apply(x, self.dpg)
        y = Reduce.apply(x, self.tpg)
        if f == "double_all_reduce" and where == "layers.1.mlp":
            y = Reduce.apply(y, self.tpg)
        if f == "mean_for_sum" and where == "layers.0.attn":
            y = y / self.tp
        return y

    def layer(self, i, x, step):
        n = f"layers.{i}."
        P = lambda k: self.p[n + k]
        norm = lambda x, w: F.layer_norm(x, (D,)) * w
        h = self.keep(n + "norm1", norm(x, P("norm1.weight")))
        h = self.enter(h)
        q, k, v = (self.keep(n + "attn." + m, F.linear(h, P(f"attn.{m}.weight"), P(f"attn.{m}.bias"))) for m in "qkv")
        if self.fault == "stale_kv" and i == 1:
            old = self.kv.get(i)
            self.kv[i] = (k.detach(), v.detach())
            if old is not None:
                k, v = self.keep(n + "attn.k", old[0]), self.keep(n + "attn.v", old[1])
        hl = H // self.tp
        sh = lambda t: t.reshape(t.shape[0], T, hl, D // H).transpose(1, 2)
        s = sh(q) @ sh(k).transpose(-1, -2) / (D // H) ** 0.5
        if self.fault == "sqrt_scale" and i == 1:
            s = s * (D // H) ** 0.5
        s = self.keep(n + "attn.scores", s)
        a = torch.softmax(s.masked_fill(torch.triu(torch.ones(T, T, dtype=torch.bool), 1), -1e4), -1) @ sh(v)
        a = self.keep(n + "attn.heads", a.transpose(1, 2).reshape(a.shape[0], T, -1))
        o = self.keep(n + "attn.o", self.leave(F.linear(a, P("attn.o.weight")), n + "attn") + P("attn.o.bias"))
        x = self.keep(n + "resid1", x + o)
        h = self.enter(self.keep(n + "norm2", norm(x, P("norm2.weight"))))
        f = self.keep(n + "mlp.fc1", F.linear(h, P("mlp.fc1.weight"), P("mlp.fc1.bias")))
        if self.fault == "bf16_for_fp32" and i == 1:
            y = F.linear(F.gelu(f).bfloat16(), P("mlp.fc2.weight").bfloat16()).to(self.dtype)
        else:
            y = F.linear(F.gelu(f), P("mlp.fc2.weight"))
        y = self.leave(y, n + "mlp")
        x = self.keep(n + "resid2", x + self.keep(n + "mlp.fc2", y + P("mlp.fc2.bias")))
        gate = torch.softmax(F.linear(x, P("gate.weight")), -1)
        e = E // self.tp
        mine = self.enter(gate)[..., self.tpr * e : (self.tpr + 1) * e]
        y = torch.einsum("bte,edk,btd->btk", mine, P("experts.weight"), self.enter(x))
        return self.keep(n + "out", x + self.keep(n + "experts", self.leave(y, n + "experts")))

    def step(self, s):
        g = torch.Generator().manual_seed(100 + s)
        ids = torch.randint(0, V, (B, T + 1), generator=g).chunk(self.dp)[self.dpr]
        self.out = {}
        x = self.keep("emb", F.embedding(ids[:, :-1], self.p["emb.weight"]))
        for i in range(L):
            x = self.layer(i, x, s)
        x = self.keep("norm", F.layer_norm(x, (D,)) * self.p["norm.weight"])
        logits = self.keep("logits", F.linear(x, self.p["emb.weight"]))
        loss = F.cross_entropy(logits.float().reshape(-1, V), ids[:, 1:].reshape(-1))
        self.keep("loss", self.mean(loss))
        for w in self.p.values():
            w.grad = None
        loss.backward()
        self.update(s)
        return self.out

    def mean(self, x):
        if self.dp == 1:
            return x
        x = x.detach().clone()
        dist.all_reduce(x, group=self.dpg)
        return x / self.dp

    def update(self, s):
        f = self.fault
        for w in self.p.values():
            w.grad = torch.zeros_like(w) if w.grad is None else w.grad
        grads = {n: w.grad if f == "no_grad_reduce" and "layers.1" in n else self.mean(w.grad) for n, w in self.p.items()}
        if f == "expert_grads_scaled":
            grads = {n: g * self.tp if "experts" in n else g for n, g in grads.items()}
        if f == "tied_twice":
            grads["emb.weight"] = grads["emb.weight"] * 2
        for n in reversed(grads):
            self.keep("grad." + n, grads[n])
        cutsq = sum((g.float() ** 2).sum() for n, g in grads.items() if cut(n) is not None)
        same = sum((g.float() ** 2).sum() for n, g in grads.items() if cut(n) is None)
        if self.tp > 1 and f != "norm_of_one_part":
            cutsq = cutsq.clone()
            dist.all_reduce(cutsq, group=self.tpg)
        norm = self.keep("grad_norm", (cutsq + same).sqrt())
        scale = torch.clamp(0.5 / norm, max=1)
        t = s + 1 + (f == "step_off_by_one")
        for n, w in self.p.items():
            g = (grads[n].float() * scale).to(self.dtype)
            if self.optim == "sgd":
                w.data -= 0.1 * g
                continue
            self.m[n] = 0.9 * self.m[n] + 0.1 * g
            self.v[n] = 0.99 * self.v[n] + 0.01 * g * g
            w.data -= 1e-2 * (self.m[n] / (1 - 0.9**t)) / ((self.v[n] / (1 - 0.99**t)).sqrt() + 1e-8)
            self.keep("exp_avg." + n, self.m[n])
        for n, w in self.p.items():
            self.keep("param." + n, w)


def dump(path, fmt, out):
    if fmt == "npz":
        np.savez(path + ".npz", **{n: x.float().numpy() for n, x in out.items()})
    else:
        save_file({n: x.contiguous() for n, x in out.items()}, path + ".safetensors")


def clean():
    for dtype in ("float32", "bfloat16"):
        for dp, tp in ((1, 2), (2, 1), (1, 4), (2, 2), (4, 1)):
            for fmt in ("npz", "safetensors"):
                for optim, seed in (("adam", 1), ("sgd", 2), ("adam", 3)):
                    if (fmt, seed) != ("safetensors", 3):
                        yield f"{dtype}-{dp}x{tp}-{optim}{seed}-{fmt}", dp, tp, fmt, dtype, optim, seed


def reference(out, name, fmt, **kw):
    job = Job(**kw)
    os.makedirs(f"{out}/{name}", exist_ok=True)
    for s in range(STEPS):
        dump(f"{out}/{name}/step{s}", fmt, job.step(s))


def run(rank, world, out, what):
    jobs = [(f, dp, tp, fmt, "float32", "adam", 0) for f, (dp, tp, fmt, _) in FAULTS.items()]
    if what == "clean":
        jobs = list(clean())
    groups = {}
    for name, dp, tp, fmt, dtype, optim, seed in jobs:
        if dp * tp != world:
            continue
        if (dp, tp) not in groups:
            d = [dist.new_group([i * tp + j for i in range(dp)]) for j in range(tp)]
            t = [dist.new_group([i * tp + j for j in range(tp)]) for i in range(dp)]
            groups[dp, tp] = (d[rank % tp], t[rank // tp])
        job = Job(dp, tp, rank, groups[dp, tp], "" if what == "clean" else name, getattr(torch, dtype), optim, seed)
        os.makedirs(f"{out}/{name}", exist_ok=True)
        for s in range(STEPS):
            dump(f"{out}/{name}/step{s}.rank{rank}", fmt, job.step(s))


def main():
    out, what = sys.argv[1], "".join(sys.argv[2:])
    os.makedirs(out, exist_ok=True)
    torch.set_num_threads(1)
    for world in (2, 4):  # before this process has a gradient of its own: ranks.py says why
        ranks.fork(run, world, out, what)
    if what == "clean":
        for name, _, _, fmt, dtype, optim, seed in clean():
            reference(out, f"ref-{dtype}-{optim}{seed}-{fmt}", fmt, dtype=getattr(torch, dtype), optim=optim, seed=seed)
    else:
        for fmt in ("npz", "safetensors"):
            reference(out, f"ref-{fmt}", fmt)
        with open(f"{out}/faults.json", "w") as f:
            json.dump({name: [f"ref-{fmt}", kind] for name, (_, _, fmt, kind) in FAULTS.items()}, f)


if __name__ == "__main__":
    main()
