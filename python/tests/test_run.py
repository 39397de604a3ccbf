"""tpsh.run: inputs, outputs, failures, interrupts."""

import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import tpsh

TRANSPORTS = ["inproc", "frames", "shm", "tcp"]


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_arrays_there_and_back(transport):
    x = np.arange(12, dtype="f4").reshape(3, 4)
    r = tpsh.run(
        """
mesh = init_device_mesh("cpu", (2,))
output("whole", distribute_tensor(x, mesh, [Shard(0)]) * 2)
output("same", all_reduce(x))
output("apart", x[rank()])
if rank() == 1:
    output("one", x.sum())
print("hello")
""",
        n=2, inputs={"x": x}, transport=transport)
    assert r.text == "hello\n" and r.ranks == 2
    np.testing.assert_array_equal(r.outputs["whole"], 2 * x)
    np.testing.assert_array_equal(r.outputs["same"], 2 * x)
    assert sorted(r.outputs["apart"]) == [0, 1]
    np.testing.assert_array_equal(r.outputs["apart"][1], x[1])
    assert r.outputs["one"] == x.sum()
    assert list(r.by_rank["one"]) == [1] and list(r.by_rank["whole"]) == [0, 1]


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i4", "i8", "u1", "?"])
@pytest.mark.parametrize("shape", [(), (0, 3), (5,), (300, 400)])
def test_dtypes_and_shapes(dtype, shape):
    x = (np.arange(np.prod(shape, dtype=int)).reshape(shape) % 2).astype(dtype)
    y = tpsh.run('output("y", x)', n=1, inputs={"x": x}).outputs["y"]
    assert y.dtype == x.dtype and y.shape == x.shape
    np.testing.assert_array_equal(y, x)


def test_bfloat16():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = np.array([1.5, -2], ml_dtypes.bfloat16)
    r = tpsh.run('print(x.dtype)\noutput("y", x * 2)', n=1, inputs={"x": x})
    assert r.text == "bfloat16\n" and r.outputs["y"].dtype == x.dtype
    np.testing.assert_array_equal(r.outputs["y"], x * 2)


class OnlyDLPack:
    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **kwargs):
        return self.array.__dlpack__(**kwargs)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_other_inputs():
    x = np.arange(6.0).reshape(2, 3)
    r = tpsh.run(
        'print(n + 1, lr, name, cfg["depth"], none)\noutput("t", t)\noutput("d", d)\noutput("w", p["w"])\noutput("big", big)',
        n=2,
        inputs={"n": 3, "lr": 0.5, "name": "a", "cfg": {"depth": [1, 2]}, "none": None, "t": x.T, "d": OnlyDLPack(x),
                "p": {"w": x, "b": np.ones(1)}, "big": x.astype(">f8")})
    assert r.text == "4 0.5 a [1, 2] None\n"
    for name, want in {"t": x.T, "d": x, "w": x, "big": x}.items():
        np.testing.assert_array_equal(r.outputs[name], want)


def test_what_is_no_input():
    for inputs, what in [({"x": np.ones(1, "c8")}, "dtype complex64"), ({"x": object()}, "got object"), ({"a b": 1}, "name of a variable"),
                         ({"x": {"x": np.ones(1)}}, "other than the name of the input"), ({"x": float("nan")}, "got float")]:
        with pytest.raises((TypeError, ValueError), match=what):
            tpsh.run("1", n=1, inputs=inputs)


def test_arrays_are_the_callers():
    x = np.ones((100, 1000))
    r = tpsh.run('x.add_(rank())\noutput("x", x)', n=2, inputs={"x": x})
    np.testing.assert_array_equal(x, 1)  # the script has its own
    y = r.outputs["x"][1]
    y += 1  # and so has the caller
    np.testing.assert_array_equal(y, 3)


def test_file_and_arguments(tmp_path):
    (tmp_path / "f.star").write_text('print(args, __name__)\nwrite_text("note.txt", "hi")\n')
    r = tpsh.run(tmp_path / "f.star", 2, args=["a", 1])
    assert r.text == '["a", "1"] __main__\n'
    assert tpsh.run(str(tmp_path / "f.star"), 1).ranks == 1
    assert (tmp_path / "note.txt").read_text() == "hi"


def test_trace_and_notes():
    r = tpsh.run("all_reduce(ones(3))", n=2, trace=True)
    events = r.trace["traceEvents"] if isinstance(r.trace, dict) else r.trace
    assert any("all_reduce" in e.get("name", "") for e in events)
    assert tpsh.run("1", n=1).trace is None


def test_errors():
    with pytest.raises(tpsh.Error) as e:
        tpsh.run("print(1)\nif rank() == 1:\n    ones(3) @ ones([4, 4])\nbarrier()\n", n=3)
    assert (e.value.kind, e.value.ranks, e.value.line) == ("argument", [1], "<stdin>:3:13")
    assert str(e.value).startswith("rank 1 of 3:\nTraceback") and e.value.text == "1\n"
    assert e.value.message.startswith("matmul: ")
    again = pickle.loads(pickle.dumps(e.value))
    assert (again.kind, again.ranks, again.line, str(again)) == (e.value.kind, e.value.ranks, e.value.line, str(e.value))


@pytest.mark.parametrize("script, kind, ranks, line", [
    ("x = = 1", "syntax", [0, 1], "<stdin>:1:5"),
    ("all_reduce(ones(2)) if rank() == 0 else barrier()", "mismatch", [0, 1], ""),
    ("recv(1 - rank())", "deadlock", [0, 1], "<stdin>:1:5"),
    ("assert.eq(1, 2)", "assertion", [0, 1], "<stdin>:1:10"),
    ("send(ones(1), 1) if rank() == 0 else None", "unreceived", [], ""),
    ("while True: pass", "timeout", [0, 1], "<stdin>:1:1"),
])
def test_kinds(script, kind, ranks, line):
    with pytest.raises(tpsh.Error) as e:
        tpsh.run(script, n=2, timeout=2 if kind == "timeout" else 300)
    assert (e.value.kind, e.value.ranks) == (kind, ranks)
    assert e.value.line.startswith(line)


def test_no_such_file():
    with pytest.raises(tpsh.Error, match="nowhere.star: no such file") as e:
        tpsh.run("nowhere.star")
    assert e.value.kind == "usage"


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_interrupt(tmp_path):
    code = textwrap.dedent("""
        import sys, tpsh
        try:
            tpsh.run('write_text("begun", "")\\nwhile True: pass', n=2, transport="shm", cwd=sys.argv[1])
        except KeyboardInterrupt:
            print("interrupted")
        """)
    job = subprocess.Popen([sys.executable, "-c", code, tmp_path], stdout=subprocess.PIPE, text=True, start_new_session=True)
    wait_for(lambda: (tmp_path / "begun").exists())
    os.kill(job.pid, signal.SIGINT)  # and not the command, which run has to tell
    assert job.communicate(timeout=300)[0] == "interrupted\n"
    wait_for(lambda: not alive(job.pid))


def alive(group):
    """Whether a process of the group runs."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def wait_for(what):
    end = time.monotonic() + 300
    while not what():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_several_at_once():
    found = {}

    def one(k):
        found[k] = tpsh.run('output("y", x + 1)', n=2, inputs={"x": np.full(1000, k)}).outputs["y"][0]

    threads = [threading.Thread(target=one, args=[k]) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert found == {k: k + 1 for k in range(4)}


def test_nothing_is_left_behind(tmp_path):
    tpsh.run('output("y", x)', n=1, inputs={"x": np.ones(3)}, tmp=tmp_path)
    with pytest.raises(tpsh.Error):
        tpsh.run("fail(1)", n=1, tmp=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_command():
    out = subprocess.run([sys.executable, "-m", "tpsh", "version"], capture_output=True, text=True, check=True).stdout
    assert out.strip() == tpsh.version()
