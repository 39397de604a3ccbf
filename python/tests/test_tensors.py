"""Tensors of other libraries as inputs, and arrays from outputs as theirs."""

import numpy as np
import pytest

import tpsh

SHOW = 'print(x.dtype, x.shape)\noutput("y", x)'


def there_and_back(x):
    r = tpsh.run(SHOW, n=1, inputs={"x": x})
    return r.text.split()[0], r.outputs["y"]


def refused(x, *words):
    with pytest.raises(TypeError) as e:
        tpsh.run("1", n=1, inputs={"x": x})
    text = str(e.value)
    assert text.startswith("tpsh: input 'x': got ") and all(w in text for w in words), text


def test_torch():
    torch = pytest.importorskip("torch")
    base = torch.arange(6.0).reshape(2, 3)
    for x in (base, base.T, base[:, 1:], base[:1].expand(4, 3), torch.nn.Parameter(base), base.double(), base.half(), base.long(), base > 2,
              torch.tensor(3), torch.ones(0, 3), torch.tensor([1 + 2j]).conj().imag):
        name, y = there_and_back(x)
        assert "torch." + name == str(x.dtype)
        assert torch.equal(torch.from_numpy(y), x.detach())
    large = torch.randn(1 << 17)
    assert torch.equal(torch.from_numpy(there_and_back(large)[1]), large)
    for kind in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
        x = torch.tensor([1.5, -2.0]).to(getattr(torch, kind))
        name, y = there_and_back(x)
        assert name == kind
        np.testing.assert_array_equal(y.astype("f4"), x.float().numpy())
    model = torch.nn.Linear(2, 3)
    r = tpsh.run('output("y", x @ p["weight"].T + p["bias"])', n=2, inputs={"x": base[:, :2], "p": model.state_dict()})
    torch.testing.assert_close(torch.from_numpy(r.outputs["y"]), model(base[:, :2]).detach())


def test_what_torch_has_that_is_no_array():
    torch = pytest.importorskip("torch")
    refused(torch.eye(3).to_sparse(), "a Tensor of torch.float32", "x.to_dense()")
    refused(torch.ones(2, device="meta"), "a Tensor of torch.float32", "meta")
    refused(torch.ones(2, dtype=torch.complex64), "dtype complex64")
    with pytest.raises(TypeError, match="input 'p', key 'w': got a Tensor of torch.float32"):
        tpsh.run("1", n=1, inputs={"p": {"w": torch.ones(2, device="meta")}})


def test_jax():
    jax = pytest.importorskip("jax")
    jnp = jax.numpy
    for x in (jnp.arange(6.0).reshape(2, 3), jnp.arange(3), jnp.ones((2, 2), jnp.bfloat16), jnp.float32(2), jnp.zeros((0, 2)), jnp.array([True]),
              jax.random.normal(jax.random.key(0), (512, 300))):
        name, y = there_and_back(x)
        assert name == x.dtype.name and y.dtype == x.dtype
        np.testing.assert_array_equal(np.asarray(jnp.asarray(y)), np.asarray(x))
    refused(jax.random.key(0), "key")
    r = tpsh.run('output("s", p["a"] + p["b"])', n=2, inputs={"p": {"a": jnp.ones(2), "b": jnp.ones(2)}})
    np.testing.assert_array_equal(r.outputs["s"], [2, 2])


def test_numpy():
    refused(np.ma.array([1.0], mask=[1]), "mask")
    refused(np.array(["a"]), "dtype <U1")
    refused(np.zeros(1, [("a", "f4")]), "dtype")
    refused([np.ones(1)], "got list")


class Broken:
    shape = (2,)

    def __array__(self, *args, **kwargs):
        raise RuntimeError("not today")


def test_library_that_fails():
    refused(Broken(), "got Broken", "not today")
