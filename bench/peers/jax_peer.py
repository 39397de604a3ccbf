"""JAX under jit, ranks as devices of one process with shard_map."""

import os
import sys

import common

case, rest = common.arguments()
ranks = int(os.environ.get("TPSH_RANKS", "1"))
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=%d" % ranks
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()[:ranks]), ("tp",))


def spread(array, *spec):
    return jax.device_put(array, NamedSharding(mesh, P(*spec)))


def on_ranks(body, specs, out):
    return jax.jit(jax.shard_map(body, mesh=mesh, in_specs=specs, out_specs=out))


def matmul(dtype, m, k, n):
    if dtype == "float64":
        jax.config.update("jax_enable_x64", True)
    x, y = jnp.ones((m, k), dtype), jnp.ones((k, n), dtype)
    f = jax.jit(jnp.matmul)
    return lambda: f(x, y).block_until_ready()


def all_reduce(size):
    x = spread(jnp.ones((ranks * max(1, size // 4),), jnp.float32), "tp")
    f = on_ranks(lambda x: jax.lax.psum(x, "tp"), P("tp"), P())
    return lambda: f(x).block_until_ready()


def vector(name):
    x = jnp.ones((4096, 1024), jnp.float32)

    def layer_norm(x):
        mean = x.mean(-1, keepdims=True)
        return (x - mean) * jax.lax.rsqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-5)

    f = jax.jit({"gelu": lambda x: jax.nn.gelu(x, approximate=False), "softmax": jax.nn.softmax, "layer_norm": layer_norm}[name])
    return lambda: f(x).block_until_ready()


def add():
    x, y = jnp.ones((8, 8)), jnp.ones((8, 8))
    return lambda: (x + y).block_until_ready()


def step(batch, inner, hidden, outer):
    rng = np.random.default_rng(0)

    def make(*shape):
        return jnp.asarray(rng.standard_normal(shape) / np.sqrt(shape[-1]), jnp.float32)

    params = [spread(make(hidden, inner), "tp", None), spread(make(hidden), "tp"), spread(make(outer, hidden), None, "tp"), spread(make(outer))]
    specs = (P("tp", None), P("tp"), P(None, "tp"), P())
    x, target = spread(make(batch, inner)), spread(make(batch, outer))

    def loss(params, x, target):
        w1, b1, w2, b2 = params
        h = jax.nn.relu(x @ w1.T + b1)
        return ((jax.lax.psum(h @ w2.T, "tp") + b2 - target) ** 2).mean()

    def update(params, x, target):
        grads = jax.grad(loss)(params, x, target)
        return tuple(p - 0.01 * g for p, g in zip(params, grads))

    f = on_ranks(update, (specs, P(), P()), specs)
    state = [tuple(params)]

    def turn():
        state[0] = f(state[0], x, target)
        jax.block_until_ready(state[0])

    return turn


common.report(common.fastest(globals()[case](*rest)))
